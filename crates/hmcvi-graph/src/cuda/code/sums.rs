//! Write the sums over rows of a row stage: stacked products, and totals of all shares.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::rows::RowPlaces;
use super::{Grid, Launch, Writer, head};
use crate::cuda::layout::Area;
use crate::plan::{RowStage, Step, Term};

/// Rows and columns of the block of results that a block of threads computes, rows of the batch that it
/// multiplies at a time, and bytes of shared memory that it takes; see `sums.cu`.
const TALL: usize = 128;
const BROAD: usize = 112;
const DEPTH: usize = 16;
const SHARED: usize = 4 * DEPTH * (TALL + BROAD + 16) * size_of::<f32>();
/// Most shares of a sum: beyond, adding them costs more than it saves.
const MOST_SHARES: usize = 16;
/// Blocks of threads that a processor runs at a time.
const BLOCKS: usize = 2;

impl Writer<'_> {
    pub(super) fn sums(&mut self, number: usize, stage: &RowStage, places: &RowPlaces) {
        // Terms of each block of rows of a target.
        let mut regions: BTreeMap<(usize, usize, usize), (usize, Vec<Term>)> = BTreeMap::new();
        for step in &stage.steps {
            if let Step::Accumulate { into, cols, terms } = step {
                let key = (into.target, into.row, into.rows);
                regions.entry(key).or_insert((*cols, Vec::new())).1.extend(terms);
            }
        }
        let chunks = self.tiling.rows.div_ceil(DEPTH);
        let places_of = |rows: usize, cols: usize| rows.div_ceil(TALL) * cols.div_ceil(BROAD);
        let work: usize = regions.iter().map(|(k, (cols, t))| places_of(k.2, *cols) * t.len() * chunks).sum();
        let each = work.div_ceil(BLOCKS * self.processors).max(8);
        let (mut table, mut terms_table) = (String::new(), String::new());
        let (mut first, mut first_term) = (0, 0);
        // Parts of every target: row, rows, shares, values from share to share, place.
        let mut parts: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        let tile_sums: BTreeMap<_, _> = places.sums.iter().collect();
        for (&(target, row), &at) in tile_sums {
            let (at, stride) = (self.parts + at, places.sums_len);
            parts.entry(target).or_default().push(format!("{{{row}, 1, -1, {stride}, {at}LL}}"));
        }
        self.parts += places.sums_len * self.tiling.tiles();
        for (&(target, row, rows), (cols, terms)) in &mut regions {
            let cols = *cols;
            terms.sort_by_key(|term| term.negative);
            let across = cols.div_ceil(BROAD);
            let shares = (terms.len() * chunks).div_ceil(each).clamp(1, MOST_SHARES);
            let to = self.parts;
            self.parts += shares * rows * cols;
            let (count, positive) = (terms.len(), terms.iter().filter(|t| !t.negative).count());
            let _ = writeln!(
                table,
                "{{{first}, {first_term}, {count}, {positive}, {rows}, {cols}, {across}, {shares}, {to}LL}},"
            );
            parts
                .entry(target)
                .or_default()
                .push(format!("{{{row}, {rows}, {shares}, {}, {to}LL}}", rows * cols));
            for term in terms.iter() {
                let (a, b) = (places.whole(term.a), places.whole(term.b));
                let (a_base, b_base) = (self.bases.of(term.a.base), self.bases.of(term.b.base));
                let _ = writeln!(
                    terms_table,
                    "{{{a_base}, {b_base}, {}LL, {}LL, {}LL, {}LL, {}, {}}},",
                    a.0, b.0, a.1, b.1, term.a.stride, term.b.stride
                );
            }
            first += places_of(rows, cols) * shares;
            first_term += count;
        }
        let area = |area| format!("reinterpret_cast<float*>(table[{}])", self.bases.area(area));
        let (parts_at, sums_at) = (area(Area::Parts), area(Area::Sums));
        let rows = "reinterpret_cast<const Run*>(words)->rows";
        if !regions.is_empty() {
            let count = regions.len();
            let _ = write!(
                self.kernels,
                "static __device__ const Term terms_{number}[] = {{\n{terms_table}}};\n"
            );
            let _ = write!(self.kernels, "__constant__ Region regions_{number}[] = {{\n{table}}};\n");
            self.kernels.push_str(&head(&format!("sums_{number}"), "__launch_bounds__(256, 2)"));
            let _ = write!(
                self.kernels,
                "int i = 0;\nwhile (i + 1 < {count} && blockIdx.x >= regions_{number}[i + 1].first_block) ++i;\n\
                 accumulate(regions_{number}[i], terms_{number}, table, {parts_at}, {rows});\n}}\n"
            );
            let kernel = format!("sums_{number}");
            self.launches.push(Launch { kernel, grid: Grid::Blocks(first), threads: 256, shared: SHARED });
        }
        let (mut totals, mut list, mut first, mut first_part) = (String::new(), String::new(), 0, 0);
        // Large ones first: most blocks then find theirs at once.
        let mut by_size: Vec<_> = parts.iter().collect();
        by_size.sort_by_key(|(t, _)| {
            std::cmp::Reverse(self.plan.targets[**t].rows * self.plan.targets[**t].cols)
        });
        for (&target, parts) in by_size {
            let t = &self.plan.targets[target];
            let count = parts.len();
            let _ = writeln!(
                totals,
                "{{{first}, {}, {}, {first_part}, {count}, {}LL}},",
                t.rows, t.cols, t.offset
            );
            let _ = writeln!(list, "{},", parts.join(", "));
            first += (t.rows * t.cols).div_ceil(256);
            first_part += count;
        }
        if first > 0 {
            let count = parts.len();
            let _ = write!(self.kernels, "__constant__ Part parts_{number}[] = {{\n{list}}};\n");
            let _ = write!(self.kernels, "__constant__ Total targets_{number}[] = {{\n{totals}}};\n");
            self.kernels.push_str(&head(&format!("totals_{number}"), "__launch_bounds__(256)"));
            let _ = write!(
                self.kernels,
                "int i = 0;\nwhile (i + 1 < {count} && blockIdx.x >= targets_{number}[i + 1].first_block) ++i;\n\
                 total(targets_{number}[i], parts_{number}, {parts_at}, {sums_at}, ({rows} + ROWS - 1) / ROWS);\n}}\n"
            );
            let kernel = format!("totals_{number}");
            self.launches.push(Launch { kernel, grid: Grid::Blocks(first), threads: 256, shared: 0 });
        }
    }
}
