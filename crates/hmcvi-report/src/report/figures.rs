//! Choose what a report draws, with no more points than a page needs.

use hmcvi_record::{Curve, Epoch, Figure, FigureKind, ImageEvaluation, Mark, MarkAxis, Section};

use super::histogram::histograms;
use super::{RunData, noun};

/// Most points of a curve when there is one run; several share them.
const POINTS: usize = 240;
/// Fewest points of a curve.
const FEWEST: usize = 40;
/// Most HMC steps that are drawn apart.
const STEPS: usize = 6;
/// Bins of a histogram.
const BINS: usize = 24;
/// Above this an image's importance sampling is not to be trusted.
const HIGH_K_HAT: f64 = 0.7;

/// Terms of the bound: key, title, and what it is.
const TERMS: [(&str, &str, &str); 6] = [
    (
        "log_joint",
        "Log joint density",
        "log p(x, z) at the end of the chain: how well the model explains the image.",
    ),
    ("initial_entropy", "Entropy of the encoder", "−log q(z₀ | x): how wide the first draw is."),
    (
        "momentum_entropy",
        "Entropy of the momenta",
        "What the drawn momenta add; it belongs together with the reverse and the final momenta.",
    ),
    (
        "reverse_momentum",
        "Reverse momenta",
        "Σ log r(v | z, x): how well the reverse model knows where a momentum came from.",
    ),
    ("final_momentum", "Final momentum", "log r(v | z, x) at the end of the chain."),
    ("acceptance", "Acceptance", "Σ log r(a) − log q(a): what the acceptance step costs the bound."),
];

/// Values of the chain: key, title, name of the axis, and what it is.
const CHAIN: [(&str, &str, &str, &str); 5] = [
    ("acceptance_rate", "Acceptance rate", "share of proposals", "Mean over all HMC steps."),
    (
        "energy_error",
        "Energy error",
        "mean |ΔH| (nats)",
        "How far simulations are from conserving energy; validation images.",
    ),
    (
        "step_size",
        "Step size",
        "leapfrog step size",
        "Learnt with the model; mean over images and dimensions.",
    ),
    (
        "mass",
        "Mass",
        "geometric mean",
        "Of the momenta, over dimensions and validation images; learnt unless it is the identity.",
    ),
    ("alpha", "Momentum kept, α", "α", "Share of the momentum that survives an update; learnt."),
];

pub(super) fn figures(runs: &[RunData]) -> Vec<Figure> {
    let most = (POINTS / runs.len().max(1)).max(FEWEST);
    let over_epochs = |id: &str, section, (title, y, caption): (&str, &str, &str)| {
        let curves = curves(runs, id, most);
        figure((id, section, FigureKind::Lines), (title, caption), ("epoch", y), curves)
    };
    let mut bound =
        over_epochs("bound", Section::Learning, ("Bound", "bound on log p(x) (nats)", bound_caption(runs)));
    bound.marks = bound_marks(runs);
    let mut all = vec![bound];
    all.extend(TERMS.map(|(id, title, what)| over_epochs(id, Section::Learning, (title, "nats", what))));
    for (id, title, y, what) in CHAIN {
        all.push(over_epochs(id, Section::Chain, (title, y, what)));
        if id == "acceptance_rate" {
            all.push(by_step(runs, most));
        }
    }
    all.push(divergences(runs, most));
    all.extend(trust(runs));
    for figure in &mut all {
        // Titles may hold names of runs; captions and axes do not.
        let noun = noun(runs);
        figure.caption = noun.say(&figure.caption);
        figure.y = noun.say(&figure.y);
    }
    // A term that a chain does not have is 0 everywhere.
    all.retain(|f| f.curves.iter().any(|c| c.points.iter().any(|p| p.1 != 0.0)));
    all
}

fn figure(
    (id, section, kind): (&str, Section, FigureKind),
    (title, caption): (&str, &str),
    (x, y): (&str, &str),
    curves: Vec<Curve>,
) -> Figure {
    let [id, title, caption, x, y] = [id, title, caption, x, y].map(String::from);
    Figure { id, section, kind, title, caption, x, y, curves, marks: Vec::new() }
}

