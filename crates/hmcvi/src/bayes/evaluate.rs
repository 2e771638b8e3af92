//! Evaluate a model at given real numbers: its values on their supports, and its log density.

use hmcvi_graph::{Graph, Run, Shape, Store};

use super::{Bound, Dims, FitError};

/// A model at some places.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluated {
    /// All values of the model on their supports, place by place, in the order of [`Bound::element_names`].
    pub values: Vec<f64>,
    /// `log p(x, z)` at each place, with the Jacobians of the supports.
    pub log_density: Vec<f64>,
}

/// Log densities of something that was observed, at some places.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLikelihood {
    /// What was observed.
    pub name: String,
    /// Dimensions at one place: those of the data, or of the parts of them that belong together.
    pub dims: Dims,
    /// Log densities, place by place.
    pub values: Vec<f64>,
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
        let mut executable = self.device().on_cpu::<f64>(&program.compile()?, ROWS);
        let (mut found, store) = (Evaluated::default(), Store::new());
        for part in z.chunks(ROWS * d) {
            let run = Run { rows: part.len() / d, inputs: &[("z", part)], ..Run::default() };
            executable.evaluate(&store, &run)?;
            found.values.extend(executable.output("row").unwrap_or_default());
            found.log_density.extend(executable.output("log_density").unwrap_or_default());
        }
        Ok(found)
    }

    /// The log density of each observation at places `z`, in the order of the description.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn log_likelihoods(&self, z: &[f64]) -> Result<Vec<LogLikelihood>, FitError> {
        let (graph, d) = (Graph::new(), self.dimension());
        let built = self.at(graph.batch_input("z", d));
        let of = |(name, value): &(String, super::Var<'_>)| LogLikelihood {
            name: name.clone(),
            dims: value.dims(),
            values: Vec::new(),
        };
        let mut found: Vec<LogLikelihood> = built.log_likelihood.iter().map(of).collect();
        let mut program = graph.program();
        for (place, (_, value)) in built.log_likelihood.iter().enumerate() {
            let all = value.expr().broadcast_to(Shape::batch(value.dims().elements()));
            program = program.output(&place.to_string(), all);
        }
        let mut executable = self.device().on_cpu::<f64>(&program.compile()?, ROWS);
        let store = Store::new();
        for part in z.chunks(ROWS * d) {
            let run = Run { rows: part.len() / d, inputs: &[("z", part)], ..Run::default() };
            executable.evaluate(&store, &run)?;
            for (place, observed) in found.iter_mut().enumerate() {
                observed.values.extend(executable.output(&place.to_string()).unwrap_or_default());
            }
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

    #[test]
    fn observations_have_log_densities_of_their_own() {
        let model = Model::new(|m| {
            let (x, y) = (m.sample("x", normal(0.0, 1.0)), m.data("y"));
            m.observe("y", normal(x, 1.0), y);
            m.add_log_density("2x", x * 2.0);
        });
        let bound = model.bind(&Data::new().with("y", [0.5, 2.0])).expect("a model");
        let z: Vec<f64> = (0..300).map(f64::from).collect();
        let found = bound.log_likelihoods(&z).expect("densities");
        assert_eq!((found[0].name.as_str(), found[0].dims), ("y", 2.into()));
        assert_eq!((found[1].name.as_str(), found[1].values[7]), ("2x", 14.0));
        // log N(y; x, 1)
        let expected = |x: f64, y: f64| -0.5 * (y - x).powi(2) - 0.5 * std::f64::consts::TAU.ln();
        for (x, pair) in z.iter().zip(found[0].values.chunks(2)) {
            assert!((pair[0] - expected(*x, 0.5)).abs() < 1e-9 && (pair[1] - expected(*x, 2.0)).abs() < 1e-9);
        }
    }
}
