//! Let reverse models be flows: layers that bring a momentum near a Gaussian, by what is seen of its place.
//!
//! A momentum where a simulation ends need not be Gaussian, nor are its dimensions independent of each other. Only its
//! density is needed, so each layer is cheap: one half of the dimensions moves and scales the other.

use hmcvi_graph::Expr;

use super::chain::Inference;
use crate::nn::{Initial, Network};

/// Layers, in which the halves take turns.
const LAYERS: usize = 2;
/// What layers do is small at first, and large enough that their networks learn from the beginning.
const FIRST_FACTOR: f64 = 0.01;

impl<'g> Inference<'_, 'g> {
    /// Where a momentum goes, and minus the logarithm of how much that widens.
    pub(super) fn through_flow(&self, name: &str, seen: Expr<'g>, v: Expr<'g>) -> (Expr<'g>, Expr<'g>) {
        let half = v.cols() / 2;
        let (mut first, mut second) = (v.slice_cols(0, half), v.slice_cols(half, v.cols() - half));
        let mut shrinking = v.graph().constant(0.0);
        for layer in 0..LAYERS {
            let (given, moved) = if layer % 2 == 0 { (first, &mut second) } else { (second, &mut first) };
            let (cols, name) = (moved.cols(), format!("{name}.flow.{layer}"));
            let hidden = &self.hidden[..self.hidden.len().min(1)];
            let network = Network { name: &name, hidden, activation: self.activation };
            let factor =
                self.parameters.get(&format!("{name}.factor"), 1, 2 * cols, Initial::Constant(FIRST_FACTOR));
            let given = Expr::concat_cols(&[seen, given]);
            let out = network.apply(self.parameters, given, 2 * cols) * factor;
            // At most by a factor of e, so that no momentum goes beyond all numbers.
            let widening = out.slice_cols(cols, cols).tanh();
            *moved = *moved * widening.exp() + out.slice_cols(0, cols);
            shrinking = shrinking - widening.sum_cols();
        }
        (Expr::concat_cols(&[first, second]), shrinking)
    }
}
