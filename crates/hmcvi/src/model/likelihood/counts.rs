//! Share what likelihoods of counts have in common.

use hmcvi_graph::Expr;

use super::Columns;
use super::columns::bounded;

/// Logarithms of means stay within ±30: single precision holds the exponentials, and products of a few of them, and no
/// count is ever so rare or so large. Beyond, nothing depends on the decoder any more.
const LARGEST_LOG_MEAN: f64 = 30.0;
/// Logarithms of dispersions stay within ±15: at `e¹⁵`, a count of a thousand varies as a Poisson variable to 1 in
/// 3,000; at `e⁻¹⁵`, all but one in a million are 0.
const LARGEST_LOG_DISPERSION: f64 = 15.0;

/// Logarithms of the expected counts. A decoder that gives zeros stands for the columns' own means.
pub(super) fn log_mean<'g>(columns: &Columns<'_, 'g>, decoded: Expr<'g>, x: Option<Expr<'g>>) -> Expr<'g> {
    let mut log = logits(columns, decoded);
    if columns.settings.size_factor {
        let total = columns.row_total(x);
        // Rows without counts have no shares; any total does for them.
        let total = total.greater(0.0).select(total, 1.0);
        log = log - log.log_sum_exp() + total.log();
    }
    log.max(-LARGEST_LOG_MEAN).min(LARGEST_LOG_MEAN)
}

/// Logarithms of expected counts, or of the columns' shares up to a constant.
pub(super) fn logits<'g>(columns: &Columns<'_, 'g>, decoded: Expr<'g>) -> Expr<'g> {
    decoded + columns.positive_mean().log()
}

/// Learnt logarithms of the columns' dispersions; all begin as 1.
pub(super) fn log_dispersion<'g>(columns: &Columns<'_, 'g>) -> Expr<'g> {
    bounded(columns.trained("likelihood.log_dispersion", columns.count), LARGEST_LOG_DISPERSION)
}

/// Counts span orders of magnitude; their logarithms do not.
pub(super) fn encoder_input(x: Expr<'_>) -> Expr<'_> {
    x.log1p()
}

pub(super) fn allows(value: f32) -> bool {
    value >= 0.0 && value.fract() == 0.0
}

pub(super) const ALLOWED: &str = "an integer of at least 0";
