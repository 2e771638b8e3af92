//! Compute with complex numbers: their two parts are computed as real ones, and stand together as the last dimension.

mod formulas;
mod transforms;

use super::{Found, call as real_call, result_type as real_type};
use crate::ast::BinaryOp;
use crate::machine::{Machine, binary_type as real_binary};
use crate::types::{Base, Ty};
use crate::value::{Cell, Value};
use formulas::{asinh, atanh, cos, exp, log, log10, norm, product, sqrt, tanh, times, turned, waves};
use transforms::{decomposed, fourier};

/// Real and imaginary parts.
type Pair = (Value, Value);

/// What a function of complex numbers gives.
enum Gives {
    /// Complex numbers, each from one: `f(x, y)`.
    Each(fn(&mut Machine<'_>, &Pair) -> Result<Pair, String>),
    /// A real number for each.
    Part(fn(&mut Machine<'_>, &Pair) -> Found),
}

/// Functions of each complex number.
const FUNCTIONS: [(&str, Gives); 21] = [
    ("get_real", Gives::Part(|_, z| Ok(z.0.clone()))),
    ("get_imag", Gives::Part(|_, z| Ok(z.1.clone()))),
    ("abs", Gives::Part(|m, z| m.map("hypot", &[&z.0, &z.1]))),
    ("arg", Gives::Part(|m, z| m.map("atan2", &[&z.1, &z.0]))),
    ("norm", Gives::Part(norm)),
    ("conj", Gives::Each(|m, z| Ok((z.0.clone(), m.scale(&z.1, -1.0)?)))),
    ("exp", Gives::Each(exp)),
    ("log", Gives::Each(log)),
    ("log10", Gives::Each(log10)),
    ("sqrt", Gives::Each(sqrt)),
    ("square", Gives::Each(|m, z| times(m, z, z))),
    ("sinh", Gives::Each(|m, z| waves(m, z, ["sinh", "cos", "cosh", "sin"]))),
    ("cosh", Gives::Each(|m, z| waves(m, z, ["cosh", "cos", "sinh", "sin"]))),
    ("tanh", Gives::Each(tanh)),
    ("sin", Gives::Each(|m, z| turned(m, z, |m, z| waves(m, z, ["sinh", "cos", "cosh", "sin"])))),
    ("cos", Gives::Each(cos)),
    ("tan", Gives::Each(|m, z| turned(m, z, tanh))),
    ("asinh", Gives::Each(asinh)),
    ("asin", Gives::Each(|m, z| turned(m, z, asinh))),
    ("atanh", Gives::Each(atanh)),
    ("atan", Gives::Each(|m, z| turned(m, z, atanh))),
];

/// Functions that make complex numbers of real ones.
const MAKERS: [&str; 12] = [
    "to_complex",
    "polar",
    "eigenvalues",
    "eigenvectors",
    "complex_schur_decompose_t",
    "complex_schur_decompose_u",
    "fft",
    "inv_fft",
    "fft2",
    "inv_fft2",
    "pow",
    "proj",
];

/// Functions that give the same of both parts.
const SHAPES: [&str; 24] = [
    "transpose",
    "head",
    "tail",
    "segment",
    "reverse",
    "append_row",
    "append_col",
    "append_array",
    "row",
    "col",
    "block",
    "sub_row",
    "sub_col",
    "diagonal",
    "diag_matrix",
    "to_vector",
    "to_row_vector",
    "to_matrix",
    "to_array_1d",
    "sum",
    "rep_vector",
    "rep_row_vector",
    "rep_matrix",
    "rep_array",
];

/// Operators by their names as functions.
const OPERATORS: [(&str, BinaryOp); 7] = [
    ("add", BinaryOp::Add),
    ("subtract", BinaryOp::Sub),
    ("multiply", BinaryOp::Mul),
    ("divide", BinaryOp::Div),
    ("elt_multiply", BinaryOp::TimesEach),
    ("elt_divide", BinaryOp::DivEach),
    ("pow", BinaryOp::Pow),
];

/// The operator that a name stands for.
pub(super) fn operator(name: &str) -> Option<BinaryOp> {
    OPERATORS.iter().find(|(known, _)| *known == name).map(|(_, op)| *op)
}

/// Names of functions of complex numbers, for the document of the language.
pub(crate) fn names() -> Vec<&'static str> {
    let mut all: Vec<&str> = FUNCTIONS.iter().map(|(name, _)| *name).chain(MAKERS).collect();
    all.sort_unstable();
    all
}

pub(super) fn is_one(name: &str) -> bool {
    MAKERS.contains(&name) || FUNCTIONS.iter().any(|(known, _)| *known == name)
}

fn find(name: &str) -> Option<&'static Gives> {
    FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, gives)| gives)
}

