//! Bracket the log evidence of the models with known bounds: every width should be below 0.3 nats.
//!
//! `cargo run --release -p hmcvi --example evidence -- [MODEL...] [KEY=N...]` with the keys `temperatures`, `chains`,
//! `leapfrog`, `draws` (for importance sampling), `long` (draws of each long chain), `seed`, and `hmc=0` for the Gaussian
//! alone. The funnel is its own prior, so that exact draws are known; all others begin the way back with a long chain.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for measurements")]

use std::time::Instant;

use hmcvi::bayes::fit::EvidenceSettings;
use hmcvi::bayes::{Fit, examples};
use hmcvi_graph::random::{Key, normal};

const TARGETS: [&str; 6] = ["seeds", "sonar", "ionosphere", "credit", "brownian", "funnel"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut names, mut settings, mut fit) = (Vec::new(), EvidenceSettings::default(), Fit::default());
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            Some(("temperatures", value)) => settings.temperatures = value.parse()?,
            Some(("chains", value)) => settings.chains = value.parse()?,
            Some(("leapfrog", value)) => settings.leapfrog_steps = value.parse()?,
            Some(("seed", value)) => settings.seed = value.parse()?,
            Some(("long", value)) => settings.long_chain.draws = value.parse()?,
            Some(("draws", value)) => settings.draws = value.parse()?,
            Some(("hmc", "0")) => fit = fit.without_chain(),
            Some((key, _)) => return Err(format!("no setting `{key}`").into()),
            None => names.push(argument),
        }
    }
    if names.is_empty() {
        names = TARGETS.map(str::to_owned).into();
    }
    println!("{settings:?}");
    for name in names {
        let example = examples::find(&name).ok_or_else(|| format!("no model `{name}`"))?;
        let bound = example.model().bind(&example.data()?.ok_or("the data have to be given")?)?;
        let begun = Instant::now();
        let fitted = bound.fit(&fit)?;
        let fitting = begun.elapsed().as_secs_f64();
        let exact = (name == "funnel").then(funnel);
        let found = fitted.evidence_watched(&settings, exact.as_deref(), &mut |_, _| true)?;
        let side = |s: &hmcvi::bayes::fit::Side| {
            let k = s.k_hat.map_or("?".into(), |k| format!("{k:.2}"));
            format!(
                "{:.3} ± {:.3} (ess {:.0} of {}, k {k})",
                s.log_evidence, s.standard_error, s.effective_sample_size, s.count
            )
        };
        let (width, rate) = (found.width(), found.lower.acceptance_rate.unwrap_or_default());
        println!(
            "{name}: {} dimensions, fit {fitting:.1} s, evidence {:.1} s",
            bound.dimension(),
            found.seconds
        );
        println!("  importance {}", side(&found.importance));
        let draws = fitted.draws(settings.draws, settings.seed + 1)?;
        let raw = draws.weights();
        let error = raw.error_of_log_mean(draws.len());
        println!(
            "  again, raw {:.3} ± {error:.3}, bound {:?}, {} dropped",
            raw.log_mean,
            draws.bound(),
            draws.dropped
        );
        println!("  lower      {}, acceptance {rate:.2}", side(&found.lower));
        println!("  upper      {}", side(&found.upper));
        println!("  width {:.3} ± {:.3}, bracket {}", width.mean, width.standard_error, found.is_bracket());
        println!("  between {:?}, {:?}", found.between, found.long_chain);
    }
    Ok(())
}

/// Exact draws of the funnel, which is its own prior.
fn funnel() -> Vec<Vec<f64>> {
    let draw = |row| {
        let mut z = vec![0.0_f64; 10];
        normal(Key { seed: 77, stream: 0, step: 0, row }, &mut z);
        z[0] *= 3.0;
        let scale = (0.5 * z[0]).exp();
        z[1..].iter_mut().for_each(|x| *x *= scale);
        z
    };
    (0..4096).map(draw).collect()
}
