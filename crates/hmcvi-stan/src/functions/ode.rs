//! Solve differential equations, by a fixed number of steps between the times that are asked for.
//!
//! Steps are those of Dormand and Prince of order five, or implicit ones of the same order for the `bdf` variants. Their number is chosen from the times alone, so that the solution
//! is one formula of the parameters.

use super::higher::Called;
use super::solve::System;
use super::stiff;
use crate::error::{Problem, Result};
use crate::machine::{Machine, joined};
use crate::types::Ty;
use crate::value::Value;

/// Steps between two times, where times are apart as they are on average; more where they are further.
const STEPS: f64 = 12.0;
/// Fewest and most steps between two times.
const LIMITS: (f64, f64) = (4.0, 200.0);
/// How far behind its begin, in parts of a step, the first slope of all is taken: right sides that jump there, such as
/// those with a dose at time 0, are continued from what comes after it.
const BEHIND_BEGIN: f64 = 1e-10;
/// Steps in all where few times are asked for.
const FEWEST: f64 = 60.0;

/// Where the stages of a step lie, and what they are made of.
const STAGES: [(f64, &[f64]); 6] = [
    (0.0, &[]),
    (1.0 / 5.0, &[1.0 / 5.0]),
    (3.0 / 10.0, &[3.0 / 40.0, 9.0 / 40.0]),
    (4.0 / 5.0, &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0]),
    (8.0 / 9.0, &[19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0]),
    (1.0, &[9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0]),
];
/// Weights of the stages in a step.
const WEIGHTS: [f64; 6] = [35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0];

/// What the right side gets besides time and state.
struct Equation<'a> {
    called: &'a Called<'a>,
    rest: Vec<Value>,
    state: Ty,
    /// Whether implicit steps are taken.
    is_stiff: bool,
}

impl Equation<'_> {
    fn slope(&self, machine: &mut Machine<'_>, t: &Value, y: &Value) -> Result<Value> {
        let mut arguments = vec![t.clone(), y.clone().typed(self.state)];
        arguments.extend(self.rest.iter().cloned());
        let slope = self.called.call(machine, arguments)?;
        match slope.elements() == y.elements() {
            true => Ok(slope.with(Ty::VECTOR, &[y.elements()])),
            false => Err(self.wrong(format!(
                "`{}` gives {} numbers for {}",
                self.called.name,
                slope.elements(),
                y.elements()
            ))),
        }
    }

    fn implicit_step(
        &self,
        machine: &mut Machine<'_>,
        t: &Value,
        h: &Value,
        y: &Value,
        is_first: bool,
    ) -> Result<Value> {
        let behind = machine.scale(h, if is_first { BEHIND_BEGIN } else { 0.0 });
        let t = behind.and_then(|behind| machine.add(t, &behind)).map_err(|m| self.wrong(m))?;
        let slope = |machine: &mut Machine<'_>, t: &Value, y: &Value| self.slope(machine, t, y);
        let here = |machine: &mut Machine<'_>, y: &Value| self.slope(machine, &t, y);
        let system = System { called: self.called, call: &here };
        stiff::step(machine, &slope, &system, [&t, h, y])
    }

    fn wrong(&self, message: impl Into<String>) -> Problem {
        Problem::at(self.called.e.span, message)
    }

    /// The state after a step.
    fn step(
        &self,
        machine: &mut Machine<'_>,
        t: &Value,
        h: &Value,
        y: &Value,
        is_first: bool,
    ) -> Result<Value> {
        if self.is_stiff {
            return self.implicit_step(machine, t, h, y, is_first);
        }
        let vector = y.with(Ty::VECTOR, &[y.elements()]);
        let mut slopes: Vec<Value> = Vec::with_capacity(STAGES.len());
        let combine = |machine: &mut Machine<'_>,
                       slopes: &[Value],
                       weights: &[f64]|
         -> std::result::Result<Value, String> {
            let mut sum = vector.clone();
            for (slope, weight) in slopes.iter().zip(weights).filter(|(_, weight)| **weight != 0.0) {
                let factor = machine.scale(h, *weight)?;
                let part = machine.mul(slope, &factor)?;
                sum = machine.add(&sum, &part)?;
            }
            Ok(sum)
        };
        for (place, weights) in STAGES {
            let place = if is_first && place == 0.0 { BEHIND_BEGIN } else { place };
            let at = combine(machine, &slopes, weights).map_err(|m| self.wrong(m))?;
            let ahead = machine
                .scale(h, place)
                .and_then(|ahead| machine.add(t, &ahead))
                .map_err(|m| self.wrong(m))?;
            slopes.push(self.slope(machine, &ahead, &at)?);
        }
        combine(machine, &slopes, &WEIGHTS).map_err(|m| self.wrong(m))
    }
}

