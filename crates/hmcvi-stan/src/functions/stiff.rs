//! Step through stiff differential equations: implicit steps of Euler's method, extrapolated.

use super::divide::solve_system;
use super::solve::System;
use crate::error::Result;
use crate::machine::Machine;
use crate::types::Ty;
use crate::value::Value;

/// Numbers of implicit steps that a step is divided into; extrapolation over all of them has order five.
const DIVISIONS: [usize; 5] = [1, 2, 3, 4, 5];

/// The state after a step, from slopes `f(t, y)`: steps `(I - h J) Δ = h f`, in which `J` need not be exact.
pub(super) fn step(
    machine: &mut Machine<'_>,
    slope: &dyn Fn(&mut Machine<'_>, &Value, &Value) -> Result<Value>,
    system: &System<'_, '_>,
    [t, h, y]: [&Value; 3],
) -> Result<Value> {
    let wrong = |m: String| system.wrong(m);
    let n = y.elements();
    let first = slope(machine, t, y)?;
    let jacobian = system.slopes(machine, y, &first)?;
    let identity = super::matrix::identity(n);
    let mut table: Vec<Value> = Vec::with_capacity(DIVISIONS.len());
    for (row, &divisions) in DIVISIONS.iter().enumerate() {
        let part = machine.scale(h, 1.0 / divisions as f64).map_err(wrong)?;
        let scaled = machine.mul(&jacobian, &part).map_err(wrong)?;
        let matrix = machine.sub(&identity, &scaled).map_err(wrong)?;
        let mut state = y.with(Ty::VECTOR, &[n]);
        for k in 0..divisions {
            let ahead = machine.scale(&part, k as f64).and_then(|ahead| machine.add(t, &ahead));
            let here = if k == 0 { first.clone() } else { slope(machine, &ahead.map_err(wrong)?, &state)? };
            let right = machine.mul(&here, &part).map_err(wrong)?;
            let change = solve_system(machine, &matrix, &right).map_err(wrong)?;
            state = machine.add(&state, &change).map_err(wrong)?;
        }
        // Aitken and Neville: Tⱼₖ = Tⱼₖ₋₁ + (Tⱼₖ₋₁ - Tⱼ₋₁ₖ₋₁) / (nⱼ / nⱼ₋ₖ₊₁ - 1).
        let mut current = state;
        for (k, earlier) in table.iter_mut().enumerate() {
            let ratio = divisions as f64 / DIVISIONS[row - k - 1] as f64 - 1.0;
            let difference = machine.sub(&current, earlier).map_err(wrong)?;
            let added = machine.scale(&difference, 1.0 / ratio).map_err(wrong)?;
            let next = machine.add(&current, &added).map_err(wrong)?;
            *earlier = std::mem::replace(&mut current, next);
        }
        table.push(current);
    }
    table.pop().ok_or_else(|| wrong("there are no divisions".into()))
}
