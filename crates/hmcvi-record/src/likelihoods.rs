//! Keep what the rows of a comparison have reached after how much training.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::{Curve, Estimate, Versioned};

/// Version of [`Likelihoods`].
pub const LIKELIHOODS_SCHEMA: u32 = 1;

/// `likelihoods.json`: every evaluation of every row of a comparison, also those before its training went on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Likelihoods {
    /// Version of this record.
    pub schema: u32,
    /// Part of the data that rows were evaluated on.
    pub split: String,
    /// Rows in the order of the comparison.
    pub rows: Vec<Reached>,
}

/// What one row has reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reached {
    /// Name of the row.
    pub name: String,
    /// Its evaluations, by time.
    pub points: Vec<ReachedAt>,
}

/// An evaluation after some training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReachedAt {
    /// Epochs of training.
    pub epochs: u64,
    /// Seconds of training.
    pub seconds: f64,
    /// The bound.
    pub bound: Option<Estimate>,
    /// `log p(x)` by importance sampling.
    pub log_likelihood: Option<Estimate>,
    /// `log p(x)` by annealed importance sampling.
    pub annealed: Option<Estimate>,
    /// `log p(x)` by quadrature.
    pub exact: Option<Estimate>,
}

/// One of the estimates of `log p(x)`, where it was made.
pub type Estimator = fn(&ReachedAt) -> Option<Estimate>;

impl Versioned for Likelihoods {
    const SCHEMAS: RangeInclusive<u32> = LIKELIHOODS_SCHEMA..=LIKELIHOODS_SCHEMA;
}

impl Likelihoods {
    /// A record of nothing yet.
    pub fn new(split: String) -> Self {
        Likelihoods { schema: LIKELIHOODS_SCHEMA, split, rows: Vec::new() }
    }

    /// Adds an evaluation of a row. What is known of later times is of a training that was begun again since, and goes.
    pub fn add(&mut self, name: &str, point: ReachedAt) {
        let at = self.rows.iter().position(|row| row.name == name).unwrap_or_else(|| {
            self.rows.push(Reached { name: name.into(), points: Vec::new() });
            self.rows.len() - 1
        });
        let points = &mut self.rows[at].points;
        points.retain(|known| known.seconds < point.seconds && known.epochs < point.epochs);
        points.push(point);
    }

    /// The best estimate that there is of all of them, and how it is called.
    pub fn estimate(&self) -> (&'static str, Estimator) {
        let all: [(&'static str, Estimator); 2] =
            [("quadrature", |at| at.exact), ("annealing", |at| at.annealed)];
        let points = || self.rows.iter().flat_map(|row| &row.points);
        let has = |of: Estimator| points().all(|at| of(at).is_some());
        let found = all.into_iter().find(|(_, of)| points().next().is_some() && has(*of));
        found.unwrap_or(("importance sampling", |at| at.log_likelihood))
    }

    /// Negative log-likelihoods over seconds of training, by that estimate.
    pub fn curves(&self) -> Vec<Curve> {
        let (_, estimate) = self.estimate();
        let of = |point: &ReachedAt| Some((point.seconds, -estimate(point)?.mean));
        let curve = |row: &Reached| Curve {
            name: row.name.clone(),
            points: row.points.iter().filter_map(of).collect(),
        };
        self.rows.iter().map(curve).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(epochs: u64, mean: f64, annealed: Option<f64>) -> ReachedAt {
        let estimate = |mean| Estimate { mean, standard_error: 0.1 };
        ReachedAt {
            epochs,
            seconds: 2.0 * epochs as f64,
            bound: None,
            log_likelihood: Some(estimate(mean)),
            annealed: annealed.map(estimate),
            exact: None,
        }
    }

    #[test]
    fn a_row_has_a_point_for_every_time() {
        let mut all = Likelihoods::new("test".into());
        all.add("plain", point(5, -90.0, None));
        all.add("hmc", point(1, -99.0, None));
        all.add("hmc", point(5, -89.0, None));
        // The same evaluation again, as a repeated command gives it.
        all.add("hmc", point(5, -89.0, None));
        assert_eq!(all.curves()[1].points, [(2.0, 99.0), (10.0, 89.0)]);
        // It was begun again.
        all.add("hmc", point(3, -95.0, None));
        assert_eq!(all.curves()[1].points, [(2.0, 99.0), (6.0, 95.0)]);
        assert_eq!(all.curves()[0].points, [(10.0, 90.0)]);
    }

    #[test]
    fn annealing_counts_where_all_points_have_it() {
        let mut all = Likelihoods::new("test".into());
        assert_eq!(all.estimate().0, "importance sampling");
        all.add("plain", point(5, -90.0, Some(-88.0)));
        assert_eq!(all.estimate().0, "annealing");
        assert_eq!(all.curves()[0].points, [(10.0, 88.0)]);
        all.add("hmc", point(5, -91.0, None));
        assert_eq!(all.estimate().0, "importance sampling");
        assert_eq!(all.curves()[0].points, [(10.0, 90.0)]);
    }
}
