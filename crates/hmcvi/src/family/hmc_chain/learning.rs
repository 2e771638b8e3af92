//! What training asks of a chain: the loss of every row, numbers that tell how it goes, and what a first look needs.

use hmcvi_graph::{Expr, Shape};

use super::begin::LOG_STEP_SIZE;
use super::{Acceptance, Chain};
use crate::family::{Draw, Measure, Reported};

/// Energy error, in nats, at which a simulation is no longer a simulation. Good ones stay below 1; those in between are
/// few, but with derivatives large enough to spoil in a few updates what took many epochs.
const UNSTABLE: f64 = 3.0;
/// The most that an unstable simulation teaches, in nats for an e-fold of `ε² / M`.
const LARGEST_PULL: f64 = 1000.0;

impl<'g> From<Chain<'g>> for Draw<'g> {
    fn from(chain: Chain<'g>) -> Self {
        let has_steps = chain.happened.is_some();
        Draw {
            terms: chain.named_terms(),
            bound: chain.terms.total(),
            loss: chain.loss(),
            unstable: chain.unstable(),
            log_decisions: chain.log_decisions,
            variables: chain.variables.clone(),
            path: chain.happened.as_ref().map_or_else(Vec::new, |happened| happened.path.clone()),
            diverging: has_steps.then_some(chain.diverging),
            measures: chain.measures(),
            details: chain.details(),
            held: vec![LOG_STEP_SIZE],
            look: if has_steps { chain.look() } else { Vec::new() },
            gaussian: chain.initial,
            start: chain.start,
            z: chain.end,
            dropped: chain.dropped,
            no_density: 1.0 - chain.start_density.is_finite(),
            arrivals: chain.arrivals,
        }
    }
}

fn mean_of_columns(x: Expr<'_>) -> Expr<'_> {
    x.sum_cols() * (1.0 / x.cols() as f64)
}

impl<'g> Chain<'g> {
    fn accepts(&self) -> bool {
        self.settings.acceptance != Acceptance::None
    }

    /// The terms that there are: without steps the first two, without an acceptance step all but the last.
    fn named_terms(&self) -> Vec<(&'static str, Expr<'g>)> {
        let count = match (self.happened.is_none(), self.settings.acceptance) {
            (true, _) => 2,
            (false, Acceptance::None) => 5,
            (false, _) => 6,
        };
        self.terms.named().into_iter().take(count).collect()
    }

    /// Where a simulation without acceptance step became unstable, the derivative of the bound grows exponentially with
    /// its length and points anywhere; a few such rows outweigh all others by many orders of magnitude. They teach smaller
    /// steps or larger masses, and for the rest what they would without HMC steps: an encoder that forgot them would make
    /// more and more simulations unstable.
    fn loss(&self) -> Option<Expr<'g>> {
        let unstable = self.unstable()?;
        let (step_size, kinetic) = (self.step_size?, self.kinetic?);
        let bound = self.terms.total();
        let graph = bound.graph();
        let error = self.worst_energy_error();
        let largest = graph.constant(LARGEST_PULL);
        // The error of a leapfrog path grows with the square of its step: so does what it teaches.
        let pull = error.less(largest).select(error, LARGEST_PULL).stop_gradient();
        let shorter = (mean_of_columns(step_size.log()) * 2.0 - mean_of_columns(kinetic.log_mass)) * pull;
        let without_steps = self.start_density + self.terms.initial_entropy;
        Some(unstable.select(shorter - without_steps, -bound))
    }

    /// 1 for rows whose loss is not minus their bound. Where momenta are tempered, energies are not conserved.
    fn unstable(&self) -> Option<Expr<'g>> {
        let has_others = !self.accepts() && self.happened.is_some() && !self.settings.tempering;
        has_others.then(|| 1.0 - self.worst_energy_error().less(self.end.graph().constant(UNSTABLE)))
    }

    /// The largest energy error of each row's simulations: infinite where one diverged or is not a number.
    fn worst_energy_error(&self) -> Expr<'g> {
        let zero = || self.end.graph().constant(0.0);
        self.happened.as_ref().map_or_else(zero, |happened| happened.worst_energy_error)
    }

    fn measures(&self) -> Vec<Measure<'g>> {
        let mut measures = Vec::new();
        if let Some(happened) = self.happened.as_ref().filter(|_| self.accepts()) {
            let all = happened.accepted.iter().copied().reduce(|a, b| a + b);
            let rate = all.map(|a| a * (1.0 / happened.accepted.len() as f64));
            measures.extend(rate.map(|rate| Measure::mean("accepted", rate, "acceptance_rate")));
        }
        let step_size = self.step_size.map(mean_of_columns);
        measures.extend(step_size.map(|size| Measure::mean("step_size", size, "step_size")));
        measures.extend(self.alpha.map(|alpha| Measure::mean("alpha", alpha, "alpha")));
        measures
    }

    /// How the simulations went: what an update does not need, and a look at validation rows can afford.
    fn details(&self) -> Vec<Measure<'g>> {
        let mut details = Vec::new();
        let Some(happened) = &self.happened else { return details };
        if self.accepts() {
            let accepted = |(t, accepted): (usize, &Expr<'g>)| {
                let name = format!("acceptance_rate_{}", t + 1);
                Measure::mean(name.clone(), *accepted, name)
            };
            details.extend(happened.accepted.iter().enumerate().map(accepted));
        }
        let of = |sum: &'static str, value, reported| Measure { sum: sum.into(), value, reported };
        details.push(of("energy_error", happened.energy_errors, Reported::Per("simulated")));
        details.push(of("simulated", happened.simulated, Reported::No));
        if let Some(kinetic) = self.kinetic {
            let value = mean_of_columns(kinetic.log_mass);
            details.push(Measure { sum: "log_mass".into(), value, reported: Reported::ExpMean("mass") });
        }
        details
    }

    /// What a first look at a chain needs: the largest energy error of each row's simulations, `[N, 1]`, infinite where one
    /// diverged; log variances of the initial Gaussian and log masses, `[N, d]`.
    fn look(&self) -> Vec<(&'static str, Expr<'g>)> {
        let every_row = |x: Expr<'g>| x.broadcast_to(Shape::batch(x.cols()));
        let error = ("energy_error", every_row(self.worst_energy_error()));
        let mut look = vec![error, ("log_variance", every_row(self.initial.log_variance))];
        look.extend(self.kinetic.map(|kinetic| ("log_mass", every_row(kinetic.log_mass))));
        look
    }
}
