//! Write functions of whole rows: a warp takes a row, in tiles and in fixed stages.

use std::fmt::Write;

use super::Writer;
use super::group::{Call, Parameters};
use super::hazards::Share;
use super::rows::RowPlaces;
use crate::plan::{Base, Rowwise};
use crate::rowwise::{Columns, RowOp};
use crate::shape::Rows;

impl Writer<'_> {
    /// The call that runs a function on a tile.
    pub(super) fn rowwise(&mut self, step: &Rowwise, places: &RowPlaces) -> Call {
        let (mut parameters, mut accesses, mut pointers) = (Parameters::default(), Vec::new(), Vec::new());
        for (i, &(view, cols)) in step.args.iter().enumerate() {
            parameters.add("const float*", &format!("p{i}"), places.argument(self, view));
            accesses.extend(places.access(view, cols, Share::All, false));
            // Rows beyond the batch exist only in tiles.
            let row = if matches!(view.base, Base::Input(_)) { "given" } else { "row" };
            pointers.push(format!("p{i} + {row} * {}", view.stride));
        }
        let (view, cols) = step.out;
        parameters.add("float*", "o", places.argument(self, view));
        accesses.extend(places.access(view, cols, Share::Rows, true));
        let call = self.row_function(step, &pointers, &format!("o + row * {}", view.stride));
        let body = format!(
            "int lane = threadIdx.x % 32, from = x.rank * ROWS / CLUSTER, to = (x.rank + 1) * ROWS / CLUSTER;\n\
             for (int row = from + threadIdx.x / 32; row < to; row += WARPS) {{\n\
             int given = min(row, x.rows - 1 - x.first); (void)given;\n{call}}}\n"
        );
        let label = format!("{} [{cols}]", step.op.name());
        let Parameters { text, arguments } = parameters;
        Call { label, text: text + &body, arguments, accesses, scratch: 0, waits: false }
    }

    /// The call that runs a function on fixed rows, and its blocks of `threads` threads.
    pub(super) fn fixed_rowwise(&mut self, step: &Rowwise, threads: usize) -> (String, usize) {
        let (mut list, mut arguments) = ("const Share x".to_string(), "x".to_string());
        let mut pointers = Vec::new();
        for (i, &(view, _)) in step.args.iter().enumerate() {
            let _ = write!(list, ", const float* p{i}");
            let _ = write!(arguments, ", {}", self.address(view));
            pointers.push(format!("p{i} + row * {}", view.stride));
        }
        let (view, _) = step.out;
        let _ = write!(list, ", float* o");
        let _ = write!(arguments, ", {}", self.address(view));
        let rows = match step.rows {
            Rows::Fixed(rows) => rows,
            Rows::Batch => unreachable!("rows of the batch are in row stages"),
        };
        let (warps, call) =
            (threads / 32, self.row_function(step, &pointers, &format!("o + row * {}", view.stride)));
        let body = format!(
            "int lane = threadIdx.x % 32, row = x.block * {warps} + threadIdx.x / 32;\nif (row >= {rows}) return;\n{call}"
        );
        let name = self.functions.name(list, body);
        (format!("{name}({arguments});"), rows.div_ceil(warps))
    }

    /// The call of a warp for its row.
    fn row_function(&mut self, step: &Rowwise, args: &[String], to: &str) -> String {
        let cols = step.out.1;
        let call = match &step.op {
            RowOp::Gather(list) => {
                let list = self.functions.list(list.iter().copied());
                format!("gather_cols(lane, {}, {list}, {cols}, {to})", args[0])
            }
            RowOp::SegmentSum(list) => {
                let (starts, places) = segments(list, cols);
                let (starts, places) =
                    (self.functions.list(starts.into_iter()), self.functions.list(places.into_iter()));
                format!("segment_sum_cols(lane, {}, {starts}, {places}, {cols}, {to})", args[0])
            }
            RowOp::Cumsum { group, reverse } => {
                format!("cumsum_groups<{reverse}>(lane, {}, {group}, {cols}, {to})", args[0])
            }
            RowOp::LogSumExp { group } => {
                format!("log_sum_exp_groups(lane, {}, {group}, {cols}, {to})", args[0])
            }
            RowOp::Cholesky { n } => format!("cholesky(lane, {}, {n}, {to})", args[0]),
            RowOp::Eigen { n } => format!("symmetric_eigen(lane, {}, {n}, {to})", args[0]),
            RowOp::Solve { n, cols, transposed } => {
                format!("triangular_solve<{transposed}>(lane, {}, {}, {n}, {cols}, {to})", args[0], args[1])
            }
            RowOp::Product { rows, depth, cols, transposed: [left, right] } => format!(
                "row_matmul<{left}, {right}>(lane, {}, {}, {rows}, {depth}, {cols}, {to})",
                args[0], args[1]
            ),
        };
        call + ";\n"
    }
}

/// Places of the summands of all columns in order, and where those of each column begin and end.
fn segments(list: &Columns, cols: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0; cols + 1];
    list.iter().for_each(|column| starts[*column as usize + 1] += 1);
    for k in 0..cols {
        starts[k + 1] += starts[k];
    }
    let mut places: Vec<u32> = (0..list.len() as u32).collect();
    places.sort_by_key(|place| list[*place as usize]);
    (starts, places)
}
