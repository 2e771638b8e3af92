//! Compute functions that are asked for seldom: of matrices, of distributions, and sorting.

use super::density::call as ask;
use super::matrix::{identity, times, transpose};
use super::{Entry, Found, solve};
use crate::ast::BinaryOp;
use crate::machine::{Machine, square};
use crate::types::Ty;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Entry] = &[
    ("hmm_marginal", "real(matrix, matrix, vector)", |m, a| solve::hidden_markov(m, a)),
    ("hmm_hidden_state_prob", "matrix(matrix, matrix, vector)", |m, a| solve::hidden_states(m, a)),
    ("matrix_exp", "matrix(matrix)", |m, a| matrix_exp(m, &a[0])),
    ("matrix_exp_multiply", "matrix(matrix, matrix)", |m, a| {
        let exp = matrix_exp(m, &a[0])?;
        times(m, &exp, &a[1])
    }),
    ("scale_matrix_exp_multiply", "matrix(real, matrix, matrix)", |m, a| {
        let scaled = m.mul(&a[1], &a[0])?;
        let exp = matrix_exp(m, &scaled)?;
        times(m, &exp, &a[2])
    }),
    ("matrix_power", "matrix(matrix, int)", |m, a| {
        let n = square("matrix_power", &a[0])?;
        let mut power = identity(n);
        for _ in 0..super::make::count(&a[1])?.min(10_000) {
            power = times(m, &power, &a[0])?;
        }
        Ok(power)
    }),
    ("trace_gen_quad_form", "real(matrix, matrix, matrix)", |m, a| {
        let right = times(m, &a[1], &a[2])?;
        let right = times(m, &transpose(&a[2]), &right)?;
        let each = m.mul(&transpose(&a[0]), &right)?;
        m.sum(&each)
    }),
    ("symmetrize_from_lower_tri", "matrix(matrix)", |_, a| {
        let n = square("symmetrize_from_lower_tri", &a[0])?;
        let place = |at: usize| (at / n).max(at % n) * n + (at / n).min(at % n);
        Ok(a[0].pick(Ty::MATRIX, &[n, n], (0..n * n).map(place)))
    }),
    ("lmgamma", "real(int, real)", |m, a| {
        let k = super::make::count(&a[0])?;
        let mut sum = Value::num(0.25 * (k * k.saturating_sub(1)) as f64 * std::f64::consts::PI.ln());
        for j in 0..k.min(10_000) {
            let x = m.sub(&a[1], &Value::num(0.5 * j as f64))?;
            let part = m.map("lgamma", &[&x])?;
            sum = m.add(&sum, &part)?;
        }
        Ok(sum)
    }),
    ("gamma_p", "real(real, real)", |m, a| {
        ask(m, "gamma_cdf", &[a[1].clone(), a[0].clone(), Value::num(1.0)])
    }),
    ("gamma_q", "real(real, real)", |m, a| {
        let log = ask(m, "gamma_lccdf", &[a[1].clone(), a[0].clone(), Value::num(1.0)])?;
        m.map("exp", &[&log])
    }),
    ("inc_beta", "real(real, real, real)", |m, a| {
        ask(m, "beta_cdf", &[a[2].clone(), a[0].clone(), a[1].clone()])
    }),
    ("owens_t", "real(real, real)", |m, a| {
        let skewed = [a[0].clone(), Value::num(0.0), Value::num(1.0), a[1].clone()];
        let below = ask(m, "skew_normal_cdf", &skewed)?;
        let plain = m.map("Phi", &[&a[0]])?;
        let twice = m.sub(&plain, &below)?;
        m.scale(&twice, 0.5)
    }),
    ("divide", "int(int, int)", |m, a| m.binary(BinaryOp::Div, &a[0], &a[1])),
    ("divide", "real(real, real)", |m, a| m.div(&a[0], &a[1])),
    ("divide", "1(vector|row_vector|matrix, real)", |m, a| m.div(&a[0], &a[1])),
    ("divide", "=1(row_vector|matrix, matrix)", |m, a| m.binary(BinaryOp::Div, &a[0], &a[1])),
    ("modulus", "int(int, int)", |m, a| m.binary(BinaryOp::Mod, &a[0], &a[1])),
    ("plus", "=1(any)", |_, a| Ok(a[0].clone())),
    ("if_else", "real(int, real, real)", |m, a| m.select(&a[0], &a[1], &a[2])),
    ("csr_to_dense_matrix", "matrix(int, int, vector, int[], int[])", dense),
];

