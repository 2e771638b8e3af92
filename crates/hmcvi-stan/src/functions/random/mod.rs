//! Draw from distributions, for generated quantities and transformed data.

mod numbers;
mod together;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use super::Found;
use crate::machine::Machine;
use crate::types::Ty;
use crate::value::Value;
use numbers::{NUMBERS, Number};
use together::TOGETHER;

/// What a name draws.
#[derive(Clone, Copy)]
enum Draw {
    Number(&'static Number),
    Together(&'static (&'static str, usize, Ty)),
}

fn find(name: &str) -> Option<Draw> {
    static DRAWS: LazyLock<HashMap<&'static str, Draw>> = LazyLock::new(|| {
        let numbers = NUMBERS.iter().map(|number| (number.name, Draw::Number(number)));
        numbers.chain(TOGETHER.iter().map(|own| (own.0, Draw::Together(own)))).collect()
    });
    DRAWS.get(name.strip_suffix("_rng")?).copied()
}

pub(crate) fn names() -> Vec<String> {
    let all = NUMBERS.iter().map(|number| number.name).chain(TOGETHER.iter().map(|(name, ..)| *name));
    all.map(|name| format!("{name}_rng")).collect()
}

pub(super) fn is_one(name: &str) -> bool {
    find(name).is_some()
}

pub(super) fn result_type(name: &str, types: &[Ty]) -> Result<Option<Ty>, String> {
    let Some(found) = find(name) else { return Ok(None) };
    let wanted = match &found {
        Draw::Number(number) => number.arguments.len(),
        Draw::Together((_, number, _)) => *number,
    };
    if types.len() != wanted {
        return Err(format!("`{name}` has {wanted} arguments, not {}", types.len()));
    }
    Ok(Some(match found {
        Draw::Number(number) => {
            let own = if number.integer { Ty::INT } else { Ty::REAL };
            // Vectors and arrays alike give an array of draws.
            if types.iter().all(|ty| ty.is_scalar()) { own } else { own.array(1) }
        }
        Draw::Together((base, _, ty)) => together::result_type(base, *ty, types),
    }))
}

pub(super) fn call(machine: &mut Machine<'_>, name: &str, arguments: &[Value]) -> Found {
    let Some(found) = find(name) else { return Err(format!("there is no function `{name}`")) };
    let Some(random) = &mut machine.random else {
        return Err("draws can be made in generated quantities and in transformed data only".into());
    };
    let number = match found {
        Draw::Number(number) => number,
        Draw::Together((base, ..)) => return together::draw(random, base, arguments),
    };
    if let Some(numbers) = arguments.iter().map(Value::number).collect::<Option<Vec<f64>>>() {
        check(number, &numbers)?;
        let draw = Value::num((number.draw)(random, &numbers));
        return Ok(if number.integer { draw.typed(Ty::INT) } else { draw });
    }
    let Some(all) = arguments.iter().map(Value::known).collect::<Option<Vec<_>>>() else {
        return Err("a draw here would depend on a parameter".into());
    };
    let length = common_length(name, arguments)?.unwrap_or(1);
    let mut own = vec![0.0; all.len()];
    let one = |i: usize| {
        let at = |values: &Cow<'_, [f64]>| values[if values.len() == 1 { 0 } else { i }];
        own.iter_mut().zip(&all).for_each(|(to, from)| *to = at(from));
        check(number, &own)?;
        Ok::<f64, String>((number.draw)(random, &own))
    };
    let ty = if number.integer { Ty::INT } else { Ty::REAL };
    Ok(Value::known_of(ty.array(1), &[length], (0..length).map(one).collect::<Result<_, _>>()?))
}

/// How many draws arguments ask for; nothing for one that is no array.
fn common_length(name: &str, arguments: &[Value]) -> Result<Option<usize>, String> {
    let mut length = None;
    for value in arguments.iter().filter(|value| !value.is_scalar()) {
        match length {
            Some(known) if known != value.elements() => {
                return Err(format!(
                    "the arguments of `{name}` have {known} and {} elements",
                    value.elements()
                ));
            }
            _ => length = Some(value.elements()),
        }
    }
    Ok(length)
}

/// Refuses arguments that nothing can be drawn with.
fn check(number: &Number, arguments: &[f64]) -> Result<(), String> {
    for (place, (domain, x)) in (1..).zip(number.arguments.iter().zip(arguments)) {
        if let Some(allowed) = domain.wrong(*x) {
            return Err(format!("argument {place} of {}_rng is {x}, and must be {allowed}", number.name));
        }
    }
    match numbers::wrong(number.name, arguments) {
        Some(wrong) => Err(format!("{}_rng: {wrong}", number.name)),
        None => Ok(()),
    }
}
