//! Build chains on linear-Gaussian models, whose evidence is known exactly.

use hmcvi::dist::Gaussian;
use hmcvi::family::{Chain, ChainSettings, Entropies, Inference, Mass, StepSize};
use hmcvi::nn::{Activation, Parameters};
use hmcvi::potential::LinearGaussian;
use hmcvi_graph::{Expr, Graph, Store};

use super::normals;

pub(crate) const LATENT: usize = 3;
pub(crate) const OBSERVED: usize = 4;

const OFFSET: [f64; OBSERVED] = [0.1, -0.2, 0.3, 0.0];
const NOISE: f64 = 0.7;

/// Orthogonal rows of weights, of lengths 0.8, 1.5 and 0.4: the posterior's covariance is diagonal.
pub(crate) fn diagonal() -> LinearGaussian {
    let (a, b, c) = (0.4, 0.75, 0.2);
    #[rustfmt::skip]
    let weights = [
        a,  a,  a,  a,
        b, -b,  b, -b,
        c,  c, -c, -c,
    ];
    LinearGaussian::new(LATENT, &weights, &OFFSET, NOISE)
}

/// Weights that make the latent variables correlated in the posterior.
pub(crate) fn correlated() -> LinearGaussian {
    #[rustfmt::skip]
    let weights = [
        0.6,  0.3, -0.2,  0.5,
        0.2, -0.7,  0.4,  0.3,
        0.3,  0.5,  0.6, -0.1,
    ];
    LinearGaussian::new(LATENT, &weights, &OFFSET, NOISE)
}

/// Observations drawn from the model.
pub(crate) fn observations(model: &LinearGaussian, seed: u64, rows: usize) -> Vec<f64> {
    let each = LATENT + OBSERVED;
    normals(seed, rows * each).chunks(each).flat_map(|n| model.simulate(&n[..LATENT], &n[LATENT..])).collect()
}

/// The inputs of a chain: observations and the initial Gaussian.
pub(crate) struct Inputs<'g> {
    pub(crate) x: Expr<'g>,
    mean: Expr<'g>,
    log_variance: Expr<'g>,
}

impl<'g> Inputs<'g> {
    /// Inputs called `x`, `mean` and `log_variance`.
    pub(crate) fn new(graph: &'g Graph) -> Self {
        Inputs {
            x: graph.batch_input("x", OBSERVED),
            mean: graph.batch_input("mean", LATENT),
            log_variance: graph.batch_input("log_variance", LATENT),
        }
    }
}

/// A chain from the given initial Gaussian. Without hidden layers all networks are linear.
pub(crate) fn chain<'g>(
    parameters: &Parameters<'g>,
    model: &LinearGaussian,
    inputs: &Inputs<'g>,
    settings: ChainSettings,
    entropies: Entropies,
    hidden: &[usize],
) -> Chain<'g> {
    let potential = model.potential(parameters.graph(), inputs.x);
    let inference = Inference {
        parameters,
        settings,
        potential: &potential,
        initial: Gaussian { mean: inputs.mean, log_variance: inputs.log_variance },
        context: inputs.x,
        hidden,
        activation: Activation::Tanh,
        entropies,
    };
    inference.run()
}

/// Parameters of linear models, by name and place.
pub(crate) struct Linear<'a> {
    pub(crate) store: &'a mut Store<f64>,
}

impl Linear<'_> {
    /// Sets `weight[row, col]` of a linear network.
    pub(crate) fn weight(&mut self, name: &str, row: usize, col: usize, value: f64) {
        self.set(&format!("{name}.0.weight"), row, col, value);
    }

    /// Sets `bias[col]` of a linear network.
    pub(crate) fn bias(&mut self, name: &str, col: usize, value: f64) {
        self.set(&format!("{name}.0.bias"), 0, col, value);
    }

    pub(crate) fn set(&mut self, name: &str, row: usize, col: usize, value: f64) {
        let tensor = self.store.get_mut(name).unwrap_or_else(|| panic!("no parameter `{name}`"));
        assert!(row < tensor.rows && col < tensor.cols, "`{name}` has no place {row}, {col}");
        tensor.values[row * tensor.cols + col] = value;
    }
}

/// A chain whose mass and step size are known for every observation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dynamics {
    pub(crate) settings: ChainSettings,
    /// `ε` where it is the same for all.
    pub(crate) step_size: f64,
    /// `α`
    pub(crate) alpha: f64,
}