/// Solutions at times: an array of real arrays for `integrate_ode…`, of vectors for `ode_…`.
pub(super) fn solve(
    machine: &mut Machine<'_>,
    called: &Called<'_>,
    name: &str,
    mut values: Vec<Value>,
) -> Result<Value> {
    let wrong = |message: &str| Problem::at(called.e.span, format!("`{name}`: {message}"));
    let old = name.starts_with("integrate");
    // Tolerances are not needed: three numbers after the times, or after the arguments in the old form.
    if name.ends_with("_tol_ctl") && values.len() >= 14 {
        values.drain(3..14);
    } else if name.ends_with("_tol") && values.len() >= 6 {
        values.drain(3..6);
    } else if old && values.len() > 6 {
        values.truncate(6);
    }
    let [y0, t0, times, rest @ ..] = values.as_slice() else {
        return Err(wrong(
            "expected a function, the state at the start, the time there and the times asked for",
        ));
    };
    let times: Vec<Value> = (0..times.elements()).map(|i| times.slice(Ty::REAL, &[], i)).collect();
    let known: Option<Vec<f64>> = [t0].into_iter().chain(&times).map(Value::number).collect();
    let ascends = |all: &[f64]| all.windows(2).all(|pair| pair[0] <= pair[1]);
    if known.as_ref().is_some_and(|all| !ascends(all)) {
        return Err(wrong("times must ascend, from the time of the start on"));
    }
    let state = if old { Ty::REAL.array(1) } else { Ty::VECTOR };
    let equation = Equation {
        called,
        rest: rest.to_vec(),
        state,
        is_stiff: name.contains("bdf") || name.contains("adjoint"),
    };
    let mut y = y0.with(Ty::VECTOR, &[y0.elements()]);
    let mut t = t0.clone();
    let mut all = Vec::with_capacity(times.len());
    for (i, next) in times.iter().enumerate() {
        let steps = known.as_ref().map_or(STEPS, |all| number_of_steps(all, i));
        // An implicit step is divided by itself.
        let steps = if equation.is_stiff { (0.5 * steps).ceil() } else { steps };
        let span = machine.sub(next, &t).map_err(|m| wrong(&m))?;
        if span.number() != Some(0.0) {
            let h = machine.scale(&span, 1.0 / steps).map_err(|m| wrong(&m))?;
            for k in 0..steps as usize {
                let ahead = machine.scale(&h, k as f64).and_then(|ahead| machine.add(&t, &ahead));
                let is_first = i == 0 && k == 0;
                y = equation.step(machine, &ahead.map_err(|m| wrong(&m))?, &h, &y, is_first)?;
            }
        }
        t = next.clone();
        all.push(y.clone());
    }
    let (ty, width) = (if old { Ty::REAL.array(2) } else { Ty::VECTOR.array(1) }, y0.elements());
    Ok(joined(ty, &[times.len(), width], &all))
}

/// Steps up to time `i + 1` of those that are known.
fn number_of_steps(all: &[f64], i: usize) -> f64 {
    let total = all[all.len() - 1] - all[0];
    let intervals = (all.len() - 1) as f64;
    let share = if total > 0.0 { (all[i + 1] - all[i]) / total } else { 0.0 };
    let in_all = (STEPS * intervals).max(FEWEST);
    (in_all * share).ceil().clamp(LIMITS.0, LIMITS.1)
}
