//! Keep what a model function in Python did, so that it can be done again without Python.
//!
//! A function is called once, with its data. Each operation on its values becomes a [`Step`] and is checked on the spot,
//! so that an error belongs to the line that is to blame. [`replay`] is the description of the model from then on.

mod distribution;
mod operation;

use std::sync::Arc;

use hmcvi::bayes::{Arg, Array, Builder, Data, Dims, Model, ModelError, Order, Support, Var};

pub(crate) use distribution::{Description, DescriptionError, NAMES, Region};
pub(crate) use operation::{Operation, binary, function, joined};

/// One thing that a model function did. Values are named by the step that made them.
#[derive(Clone)]
pub(crate) enum Step {
    /// Numbers that are known.
    Known(Arc<Array>),
    /// A value made from others.
    Apply { operation: Operation, operands: Vec<usize> },
    /// A variable to infer.
    Sample { name: String, distribution: Description },
    /// The log density of a distribution at a value.
    LogProb { distribution: Description, value: usize },
    /// A name for a value.
    Deterministic { name: String, value: usize },
    /// Data that were seen.
    Observe { name: String, distribution: Description, seen: usize },
    /// What is added to the log density.
    LogDensity { name: String, value: usize },
}

/// What is known of an operand while a step is checked.
#[derive(Clone)]
pub(crate) enum Operand {
    /// Its numbers.
    Known(Arc<Array>),
    /// Its dimensions.
    Free(Dims),
}

impl Step {
    /// The steps that made what this one needs.
    pub(crate) fn operands(&self) -> Vec<usize> {
        match self {
            Step::Known(_) => Vec::new(),
            Step::Apply { operands, .. } => operands.clone(),
            Step::Sample { distribution, .. } => distribution.operands(),
            Step::Deterministic { value, .. } | Step::LogDensity { value, .. } => vec![*value],
            Step::Observe { distribution, seen: value, .. } | Step::LogProb { distribution, value } => {
                [distribution.operands(), vec![*value]].concat()
            }
        }
    }

    fn run<'g>(&self, m: &mut Builder<'g>, value: &dyn Fn(usize) -> Arg<'g>) -> Arg<'g> {
        match self {
            Step::Known(array) => known(m, array),
            Step::Apply { operation, operands } => {
                let operands: Vec<Var<'g>> = operands.iter().map(|place| var(m, value(*place))).collect();
                operation.apply(&operands).into()
            }
            Step::Sample { name, distribution } => {
                let dims = distribution.shape.or_else(|| distribution.dims(value));
                let distribution = distribution.build(m, value, dims);
                m.sample(name, distribution).into()
            }
            Step::Deterministic { name, value: place } => {
                let value = var(m, value(*place));
                m.deterministic(name, value).into()
            }
            Step::Observe { name, distribution, seen } => {
                let seen = var(m, value(*seen));
                let distribution = distribution.build(m, value, Some(seen.dims()));
                m.observe(name, distribution, seen);
                Arg::Number(0.0)
            }
            Step::LogProb { distribution, value: place } => log_prob(m, distribution, value, *place),
            Step::LogDensity { name, value: place } => {
                let value = var(m, value(*place));
                m.add_log_density(name, value);
                Arg::Number(0.0)
            }
        }
    }

    /// The dimensions of what the step makes.
    ///
    /// # Errors
    /// If its operands do not fit. The name of what has none is empty.
    pub(crate) fn check(&self, operands: &[(usize, Operand)]) -> Result<Dims, ModelError> {
        let (step, operands) = (self.clone(), operands.to_vec());
        // The smallest model that has this step: all that is not known is a variable.
        let model = Model::new(move |m| {
            m.declare(" none", Support::Real, (), Order::Rows);
            let mut values: Vec<(usize, Arg<'_>)> = Vec::with_capacity(operands.len());
            for (place, operand) in &operands {
                let value = match operand {
                    Operand::Known(array) => known(m, array),
                    Operand::Free(dims) => {
                        m.declare(&format!(" {place}"), Support::Real, *dims, Order::Rows).into()
                    }
                };
                values.push((*place, value));
            }
            let of = |wanted: usize| {
                values
                    .iter()
                    .find(|(place, _)| *place == wanted)
                    .map_or(Arg::Number(0.0), |(_, value)| *value)
            };
            let result = step.run(m, &of);
            let result = var(m, result);
            m.deterministic(RESULT, result);
        });
        let bound = model.bind(&Data::new()).map_err(|error| match error {
            ModelError::Variable { name, problem } if name == RESULT => {
                ModelError::Variable { name: String::new(), problem }
            }
            other => other,
        })?;
        Ok(bound.values().last().map_or(Dims::SCALAR, |(_, dims)| *dims))
    }
}

/// The log density of a distribution at a value, both repeated to the dimensions that they have together.
fn log_prob<'g>(
    m: &mut Builder<'g>,
    distribution: &Description,
    value: &dyn Fn(usize) -> Arg<'g>,
    place: usize,
) -> Arg<'g> {
    let x = var(m, value(place));
    let together = distribution.dims(value).and_then(|dims| joined(dims, x.dims()));
    let x = match together {
        Some(dims) => all_of(m, x, dims),
        None => x,
    };
    let distribution = distribution.build(m, value, Some(x.dims()));
    match distribution.check(x) {
        Ok(()) => distribution.log_prob(x).into(),
        Err(problem) => {
            x.graph().note_problem(|| problem);
            x.into()
        }
    }
}

/// A value as often as these dimensions need it, also if it is a scalar.
fn all_of<'g>(m: &mut Builder<'g>, x: Var<'g>, dims: Dims) -> Var<'g> {
    if x.dims().is_scalar() && !dims.is_scalar() {
        return m.known(dims, &vec![0.0; dims.elements()]) + x;
    }
    operation::repeat(x, dims)
}

/// The name of what a step makes while it is checked; no variable's name begins with a space.
const RESULT: &str = " result";

/// Describes a model by the steps of its function.
pub(crate) fn replay(steps: &[Step], m: &mut Builder<'_>) {
    let mut values = Vec::with_capacity(steps.len());
    for step in steps {
        let value = step.run(m, &|place| values[place]);
        values.push(value);
    }
}

/// A single number stays one, as where it is written in Rust: a model has the same bits in both languages.
fn known<'g>(m: &mut Builder<'g>, array: &Array) -> Arg<'g> {
    match (array.dims.is_scalar(), array.values.as_slice()) {
        (true, &[number]) => Arg::Number(number),
        _ => m.known(array.dims, &array.values).into(),
    }
}

fn var<'g>(m: &mut Builder<'g>, value: Arg<'g>) -> Var<'g> {
    match value {
        Arg::Number(number) => m.known((), &[number]),
        Arg::Var(var) => var,
    }
}
