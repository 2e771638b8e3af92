//! Fits that are kept in a folder draw the same when they are taken up again, and belong to their model and data alone.

use std::fs;

use hmcvi::bayes::{Bound, Covariance, Data, Fit, Fitted, Model, SavedFitError, normal};
use hmcvi::family::{Acceptance, ChainSettings, Mass};

const Y: [f64; 4] = [0.5, 1.5, 2.0, -1.0];

fn data() -> Data {
    Data::new().with("y", Y).with("sd", 0.5)
}

/// A mean with `extra` variables beside it.
fn bound(prior_sd: f64, noise: f64, extra: Option<(&'static str, usize)>, data: &Data) -> Bound {
    let model = Model::new(move |m| {
        let (y, sd) = (m.data("y"), m.data("sd"));
        let mu = m.sample("mu", normal(0.0, prior_sd));
        let effect = m.sample("effect", normal(0.0, 1.0).shape(4));
        if let Some((name, size)) = extra {
            m.sample(name, normal(0.0, 1.0).shape(size));
        }
        m.observe("y", normal(mu + effect, sd * noise), y);
    });
    model.bind(data).expect("a model")
}

fn plain() -> Bound {
    bound(2.0, 1.0, None, &data())
}

/// As quick as a fit can be: what it is like does not matter here.
fn quick() -> Fit {
    Fit { most_updates: 60, rows: 16, hidden: vec![4], ..Fit::default() }
}

fn saved(settings: &Fit) -> (Fitted, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let fitted = plain().fit(settings).expect("a fit");
    fitted.save(folder.path()).expect("saved");
    (fitted, folder)
}

#[test]
fn draws_after_loading_are_the_same_bits() {
    let chain = ChainSettings {
        hmc_steps: 2,
        leapfrog_steps: 2,
        partial_momentum: true,
        mass: Mass::Global,
        acceptance: Acceptance::Simple,
        ..ChainSettings::default()
    };
    let settings = [
        quick().without_chain(),
        Fit { gaussian: Covariance::LowRank(2), seed: 9, ..quick() },
        Fit { gaussian: Covariance::MeanField, chain, ..quick() },
        quick(),
    ];
    for settings in settings {
        let (fitted, folder) = saved(&settings);
        let loaded = Fitted::load(&plain(), folder.path()).expect("loaded");
        let (before, after) = (fitted.draws(300, 4).expect("draws"), loaded.draws(300, 4).expect("draws"));
        assert_eq!(before.log_weights(), after.log_weights(), "{settings:?}");
        assert!((0..300).all(|draw| before.row(draw) == after.row(draw)), "{settings:?}");
        assert_eq!(before.names(), after.names());
        assert_eq!(fitted.gaussian(), loaded.gaussian());
        assert_eq!(fitted.gaussian_learning(), loaded.gaussian_learning());
        assert_eq!(fitted.chain_learning(), loaded.chain_learning());
        assert_eq!(fitted.seconds().to_bits(), loaded.seconds().to_bits());
        // What is loaded can be kept like what was fitted.
        let again = tempfile::tempdir().expect("a temporary folder");
        loaded.save(again.path().join("new").join("folder")).expect("saved");
        let read = |folder: &std::path::Path| fs::read_to_string(folder.join("fit.json")).expect("read");
        assert_eq!(read(folder.path()), read(&again.path().join("new").join("folder")));
    }
}

#[test]
fn other_models_and_other_data_are_refused_by_name() {
    let (_, folder) = saved(&quick().without_chain());
    let refused = |bound: Bound| Fitted::load(&bound, folder.path()).expect_err("another model").to_string();
    let others = [
        (bound(2.0, 1.0, Some(("more", 2)), &data()), "`more`: the model has this variable, the fit has not"),
        (bound(1.0, 1.0, None, &data()), "`priors`: the log density at a draw of the fit was "),
        (bound(2.0, 2.0, None, &data()), "`y`: the log density at a draw of the fit was "),
        (bound(2.0, 1.0, None, &data().with("y", [0.5, 1.5, 2.0, -1.5])), "`y`: its values are others"),
        (bound(2.0, 1.0, None, &data().with("sd", 0.25)), "`sd`: its values are others"),
        (bound(2.0, 1.0, None, &data().with("x", 1.0)), "`x`: the fit had no such data"),
    ];
    for (bound, why) in others {
        let error = refused(bound);
        assert!(error.starts_with(why), "{error}");
    }
    let without = Model::new(|m| {
        let (y, sd) = (m.data("y"), m.data("sd"));
        let mu = m.sample("mu", normal(0.0, 2.0).shape(4));
        m.observe("y", normal(mu, sd), y);
    });
    let error = refused(without.bind(&data()).expect("a model"));
    let why = "`mu`: in the fit it is a scalar made from 1 real numbers, in the model of shape [4]";
    assert!(error.starts_with(why), "{error}");
    let (_, folder) = saved_with_more();
    let error = Fitted::load(&plain(), folder.path()).expect_err("another model");
    assert_eq!(
        error.to_string(),
        "`more`: the fit has this variable, the model has not; a fit can only be used with the model that it was made with"
    );
}

fn saved_with_more() -> (Fitted, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let fitted = bound(2.0, 1.0, Some(("more", 2)), &data()).fit(&quick().without_chain()).expect("a fit");
    fitted.save(folder.path()).expect("saved");
    (fitted, folder)
}

#[test]
fn a_fit_is_replaced_only_when_that_is_asked_for() {
    let (first, folder) = saved(&quick().without_chain());
    fs::write(folder.path().join("notes.txt"), "mine").expect("written");
    let other = plain().fit(&Fit { seed: 2, ..quick() }.without_chain()).expect("a fit");
    assert!(matches!(other.save(folder.path()), Err(SavedFitError::Exists(_))));
    let drawn = |fitted: &Fitted| fitted.draws(20, 1).expect("draws").log_weights().to_vec();
    let loaded = || Fitted::load(&plain(), folder.path()).expect("loaded");
    assert_eq!(drawn(&loaded()), drawn(&first));
    other.save_over(folder.path()).expect("replaced");
    assert_eq!(drawn(&loaded()), drawn(&other));
    other.save_over(folder.path()).expect("replaced by itself");
    assert_eq!(drawn(&loaded()), drawn(&other));
    let mut names: Vec<String> = fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert!(names.len() == 3 && names[0] == "fit.json" && names[1] == "notes.txt", "{names:?}");
    assert!(names[2].starts_with("parameters-") && names[2].ends_with(".safetensors"), "{names:?}");
}

#[test]
fn what_is_newer_damaged_or_no_fit_is_refused() {
    let (_, folder) = saved(&quick().without_chain());
    let path = folder.path().join("fit.json");
    let text = fs::read_to_string(&path).expect("read");
    let refused = || Fitted::load(&plain(), folder.path()).expect_err("no fit").to_string();
    // A newer version is refused before the rest is looked at.
    fs::write(&path, r#"{"schema": 99, "new": true}"#).expect("written");
    assert!(refused().contains("schema 99 of") && refused().contains("update hmcvi"), "{}", refused());
    fs::write(&path, &text[..text.len() / 2]).expect("written");
    assert!(refused().contains("damaged"), "{}", refused());
    let outside = text.replace("\"parameters-", "\"../parameters-");
    fs::write(&path, outside).expect("written");
    assert!(refused().contains("expected a file in the same folder"), "{}", refused());
    fs::write(&path, &text).expect("written");
    let file = text.split('"').find(|part| part.ends_with(".safetensors")).expect("a file is named");
    let numbers = folder.path().join(file);
    let mut bytes = fs::read(&numbers).expect("read");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&numbers, &bytes).expect("written");
    assert!(refused().contains("changed or damaged"), "{}", refused());
    fs::remove_file(&numbers).expect("removed");
    assert!(refused().contains("cannot read"), "{}", refused());
    let empty = tempfile::tempdir().expect("a temporary folder");
    let error = Fitted::load(&plain(), empty.path()).expect_err("nothing there");
    assert!(matches!(error, SavedFitError::NoFit(_)), "{error}");
    // A file of that name that is no fit is not replaced either.
    fs::write(empty.path().join("fit.json"), "{}").expect("written");
    let fitted = plain().fit(&quick().without_chain()).expect("a fit");
    fitted.save_over(empty.path()).expect_err("not ours");
    assert_eq!(fs::read_to_string(empty.path().join("fit.json")).expect("read"), "{}");
}
