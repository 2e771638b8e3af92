//! Check the bound's derivative with respect to every parameter against finite differences in f64.

mod common;

use std::rc::Rc;

use common::model::{STEP_SIZE, chain, image_input, images, values};
use common::{Compiled, Outputs, STENCIL, combinations, describe, normals, per_row, seeing_the_score};
use hmcvi::family::{Acceptance, ChainSettings, Entropies};
use hmcvi::nn::{Activation, Parameters};
use hmcvi_graph::{Expr, Graph, Run, Store};

const ROWS: usize = 14;
/// Distance of the stencil's points along a direction of length 1. The difference's error is of order
/// 1e-14/h = 1e-9 from rounding, and h⁴ times the fifth derivative, which is large where the network's
/// acceptance probability is near its clip of 1e-4: h is well below that.
const STEP: f64 = 1e-5;
const LIMIT: f64 = 1e-7;
/// Draws for which no row comes so near to a decision, a clip or the corner of a rectified unit that
/// the stencil would reach across it; that decisions stay the same is checked.
const SEED: u64 = 6;

/// A chain with its mean bound, ready to be evaluated at any parameters.
struct Bound {
    names: Vec<String>,
    decisions: Vec<String>,
    store: Store<f64>,
    images: Vec<f64>,
    value: Compiled,
    gradients: Compiled,
}

impl Bound {
    fn new(settings: ChainSettings, entropies: Entropies, activation: Activation) -> Self {
        let graph = Graph::new();
        let parameters = Rc::new(Parameters::new(&graph));
        let chain = chain(&parameters, image_input(&graph), settings, entropies, activation);
        let bound = chain.terms.total().mean_rows();
        let (names, wrt): (Vec<String>, Vec<Expr<'_>>) = parameters.all().into_iter().unzip();
        let gradients = graph.grad(bound, &wrt);
        let decisions: Vec<String> = (1..=settings.hmc_steps).map(|t| format!("accepted {t}")).collect();
        let accepted = chain.steps.iter().map(|step| per_row(step.info.accepted));
        let mut value = vec![("bound", bound), ("diverging", per_row(chain.diverging))];
        value.extend(decisions.iter().map(String::as_str).zip(accepted));
        let gradients: Vec<_> = names.iter().map(String::as_str).zip(gradients).collect();
        Bound {
            value: Compiled::new(&graph, ROWS, &value),
            gradients: Compiled::new(&graph, ROWS, &gradients),
            store: values(&parameters, 11, STEP_SIZE),
            images: images(5, ROWS),
            names,
            decisions,
        }
    }

    fn run(compiled: &mut Compiled, store: &mut Store<f64>, images: &[f64]) -> Outputs {
        compiled.run(store, &Run { rows: ROWS, inputs: &[("x", images)], seed: SEED, ..Run::default() })
    }

    /// The mean bound with one tensor moved along a direction, and all decisions on the way.
    fn at(&mut self, name: &str, direction: &[f64], distance: f64) -> (f64, Vec<f64>) {
        let mut store = self.store.clone();
        let tensor = store.get_mut(name).expect("a parameter");
        tensor.values.iter_mut().zip(direction).for_each(|(x, d)| *x += distance * d);
        let found = Self::run(&mut self.value, &mut store, &self.images);
        assert!(found["diverging"].iter().all(|d| *d == 0.0), "no row diverges");
        (found["bound"][0], self.decisions.iter().flat_map(|name| found[name].clone()).collect())
    }

    /// Relative errors of one directional derivative of every tensor, and the decisions.
    fn errors(&mut self) -> (Vec<(String, f64)>, Vec<f64>) {
        let gradients = Self::run(&mut self.gradients, &mut self.store, &self.images);
        let mut errors = Vec::new();
        let mut path = Vec::new();
        for (k, name) in self.names.clone().into_iter().enumerate() {
            let gradient = &gradients[&name];
            let length = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let (size, noise) = (length(gradient), normals(70 + k as u64, gradient.len()));
            assert!(size > 1e-9, "{name} has no influence on the bound");
            // Half along the gradient, so that the derivative is not small by chance, half anywhere
            // on its side.
            let spread = length(&noise).copysign(dot(gradient, &noise));
            let direction: Vec<f64> =
                gradient.iter().zip(&noise).map(|(g, n)| g / size + n / spread).collect();
            let norm = length(&direction);
            let direction: Vec<f64> = direction.iter().map(|d| d / norm).collect();
            let exact = dot(gradient, &direction);
            let mut difference = 0.0;
            for (distance, weight) in STENCIL {
                let (value, decisions) = self.at(&name, &direction, distance * STEP);
                difference += weight * value / STEP;
                if path.is_empty() {
                    path = decisions.clone();
                }
                assert_eq!(path, decisions, "{name}: the chain takes another path; choose another seed");
            }
            errors.push((name, (difference - exact).abs() / exact.abs()));
        }
        (errors, path)
    }
}

/// Checks all tensors.
fn check(settings: ChainSettings, entropies: Entropies, activation: Activation) {
    let what = format!("{} {entropies:?}", describe(&settings));
    let (errors, path) = Bound::new(settings, entropies, activation).errors();
    for (name, error) in &errors {
        assert!(error < &LIMIT, "{what}: derivative by {name} has a relative error of {error:.1e}");
    }
    if settings.acceptance != Acceptance::None {
        let seen = (path.contains(&0.0), path.contains(&1.0));
        assert_eq!(seen, (true, true), "{what}: rejected and accepted proposals occur");
    }
}

#[test]
fn every_combinations_gradient_agrees_with_finite_differences() {
    for settings in combinations().into_iter().chain(seeing_the_score()) {
        check(settings, Entropies::ClosedForm, Activation::Tanh);
    }
}

#[test]
fn gradients_with_sampled_entropies_agree_with_finite_differences() {
    for settings in combinations() {
        check(settings, Entropies::Sampled, Activation::Softplus);
    }
}

#[test]
fn gradients_through_rectified_layers_agree_with_finite_differences() {
    for settings in combinations().into_iter().filter(|s| s.acceptance == Acceptance::Network) {
        check(settings, Entropies::ClosedForm, Activation::Relu);
    }
}

#[test]
fn the_elbos_gradient_agrees_with_finite_differences() {
    for entropies in [Entropies::ClosedForm, Entropies::Sampled] {
        check(ChainSettings::basic(), entropies, Activation::Tanh);
    }
}
