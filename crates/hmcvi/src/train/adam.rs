//! Update parameters by Adam (Kingma and Ba, 2015), written as expressions.

use hmcvi_graph::{Expr, Graph, Real, Rows, Store};

use crate::config::Adam;

/// A parameter and its new value.
pub type Update<'g> = (Expr<'g>, Expr<'g>);

const COUNT: &str = "adam.count";

fn state_name(kind: &str, name: &str) -> String {
    format!("adam.{kind}.{name}")
}

/// Whether a tensor of a training is Adam's.
pub(crate) fn is_adam_state(name: &str) -> bool {
    name.starts_with("adam.")
}

fn rows(x: Expr<'_>) -> usize {
    match x.shape().rows {
        Rows::Fixed(n) => n,
        Rows::Batch => unreachable!("parameters have fixed rows"),
    }
}

/// How many updates there have been: a parameter of its own.
pub(super) fn updates_so_far(graph: &Graph) -> Expr<'_> {
    graph.parameter(COUNT, 1, 1)
}

/// New values of all parameters and of the optimiser's state, for gradients of a loss and a learning rate of each
/// parameter. Nothing changes where `proceed` is 0. The number of updates so far is the parameter `adam.count`.
pub fn adam_updates<'g>(
    graph: &'g Graph,
    settings: &Adam,
    parameters: &[(String, Expr<'g>)],
    gradients: &[Expr<'g>],
    rate: impl Fn(&str) -> Expr<'g>,
    proceed: Expr<'g>,
) -> Vec<Update<'g>> {
    let Adam { beta1, beta2, epsilon, .. } = *settings;
    let count = updates_so_far(graph);
    let next_count = count + proceed;
    // Bias corrections 1 - βᵗ; at least one update lies behind whoever divides by them.
    let correction = |beta: f64| 1.0 - (next_count.max(1.0) * beta.ln()).exp();
    let (first, second) = (correction(beta1), correction(beta2).sqrt());
    let scale = second / first;
    let mut updates = vec![(count, next_count)];
    for ((name, p), &g) in parameters.iter().zip(gradients) {
        let state = |kind| graph.parameter(&state_name(kind, name), rows(*p), p.cols());
        let (m, v) = (state("m"), state("v"));
        let new_m = m * beta1 + g * (1.0 - beta1);
        let new_v = v * beta2 + g.square() * (1.0 - beta2);
        let new_p = *p - rate(name) * scale * new_m / (new_v.sqrt() + second * epsilon);
        for (old, new) in [(m, new_m), (v, new_v), (*p, new_p)] {
            updates.push((old, proceed.select(new, old)));
        }
    }
    updates
}

/// Adds the optimiser's state, all zero, for parameters that have none yet.
pub fn add_adam_state<T: Real>(store: &mut Store<T>, parameters: &[(String, Expr<'_>)]) {
    let mut add = |name: &str, rows: usize, cols: usize| {
        if store.get(name).is_none() {
            let zeros = vec![T::default(); rows * cols];
            store.insert(name, rows, cols, zeros).expect("there are rows · cols zeros");
        }
    };
    add(COUNT, 1, 1);
    for (name, p) in parameters {
        for kind in ["m", "v"] {
            add(&state_name(kind, name), rows(*p), p.cols());
        }
    }
}
