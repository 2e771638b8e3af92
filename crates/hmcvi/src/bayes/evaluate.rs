//! Evaluate a model at given real numbers: its values on their supports, and its log density.

use hmcvi_graph::{CpuOptions, Graph, Run, Store};

use super::{Bound, FitError};

/// A model at some places.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluated {
    /// All values of the model on their supports, place by place, in the order of [`Bound::element_names`].
    pub values: Vec<f64>,
    /// `log p(x, z)` at each place, with the Jacobians of the supports.
    pub log_density: Vec<f64>,
}

/// Places that are evaluated together.
const ROWS: usize = 256;

impl Bound {
    /// The model at places `z`, [`dimension`](Self::dimension) numbers for each.
    ///
    /// # Errors
    /// If the model is not a well-formed program, or there are not so many numbers for each place.
    pub fn evaluate(&self, z: &[f64]) -> Result<Evaluated, FitError> {
        let (graph, d) = (Graph::new(), self.dimension());
        let input = graph.batch_input("z", d);
        let built = self.at(input);
        let program = graph.program().output("row", built.row()).output("log_density", built.log_density());
        let mut executable = program.compile()?.on_cpu::<f64>(CpuOptions::for_rows(ROWS));
        let (mut found, store) = (Evaluated::default(), Store::new());
        for part in z.chunks(ROWS * d) {
            let run = Run { rows: part.len() / d, inputs: &[("z", part)], ..Run::default() };
            executable.evaluate(&store, &run)?;
            found.values.extend(executable.output("row").unwrap_or_default());
            found.log_density.extend(executable.output("log_density").unwrap_or_default());
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use crate::bayes::{Data, Model, half_normal, normal};

    #[test]
    fn values_and_densities_are_those_of_the_model() {
        let model = Model::new(|m| {
            let sd = m.sample("sd", half_normal(1.0));
            let y = m.data("y");
            m.observe("y", normal(0.0, sd), y);
        });
        let bound = model.bind(&Data::new().with("y", 0.5)).expect("a model");
        let z: Vec<f64> = (0..300).map(|i| f64::from(i) / 100.0 - 1.5).collect();
        let found = bound.evaluate(&z).expect("a density");
        for (i, z) in z.iter().enumerate() {
            // With s = exp(z): log 2 N(s; 0, 1) + log N(y; 0, s) + z.
            let s = z.exp();
            let expected = std::f64::consts::LN_2
                - (std::f64::consts::TAU).ln()
                - 0.5 * s * s
                - z
                - 0.5 * (0.5 / s).powi(2)
                + z;
            assert!((found.values[i] - s).abs() < 1e-14 * s, "{}", found.values[i]);
            assert!((found.log_density[i] - expected).abs() < 1e-12, "{}", found.log_density[i]);
        }
        bound.evaluate(&[]).expect("nothing is no error");
    }
}
