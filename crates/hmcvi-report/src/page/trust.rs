//! Show how far results can be trusted, estimator by estimator.

use hmcvi_record::{
    AnnealingSettings, Estimate, Evaluation, PosteriorDistance, PosteriorQuality, Report, RunReport,
};
use maud::{Markup, html};

use super::table::{table, with_note};
use super::{noun, typed};
use crate::Noun;
use crate::words::{counted, fixed, grouped, with_error};

/// One of the distances.
type Distance = fn(&PosteriorDistance) -> &Estimate;

/// A line of the table: its name, and its value for an evaluation with small print.
type Line = (&'static str, fn(&Evaluation, Noun) -> Option<(String, String)>);

const LINES: [Line; 16] = [
    ("Importance samples", |e, _| {
        let s = e.importance_sampling.as_ref()?;
        let wide = match s.proposal_scale {
            1.0 => String::new(),
            scale => format!(", covariance × {scale}"),
        };
        Some((grouped(s.samples), format!("{}{wide}", s.proposal)))
    }),
    ("Effective sample size, mean", |e, _| plain(e.importance_sampling.as_ref()?.effective_sample_size, 1)),
    ("Variance of log weights, mean", |e, _| plain(e.importance_sampling.as_ref()?.log_weight_variance, 2)),
    ("k-hat, median", |e, _| plain(e.importance_sampling.as_ref()?.k_hat_median?, 2)),
    ("Images with k-hat above 0.7 (%)", |e, _| plain(100.0 * e.importance_sampling.as_ref()?.k_hat_high, 1)),
    ("Quadrature above importance sampling (nats)", |e, _| {
        e.quadrature.as_ref()?.above_importance_sampling.as_ref().and_then(pair)
    }),
    ("Annealing", |e, noun| {
        let a = e.annealing.as_ref()?;
        Some(annealed(&a.settings, a.images, noun))
    }),
    ("Acceptance of annealing", |e, _| plain(e.annealing.as_ref()?.acceptance_rate, 2)),
    ("Annealing above importance sampling (nats)", |e, _| {
        e.annealing.as_ref()?.above_importance_sampling.as_ref().and_then(pair)
    }),
    ("BDMC: lower bound on log p(x) (nats)", |e, _| pair(&e.bidirectional.as_ref()?.lower)),
    ("BDMC: upper bound on log p(x) (nats)", |e, _| pair(&e.bidirectional.as_ref()?.upper)),
    ("BDMC: gap (nats)", |e, noun| {
        let b = e.bidirectional.as_ref()?;
        noted(&b.gap, &noun.counted(b.points, "simulated"))
    }),
    ("Better reverse models would add: own Gaussians (nats)", |e, noun| {
        let r = e.reverse.as_ref()?;
        noted(&r.own, &noun.counted(r.images, ""))
    }),
    ("… with means linear in position (nats)", |e, _| pair(&e.reverse.as_ref()?.linear)),
    ("… and correlations (nats)", |e, _| pair(&e.reverse.as_ref()?.correlated)),
    ("Divergent simulations", |e, _| Some((grouped(e.divergences), String::new()))),
];

pub(super) fn trust(report: &Report) -> Markup {
    let noun = noun(report);
    let evaluated: Vec<(&RunReport, &Evaluation)> =
        report.runs.iter().filter_map(|r| Some((r, r.facts.evaluation.as_ref()?))).collect();
    if evaluated.is_empty() {
        let command = |r: &RunReport| format!("hmcvi eval {}", crate::report::quoted(&r.facts.place));
        let commands: Vec<String> = report.runs.iter().map(command).collect();
        return html! {
            div class="lone" {
                p class="first" { (noun.say("Nothing is known before an evaluation on test images:")) }
                (typed(&commands.join("\n")))
            }
        };
    }
    let row = |(name, of): &Line| {
        let cells: Vec<Option<(String, String)>> = evaluated.iter().map(|(_, e)| of(e, noun)).collect();
        let known = cells.iter().any(Option::is_some);
        let cell = |cell: Option<(String, String)>| match cell {
            Some((text, note)) => with_note(text, &note),
            None => html! { "–" },
        };
        known
            .then(|| std::iter::once(html! { (noun.say(name)) }).chain(cells.into_iter().map(cell)).collect())
    };
    let rows: Vec<Vec<Markup>> = LINES.iter().filter_map(row).collect();
    let names = evaluated.iter().map(|(r, _)| html! { (r.facts.name) });
    let titles: Vec<Markup> = std::iter::once(html! { "Diagnostic" }).chain(names).collect();
    html! {
        div class="lone" { (table("Diagnostics of the estimators", &titles, &rows)) }
        @for (run, evaluation) in &evaluated {
            @if let Some(quality) = &evaluation.posterior { (posterior(run, quality, noun)) }
        }
    }
}

fn plain(value: f64, decimals: usize) -> Option<(String, String)> {
    Some((fixed(value, decimals), String::new()))
}

fn pair(e: &Estimate) -> Option<(String, String)> {
    noted(e, "")
}

fn noted(e: &Estimate, note: &str) -> Option<(String, String)> {
    Some((with_error(e.mean, e.standard_error, 3), note.into()))
}

fn annealed(s: &AnnealingSettings, images: u64, noun: Noun) -> (String, String) {
    let (chains, steps) = (counted(s.chains, "chain"), counted(s.leapfrog_steps, "leapfrog step"));
    let note =
        format!("{}, from the {}; {chains} of {steps}; {}", s.schedule, s.start, noun.counted(images, ""));
    (counted(s.temperatures, "temperature"), note)
}

/// Distances from the posterior: of the encoder, and of what HMC steps make of its draws where there are any.
fn posterior(run: &RunReport, p: &PosteriorQuality, noun: Noun) -> Markup {
    let of: [(&str, Distance); 3] = [
        ("KL divergence of Gaussians (nats)", |d| &d.gaussian_kl),
        ("1-Wasserstein (standard deviations)", |d| &d.wasserstein),
        ("Energy above the posterior’s (nats)", |d| &d.energy_excess),
    ];
    let columns: &[(&str, &PosteriorDistance)] = match run.facts.settings.hmc_steps {
        0 => &[("Encoder", &p.initial)],
        _ => &[("Encoder", &p.initial), ("After the HMC steps", &p.improved), ("Gain", &p.gain)],
    };
    let row = |(name, of): &(&str, Distance)| {
        let value = |e: &Estimate| with_error(e.mean, e.standard_error, 3);
        std::iter::once(name.to_string()).chain(columns.iter().map(|(_, d)| value(of(d)))).collect()
    };
    let rows: Vec<Vec<String>> = of.iter().map(row).collect();
    let titles = std::iter::once("Distance from the posterior").chain(columns.iter().map(|(name, _)| *name));
    let titles: Vec<String> = titles.map(String::from).collect();
    let caption = format!(
        "{}: {} against {} of {}; largest R-hat {}, smallest effective sample size {}",
        run.facts.name,
        noun.counted(p.images, ""),
        counted(p.chains, "chain"),
        counted(p.draws, "draw"),
        fixed(p.r_hat, 3),
        fixed(p.ess_bulk, 0)
    );
    html! { div class="lone" { (table(&caption, &titles, &rows)) } }
}
