//! Draws of all chains.

use crate::Row;
use crate::summary::row;

/// What the chains of a run have drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled {
    /// Names of all numbers of the model, as Stan writes them: variables, then what is computed from them.
    pub names: Vec<String>,
    /// The chains. Those that were stopped may have fewer draws than others, or none.
    pub chains: Vec<ChainDraws>,
    /// Whether they were stopped before their last draw.
    pub stopped: bool,
    /// Seconds that it took.
    pub seconds: f64,
}

/// What one chain has drawn after its warm-up; one entry for each draw.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChainDraws {
    /// Real numbers that the variables are made from.
    pub unconstrained: Vec<Vec<f64>>,
    /// Values of all [`names`](Sampled::names), on their supports.
    pub values: Vec<Vec<f64>>,
    /// Whether the trajectory failed: its energy was off, or it came to a place without density.
    pub diverging: Vec<bool>,
    /// Doublings of the trajectory.
    pub depths: Vec<u64>,
    /// Steps of the trajectory.
    pub steps: Vec<u64>,
    /// Total energy, up to a constant of the chain.
    pub energies: Vec<f64>,
    /// The step size that the warm-up ended with, in units of the scales that were learnt.
    pub step_size: f64,
}

impl ChainDraws {
    /// Trajectories that failed.
    pub fn divergences(&self) -> usize {
        self.diverging.iter().filter(|diverging| **diverging).count()
    }

    /// Estimated Bayesian fraction of missing information (Betancourt 2016): below 0.3, momenta change the energy too
    /// little for the chain to reach the tails. Nothing if there are fewer than two draws.
    pub fn e_bfmi(&self) -> Option<f64> {
        let n = self.energies.len();
        let mean = self.energies.iter().sum::<f64>() / n as f64;
        let jumps: f64 = self.energies.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
        let spread: f64 = self.energies.iter().map(|energy| (energy - mean).powi(2)).sum();
        (spread > 0.0).then(|| jumps / spread)
    }
}

impl Sampled {
    /// Trajectories that failed, of each chain.
    pub fn divergences(&self) -> Vec<usize> {
        self.chains.iter().map(ChainDraws::divergences).collect()
    }

    /// Step sizes, of each chain.
    pub fn step_sizes(&self) -> Vec<f64> {
        self.chains.iter().map(|chain| chain.step_size).collect()
    }

    /// Draws of one number of the model, of each chain.
    pub fn element(&self, name: &str) -> Option<Vec<Vec<f64>>> {
        let place = self.names.iter().position(|known| known == name)?;
        Some(self.chains.iter().map(|chain| column(&chain.values, place)).collect())
    }

    /// Draws of all chains as real numbers, chain after chain: what `Fitted::evidence_watched` takes.
    pub fn unconstrained(&self) -> Vec<Vec<f64>> {
        self.chains.iter().flat_map(|chain| chain.unconstrained.clone()).collect()
    }

    /// What the draws say about every number of the model. Where chains were stopped at different times, those chains
    /// and draws count that leave most draws in chains of equal length. Nothing if there are no draws.
    pub fn summary(&self) -> Vec<Row> {
        let lengths: Vec<usize> = self.chains.iter().map(|chain| chain.values.len()).collect();
        let Some(length) = common_length(&lengths) else { return Vec::new() };
        let equal = self.chains.iter().filter(|chain| chain.values.len() >= length);
        let cut: Vec<&[Vec<f64>]> = equal.map(|chain| &chain.values[..length]).collect();
        let summarise = |(place, name): (usize, &String)| {
            row(name, &cut.iter().map(|values| column(values, place)).collect::<Vec<_>>())
        };
        self.names.iter().enumerate().map(summarise).collect()
    }
}

fn column(rows: &[Vec<f64>], place: usize) -> Vec<f64> {
    rows.iter().map(|row| row[place]).collect()
}

/// The length to which chains are cut, without those that are shorter, so that most draws are left.
fn common_length(lengths: &[usize]) -> Option<usize> {
    let kept = |length: usize| length * lengths.iter().filter(|other| **other >= length).count();
    lengths.iter().copied().filter(|length| *length > 0).max_by_key(|length| kept(*length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_cut_so_that_most_draws_are_left() {
        assert_eq!(common_length(&[100, 100, 100]), Some(100));
        assert_eq!(common_length(&[100, 90, 2, 0]), Some(90));
        assert_eq!(common_length(&[100, 10]), Some(100));
        assert_eq!(common_length(&[0, 0]), None);
    }

    #[test]
    fn energies_that_are_independent_miss_no_information() {
        // Σ (differences)² = 4 + 4 + 4, Σ (deviations)² = 4
        let chain = ChainDraws { energies: vec![1.0, -1.0, 1.0, -1.0], ..ChainDraws::default() };
        assert_eq!(chain.e_bfmi(), Some(3.0));
        assert_eq!(ChainDraws::default().e_bfmi(), None);
    }
}
