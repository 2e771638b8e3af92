//! Stack fully connected layers.

use hmcvi_graph::Expr;
use serde::{Deserialize, Serialize};

use super::{Initial, Parameters};
use crate::dist::Gaussian;

/// Activation function of hidden layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// `max(0, x)`
    #[default]
    Relu,
    /// `log(1 + eˣ)`, smooth, as energies need.
    Softplus,
    /// Hyperbolic tangent.
    Tanh,
}

impl Activation {
    /// The function of a value.
    pub fn apply(self, x: Expr<'_>) -> Expr<'_> {
        match self {
            Activation::Relu => x.relu(),
            Activation::Softplus => x.softplus(),
            Activation::Tanh => x.tanh(),
        }
    }
}

/// A fully connected network: hidden layers of equal activation, then a linear one.
#[derive(Clone, Copy, Debug)]
pub struct Network<'a> {
    /// Name that all of its parameters begin with.
    pub name: &'a str,
    /// Sizes of the hidden layers.
    pub hidden: &'a [usize],
    /// Activation of the hidden layers.
    pub activation: Activation,
}

impl Network<'_> {
    /// The output `[rows, cols]` for an input. Parameters are called `name.layer.weight` and
    /// `name.layer.bias`, layers counted from 0.
    pub fn apply<'g>(&self, parameters: &Parameters<'g>, input: Expr<'g>, cols: usize) -> Expr<'g> {
        let mut x = input;
        for (layer, &size) in self.hidden.iter().chain(&[cols]).enumerate() {
            let name = |part| format!("{}.{layer}.{part}", self.name);
            let weight = parameters.get(&name("weight"), x.cols(), size, Initial::PAPER);
            let bias = parameters.get(&name("bias"), 1, size, Initial::PAPER);
            x = x.matmul(weight) + bias;
            if layer < self.hidden.len() {
                x = self.activation.apply(x);
            }
        }
        x
    }

    /// A diagonal Gaussian whose mean and log variance the network gives.
    pub fn gaussian<'g>(
        &self,
        parameters: &Parameters<'g>,
        input: Expr<'g>,
        dimension: usize,
    ) -> Gaussian<'g> {
        let output = self.apply(parameters, input, 2 * dimension);
        Gaussian {
            mean: output.slice_cols(0, dimension),
            log_variance: output.slice_cols(dimension, dimension),
        }
    }
}
