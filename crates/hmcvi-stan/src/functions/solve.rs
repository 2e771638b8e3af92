//! Solve equations and integrals that are functions of the program, by a fixed number of steps.

use super::divide::solve_system;
use super::higher::Called;
use crate::error::{Problem, Result};
use crate::machine::{Machine, joined};
use crate::types::Ty;
use crate::value::Value;

/// Steps of Newton's method: each doubles the digits once it is near, and the last make derivatives exact.
const NEWTON: usize = 16;
/// Differences by which slopes are found, in parts of the value.
const DIFFERENCE: f64 = 1e-7;

type Text<T> = std::result::Result<T, String>;

/// A function of the program from a vector to as many numbers.
pub(super) struct System<'a, 'c> {
    pub(super) called: &'a Called<'c>,
    pub(super) call: &'a dyn Fn(&mut Machine<'_>, &Value) -> Result<Value>,
}

impl System<'_, '_> {
    fn at(&self, machine: &mut Machine<'_>, x: &Value) -> Result<Value> {
        let n = x.elements();
        let found = (self.call)(machine, x)?;
        match found.elements() == n {
            true => Ok(found.with(Ty::VECTOR, &[n])),
            false => {
                Err(self.wrong(format!("`{}` gives {} numbers for {n}", self.called.name, found.elements())))
            }
        }
    }

    pub(super) fn wrong(&self, message: impl Into<String>) -> Problem {
        Problem::at(self.called.e.span, message)
    }

    /// Slopes at a point by differences, for a value there that is known.
    pub(super) fn slopes(&self, machine: &mut Machine<'_>, x: &Value, at: &Value) -> Result<Value> {
        let n = x.elements();
        let mut columns = Vec::with_capacity(n);
        for j in 0..n {
            let wrong = |m: String| self.wrong(m);
            let own = x.slice(Ty::REAL, &[], j);
            let size = machine.map("abs", &[&own]).map_err(wrong)?;
            let step = machine.scale(&size, DIFFERENCE).map_err(wrong)?;
            let step = machine.add(&step, &Value::num(DIFFERENCE)).map_err(wrong)?;
            let mut moved = x.clone();
            let place = machine.add(&own, &step).map_err(wrong)?;
            moved.write(&[j], &place);
            let there = self.at(machine, &moved)?;
            let change = machine.sub(&there, at).map_err(wrong)?;
            columns.push(machine.div(&change, &step).map_err(wrong)?);
        }
        // Columns one after the other are the rows of the transpose.
        Ok(super::matrix::transpose(&joined(Ty::MATRIX, &[n, n], &columns)))
    }
}

/// Where a function of the program is 0, from a guess: `solve_newton`, `solve_powell` and `algebra_solver`.
pub(super) fn root(
    machine: &mut Machine<'_>,
    called: &Called<'_>,
    name: &str,
    mut values: Vec<Value>,
) -> Result<Value> {
    let wrong = |message: &str| Problem::at(called.e.span, format!("`{name}`: {message}"));
    if values.is_empty() {
        return Err(wrong("expected a function and a guess"));
    }
    let guess = values.remove(0);
    // Tolerances are not needed: they come after the guess, or after the arguments in the old form.
    if name.ends_with("_tol") && values.len() >= 3 {
        values.drain(0..3);
    } else if name.starts_with("algebra") {
        values.truncate(3);
    }
    let call = |machine: &mut Machine<'_>, x: &Value| {
        let mut arguments = vec![x.clone()];
        arguments.extend(values.iter().cloned());
        called.call(machine, arguments)
    };
    let system = System { called, call: &call };
    let mut x = guess.with(Ty::VECTOR, &[guess.elements()]);
    for _ in 0..NEWTON {
        let at = system.at(machine, &x)?;
        let slopes = system.slopes(machine, &x, &at)?;
        let step = solve_system(machine, &slopes, &at).map_err(|m| wrong(&m))?;
        x = machine.sub(&x, &step).map_err(|m| wrong(&m))?;
    }
    Ok(x)
}

/// Spacing of the points of integrals, and how far they go to both sides.
const SPACING: f64 = 1.0 / 32.0;
const POINTS: i32 = 104;

/// `∫ f(x, c, θ, …) dx` by trapezoids after a substitution that lets the integrand fall off at both ends; `c` is the
/// distance to the nearer bound.
pub(super) fn integral(machine: &mut Machine<'_>, called: &Called<'_>, values: Vec<Value>) -> Result<Value> {
    let wrong = |message: String| Problem::at(called.e.span, format!("`integrate_1d`: {message}"));
    let [low, high, rest @ ..] = values.as_slice() else {
        return Err(wrong("expected a function and two bounds".into()));
    };
    let rest = &rest[..rest.len().min(3)];
    let infinite = [low, high].map(|bound| bound.number().is_some_and(f64::is_infinite));
    let mut parts = Vec::new();
    for k in -POINTS..=POINTS {
        let s = f64::from(k) * SPACING;
        let (x, distance, weight) = point(machine, s, [low, high], infinite).map_err(wrong)?;
        let mut arguments = vec![x, distance];
        arguments.extend(rest.iter().cloned());
        let height = called.call(machine, arguments)?;
        parts.push(machine.mul(&height, &weight).map_err(wrong)?);
    }
    let all = joined(Ty::VECTOR, &[parts.len()], &parts);
    machine.sum(&all).map_err(wrong)
}

