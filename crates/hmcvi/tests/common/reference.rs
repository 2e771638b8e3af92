//! Evaluate the bound of one data point directly from the paper's equations, in plain loops.
//!
//! Nothing here uses expressions. The transition densities are taken from the states alone, as the
//! paper has them: `revHD` is a real simulation backwards, and the reverse probability of acceptance
//! is `min(1, exp(H(s_t) - H(revHD(s_t))))` of that state.

use std::f64::consts::TAU;

use hmcvi::family::{Acceptance, ChainSettings, Entropies, Mass, StepSize};
use hmcvi::nn::Activation;
use hmcvi_graph::Store;
use hmcvi_graph::random::{self, Key};

use super::model::LATENT as D;

/// Clip of the network's acceptance probability: the paper clips to `[0, 1]`, where a sampled event
/// could have probability 0; the library to `[δ, 1 - δ]`.
const DELTA: f64 = 1e-4;

/// What is known of one data point.
pub(crate) struct Point<'a> {
    pub(crate) store: &'a Store<f64>,
    pub(crate) settings: ChainSettings,
    pub(crate) entropies: Entropies,
    /// Activation of the chain's networks.
    pub(crate) activation: Activation,
    pub(crate) x: &'a [f64],
    pub(crate) seed: u64,
    pub(crate) step: u64,
    pub(crate) row: u32,
}

/// The parts of the bound, in the order of `BoundTerms::named`, and the decisions on the way.
#[derive(Debug)]
pub(crate) struct Terms {
    pub(crate) values: [f64; 6],
    pub(crate) accepted: Vec<bool>,
    pub(crate) end: Vec<f64>,
}

type State = (Vec<f64>, Vec<f64>);

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// `Σ -½ ((x - μ)² / σ² + log σ² + log 2π)`
fn log_gaussian(x: &[f64], mean: &[f64], log_variance: &[f64]) -> f64 {
    let each = x.iter().zip(mean).zip(log_variance);
    each.map(|((x, m), l)| -0.5 * ((x - m).powi(2) / l.exp() + l + TAU.ln())).sum()
}

/// `Σ ½ (log 2π + log σ² + 1)`
fn entropy(log_variance: &[f64]) -> f64 {
    log_variance.iter().map(|l| 0.5 * (TAU.ln() + l + 1.0)).sum()
}

fn negated(v: &[f64]) -> Vec<f64> {
    v.iter().map(|v| -v).collect()
}

/// `y = x W + b`
fn linear(store: &Store<f64>, layer: &str, x: &[f64]) -> Option<Vec<f64>> {
    let weight = store.get(&format!("{layer}.weight"))?;
    let bias = store.get(&format!("{layer}.bias"))?;
    assert_eq!(weight.rows, x.len(), "inputs of {layer}");
    let each = |j: usize| -> f64 { (0..x.len()).map(|i| x[i] * weight.values[i * weight.cols + j]).sum() };
    Some((0..weight.cols).map(|j| each(j) + bias.values[j]).collect())
}

/// All layers of that name; the last is linear.
fn network(store: &Store<f64>, name: &str, activation: Activation, input: &[f64]) -> Vec<f64> {
    let mut x = linear(store, &format!("{name}.0"), input).expect("a network has a layer");
    for layer in 1.. {
        let hidden: Vec<f64> = x.iter().map(|&x| activate(activation, x)).collect();
        match linear_if_any(store, &format!("{name}.{layer}"), &hidden) {
            Some(y) => x = y,
            None => break,
        }
    }
    x
}

fn linear_if_any(store: &Store<f64>, layer: &str, x: &[f64]) -> Option<Vec<f64>> {
    store.get(&format!("{layer}.weight"))?;
    linear(store, layer, x)
}

fn activate(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::Relu => x.max(0.0),
        Activation::Softplus => softplus(x),
        Activation::Tanh => x.tanh(),
    }
}

