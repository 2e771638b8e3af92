//! Compile a chain's bound into programs: one that trains, one that only looks.

use hmcvi_graph::{CompileError, Expr, Graph, Program};

use super::adam::{Adam, adam_updates, updates_so_far};
use super::sums::step_name;
use crate::vi::{Acceptance, Chain, ChainSettings, Step};

/// Energy error, in nats, at which a simulation is no longer a simulation. Good ones stay below 1; those in between are
/// few, but with derivatives large enough to spoil in a few updates what took many epochs.
const UNSTABLE: f64 = 3.0;
/// The most that an unstable simulation teaches, in nats for an e-fold of `ε² / M`.
const LARGEST_PULL: f64 = 1000.0;

/// What training maximises: the mean bound, but for rows whose simulation went wrong.
pub struct Objective<'g> {
    graph: &'g Graph,
    parameters: Vec<(String, Expr<'g>)>,
    chain: Chain<'g>,
    settings: ChainSettings,
    /// Updates in which the step size stays what it is.
    hold: usize,
}

impl<'g> Objective<'g> {
    /// The bound of a chain as a function of some parameters.
    pub fn new(
        graph: &'g Graph,
        parameters: Vec<(String, Expr<'g>)>,
        chain: Chain<'g>,
        settings: ChainSettings,
    ) -> Self {
        Objective { graph, parameters, chain, settings, hold: 0 }
    }

    /// Lets training leave the step size as it is for the first updates.
    #[must_use]
    pub fn holding_step_size(self, updates: usize) -> Self {
        Objective { hold: updates, ..self }
    }

    /// The parameters that are learnt, with their names.
    pub fn parameters(&self) -> &[(String, Expr<'g>)] {
        &self.parameters
    }

    /// 1 for rows that have a bound.
    fn counts(&self) -> Expr<'g> {
        1.0 - self.chain.dropped
    }

    /// The bound of every row, 0 where it does not count.
    fn bound(&self) -> Expr<'g> {
        self.counts().select(self.chain.terms.total(), 0.0)
    }

