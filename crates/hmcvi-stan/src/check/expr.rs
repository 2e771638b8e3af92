//! Find the types of expressions.

use super::{Checker, Place};
use crate::ast::{Expr, ExprKind, Index};
use crate::error::{Problem, Result};
use crate::functions::{self, higher};
use crate::machine::{binary_type, find_function, index_type, unary_type};
use crate::types::{Base, Ty};

impl Checker {
    pub(super) fn expr(&mut self, e: &mut Expr) -> Result<Ty> {
        let span = e.span;
        match &mut e.kind {
            ExprKind::Int(_) => Ok(Ty::INT),
            ExprKind::Real(_) => Ok(Ty::REAL),
            ExprKind::Imaginary(_) => Ok(Ty::COMPLEX),
            ExprKind::Text(_) => Ok(Ty::OTHER),
            ExprKind::Var { name, slot } => match self.find(name) {
                Some(known) => {
                    *slot = known.slot;
                    Ok(known.ty)
                }
                None => Err(self.unknown(name, span)),
            },
            ExprKind::Index(of, indices) => {
                let ty = self.expr(of)?;
                self.indices(ty, indices, span)
            }
            ExprKind::Call { name, arguments } => {
                let name = name.clone();
                self.call(&name, arguments, span)
            }
            ExprKind::Unary(op, a) => {
                let ty = self.expr(a)?;
                unary_type(*op, ty)
                    .ok_or_else(|| Problem::at(span, format!("this sign has no meaning for {ty}")))
            }
            ExprKind::Binary(op, a, b) => {
                let op = *op;
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                binary_type(op, a, b).ok_or_else(|| {
                    Problem::at(span, format!("`{}` has no meaning for {a} and {b}", op.sign()))
                })
            }
            ExprKind::Conditional(condition, a, b) => {
                let ty = self.expr(condition)?;
                if !ty.is_scalar() {
                    return Err(Problem::at(condition.span, format!("a condition is a number, not {ty}")));
                }
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                a.common(b)
                    .ok_or_else(|| Problem::at(span, format!("both sides need one type, not {a} and {b}")))
            }
            ExprKind::Array(elements) => {
                let mut found: Option<Ty> = None;
                for element in elements.iter_mut() {
                    let own = self.expr(element)?;
                    found = Some(match found {
                        None => own,
                        Some(ty) => ty.common(own).ok_or_else(|| {
                            Problem::at(
                                element.span,
                                format!("elements of an array have one type, not {ty} and {own}"),
                            )
                        })?,
                    });
                }
                match found {
                    Some(ty) if ty.arrays < 5 && !matches!(ty.base, Base::Void | Base::Other) => {
                        Ok(ty.array(1))
                    }
                    _ => Err(Problem::at(span, "an array needs elements, in at most 5 dimensions")),
                }
            }
            ExprKind::Row(elements) => {
                let types = elements.iter_mut().map(|e| self.expr(e)).collect::<Result<Vec<_>>>()?;
                row_type(&types).ok_or_else(|| {
                    let message = "`[a, b]` needs numbers or row vectors; `{a, b}` makes an array";
                    Problem::at(span, message)
                })
            }
        }
    }

    /// The type of what indices pick.
    pub(super) fn indices(&mut self, ty: Ty, indices: &mut [Index], span: crate::error::Span) -> Result<Ty> {
        let mut keeps = Vec::with_capacity(indices.len());
        for index in indices.iter_mut() {
            keeps.push(match index {
                Index::All => true,
                Index::One(e) => match self.expr(e)? {
                    Ty::INT => false,
                    ty if ty == Ty::INT.array(1) => true,
                    other => {
                        let message =
                            format!("a position is an integer or an array of integers, not {other}");
                        return Err(Problem::at(e.span, message));
                    }
                },
                Index::Range(from, to) => {
                    for e in [from, to].into_iter().flatten() {
                        self.expect(e, Ty::INT, "an end of a range")?;
                    }
                    true
                }
            });
        }
        index_type(ty, &keeps).ok_or_else(|| {
            Problem::at(span, format!("{ty} has {} dimensions, there are {} indices", ty.rank(), keeps.len()))
        })
    }

