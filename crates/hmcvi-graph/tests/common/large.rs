//! Large programs: likelihoods that are written out term by term, one leapfrog step on them and its derivative.

use hmcvi_graph::{Expr, Graph, ProgramBuilder};

/// What a program is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A moving average of errors, one after the other.
    Arma,
    /// Variances that follow each other.
    Garch,
    /// Values of a state that are columns of one row.
    States,
    /// Terms that share their parameters only.
    Terms,
}

/// Names, and about how many expressions each step of time or term becomes.
pub const KINDS: [(&str, Kind, usize); 4] = [
    ("ARMA(1, 1)", Kind::Arma, 36),
    ("GARCH(1, 1)", Kind::Garch, 70),
    ("states", Kind::States, 46),
    ("terms", Kind::Terms, 55),
];

/// The gradient of a density where one leapfrog step ends: second derivatives, as training has them.
pub fn program(graph: &Graph, kind: Kind, steps: usize) -> ProgramBuilder<'_> {
    let size = if kind == Kind::States { steps } else { 4 };
    let mean = graph.parameter("mean", 1, size);
    let z = mean + graph.normal(0, size);
    let moved = z + 0.1 * graph.row_grad(density(kind, z, steps), z);
    let loss = -density(kind, moved, steps).mean_rows();
    let gradient = graph.grad(loss, &[mean])[0];
    graph.program().output("loss", loss).update(mean, mean - 0.01 * gradient)
}

fn density(kind: Kind, z: Expr<'_>, steps: usize) -> Expr<'_> {
    let data = |t: usize| (t as f64 * 0.7).sin();
    let mut density = -0.5 * z.square().sum_cols();
    if kind == Kind::States {
        for t in 1..steps {
            let error = z.slice_cols(t, 1) - (z.slice_cols(t - 1, 1) * 0.9).tanh();
            density = density - 0.5 * error.square();
        }
        return density;
    }
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| z.slice_cols(i, 1));
    let (mut error, mut variance) = (a, d.exp());
    for t in 1..steps {
        match kind {
            Kind::Arma => {
                error = data(t) - (a + b * data(t - 1) + c * error);
                density = density - 0.5 * error.square();
            }
            Kind::Garch => {
                variance = d.exp() + b.sigmoid() * (data(t - 1) - a).square() + c.sigmoid() * variance;
                density = density - 0.5 * (variance.log() + (data(t) - a).square() / variance);
            }
            Kind::Terms | Kind::States => {
                let rate = a + b * data(t) + c * (d * data(2 * t)).sin();
                density = density + data(3 * t) * rate - rate.exp();
            }
        }
    }
    density
}
