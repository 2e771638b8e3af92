//! Shift and scale each dimension by a masked network of those before it.

use hmcvi_graph::Expr;

use super::{Around, Layer};
use crate::nn::Initial;

/// Hidden units where the settings have no hidden layer.
const UNITS: usize = 16;
/// A gate that is nearly open: a layer begins near the identity.
const FIRST_GATE: f64 = 2.0;

impl<'g> Around<'_, 'g> {
    /// The layers. Every other one sees the dimensions in the opposite order.
    pub(super) fn autoregressive(&self) -> Vec<Layer<'_, 'g>> {
        let layer = |k: usize| -> Layer<'_, 'g> {
            Box::new(move |z| {
                let (shift, gate) = self.masked(k, z);
                let open = (gate + FIRST_GATE).sigmoid();
                let widening = (gate + FIRST_GATE).log_sigmoid().sum_cols();
                (open * z + (1.0 - open) * shift, widening)
            })
        };
        (0..self.family.parts).map(layer).collect()
    }

    /// For every dimension, a shift and a gate that depend on the data and the dimensions before it.
    fn masked(&self, k: usize, z: Expr<'g>) -> (Expr<'g>, Expr<'g>) {
        let (d, units) = (self.dimension(), self.hidden().first().copied().unwrap_or(UNITS));
        let graph = z.graph();
        let place = |i: usize| if k.is_multiple_of(2) { i } else { d - 1 - i };
        // A hidden unit sees dimensions up to its own number, outputs see units of numbers below their place.
        let number = |unit: usize| unit % (d - 1).max(1);
        let mask = |rows: usize, cols: usize, sees: &dyn Fn(usize, usize) -> bool| {
            let all = (0..rows * cols).map(|i| f64::from(u8::from(sees(i / cols, i % cols))));
            graph.constant_matrix(rows, cols, &all.collect::<Vec<_>>())
        };
        let of = |part: &str, rows, cols, initial| {
            self.target.parameters.get(&format!("autoregressive.{k}.{part}"), rows, cols, initial)
        };
        let sees_input = |i: usize, unit: usize| d > 1 && place(i) <= number(unit);
        let first = of("seen", d, units, Initial::PAPER) * mask(d, units, &sees_input);
        let context = self.target.context;
        let hidden = z.matmul(first)
            + context.matmul(of("context", context.cols(), units, Initial::PAPER))
            + of("bias", 1, units, Initial::PAPER);
        let hidden = self.activation().apply(hidden);
        let sees_hidden = |unit: usize, i: usize| d > 1 && number(unit) < place(i);
        let sees_hidden = mask(units, d, &sees_hidden);
        let output = |name: &str| {
            let weight = of(&format!("{name}.weight"), units, d, Initial::Normal { variance: 1e-4 });
            let own = of(&format!("{name}.context"), context.cols(), d, Initial::Normal { variance: 1e-4 });
            let bias = of(&format!("{name}.bias"), 1, d, Initial::Constant(0.0));
            hidden.matmul(weight * sees_hidden) + context.matmul(own) + bias
        };
        (output("shift"), output("gate"))
    }
}
