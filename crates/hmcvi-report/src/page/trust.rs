//! Show how far results can be trusted, estimator by estimator.

use hmcvi_record::{
    AnnealingSettings, Estimate, Evaluation, PosteriorDistance, PosteriorQuality, Report, RunReport,
};

use super::html::{escape, fixed};
use super::table::table;
use crate::report::grouped;

/// One of the distances.
type Distance = fn(&PosteriorDistance) -> &Estimate;

/// A line of the table: its name, and its value for an evaluation.
type Line = (&'static str, fn(&Evaluation) -> Option<String>);

const LINES: [Line; 16] = [
    ("Importance samples", |e| {
        let s = e.importance_sampling.as_ref()?;
        let wide = if s.proposal_scale == 1.0 {
            String::new()
        } else {
            format!(", covariance × {}", s.proposal_scale)
        };
        Some(format!("{} <small>{}{wide}</small>", grouped(s.samples), escape(&s.proposal)))
    }),
    ("Effective sample size, mean", |e| {
        Some(fixed(e.importance_sampling.as_ref()?.effective_sample_size, 1))
    }),
    ("Variance of log weights, mean", |e| {
        Some(fixed(e.importance_sampling.as_ref()?.log_weight_variance, 2))
    }),
    ("k-hat, median", |e| Some(fixed(e.importance_sampling.as_ref()?.k_hat_median?, 2))),
    ("Images with k-hat above 0.7", |e| {
        Some(format!("{} %", fixed(100.0 * e.importance_sampling.as_ref()?.k_hat_high, 1)))
    }),
    ("Quadrature above importance sampling (nats)", |e| {
        e.quadrature.as_ref()?.above_importance_sampling.as_ref().map(pair)
    }),
    ("Annealing", |e| Some(annealed(&e.annealing.as_ref()?.settings, e.annealing.as_ref()?.images))),
    ("Acceptance of annealing", |e| Some(fixed(e.annealing.as_ref()?.acceptance_rate, 2))),
    ("Annealing above importance sampling (nats)", |e| {
        e.annealing.as_ref()?.above_importance_sampling.as_ref().map(pair)
    }),
    ("Bidirectional: lower bound on log p(x) (nats)", |e| Some(pair(&e.bidirectional.as_ref()?.lower))),
    ("Bidirectional: upper bound on log p(x) (nats)", |e| Some(pair(&e.bidirectional.as_ref()?.upper))),
    ("Bidirectional: gap (nats)", |e| {
        let b = e.bidirectional.as_ref()?;
        Some(format!("{} <small>{} simulated images</small>", pair(&b.gap), grouped(b.points)))
    }),
    ("Better reverse models would add: own Gaussians (nats)", |e| {
        let r = e.reverse.as_ref()?;
        Some(format!("{} <small>{} images</small>", pair(&r.own), grouped(r.images)))
    }),
    ("… with means linear in position (nats)", |e| Some(pair(&e.reverse.as_ref()?.linear))),
    ("… and correlations (nats)", |e| Some(pair(&e.reverse.as_ref()?.correlated))),
    ("Simulations that diverged", |e| Some(grouped(e.divergences))),
];

pub(super) fn trust(report: &Report) -> String {
    let judged: Vec<(&RunReport, &Evaluation)> =
        report.runs.iter().filter_map(|r| Some((r, r.facts.evaluation.as_ref()?))).collect();
    if judged.is_empty() {
        let commands: Vec<String> = report
            .runs
            .iter()
            .map(|r| format!("hmcvi eval {}", crate::report::quoted(&r.facts.place)))
            .collect();
        return format!(
            "<div class=\"lone\"><p style=\"margin:0\">Nothing is known before test images were looked at:</p>\n\
             <pre tabindex=\"0\"><code>{}</code></pre></div>\n",
            escape(&commands.join("\n"))
        );
    }
    let row = |(name, of): &Line| {
        let cells: Vec<Option<String>> = judged.iter().map(|(_, e)| of(e)).collect();
        let known = cells.iter().any(Option::is_some);
        let cells = cells.into_iter().map(|c| c.unwrap_or("–".into()));
        known.then(|| std::iter::once(name.to_string()).chain(cells).collect::<Vec<String>>())
    };
    let rows: Vec<Vec<String>> = LINES.iter().filter_map(row).collect();
    let mut titles = vec!["Diagnostic".to_string()];
    titles.extend(judged.iter().map(|(r, _)| escape(&r.facts.name)));
    let mut out =
        format!("<div class=\"lone\">{}</div>\n", table("Diagnostics of the estimators", &titles, &rows));
    for (run, evaluation) in &judged {
        if let Some(quality) = &evaluation.posterior {
            out += &posterior(run, quality);
        }
    }
    out
}

fn pair(e: &Estimate) -> String {
    format!("{} ± {}", fixed(e.mean, 3), fixed(e.standard_error, 3))
}

fn annealed(s: &AnnealingSettings, images: u64) -> String {
    format!(
        "{} temperatures <small>{}, from the {}; {} chains of {} leapfrog steps; {} images</small>",
        grouped(s.temperatures),
        escape(&s.schedule),
        escape(&s.start),
        s.chains,
        s.leapfrog_steps,
        grouped(images)
    )
}

fn posterior(run: &RunReport, p: &PosteriorQuality) -> String {
    let of: [(&str, Distance); 3] = [
        ("KL divergence of Gaussians (nats)", |d| &d.gaussian_kl),
        ("1-Wasserstein (standard deviations)", |d| &d.wasserstein),
        ("Energy above the posterior’s (nats)", |d| &d.energy_excess),
    ];
    let rows: Vec<Vec<String>> = of
        .iter()
        .map(|(name, of)| {
            vec![name.to_string(), pair(of(&p.initial)), pair(of(&p.improved)), pair(of(&p.gain))]
        })
        .collect();
    let titles = ["Distance from the posterior", "Encoder", "After the HMC steps", "Gain"].map(String::from);
    let caption = format!(
        "{}: {} images against {} chains of {} draws; largest R-hat {}, smallest effective sample size {}",
        run.facts.name,
        p.images,
        p.chains,
        p.draws,
        fixed(p.r_hat, 3),
        fixed(p.effective_sample_size, 0)
    );
    format!("<div class=\"lone\" style=\"margin-top:1rem\">{}</div>\n", table(&caption, &titles, &rows))
}
