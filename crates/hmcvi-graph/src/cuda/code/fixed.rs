//! Write the waves of a fixed stage, each as one kernel whose blocks are shared out among its steps.

use std::fmt::Write;

use super::element::{Element, When};
use super::{Grid, Launch, Writer, head};
use crate::cuda::layout::{Area, fixed_offset, history};
use crate::op::Transpose;
use crate::plan::{Base, Group, Sink, Source, Step, Value, View};

/// Threads of a block.
const THREADS: usize = 256;

/// Values from which on a thread takes several, to have more reads under way.
const MANY: usize = 1 << 16;

/// Work of a kernel: calls, each with the number of its blocks.
type Calls = Vec<(String, usize)>;

impl Writer<'_> {
    pub(super) fn wave(&mut self, name: &str, steps: &[Step]) {
        // Sums read what element-wise steps of the same group may overwrite, so they come first.
        let (mut sums, mut others): (Calls, Calls) = (Vec::new(), Vec::new());
        let mut apart = false;
        for step in steps {
            match step {
                Step::Group(group) => {
                    let before = sums.len();
                    self.fixed_sums(group, &mut sums);
                    let stores: Vec<Sink> =
                        group.sinks.iter().copied().filter(|s| matches!(s, Sink::Store(..))).collect();
                    apart |= sums.len() > before && !stores.is_empty();
                    if !stores.is_empty() {
                        others.push(self.fixed_elements(group, &stores));
                    }
                }
                Step::FixedProduct { transpose, a, b, out } => {
                    others.push(self.fixed_product(*transpose, *a, *b, *out));
                }
                Step::Rowwise(step) => others.push(self.fixed_rowwise(step, THREADS)),
                Step::Product { .. } | Step::Accumulate { .. } | Step::Wide(_) => {
                    unreachable!("steps of row stages")
                }
            }
        }
        if apart {
            self.calls(&format!("{name}_sums"), &sums);
            self.calls(name, &others);
        } else {
            sums.extend(others);
            self.calls(name, &sums);
        }
    }

    fn calls(&mut self, name: &str, calls: &Calls) {
        if calls.is_empty() {
            return;
        }
        self.kernels.push_str(&head(name, &format!("__launch_bounds__({THREADS})")));
        self.kernels.push_str("Share x = {(int)blockIdx.x, reinterpret_cast<const Run*>(words)->all};\n");
        let mut all = 0;
        for (call, blocks) in calls {
            let _ =
                writeln!(self.kernels, "if (x.block < {blocks}) {{ {call} return; }}\nx.block -= {blocks};");
            all += blocks;
        }
        self.kernels.push_str("}\n");
        self.launches.push(Launch {
            kernel: name.into(),
            grid: Grid::Blocks(all),
            threads: THREADS,
            shared: 0,
        });
    }

    pub(super) fn address(&self, view: View) -> String {
        let base = self.bases.of(view.base);
        format!("reinterpret_cast<float*>(table[{base}]) + {}", fixed_offset(self.plan, view))
    }

    /// Parameters, arguments, and the text that reads each source.
    fn fixed_sources(&self, element: &Element<'_>) -> (String, String, Vec<(Value, When, String)>) {
        let (mut list, mut arguments) = ("const Share x".to_string(), "x".to_string());
        let mut reads = Vec::new();
        let cols = element.group.shape.cols;
        for (v, source) in element.sources() {
            let (address, text) = match source {
                Source::Full(view) => (self.address(view), format!("p{v}[row * {} + col]", view.stride)),
                Source::Column(view) => (self.address(view), format!("p{v}[row * {}]", view.stride)),
                Source::Row(view) => (self.address(view), format!("p{v}[col]")),
                Source::One(view) => (self.address(view), format!("*p{v}")),
                Source::Target(t) => {
                    let (base, offset) = (self.bases.area(Area::Sums), self.plan.targets[t].offset);
                    let address = format!("reinterpret_cast<float*>(table[{base}]) + {offset}");
                    (address, format!("p{v}[row * {cols} + col]"))
                }
                Source::Literal(_) | Source::BatchSize => continue,
                Source::Gather { .. } | Source::Draw(..) | Source::StepDraw(..) => {
                    unreachable!("only rows of the batch are drawn")
                }
            };
            let _ = write!(list, ", const float* p{v}");
            let _ = write!(arguments, ", {address}");
            reads.push((v, element.when(source), text));
        }
        (list, arguments, reads)
    }

    fn fixed_elements(&mut self, group: &Group, sinks: &[Sink]) -> (String, usize) {
        let element = Element::new(group, sinks.iter().map(|s| s.value())).with_columns();
        let (mut list, mut arguments, reads) = self.fixed_sources(&element);
        let (size, cols) = (group.shape.elements(), group.shape.cols);
        let together = if size >= MANY { 4 } else { 1 };
        let places = history(self.plan);
        let mut body = String::new();
        for (v, when, text) in &reads {
            let _ = match when {
                When::Once => writeln!(body, "float s{v} = {text};"),
                _ => writeln!(body, "float s{v}[{together}];"),
            };
        }
        let unrolled = format!(
            "#pragma unroll\nfor (int u = 0; u < {together}; ++u) {{\nint at = (x.block * {together} + u) * {THREADS} + threadIdx.x;\n\
             if (at >= {size}) break;\nint row = at / {cols}, col = at % {cols}; (void)row; (void)col;\n"
        );
        body.push_str(&unrolled);
        for (v, _, text) in reads.iter().filter(|(_, when, _)| *when != When::Once) {
            let _ = writeln!(body, "s{v}[u] = {text};");
        }
        let _ = write!(body, "}}\n{unrolled}");
        let mut stores = String::new();
        for (i, sink) in sinks.iter().enumerate() {
            let Sink::Store(value, view) = *sink else { continue };
            let name = element.name(value, "[u]");
            let _ = write!(list, ", float* o{i}");
            let _ = write!(arguments, ", {}", self.address(view));
            let _ = writeln!(stores, "o{i}[row * {} + col] = {name};", view.stride);
            if let Base::Output(output) = view.base
                && let Some(at) = places.0[output]
            {
                let (base, len) = (self.bases.area(Area::History), places.1);
                let _ = write!(list, ", float* h{i}");
                let slot = "(size_t)reinterpret_cast<const Run*>(words)->slot";
                let _ =
                    write!(arguments, ", reinterpret_cast<float*>(table[{base}]) + {slot} * {len} + {at}");
                let _ = writeln!(stores, "h{i}[at] = {name};");
            }
        }
        let _ = writeln!(body, "{}{stores}}}", element.compute("[u]"));
        let name = self.functions.name(list, body);
        (format!("{name}({arguments});"), size.div_ceil(THREADS * together))
    }

    /// Sums over columns by warps, sums over rows by threads.
    fn fixed_sums(&mut self, group: &Group, calls: &mut Calls) {
        let (rows, cols) = (group.shape.fixed_rows(), group.shape.cols);
        for sink in &group.sinks {
            let (value, view) = match *sink {
                Sink::SumCols(value, view) | Sink::LogSumExp(value, view) | Sink::SumRows(value, view) => {
                    (value, view)
                }
                _ => continue,
            };
            let element = Element::new(group, [value].into_iter());
            let (mut list, mut arguments, reads) = self.fixed_sources(&element);
            let _ = write!(list, ", float* o");
            let _ = write!(arguments, ", {}", self.address(view));
            let mut inner = String::new();
            for (v, _, text) in &reads {
                let _ = writeln!(inner, "float s{v} = {text};");
            }
            inner.push_str(&element.compute(""));
            let name = element.name(value, "");
            let over = |of: &str| {
                format!(
                    "#pragma unroll 4\nfor (int col = threadIdx.x % 32; col < {cols}; col += 32) {{\n{inner}{of}\n}}\n"
                )
            };
            let warp = format!(
                "int row = x.block * {} + threadIdx.x / 32;\nif (row >= {rows}) return;\n",
                THREADS / 32
            );
            let last =
                |value: &str| format!("if (threadIdx.x % 32 == 0) o[row * {}] = {value};\n", view.stride);
            let (body, blocks) = match sink {
                Sink::SumCols(..) => {
                    let sum = over(&format!("sum += {name};"));
                    (
                        format!("{warp}float sum = 0.0f;\n{sum}sum = warp_sum(sum);\n{}", last("sum")),
                        rows.div_ceil(THREADS / 32),
                    )
                }
                Sink::LogSumExp(..) => {
                    let most = over(&format!("most = f_max(most, {name});"));
                    let sum = over(&format!("sum += expf({name} - most);"));
                    let start = "float most = -__uint_as_float(0x7f800000u), sum = 0.0f;\n";
                    let end = last("log_sum(most, sum)");
                    (
                        format!(
                            "{warp}{start}{most}most = warp_max(most);\n{sum}sum = warp_sum(sum);\n{end}"
                        ),
                        rows.div_ceil(THREADS / 32),
                    )
                }
                _ => {
                    let body = format!(
                        "int col = x.block * {THREADS} + threadIdx.x;\nif (col >= {cols}) return;\nfloat sum = 0.0f;\n\
                         #pragma unroll 4\nfor (int row = 0; row < {rows}; ++row) {{\n{inner}sum += {name};\n}}\no[col] = sum;\n"
                    );
                    (body, cols.div_ceil(THREADS))
                }
            };
            let name = self.functions.name(list, body);
            calls.push((format!("{name}({arguments});"), blocks));
        }
    }

    fn fixed_product(
        &mut self,
        transpose: Transpose,
        a: (View, [usize; 2]),
        b: (View, [usize; 2]),
        out: View,
    ) -> (String, usize) {
        let ((a, a_size), (b, b_size)) = (a, b);
        let (left, rows, depth) = match transpose {
            Transpose::Left => ([1, a.stride], a_size[1], a_size[0]),
            _ => ([a.stride, 1], a_size[0], a_size[1]),
        };
        let (right, cols) = match transpose {
            Transpose::Right => ([1, b.stride], b_size[0]),
            _ => ([b.stride, 1], b_size[1]),
        };
        let call = format!(
            "fixed_product(x.block, {rows}, {depth}, {cols}, {}, {}, {}, {}, {}, {}, {}, {});",
            self.address(a),
            left[0],
            left[1],
            self.address(b),
            right[0],
            right[1],
            self.address(out),
            out.stride
        );
        (call, (rows * cols).div_ceil(THREADS))
    }
}
