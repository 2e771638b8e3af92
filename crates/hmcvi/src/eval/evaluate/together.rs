//! Let processes that share an evaluation stop at the same place and recall the same parts: those of the first one.

use std::ops::ControlFlow;

use hmcvi_graph::Ranks;
use serde_json::Value;

use super::{Phase, Watch};
use crate::eval::EvalError;

/// A watch of this process among others.
pub(super) struct Together<'a> {
    pub(super) ranks: &'a dyn Ranks,
    pub(super) own: &'a mut dyn Watch,
}

impl Watch for Together<'_> {
    fn progress(&mut self, phase: Phase, share: f64) -> ControlFlow<()> {
        match self.ranks.any(self.own.progress(phase, share).is_break()) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn recall(&mut self, part: &str) -> Option<Value> {
        let own = serde_json::to_vec(&self.own.recall(part)).unwrap_or_default();
        serde_json::from_slice(&self.ranks.of_first(own)).ok().flatten()
    }

    fn keep(&mut self, part: &str, value: &Value) -> Result<(), EvalError> {
        if self.ranks.rank() == 0 { self.own.keep(part, value) } else { Ok(()) }
    }
}
