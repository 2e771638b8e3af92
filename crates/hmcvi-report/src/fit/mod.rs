//! Show fits of Bayesian models: as a table for a terminal, as findings, and as a report.

mod choose;
mod compare;
mod data;
mod diagnose;
mod differences;
mod figures;
mod report;
mod text;
mod trust;

pub use compare::fits_text;
pub use data::FitData;
pub use diagnose::diagnose_fit;
pub use differences::differences;
pub use figures::trace;
pub use report::{compare_fits, fit_report};
pub use text::fit_text;
pub(crate) use text::{annealed, plain_facts};
pub use trust::{Trust, trust};

#[cfg(test)]
mod tests {
    use hmcvi_record::{FIT_SCHEMA, FitElsewhere, FitMethod, FitRecord, FitRow, FitStage};

    /// A fit that nothing is wrong with.
    pub(super) fn record() -> FitRecord {
        let stage = |name: &str, bound| FitStage {
            name: name.into(),
            stopped: Some("stood-still".into()),
            trace: vec![(50, Some(bound - 1.0)), (100, Some(bound))],
        };
        let row = FitRow {
            name: "mu".into(),
            mean: 4.5,
            sd: 3.25,
            q05: -1.0,
            q50: 4.5,
            q95: 10.0,
            mcse: Some(0.0514),
            rhat: None,
            ess_bulk: None,
            ess_tail: None,
        };
        FitRecord {
            schema: FIT_SCHEMA,
            version: "0.1.0".into(),
            command: vec!["hmcvi".into(), "fit".into()],
            started: 0,
            model: "eight-schools".into(),
            data_sha256: String::new(),
            dimension: 10,
            method: FitMethod::Hmcvi,
            finished: true,
            bound: Some(-31.4),
            bound_standard_error: Some(0.01),
            bound_together: None,
            log_evidence: Some(-31.3),
            log_evidence_standard_error: Some(0.01),
            k_hat: Some(0.3),
            effective_sample_size: Some(3000.0),
            seconds: 3.0,
            divergences: 0,
            chains: 1,
            resampled: false,
            draws: 4000,
            parameters: vec![row],
            stages: vec![stage("gaussian", -32.0), stage("chain", -31.4)],
            sampler: None,
            evidence: None,
            check: None,
            elsewhere: Some(FitElsewhere { walks: 4, missed: None }),
            generated: None,
        }
    }

    #[test]
    fn the_terminal_gets_all_columns_and_every_fact() {
        let text = super::fit_text(&record(), "runs/x");
        for part in [
            "name   mean     sd     q05    q50    q95   mcse  rhat  ess_bulk  ess_tail",
            "mu    4.500  3.250  -1.000  4.500  10.00  0.051     -         -         -",
            "bound         -31.400 ± 0.010 nats",
            "log evidence  -31.300 ± 0.010 nats",
            "k-hat         0.30: ",
            "stopped       gaussian: the bound stood still after 100 updates; chain: ",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
}
