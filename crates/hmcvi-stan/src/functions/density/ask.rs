//! Ask a distribution: at once where all is known, else on the tape.

use hmcvi::bayes::{Dims, Var, cumulative};
use hmcvi_graph::{CpuOptions, Graph, Run, Shape, Store};

use super::table::{DISTRIBUTIONS, Dist, Kind};
use crate::functions::Found;
use crate::machine::Machine;
use crate::tape::{Op, Part};
use crate::types::Ty;
use crate::value::{Sizes, Value};

pub(super) fn ask(machine: &mut Machine<'_>, name: &str, all: &[Value], part: Part) -> Found {
    let id = super::find(name).ok_or_else(|| format!("there is no distribution `{name}`"))?;
    let dist = &DISTRIBUTIONS[id as usize];
    let known = all.iter().all(Value::is_known);
    if known && part == (Part::Density { constants: false }) {
        // Nothing depends on a parameter.
        return Ok(Value::num(0.0));
    }
    if dist.kind == Kind::Numbers {
        let length = common_length(name, all)?;
        if length == 0 {
            return Ok(Value::num(0.0));
        }
    } else if all[0].elements() == 0 {
        return Ok(Value::num(0.0));
    }
    let sizes: Vec<Sizes> = match dist.kind {
        Kind::Numbers => Vec::new(),
        Kind::Together { .. } => all.iter().map(|value| value.sizes).collect(),
    };
    if known {
        // What is no finite number may be worth an error, which the formulas of known numbers have.
        return match machine.kernels.eval(id, part, all).filter(|value| value.is_finite()) {
            Some(value) => Ok(Value::num(value)),
            None => eval_known(dist, part, all).map(Value::num),
        };
    }
    let sizes = machine.tape.sizes_of(sizes);
    let arguments: Vec<&Value> = all.iter().collect();
    let data = machine.record(Op::Density { id, part, sizes }, &arguments, 1)?;
    Ok(Value { ty: Ty::REAL, sizes: Sizes::SCALAR, data })
}

/// Elements that are described together: those of the arguments that are not scalars.
fn common_length(name: &str, all: &[Value]) -> Result<usize, String> {
    let mut length = None;
    for value in all.iter().filter(|value| !value.is_scalar()) {
        match length {
            None => length = Some(value.elements()),
            Some(known) if known == value.elements() => {}
            Some(known) => {
                return Err(format!(
                    "the arguments of `{name}` have {known} and {} elements",
                    value.elements()
                ));
            }
        }
    }
    Ok(length.unwrap_or(1))
}

/// What is asked of a distribution, for each element or part.
pub(crate) fn of<'g>(dist: &Dist, part: Part, x: Var<'g>, arguments: &[Var<'g>]) -> Var<'g> {
    match part {
        Part::Density { .. } => (dist.make)(x, arguments).log_prob(x),
        Part::LogCdf => cumulative::log_cdf(dist.name, x, arguments),
        Part::LogCcdf => cumulative::log_ccdf(dist.name, x, arguments),
    }
}

/// The value where everything is known, by the same formulas.
fn eval_known(dist: &Dist, part: Part, all: &[Value]) -> Result<f64, String> {
    let graph = Graph::new();
    let known: Vec<_> = all.iter().filter_map(Value::known).collect();
    let value = match dist.kind {
        Kind::Numbers => {
            let length = known.iter().map(|values| values.len()).max().unwrap_or(1);
            let mut sum = 0.0;
            for i in 0..length {
                let number = |values: &std::borrow::Cow<'_, [f64]>| {
                    Var::from_expr(
                        graph.constant(values[if values.len() == 1 { 0 } else { i }]),
                        Dims::SCALAR,
                    )
                };
                let vars: Vec<Var<'_>> = known.iter().map(number).collect();
                let found = of(dist, part, vars[0], &vars[1..]);
                if let Some(problem) = graph.take_problem() {
                    return Err(problem);
                }
                sum += match found.expr().known() {
                    Some(values) => values[0],
                    None => run(found)?,
                };
            }
            sum
        }
        Kind::Together { .. } => {
            let var = |(value, known): (&Value, &std::borrow::Cow<'_, [f64]>)| {
                let dims = Dims::new(&value.sizes.to_vec()).ok_or("there are too many dimensions")?;
                let row = if known.len() == 1 {
                    graph.constant(known[0])
                } else {
                    graph.constant_matrix(1, known.len(), known)
                };
                Ok(Var::from_expr(row, dims))
            };
            let vars = all.iter().zip(&known).map(var).collect::<Result<Vec<_>, String>>()?;
            let found = of(dist, part, vars[0], &vars[1..]);
            run(found.sum())?
        }
    };
    match graph.take_problem() {
        Some(problem) => Err(problem),
        None => Ok(value),
    }
}

/// Computes an expression of known numbers.
fn run(value: Var<'_>) -> Result<f64, String> {
    let wrong = |e: &dyn std::fmt::Display| e.to_string();
    let output = value.expr().broadcast_to(Shape::batch(1));
    let program = value.graph().program().output("value", output).compile().map_err(|e| wrong(&e))?;
    let mut executable = program.on_cpu::<f64>(CpuOptions::for_rows(1));
    executable.evaluate(&Store::new(), &Run { rows: 1, ..Run::default() }).map_err(|e| wrong(&e))?;
    Ok(executable.output("value").and_then(|values| values.first().copied()).unwrap_or(f64::NAN))
}
