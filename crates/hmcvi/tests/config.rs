//! Read, check and change settings, and name what is wrong with them.
#![allow(missing_docs, reason = "tests are named for what they guard")]

use hmcvi::config::{PAPER_TABLE, RunSpec, preset};

/// What is wrong with the default settings after an assignment.
fn error(assignment: &str) -> String {
    RunSpec::default().with_assignments(&[assignment]).expect_err(assignment).to_string()
}

#[test]
fn every_setting_refuses_a_value_of_the_wrong_type_by_name() {
    fn walk(settings: &serde_json::Value, prefix: &str, keys: &mut Vec<String>) {
        for (name, value) in settings.as_object().into_iter().flatten() {
            match value.is_object() {
                true => walk(value, &format!("{prefix}{name}."), keys),
                false => keys.push(format!("{prefix}{name}")),
            }
        }
    }
    let mut keys = Vec::new();
    walk(&serde_json::to_value(RunSpec::default()).expect("plain values"), "", &mut keys);
    keys.extend(["preset".into(), "data.kind".into(), "train.init_from".into()]);
    assert!(keys.len() > 25, "{keys:?}");
    for key in keys {
        for wrong in ["-1.5", "nan", "[true]", "{a = 1}"] {
            let text = error(&format!("{key}={wrong}"));
            assert!(text.starts_with(&format!("`{key}` is ")) && text.contains("but must be"), "{text}");
            assert!(!text.ends_with("must be ") && !text.contains("null"), "{text}");
        }
    }
}

#[test]
fn ranges_are_named_and_their_ends_are_meant() {
    for (assignment, expected) in [
        ("model.latent=0", "`model.latent` is 0, but must be a whole number from 1 to 4096"),
        ("seed=-1", "`seed` is -1, but must be a whole number of at least 0"),
        (
            "train.learning_rate.first=0",
            "`train.learning_rate.first` is 0, but must be a number above 0 and at most 1",
        ),
        ("train.adam.beta1=1.0", "`train.adam.beta1` is 1.0, but must be a number of at least 0 and below 1"),
        ("train.adam.epsilon=0.0", "`train.adam.epsilon` is 0.0, but must be a number above 0 and below 1"),
        (
            "train.adam.max_grad_norm=1e31",
            "`train.adam.max_grad_norm` is 1e+31, but must be a number from 0 to 1e+30",
        ),
        (
            "model.hidden=[0]",
            "`model.hidden` is [0], but must be a list of at most 64 whole numbers from 1 to 65536, such as [200,200]",
        ),
        (
            "chain.leapfrog_steps=0",
            "`chain.leapfrog_steps` is 0, but must be at least 1 where `chain.hmc_steps` is not 0",
        ),
    ] {
        assert_eq!(error(assignment), expected);
    }
    for fine in ["model.latent=4096", "train.average=1", "train.learning_rate.first=1", "train.adam.beta1=0"]
    {
        RunSpec::default().with_assignments(&[fine]).expect(fine);
    }
}

#[test]
fn unknown_settings_get_the_nearest_one() {
    for (assignment, expected) in [
        ("train.epoch=3", "did you mean `train.epochs`?"),
        ("epochs=3", "did you mean `train.epochs`?"),
        ("train.learning-rate=0.1", "did you mean `train.learning_rate`?"),
        ("model.max_grad_norm=1", "did you mean `train.adam.max_grad_norm`?"),
        ("chain.leap_frog_steps=3", "did you mean `chain.leapfrog_steps`?"),
        ("eval.q=3", "`eval` has the settings importance_samples, seed"),
        ("q=3", "a run has the settings chain, data, eval, family, model, preset, seed, train"),
    ] {
        let text = error(assignment);
        assert!(
            text.starts_with("there is no setting `") && text.ends_with(expected),
            "{assignment}: {text}"
        );
    }
    let text = RunSpec::from_toml("[chain]\nmas = \"global\"\n").expect_err("unknown").to_string();
    assert_eq!(text, "there is no setting `chain.mas`; did you mean `chain.mass`?");
}

#[test]
fn a_value_for_a_table_is_sent_to_the_setting_it_fits() {
    assert!(error("train.learning_rate=0.01").contains("set `train.learning_rate.first=0.01`"));
    assert!(error("train.learning_rate=linear").contains("set `train.learning_rate.kind=\"linear\"`"));
    assert!(error("train=3").contains("`train` is a table of settings"));
}

#[test]
fn what_is_written_is_read_back() {
    for row in &PAPER_TABLE {
        let mut spec = preset(row.preset).expect("a preset");
        spec.seed = u64::MAX;
        assert_eq!(RunSpec::from_toml(&spec.to_toml()).expect("its own text"), spec);
        assert_eq!(spec.with_assignments::<&str>(&[]).expect("unchanged"), spec);
        spec.check().expect("a preset is valid");
    }
    let mut spec = RunSpec::default();
    spec.train.average = f64::NAN;
    let text = spec.check().expect_err("NaN").to_string();
    assert_eq!(text, "`train.average` is not a finite number, but must be a number from 0 to 1");
}

#[test]
fn settings_keep_their_old_names_for_reading() {
    let old = "[train.adam]\nlongest_gradient = 12.5\n";
    let spec = RunSpec::from_toml(old).expect("an old file");
    assert_eq!(spec.train.adam.max_grad_norm, 12.5);
    assert!(!spec.to_toml().contains("longest_gradient"));
    let both = "[train.adam]\nlongest_gradient = 12.5\nmax_grad_norm = 3.0\n";
    assert_eq!(RunSpec::from_toml(both).expect("the new name wins").train.adam.max_grad_norm, 3.0);
    let set = RunSpec::default().with_assignments(&["train.adam.longest_gradient=7"]).expect("an old name");
    assert_eq!(set.train.adam.max_grad_norm, 7.0);
}
