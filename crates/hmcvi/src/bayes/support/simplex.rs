//! Vectors of positive elements with the sum 1: pieces broken from a stick, one after the other.

use hmcvi_graph::Expr;

use super::{Constrained, sums};
use crate::bayes::{Dims, Var};

/// Of what is left of the stick, piece `k` of `K` takes the share `zₖ = 1 / (1 + exp(-yₖ + log(K - k)))`; the last takes
/// the rest. All is in logarithms, so that pieces near 0 and 1 keep their digits.
pub(super) fn simplex<'g>(raw: Expr<'g>, dims: Dims, [groups, size]: [usize; 2]) -> Constrained<'g> {
    let breaks = size - 1;
    let centres: Vec<f64> = (0..groups * breaks).map(|at| ((breaks - at % breaks) as f64).ln()).collect();
    let y = raw - raw.graph().constant_matrix(1, centres.len(), &centres);
    let (log_share, log_rest) = (y.log_sigmoid(), (-y).log_sigmoid());
    let log_left = sums::before(log_rest, [groups, breaks]);
    let taken = |at: usize| (at % size < breaks).then(|| at / size * breaks + at % size);
    let log_share_of_all: Vec<Option<usize>> = (0..groups * size).map(taken).collect();
    let value = (log_left + sums::pick(log_share, &log_share_of_all)).exp();
    let broken: Vec<usize> = (0..groups * size).filter(|at| at % size < breaks).collect();
    let log_slope = log_share + log_rest + log_left.gather_cols(&broken);
    Constrained { value: Var::new(value, dims), log_jacobian: Some(log_slope.sum_cols()) }
}
