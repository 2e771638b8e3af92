//! Draw a program's expressions as a Graphviz graph.

use std::fmt::Write;

use super::Program;
use crate::op::{Op, Unary};

impl Program {
    /// The program's expressions in the Graphviz language: rows blue, fixed values grey.
    pub fn graphviz(&self) -> String {
        let mut text =
            String::from("digraph program {\n  node [shape=box, style=filled, fontname=\"sans-serif\"];\n");
        for (id, node) in self.plan.nodes.iter().enumerate() {
            let detail = match &node.op {
                Op::Input(name) | Op::Parameter(name) => format!(" {name}"),
                Op::Gather { data, index, .. } => format!(" {data}[{index}]"),
                Op::Scalar(bits) => format!(" {}", f64::from_bits(*bits)),
                Op::Unary(Unary::Polygamma(order)) => format!(" {order}"),
                Op::Draw(_, stream) => format!(" {stream}"),
                Op::SliceCols(start) | Op::SliceRows(start) => format!(" from {start}"),
                _ => String::new(),
            };
            let detail = detail.replace('\\', "\\\\").replace('"', "\\\"");
            let colour = if node.shape.is_batch() { "lightblue" } else { "lightgrey" };
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "  n{id} [label=\"{}{detail}\\n{}\", fillcolor={colour}];",
                node.op.name(),
                node.shape
            );
            for arg in &node.args {
                let _ = writeln!(text, "  n{arg} -> n{id};");
            }
        }
        text.push_str("}\n");
        text
    }
}