    pub(super) fn expect(&mut self, e: &mut Expr, ty: Ty, what: &str) -> Result<()> {
        let found = self.expr(e)?;
        match ty.takes(found) {
            true => Ok(()),
            false => Err(Problem::at(e.span, format!("{what} is {ty}, not {found}"))),
        }
    }

    fn call(&mut self, name: &str, arguments: &mut [Expr], span: crate::error::Span) -> Result<Ty> {
        if let Some(ty) = higher::result_type(name) {
            let Some(first) = arguments.first() else {
                return Err(Problem::at(
                    span,
                    format!("the first argument of `{name}` is the name of a function"),
                ));
            };
            let function = crate::machine::plain_name(first).unwrap_or_default();
            let function = crate::machine::written_name(function);
            if !self.functions.iter().any(|known| known.name == *function) {
                return Err(Problem::at(first.span, "expected the name of a function of the program"));
            }
            for argument in &mut arguments[1..] {
                self.expr(argument)?;
            }
            return Ok(ty);
        }
        if let Some(instead) = higher::refused(name).filter(|_| self.functions.iter().all(|f| f.name != name))
        {
            return Err(Problem::at(span, format!("`{name}` is not supported; {instead}")));
        }
        let types = arguments.iter_mut().map(|e| self.expr(e)).collect::<Result<Vec<_>>>()?;
        self.allowed_here(name, span)?;
        if let Some(function) = find_function(&self.functions, name, &types) {
            return Ok(function.result);
        }
        let named = self.functions.iter().find(|function| function.name == name);
        if let Some(function) = named.filter(|_| !functions::is_known(name)) {
            let shown = |types: &mut dyn Iterator<Item = Ty>| {
                types.map(|ty| ty.to_string()).collect::<Vec<_>>().join(", ")
            };
            let own = shown(&mut function.arguments.iter().map(|(_, ty)| *ty));
            let given = shown(&mut types.iter().copied());
            return Err(Problem::at(span, format!("`{name}` takes ({own}), not ({given})")));
        }
        functions::result_type(name, &types).map_err(|message| Problem::at(span, message))
    }

    /// Draws are made after the model alone, and only the model adds to the log density.
    fn allowed_here(&self, name: &str, span: crate::error::Span) -> Result<()> {
        let draws = match self.place {
            Place::Function { draws, .. } => draws,
            place => matches!(place, Place::TransformedData | Place::Generated),
        };
        if name.ends_with("_rng") && !draws {
            let message = format!(
                "`{name}` can be called in transformed data, generated quantities and functions ending in _rng"
            );
            return Err(Problem::at(span, message));
        }
        let adds = match self.place {
            Place::Function { adds, .. } => adds,
            place => matches!(place, Place::Model | Place::TransformedParameters),
        };
        let own = self.functions.iter().any(|function| function.name == name);
        if ((name.ends_with("_lp") || name.ends_with("_jacobian")) && own
            || matches!(name, "target" | "get_lp"))
            && !adds
        {
            return Err(Problem::at(
                span,
                format!("`{name}` can be called in the model and in functions ending in _lp or _jacobian"),
            ));
        }
        Ok(())
    }
}

/// The type of `[a, b]`: a row of numbers, or a matrix of rows.
fn row_type(types: &[Ty]) -> Option<Ty> {
    let complex = types.iter().any(|ty| ty.is_complex());
    let all = |f: fn(Ty) -> bool| types.iter().all(|ty| f(ty.parts()));
    let whole = match (all(Ty::is_scalar), all(|ty| ty == Ty::ROW)) {
        (true, _) => Ty::ROW,
        (_, true) => Ty::MATRIX,
        _ => return None,
    };
    Some(if complex { whole.of_parts() } else { whole })
}
