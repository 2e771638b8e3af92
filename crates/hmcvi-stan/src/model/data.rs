//! Read the data of a program.

use hmcvi::bayes;

use crate::ast::{Declared, Expr, Stmt, StmtKind};
use crate::error::{Problem, Result};
use crate::machine::{Frame, Machine};
use crate::model::declared;
use crate::types::Base;
use crate::value::Value;

/// Gives variables of the block `data` their values.
pub(crate) fn read(
    machine: &mut Machine<'_>,
    block: &[Stmt],
    data: &bayes::Data,
    frame: &mut Frame,
) -> Result<()> {
    for statement in block {
        let StmtKind::Declare { name, declared, slot, .. } = &statement.kind else { continue };
        let value = variable(machine, name, declared, data, frame).map_err(|p| p.or_at(statement.span))?;
        declared::check(machine, name, declared, &value, frame).map_err(|p| p.or_at(statement.span))?;
        frame[*slot] = value;
    }
    Ok(())
}

fn variable(
    machine: &mut Machine<'_>,
    name: &str,
    declared: &Declared,
    data: &bayes::Data,
    frame: &mut Frame,
) -> Result<Value> {
    let sizes = declared::sizes(machine, declared, frame)?;
    let elements = sizes.iter().fold(1usize, |n, size| n.saturating_mul(*size));
    machine.keep(elements)?;
    let Some(array) = data.get(name) else {
        if elements == 0 {
            return Ok(Value::known_of(declared.ty, &sizes, Vec::new()));
        }
        let given: Vec<&str> = data.names().collect();
        let given = if given.is_empty() { "none".into() } else { given.join(", ") };
        return Err(format!("the program needs data `{name}`; given are {given}").into());
    };
    let own = array.dims.sizes();
    // Dimensions of size 1 may be left out, and empty arrays have whatever dimensions.
    let significant = |sizes: &[usize]| sizes.iter().copied().filter(|size| *size != 1).collect::<Vec<_>>();
    let same = own == sizes || (array.values.len() == elements && significant(own) == significant(&sizes));
    if !(same || (elements == 0 && array.values.is_empty())) {
        let shown = |sizes: &[usize]| if sizes.is_empty() { "a number".into() } else { format!("{sizes:?}") };
        let message = format!("`{name}` is declared as {}, and the data are {}", shown(&sizes), shown(own));
        return Err(message.into());
    }
    let no_integer = |x: &&f64| x.fract() != 0.0 || x.abs() > f64::from(i32::MAX);
    if let Some(x) = array.values.iter().find(no_integer).filter(|_| declared.ty.base == Base::Int) {
        return Err(format!("`{name}` is declared as integers, and the data have {x}").into());
    }
    Ok(Value::known_of(declared.ty, &sizes, array.values.clone()))
}

/// An expression that says a bound, where there is one.
pub(crate) fn bound(machine: &mut Machine<'_>, e: Option<&Expr>, frame: &mut Frame) -> Result<Option<Value>> {
    e.map(|e| machine.eval(e, frame).map_err(|p: Problem| p.or_at(e.span))).transpose()
}
