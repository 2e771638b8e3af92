//! List the posteriors of the table: those with reference draws, and those with published bounds.

/// A posterior of posteriordb with reference draws, by the name that it has there.
pub(super) struct Reference {
    pub(super) posterior: &'static str,
    /// The built-in model.
    pub(super) model: &'static str,
}

/// A posterior on whose log evidence others have published a lower bound.
pub(super) struct Published {
    /// The built-in model.
    pub(super) model: &'static str,
    /// The best published bound, in nats.
    pub(super) bound: f64,
    /// Whose it is.
    pub(super) by: &'static str,
    /// Settings other than the usual ones.
    pub(super) settings: &'static [&'static str],
}

const fn reference(posterior: &'static str, model: &'static str) -> Reference {
    Reference { posterior, model }
}

pub(super) const REFERENCES: [Reference; 17] = [
    reference("eight_schools-eight_schools_noncentered", "eight-schools"),
    reference("arK-arK", "ark"),
    reference("arma-arma11", "arma"),
    reference("garch-garch11", "garch"),
    reference("low_dim_gauss_mix-low_dim_gauss_mix", "mixture"),
    reference("gp_pois_regr-gp_regr", "gp"),
    reference("sblrc-blr", "regression"),
    reference("diamonds-diamonds", "diamonds"),
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

pub(super) const PUBLISHED: [Published; 6] = [
    Published {
        model: "funnel",
        bound: -0.011,
        by: "diffusion samplers",
        settings: &["learning.rows=1024", "learning.most_updates=20000", "learning.tolerance=0.0002"],
    },
    Published { model: "ionosphere", bound: -111.9, by: "LDVI", settings: &[] },
    Published {
        model: "brownian",
        bound: 1.06,
        by: "CMCD",
        settings: &[
            "chain.hmc_steps=32",
            "chain.leapfrog_steps=2",
            "learning.rows=384",
            "learning.most_updates=9000",
        ],
    },
    Published {
        model: "seeds",
        bound: -73.45,
        by: "CMCD",
        settings: &[
            "chain.hmc_steps=64",
            "chain.leapfrog_steps=1",
            "learning.rows=256",
            "learning.most_updates=9000",
        ],
    },
    Published {
        model: "credit",
        bound: -504.46,
        by: "diffusion samplers",
        settings: &[
            "chain.hmc_steps=16",
            "chain.leapfrog_steps=2",
            "learning.rows=256",
            "learning.most_updates=6000",
            "learning.bend=false",
        ],
    },
    Published {
        model: "sonar",
        bound: -108.18,
        by: "SCLD",
        settings: &[
            "chain.hmc_steps=32",
            "chain.leapfrog_steps=2",
            "learning.rows=256",
            "learning.most_updates=9000",
        ],
    },
];
