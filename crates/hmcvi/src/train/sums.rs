//! Add up what the batches of an epoch report, and turn it into means per image.

use std::collections::BTreeMap;

use hmcvi_record::PartialEpoch;

use super::trainer::Batch;
use crate::device::Results;
use crate::vi::Dropped;

/// Sums of what programs report about batches.
#[derive(Default)]
pub(super) struct Sums {
    sums: BTreeMap<&'static str, f64>,
    /// Accepted proposals of each HMC step, where programs tell them apart.
    accepted: Vec<f64>,
    rows: f64,
    batches: f64,
}

/// Terms of the bound, in the order of the equation.
pub(super) const TERMS: [&str; 6] =
    ["log_joint", "initial_entropy", "momentum_entropy", "reverse_momentum", "final_momentum", "acceptance"];
/// Sums over all rows that programs return, and what their means are called.
const OVER_ROWS: [(&str, &str); 3] =
    [("accepted", "acceptance_rate"), ("step_size", "step_size"), ("alpha", "alpha")];

/// Other sums that programs return.
const OTHERS: [&str; 9] = [
    "bound",
    "count",
    "dropped",
    "no_density",
    "diverging",
    "gradient_norm",
    "energy_error",
    "simulated",
    "log_mass",
];

fn names() -> impl Iterator<Item = &'static str> {
    TERMS.into_iter().chain(OTHERS).chain(OVER_ROWS.map(|o| o.0))
}

/// What programs call the acceptance of an HMC step, counted from 1; its mean is called the same.
pub(super) fn step_name(step: usize) -> String {
    format!("acceptance_rate_{step}")
}

impl Sums {
    /// The sums of an epoch's first part, to go on with.
    pub(super) fn of(part: &PartialEpoch) -> Self {
        let sum = |name| Some((name, part.sums.get(name)?.unwrap_or(f64::NAN)));
        let (rows, batches) = (part.images as f64, part.updates as f64);
        Sums { sums: names().filter_map(sum).collect(), accepted: Vec::new(), rows, batches }
    }

    /// The sums of an epoch's first part, to be kept.
    pub(super) fn part(&self) -> PartialEpoch {
        let finite = |(name, sum): (&&str, &f64)| (name.to_string(), Some(*sum).filter(|s| s.is_finite()));
        let sums = self.sums.iter().map(finite).collect();
        PartialEpoch {
            images: self.rows as u64,
            updates: self.batches as u64,
            sums,
            ..PartialEpoch::default()
        }
    }

    /// Adds the results of a run with so many rows; returns its mean bound.
    pub(super) fn add(&mut self, results: &Results, run: usize, rows: usize) -> f64 {
        for name in names() {
            if let Some(value) = results.get(run, name) {
                *self.sums.entry(name).or_default() += value;
            }
        }
        for (t, accepted) in (0..).map_while(|t| Some((t, results.get(run, &step_name(t + 1))?))) {
            self.accepted.resize(self.accepted.len().max(t + 1), 0.0);
            self.accepted[t] += accepted;
        }
        self.rows += rows as f64;
        self.batches += 1.0;
        let value = |name| results.get(run, name).unwrap_or(0.0);
        value("bound") / value("count").max(1.0)
    }

    pub(super) fn batch(&self, epoch: u64, images: usize, of: usize, bound: f64) -> Batch {
        let sum = |name: &str| self.sums.get(name).copied();
        let counted = sum("count").unwrap_or(0.0).max(1.0);
        Batch {
            epoch,
            images,
            of,
            bound,
            mean_bound: sum("bound").unwrap_or(0.0) / counted,
            terms: TERMS.map(|name| sum(name).map(|s| (name, s / counted))),
            acceptance_rate: sum("accepted").map(|a| a / self.rows),
            step_size: sum("step_size").map(|s| s / self.rows),
            divergences: self.divergences(),
        }
    }

    /// Rows that have no bound.
    pub(super) fn dropped(&self) -> Dropped {
        let sum = |name| self.sums.get(name).map_or(0, |sum| *sum as u64);
        Dropped { rows: self.rows as u64, dropped: sum("dropped"), no_density: sum("no_density") }
    }

    pub(super) fn divergences(&self) -> u64 {
        self.sums.get("diverging").map_or(0, |d| *d as u64)
    }

    pub(super) fn means(&self) -> BTreeMap<String, f64> {
        let counted = self.sums.get("count").copied().unwrap_or(0.0).max(1.0);
        let of = |name: &str| self.sums.get(name).copied();
        let each = TERMS.iter().chain(&["bound"]);
        let each = each.filter_map(|name| Some((name.to_string(), of(name)? / counted)));
        let over = OVER_ROWS.iter().filter_map(|(sum, name)| Some((name.to_string(), of(sum)? / self.rows)));
        let norm = of("gradient_norm").map(|g| ("gradient_norm".to_string(), g / self.batches));
        let error = of("energy_error")
            .zip(of("simulated"))
            .map(|(e, n)| ("energy_error".to_string(), e / n.max(1.0)));
        let mass = of("log_mass").map(|m| ("mass".to_string(), (m / self.rows).exp()));
        let accepted = self.accepted.iter().enumerate().map(|(t, a)| (step_name(t + 1), a / self.rows));
        // The share of rows that have no bound; absent where all have one.
        let dropped = Some(self.dropped().share()).filter(|share| *share > 0.0);
        let dropped = dropped.map(|share| ("dropped".to_string(), share));
        each.chain(dropped).chain(over).chain(norm).chain(error).chain(mass).chain(accepted).collect()
    }
}
