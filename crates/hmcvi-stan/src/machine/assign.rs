//! Assign to variables and to their parts.

use super::index::{Picked, index_type, places};
use super::{Frame, Machine};
use crate::ast::{Index, LValue};
use crate::error::{Problem, Result};
use crate::functions::complex;
use crate::value::{Data, Value};

impl Machine<'_> {
    pub(super) fn assign(&mut self, target: &LValue, value: Value, frame: &mut Frame) -> Result<()> {
        let value = if frame[target.slot].ty.is_complex() { complex::of(value) } else { value };
        if target.indices.is_empty() {
            let old = &frame[target.slot];
            let fits = old.sizes == value.sizes || old.ty.rank() == 0;
            if !fits || old.ty.rank() != value.ty.rank() {
                let message = format!(
                    "`{}` is {} {}, and this is {} {}",
                    target.name, old.ty, old.sizes, value.ty, value.sizes
                );
                return Err(Problem::at(target.span, message));
            }
            let ty = old.ty;
            frame[target.slot] = value.typed(ty);
            return Ok(());
        }
        let old = frame[target.slot].clone();
        let found = self.places_of(&old, &target.indices, frame);
        // Nobody else may hold the numbers when they are written.
        drop(old);
        let (places, sizes) = found.map_err(|p| p.or_at(target.span))?;
        if places.len() != value.elements() || sizes != value.sizes.to_vec() {
            let message = format!(
                "this part of `{}` has the sizes {sizes:?}, and what it gets has {}",
                target.name, value.sizes
            );
            return Err(Problem::at(target.span, message));
        }
        let whole = &mut frame[target.slot];
        if matches!(whole.data, Data::Span { .. }) {
            self.keep(whole.elements())?;
        }
        whole.write(&places, &value);
        Ok(())
    }

    /// Places of a part, and its sizes.
    fn places_of(
        &mut self,
        value: &Value,
        indices: &[Vec<Index>],
        frame: &mut Frame,
    ) -> Result<(Vec<usize>, Vec<usize>)> {
        // The common case: one pair of brackets with numbers, down to a number.
        if let [only] = indices {
            let picks = self.picks(value, only, frame)?;
            return Ok((self.part(value, &picks)?, sizes_of(value, &picks)));
        }
        // Brackets one after the other pick from what those before picked.
        let mut current: Option<(Vec<usize>, Value)> = None;
        for own in indices {
            let view = current.as_ref().map_or(value, |(_, view)| view).clone();
            let picks = self.picks(&view, own, frame)?;
            let inner = self.part(&view, &picks)?;
            let sizes = sizes_of(&view, &picks);
            let keeps: Vec<bool> = picks.iter().map(|pick| !matches!(pick, Picked::One(_))).collect();
            let ty = index_type(view.ty, &keeps).ok_or("there are too many indices")?;
            let outer = match &current {
                Some((places, _)) => inner.iter().map(|&i| places[i]).collect(),
                None => inner,
            };
            let shape = crate::value::Sizes::new(&sizes);
            current = Some((outer, Value { ty, sizes: shape, data: Data::Num(0.0) }));
        }
        let (places, view) = current.ok_or("there are no indices")?;
        Ok((places, view.sizes.to_vec()))
    }

    fn part(&mut self, value: &Value, picks: &[Picked]) -> Result<Vec<usize>> {
        let count = sizes_of(value, picks).iter().product();
        self.keep(count)?;
        Ok(places(value, picks))
    }
}

fn sizes_of(value: &Value, picks: &[Picked]) -> Vec<usize> {
    let kept = picks.iter().filter(|pick| !matches!(pick, Picked::One(_))).map(Picked::len);
    kept.chain((picks.len()..value.sizes.rank()).map(|i| value.sizes.at(i))).collect()
}
