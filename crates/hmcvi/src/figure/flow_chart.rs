//! Name the states of an HMC step with partial momentum updates (`fig:HMC_schematic`, `alg:HMCWithPartial`).

use hmcvi_record::figure::{FlowChart, FlowState};

/// The states and what leads from one to the next, in the order of [`crate::hmc::Transition::step`].
pub fn flow_chart() -> FlowChart {
    let state = |name: &str, meaning: &str| FlowState { name: name.into(), meaning: meaning.into() };
    FlowChart {
        states: vec![
            state("sₜ₋₁ = (zₜ₋₁, vₜ₋₁)", "state of the chain"),
            state("s*ₜ₋₁ = (zₜ₋₁, uₜ₋₁)", "state with the updated momentum"),
            state("s_HD = (z_HD, v_HD)", "end of the simulation"),
            state("s̃ₜ = (z_HD, −v_HD)", "proposed state"),
        ],
        steps: vec![
            "update the momentum: uₜ₋₁ = α vₜ₋₁ + √(1−α²) v_samp,  v_samp from f_kin".into(),
            "simulate Hamiltonian dynamics: leapfrog steps on U(z) = −log p(x, z)".into(),
            "negate the momentum".into(),
            "accept with probability min[1, exp(H(s*ₜ₋₁) − H(s̃ₜ))], then negate the momentum".into(),
        ],
        ends: vec![
            ("accepted".into(), "sₜ = (z_HD, v_HD)".into()),
            ("rejected".into(), "sₜ = (zₜ₋₁, −uₜ₋₁)".into()),
        ],
    }
}