/// The type of a call with complex numbers, or of one that makes them.
pub(super) fn result_type(name: &str, types: &[Ty]) -> Option<Ty> {
    let complex = types.iter().any(|ty| ty.is_complex());
    let parts: Vec<Ty> = types.iter().map(|ty| ty.parts()).collect();
    let square = parts == [Ty::MATRIX];
    match name {
        "to_complex" if !complex => match types {
            [] => Some(Ty::COMPLEX),
            [x] => Some(x.of_parts()),
            [_, _] => real_type("add", types).ok().map(Ty::of_parts),
            _ => None,
        },
        "polar" if !complex && types.len() == 2 => real_type("add", types).ok().map(Ty::of_parts),
        "eigenvalues" if square => Some(Ty::new(Base::ComplexVector)),
        "eigenvectors" | "complex_schur_decompose_t" | "complex_schur_decompose_u" if square => {
            Some(Ty::new(Base::ComplexMatrix))
        }
        "fft" | "inv_fft" if parts == [Ty::VECTOR] => Some(Ty::new(Base::ComplexVector)),
        "fft2" | "inv_fft2" if square => Some(Ty::new(Base::ComplexMatrix)),
        _ if !complex => None,
        "size" | "rows" | "cols" | "num_elements" => real_type(name, &parts).ok(),
        "proj" if types.len() == 1 => Some(types[0]),
        _ if SHAPES.contains(&name) => real_type(name, &parts).ok().map(Ty::of_parts),
        _ if types.len() == 1 => match find(name)? {
            Gives::Each(_) => Some(types[0]),
            Gives::Part(_) => Some(types[0].parts()),
        },
        _ => {
            let [a, b] = types else { return None };
            binary_type(operator(name)?, *a, *b)
        }
    }
}

/// Computes a function of complex numbers, or one that makes them.
pub(crate) fn call(m: &mut Machine<'_>, name: &str, a: &[Value]) -> Found {
    match name {
        "to_complex" => {
            let zero = Value::num(0.0);
            let (x, y) = (a.first().unwrap_or(&zero), a.get(1).unwrap_or(&zero));
            // Both get the sizes of both.
            let nothing = m.scale(y, 0.0)?;
            let x = m.add(x, &nothing)?;
            let nothing = m.scale(&x, 0.0)?;
            let y = m.add(y, &nothing)?;
            Ok(join(&(x, y)))
        }
        "polar" => {
            let (c, s) = (m.map("cos", &[&a[1]])?, m.map("sin", &[&a[1]])?);
            Ok(join(&(m.mul(&a[0], &c)?, m.mul(&a[0], &s)?)))
        }
        "eigenvalues" | "eigenvectors" | "complex_schur_decompose_t" | "complex_schur_decompose_u" => {
            decomposed(name, &a[0])
        }
        "fft" | "inv_fft" | "fft2" | "inv_fft2" => fourier(m, name, &split(&a[0])),
        "size" | "rows" | "cols" | "num_elements" => real_call(m, name, &[split(&a[0]).0]),
        // Infinite numbers are one.
        "proj" => Ok(a[0].clone()),
        _ if SHAPES.contains(&name) => {
            let (x, y): (Vec<Value>, Vec<Value>) = a
                .iter()
                .map(|value| if value.ty == Ty::INT { (value.clone(), value.clone()) } else { split(value) })
                .unzip();
            Ok(join(&(real_call(m, name, &x)?, real_call(m, name, &y)?)))
        }
        _ => match (find(name), a) {
            (Some(Gives::Each(f)), [z]) => Ok(join(&f(m, &split(z))?)),
            (Some(Gives::Part(f)), [z]) => f(m, &split(z)),
            (_, [x, y]) => {
                let op =
                    operator(name).ok_or_else(|| format!("`{name}` has no meaning for complex numbers"))?;
                binary(m, op, x, y)
            }
            _ => Err(format!("`{name}` has no meaning for complex numbers")),
        },
    }
}

