//! Find functions of the language by their names and the types of their arguments.

pub(crate) mod complex;
mod decompose;
pub(crate) mod density;
mod divide;
mod eigen;
pub(crate) mod elementwise;
pub(crate) mod gp;
pub(crate) mod higher;
pub(crate) mod known;
pub(crate) mod make;
pub(crate) mod matrix;
mod more;
mod ode;
pub(crate) mod random;
pub(crate) mod reduce;
mod shape;
mod signature;
mod solve;
mod special;
mod stiff;

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use crate::machine::Machine;
use crate::types::{Base, Ty};
use crate::value::Value;
use elementwise::MAPS;
use signature::Signature;

/// What a function gives, or what is wrong with its arguments.
pub(crate) type Found = Result<Value, String>;

/// Computes a function of the language.
pub(crate) type Run = fn(&mut Machine<'_>, &[Value]) -> Found;

/// A name with its signatures, `result(argument, argument)` with `;` between them, and the function.
pub(crate) type Entry = (&'static str, &'static str, Run);

struct Builtin {
    signature: Signature,
    run: Run,
}

static BUILTINS: LazyLock<HashMap<&'static str, Vec<Builtin>>> = LazyLock::new(|| {
    let mut all: HashMap<&'static str, Vec<Builtin>> = HashMap::new();
    for (name, signatures, run) in entries() {
        for text in signatures.split(';') {
            all.entry(name)
                .or_default()
                .push(Builtin { signature: Signature::parse(text.trim()), run: *run });
        }
    }
    all
});

fn entries() -> impl Iterator<Item = &'static Entry> {
    [
        matrix::FUNCTIONS,
        decompose::FUNCTIONS,
        more::FUNCTIONS,
        reduce::FUNCTIONS,
        make::FUNCTIONS,
        shape::FUNCTIONS,
        gp::FUNCTIONS,
    ]
    .into_iter()
    .flatten()
}

/// All functions with their signatures, for the document of the language.
pub(crate) fn listed() -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    for (name, signatures, _) in entries() {
        let text = all.entry((*name).to_owned()).or_default();
        if !text.is_empty() {
            text.push_str("; ");
        }
        text.push_str(signatures);
    }
    all
}

/// Whether a name is that of a function of the language.
pub(crate) fn is_known(name: &str) -> bool {
    elementwise::find(name).is_some()
        || BUILTINS.contains_key(name)
        || higher::is_one(name)
        || density::is_one(name)
        || random::is_one(name)
        || complex::is_one(name)
        || matches!(name, "target" | "get_lp")
}

/// The function of a name that takes arguments of these types.
fn builtin(name: &str, types: &[Ty]) -> Option<&'static Builtin> {
    BUILTINS.get(name)?.iter().find(|builtin| builtin.signature.takes(types))
}

/// The type of a call, or what is wrong with it.
pub(crate) fn result_type(name: &str, types: &[Ty]) -> Result<Ty, String> {
    if let Some(ty) = complex::result_type(name, types) {
        return Ok(ty);
    }
    if let Some(builtin) = builtin(name, types) {
        return Ok(builtin.signature.result(types));
    }
    if let Some(ty) = elementwise::find(name).and_then(|id| map_type(id, types)) {
        return Ok(ty);
    }
    if let Some(ty) = density::result_type(name, types)? {
        return Ok(ty);
    }
    if let Some(ty) = random::result_type(name, types)? {
        return Ok(ty);
    }
    if let Some(ty) = each_type(name, types).or_else(|| operator(name, types).map(|(_, ty)| ty)) {
        return Ok(ty);
    }
    if matches!(name, "target" | "get_lp") && types.is_empty() {
        return Ok(Ty::REAL);
    }
    if !is_known(name) {
        let close = closest(name);
        let instead = close.map_or(String::new(), |close| format!("; did you mean `{close}`?"));
        return Err(format!("there is no function `{name}`{instead}"));
    }
    let shown: Vec<String> = types.iter().map(Ty::to_string).collect();
    let known = BUILTINS.get(name).map_or(String::new(), |all| {
        let all: Vec<&str> = all.iter().map(|builtin| builtin.signature.text).collect();
        format!("; it has the signatures {}", all.join(", "))
    });
    Err(format!("`{name}` has no meaning for ({}){known}", shown.join(", ")))
}

