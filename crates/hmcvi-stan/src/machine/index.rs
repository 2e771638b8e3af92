//! Read parts of values by their positions.

use super::{Frame, Machine};
use crate::ast::{Expr, Index};
use crate::error::{Problem, Result};
use crate::types::{Base, Ty};
use crate::value::Value;

/// What an index picks along one dimension, from 0.
pub(super) enum Picked {
    One(usize),
    Range(usize, usize),
    Many(Vec<usize>),
}

impl Picked {
    pub(super) fn len(&self) -> usize {
        match self {
            Picked::One(_) => 1,
            Picked::Range(from, to) => to - from,
            Picked::Many(all) => all.len(),
        }
    }

    fn at(&self, i: usize) -> usize {
        match self {
            Picked::One(at) => *at,
            Picked::Range(from, _) => from + i,
            Picked::Many(all) => all[i],
        }
    }
}

/// The type of what indices pick; `true` for those that keep their dimension.
pub(crate) fn index_type(ty: Ty, keeps: &[bool]) -> Option<Ty> {
    let rank = ty.rank() - usize::from(ty.is_complex());
    if keeps.len() > rank {
        return None;
    }
    let arrays = ty.arrays as usize;
    let kept = (0..arrays).filter(|&i| keeps.get(i).copied().unwrap_or(true)).count();
    let own: Vec<bool> = (arrays..rank).map(|i| keeps.get(i).copied().unwrap_or(true)).collect();
    let base = match (ty.base, own.as_slice()) {
        (Base::Vector | Base::RowVector, [false]) => Base::Real,
        (Base::Matrix, [false, true]) => Base::RowVector,
        (Base::Matrix, [true, false]) => Base::Vector,
        (Base::Matrix, [false, false]) => Base::Real,
        (Base::ComplexVector | Base::ComplexRow, [false]) | (Base::ComplexMatrix, [false, false]) => {
            Base::Complex
        }
        (Base::ComplexMatrix, [false, true]) => Base::ComplexRow,
        (Base::ComplexMatrix, [true, false]) => Base::ComplexVector,
        (base, _) => base,
    };
    Some(Ty { base, arrays: kept as u8 })
}

impl Machine<'_> {
    /// What indices pick of a value with these sizes.
    pub(super) fn picks(
        &mut self,
        value: &Value,
        indices: &[Index],
        frame: &mut Frame,
    ) -> Result<Vec<Picked>> {
        let rank = value.sizes.rank() - usize::from(value.ty.is_complex());
        let mut all = Vec::with_capacity(indices.len());
        for (i, index) in indices.iter().enumerate() {
            if i >= rank {
                let span = match index {
                    Index::One(e) | Index::Range(Some(e), _) | Index::Range(_, Some(e)) => Some(e.span),
                    _ => None,
                };
                let message =
                    format!("{} has {rank} dimensions, there are {} indices", value.ty, indices.len());
                return Err(Problem { span, message });
            }
            let size = value.sizes.at(i);
            all.push(self.picked(index, size, frame)?);
        }
        Ok(all)
    }

    fn picked(&mut self, index: &Index, size: usize, frame: &mut Frame) -> Result<Picked> {
        let position = |x: f64, e: &Expr| -> Result<usize> {
            match x >= 1.0 && x <= size as f64 {
                true => Ok(x as usize - 1),
                false => Err(Problem::at(e.span, format!("position {x} is outside of 1 to {size}"))),
            }
        };
        Ok(match index {
            Index::All => Picked::Range(0, size),
            Index::One(e) => {
                let value = self.eval(e, frame)?;
                if value.is_scalar() {
                    return Ok(Picked::One(position(self.int(&value, e)?, e)?));
                }
                let Some(known) = value.known() else { return Err(not_known(e)) };
                Picked::Many(known.iter().map(|x| position(*x, e)).collect::<Result<_>>()?)
            }
            Index::Range(from, to) => {
                let low = match from {
                    Some(e) => self.eval_int(e, frame)?,
                    None => 1.0,
                };
                let high = match to {
                    Some(e) => self.eval_int(e, frame)?,
                    None => size as f64,
                };
                if high < low {
                    return Ok(Picked::Range(0, 0));
                }
                let span = from.as_ref().or(to.as_ref());
                let Some(e) = span else { return Ok(Picked::Range(0, size)) };
                position(low, e)?;
                position(high, to.as_ref().unwrap_or(e))?;
                Picked::Range(low as usize - 1, high as usize)
            }
        })
    }

    /// An integer that is known.
    pub(super) fn eval_int(&mut self, e: &Expr, frame: &mut Frame) -> Result<f64> {
        let value = self.eval(e, frame)?;
        self.int(&value, e)
    }

    fn int(&mut self, value: &Value, e: &Expr) -> Result<f64> {
        match value.number() {
            Some(x) if x.fract() == 0.0 => Ok(x),
            Some(x) => Err(Problem::at(e.span, format!("expected an integer, not {x}"))),
            None => Err(not_known(e)),
        }
    }

    pub(super) fn index(&mut self, value: &Value, indices: &[Index], frame: &mut Frame) -> Result<Value> {
        let picks = self.picks(value, indices, frame)?;
        let keeps: Vec<bool> = picks.iter().map(|pick| !matches!(pick, Picked::One(_))).collect();
        let Some(ty) = index_type(value.ty, &keeps) else { return Err("there are too many indices".into()) };
        let rank = value.sizes.rank();
        let inner: usize = (picks.len()..rank).map(|i| value.sizes.at(i)).product();
        let mut sizes: Vec<usize> =
            picks.iter().zip(&keeps).filter(|(_, keep)| **keep).map(|(p, _)| p.len()).collect();
        sizes.extend((picks.len()..rank).map(|i| value.sizes.at(i)));
        // Single positions, then one range: neighbouring elements.
        let singles = keeps.iter().take_while(|keep| !**keep).count();
        let contiguous = singles == picks.len()
            || (singles + 1 == picks.len() && matches!(picks[singles], Picked::Range(..)));
        self.keep(sizes.iter().product())?;
        if contiguous {
            let start = picks.iter().enumerate().fold(0, |at, (i, pick)| {
                at * value.sizes.at(i) + if pick.len() == 0 { 0 } else { pick.at(0) }
            });
            return Ok(value.slice(ty, &sizes, start * inner));
        }
        let places = places(value, &picks);
        Ok(value.pick(ty, &sizes, places.into_iter()))
    }
}

/// Places of what is picked, in its order.
pub(super) fn places(value: &Value, picks: &[Picked]) -> Vec<usize> {
    let rank = value.sizes.rank();
    let mut all = vec![0usize];
    for i in 0..rank {
        let size = value.sizes.at(i);
        let count = picks.get(i).map_or(size, Picked::len);
        let mut next = Vec::with_capacity(all.len() * count);
        for base in &all {
            next.extend((0..count).map(|j| base * size + picks.get(i).map_or(j, |pick| pick.at(j))));
        }
        all = next;
    }
    all
}

fn not_known(e: &Expr) -> Problem {
    Problem::at(
        e.span,
        "this integer depends on a parameter; positions, sizes and loops need integers that are known from the data",
    )
}
