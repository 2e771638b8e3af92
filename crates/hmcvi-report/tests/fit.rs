//! Guard what a report on fits shows: which numbers, which pair, and what they are held against.
#![allow(missing_docs, reason = "tests are named for what they guard")]

use hmcvi_record::{DrawTable, FIT_SCHEMA, FitElsewhere, FitMethod, FitRecord, Section};
use hmcvi_report::{FitData, Maker, compare_fits, fit_page, fit_report};

const DRAWS: usize = 500;

/// Draws of `a`, of `b` that follows `a`, and of `c` that has nothing to do with either; large `a` have large weights.
fn table(shift: f64) -> DrawTable {
    let columns = ["lp__", "log_weight__", "a", "b[1]", "c"].map(String::from).to_vec();
    let row = |i: usize| {
        let (a, c) = (i as f64 / DRAWS as f64, (i * 211 % DRAWS) as f64 / DRAWS as f64);
        let noise = (i * 37 % DRAWS) as f64 / DRAWS as f64;
        [0.0, 2.0 * a, a + shift, a + 0.5 * noise, c]
    };
    DrawTable { columns, values: (0..DRAWS).flat_map(row).collect() }
}

fn fit(name: &str, method: FitMethod, shift: f64) -> FitData {
    let record = FitRecord {
        schema: FIT_SCHEMA,
        version: "0.1.0".into(),
        command: vec!["hmcvi".into(), "fit".into(), "toy".into()],
        started: 0,
        model: "toy".into(),
        data_sha256: "0".into(),
        dimension: 3,
        method,
        finished: true,
        bound: Some(-1.5),
        bound_standard_error: Some(0.01),
        bound_together: None,
        log_evidence: Some(-1.25),
        log_evidence_standard_error: Some(0.01),
        k_hat: Some(0.2),
        effective_sample_size: Some(400.0),
        seconds: 1.0,
        divergences: 0,
        chains: 1,
        resampled: false,
        draws: DRAWS as u64,
        parameters: Vec::new(),
        stages: Vec::new(),
        sampler: None,
        evidence: None,
        check: None,
        elsewhere: Some(FitElsewhere { walks: 4, missed: None }),
        generated: None,
    };
    FitData {
        name: name.into(),
        place: format!("runs/{name}"),
        record,
        config: "model = \"toy\"\n".into(),
        chains: vec![table(shift)],
        gaussian: None,
        nuts: Vec::new(),
    }
}

#[test]
fn the_pair_is_the_number_that_weights_move_most_with_the_one_that_follows_it() {
    let report = fit_report(&[fit("one", FitMethod::Hmcvi, 0.0)], Maker::default());
    let pair = report.pair.as_ref().expect("a pair");
    assert_eq!((pair.x.as_str(), pair.y.as_str()), ("a", "b[1]"));
    assert!(
        pair.rule.contains("moved most by importance weights") && pair.rank_correlation > 0.8,
        "{}",
        pair.rule
    );
    assert!(report.comparisons.is_empty(), "there is nothing to compare with");
    let marginals: Vec<&str> =
        report.figures.iter().filter(|f| f.section == Section::Posterior).map(|f| f.title.as_str()).collect();
    assert_eq!(marginals, ["a", "b[1]", "c"], "the least trusted first");
    let page = fit_page(&report);
    assert!(page.contains("id=\"pair\"") && page.contains("hmcvi fit runs/one/fit.toml"));
}

#[test]
fn fits_are_held_against_nuts_where_it_is_among_them_else_against_the_first() {
    let nuts = fit("nuts", FitMethod::Nuts, 0.0);
    let fits = [fit("one", FitMethod::Hmcvi, 0.1), fit("two", FitMethod::Gaussian, 0.2), nuts];
    let against_nuts = compare_fits(&fits);
    let names = |c: &hmcvi_record::FitComparison| (c.name.clone(), c.reference.clone());
    assert_eq!(
        against_nuts.iter().map(names).collect::<Vec<_>>(),
        [("one", "nuts"), ("two", "nuts")].map(|(a, b)| (a.to_string(), b.to_string()))
    );
    // `a` is uniform over 500 steps: its deviation is √((500² - 1) / 12) / 500, about 0.289.
    let worst = &against_nuts[1].parameters[0];
    let scale =
        0.2 / ((DRAWS * DRAWS - 1) as f64 / 12.0 * DRAWS as f64 / (DRAWS - 1) as f64).sqrt() * DRAWS as f64;
    assert_eq!(worst.name, "a");
    for found in [worst.mean, worst.wasserstein] {
        assert!((found.expect("finite") - scale).abs() < 1e-9, "{worst:?} {scale}");
    }
    assert_eq!(compare_fits(&fits[..2])[0].reference, "one");
    let report = fit_report(&fits, Maker::default());
    assert_eq!(report.runs.len(), 3);
    assert!(fit_page(&report).contains("two against nuts"));
}