/// The type of a function of numbers: that of the argument that is not a scalar.
fn map_type(id: u16, types: &[Ty]) -> Option<Ty> {
    let f = &MAPS[id as usize];
    let usable = |ty: &Ty| ty.base != Base::Void && ty.base != Base::Other && !ty.is_complex();
    if f.arity != types.len() || !types.iter().all(usable) {
        return None;
    }
    let mut found = if f.gives_int { Ty::INT } else { Ty::REAL };
    let int = |ty: &Ty| ty.base == Base::Int;
    if matches!(f.name, "abs" | "fdim" | "square") && types.iter().all(int) && f.name == "abs" {
        found = Ty::INT;
    }
    let keep = found.base == Base::Int;
    for ty in types.iter().filter(|ty| !ty.is_scalar()) {
        let own = if keep { *ty } else { ty.real() };
        if !found.is_scalar() && found.rank() != own.rank() {
            return None;
        }
        found = own;
    }
    Some(found)
}

/// Computes a function of the language.
pub(crate) fn call(machine: &mut Machine<'_>, name: &str, arguments: &[Value]) -> Found {
    let types: Vec<Ty> = arguments.iter().map(|value| value.ty).collect();
    if complex::result_type(name, &types).is_some() {
        return complex::call(machine, name, arguments);
    }
    if let Some(builtin) = builtin(name, &types) {
        return (builtin.run)(machine, arguments);
    }
    if let Some((id, ty)) = elementwise::find(name).and_then(|id| Some((id, map_type(id, &types)?))) {
        let all: Vec<&Value> = arguments.iter().collect();
        if name == "pow" {
            return machine.power(&arguments[0], &arguments[1]).map(|value| value.typed(ty));
        }
        return machine.map_id(id, &all).map(|value| value.typed(ty));
    }
    if density::is_one(name) {
        return density::call(machine, name, arguments);
    }
    if random::is_one(name) {
        return random::call(machine, name, arguments);
    }
    if matches!(name, "target" | "get_lp") {
        return reduce::sum_all(machine);
    }
    if let Some(ty) = each_type(name, &types) {
        return each(machine, name, arguments, ty);
    }
    if let Some((op, _)) = operator(name, &types) {
        return machine.binary(op, &arguments[0], &arguments[1]);
    }
    result_type(name, &types).and_then(|_| Err(format!("`{name}` cannot be computed here")))
}

/// Functions of numbers that are no formulas, and take containers element by element.
const EACH: [&str; 5] = ["gamma_p", "gamma_q", "inc_beta", "lmgamma", "owens_t"];

/// The type of such a function for containers.
fn each_type(name: &str, types: &[Ty]) -> Option<Ty> {
    if !EACH.contains(&name) || types.iter().any(|ty| ty.base == Base::Void || ty.base == Base::Other) {
        return None;
    }
    let mut containers = types.iter().filter(|ty| !ty.is_scalar());
    let first = *containers.next()?;
    let number = BUILTINS.get(name)?.iter().any(|builtin| builtin.signature.arity() == types.len());
    (number && containers.all(|ty| ty.rank() == first.rank())).then_some(first.real())
}

fn each(machine: &mut Machine<'_>, name: &str, arguments: &[Value], ty: Ty) -> Found {
    let longest = arguments.iter().max_by_key(|value| value.elements()).ok_or("arguments are needed")?;
    let (length, sizes) = (longest.elements(), longest.sizes.to_vec());
    let mut all = Vec::with_capacity(length);
    for i in 0..length {
        let own = |value: &Value| match value.is_scalar() {
            true => Ok(value.clone()),
            false if value.elements() == length => {
                Ok(value.slice(if value.ty.base == Base::Int { Ty::INT } else { Ty::REAL }, &[], i))
            }
            false => Err(format!("`{name}` needs equal sizes, not {} and {}", value.sizes, longest.sizes)),
        };
        let own = arguments.iter().map(own).collect::<Result<Vec<_>, _>>()?;
        all.push(call(machine, name, &own)?);
    }
    Ok(crate::machine::joined(ty, &sizes, &all))
}

/// The operator that a name stands for, and what it gives.
fn operator(name: &str, types: &[Ty]) -> Option<(crate::ast::BinaryOp, Ty)> {
    let [a, b] = types else { return None };
    let op = complex::operator(name)?;
    Some((op, crate::machine::binary_type(op, *a, *b)?))
}

/// The name of a known function that differs least.
fn closest(name: &str) -> Option<String> {
    let names = BUILTINS.keys().copied().chain(MAPS.iter().map(|f| f.name)).map(str::to_owned);
    let names = names.chain(density::names()).chain(random::names());
    let found = names.map(|known| (distance(name, &known), known)).min()?;
    (found.0 <= 2.max(name.len() / 4)).then_some(found.1)
}

/// Letters to change, add or leave out.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = before + usize::from(x != y);
            before = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(before + 1);
        }
    }
    row[b.len()]
}