impl Point<'_> {
    fn normal(&self, stream: u16) -> Vec<f64> {
        let mut draw = vec![0.0; D];
        random::normal(Key { seed: self.seed, stream, step: self.step, row: self.row }, &mut draw);
        draw
    }

    fn uniform(&self, stream: u16) -> f64 {
        let mut draw = [0.0];
        random::uniform(Key { seed: self.seed, stream, step: self.step, row: self.row }, &mut draw);
        draw[0]
    }

    fn parameter(&self, name: &str) -> &[f64] {
        &self.store.get(name).unwrap_or_else(|| panic!("no parameter `{name}`")).values
    }

    /// Mean and log variance of a momentum model with inputs `x, z, t` and, if given, `u`.
    fn momentum_model(&self, name: &str, z: &[f64], time: usize, u: &[f64]) -> State {
        let input = [self.x, z, &[time as f64], u].concat();
        let output = network(self.store, name, self.activation, &input);
        (output[..D].to_vec(), output[D..].to_vec())
    }

    /// `log p(x, z)`
    fn log_joint(&self, z: &[f64]) -> f64 {
        let logits = network(self.store, "decoder", Activation::Softplus, z);
        let pixels: f64 = self.x.iter().zip(&logits).map(|(x, l)| x * l - softplus(*l)).sum();
        pixels + log_gaussian(z, &[0.0; D], &[0.0; D])
    }

    /// `∇ log p(x, z) = W₁ (σ(W₁ᵀz + b₁) ∘ W₂(x - σ(logits))) - z`
    fn force(&self, z: &[f64]) -> Vec<f64> {
        let hidden = linear(self.store, "decoder.0", z).expect("the decoder has a hidden layer");
        let logits = network(self.store, "decoder", Activation::Softplus, z);
        let rest: Vec<f64> = self.x.iter().zip(&logits).map(|(x, l)| x - sigmoid(*l)).collect();
        let times = |name: &str, i: usize, right: &[f64]| -> f64 {
            let cols = right.len();
            let weight = &self.parameter(name)[i * cols..(i + 1) * cols];
            weight.iter().zip(right).map(|(w, r)| w * r).sum()
        };
        let back = |j: usize| sigmoid(hidden[j]) * times("decoder.1.weight", j, &rest);
        let back: Vec<f64> = (0..hidden.len()).map(back).collect();
        (0..D).map(|i| times("decoder.0.weight", i, &back) - z[i]).collect()
    }

    fn log_mass(&self) -> Vec<f64> {
        match self.settings.mass {
            Mass::Identity => vec![0.0; D],
            Mass::Global => self.parameter("log_mass").to_vec(),
            Mass::Network => network(self.store, "mass", self.activation, self.x),
        }
    }

    fn step_size(&self) -> Vec<f64> {
        let free = self.parameter("log_step_size");
        match self.settings.step_size {
            StepSize::Global => vec![free[0].exp(); D],
            StepSize::PerDimension => free.iter().map(|s| s.exp()).collect(),
            StepSize::Network => {
                vec![(free[0] + network(self.store, "step_size", self.activation, self.x)[0]).exp(); D]
            }
        }
    }

    /// `H(z, v) = U(z) + ½ vᵀM⁻¹v`
    fn energy(&self, (z, v): &State) -> f64 {
        let kinetic: f64 = v.iter().zip(self.log_mass()).map(|(v, l)| 0.5 * v * v / l.exp()).sum();
        kinetic - self.log_joint(z)
    }

    /// The leapfrog method.
    fn hd(&self, (z, v): &State) -> State {
        let (epsilon, log_mass) = (self.step_size(), self.log_mass());
        let (mut z, mut v) = (z.clone(), v.clone());
        let kick = |z: &[f64], v: &mut [f64]| {
            let force = self.force(z);
            (0..D).for_each(|i| v[i] += 0.5 * epsilon[i] * force[i]);
        };
        for _ in 0..self.settings.leapfrog_steps {
            kick(&z, &mut v);
            (0..D).for_each(|i| z[i] += epsilon[i] * v[i] / log_mass[i].exp());
            kick(&z, &mut v);
        }
        (z, v)
    }

    /// Backwards in time: forwards with the momentum negated.
    fn rev_hd(&self, (z, v): &State) -> State {
        let (z, v) = self.hd(&(z.clone(), negated(v)));
        (z, negated(&v))
    }

    /// `eq:AcceptanceProbability` as `ΔH`: `p_accept(s*) = min(1, exp(-ΔH))`.
    fn energy_error(&self, start: &State) -> f64 {
        self.energy(&self.hd(start)) - self.energy(start)
    }

    /// `log P(A = a | s_t, t, x)` (`app:DerivationOfReverseAcceptanceProbability`).
    fn log_reverse_acceptance(&self, state: &State, time: usize, accepted: bool) -> f64 {
        let difference = self.energy(state) - self.energy(&self.rev_hd(state));
        let certain = difference >= 0.0;
        let mut probability = difference.exp().min(1.0);
        if self.settings.acceptance == Acceptance::Network && !certain {
            let input = [self.x, &state.0, &state.1, &[time as f64]].concat();
            let correction = network(self.store, "acceptance", self.activation, &input)[0].tanh();
            probability = (probability + correction).clamp(DELTA, 1.0 - DELTA);
        }
        if accepted { probability.ln() } else { (1.0 - probability).ln() }
    }

    /// The bound (`eq:HMCVIAuxLowerBound`), part by part.
    pub(crate) fn bound(&self) -> Terms {
        let encoded = network(self.store, "encoder", Activation::Tanh, self.x);
        let (mean, log_variance) = encoded.split_at(D);
        let noise = self.normal(16);
        let z0: Vec<f64> = (0..D).map(|i| mean[i] + (0.5 * log_variance[i]).exp() * noise[i]).collect();
        let sampled = self.entropies == Entropies::Sampled;
        let initial_entropy =
            if sampled { -log_gaussian(&z0, mean, log_variance) } else { entropy(log_variance) };
        let steps = self.settings.hmc_steps;
        if steps == 0 {
            let values = [self.log_joint(&z0), initial_entropy, 0.0, 0.0, 0.0, 0.0];
            return Terms { values, accepted: Vec::new(), end: z0 };
        }
        let (partial, log_mass) = (self.settings.partial_momentum, self.log_mass());
        let learnt = if partial && steps > 1 { self.parameter("raw_alpha")[0].tanh() } else { 0.0 };
        let f_kin = |v: &[f64]| log_gaussian(v, &[0.0; D], &log_mass);
        let draw = |stream| -> Vec<f64> {
            self.normal(stream).iter().zip(&log_mass).map(|(n, l)| (0.5 * l).exp() * n).collect()
        };
        // With α = 0 the paper takes r_V(v_0 | …) = f_kin(v_0), which cancels -log f_kin(v_0). With any other
        // r_V(v_0 | …) = N(αu_0, (1 - α²)M), which is exact, does the same, and -log f_kin(u_0) is left.
        let v0 = draw(17);
        let mut momentum_entropy = 0.0;
        let (mut reverse_momentum, mut acceptance) = (0.0, 0.0);
        let mut decisions = Vec::new();
        let mut state = (z0, v0);
        for time in 1..=steps {
            let stream = 18 + 2 * (time as u16 - 1);
            let alpha = if time > 1 { learnt } else { 0.0 };
            let rest = (1.0 - alpha * alpha).sqrt();
            let v_samp = draw(stream);
            let u = (0..D).map(|i| alpha * state.1[i] + rest * v_samp[i]).collect();
            let start = (state.0.clone(), u);
            let p_accept = (-self.energy_error(&start)).exp().min(1.0);
            let accepted =
                self.settings.acceptance == Acceptance::None || self.uniform(stream + 1) < p_accept;
            let next = if accepted { self.hd(&start) } else { (start.0.clone(), negated(&start.1)) };

            // From here on only s_{t-1} = `state` and s_t = `next` are known, and which of the two
            // Dirac functions is not zero.
            let (z_star, u) = if accepted { self.rev_hd(&next) } else { (next.0.clone(), negated(&next.1)) };
            let gap = z_star.iter().zip(&state.0).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(gap < 1e-10, "the simulation backwards missed its start by {gap}");
            let v_samp: Vec<f64> = (0..D).map(|i| (u[i] - alpha * state.1[i]) / rest).collect();
            let log_f_kin = if sampled { f_kin(&v_samp) } else { -entropy(&log_mass) };
            let log_q_u = log_f_kin - D as f64 * rest.ln();
            momentum_entropy -= log_q_u;
            if time > 1 {
                let input = if partial { u.as_slice() } else { &[] };
                let (mean, log_variance) = self.momentum_model("reverse", &z_star, time, input);
                reverse_momentum += log_gaussian(&state.1, &mean, &log_variance);
            }
            if self.settings.acceptance != Acceptance::None {
                let error = self.energy_error(&(state.0.clone(), u));
                // log p_accept = min(0, -ΔH) and log(1 - p_accept) = log(1 - e^-ΔH) for ΔH > 0.
                let log_q_a = if accepted { (-error).min(0.0) } else { (-(-error).exp_m1()).ln() };
                acceptance += self.log_reverse_acceptance(&next, time, accepted) - log_q_a;
            }
            decisions.push(accepted);
            state = next;
        }
        let (name, time) = (if partial { "final" } else { "reverse" }, steps + 1);
        let (mean, log_variance) = self.momentum_model(name, &state.0, time, &[]);
        let final_momentum = log_gaussian(&state.1, &mean, &log_variance);
        let values = [
            self.log_joint(&state.0),
            initial_entropy,
            momentum_entropy,
            reverse_momentum,
            final_momentum,
            acceptance,
        ];
        Terms { values, accepted: decisions, end: state.0 }
    }
}