fn bound_caption(runs: &[RunData]) -> &'static str {
    match runs.len() {
        1 => "Mean over the images of an epoch; larger is better. Validation images are not trained on.",
        _ => "Mean over validation images, which are not trained on; larger is better.",
    }
}

/// The best validation bound of the model that a run began with. Published bounds are of test images.
fn bound_marks(runs: &[RunData]) -> Vec<Mark> {
    let [run] = runs else { return Vec::new() };
    let best = |from: &RunData| from.facts.summary.as_ref()?.best_validation_bound;
    let from = run.began_with.as_deref().and_then(best);
    let mark = |value| Mark { name: "basic model".into(), value, axis: MarkAxis::Y };
    from.map(mark).into_iter().collect()
}

/// A value of all runs over epochs: of training and validation images for one run, of validation images for several.
/// Curves without points stay, so that a run has the same place, and with it the same colour, in all figures.
fn curves(runs: &[RunData], key: &str, most: usize) -> Vec<Curve> {
    let train = |e: &Epoch| e.train.get(key).copied();
    let validation = |e: &Epoch| e.validation.as_ref()?.get(key).copied();
    match runs {
        // It does not depend on the images: one curve says it all.
        [run] if key == "alpha" => vec![curve("training", run, most, &train)],
        [run] => vec![curve("training", run, most, &train), curve("validation", run, most, &validation)],
        // Not everything is looked at with validation images.
        _ => runs
            .iter()
            .map(|run| curve(&run.facts.name, run, most, &|e| validation(e).or_else(|| train(e))))
            .collect(),
    }
}

fn curve(name: &str, run: &RunData, most: usize, value: &dyn Fn(&Epoch) -> Option<f64>) -> Curve {
    let point = |e: &Epoch| Some((e.epoch as f64, value(e).filter(|v| v.is_finite())?));
    let points: Vec<(f64, f64)> = run.epochs.iter().filter_map(point).collect();
    Curve { name: name.into(), points: thin(&points, most) }
}

/// At most so many points, evenly spaced, the first and the last among them.
fn thin(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    if points.len() <= most {
        return points.to_vec();
    }
    (0..most).map(|i| points[i * (points.len() - 1) / (most - 1)]).collect()
}

/// Acceptance of each HMC step: over epochs for one run, in the last look for several.
fn by_step(runs: &[RunData], most: usize) -> Figure {
    let rate = |e: &Epoch, t: u64| e.validation.as_ref()?.get(&format!("acceptance_rate_{t}")).copied();
    let id = ("acceptance_by_step", Section::Chain, FigureKind::Lines);
    let words =
        ("Acceptance by HMC step", "Validation images. The first step starts from the encoder's draw.");
    if let [run] = runs {
        let steps = (1..=run.facts.settings.hmc_steps).take(STEPS);
        let curves = steps.map(|t| curve(&format!("step {t}"), run, most, &|e| rate(e, t)));
        return figure(id, words, ("epoch", "share of proposals"), curves.collect());
    }
    let last = |run: &RunData| {
        let look = run.epochs.iter().rfind(|e| rate(e, 1).is_some());
        let points = (1..=run.facts.settings.hmc_steps).filter_map(|t| Some((t as f64, rate(look?, t)?)));
        Curve { name: run.facts.name.clone(), points: points.collect() }
    };
    let curves = runs.iter().map(last).collect();
    figure(id, words, ("HMC step", "share of proposals"), curves)
}

/// Shares of diverged images, where there were any.
fn divergences(runs: &[RunData], most: usize) -> Figure {
    let share = |e: &Epoch| (e.images > 0).then(|| 100.0 * e.divergences as f64 / e.images as f64);
    let name = |run: &RunData| if runs.len() == 1 { "training".into() } else { run.facts.name.clone() };
    let any = runs.iter().any(|r| r.epochs.iter().any(|e| e.divergences > 0));
    let drawn = |e: &Epoch| share(e).filter(|_| any);
    let curves = runs.iter().map(|run| curve(&name(run), run, most, &drawn)).collect();
    let what = "Training images whose simulation diverged.";
    let id = ("divergences", Section::Chain, FigureKind::Lines);
    figure(id, ("Divergences", what), ("epoch", "% of images"), curves)
}

