//! Compute the density of what a linear system with normal noise shows, by Kalman's filter.

use crate::functions::{Found, call, matrix, reduce};
use crate::machine::Machine;
use crate::types::Ty;
use crate::value::Value;

/// `yₜ ~ N(Fᵀθₜ, V)` with `θₜ ~ N(G θₜ₋₁, W)` and `θ₀ ~ N(m, C)`; columns of `y` are times, and `V` may be given by its
/// diagonal.
pub(super) fn observed(machine: &mut Machine<'_>, a: &[Value], keeps: bool) -> Found {
    let [y, f, g, v, w, m, c] = a else {
        return Err("`gaussian_dlm_obs` has six arguments besides its value".into());
    };
    let (rows, times) = y.rows_and_columns();
    let states = g.rows_and_columns().0;
    let v =
        if v.ty == Ty::VECTOR { call(machine, "diag_matrix", std::slice::from_ref(v))? } else { v.clone() };
    let sizes = [
        (f, (states, rows)),
        (g, (states, states)),
        (&v, (rows, rows)),
        (w, (states, states)),
        (c, (states, states)),
        (m, (states, 1)),
    ];
    if let Some((wrong, _)) = sizes.iter().find(|(value, sizes)| value.rows_and_columns() != *sizes) {
        return Err(format!(
            "`gaussian_dlm_obs`: for {rows} rows and {states} states, a matrix with sizes {} does not fit",
            wrong.sizes
        ));
    }
    let f_turned = matrix::transpose(f);
    let (mut mean, mut spread) = (matrix::as_matrix(m), c.clone());
    let mut all = Vec::with_capacity(3 * times);
    for t in 0..times {
        mean = matrix::times(machine, g, &mean)?;
        let own = around(machine, g, &spread)?;
        spread = machine.add(&own, w)?;
        let shown = around(machine, &f_turned, &spread)?;
        let shown = machine.add(&shown, &v)?;
        let factor = machine.cholesky(&shown)?;
        // `K = S F L⁻ᵀ`, so that the filter takes `K Kᵀ` off.
        let both = matrix::times(machine, &f_turned, &spread)?;
        let gain = machine.solve_lower(&factor, &both, false)?;
        let expected = matrix::times(machine, &f_turned, &mean)?;
        let seen = y.pick(Ty::MATRIX, &[rows, 1], (0..rows).map(|i| i * times + t));
        let off = machine.sub(&seen, &expected)?;
        let off = machine.solve_lower(&factor, &off, false)?;
        let turned = matrix::transpose(&gain);
        let step = matrix::times(machine, &turned, &off)?;
        mean = machine.add(&mean, &step)?;
        let less = matrix::times(machine, &turned, &gain)?;
        spread = machine.sub(&spread, &less)?;
        let vector = reduce::as_vector(&off);
        let fit = reduce::dot(machine, &vector, &vector)?;
        all.push(machine.scale(&fit, -0.5)?);
        let logs = machine.map("log", &[&matrix::diagonal(&factor)])?;
        let sum = machine.sum(&logs)?;
        all.push(machine.scale(&sum, -1.0)?);
    }
    if keeps {
        all.push(Value::num(-0.5 * (rows * times) as f64 * std::f64::consts::TAU.ln()));
    }
    let all = crate::machine::joined(Ty::VECTOR, &[all.len()], &all);
    machine.sum(&all)
}

/// `B A Bᵀ`
fn around(machine: &mut Machine<'_>, b: &Value, a: &Value) -> Found {
    let left = matrix::times(machine, b, a)?;
    matrix::times(machine, &left, &matrix::transpose(b))
}