/// Log masses `b + xW`; `W` counts where a network gives them.
const LOG_MASS: [f64; LATENT] = [0.3, -0.2, 0.5];
const LOG_MASS_WEIGHTS: [[f64; LATENT]; OBSERVED] =
    [[0.1, -0.05, 0.02], [-0.08, 0.03, 0.06], [0.04, 0.07, -0.1], [0.0, -0.06, 0.05]];
/// Relative step sizes of the dimensions, and a network's weights for their logarithm.
const STEP_SIZES: [f64; LATENT] = [1.0, 0.8, 1.1];
const LOG_STEP_WEIGHTS: [f64; OBSERVED] = [0.05, -0.03, 0.04, 0.02];

impl Dynamics {
    /// `log M` for an observation.
    pub(crate) fn log_mass(&self, x: &[f64]) -> [f64; LATENT] {
        std::array::from_fn(|i| match self.settings.mass {
            Mass::Identity => 0.0,
            Mass::Global => LOG_MASS[i],
            Mass::Network => LOG_MASS[i] + (0..OBSERVED).map(|j| x[j] * LOG_MASS_WEIGHTS[j][i]).sum::<f64>(),
        })
    }

    /// `ε` for an observation.
    pub(crate) fn step_sizes(&self, x: &[f64]) -> [f64; LATENT] {
        let network = || (0..OBSERVED).map(|j| x[j] * LOG_STEP_WEIGHTS[j]).sum::<f64>().exp();
        match self.settings.step_size {
            StepSize::Global => [self.step_size; LATENT],
            StepSize::PerDimension => STEP_SIZES.map(|s| s * self.step_size),
            StepSize::Network => [self.step_size * network(); LATENT],
        }
    }

    /// All parameters: the mass and the step size above, no correction of the acceptance
    /// probability, and the reverse model of a chain whose momenta keep the distribution `N(0, M)`
    /// independently of the position:
    ///
    /// `r_V(v | u) = N(αu, (1 - α²)M)`, as `v` and `u` are then Gaussian with covariance `αM`, and
    /// `r_final(v) = N(0, M)`.
    pub(crate) fn stationary_parameters(&self, parameters: &Parameters<'_>) -> Store<f64> {
        let mut store = parameters.initial_values(1);
        for (name, _) in parameters.all() {
            store.get_mut(&name).expect("all parameters have first values").values.fill(0.0);
        }
        let mut linear = Linear { store: &mut store };
        match self.settings.step_size {
            StepSize::PerDimension => {
                (0..LATENT)
                    .for_each(|i| linear.set("log_step_size", 0, i, (STEP_SIZES[i] * self.step_size).ln()));
            }
            _ => linear.set("log_step_size", 0, 0, self.step_size.ln()),
        }
        if self.settings.step_size == StepSize::Network {
            (0..OBSERVED).for_each(|j| linear.weight("step_size", j, 0, LOG_STEP_WEIGHTS[j]));
        }
        let (partial, several) = (self.settings.partial_momentum, self.settings.hmc_steps > 1);
        if partial && several {
            linear.set("raw_alpha", 0, 0, self.alpha.atanh());
        }
        for i in 0..LATENT {
            match self.settings.mass {
                Mass::Identity => {}
                Mass::Global => linear.set("log_mass", 0, i, LOG_MASS[i]),
                Mass::Network => {
                    linear.bias("mass", i, LOG_MASS[i]);
                    (0..OBSERVED).for_each(|j| linear.weight("mass", j, i, LOG_MASS_WEIGHTS[j][i]));
                }
            }
            let constant = self.log_mass(&[0.0; OBSERVED])[i];
            // The first momentum has none before it, so one step has no reverse model beside the final one.
            let models: &[(&str, f64)] = match (partial, several) {
                (true, true) => &[("reverse", (1.0 - self.alpha * self.alpha).ln()), ("final", 0.0)],
                (true, false) => &[("final", 0.0)],
                (false, _) => &[("reverse", 0.0)],
            };
            for (name, factor) in models {
                linear.bias(name, LATENT + i, constant + factor);
                if self.settings.mass == Mass::Network {
                    (0..OBSERVED).for_each(|j| linear.weight(name, j, LATENT + i, LOG_MASS_WEIGHTS[j][i]));
                }
            }
            if partial && several {
                // Inputs are x, z, t, u.
                linear.weight("reverse", OBSERVED + LATENT + 1 + i, i, self.alpha);
            }
        }
        store
    }
}