fn trust(runs: &[RunData]) -> Vec<Figure> {
    let values = |of: &dyn Fn(&RunData, &ImageEvaluation) -> Option<f64>| -> Vec<(String, Vec<f64>)> {
        let run = |run: &RunData| {
            let name = if runs.len() == 1 { noun(runs).say("images") } else { run.facts.name.clone() };
            (name, run.images.iter().filter_map(|i| of(run, i).filter(|v| v.is_finite())).collect())
        };
        runs.iter().map(run).collect()
    };
    let k_hat = values(&|_, i| i.k_hat);
    let share = values(&|run, i| {
        let samples = run.facts.evaluation.as_ref()?.importance_sampling.as_ref()?.samples;
        Some(100.0 * i.effective_sample_size? / samples as f64)
    });
    let all = |runs: &[(String, Vec<f64>)]| runs.iter().flat_map(|r| r.1.clone()).collect::<Vec<f64>>();
    let (low, high) = all(&k_hat).into_iter().fold((0.0, 1.0), |(l, h): (f64, f64), v| (l.min(v), h.max(v)));
    let most = all(&share).into_iter().fold(0.0, f64::max);
    let range = ((low * 10.0).floor() / 10.0, (high * 10.0).ceil() / 10.0);
    let id = |id| (id, Section::Trust, FigureKind::Steps);
    let mut k_hat = figure(
        id("k_hat"),
        ("Pareto k-hat", "The worst draw of each image. Above 0.7, importance sampling is unreliable."),
        ("k-hat", "share of images"),
        histograms(&k_hat, range, BINS),
    );
    k_hat.marks.push(Mark { name: "k-hat = 0.7".into(), value: HIGH_K_HAT, axis: MarkAxis::X });
    let share = figure(
        id("effective_sample_size"),
        ("Effective sample size", "The worst draw of each image, as a share of the samples drawn."),
        ("% of samples", "share of images"),
        histograms(&share, (0.0, if most > 0.0 { most } else { 1.0 }), BINS),
    );
    let mut figures = vec![k_hat, share];
    figures.extend(runs.iter().filter_map(|run| energies(run, runs.len() > 1)));
    figures
}

/// Energies before and after the HMC steps beside those of the posterior.
fn energies(run: &RunData, named: bool) -> Option<Figure> {
    let e = &run.facts.evaluation.as_ref()?.posterior.as_ref()?.energies;
    let curve = |name: &str, shares: &[f64]| {
        let closing = e.edges.last().zip(shares.last()).map(|(x, y)| (*x, *y));
        let points = e.edges.iter().zip(shares).map(|(x, y)| (*x, *y)).chain(closing);
        Curve { name: name.into(), points: points.filter(|p| p.0.is_finite() && p.1.is_finite()).collect() }
    };
    let id = if named { format!("energies_{}", slug(&run.facts.name)) } else { "energies".into() };
    let title = if named { format!("Energy of draws: {}", run.facts.name) } else { "Energy of draws".into() };
    let mut curves = vec![curve("posterior", &e.reference), curve("encoder", &e.initial)];
    if run.facts.settings.hmc_steps > 0 {
        curves.push(curve("after the HMC steps", &e.improved));
    }
    let caption = "The nearer to the posterior's, the better the approximation. The last bin holds everything above it.";
    let axes = ("energy above the posterior's mean (nats)", "share of draws");
    Some(figure((&id, Section::Trust, FigureKind::Steps), (&title, caption), axes, curves))
}

/// A name that can be part of an address.
fn slug(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_both_ends_and_the_order() {
        let points: Vec<(f64, f64)> = (0..1000).map(|i| (f64::from(i), 0.0)).collect();
        let thinned = thin(&points, 40);
        assert_eq!((thinned.len(), thinned[0].0, thinned[39].0), (40, 0.0, 999.0));
        assert!(thinned.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(thin(&points[..7], 40), points[..7]);
    }
}
