//! List the posteriors of the table: those with reference draws, and those with published bounds.

/// A posterior of posteriordb with reference draws, by the name that it has there.
pub(super) struct Reference {
    pub(super) posterior: &'static str,
    /// The built-in model.
    pub(super) model: &'static str,
    /// Settings other than the usual ones.
    pub(super) settings: &'static [&'static str],
}

/// A posterior on whose log evidence others have published a lower bound.
pub(super) struct Published {
    /// The built-in model.
    pub(super) model: &'static str,
    /// The best published bound, in nats.
    pub(super) bound: f64,
    /// Whose it is.
    pub(super) by: &'static str,
    /// The log evidence, where it is known without estimating it.
    pub(super) log_evidence: Option<f64>,
    /// Settings other than the usual ones.
    pub(super) settings: &'static [&'static str],
}

const fn reference(posterior: &'static str, model: &'static str) -> Reference {
    Reference { posterior, model, settings: &[] }
}

pub(super) const REFERENCES: [Reference; 17] = [
    reference("eight_schools-eight_schools_noncentered", "eight-schools"),
    reference("arK-arK", "ark"),
    reference("arma-arma11", "arma"),
    reference("garch-garch11", "garch"),
    reference("low_dim_gauss_mix-low_dim_gauss_mix", "mixture"),
    reference("gp_pois_regr-gp_regr", "gp"),
    reference("sblrc-blr", "regression"),
    // At the usual rate the noise of learning its 26 dimensions is more than what it differs from a Gaussian by.
    Reference { settings: &["learning.rate=0.003"], ..reference("diamonds-diamonds", "diamonds") },
    reference("earnings-earn_height", "earnings"),
    reference("earnings-logearn_interaction_z", "log-earnings"),
    reference("kidiq-kidscore_interaction", "kidscore-interaction"),
    reference("kidiq-kidscore_momhsiq", "kidscore-momhsiq"),
    reference("kidiq_with_mom_work-kidscore_mom_work", "kidscore-mom-work"),
    reference("mesquite-mesquite", "mesquite"),
    reference("mesquite-logmesquite_logvas", "log-mesquite"),
    reference("nes1972-nes", "nes1972"),
    reference("nes2000-nes", "nes2000"),
];

const fn published(
    model: &'static str,
    bound: f64,
    by: &'static str,
    settings: &'static [&'static str],
) -> Published {
    Published { model, bound, by, log_evidence: None, settings }
}

pub(super) const PUBLISHED: [Published; 6] = [
    Published {
        log_evidence: Some(0.0),
        ..published(
            "funnel",
            -0.011,
            "diffusion samplers",
            &["learning.rows=512", "learning.most_updates=6000", "learning.tolerance=0.0005"],
        )
    },
    published("ionosphere", -111.9, "LDVI", &[]),
    published(
        "brownian",
        1.06,
        "CMCD",
        &[
            "chain.hmc_steps=32",
            "chain.leapfrog_steps=2",
            "learning.rows=128",
            "learning.most_updates=3000",
            "learning.tolerance=0",
        ],
    ),
    published(
        "seeds",
        -73.45,
        "CMCD",
        &[
            "chain.hmc_steps=64",
            "chain.leapfrog_steps=1",
            "learning.rows=256",
            "learning.most_updates=9000",
            "learning.tolerance=0",
        ],
    ),
    published("credit", -504.46, "diffusion samplers", &[]),
    published("sonar", -108.18, "SCLD", &[]),
];
