//! Declare parameters: their supports, with bounds that may depend on other parameters.

use hmcvi::bayes::{Arg, Builder, Dims, Order, Support, Var};

use super::data::bound;
use super::uniform::Bounds;
use crate::ast::{Constraint, Special, Stmt, StmtKind};
use crate::error::{Problem, Result};
use crate::machine::{Frame, Machine, data_of};
use crate::model::declared;
use crate::tape::Op;
use crate::types::{Base, Ty};
use crate::value::{Data, Sizes, Value};

/// Most numbers of all parameters.
const MOST: usize = 1_000_000;

/// What a parameter is restricted to, and which bounds it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Bounds { lower: bool, upper: bool },
    Affine { offset: bool, multiplier: bool },
    Named(Special),
}

/// A parameter of a program.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) slot: usize,
    pub(crate) ty: Ty,
    pub(crate) sizes: Vec<usize>,
    pub(crate) kind: Kind,
}

/// Writes a declared parameter down.
pub(crate) fn declare(
    machine: &mut Machine<'_>,
    statement: &Stmt,
    all: &mut Vec<Parameter>,
    narrower: &Bounds,
    frame: &mut Frame,
) -> Result<()> {
    let StmtKind::Declare { name, declared, slot, .. } = &statement.kind else { return Ok(()) };
    let sizes = declared::sizes(machine, declared, frame)?;
    let elements = sizes.iter().fold(1usize, |n, size| n.saturating_mul(*size));
    let wrong = |message: String| Problem::at(statement.span, message);
    let so_far: usize = all.iter().map(|parameter| parameter.sizes.iter().product::<usize>()).sum();
    if so_far.saturating_add(elements) > MOST {
        return Err(wrong(format!(
            "`{name}` has {elements} numbers, and all parameters together at most {MOST}"
        )));
    }
    let ty = declared.ty;
    if elements == 0 {
        frame[*slot] = Value::known_of(ty, &sizes, Vec::new());
        return Ok(());
    }
    if Dims::new(&sizes).is_none() {
        return Err(wrong(format!(
            "`{name}` has {} dimensions, and parameters have at most {} here",
            sizes.len(),
            Dims::MOST
        )));
    }
    let mut arguments = Vec::new();
    let mut given = |machine: &mut Machine<'_>, e, infinite: f64, frame: &mut Frame| -> Result<bool> {
        let Some(value) = bound(machine, e, frame)? else { return Ok(false) };
        if value.number() == Some(infinite) {
            return Ok(false);
        }
        if !value.is_scalar() && value.sizes.to_vec() != sizes {
            return Err(wrong(format!(
                "a bound of `{name}` has the sizes {}, and it has {sizes:?}",
                value.sizes
            )));
        }
        arguments.push(data_of(&value));
        Ok(true)
    };
    let mut kind = match &declared.constraint {
        Constraint::None => Kind::Bounds { lower: false, upper: false },
        Constraint::Bounds { lower, upper } => {
            let lower = given(machine, lower.as_ref(), f64::NEG_INFINITY, frame)?;
            let upper = given(machine, upper.as_ref(), f64::INFINITY, frame)?;
            Kind::Bounds { lower, upper }
        }
        Constraint::Affine { offset, multiplier } => {
            let offset = given(machine, offset.as_ref(), f64::NAN, frame)?;
            let multiplier = given(machine, multiplier.as_ref(), f64::NAN, frame)?;
            Kind::Affine { offset, multiplier }
        }
        Constraint::Named(special) => Kind::Named(*special),
    };
    if let Some(bounds) = narrower.get(&all.len()) {
        arguments = bounds.iter().map(|own| data_of(&Value::vector(own.clone()))).collect();
        kind = Kind::Bounds { lower: true, upper: true };
    }
    let length = elements;
    let data = machine.tape.push(Op::Param(all.len() as u32), u64::MAX, arguments, length).map_err(wrong)?;
    let fixed = fixed_value(kind, &sizes);
    frame[*slot] = match fixed {
        Some(value) => value.with(ty, &sizes),
        None => Value { ty, sizes: Sizes::new(&sizes), data },
    };
    all.push(Parameter { name: name.clone(), slot: *slot, ty, sizes, kind });
    Ok(())
}

/// The value of a parameter that has nothing to infer, such as a simplex with one element.
fn fixed_value(kind: Kind, sizes: &[usize]) -> Option<Value> {
    let last = sizes.last().copied().unwrap_or(2);
    let elements = sizes.iter().product();
    let value = match kind {
        Kind::Named(Special::Simplex | Special::CorrMatrix | Special::CholeskyFactorCorr) => 1.0,
        Kind::Named(Special::SumToZero) => 0.0,
        _ => return None,
    };
    (last == 1).then(|| Value {
        data: Data::Known(vec![value; elements].into()),
        ..Value::vector(vec![value; elements])
    })
}

impl Parameter {
    pub(crate) fn is_fixed(&self) -> bool {
        fixed_value(self.kind, &self.sizes).is_some()
    }

    /// Whether values may be as large as they like.
    pub(crate) fn is_endless(&self) -> bool {
        match self.kind {
            Kind::Bounds { lower, upper } => !(lower && upper),
            Kind::Affine { .. } => true,
            Kind::Named(special) => !matches!(
                special,
                Special::Simplex | Special::UnitVector | Special::CorrMatrix | Special::CholeskyFactorCorr
            ),
        }
    }

    /// The variable of the model.
    pub(crate) fn build<'g>(&self, builder: &mut Builder<'g>, bounds: &[Var<'g>]) -> Var<'g> {
        let dims = Dims::new(&self.sizes).unwrap_or(Dims::SCALAR);
        let mut rest = bounds.iter().map(|var| match var.known().as_deref() {
            Some(&[number]) => Arg::Number(number),
            _ if var.dims().is_scalar() => Arg::Var(*var),
            _ => Arg::Var(var.reshape(dims)),
        });
        let mut next = |given: bool| if given { rest.next() } else { None };
        let support = match self.kind {
            Kind::Bounds { lower, upper } => match (next(lower), next(upper)) {
                (None, None) => Support::Real,
                (Some(low), None) => Support::Above(low),
                (None, Some(high)) => Support::Below(high),
                (Some(low), Some(high)) => Support::Between(low, high),
            },
            Kind::Affine { offset, multiplier } => {
                let offset = next(offset).unwrap_or(Arg::Number(0.0));
                Support::Affine(offset, next(multiplier).unwrap_or(Arg::Number(1.0)))
            }
            Kind::Named(special) => named(special),
        };
        let by_columns = self.ty.base == Base::Matrix && !matches!(self.kind, Kind::Named(_));
        let order = if by_columns { Order::Columns } else { Order::Rows };
        builder.declare(&self.name, support, dims, order)
    }
}

fn named(special: Special) -> Support<'static> {
    match special {
        Special::Simplex => Support::Simplex,
        Special::UnitVector => Support::UnitVector,
        Special::Ordered => Support::Ordered,
        Special::PositiveOrdered => Support::PositiveOrdered,
        Special::SumToZero => Support::SumToZero,
        Special::CovMatrix => Support::Covariance,
        Special::CorrMatrix => Support::Correlation,
        Special::CholeskyFactorCov => Support::CovarianceCholesky,
        Special::CholeskyFactorCorr => Support::CorrelationCholesky,
    }
}