/// Squarings after the series: entries may be up to 500.
const SQUARINGS: i32 = 10;
/// Terms of the series of a matrix with entries below 1.
const TERMS: usize = 14;

fn matrix_exp(machine: &mut Machine<'_>, a: &Value) -> Found {
    let n = square("matrix_exp", a)?;
    let small = machine.scale(a, 0.5f64.powi(SQUARINGS))?;
    // Horner: 1 + A (1 + A/2 (1 + A/3 (…))).
    let mut sum = identity(n);
    for k in (1..=TERMS).rev() {
        let product = times(machine, &small, &sum)?;
        let part = machine.scale(&product, 1.0 / k as f64)?;
        sum = machine.add(&identity(n), &part)?;
    }
    for _ in 0..SQUARINGS {
        sum = times(machine, &sum, &sum)?;
    }
    Ok(sum)
}

/// A matrix by its values, their columns and where rows begin.
fn dense(machine: &mut Machine<'_>, a: &[Value]) -> Found {
    let (rows, cols) = (super::make::count(&a[0])?, super::make::count(&a[1])?);
    let (Some(places), Some(begins)) = (a[3].known(), a[4].known()) else {
        return Err("positions depend on a parameter".into());
    };
    machine.keep(rows.saturating_mul(cols))?;
    let mut whole = Value::matrix(rows, cols, vec![0.0; rows * cols]);
    if begins.len() != rows + 1 || places.len() != a[2].elements() {
        return Err("csr_to_dense_matrix: the sizes do not fit each other".into());
    }
    let mut all = Vec::with_capacity(places.len());
    for (k, place) in places.iter().enumerate() {
        let row = begins.iter().take_while(|begin| **begin <= (k + 1) as f64).count();
        if row == 0 || row > rows || *place < 1.0 || *place > cols as f64 {
            return Err("csr_to_dense_matrix: a position is outside of the matrix".into());
        }
        all.push((row - 1) * cols + *place as usize - 1);
    }
    whole.write(&all, &a[2]);
    Ok(whole)
}

/// Values in order, by a network of comparisons: Batcher's merge of odd and even places.
pub(super) fn sorted(machine: &mut Machine<'_>, value: &Value, descending: bool) -> Found {
    let n = value.elements();
    let mut all = value.with(Ty::VECTOR, &[n]);
    let mut p = 1;
    while p < n {
        let mut k = p;
        while k >= 1 {
            let mut pairs = Vec::new();
            for j in (k % p..n.saturating_sub(k)).step_by(2 * k) {
                for i in 0..k.min(n - j - k) {
                    if (i + j) / (2 * p) == (i + j + k) / (2 * p) {
                        pairs.push((i + j, i + j + k));
                    }
                }
            }
            let pick = |places: Vec<usize>| all.pick(Ty::VECTOR, &[places.len()], places.into_iter());
            let (first, second): (Vec<usize>, Vec<usize>) = pairs.into_iter().unzip();
            let (a, b) = (pick(first.clone()), pick(second.clone()));
            if !first.is_empty() {
                let (low, high) = (machine.map("fmin", &[&a, &b])?, machine.map("fmax", &[&a, &b])?);
                let (low, high) = if descending { (high, low) } else { (low, high) };
                all.write(&first, &low);
                all.write(&second, &high);
            }
            k /= 2;
        }
        p *= 2;
    }
    Ok(all.with(value.ty.real(), &value.sizes.to_vec()))
}
