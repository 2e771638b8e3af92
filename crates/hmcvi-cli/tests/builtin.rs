//! Use the model inside the program wherever a run is asked for.
#![allow(missing_docs, reason = "tests are named for what they guard")]

mod common;

use common::Sandbox;

#[test]
fn the_builtin_model_is_named_by_position_or_by_flag() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["sample", "builtin", "--count", "4", "--out", "a.png"]);
    sandbox.succeed(&["sample", "--model", "builtin", "--count", "4", "--out", "b.png"]);
    let read = |name: &str| std::fs::read(sandbox.path().join(name)).expect("it was written");
    assert_eq!(read("a.npy"), read("b.npy"));
    assert!(sandbox.fail(2, &["sample", "--out", "c.png"]).contains("<RUN>"));
    sandbox.fail(2, &["sample", "builtin", "--model", "builtin"]);
    assert!(sandbox.succeed(&["config", "show", "builtin"]).contains("latent = 2"));
}

#[test]
fn an_evaluation_of_the_builtin_model_is_printed_and_kept_nowhere() {
    let sandbox = Sandbox::new();
    let text =
        sandbox.succeed(&["eval", "builtin", "--limit", "20", "--draws", "1", "--samples", "50", "--json"]);
    assert!(text.contains("\"bound\"") && text.contains("\"importance_sampling\""), "{text}");
    assert_eq!(std::fs::read_dir(sandbox.path()).expect("a folder").count(), 0, "nothing is written");
    sandbox.succeed(&["encode", "builtin", "--out", "codes", "--limit", "5"]);
    assert!(sandbox.path().join("codes/zT.npy").is_file());
    assert!(sandbox.fail(2, &["diagnose", "builtin"]).contains("hmcvi eval builtin"));
}

#[test]
fn a_plane_is_integrated_over_with_a_spacing_that_makes_sense() {
    let sandbox = Sandbox::new();
    let of = |spacing| {
        ["eval", "builtin", "--limit", "5", "--draws", "1", "--samples", "0", "--quadrature", spacing]
    };
    let text = sandbox.succeed(&of("0.1"));
    assert!(text.contains("-log p(x) = (quadrature)"), "{text}");
    let text = sandbox.fail(2, &of("0"));
    assert!(text.contains("`--quadrature` is 0, but must be from 0.005 to 0.5"), "{text}");
}
