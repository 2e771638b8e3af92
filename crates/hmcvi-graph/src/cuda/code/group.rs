//! Write the groups of a row stage: by columns, with sums over the tile's rows, or by rows, with sums
//! over columns.

use std::fmt::Write;

use super::Writer;
use super::element::{Element, When, draw};
use super::hazards::{Access, Place, Share};
use super::rows::RowPlaces;
use crate::cuda::layout::Area;
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
}

impl Writer<'_> {
    /// The calls that run a group on a tile: sums over columns first, since the others may overwrite
    /// what they read.
    pub(super) fn row_group(&mut self, group: &Group, places: &mut RowPlaces) -> Vec<Call> {
        let is_row = |sink: &Sink| matches!(sink, Sink::SumCols(..) | Sink::LogSumExp(..));
        let (by_row, by_column): (Vec<Sink>, Vec<Sink>) = group.sinks.iter().partition(|s| is_row(s));
        let mut calls = Vec::new();
        if !by_row.is_empty() {
            calls.push(self.by_rows(group, &by_row, places));
        }
        if !by_column.is_empty() {
            calls.push(self.by_columns(group, &by_column, places));
        }
        calls
    }

    /// Parameters for the sources, and the text that reads one for a row and a column.
    fn sources(
        &self,
        element: &Element<'_>,
        places: &RowPlaces,
        share: Share,
        parameters: &mut Parameters,
        accesses: &mut Vec<Access>,
    ) -> Vec<(Value, When, String)> {
        let cols = element.group.shape.cols;
        let mut reads = Vec::new();
        for (v, source) in element.sources() {
            let mut pointer = |view: View, width: usize, share: Share| {
                parameters.add("const float*", &format!("p{v}"), places.argument(self, view));
                accesses.extend(places.access(view, width, share, false));
                // Rows beyond the batch exist only in tiles.
                let row = if matches!(view.base, Base::Input(_)) { "given" } else { "row" };
                format!("{row} * {}", view.stride)
            };
            let text = match source {
                Source::Full(view) => {
                    let row = pointer(view, cols, share);
                    format!("p{v}[{row} + col]")
                }
                Source::Column(view) => {
                    let row = pointer(view, 1, Share::All);
                    format!("p{v}[{row}]")
                }
                Source::Row(view) => {
                    pointer(view, cols, share);
                    format!("p{v}[col]")
                }
                Source::One(view) => {
                    pointer(view, 1, share);
                    format!("*p{v}")
                }
                Source::Gather { data, index } => {
                    let given = |base| Argument::Address { base, offset: 0 };
                    let (kind, read) = match self.plan.data[data].kind {
                        DataKind::Bytes => (
                            "const unsigned char*",
                            format!("(float)p{v}[(size_t)i{v}[given] * {cols} + col]"),
                        ),
                        DataKind::Values => {
                            ("const Table*", format!("table_value(p{v}, i{v}[given], {cols}, col)"))
                        }
                    };
                    parameters.add(kind, &format!("p{v}"), given(self.bases.data(data)));
                    parameters.add("const u32*", &format!("i{v}"), given(self.bases.index(index)));
                    read
                }
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
        let reads = self.sources(&element, places, Share::All, &mut parameters, &mut accesses);
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
        body.push_str("int lane = threadIdx.x % 32, from = x.rank * ROWS / CLUSTER, to = (x.rank + 1) * ROWS / CLUSTER;\n");
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
        Call { label, text: parameters.text + &body, arguments: parameters.arguments, accesses, scratch: 0 }
    }

    fn by_columns(&mut self, group: &Group, sinks: &[Sink], places: &mut RowPlaces) -> Call {
        let element = Element::new(group, sinks.iter().map(|s| s.value()));
        let (cols, tile_rows) = (group.shape.cols, self.tiling.tile_rows());
        let share = Share::Columns(cols);
        let (mut parameters, mut accesses) = (Parameters::default(), Vec::new());
        let reads = self.sources(&element, places, share, &mut parameters, &mut accesses);
        let most = cols.min(cols.div_ceil(8).div_ceil(self.tiling.cluster) * 8);
        // Threads that share a column: as many as there is room for.
        let mut parts = 1;
        while parts < tile_rows && 2 * parts * most <= self.tiling.threads {
            parts *= 2;
        }
        let span = tile_rows / parts;
        // Rows that are read together: memory that results go to may be what is read, so the compiler
        // cannot read ahead by itself.
        let each = element.each().count().max(1);
        let mut together = 1;
        while together < span.min(4) && 2 * together * each <= 32 {
            together *= 2;
        }
        let mut body = String::new();
        let _ = writeln!(body, "int from = cut({cols}, x.rank), to = cut({cols}, x.rank + 1);");
        let read = |at: When, into: &dyn Fn(Value) -> String| {
            let lines = reads.iter().filter(|(_, when, _)| *when == at);
            lines.map(|(v, _, text)| format!("{} = {text};\n", into(*v))).collect::<String>()
        };
        body.push_str(&read(When::Once, &|v| format!("float s{v}")));
        let _ = writeln!(body, "for (int item = threadIdx.x; item < {}; item += THREADS) {{", most * parts);
        let _ =
            writeln!(body, "int part = item / {most}, col = from + item % {most};\nif (col >= to) continue;");
        body.push_str(&read(When::Column, &|v| format!("float s{v}")));
        let sums = || sinks.iter().enumerate().filter(|(_, s)| matches!(s, Sink::Accumulate { .. }));
        for (i, _) in sums() {
            let _ = writeln!(body, "float sum{i} = 0.0f;");
        }
        let _ = writeln!(body, "for (int base = 0; base < {span}; base += {together}) {{");
        for (v, _) in element.each() {
            let _ = writeln!(body, "float s{v}[{together}];");
        }
        let row = format!(
            "int row = part * {span} + base + u, given = min(row, x.rows - 1 - x.first); (void)given;"
        );
        let unrolled = format!("#pragma unroll\nfor (int u = 0; u < {together}; ++u) {{\n{row}\n");
        let _ = writeln!(body, "{unrolled}{}}}", read(When::Each, &|v| format!("s{v}[u]")));
        let _ = write!(body, "{unrolled}{}", element.compute("[u]"));
        let (mut after, mut totals) = (String::new(), String::new());
        let mut scratch = 0;
        for (i, sink) in sinks.iter().enumerate() {
            let name = element.name(sink.value(), "[u]");
            match *sink {
                Sink::Accumulate { into, negative, .. } => {
                    let (sum, first) = places.sum(into, cols);
                    let to = Argument::Address { base: self.bases.area(Area::Parts), offset: sum };
                    let _ = writeln!(body, "if (x.first + row < x.rows) sum{i} += {name};");
                    parameters.add("float*", &format!("o{i}"), to);
                    accesses.push(Access { place: Place::Sum(sum), share, writes: true });
                    if parts == 1 {
                        let (sign, assign) =
                            (if negative { "-" } else { "" }, if first { "=" } else { "+=" });
                        let _ = writeln!(after, "o{i}[col] {assign} {sign}sum{i};");
                    } else {
                        let _ = writeln!(after, "x.scratch[{scratch} + item] = sum{i};");
                        let _ = writeln!(
                            totals,
                            "column_totals(x, o{i}, {scratch}, {parts}, {most}, {cols}, {first}, {negative});"
                        );
                        scratch += parts * most;
                    }
                }
                Sink::Store(_, view) => {
                    parameters.add("float*", &format!("o{i}"), places.argument(self, view));
                    accesses.extend(places.access(view, cols, share, true));
                    let guard = if matches!(view.base, Base::Output(_)) {
                        "if (x.first + row < x.rows) "
                    } else {
                        ""
                    };
                    let _ = writeln!(body, "{guard}o{i}[row * {} + col] = {name};", view.stride);
                }
                _ => unreachable!("sums over columns run by rows; fixed shapes have no tiles"),
            }
        }
        let _ = writeln!(body, "}}\n}}\n{after}}}");
        if scratch > 0 {
            accesses.push(Access { place: Place::Scratch, share, writes: true });
            let _ = write!(body, "__syncthreads();\n{totals}");
        }
        let label =
            format!("by columns [{cols}], {} read, {} written, {parts} parts", reads.len(), sinks.len());
        Call { label, text: parameters.text + &body, arguments: parameters.arguments, accesses, scratch }
    }
}
