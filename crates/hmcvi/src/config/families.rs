//! Hold families of posterior approximations by the names that others gave them.

use super::presets::{preset, refining};
use super::spec::RunSpec;
use crate::family::{Bridge, ChainSettings, FamilySettings, Reverse, StartKind, WeightGradient};

/// A family that has a name, for each size of the paper's models.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NamedFamily {
    /// Its name; that of a preset has the number of latent dimensions behind it, as in `uha-20d`.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// The chain.
    pub chain: ChainSettings,
    /// Where it begins, and how many draws form the bound.
    pub family: FamilySettings,
}

/// Latent dimensions of presets.
const SIZES: [usize; 2] = [2, 20];

impl NamedFamily {
    /// Names of its presets.
    pub fn presets(&self) -> [String; SIZES.len()] {
        SIZES.map(|latent| format!("{}-{latent}d", self.name))
    }
}

/// All of them, in the order of the page on families.
pub fn named_families() -> Vec<NamedFamily> {
    let one = FamilySettings::default();
    let plain = ChainSettings::basic();
    let eight = FamilySettings { draws: 8, ..one };
    let start = |start| FamilySettings { start, ..one };
    let hmc = ChainSettings::default();
    // Twelve leapfrog steps in all, as in the paper's rows.
    let annealed = ChainSettings { bridge: Bridge::Learnt, reverse: Reverse::Balance, ..hmc };
    let langevin = ChainSettings { hmc_steps: 12, leapfrog_steps: 1, ..annealed };
    let underdamped =
        ChainSettings { partial_momentum: true, per_step: true, bridge: Bridge::Network, ..hmc };
    let tempered = ChainSettings { hmc_steps: 1, leapfrog_steps: 12, tempering: true, ..annealed };
    let doubly = FamilySettings { gradient: WeightGradient::DoublyReparameterised, ..eight };
    let mixture = start(StartKind::Mixture);
    let of = |name, about, chain, family| NamedFamily { name, about, chain, family };
    vec![
        of("iwae", "importance-weighted auto-encoder, 8 draws", plain, eight),
        of("dreg", "the same with doubly reparameterised gradients", plain, doubly),
        of("full-covariance", "Gaussian with all covariances", plain, start(StartKind::FullCovariance)),
        of("mixture", "mixture of 4 Gaussians", plain, mixture),
        of("planar", "4 planar flows", plain, start(StartKind::Planar)),
        of("coupling", "4 coupling flows", plain, start(StartKind::Coupling)),
        of("autoregressive", "4 inverse autoregressive flows", plain, start(StartKind::Autoregressive)),
        of(
            "hmc-per-step",
            "HMCVI with masses and step sizes for every step",
            ChainSettings { per_step: true, ..hmc },
            one,
        ),
        of("hmc-mixture", "HMCVI from a mixture of 4 Gaussians", hmc, mixture),
        of("hmc-annealed", "HMCVI with learnt bridges", ChainSettings { bridge: Bridge::Learnt, ..hmc }, one),
        of(
            "hmc-annealed-mixture",
            "HMCVI with learnt bridges from a mixture of 4 Gaussians",
            ChainSettings { bridge: Bridge::Learnt, ..hmc },
            mixture,
        ),
        of(
            "hmc-flow",
            "HMCVI with a flow in its reverse models",
            ChainSettings { reverse: Reverse::Flow, ..hmc },
            one,
        ),
        of(
            "hmc-score",
            "HMCVI with reverse models that see the score",
            ChainSettings { reverse: Reverse::Score, ..hmc },
            one,
        ),
        of("ula", "unadjusted Langevin annealing", langevin, one),
        of("mcd", "Monte Carlo diffusion", ChainSettings { reverse: Reverse::Network, ..langevin }, one),
        of(
            "dais",
            "differentiable annealed importance sampling",
            ChainSettings { partial_momentum: true, ..langevin },
            one,
        ),
        of(
            "uha",
            "uncorrected Hamiltonian annealing",
            ChainSettings { reverse: Reverse::Balance, ..underdamped },
            one,
        ),
        of("ldvi", "Langevin diffusion variational inference", underdamped, one),
        of("hvae", "Hamiltonian VAE with tempering", ChainSettings { bridge: Bridge::None, ..tempered }, one),
    ]
}

/// The settings of a family by the name of its preset.
pub(super) fn family_preset(name: &str) -> Option<RunSpec> {
    let found = named_families().into_iter().find_map(|family| {
        let size = family.presets().iter().position(|preset| preset == name)?;
        Some((family, SIZES[size]))
    });
    let (NamedFamily { chain, family, .. }, latent) = found?;
    let plain = preset(&format!("basic-{latent}d"))?;
    Some(refining(RunSpec { preset: Some(name.into()), chain, family, ..plain }))
}
