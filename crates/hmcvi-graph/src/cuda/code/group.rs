//! Write the groups of a row stage: by columns (`tiles.rs`), or by rows, with sums over columns.

use std::fmt::Write;

use super::Writer;
use super::element::{Element, When, draw};
use super::hazards::{Access, Share};
use super::rows::RowPlaces;
use super::schedule::{is_by_row, is_own_group};
use crate::data::DataKind;
use crate::plan::{Base, Group, Sink, Source, Value, View};

/// Pointers that a step is given, and the text that finds them.
#[derive(Default)]
pub(super) struct Parameters {
    pub(super) text: String,
    pub(super) arguments: Vec<Argument>,
}

impl Parameters {
    pub(super) fn add(&mut self, kind: &str, name: &str, argument: Argument) {
        let number = self.arguments.len();
        let _ = writeln!(self.text, "{kind} {name} = reinterpret_cast<{kind}>(ADDRESS({number}));");
        self.arguments.push(argument);
    }
}

/// What a step is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Argument {
    /// A place in the table of bases, and values behind it.
    Address {
        base: usize,
        offset: usize,
    },
    Numbers(usize, usize),
}

/// A step on a tile: the text that runs it, its addresses, and what it reads and writes.
pub(super) struct Call {
    pub(super) label: String,
    pub(super) text: String,
    pub(super) arguments: Vec<Argument>,
    pub(super) accesses: Vec<Access>,
    /// Values of scratch memory.
    pub(super) scratch: usize,
    /// It waits for others itself, after it has asked for what does not depend on them.
    pub(super) waits: bool,
}

impl Writer<'_> {
    /// The calls that run a group on a tile, the stage's step of this number: sums over columns first, since the others
    /// may overwrite what they read.
    pub(super) fn row_group(&mut self, number: usize, group: &Group, places: &mut RowPlaces) -> Vec<Call> {
        let (by_row, by_column): (Vec<Sink>, Vec<Sink>) = group.sinks.iter().partition(|s| is_by_row(s));
        let mut calls = Vec::new();
        if !by_row.is_empty() {
            calls.push(self.by_rows(group, &by_row, places));
        }
        if !by_column.is_empty() {
            calls.push(self.by_tiles(number, group, &by_column, places));
        }
        calls
    }

    /// Parameters for a gathered value, and the text that reads it.
    pub(super) fn gather(
        &self,
        v: Value,
        (data, index): (usize, usize),
        cols: usize,
        parameters: &mut Parameters,
    ) -> String {
        let given = |base| Argument::Address { base, offset: 0 };
        let (kind, read) = match self.plan.data[data].kind {
            DataKind::Bytes => {
                ("const unsigned char*", format!("(float)p{v}[(size_t)i{v}[given] * {cols} + col]"))
            }
            DataKind::Values => ("const Table*", format!("table_value(p{v}, i{v}[given], {cols}, col)")),
        };
        parameters.add(kind, &format!("p{v}"), given(self.bases.data(data)));
        parameters.add("const u32*", &format!("i{v}"), given(self.bases.index(index)));
        read
    }

    /// Parameters for the sources, and the text that reads one for a row and a column.
    fn sources(
        &self,
        element: &Element<'_>,
        places: &RowPlaces,
        parameters: &mut Parameters,
        accesses: &mut Vec<Access>,
    ) -> Vec<(Value, When, String)> {
        let cols = element.group.shape.cols;
        let mut reads = Vec::new();
        for (v, source) in element.sources() {
            let mut pointer = |view: View, width: usize| {
                parameters.add("const float*", &format!("p{v}"), places.argument(self, view));
                accesses.extend(places.access(view, width, Share::All, false));
                // Rows beyond the batch exist only in tiles.
                let row = if matches!(view.base, Base::Input(_)) { "given" } else { "row" };
                format!("{row} * {}", view.stride)
            };
            let text = match source {
                Source::Full(view) => {
                    let row = pointer(view, cols);
                    format!("p{v}[{row} + col]")
                }
                Source::Column(view) => {
                    let row = pointer(view, 1);
                    format!("p{v}[{row}]")
                }
                Source::Row(view) => {
                    pointer(view, cols);
                    format!("p{v}[col]")
                }
                Source::One(view) => {
                    pointer(view, 1);
                    format!("*p{v}")
                }
                Source::Gather { data, index } => self.gather(v, (data, index), cols, parameters),
                Source::Draw(kind, stream) => draw(kind, stream, "x.first + row", "col"),
                Source::Literal(_) | Source::BatchSize => continue,
                Source::StepDraw(..) => unreachable!("plans for GPUs have no loops"),
                Source::Target(_) => unreachable!("row stages do not read the sums of their own level"),
            };
            reads.push((v, element.when(source), text));
        }
        reads
    }

    fn by_rows(&mut self, group: &Group, sinks: &[Sink], places: &RowPlaces) -> Call {
        let element = Element::new(group, sinks.iter().map(|s| s.value()));
        let (mut parameters, mut accesses) = (Parameters::default(), Vec::new());
        let reads = self.sources(&element, places, &mut parameters, &mut accesses);
        let read = |at: When| {
            let lines = reads.iter().filter(|(_, when, _)| *when == at);
            lines.map(|(v, _, text)| format!("float s{v} = {text};\n")).collect::<String>()
        };
        let value = format!("{}{}{}", read(When::Column), read(When::Each), element.compute(""));
        let cols = group.shape.cols;
        let over = |inner: String| {
            format!(
                "#pragma unroll {}\nfor (int col = lane; col < {cols}; col += 32) {{\n{value}{inner}}}\n",
                if cols > 128 { 4 } else { 1 }
            )
        };
        let mut body = String::new();
        let (from, to) = match is_own_group(group, &places.schedule.own) {
            true => ("0", "ROWS"),
            false => ("x.rank * ROWS / CLUSTER", "(x.rank + 1) * ROWS / CLUSTER"),
        };
        let _ = writeln!(body, "int lane = threadIdx.x % 32, from = {from}, to = {to};");
        body.push_str(&read(When::Once));
        body.push_str("for (int row = from + threadIdx.x / 32; row < to; row += WARPS) {\n");
        body.push_str("int given = min(row, x.rows - 1 - x.first); (void)given;\n");
        for (i, sink) in sinks.iter().enumerate() {
            let name = element.name(sink.value(), "");
            let Some(view) = sink.view() else { continue };
            parameters.add("float*", &format!("o{i}"), places.argument(self, view));
            accesses.extend(places.access(view, 1, Share::Rows, true));
            if let Sink::SumCols(..) = sink {
                let _ = writeln!(
                    body,
                    "{{ float sum = 0.0f;\n{}sum = warp_sum(sum);",
                    over(format!("sum += {name};\n"))
                );
                let _ = writeln!(body, "if (lane == 0) o{i}[row * {}] = sum; }}", view.stride);
            } else {
                let _ = writeln!(body, "{{ float most = -__uint_as_float(0x7f800000u), sum = 0.0f;");
                let _ = writeln!(
                    body,
                    "{}most = warp_max(most);",
                    over(format!("most = f_max(most, {name});\n"))
                );
                let _ =
                    writeln!(body, "{}sum = warp_sum(sum);", over(format!("sum += expf({name} - most);\n")));
                let _ = writeln!(body, "if (lane == 0) o{i}[row * {}] = log_sum(most, sum); }}", view.stride);
            }
        }
        body.push_str("}\n");
        let label = format!("by rows [{cols}]");
        let Parameters { text, arguments } = parameters;
        Call { label, text: text + &body, arguments, accesses, scratch: 0, waits: false }
    }
}
