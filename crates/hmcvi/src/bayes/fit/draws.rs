//! Draws of a posterior approximation, and what they say about every variable.

use serde::{Deserialize, Serialize};

use crate::bayes::Dims;
use crate::eval::{WeightSummary, Weights};

use super::weighted::row;

/// Independent draws with log weights.
#[derive(Clone, Debug)]
pub struct Draws {
    names: Vec<String>,
    dimension: usize,
    /// Draws of all elements on their supports, row by row.
    values: Vec<f64>,
    /// The same as real numbers.
    unconstrained: Vec<f64>,
    pub(super) log_weights: Vec<f64>,
    /// Standard errors of the weighted means of every element, where these draws were chosen by weights.
    pub(super) errors_of_weights: Option<Vec<f64>>,
    /// Draws that were left out because their simulation failed.
    pub dropped: u64,
}

/// What draws say about one number of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its name, as Stan writes it.
    pub name: String,
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// 5% quantile.
    pub q05: f64,
    /// Median.
    pub q50: f64,
    /// 95% quantile.
    pub q95: f64,
    /// Monte Carlo standard error of the mean.
    pub mcse: f64,
}

impl Row {
    /// What independent draws of a number say, all alike.
    pub fn of(name: &str, values: &[f64]) -> Self {
        let found = row(name, values, &vec![1.0 / values.len() as f64; values.len()]);
        match values {
            // Of what is constant, sums would leave rounding errors.
            [first, rest @ ..] if rest.iter().all(|value| value == first) => {
                Row { mean: *first, sd: 0.0, mcse: 0.0, ..found }
            }
            _ => found,
        }
    }
}

impl Draws {
    pub(super) fn new(values: Vec<(String, Dims)>, dimension: usize) -> Self {
        let names = values.iter().flat_map(|(name, dims)| dims.element_names(name)).collect();
        Draws {
            names,
            dimension,
            values: Vec::new(),
            unconstrained: Vec::new(),
            log_weights: Vec::new(),
            errors_of_weights: None,
            dropped: 0,
        }
    }

    /// Adds rows that were not dropped, up to a number of draws.
    pub(super) fn add(&mut self, rows: &[f64], z: &[f64], log_weights: &[f64], dropped: &[f64], most: usize) {
        let kept = (0..log_weights.len()).filter(|&row| dropped[row] == 0.0);
        for row in kept.take(most - self.len()) {
            let of = |all: &[f64], width: usize| all[row * width..(row + 1) * width].to_vec();
            self.values.extend(of(rows, self.names.len()));
            self.unconstrained.extend(of(z, self.dimension));
            self.log_weights.push(log_weights[row]);
        }
    }

    /// Number of draws.
    pub fn len(&self) -> usize {
        self.log_weights.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.log_weights.is_empty()
    }

    /// Names of the elements of a draw, as Stan writes them.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// A draw of all elements on their supports.
    pub fn row(&self, draw: usize) -> &[f64] {
        &self.values[draw * self.names.len()..(draw + 1) * self.names.len()]
    }

    /// The same as real numbers.
    pub fn unconstrained(&self, draw: usize) -> &[f64] {
        &self.unconstrained[draw * self.dimension..(draw + 1) * self.dimension]
    }

    /// All draws of one element.
    pub fn element(&self, name: &str) -> Option<Vec<f64>> {
        let place = self.names.iter().position(|known| known == name)?;
        Some((0..self.len()).map(|draw| self.row(draw)[place]).collect())
    }

    /// Logarithms of the weights of draws: what the density of the model is, divided by that of the approximation.
    pub fn log_weights(&self) -> &[f64] {
        &self.log_weights
    }

    /// The bound, and its standard error: the mean log weight.
    pub fn bound(&self) -> (f64, f64) {
        let n = self.len() as f64;
        let mean = self.log_weights.iter().sum::<f64>() / n;
        let squares: f64 = self.log_weights.iter().map(|w| (w - mean).powi(2)).sum();
        (mean, (squares / (n * (n - 1.0).max(1.0))).sqrt())
    }

    /// The bound of so many draws together, and its standard error: the mean of the logarithms of the mean weights of as
    /// many draws each (Burda, Grosse and Salakhutdinov, *Importance weighted autoencoders*, 2016). It is a lower bound on
    /// the log evidence as that of single draws is, and rises with their number. Nothing with fewer than two such groups.
    pub fn bound_of(&self, together: usize) -> Option<(f64, f64)> {
        let groups = self.log_weights.chunks_exact(together.max(1));
        let of_group = |group: &[f64]| {
            let most = group.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            most + (group.iter().map(|w| (w - most).exp()).sum::<f64>() / group.len() as f64).ln()
        };
        let logs: Vec<f64> = groups.map(of_group).collect();
        let n = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / n;
        let squares: f64 = logs.iter().map(|w| (w - mean).powi(2)).sum();
        (logs.len() > 1).then(|| (mean, (squares / (n * (n - 1.0))).sqrt()))
    }

    /// What importance weights say: log evidence, effective sample size, k-hat.
    pub fn weights(&self) -> WeightSummary {
        let mut weights = Weights::new(self.len());
        self.log_weights.iter().for_each(|w| weights.add(*w));
        weights.summary()
    }

    /// Mean, standard deviation and quantiles of every element, all draws alike.
    pub fn summary(&self) -> Vec<Row> {
        self.summary_with(&vec![1.0 / self.len() as f64; self.len()])
    }

    /// What weights that add up to 1 make of every element.
    pub(super) fn summary_with(&self, weights: &[f64]) -> Vec<Row> {
        let lost = |place: usize| self.errors_of_weights.as_ref().map_or(0.0, |errors| errors[place]);
        let row_of = |(place, name): (usize, &String)| {
            let values: Vec<f64> = (0..self.len()).map(|draw| self.row(draw)[place]).collect();
            let found = row(name, &values, weights);
            Row { mcse: found.mcse.hypot(lost(place)), ..found }
        };
        self.names.iter().enumerate().map(row_of).collect()
    }

    /// Draws chosen from these.
    pub(super) fn choose(&self, chosen: &[usize]) -> Self {
        let of =
            |row: fn(&Self, usize) -> &[f64]| chosen.iter().flat_map(|i| row(self, *i)).copied().collect();
        Draws {
            names: self.names.clone(),
            dimension: self.dimension,
            values: of(Draws::row),
            unconstrained: of(Draws::unconstrained),
            log_weights: chosen.iter().map(|i| self.log_weights[*i]).collect(),
            errors_of_weights: self.errors_of_weights.clone(),
            dropped: self.dropped,
        }
    }
}
