//! Write the element-wise part of a group as CUDA C.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::op::{Draw, Unary};
use crate::plan::{Group, Instruction, Source, Value};

/// The values of a group that some sinks need, and how the text of a function names them.
pub(super) struct Element<'g> {
    pub(super) group: &'g Group,
    needed: BTreeSet<Value>,
    /// Whether values of a column are read with those of every place.
    columns: bool,
    /// Whether results have an index, too.
    results: bool,
}

/// When a source is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// For every value.
    Each,
    /// Once for a column.
    Column,
    /// Once.
    Once,
    /// It is part of the text.
    Never,
}

impl<'g> Element<'g> {
    pub(super) fn new(group: &'g Group, wanted: impl Iterator<Item = Value>) -> Self {
        let mut needed: BTreeSet<Value> = wanted.collect();
        let first = group.sources.len();
        for (i, instruction) in group.instructions.iter().enumerate().rev() {
            if needed.contains(&(first + i)) {
                needed.extend(instruction.args());
            }
        }
        Element { group, needed, columns: false, results: false }
    }

    /// Reads values of a column anew for every value, where a thread has values of several columns.
    pub(super) fn with_columns(self) -> Self {
        Element { columns: true, ..self }
    }

    /// Has several values of everything, results too.
    pub(super) fn with_several(self) -> Self {
        Element { columns: true, results: true, ..self }
    }

    /// Needed sources with their numbers.
    pub(super) fn sources(&self) -> impl Iterator<Item = (Value, Source)> + '_ {
        self.needed.iter().filter_map(|&v| Some((v, *self.group.sources.get(v)?)))
    }

    pub(super) fn when(&self, source: Source) -> When {
        match source {
            Source::Row(_) if !self.columns => When::Column,
            Source::One(_) => When::Once,
            Source::Literal(_) | Source::BatchSize => When::Never,
            _ => When::Each,
        }
    }

    /// Sources that are read for every value.
    pub(super) fn each(&self) -> impl Iterator<Item = (Value, Source)> + '_ {
        self.sources().filter(|(_, s)| self.when(*s) == When::Each)
    }

    /// Text that a value has in a function, with `index` behind what is read for every value.
    pub(super) fn name(&self, value: Value, index: &str) -> String {
        match self.group.sources.get(value) {
            Some(Source::Literal(x)) => literal(*x),
            Some(Source::BatchSize) => "(float)x.all".into(),
            Some(s) if self.when(*s) == When::Each => format!("s{value}{index}"),
            Some(_) => format!("s{value}"),
            None if self.results => format!("v{value}{index}"),
            None => format!("v{value}"),
        }
    }

    /// Lines that compute the needed instructions for several values of a thread, with an index behind each name.
    pub(super) fn compute_in<const N: usize>(&self, indices: [&str; N]) -> String {
        let first = self.group.sources.len();
        let mut text = String::new();
        let needed = |i: &usize| self.needed.contains(&(first + i));
        for i in (0..self.group.instructions.len()).filter(needed) {
            let _ = writeln!(text, "float v{}[{N}];", first + i);
        }
        let results = indices.map(|index| self.results(index));
        for at in 0..results[0].len() {
            for (lines, index) in results.iter().zip(indices) {
                let (v, result) = &lines[at];
                let _ = writeln!(text, "v{v}{index} = {result};");
            }
        }
        text
    }

    /// Lines that compute the needed instructions.
    pub(super) fn compute(&self, index: &str) -> String {
        self.results(index).into_iter().fold(String::new(), |mut text, (v, result)| {
            let _ = writeln!(text, "float v{v} = {result};");
            text
        })
    }

    /// The needed instructions, each with the text of its result.
    fn results(&self, index: &str) -> Vec<(Value, String)> {
        let first = self.group.sources.len();
        let name = |v: Value| self.name(v, index);
        let text = |instruction: &Instruction| match *instruction {
            Instruction::Unary(Unary::Polygamma(order), a) => {
                format!("f_polygamma<{order}>({})", name(a))
            }
            Instruction::Unary(f, a) => format!("f_{}({})", f.name(), name(a)),
            Instruction::Binary(f, a, b) => format!("f_{}({}, {})", f.name(), name(a), name(b)),
            Instruction::Select(c, a, b) => format!("{} != 0.0f ? {} : {}", name(c), name(a), name(b)),
        };
        let numbered =
            self.group.instructions.iter().enumerate().map(|(i, instruction)| (first + i, instruction));
        numbered.filter(|(v, _)| self.needed.contains(v)).map(|(v, i)| (v, text(i))).collect()
    }
}

/// A number as the text of exactly that f32.
fn literal(x: f64) -> String {
    format!("__uint_as_float(0x{:08x}u)", (x as f32).to_bits())
}

/// Call that draws a value.
pub(super) fn draw(draw: Draw, stream: u16, row: &str, col: &str) -> String {
    let kind = match draw {
        Draw::Normal => "normal",
        Draw::Uniform => "uniform",
    };
    format!("draw_{kind}(x.run, {stream}u, {row}, {col})")
}
