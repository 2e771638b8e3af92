//! Bend draws along one direction per layer: `z + û tanh(wᵀz + b)`.

use hmcvi_graph::Expr;

use super::{Around, Layer};

/// Keeps the division by `|w|²` finite.
const LEAST_SQUARE: f64 = 1e-6;

impl<'a, 'g> Around<'a, 'g> {
    /// The layers, whose vectors depend on the data. `û` has `wᵀû > -1`, so that a layer can be undone.
    pub(super) fn planar(&self) -> Vec<Layer<'_, 'g>> {
        let d = self.dimension();
        let vectors = |k: usize| -> Layer<'_, 'g> {
            let given = self.correction(&format!("planar.{k}"), self.target.context, 2 * d + 1);
            let (u, w) = (given.slice_cols(0, d), given.slice_cols(d, d));
            // In units of the Gaussian that the draws come from.
            let scale = (self.gaussian.log_variance * 0.5).exp();
            let (mean, bias) = (self.gaussian.mean, given.slice_cols(2 * d, 1));
            let along = dot(w, u);
            let least = along.softplus() - 1.0;
            let u = u + w * ((least - along) / (w.square().sum_cols() + LEAST_SQUARE));
            Box::new(move |z| {
                let bent = (dot(w, (z - mean) / scale) + bias).tanh();
                let widening = (1.0 + (1.0 - bent.square()) * dot(w, u)).log();
                (z + scale * u * bent, widening)
            })
        };
        (0..self.family.parts).map(vectors).collect()
    }
}

fn dot<'g>(a: Expr<'g>, b: Expr<'g>) -> Expr<'g> {
    (a * b).sum_cols()
}
