//! Hold the 22 rows of the paper's table (`tab:Results`) by name.

use super::families::family_preset;
use super::spec::RunSpec;
use crate::family::{
    Acceptance, AcceptanceGradient, Bridge, ChainSettings, Mass, Reverse, ReverseNetworks, StepSize, Writing,
};

/// One row of the paper's table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperRow {
    /// Name of the preset.
    pub preset: &'static str,
    /// The paper's name.
    pub name: &'static str,
    /// Latent dimensions.
    pub latent: usize,
    /// The chain.
    pub chain: ChainSettings,
    /// Published bound, `-log p(x) ≤`.
    pub bound: f64,
    /// Published estimate, `-log p(x) ≈`.
    pub nll: f64,
}

const fn row(
    names: (&'static str, &'static str),
    (latent, hmc_steps, leapfrog_steps): (usize, usize, usize),
    (partial_momentum, mass, acceptance): (bool, Mass, Acceptance),
    (bound, nll): (f64, f64),
) -> PaperRow {
    let (step_size, reverse) = (StepSize::Global, Reverse::Network);
    let acceptance_gradient = AcceptanceGradient::Pathwise;
    let chain = ChainSettings {
        hmc_steps,
        leapfrog_steps,
        partial_momentum,
        mass,
        acceptance,
        acceptance_gradient,
        step_size,
        reverse,
        reverse_networks: ReverseNetworks::One,
        bridge: Bridge::None,
        per_step: false,
        per_step_network: false,
        tempering: false,
        writing: Writing::Automatic,
    };
    PaperRow { preset: names.0, name: names.1, latent, chain, bound, nll }
}

use Acceptance::{Network as NnA, None as Off, Simple};
use Mass::{Global, Identity, Network as Nn};

/// The paper's table: d, #HMC, #LF; partial, M, accept; bound and estimate.
pub const PAPER_TABLE: [PaperRow; 22] = [
    row(("basic-2d", "Basic VI 2D"), (2, 0, 0), (false, Global, Off), (131.76, 128.95)),
    row(("hmcvi-1", "HMCVI 1"), (2, 1, 4), (false, Global, Off), (130.12, 127.50)),
    row(("hmcvi-2", "HMCVI 2"), (2, 1, 12), (false, Global, Off), (130.11, 127.54)),
    row(("hmcvi-3", "HMCVI 3"), (2, 2, 6), (false, Global, Off), (129.78, 127.27)),
    row(("hmcvi-4", "HMCVI 4"), (2, 3, 4), (false, Global, Off), (129.62, 127.14)),
    row(("hmcvi-5", "HMCVI 5"), (2, 3, 4), (true, Global, Off), (129.25, 127.03)),
    row(("hmcvi-6", "HMCVI 6"), (2, 3, 4), (false, Identity, Off), (129.59, 127.11)),
    row(("hmcvi-7", "HMCVI 7"), (2, 3, 4), (false, Nn, Off), (129.32, 127.06)),
    row(("hmcvi-8", "HMCVI 8"), (2, 3, 4), (true, Nn, Off), (128.96, 126.94)),
    row(("hmcvi-9", "HMCVI 9"), (2, 3, 4), (false, Global, Simple), (129.93, 127.24)),
    row(("hmcvi-10", "HMCVI 10"), (2, 3, 4), (false, Global, NnA), (129.88, 127.17)),
    row(("basic-20d", "Basic VI 20D"), (20, 0, 0), (false, Global, Off), (92.35, 88.27)),
    row(("hmcvi-11", "HMCVI 11"), (20, 1, 12), (false, Global, Off), (89.77, 87.77)),
    row(("hmcvi-12", "HMCVI 12"), (20, 2, 6), (false, Global, Off), (89.83, 87.53)),
    row(("hmcvi-13", "HMCVI 13"), (20, 3, 4), (false, Global, Off), (90.24, 87.56)),
    row(("hmcvi-14", "HMCVI 14"), (20, 3, 4), (true, Global, Off), (90.15, 87.49)),
    row(("hmcvi-15", "HMCVI 15"), (20, 3, 4), (false, Identity, Off), (91.08, 87.65)),
    row(("hmcvi-16", "HMCVI 16"), (20, 3, 4), (false, Nn, Off), (90.23, 87.30)),
    row(("hmcvi-17", "HMCVI 17"), (20, 3, 4), (true, Nn, Off), (89.72, 87.44)),
    row(("hmcvi-18", "HMCVI 18"), (20, 3, 4), (false, Global, Simple), (91.40, 87.28)),
    row(("hmcvi-19", "HMCVI 19"), (20, 3, 4), (false, Global, NnA), (91.37, 87.32)),
    row(("hmcvi-20", "HMCVI 20"), (20, 3, 4), (false, Nn, Simple), (91.38, 87.20)),
];

/// The settings of a row of the table, or of a family by its name.
pub fn preset(name: &str) -> Option<RunSpec> {
    let Some(row) = PAPER_TABLE.iter().find(|row| row.preset == name) else { return family_preset(name) };
    let mut spec = RunSpec { preset: Some(name.into()), chain: row.chain, ..RunSpec::default() };
    spec.model.latent = row.latent;
    Some(refining(spec))
}

/// HMCVI rows begin with the trained plain model of the same size and refine it.
pub(super) fn refining(mut spec: RunSpec) -> RunSpec {
    if spec.chain.hmc_steps > 0 {
        spec.train.batch = 500;
        spec.train.learning_rate.first = 5e-4;
    }
    spec
}
