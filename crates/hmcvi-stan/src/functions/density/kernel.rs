//! Compute densities of known numbers by programs that are compiled once and used again.

use std::collections::HashMap;

use hmcvi::bayes::{Dims, Var};
use hmcvi_graph::{CpuOptions, Executable, Graph, Run, Shape, Store};

use super::ask::of;
use super::table::{DISTRIBUTIONS, Kind};
use crate::tape::Part;
use crate::value::{Sizes, Value};

/// How often the same has to be asked until a program pays.
const OFTEN: u32 = 8;
/// Elements that a program computes together.
const ROWS: usize = 128;

/// A distribution, what is asked of it, and the sizes of all values where they are described together.
type Key = (u16, Part, Vec<Sizes>);

/// Programs of densities.
#[derive(Default)]
pub(crate) struct Kernels {
    all: HashMap<Key, Kernel>,
}

enum Kernel {
    /// How often it was asked for.
    Asked(u32),
    Ready(Box<Executable<f64>>),
    /// The formula needs numbers that are known when it is written.
    None,
}

/// Names of inputs: the value, then the arguments.
const INPUTS: [&str; 6] = ["value", "first", "second", "third", "fourth", "fifth"];

impl Kernels {
    /// The sum over all elements, if there is a program for it.
    pub(super) fn eval(&mut self, id: u16, part: Part, all: &[Value]) -> Option<f64> {
        let dist = &DISTRIBUTIONS[id as usize];
        let numbers = dist.kind == Kind::Numbers;
        let sizes = if numbers { Vec::new() } else { all.iter().map(|value| value.sizes).collect() };
        let kernel = self.all.entry((id, part, sizes)).or_insert(Kernel::Asked(0));
        if let Kernel::Asked(times) = kernel {
            *times += 1;
            let length = if numbers { all.iter().map(Value::elements).max().unwrap_or(1) } else { 1 };
            if (*times as usize).saturating_mul(length) < OFTEN as usize {
                return None;
            }
            *kernel = compiled(id, part, all).map_or(Kernel::None, |found| Kernel::Ready(Box::new(found)));
        }
        match kernel {
            Kernel::Ready(executable) if numbers => elements(executable, all),
            Kernel::Ready(executable) => together(executable, all),
            _ => None,
        }
    }
}

fn compiled(id: u16, part: Part, all: &[Value]) -> Option<Executable<f64>> {
    let dist = &DISTRIBUTIONS[id as usize];
    let graph = Graph::new();
    let input = |(value, name): (&Value, &&str)| match dist.kind {
        Kind::Numbers => Some(Var::from_expr(graph.batch_input(name, 1), Dims::SCALAR)),
        Kind::Together { .. } => {
            let dims = Dims::new(&value.sizes.to_vec())?;
            Some(Var::from_expr(graph.batch_input(name, value.elements()), dims))
        }
    };
    let vars = all.iter().zip(&INPUTS).map(input).collect::<Option<Vec<Var<'_>>>>()?;
    let found = of(dist, part, vars[0], &vars[1..]).sum().expr();
    if graph.take_problem().is_some() {
        return None;
    }
    let program = graph.program().output("value", found.broadcast_to(Shape::batch(1))).compile().ok()?;
    Some(program.on_cpu::<f64>(CpuOptions { threads: 1, shards: 1, ..CpuOptions::for_rows(ROWS) }))
}

/// Elements side by side; numbers meet all of them.
fn elements(executable: &mut Executable<f64>, all: &[Value]) -> Option<f64> {
    let length = all.iter().map(Value::elements).max().unwrap_or(1);
    if length == 1 {
        let mut columns = [[0.0]; INPUTS.len()];
        for (column, value) in columns.iter_mut().zip(all) {
            *column = [value.number().or_else(|| Some(value.known()?[0]))?];
        }
        let inputs: [(&str, &[f64]); INPUTS.len()] = std::array::from_fn(|i| (INPUTS[i], &columns[i][..]));
        return run(executable, &inputs[..all.len()], 1)?.first().copied();
    }
    let known = all.iter().map(Value::known).collect::<Option<Vec<_>>>()?;
    let mut sum = 0.0;
    let mut columns = vec![Vec::with_capacity(length.min(ROWS)); all.len()];
    for from in (0..length).step_by(ROWS) {
        let to = (from + ROWS).min(length);
        for (column, values) in columns.iter_mut().zip(&known) {
            column.clear();
            match values.len() {
                1 => column.resize(to - from, values[0]),
                _ => column.extend_from_slice(&values[from..to]),
            }
        }
        sum += run(executable, &inputs(&columns), to - from)?.iter().sum::<f64>();
    }
    Some(sum)
}

fn together(executable: &mut Executable<f64>, all: &[Value]) -> Option<f64> {
    let known: Option<Vec<Vec<f64>>> = all.iter().map(|value| Some(value.known()?.into_owned())).collect();
    run(executable, &inputs(&known?), 1)?.first().copied()
}

fn inputs(columns: &[Vec<f64>]) -> Vec<(&'static str, &[f64])> {
    INPUTS.iter().zip(columns).map(|(name, column)| (*name, column.as_slice())).collect()
}

fn run<'e>(executable: &'e mut Executable<f64>, inputs: &[(&str, &[f64])], rows: usize) -> Option<&'e [f64]> {
    executable.evaluate(&Store::new(), &Run { rows, inputs, ..Run::default() }).ok()?;
    executable.output("value")
}
