//! Show an evaluation as a table for a terminal.

use hmcvi_record::{
    Annealing, Bidirectional, Estimate, Evaluation, PosteriorQuality, Quadrature, ReverseQuality,
};

use crate::table::{Align, Table};
use crate::{Noun, counted};

/// The table and what it means. `paper` holds the published bound and negative log-likelihood.
pub fn evaluation_text(record: &Evaluation, paper: Option<(f64, f64)>, noun: Noun) -> String {
    let first = noun.say("nats per image, smaller is better");
    let titles = [
        (first.as_str(), Align::Left),
        ("here", Align::Right),
        ("standard error", Align::Right),
        ("paper", Align::Right),
    ];
    let columns = if paper.is_some() { titles.len() } else { titles.len() - 1 };
    let mut table = Table::new(titles.into_iter().take(columns));
    let mut add = |name: &str, estimate: &Estimate, published: Option<f64>| {
        let published = published.map_or("-".into(), |v| format!("{v:.2}"));
        let (mean, error) = (format!("{:.2}", -estimate.mean), format!("{:.2}", estimate.standard_error));
        table.row([name.to_string(), mean, error, published].into_iter().take(columns));
    };
    add("-log p(x) <= (bound)", &record.bound, paper.map(|p| p.0));
    if let Some(encoder) = &record.encoder_bound {
        add(&format!("-log p(x) <= (encoder alone, {} samples)", encoder.samples), &encoder.bound, None);
    }
    if let Some(sampling) = &record.importance_sampling {
        add("-log p(x) ~ (importance sampling)", &sampling.log_likelihood, paper.map(|p| p.1));
    }
    if let Some(quadrature) = &record.quadrature {
        add("-log p(x) = (quadrature)", &quadrature.log_likelihood, None);
    }
    if let Some(annealing) = &record.annealing {
        let name = format!("-log p(x) ~ (annealing, {})", noun.counted(annealing.images, ""));
        add(&name, &annealing.log_likelihood, None);
    }
    let scale = match noun {
        Noun::Image => format!(", pixel scale {}", record.pixel_scale),
        Noun::Row => String::new(),
    };
    let mut text = format!(
        "{}, {} of each{scale}, {} checkpoint (epoch {})\n\n{table}\n",
        noun.counted(record.images, &record.split),
        counted(record.draws, "draw"),
        record.checkpoint,
        record.epoch
    );
    if let Some(s) = &record.importance_sampling {
        let scale = match s.proposal_scale {
            1.0 => String::new(),
            factor => format!(", covariance times {factor}"),
        };
        text += &format!(
            "importance sampling: {} samples ({}{scale}), mean effective sample size {:.0}, variance of log weights {:.2}, \
             k-hat: {}\n",
            s.samples,
            s.proposal,
            s.effective_sample_size,
            s.log_weight_variance,
            s.k_hat_median.map_or("not available".into(), |median| format!(
                "median {median:.2}, above 0.7 for {:.1}% of {}",
                100.0 * s.k_hat_high,
                noun.say("images")
            ))
        );
    }
    text += &record.quadrature.as_ref().map_or(String::new(), |q| noun.say(&quadrature(q)));
    text += &record.annealing.as_ref().map_or(String::new(), annealing);
    text += &record.bidirectional.as_ref().map_or(String::new(), |b| bidirectional(b, noun));
    text += &record.posterior.as_ref().map_or(String::new(), |p| posterior(p, noun));
    text += &record.reverse.as_ref().map_or(String::new(), |r| reverse(r, noun));
    // Models without HMC steps have no terms of momenta.
    let terms = record.terms.iter().filter(|(_, value)| **value != 0.0);
    let terms: Vec<String> = terms.map(|(name, value)| format!("{name} {value:.3}")).collect();
    text += &format!("terms of the bound: {}\n", terms.join(", "));
    if let Some(d) = record.dimensions {
        text += &format!("{} of {} latent dimensions are used\n", d.used, d.all);
    }
    if record.divergences > 0 {
        text += &format!("{} simulations diverged; their draws are left out\n", record.divergences);
    }
    text
}

fn pair(e: &Estimate) -> String {
    format!("{:.3} +- {:.3}", e.mean, e.standard_error)
}

fn quadrature(q: &Quadrature) -> String {
    let above = q.above_importance_sampling.as_ref();
    let above = above.map_or(String::new(), |e| format!(", above importance sampling by {}", pair(e)));
    let rim = q.rim.map_or(String::new(), |rim| format!(", at most {rim:.0e} of a posterior is in the rim"));
    format!(
        "quadrature: points at distances of {}, less for {:.1}% of images; integrals over either half of them differ by at most \
         {:.2}{rim}{above}\n",
        q.spacing,
        100.0 * q.refined,
        q.halves_apart
    )
}

fn annealing(a: &Annealing) -> String {
    let s = &a.settings;
    let above = a.above_importance_sampling.as_ref();
    let above = above.map_or(String::new(), |e| format!(", above importance sampling by {}", pair(e)));
    format!(
        "annealing: {} temperatures ({}, from the {}), {} chains, {} leapfrog steps, acceptance {:.2}, variance of log \
         weights {:.2}{above}\n",
        s.temperatures,
        s.schedule,
        s.start,
        s.chains,
        s.leapfrog_steps,
        a.acceptance_rate,
        a.log_weight_variance
    )
}

fn bidirectional(b: &Bidirectional, noun: Noun) -> String {
    format!(
        "bidirectional Monte Carlo, {}: log p(x) between {} and {}, gap {}\n",
        noun.counted(b.points, "simulated"),
        pair(&b.lower),
        pair(&b.upper),
        pair(&b.gap)
    )
}

fn posterior(p: &PosteriorQuality, noun: Noun) -> String {
    let mut table = Table::new([
        ("distance from the posterior", Align::Left),
        ("encoder", Align::Right),
        ("after HMC steps", Align::Right),
        ("gain", Align::Right),
    ]);
    for (name, of) in [
        (
            "KL divergence of Gaussians (nats)",
            (|d| &d.gaussian_kl) as fn(&hmcvi_record::PosteriorDistance) -> &Estimate,
        ),
        ("1-Wasserstein (standard deviations)", |d| &d.wasserstein),
        ("energy above the posterior's (nats)", |d| &d.energy_excess),
    ] {
        table.row([name.to_string(), pair(of(&p.initial)), pair(of(&p.improved)), pair(of(&p.gain))]);
    }
    format!(
        "\n{table}\nposterior: {}, {} chains of {} draws, largest R-hat {:.3}, smallest effective sample size {:.0}\n",
        noun.counted(p.images, ""),
        p.chains,
        p.draws,
        p.r_hat,
        p.ess_bulk
    )
}

fn reverse(r: &ReverseQuality, noun: Noun) -> String {
    format!(
        "reverse models, {}: a Gaussian for each {} would add {} to the bound, with means linear in position {}, with \
         correlations {}\n",
        noun.counted(r.images, ""),
        noun.say("image"),
        pair(&r.own),
        pair(&r.linear),
        pair(&r.correlated)
    )
}