/// A point of an integral, its distance to the nearer bound and its weight.
fn point(
    machine: &mut Machine<'_>,
    s: f64,
    [low, high]: [&Value; 2],
    infinite: [bool; 2],
) -> Text<(Value, Value, Value)> {
    let half = std::f64::consts::FRAC_PI_2;
    let (stretch, slope) = (half * s.sinh(), half * s.cosh() * SPACING);
    match infinite {
        // x = low + (high - low) u with u = 1 / (1 + exp(-2 stretch)).
        [false, false] => {
            let side = |v: f64| 1.0 / (1.0 + (-2.0 * v).exp());
            let (u, rest) = (side(stretch), side(-stretch));
            let width = machine.sub(high, low)?;
            let near = machine.scale(&width, u.min(rest))?;
            let (x, distance) = match u < rest {
                true => (machine.add(low, &near)?, machine.scale(&near, -1.0)?),
                false => (machine.sub(high, &near)?, near),
            };
            let weight = machine.scale(&width, 2.0 * u * rest * slope)?;
            Ok((x, distance, weight))
        }
        [true, true] => {
            let x = stretch.sinh();
            Ok((Value::num(x), Value::num(f64::NAN), Value::num(stretch.cosh() * slope)))
        }
        [low_is_infinite, _] => {
            let r = stretch.exp();
            let x = match low_is_infinite {
                true => machine.sub(high, &Value::num(r))?,
                false => machine.add(low, &Value::num(r))?,
            };
            Ok((x, Value::num(r), Value::num(r * slope)))
        }
    }
}

/// `log p(y)` of a hidden Markov model, from `log p(y | state)` `[K, N]`, the transitions and the first states.
pub(super) fn hidden_markov(machine: &mut Machine<'_>, a: &[Value]) -> Text<Value> {
    let (steps, sums) = filtered(machine, a)?;
    drop(steps);
    let all = joined(Ty::VECTOR, &[sums.len()], &sums);
    machine.sum(&all)
}

/// Probabilities of the states at each time, given what was seen until then, and the logarithms of what they sum to.
fn filtered(machine: &mut Machine<'_>, a: &[Value]) -> Text<(Vec<Value>, Vec<Value>)> {
    let (states, times) = a[0].rows_and_columns();
    if a[1].rows_and_columns() != (states, states) || a[2].elements() != states {
        return Err(format!("transitions and first states of {states} states are needed"));
    }
    let (mut all, mut sums) = (Vec::with_capacity(times), Vec::with_capacity(2 * times));
    let mut before = a[2].with(Ty::ROW, &[states]);
    for t in 0..times {
        if t > 0 {
            before = super::matrix::times(machine, &before, &a[1])?;
        }
        let logs = a[0].pick(Ty::ROW, &[states], (0..states).map(|k| k * times + t));
        let most = machine.reduce(crate::tape::Op::LogSumExp, &logs)?;
        let scaled = machine.sub(&logs, &most)?;
        let likelihood = machine.map("exp", &[&scaled])?;
        let both = machine.mul(&before, &likelihood)?;
        let sum = machine.sum(&both)?;
        before = machine.div(&both, &sum)?;
        sums.push(machine.map("log", &[&sum])?);
        sums.push(most);
        all.push(before.clone());
    }
    Ok((all, sums))
}

/// Probabilities of the states at each time, given all that was seen: `[K, N]`.
pub(super) fn hidden_states(machine: &mut Machine<'_>, a: &[Value]) -> Text<Value> {
    let (states, times) = a[0].rows_and_columns();
    let (steps, _) = filtered(machine, a)?;
    let mut all = vec![Value::num(0.0); times];
    let Some(last) = steps.last() else { return Ok(a[0].clone()) };
    all[times - 1] = last.clone();
    for t in (0..times - 1).rev() {
        // p(zₜ | y) = p(zₜ | y₁…ₜ) Σ Γ p(zₜ₊₁ | y) / p(zₜ₊₁ | y₁…ₜ)
        let ahead = super::matrix::times(machine, &steps[t], &a[1])?;
        let ratio = machine.div(&all[t + 1], &ahead)?;
        let back = super::matrix::times(machine, &a[1], &super::matrix::transpose(&ratio))?;
        all[t] = machine.mul(&steps[t], &super::matrix::transpose(&back))?;
    }
    let rows = joined(Ty::MATRIX, &[times, states], &all);
    Ok(super::matrix::transpose(&rows))
}
