//! Let a chain begin with the standard Gaussian: a map that is learnt takes it to the variables of the model.
//!
//! Where `z = m + Lε` with `ε` standard normal, the map is a Gaussian approximation, and a chain that moves `ε` has the
//! mass matrix `(LLᵀ)⁻¹`. So any Gaussian can stand before the chain, and what the chain knows is one geometry.

use std::rc::Rc;

use hmcvi_graph::{CpuOptions, Expr, Graph, Run, Store};
use serde::{Deserialize, Serialize};

use super::bend::bend;
use super::matching::MOST_DIMENSIONS;
use super::normal::FullGaussian;
use crate::bayes::Bound;
use crate::nn::{Initial, Parameters};
use crate::potential::Potential;

/// The covariance of the Gaussian that an approximation begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Covariance {
    /// Any in up to 300 dimensions; beyond, variances and so many directions: there are too many covariances to learn.
    Auto(usize),
    /// Variances only.
    MeanField,
    /// Variances, and some directions in which it is wider or narrower.
    LowRank(usize),
    /// Any.
    FullRank,
}

impl Default for Covariance {
    fn default() -> Self {
        Covariance::Auto(5)
    }
}

impl Covariance {
    /// The covariance that is meant in so many dimensions.
    #[must_use]
    pub fn in_dimensions(self, dimension: usize) -> Self {
        match self {
            Covariance::Auto(_) if dimension <= MOST_DIMENSIONS => Covariance::FullRank,
            Covariance::Auto(rank) => Covariance::LowRank(rank),
            given => given,
        }
    }
}

/// The map, in coordinates in which the first guess is the standard Gaussian.
#[derive(Clone, Debug)]
pub(super) struct Map {
    pub(super) covariance: Covariance,
    pub(super) first: FullGaussian,
    /// Whether coordinates are bent before anything else.
    pub(super) bent: bool,
}

impl Map {
    /// A map that begins with a Gaussian, or with what its covariance allows of it.
    pub(super) fn new(covariance: Covariance, first: FullGaussian) -> Self {
        let covariance = covariance.in_dimensions(first.dimension());
        let first = if covariance == Covariance::FullRank { first } else { first.diagonal() };
        Map { covariance, first, bent: false }
    }

    /// The same map with coordinates that are bent first.
    pub(super) fn bent(self) -> Self {
        Map { bent: true, ..self }
    }

    /// Variables for standard normal coordinates, and `log |det|`, `[1, 1]` or `[N, 1]`.
    pub(super) fn apply<'g>(&self, parameters: &Parameters<'g>, e: Expr<'g>) -> (Expr<'g>, Expr<'g>) {
        if !self.bent {
            return self.affine(parameters, e);
        }
        let (bent, log_bend) = bend(parameters, e);
        let (z, log_determinant) = self.affine(parameters, bent);
        (z, log_determinant + log_bend)
    }

    fn affine<'g>(&self, parameters: &Parameters<'g>, e: Expr<'g>) -> (Expr<'g>, Expr<'g>) {
        let (graph, d) = (parameters.graph(), self.first.dimension());
        let mean = parameters.get("map.mean", 1, d, Initial::Constant(0.0));
        let log_scale = parameters.get("map.log_scale", 1, d, Initial::Constant(0.0));
        let (stretched, log_stretch) = match self.covariance {
            Covariance::LowRank(rank) => stretch(parameters, e, rank),
            _ => (e, graph.constant(0.0)),
        };
        let scale = log_scale.exp();
        let offset = graph.constant_matrix(1, d, &self.first.mean);
        let z = match self.covariance {
            Covariance::FullRank if d > 1 => {
                let mask = |of: fn(usize, usize) -> bool| -> Vec<f64> {
                    (0..d * d).map(|k| f64::from(u8::from(of(k / d, k % d)))).collect()
                };
                let below = graph.constant_matrix(d, d, &mask(|i, j| j < i));
                let diagonal = graph.constant_matrix(d, d, &mask(|i, j| i == j));
                let lower = parameters.get("map.lower", d, d, Initial::Constant(0.0));
                // Both factors are multiplied once for all rows.
                let first = graph.constant_matrix(d, d, &self.first.factor);
                let factor = first.matmul(lower * below + scale * diagonal);
                offset + mean.matmul_transposed(first) + e.matmul_transposed(factor)
            }
            _ => {
                let scales: Vec<f64> = (0..d).map(|i| self.first.factor[i * d + i]).collect();
                offset + (mean + stretched * scale) * graph.constant_matrix(1, d, &scales)
            }
        };
        (z, log_scale.sum_cols() + log_stretch + self.first.log_determinant())
    }

    /// The potential of the coordinates.
    pub(super) fn potential<'g>(&self, parameters: &Rc<Parameters<'g>>, bound: &Bound) -> Potential<'g> {
        let (map, parameters, bound) = (self.clone(), parameters.clone(), bound.clone());
        Potential::from_expression(self.first.dimension(), move |e| {
            let (z, log_determinant) = map.apply(&parameters, e);
            bound.at(z).log_density() + log_determinant
        })
    }
}

/// Coordinates made longer by a factor along each of some directions, one after the other.
fn stretch<'g>(parameters: &Parameters<'g>, e: Expr<'g>, rank: usize) -> (Expr<'g>, Expr<'g>) {
    let (mut e, mut log_stretch) = (e, parameters.graph().constant(0.0));
    for direction in 0..rank {
        let name = |part: &str| format!("map.{part}.{direction}");
        let along = parameters.get(&name("direction"), 1, e.cols(), Initial::Normal { variance: 1.0 });
        let factor = parameters.get(&name("log_stretch"), 1, 1, Initial::Constant(0.0));
        let unit = along / along.square().sum_cols().sqrt();
        e = e + e.matmul_transposed(unit) * (factor.exp() - 1.0) * unit;
        log_stretch = log_stretch + factor;
    }
    (e, log_stretch)
}

impl Map {
    /// The Gaussian that the map is before it is bent, as numbers.
    pub(super) fn numbers(&self, store: &Store<f64>) -> FullGaussian {
        let d = self.first.dimension();
        let graph = Graph::new();
        let parameters = Parameters::new(&graph);
        let (z, _) = self.affine(&parameters, graph.batch_input("e", d));
        let Ok(program) = graph.program().output("z", z).compile() else {
            unreachable!("a map of its own parameters is a program")
        };
        let mut executable = program.on_cpu::<f64>(CpuOptions::for_rows(d + 1));
        // The origin, and one step along every axis: the mean, and the columns of the factor.
        let places: Vec<f64> = (0..(d + 1) * d).map(|k| f64::from(u8::from(k / d == k % d + 1))).collect();
        let run = Run { rows: d + 1, inputs: &[("e", &places)], ..Run::default() };
        executable.evaluate(store, &run).expect("the store has the map's parameters");
        let seen = executable.output("z").unwrap_or_default();
        let mean = seen[..d].to_vec();
        let column = |i: usize, j: usize| seen[(j + 1) * d + i] - mean[i];
        let mut covariance = vec![0.0; d * d];
        for i in 0..d {
            for k in 0..d {
                covariance[i * d + k] = (0..d).map(|j| column(i, j) * column(k, j)).sum();
            }
        }
        let factor = crate::linalg::cholesky(&covariance, d);
        FullGaussian { mean, factor }
    }
}
