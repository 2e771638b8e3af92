//! A draw from a posterior approximation, with all that training and evaluation ask of it.

use std::borrow::Cow;

use hmcvi_graph::{Expr, Shape};

use super::{Entropies, Target, Variable};
use crate::dist::Gaussian;

/// An auxiliary variable of a draw, which a reverse model has to guess.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'g> {
    /// The variable; in a chain `v_t`, a momentum at the end of a simulation.
    pub v: Expr<'g>,
    /// What the model sees beside `x` and `t`: `z_t`, and with partial updates the momentum `u_t` that follows.
    pub seen: Expr<'g>,
    /// Its log density, `[N, 1]`.
    pub log_prob: Expr<'g>,
}

/// What becomes of a sum over rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reported {
    /// Its mean over rows, under this name.
    Mean(Cow<'static, str>),
    /// The exponential of its mean over rows, under this name.
    ExpMean(&'static str),
    /// Its share of another sum, under its own name.
    Per(&'static str),
    /// Nothing of its own.
    No,
}

/// A number of every row that tells how draws went.
#[derive(Clone, Debug)]
pub struct Measure<'g> {
    /// Name of its sum over rows.
    pub sum: Cow<'static, str>,
    /// The number, `[N, 1]` or the same for all rows.
    pub value: Expr<'g>,
    /// What becomes of the sum.
    pub reported: Reported,
}

impl<'g> Measure<'g> {
    /// A number whose mean is reported.
    pub fn mean(
        sum: impl Into<Cow<'static, str>>,
        value: Expr<'g>,
        name: impl Into<Cow<'static, str>>,
    ) -> Self {
        Measure { sum: sum.into(), value, reported: Reported::Mean(name.into()) }
    }
}

/// A draw for every row, with its bound. Only what is used of it is computed.
#[derive(Clone, Debug)]
pub struct Draw<'g> {
    /// The Gaussian that it began with.
    pub gaussian: Gaussian<'g>,
    /// The draw from the Gaussian.
    pub start: Expr<'g>,
    /// The draw itself, `[N, d]`.
    pub z: Expr<'g>,
    /// The terms of the bound by name, `[N, 1]` or the same for all rows.
    pub terms: Vec<(&'static str, Expr<'g>)>,
    /// Their sum, `[N, 1]`.
    pub bound: Expr<'g>,
    /// What training makes small for every row, where it is not minus the bound.
    pub loss: Option<Expr<'g>>,
    /// 1 for rows whose loss is not minus the bound, where there are such rows.
    pub unstable: Option<Expr<'g>>,
    /// Log probability of decisions that the bound takes as given, where its derivative is to see them.
    pub log_decisions: Option<Expr<'g>>,
    /// What was drawn, where draws are held.
    pub variables: Vec<Variable<'g>>,
    /// Positions on the way from `start`, for pictures.
    pub path: Vec<Expr<'g>>,
    /// The auxiliary variables that are part of the bound.
    pub arrivals: Vec<Arrival<'g>>,
    /// 1 for rows in which a simulation diverged, where there are simulations.
    pub diverging: Option<Expr<'g>>,
    /// 1 for rows that have no bound.
    pub dropped: Expr<'g>,
    /// 1 for rows whose first draw has no density.
    pub no_density: Expr<'g>,
    /// What every update reports.
    pub measures: Vec<Measure<'g>>,
    /// What only a look at validation rows reports.
    pub details: Vec<Measure<'g>>,
    /// Parameters that may be held at their first values for some epochs.
    pub held: Vec<&'static str>,
    /// What [`Family::begin`](super::Family::begin) looks at, by name.
    pub look: Vec<(&'static str, Expr<'g>)>,
}

impl<'g> Draw<'g> {
    /// A draw from a Gaussian.
    pub fn of_gaussian(gaussian: Gaussian<'g>, target: &Target<'_, 'g>, entropies: Entropies) -> Self {
        let graph = target.parameters.graph();
        let d = target.potential.dimension();
        let noise = graph.normal(graph.new_streams(1).start, d);
        let mut variables = Vec::new();
        let z = entropies.take(gaussian.sample(noise).broadcast_to(Shape::batch(d)), &mut variables);
        let (log_joint, entropy) = (target.potential.log_density(z), entropies.of(&gaussian, z));
        let terms = vec![("log_joint", log_joint), ("initial_entropy", entropy)];
        let bound = (log_joint + entropy).broadcast_to(Shape::batch(1));
        Draw {
            gaussian,
            start: z,
            z,
            terms,
            bound,
            loss: None,
            unstable: None,
            log_decisions: None,
            variables,
            path: Vec::new(),
            arrivals: Vec::new(),
            diverging: None,
            dropped: 1.0 - bound.is_finite(),
            no_density: 1.0 - log_joint.is_finite(),
            measures: Vec::new(),
            details: Vec::new(),
            held: Vec::new(),
            look: Vec::new(),
        }
    }

    /// 1 for rows that have a bound.
    pub fn counts(&self) -> Expr<'g> {
        1.0 - self.dropped
    }
}
