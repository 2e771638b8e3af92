//! Compose densities of functions and of other densities.

use super::ask::ask;
use super::filter;
use crate::functions::{Found, call, matrix, reduce, shape};
use crate::machine::Machine;
use crate::tape::Part;
use crate::types::{Base, Ty};
use crate::value::Value;

/// A density: the value and the arguments, and whether summands that do not depend on parameters are kept.
type Run = fn(&mut Machine<'_>, &[Value], bool) -> Found;

/// A distribution with its number of arguments.
pub(super) struct Composed {
    pub(super) name: &'static str,
    pub(super) arguments: usize,
    pub(super) discrete: bool,
    pub(super) run: Run,
}

const fn composed(name: &'static str, arguments: usize, discrete: bool, run: Run) -> Composed {
    Composed { name, arguments, discrete, run }
}

pub(super) const COMPOSED: [Composed; 15] = [
    composed("von_mises", 2, false, von_mises),
    composed("multinomial_logit", 1, true, multinomial_logit),
    composed("dirichlet_multinomial", 1, true, dirichlet_multinomial),
    composed("hypergeometric", 3, true, hypergeometric),
    composed("categorical_logit_glm", 3, true, categorical_glm),
    composed("binomial_logit_glm", 4, true, binomial_glm),
    composed("multi_gp", 2, false, |m, a, keeps| {
        let factor = m.cholesky(&a[1])?;
        multi_gp(m, &a[0], &factor, &a[2], keeps)
    }),
    composed("multi_gp_cholesky", 2, false, |m, a, keeps| multi_gp(m, &a[0], &a[1], &a[2], keeps)),
    composed("matrix_normal_prec", 3, false, matrix_normal),
    composed("multi_student_t_cholesky", 3, false, |m, a, keeps| {
        let scale = matrix::times(m, &a[3], &matrix::transpose(&a[3]))?;
        let all = [a[0].clone(), a[1].clone(), a[2].clone(), scale];
        ask(m, "multi_student_t", &all, Part::Density { constants: keeps })
    }),
    composed("wishart_cholesky", 2, false, |m, a, keeps| of_factor(m, false, a, keeps)),
    composed("inv_wishart_cholesky", 2, false, |m, a, keeps| of_factor(m, true, a, keeps)),
    composed("gaussian_dlm_obs", 6, false, filter::observed),
    composed("wiener", 4, false, |m, a, _| {
        let vectors: Vec<Value> =
            a.iter().map(|x| if x.is_scalar() { x.clone() } else { reduce::as_vector(x) }).collect();
        let each = m.map("wiener_of_one", &vectors.iter().collect::<Vec<_>>())?;
        m.sum(&each)
    }),
    composed("discrete_range", 2, true, |m, a, keeps| {
        let width = m.sub(&a[2], &a[1])?;
        let width = m.add(&width, &Value::num(1.0))?;
        let logs = m.map("log", &[&width])?;
        let all = m.scale(&logs, -(a[0].elements() as f64))?;
        Ok(kept(all, keeps))
    }),
];

/// A summand, unless it is dropped.
fn kept(summand: Value, keeps: bool) -> Value {
    if summand.is_known() && !keeps { Value::num(0.0) } else { summand }
}

/// The sum of summands that are kept.
fn total(machine: &mut Machine<'_>, summands: &[Value], keeps: bool) -> Found {
    let mut sum = Value::num(0.0);
    for summand in summands {
        let part = machine.sum(summand)?;
        sum = machine.add(&sum, &kept(part, keeps))?;
    }
    Ok(sum)
}

/// The density of a factor `L` whose product `LLᵀ` has a Wishart distribution, or the inverse one; the scale `LₛLₛᵀ` is
/// given by its factor, too: `-½ |Lₛ⁻¹L|² + Σ (ν - i) log Lᵢᵢ - ν Σ log Lₛᵢᵢ` and what depends on `ν` alone.
fn of_factor(machine: &mut Machine<'_>, inverse: bool, a: &[Value], keeps: bool) -> Found {
    let [l, nu, scale] = a else { return Err("a factor, degrees of freedom and a scale are needed".into()) };
    let k = l.rows_and_columns().0;
    let ratio =
        if inverse { machine.solve_lower(l, scale, false)? } else { machine.solve_lower(scale, l, false)? };
    let square = machine.map("square", &[&ratio])?;
    let fit = machine.sum(&square)?;
    let fit = machine.scale(&fit, -0.5)?;
    let powers = (1..=k).map(|i| i as f64 * if inverse { 1.0 } else { -1.0 }).collect();
    let powers = machine.add(&Value::vector(powers), nu)?;
    let logs = machine.map("log", &[&matrix::diagonal(l)])?;
    let own = reduce::dot(machine, &powers, &logs)?;
    let logs = machine.map("log", &[&matrix::diagonal(scale)])?;
    let given = machine.sum(&logs)?;
    let given = machine.mul(&given, nu)?;
    let difference = if inverse { machine.sub(&given, &own)? } else { machine.sub(&own, &given)? };
    let main = machine.add(&fit, &difference)?;
    let half = machine.scale(nu, 0.5)?;
    let log_gamma = call(machine, "lmgamma", &[Value::int(k as f64), half.clone()])?;
    let twos = machine.sub(&Value::num(1.0), &half)?;
    let twos = machine.scale(&twos, k as f64 * std::f64::consts::LN_2)?;
    let rest = machine.sub(&twos, &log_gamma)?;
    total(machine, &[main, rest], keeps)
}

/// `κ cos(y - μ) - log I₀(κ) - log 2π`
fn von_mises(machine: &mut Machine<'_>, a: &[Value], keeps: bool) -> Found {
    let vectors: Vec<Value> =
        a.iter().map(|x| if x.is_scalar() { x.clone() } else { reduce::as_vector(x) }).collect();
    let difference = machine.sub(&vectors[0], &vectors[1])?;
    let cosine = machine.map("cos", &[&difference])?;
    let lean = machine.mul(&vectors[2], &cosine)?;
    let bessel = machine.map("log_modified_bessel_first_kind", &[&Value::num(0.0), &vectors[2]])?;
    let times = lean.elements() as f64 / bessel.elements() as f64;
    let bessel = machine.scale(&bessel, -times)?;
    let constant = Value::num(-(lean.elements() as f64) * std::f64::consts::TAU.ln());
    total(machine, &[lean, bessel, constant], keeps)
}

/// `log n! - Σ log yᵢ!`
fn log_orders(machine: &mut Machine<'_>, y: &Value) -> Found {
    let count = machine.sum(y)?;
    let more = machine.add(&count, &Value::num(1.0))?;
    let all = machine.map("lgamma", &[&more])?;
    let each = machine.add(y, &Value::num(1.0))?;
    let each = machine.map("lgamma", &[&each])?;
    let each = machine.sum(&each)?;
    machine.sub(&all, &each)
}

fn multinomial_logit(machine: &mut Machine<'_>, a: &[Value], keeps: bool) -> Found {
    let logs = shape::log_softmax(machine, &reduce::as_vector(&a[1]))?;
    let fit = reduce::dot(machine, &reduce::as_vector(&a[0]), &logs)?;
    let orders = log_orders(machine, &a[0])?;
    total(machine, &[fit, orders], keeps)
}

/// `log Γ(A) - log Γ(A + n) + Σ log Γ(αᵢ + yᵢ) - log Γ(αᵢ)`, with `A = Σ αᵢ`
fn dirichlet_multinomial(machine: &mut Machine<'_>, a: &[Value], keeps: bool) -> Found {
    let (y, alpha) = (reduce::as_vector(&a[0]), reduce::as_vector(&a[1]));
    let (n, sum) = (machine.sum(&y)?, machine.sum(&alpha)?);
    let both = machine.add(&n, &sum)?;
    let each = machine.add(&alpha, &y)?;
    let logs = [&sum, &both, &each, &alpha].map(|x| machine.map("lgamma", &[x]));
    let [sum, both, each, alpha] = logs;
    let minus = [machine.scale(&both?, -1.0)?, machine.scale(&alpha?, -1.0)?];
    let [both, alpha] = minus;
    let orders = log_orders(machine, &y)?;
    total(machine, &[sum?, both, each?, alpha, orders], keeps)
}

/// So many of one kind among those drawn: `C(a, y) C(b, n - y) / C(a + b, n)`.
fn hypergeometric(machine: &mut Machine<'_>, all: &[Value], keeps: bool) -> Found {
    let [y, n, a, b] = [0, 1, 2, 3].map(|i| &all[i]);
    let (both, rest) = (machine.add(a, b)?, machine.sub(n, y)?);
    let first = machine.map("lchoose", &[a, y])?;
    let second = machine.map("lchoose", &[b, &rest])?;
    let whole = machine.map("lchoose", &[&both, n])?;
    let times = first.elements() as f64 / whole.elements() as f64;
    let whole = machine.scale(&whole, -times)?;
    total(machine, &[first, second, whole], keeps)
}

/// `x β + α` for each row of `x`, with the class of each row.
fn categorical_glm(machine: &mut Machine<'_>, a: &[Value], keeps: bool) -> Found {
    let (y, x) = (&a[0], matrix::as_matrix(&a[1]));
    let product = matrix::times(machine, &x, &a[3])?;
    let (rows, classes) = product.rows_and_columns();
    let alpha = a[2].pick(Ty::MATRIX, &[rows, classes], (0..rows * classes).map(|at| at % classes));
    let logits = machine.add(&product, &alpha)?;
    let mut sum = Vec::with_capacity(rows);
    for i in 0..rows {
        let row = logits.slice(Ty::VECTOR, &[classes], i * classes);
        let own = if y.is_scalar() { y.clone() } else { y.slice(Ty::INT, &[], i) };
        sum.push(ask(machine, "categorical_logit", &[own, row], Part::Density { constants: keeps })?);
    }
    let all = crate::machine::joined(Ty::VECTOR, &[rows], &sum);
    machine.sum(&all)
}

fn binomial_glm(machine: &mut Machine<'_>, a: &[Value], keeps: bool) -> Found {
    let product = matrix::times(machine, &a[2], &a[4])?;
    let linear = machine.add(&product, &a[3])?;
    let n = linear.elements();
    let each = |value: &Value| match value.is_scalar() {
        true => value.pick(Ty { base: Base::Int, arrays: 1 }, &[n], (0..n).map(|_| 0)),
        false => value.clone(),
    };
    ask(machine, "binomial_logit", &[each(&a[0]), each(&a[1]), linear], Part::Density { constants: keeps })
}

/// Rows `yᵢ` of a matrix, each normal with covariance `LLᵀ / wᵢ`.
fn multi_gp(machine: &mut Machine<'_>, y: &Value, l: &Value, w: &Value, keeps: bool) -> Found {
    let (rows, n) = y.rows_and_columns();
    let solved = machine.solve_lower(l, &matrix::transpose(y), false)?;
    let squares = machine.map("square", &[&solved])?;
    let ones = Value::known_of(Ty::ROW, &[n], vec![1.0; n]);
    let lengths = matrix::times(machine, &ones, &squares)?;
    let fit = reduce::dot(machine, &reduce::as_vector(&lengths), w)?;
    let fit = machine.scale(&fit, -0.5)?;
    let logs = machine.map("log", &[&matrix::diagonal(l)])?;
    let factor = machine.scale(&logs, -(rows as f64))?;
    let weights = machine.map("log", &[w])?;
    let weights = machine.scale(&weights, 0.5 * n as f64)?;
    let constant = Value::num(-0.5 * (rows * n) as f64 * std::f64::consts::TAU.ln());
    total(machine, &[fit, factor, weights, constant], keeps)
}

/// `½ (m log |Σ| + n log |D| - tr D (y - μ)ᵀ Σ (y - μ) - n m log 2π)` of an `[n, m]` matrix
fn matrix_normal(machine: &mut Machine<'_>, a: &[Value], keeps: bool) -> Found {
    let (n, m) = a[0].rows_and_columns();
    let difference = machine.sub(&a[0], &a[1])?;
    let inner = matrix::times(machine, &a[2], &difference)?;
    let inner = matrix::times(machine, &inner, &a[3])?;
    let each = machine.mul(&difference, &inner)?;
    let fit = machine.scale(&each, -0.5)?;
    let rows = call(machine, "log_determinant_spd", std::slice::from_ref(&a[2]))?;
    let rows = machine.scale(&rows, 0.5 * m as f64)?;
    let columns = call(machine, "log_determinant_spd", std::slice::from_ref(&a[3]))?;
    let columns = machine.scale(&columns, 0.5 * n as f64)?;
    let constant = Value::num(-0.5 * (n * m) as f64 * std::f64::consts::TAU.ln());
    total(machine, &[fit, rows, columns, constant], keeps)
}
