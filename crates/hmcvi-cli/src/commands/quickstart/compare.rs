//! Compare two models on the same images.

use std::path::Path;

use hmcvi::config::RunSpec;
use hmcvi::eval::{EvaluationResult, finite_estimate};
use hmcvi::run::{Checkpoint, RunDirectory};
use hmcvi_record::Estimate;
use hmcvi_report::{Align, Table};
use serde::Serialize;

/// A trained model and what was found out about it.
pub(crate) struct EvaluatedModel {
    pub(crate) name: &'static str,
    pub(crate) directory: RunDirectory,
    pub(crate) spec: RunSpec,
    pub(crate) checkpoint: Checkpoint,
    pub(crate) result: EvaluationResult,
}

/// One quantity of both models, as negative nats, and how much HMCVI gains.
#[derive(Serialize)]
pub(crate) struct Quantity {
    pub(crate) basic: Estimate,
    pub(crate) hmcvi: Estimate,
    /// Mean over images of the difference; its standard error is over pairs.
    pub(crate) gain: Estimate,
    /// The gain in standard errors.
    pub(crate) gain_in_standard_errors: f64,
}

/// The outcome of the quickstart.
#[derive(Serialize)]
pub(crate) struct Comparison {
    /// `-log p(x) ≤`
    pub(crate) bound: Quantity,
    /// `-log p(x) ≈`
    pub(crate) nll: Quantity,
    /// `-log p(x)`, by quadrature.
    pub(crate) exact: Quantity,
    pub(crate) effective_sample_size: [f64; 2],
    pub(crate) divergences: u64,
    pub(crate) seconds: f64,
}

pub(crate) fn compare(basic: &EvaluatedModel, hmcvi: &EvaluatedModel, seconds: f64) -> Comparison {
    let (b, h) = (&basic.result, &hmcvi.result);
    let exact =
        |j: &EvaluationResult| -> Vec<f64> { j.images.iter().map(|i| i.exact.unwrap_or(f64::NAN)).collect() };
    let size =
        |j: &EvaluationResult| j.importance_sampling.as_ref().map_or(f64::NAN, |s| s.effective_sample_size);
    Comparison {
        bound: quantity(&b.bounds, &h.bounds),
        nll: quantity(&b.log_likelihoods, &h.log_likelihoods),
        exact: quantity(&exact(b), &exact(h)),
        effective_sample_size: [size(b), size(h)],
        divergences: h.divergences,
        seconds,
    }
}

fn quantity(basic: &[f64], hmcvi: &[f64]) -> Quantity {
    let negative = |values: &[f64]| finite_estimate(&values.iter().map(|v| -v).collect::<Vec<_>>());
    let gains: Vec<f64> = hmcvi.iter().zip(basic).map(|(h, b)| h - b).collect();
    let gain = finite_estimate(&gains);
    Quantity {
        basic: negative(basic),
        hmcvi: negative(hmcvi),
        gain,
        gain_in_standard_errors: gain.mean / gain.standard_error,
    }
}

impl Comparison {
    pub(crate) fn text(&self, images: usize, samples: usize, out: &Path) -> String {
        let mut table = Table::new([
            ("nats per image, smaller is better", Align::Left),
            ("Basic VI", Align::Right),
            ("HMCVI", Align::Right),
            ("gain", Align::Right),
            ("in standard errors", Align::Right),
        ]);
        let show = |e: &Estimate| format!("{:.2} +- {:.2}", e.mean, e.standard_error);
        let rows = [
            ("-log p(x) <= (bound)", &self.bound),
            ("-log p(x) ~ (importance sampling)", &self.nll),
            ("-log p(x) = (quadrature)", &self.exact),
        ];
        for (name, q) in rows {
            let gain = format!("{:.1}", q.gain_in_standard_errors);
            table.row([name.into(), show(&q.basic), show(&q.hmcvi), show(&q.gain), gain]);
        }
        let place = out.display();
        format!(
            "\n{table}\n{images} test images, {samples} importance samples (effective: {:.0} and {:.0}), {:.0} s in all, \
             {} divergences\nBoth models had equally many epochs from the same start; standard errors of gains are over \
             pairs of images.\n\nfigures: {place}/gain.svg, {place}/learning-curves.svg, {place}/latent-map.svg, {place}/decoded-basic.png, \
             {place}/decoded-hmcvi.png\n",
            self.effective_sample_size[0], self.effective_sample_size[1], self.seconds, self.divergences
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_gain_is_that_of_the_pairs() {
        // Images differ by hundreds of nats, their gains by none: 1 for each.
        let q = quantity(&[-100.0, -300.0, -200.0], &[-99.0, -299.0, -199.0]);
        assert!(
            (q.gain.mean - 1.0).abs() < 1e-12
                && q.gain.standard_error < 1e-9
                && q.basic.standard_error > 50.0
        );
    }
}
