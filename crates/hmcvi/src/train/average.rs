//! Average parameters over the later epochs of a training (Polyak and Juditsky, 1992): at a learning rate that still
//! learns they swing around the place where they belong, and their mean is nearer to it, without waiting for a rate that
//! falls to nothing.
//!
//! The mean is one of all epochs, with weights that grow as a power of the epoch (Shamir and Zhang, 2013): at any time it
//! has forgotten the beginning, and it need not know when the training will end.

use hmcvi_graph::{CompileError, Expr, Graph, Program, Real, Rows, Store};

use super::adam::is_adam_state;

/// Before the name of a parameter, that of its average.
pub(super) const PREFIX: &str = "average.";

/// What the mean moves towards the parameters after an epoch (from 1): it then is about as old as that of the last
/// `share` of all epochs, none of which counts more than another.
pub(super) fn weight(share: f64, epoch: u64) -> f64 {
    let power = 2.0 / share - 2.0;
    (power + 1.0) / (epoch as f64 + power)
}

/// Moves all averages towards their parameters. Input: `weight`.
pub(super) fn averaging_program(
    graph: &Graph,
    parameters: &[(String, Expr<'_>)],
) -> Result<Program, CompileError> {
    let weight = graph.scalar_input("weight");
    let mut program = graph.program();
    for (name, p) in parameters {
        let Rows::Fixed(rows) = p.shape().rows else { unreachable!("parameters have fixed rows") };
        let value = |name: &str| graph.parameter(name, rows, p.cols());
        let (now, average) = (value(name), value(&format!("{PREFIX}{name}")));
        program = program.update(average, average + weight * (now - average));
    }
    program.compile()
}

/// Adds averages, where there are none yet, that are the parameters themselves.
pub(super) fn add_averages<T: Real>(store: &mut Store<T>, parameters: &[String]) {
    for name in parameters {
        let average = format!("{PREFIX}{name}");
        let (None, Some(tensor)) = (store.get(&average), store.get(name)) else { continue };
        let (rows, cols, values) = (tensor.rows, tensor.cols, tensor.values.clone());
        store.insert(&average, rows, cols, values).expect("the sizes are those of the parameter");
    }
}

/// What a training has learnt: [`averaged`] parameters, without the optimiser's state.
pub fn learnt<T: Real>(store: &Store<T>) -> Store<T> {
    let mut parameters = averaged(store);
    parameters.retain(|name| !is_adam_state(name));
    parameters
}

/// The parameters that a training stands for: their averages, where it has some, in their place.
pub fn averaged<T: Real>(store: &Store<T>) -> Store<T> {
    let mut result = Store::new();
    for (name, tensor) in store.iter().filter(|(name, _)| !name.starts_with(PREFIX)) {
        let tensor = store.get(&format!("{PREFIX}{name}")).unwrap_or(tensor);
        let (rows, cols, values) = (tensor.rows, tensor.cols, tensor.values.clone());
        result.insert(name, rows, cols, values).expect("the sizes are those of a tensor");
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The weights of single epochs in the mean after so many.
    fn weights(share: f64, epochs: u64) -> Vec<f64> {
        (1..=epochs).fold(Vec::new(), |mut weights: Vec<f64>, epoch| {
            let new = weight(share, epoch);
            weights.iter_mut().for_each(|w| *w *= 1.0 - new);
            weights.push(new);
            weights
        })
    }

    #[test]
    fn the_whole_training_has_equal_weights() {
        for w in weights(1.0, 40) {
            assert!((w - 1.0 / 40.0).abs() < 1e-12, "{w}");
        }
    }

    #[test]
    fn means_are_as_old_as_those_of_the_last_epochs() {
        for share in [0.05, 0.1, 0.5] {
            let weights = weights(share, 2000);
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{share}");
            let age: f64 = weights.iter().rev().enumerate().map(|(age, w)| age as f64 * w).sum();
            let of_the_last = share * 2000.0 / 2.0;
            assert!((age / of_the_last - 1.0).abs() < 0.02, "{share}: {age}, {of_the_last}");
        }
    }

    #[test]
    fn the_first_epoch_is_its_own_mean() {
        assert_eq!(weight(0.1, 1), 1.0);
    }
}
