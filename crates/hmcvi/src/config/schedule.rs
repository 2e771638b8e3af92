//! Say how large the steps of training are as it goes on.

use serde::{Deserialize, Serialize};

/// How the learning rate goes from its first to its last value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ScheduleKind {
    /// It stays at its first value.
    Constant,
    /// In equal steps.
    Linear,
    /// By equal factors.
    Exponential,
    /// Along half a cosine: slowly at both ends.
    #[default]
    Cosine,
}

/// Learning rate over the course of training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Schedule {
    /// Rate at the beginning.
    #[cfg_attr(test, schemars(range(max = 1.0), extend("exclusiveMinimum" = 0)))]
    pub first: f64,
    /// Rate at the end.
    #[cfg_attr(test, schemars(range(max = 1.0), extend("exclusiveMinimum" = 0)))]
    pub last: f64,
    /// The way between.
    pub kind: ScheduleKind,
    /// Share of the training, from its beginning, in which the rate rises from 0 to what it would be otherwise. Large rates at
    /// the beginning cost latent dimensions.
    #[cfg_attr(test, schemars(range(min = 0.0, max = 1.0)))]
    pub warm_up: f64,
}

impl Default for Schedule {
    fn default() -> Self {
        Schedule { first: 1e-3, last: 1e-4, kind: ScheduleKind::Cosine, warm_up: 0.0 }
    }
}

impl Schedule {
    /// The rate when a share of the training, from 0 to 1, is done.
    pub fn rate(&self, done: f64) -> f64 {
        let done = done.clamp(0.0, 1.0);
        let Schedule { first, last, kind, warm_up } = *self;
        let risen = if done < warm_up { done / warm_up } else { 1.0 };
        let rate = match kind {
            ScheduleKind::Constant => first,
            ScheduleKind::Linear => first + (last - first) * done,
            ScheduleKind::Exponential => first * (last / first).powf(done),
            ScheduleKind::Cosine => last + (first - last) * 0.5 * (1.0 + (std::f64::consts::PI * done).cos()),
        };
        risen * rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schedule_begins_and_ends_where_it_says() {
        for kind in [ScheduleKind::Linear, ScheduleKind::Exponential, ScheduleKind::Cosine] {
            let schedule = Schedule { first: 3e-4, last: 7.5e-5, kind, warm_up: 0.0 };
            assert!((schedule.rate(0.0) - 3e-4).abs() < 1e-12, "{kind:?}");
            assert!((schedule.rate(1.0) - 7.5e-5).abs() < 1e-12, "{kind:?}");
            let falls = (0..100)
                .all(|i| schedule.rate(f64::from(i) / 100.0) >= schedule.rate(f64::from(i + 1) / 100.0));
            assert!(falls, "{kind:?}");
        }
    }

    #[test]
    fn a_rate_that_warms_up_rises_from_nothing_to_what_it_would_be() {
        let cold = Schedule { first: 1e-3, last: 1e-5, kind: ScheduleKind::Linear, warm_up: 0.0 };
        let warm = Schedule { warm_up: 0.2, ..cold };
        assert_eq!(warm.rate(0.0), 0.0);
        assert!((warm.rate(0.05) - 0.25 * cold.rate(0.05)).abs() < 1e-18);
        for done in [0.2, 0.5, 1.0] {
            assert_eq!(warm.rate(done), cold.rate(done));
        }
        assert!((Schedule { warm_up: 1.0, ..cold }.rate(1.0) - 1e-5).abs() < 1e-18);
    }
}
