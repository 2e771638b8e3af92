//! Call functions that take functions: sums in parts and differential equations.

use super::{ode, solve};
use crate::ast::Expr;
use crate::error::{Problem, Result};
use crate::machine::{Frame, Machine, joined, plain_name};
use crate::types::Ty;
use crate::value::Value;

/// Functions that take functions, with the type that they give.
pub(crate) const HIGHER: [(&str, Ty); 23] = [
    ("reduce_sum", Ty::REAL),
    ("reduce_sum_static", Ty::REAL),
    ("map_rect", Ty::VECTOR),
    ("integrate_ode", Ty::REAL.array(2)),
    ("integrate_ode_rk45", Ty::REAL.array(2)),
    ("integrate_ode_bdf", Ty::REAL.array(2)),
    ("integrate_ode_adams", Ty::REAL.array(2)),
    ("ode_rk45", Ty::VECTOR.array(1)),
    ("ode_ckrk", Ty::VECTOR.array(1)),
    ("ode_bdf", Ty::VECTOR.array(1)),
    ("ode_adams", Ty::VECTOR.array(1)),
    ("ode_rk45_tol", Ty::VECTOR.array(1)),
    ("ode_bdf_tol", Ty::VECTOR.array(1)),
    ("ode_adams_tol", Ty::VECTOR.array(1)),
    ("ode_ckrk_tol", Ty::VECTOR.array(1)),
    ("ode_adjoint_tol_ctl", Ty::VECTOR.array(1)),
    ("algebra_solver", Ty::VECTOR),
    ("algebra_solver_newton", Ty::VECTOR),
    ("solve_newton", Ty::VECTOR),
    ("solve_newton_tol", Ty::VECTOR),
    ("solve_powell", Ty::VECTOR),
    ("solve_powell_tol", Ty::VECTOR),
    ("integrate_1d", Ty::REAL),
];

/// Functions of functions that cannot be used here, and what to write instead.
const REFUSED: [(&str, &str); 2] = [
    ("dae", "solve the algebraic part by hand and write `ode_bdf`"),
    ("laplace_marginal", "write the latent variables as parameters"),
];

pub(crate) fn refused(name: &str) -> Option<&'static str> {
    REFUSED
        .iter()
        .find(|(known, _)| name == *known || name == format!("{known}_tol"))
        .map(|(_, instead)| *instead)
}

pub(crate) fn is_one(name: &str) -> bool {
    HIGHER.iter().any(|(known, _)| *known == name)
}

pub(crate) fn result_type(name: &str) -> Option<Ty> {
    HIGHER.iter().find(|(known, _)| *known == name).map(|(_, ty)| *ty)
}

/// A function of the program that is given by its name, with what is called around it.
pub(super) struct Called<'a> {
    pub(super) name: &'a str,
    pub(super) e: &'a Expr,
}

impl Called<'_> {
    pub(super) fn call(&self, machine: &mut Machine<'_>, arguments: Vec<Value>) -> Result<Value> {
        let Some(function) = machine.user_function(self.name, &arguments) else {
            let shown: Vec<String> = arguments.iter().map(|value| value.ty.to_string()).collect();
            let message = format!("there is no function `{}` for ({})", self.name, shown.join(", "));
            return Err(Problem::at(self.e.span, message));
        };
        machine.call_at(self.e, function, arguments)
    }
}

pub(crate) fn call(
    machine: &mut Machine<'_>,
    e: &Expr,
    name: &str,
    arguments: &[Expr],
    frame: &mut Frame,
) -> Result<Value> {
    let wrong = |message: String| Problem::at(e.span, message);
    let Some(function) = arguments.first().and_then(plain_name) else {
        return Err(wrong(format!("the first argument of `{name}` is the name of a function")));
    };
    let values = machine.eval_each(&arguments[1..], frame)?;
    let called = Called { name: function, e };
    match name {
        "reduce_sum" | "reduce_sum_static" => reduce_sum(machine, &called, name, values),
        "map_rect" => map_rect(machine, &called, values),
        "integrate_1d" => solve::integral(machine, &called, values),
        _ if name.starts_with("algebra") || name.starts_with("solve") => {
            solve::root(machine, &called, name, values)
        }
        _ => ode::solve(machine, &called, name, values),
    }
}

/// All parts at once.
fn reduce_sum(
    machine: &mut Machine<'_>,
    called: &Called<'_>,
    name: &str,
    values: Vec<Value>,
) -> Result<Value> {
    // The size of a part stands after the array, with the static variant too.
    let [over, _grain, rest @ ..] = values.as_slice() else {
        return Err(Problem::at(
            called.e.span,
            format!("`{name}` has a function, an array and the size of parts"),
        ));
    };
    let n = over.sizes.to_vec().first().copied().unwrap_or(0);
    if n == 0 {
        return Ok(Value::num(0.0));
    }
    let mut arguments = vec![over.clone(), Value::int(1.0), Value::int(n as f64)];
    arguments.extend(rest.iter().cloned());
    called.call(machine, arguments)
}

/// `f(phi, theta[i], x_r[i], x_i[i])` for all `i`, one after the other.
fn map_rect(machine: &mut Machine<'_>, called: &Called<'_>, values: Vec<Value>) -> Result<Value> {
    let [phi, theta, reals, ints] = values.as_slice() else {
        return Err(Problem::at(called.e.span, "`map_rect` has a function and four arguments"));
    };
    let n = theta.sizes.to_vec().first().copied().unwrap_or(0);
    let part = |value: &Value, i: usize| -> Option<Value> {
        let sizes = value.sizes.to_vec();
        let inner: usize = sizes.get(1..)?.iter().product();
        (*sizes.first()? > i)
            .then(|| value.slice(value.ty.part().unwrap_or(Ty::REAL), &sizes[1..], i * inner))
    };
    let mut all = Vec::with_capacity(n);
    for i in 0..n {
        let (Some(theta), Some(reals), Some(ints)) = (part(theta, i), part(reals, i), part(ints, i)) else {
            return Err(Problem::at(called.e.span, "`map_rect` needs arrays of one size"));
        };
        all.push(called.call(machine, vec![phi.clone(), theta, reals, ints])?);
    }
    let length = all.iter().map(Value::elements).sum();
    Ok(joined(Ty::VECTOR, &[length], &all))
}