/// The type of an operator of which a side is complex.
pub(crate) fn binary_type(op: BinaryOp, a: Ty, b: Ty) -> Option<Ty> {
    use BinaryOp::*;
    let (x, y) = (a.parts(), b.parts());
    match op {
        Equal | NotEqual => real_binary(op, x, y),
        Add | Sub | Mul | TimesEach | DivEach => real_binary(op, x, y).map(Ty::of_parts),
        Div if y.is_scalar() => real_binary(op, x, y).map(Ty::of_parts),
        Pow | PowEach => (x.is_scalar() && y.is_scalar()).then_some(Ty::COMPLEX),
        _ => None,
    }
}

/// An operator of which a side is complex.
pub(crate) fn binary(m: &mut Machine<'_>, op: BinaryOp, a: &Value, b: &Value) -> Found {
    use BinaryOp::*;
    if binary_type(op, a.ty, b.ty).is_none() {
        return Err(format!("`{}` has no meaning for {} and {}", op.sign(), a.ty, b.ty));
    }
    let (a, b) = (split(a), split(b));
    match op {
        Equal | NotEqual => {
            let (x, y) = (m.binary(op, &a.0, &b.0)?, m.binary(op, &a.1, &b.1)?);
            m.map(if op == Equal { "logical_and" } else { "logical_or" }, &[&x, &y])
        }
        Add | Sub => Ok(join(&(m.binary(op, &a.0, &b.0)?, m.binary(op, &a.1, &b.1)?))),
        Mul | TimesEach => Ok(join(&product(m, op, &a, &b)?)),
        Div | DivEach => {
            // `a / b = a b* / |b|²`
            let op = if op == Div { Mul } else { TimesEach };
            let turned = (b.0.clone(), m.scale(&b.1, -1.0)?);
            let above = product(m, op, &a, &turned)?;
            let below = norm(m, &b)?;
            Ok(join(&(m.div(&above.0, &below)?, m.div(&above.1, &below)?)))
        }
        _ => {
            let logs = log(m, &a)?;
            let product = product(m, Mul, &logs, &b)?;
            Ok(join(&exp(m, &product)?))
        }
    }
}

/// The two parts of complex numbers; others have nothing imaginary.
fn split(value: &Value) -> Pair {
    if !value.ty.is_complex() {
        let nothing = Value { ty: value.ty.real(), ..value.clone() };
        let n = value.elements();
        let zeros = match value.is_scalar() {
            true => Value::num(0.0),
            false => Value::known_of(value.ty.real(), &value.sizes.to_vec(), vec![0.0; n]),
        };
        return (nothing, zeros);
    }
    let (mut sizes, ty) = (value.sizes.to_vec(), value.ty.parts());
    sizes.pop();
    let n = value.elements() / 2;
    let part = |first: usize| match sizes.is_empty() {
        true => value.slice(ty, &[], first),
        false => value.pick(ty, &sizes, (0..n).map(|i| 2 * i + first)),
    };
    (part(0), part(1))
}

/// Complex numbers from their parts.
fn join((x, y): &Pair) -> Value {
    let ty = if x.ty.rank() >= y.ty.rank() { x.ty } else { y.ty };
    let mut sizes = x.sizes.to_vec();
    sizes.push(2);
    let cells: Vec<Cell> = (0..x.elements()).flat_map(|i| [x.cell(i), y.cell(i)]).collect();
    Value::of_cells(ty.of_parts(), &sizes, cells)
}

/// A value as complex numbers.
pub(crate) fn of(value: Value) -> Value {
    if value.ty.is_complex() { value } else { join(&split(&value)) }
}

/// Makes all values complex if one is; says whether one is.
pub(crate) fn alike(values: &mut [Value]) -> bool {
    let complex = values.iter().any(|value| value.ty.is_complex());
    if complex {
        values.iter_mut().for_each(|value| *value = of(value.clone()));
    }
    complex
}

/// `[a, b]` of complex numbers or rows.
pub(crate) fn row(values: &[Value]) -> Found {
    let first = values.first().ok_or("a row needs elements")?;
    let base = match first.ty {
        Ty::COMPLEX => Base::ComplexRow,
        Ty { base: Base::ComplexRow, arrays: 0 } => Base::ComplexMatrix,
        _ => return Err("`[a, b]` needs numbers or row vectors; `{a, b}` makes an array".into()),
    };
    if values.iter().any(|value| value.sizes != first.sizes || value.ty != first.ty) {
        return Err("`[a, b]` needs numbers, or row vectors of one size".into());
    }
    let sizes = [&[values.len()], first.sizes.to_vec().as_slice()].concat();
    Ok(crate::machine::joined(Ty::new(base), &sizes, values))
}