    /// What training makes small, for every row: minus the bound. Where a simulation without acceptance step became
    /// unstable, the derivative of the bound grows exponentially with its length and points anywhere; a few such rows
    /// outweigh all others by many orders of magnitude. They teach smaller steps or larger masses, and for the rest what
    /// they would without HMC steps: an encoder that forgot them would make more and more simulations unstable.
    fn loss(&self) -> Expr<'g> {
        let bound = self.chain.terms.total();
        let (Acceptance::None, Some(step_size), Some(kinetic), Some(first)) =
            (self.settings.acceptance, self.chain.step_size, self.chain.kinetic, self.chain.steps.first())
        else {
            return -bound;
        };
        let mean = |x: Expr<'g>| x.sum_cols() * (1.0 / x.cols() as f64);
        let error = self.worst_energy_error();
        let (unstable, largest) = (self.graph.constant(UNSTABLE), self.graph.constant(LARGEST_PULL));
        // The error of a leapfrog path grows with the square of its step: so does what it teaches.
        let pull = error.less(largest).select(error, LARGEST_PULL).stop_gradient();
        let shorter = (mean(step_size.log()) * 2.0 - mean(kinetic.log_mass)) * pull;
        let without_steps = first.before.log_density + self.chain.terms.initial_entropy;
        error.less(unstable).select(-bound, shorter - without_steps)
    }

    /// The largest energy error of each row's simulations: infinite where one diverged or is not a number.
    fn worst_energy_error(&self) -> Expr<'g> {
        let zero = self.graph.constant(0.0);
        let error = |step: &Step<'g>| {
            let error = step.info.energy_error.abs();
            error.is_finite().select(error, f64::INFINITY)
        };
        self.chain.steps.iter().fold(zero, |worst, step| worst.max(error(step)))
    }

    /// Values that describe a batch, summed over its rows. `bound` and its terms are to be divided by `count`, the rows that
    /// have one; `dropped` is the number of the others, and `no_density` that of rows whose first draw has no density.
    fn sums(&self) -> Vec<(&'static str, Expr<'g>)> {
        let row = hmcvi_graph::Shape::batch(1);
        let sum = |x: Expr<'g>| x.broadcast_to(row).sum_rows();
        let counts = self.counts();
        let mut sums = vec![
            ("count", sum(counts)),
            ("bound", sum(self.bound())),
            ("dropped", sum(self.chain.dropped)),
            ("no_density", sum(self.chain.no_density)),
        ];
        // Without a chain only the first two terms are there, without acceptance all but the last.
        let terms = match (self.chain.steps.is_empty(), self.settings.acceptance) {
            (true, _) => 2,
            (false, Acceptance::None) => 5,
            (false, _) => 6,
        };
        for (name, term) in self.chain.terms.named().into_iter().take(terms) {
            sums.push((name, sum(counts.select(term, 0.0))));
        }
        if !self.chain.steps.is_empty() {
            sums.push(("diverging", sum(self.chain.diverging)));
        }
        if self.settings.acceptance != Acceptance::None {
            let steps = &self.chain.steps;
            let all = steps.iter().map(|s| s.info.accepted).reduce(|a, b| a + b);
            let rate = all.map(|a| a * (1.0 / steps.len() as f64));
            sums.extend(rate.map(|a| ("accepted", sum(a))));
        }
        if let Some(step_size) = self.chain.step_size {
            let mean = step_size.sum_cols() * (1.0 / step_size.cols() as f64);
            sums.push(("step_size", sum(mean)));
        }
        sums.extend(self.chain.alpha.map(|alpha| ("alpha", sum(alpha))));
        sums
    }

    /// One step of training. Inputs: `learning_rate`. A gradient that is not finite changes nothing and sets the output
    /// `skipped`.
    pub fn training_program(&self, adam: &Adam) -> Result<Program, CompileError> {
        let loss = self.loss().sum_rows() / self.graph.batch_size();
        let wrt: Vec<Expr<'g>> = self.parameters.iter().map(|(_, p)| *p).collect();
        let gradients = self.graph.grad(loss, &wrt);
        let squares = gradients.iter().map(|g| g.square().sum()).reduce(|a, b| a + b);
        let square = squares.unwrap_or_else(|| self.graph.constant(0.0));
        let (proceed, norm) = (square.is_finite(), square.sqrt());
        let limit = adam.max_grad_norm;
        let gradients: Vec<Expr<'g>> = match limit > 0.0 {
            true => gradients.into_iter().map(|g| g * (limit / norm.max(limit))).collect(),
            false => gradients,
        };
        let rate = self.graph.scalar_input("learning_rate");
        let held = || updates_so_far(self.graph).less(self.graph.constant(self.hold as f64));
        let rate = |name: &str| match name {
            "log_step_size" if self.hold > 0 => held().select(0.0, rate),
            _ => rate,
        };
        let mut program = self.graph.program();
        program = program.output("skipped", 1.0 - proceed).output("gradient_norm", proceed.select(norm, 0.0));
        for (name, sum) in self.sums() {
            program = program.output(name, sum);
        }
        for (old, new) in adam_updates(self.graph, adam, &self.parameters, &gradients, rate, proceed) {
            program = program.update(old, new);
        }
        program.compile()
    }

    /// How the simulations went, summed over the rows of a batch: what an update does not need, and a look at
    /// validation images can afford.
    fn details(&self) -> Vec<(String, Expr<'g>)> {
        let sum = |x: Expr<'g>| x.broadcast_to(hmcvi_graph::Shape::batch(1)).sum_rows();
        let steps = &self.chain.steps;
        let mut sums = Vec::new();
        if self.settings.acceptance != Acceptance::None {
            let accepted = |(t, step): (usize, &Step<'g>)| (step_name(t + 1), sum(step.info.accepted));
            sums.extend(steps.iter().enumerate().map(accepted));
        }
        // Energies of diverged simulations are not numbers; the others are counted.
        let error = steps.iter().map(|s| s.info.diverging.select(0.0, s.info.energy_error.abs()));
        sums.extend(error.reduce(|a, b| a + b).map(|e| ("energy_error".into(), sum(e))));
        let simulated = steps.iter().map(|s| 1.0 - s.info.diverging).reduce(|a, b| a + b);
        sums.extend(simulated.map(|s| ("simulated".into(), sum(s))));
        if let Some(kinetic) = self.chain.kinetic {
            let log_mass = kinetic.log_mass;
            sums.push(("log_mass".into(), sum(log_mass.sum_cols() * (1.0 / log_mass.cols() as f64))));
        }
        sums
    }

    /// The same values without training, and how the simulations went, of parameters whose names have this before them.
    pub fn evaluation_program(&self, prefix: &str) -> Result<Program, CompileError> {
        let mut program = self.graph.program().parameters_from(prefix);
        for (name, sum) in self.sums() {
            program = program.output(name, sum);
        }
        for (name, sum) in self.details() {
            program = program.output(&name, sum);
        }
        program.compile()
    }

    /// What a first look at a chain needs: the largest energy error of each row's simulations, `[N, 1]`, infinite where one
    /// diverged; log variances of the initial Gaussian and log masses, `[N, d]`.
    pub fn first_look_program(&self) -> Result<Program, CompileError> {
        let every_row = |x: Expr<'g>| x.broadcast_to(hmcvi_graph::Shape::batch(x.cols()));
        let mut program = self.graph.program();
        program = program.output("energy_error", every_row(self.worst_energy_error()));
        program = program.output("log_variance", every_row(self.chain.initial.log_variance));
        if let Some(kinetic) = self.chain.kinetic {
            program = program.output("log_mass", every_row(kinetic.log_mass));
        }
        program.compile()
    }
}
