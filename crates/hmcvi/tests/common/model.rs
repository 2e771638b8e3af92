//! Build a small variational auto-encoder with an inference chain.

use std::rc::Rc;

use hmcvi::dist::{Bernoulli, Gaussian};
use hmcvi::family::{Chain, ChainSettings, Entropies, Inference};
use hmcvi::nn::{Activation, Network, Parameters};
use hmcvi::potential::Potential;
use hmcvi_graph::{Expr, Graph, Store};

use super::uniforms;

pub(crate) const LATENT: usize = 3;
pub(crate) const PIXELS: usize = 6;
pub(crate) const HIDDEN: usize = 5;
/// Large enough, for these decoders, that a good part of the proposals is rejected.
pub(crate) const STEP_SIZE: f64 = 0.9;

/// A Bernoulli decoder with a softplus layer, an encoder with a tanh layer, and a chain whose models
/// have one layer of the given activation.
pub(crate) fn chain<'g>(
    parameters: &Rc<Parameters<'g>>,
    x: Expr<'g>,
    settings: ChainSettings,
    entropies: Entropies,
    activation: Activation,
) -> Chain<'g> {
    let potential = potential(parameters, x);
    let encoder = Network { name: "encoder", hidden: &[HIDDEN], activation: Activation::Tanh };
    let inference = Inference {
        parameters,
        settings,
        potential: &potential,
        initial: encoder.gaussian(parameters, x, LATENT),
        context: x,
        hidden: &[HIDDEN],
        activation,
        entropies,
    };
    inference.run()
}

/// `log p(x, z)` of the decoder and a standard normal prior.
pub(crate) fn potential<'g>(parameters: &Rc<Parameters<'g>>, x: Expr<'g>) -> Potential<'g> {
    let parameters = Rc::clone(parameters);
    Potential::from_expression(LATENT, move |z| {
        let decoder = Network { name: "decoder", hidden: &[HIDDEN], activation: Activation::Softplus };
        let pixels = Bernoulli { logits: decoder.apply(&parameters, z, PIXELS) };
        pixels.log_prob(x) + Gaussian::standard(z.graph(), LATENT).log_prob(z)
    })
}

/// Parameters of order one, so that no term of the bound is small and no network nearly linear.
pub(crate) fn values(parameters: &Parameters<'_>, seed: u64, step_size: f64) -> Store<f64> {
    let mut store = parameters.initial_values(seed);
    for (name, _) in parameters.all() {
        let tensor = store.get_mut(&name).expect("all parameters have first values");
        match name.as_str() {
            "log_step_size" => {
                // Different from dimension to dimension, where there are several.
                let each = tensor.values.iter_mut().enumerate();
                each.for_each(|(i, x)| *x = step_size.ln() - 0.15 * i as f64);
            }
            "raw_alpha" => tensor.values.fill(0.6),
            // Standard deviation 0.1 becomes 0.3; decoders are steeper.
            _ if name.starts_with("decoder") => tensor.values.iter_mut().for_each(|x| *x *= 8.0),
            _ => tensor.values.iter_mut().for_each(|x| *x *= 3.0),
        }
    }
    store
}

/// Binary images.
pub(crate) fn images(seed: u64, rows: usize) -> Vec<f64> {
    uniforms(seed, rows * PIXELS).iter().map(|u| f64::from(u8::from(*u < 0.5))).collect()
}

/// The graph's input for images.
pub(crate) fn image_input(graph: &Graph) -> Expr<'_> {
    graph.batch_input("x", PIXELS)
}
