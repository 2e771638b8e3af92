//! Name the states of an HMC step with partial momentum updates (`fig:HMC_schematic`, `alg:HMCWithPartial`).

use hmcvi_record::figure::{FlowChart, FlowState};

/// The states and what leads from one to the next, in the order of [`crate::hmc::Transition::step`].
pub fn flow_chart() -> FlowChart {
    let state = |name: &str, meaning: &str| FlowState { name: name.into(), meaning: meaning.into() };
    FlowChart {
        states: vec![
            state("s_{t−1} = (z_{t−1}, v_{t−1})", "state of the chain"),
            state("s*_{t−1} = (z_{t−1}, u_{t−1})", "state with the updated momentum"),
            state("s_HD = (z_HD, v_HD)", "end of the simulation"),
            state("s̃_t = (z_HD, −v_HD)", "proposed state"),
        ],
        steps: vec![
            "update the momentum, v_samp from f_kin:\nu_{t−1} = α v_{t−1} + √(1−α²) v_samp".into(),
            "simulate Hamiltonian dynamics:\nleapfrog steps on U(z) = −log p(x, z)".into(),
            "negate the momentum".into(),
            "accept with probability min[1, exp(H(s*_{t−1}) − H(s̃_t))],\nthen negate the momentum".into(),
        ],
        ends: vec![
            ("accepted".into(), "s_t = (z_HD, v_HD)".into()),
            ("rejected".into(), "s_t = (z_{t−1}, −u_{t−1})".into()),
        ],
    }
}
