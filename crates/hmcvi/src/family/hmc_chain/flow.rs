//! Let reverse models be flows: layers that bring a momentum near a Gaussian, by what is seen of its place.
//!
//! A momentum where a simulation ends need not be Gaussian, nor are its dimensions independent of each other. Only its
//! density is needed, so each layer is cheap: one half of the dimensions moves and scales the other.

use hmcvi_graph::Expr;

use super::chain::Inference;
use crate::nn::{Initial, Network};

/// Layers, in which the halves take turns.
const LAYERS: usize = 2;
/// What layers do is small at first, and large enough that their networks learn from the beginning.
const FIRST_FACTOR: f64 = 0.01;

impl<'g> Inference<'_, 'g> {
    /// Where a momentum goes, and minus the logarithm of how much that widens.
    pub(super) fn through_flow(&self, name: &str, seen: Expr<'g>, v: Expr<'g>) -> (Expr<'g>, Expr<'g>) {
        let half = v.cols() / 2;
        let (mut first, mut second) = (v.slice_cols(0, half), v.slice_cols(half, v.cols() - half));
        let mut shrinking = v.graph().constant(0.0);
        for layer in 0..LAYERS {
            let (given, moved) = if layer % 2 == 0 { (first, &mut second) } else { (second, &mut first) };
            let (cols, name) = (moved.cols(), format!("{name}.flow.{layer}"));
            let hidden = &self.hidden[..self.hidden.len().min(1)];
            let network = Network { name: &name, hidden, activation: self.activation };
            let factor =
                self.parameters.get(&format!("{name}.factor"), 1, 2 * cols, Initial::Constant(FIRST_FACTOR));
            let given = Expr::concat_cols(&[seen, given]);
            let out = network.apply(self.parameters, given, 2 * cols) * factor;
            // At most by a factor of e, so that no momentum goes beyond all numbers.
            let widening = out.slice_cols(cols, cols).tanh();
            *moved = *moved * widening.exp() + out.slice_cols(0, cols);
            shrinking = shrinking - widening.sum_cols();
        }
        (Expr::concat_cols(&[first, second]), shrinking)
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use hmcvi_graph::{CpuOptions, Graph, Run};

    use super::super::{ChainSettings, Reverse};
    use super::*;
    use crate::dist::Gaussian;
    use crate::family::Entropies;
    use crate::hmc::State;
    use crate::nn::{Activation, Parameters};
    use crate::potential::Potential;

    /// Points along each dimension of a momentum, from `-REACH` to `REACH`.
    const POINTS: usize = 161;
    const REACH: f64 = 16.0;

    /// Log densities of momenta on a grid, for a chain at some place.
    fn log_densities(reverse: Reverse, place: [f64; 2]) -> Vec<f64> {
        let graph = Graph::new();
        let parameters = Rc::new(Parameters::new(&graph));
        let potential = Potential::gaussian(Gaussian::standard(&graph, 2));
        let settings = ChainSettings { hmc_steps: 2, reverse, ..ChainSettings::default() };
        let inference = Inference {
            parameters: &parameters,
            settings,
            potential: &potential,
            initial: Gaussian::standard(&graph, 2),
            context: graph.constant(0.5),
            hidden: &[4],
            activation: Activation::Tanh,
            entropies: Entropies::ClosedForm,
        };
        let state = State::new(&potential, graph.batch_input("z", 2), graph.batch_input("v", 2));
        let log_prob = inference.reverse_momentum(state, None, &inference.place(2));
        let program = graph.program().output("log_prob", log_prob).compile().expect("a program");
        let mut store = parameters.initial_values::<f64>(3);
        for (name, _) in parameters.all() {
            let values = &mut store.get_mut(&name).expect("it has first values").values;
            let factor = if name.ends_with(".factor") { 80.0 } else { 5.0 };
            values.iter_mut().for_each(|x| *x *= factor);
        }
        let at = |i: usize| (2.0 * i as f64 / (POINTS - 1) as f64 - 1.0) * REACH;
        let v: Vec<f64> = (0..POINTS * POINTS).flat_map(|i| [at(i / POINTS), at(i % POINTS)]).collect();
        let z = place.repeat(POINTS * POINTS);
        let rows = POINTS * POINTS;
        let mut executable = program.on_cpu::<f64>(CpuOptions { threads: 1, ..CpuOptions::for_rows(rows) });
        let inputs: [(&str, &[f64]); 2] = [("z", &z), ("v", &v)];
        executable.run(&mut store, &Run { rows, inputs: &inputs, ..Run::default() }).expect("it runs");
        executable.output("log_prob").expect("an output").to_vec()
    }

    #[test]
    fn the_density_of_momenta_is_one_wherever_a_chain_is() {
        let area = (2.0 * REACH / (POINTS - 1) as f64).powi(2);
        let mut all = Vec::new();
        for place in [[0.0, 0.0], [1.5, -0.7]] {
            let found = log_densities(Reverse::Flow, place);
            let mass: f64 = found.iter().map(|log| log.exp() * area).sum();
            assert!((mass - 1.0).abs() < 1e-6, "{place:?}: {mass}");
            all.push(found);
        }
        let distance = |a: &[f64], b: &[f64]| -> f64 {
            a.iter().zip(b).map(|(a, b)| 0.5 * (a.exp() - b.exp()).abs() * area).sum()
        };
        assert!(distance(&all[0], &all[1]) > 0.05, "it depends on the place");
        let gaussian = log_densities(Reverse::Network, [0.0, 0.0]);
        assert!(distance(&all[0], &gaussian) > 0.05, "it is not the Gaussian that it is made of");
    }
}
