//! Shift and scale one half of the dimensions by a network of the other, in turns.

use hmcvi_graph::Expr;

use super::{Around, Layer};

impl<'g> Around<'_, 'g> {
    /// The layers. The first changes the second half.
    pub(super) fn coupling(&self) -> Vec<Layer<'_, 'g>> {
        let d = self.dimension();
        if d < 2 {
            return Vec::new();
        }
        let (first, second) = (d / 2, d - d / 2);
        let layer = |k: usize| -> Layer<'_, 'g> {
            Box::new(move |z: Expr<'g>| {
                let (a, b) = (z.slice_cols(0, first), z.slice_cols(first, second));
                let (seen, moved) = if k.is_multiple_of(2) { (a, b) } else { (b, a) };
                let input = Expr::concat_cols(&[self.target.context, seen]);
                let given = self.correction(&format!("coupling.{k}"), input, 2 * moved.cols());
                // A factor between 1/e and e in each layer.
                let log_scale = given.slice_cols(0, moved.cols()).tanh();
                let next = moved * log_scale.exp() + given.slice_cols(moved.cols(), moved.cols());
                let parts = if k.is_multiple_of(2) { [a, next] } else { [next, b] };
                (Expr::concat_cols(&parts), log_scale.sum_cols())
            })
        };
        (0..self.family.parts).map(layer).collect()
    }
}
