//! Hold what a likelihood knows about the columns of the data.

use std::sync::Arc;

use hmcvi_graph::Expr;

use super::{ColumnStatistics, LikelihoodSettings};
use crate::nn::{Initial, Parameters};

/// The columns of the data, as a likelihood sees them.
#[derive(Clone, Copy)]
pub struct Columns<'a, 'g> {
    /// Where likelihoods have their own parameters.
    pub parameters: &'a Parameters<'g>,
    /// Choices of the user.
    pub settings: &'a LikelihoodSettings,
    /// Number of columns.
    pub count: usize,
    /// What is known about the training data. Needed for first values only: where these come from a checkpoint, the
    /// checkpoint has it.
    pub statistics: Option<&'a ColumnStatistics>,
}

impl<'g> Columns<'_, 'g> {
    /// Mean of every column, `[1, columns]`.
    pub fn mean(&self) -> Expr<'g> {
        self.fixed("columns.mean", self.count, 0.0, |s| s.mean.as_slice().into())
    }

    /// Mean of every column of counts, above 0, `[1, columns]`.
    pub fn positive_mean(&self) -> Expr<'g> {
        self.fixed("columns.mean", self.count, 1.0, ColumnStatistics::positive_mean)
    }

    /// Standard deviation of every column, `[1, columns]`; 1 for those that never change.
    pub fn scale(&self) -> Expr<'g> {
        self.fixed("columns.scale", self.count, 1.0, |s| s.scale.as_slice().into())
    }

    /// Sums of the rows `x`, `[N, 1]`, or without them the mean sum of the training rows, `[1, 1]`.
    pub fn row_total(&self, x: Option<Expr<'g>>) -> Expr<'g> {
        // Asked for in any case, so that all programs of a model have the same tensors.
        let typical = self.fixed("rows.total", 1, 1.0, |s| [s.row_total].into());
        x.map_or(typical, Expr::sum_cols)
    }

    /// One trained value for each column, or with `cols` 1 for all of them, which begins as 0.
    pub(super) fn trained(&self, name: &str, cols: usize) -> Expr<'g> {
        self.parameters.get(name, 1, cols, Initial::Constant(0.0))
    }

    fn fixed(
        &self,
        name: &str,
        cols: usize,
        unknown: f64,
        value: impl Fn(&ColumnStatistics) -> Arc<[f32]>,
    ) -> Expr<'g> {
        let initial = self.statistics.map_or(Initial::Constant(unknown), |s| Initial::Values(value(s)));
        self.parameters.fixed(name, 1, cols, initial)
    }
}

/// Keeps a learnt logarithm within ±`limit`, smoothly, so that it finds its way back; small values hardly change.
pub(super) fn bounded(log: Expr<'_>, limit: f64) -> Expr<'_> {
    (log * (1.0 / limit)).tanh() * limit
}
