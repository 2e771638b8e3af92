//! Make figures by command.
#![allow(missing_docs, reason = "tests are named for what they guard")]

mod common;

use common::{Sandbox, train};

#[test]
fn figures_are_written_with_their_data_and_not_replaced() {
    let sandbox = Sandbox::new();
    let text = sandbox.succeed(&["figures", "--only", "1,4,5,6", "--out", "f", "--json"]);
    let made: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(made.as_array().map(Vec::len), Some(4));
    for name in ["1-motion-one-step", "4-flow-chart", "5-binarisation", "6-energy-surface"] {
        let file = |end: &str| sandbox.path().join("f").join(format!("{name}.{end}"));
        let json = std::fs::read_to_string(file("json")).expect("the data is there");
        serde_json::from_str::<serde_json::Value>(&json).expect("it is JSON");
        assert!(std::fs::read_to_string(file("svg")).expect("the drawing is there").starts_with("<svg"));
        assert!(std::fs::read(file("png")).expect("the picture is there").starts_with(b"\x89PNG"));
    }
    let refused = sandbox.fail(2, &["figures", "--only", "4", "--out", "f"]);
    assert!(refused.contains("4-flow-chart.svg") && refused.contains("--force"), "{refused}");
    sandbox.succeed(&["figures", "--only", "4", "--out", "f", "--force"]);
    sandbox.fail(2, &["figures", "--only", "10"]);
}

#[test]
fn the_same_seed_gives_the_same_files() {
    let sandbox = Sandbox::new();
    for out in ["a", "b"] {
        sandbox.succeed(&["figures", "--only", "3,7", "--points", "50", "--out", out]);
    }
    sandbox.succeed(&["figures", "--only", "3", "--seed", "2", "--out", "c"]);
    let read = |path: &str| std::fs::read(sandbox.path().join(path)).expect("it was written");
    for name in
        ["3-ensemble.json", "3-ensemble.svg", "3-ensemble.png", "7-latent-map.json", "7-latent-map.svg"]
    {
        assert_eq!(read(&format!("a/{name}")), read(&format!("b/{name}")), "{name}");
    }
    assert_ne!(read("a/3-ensemble.json"), read("c/3-ensemble.json"));
}

#[test]
fn a_figure_that_fails_names_itself() {
    let sandbox = Sandbox::new();
    let failed = sandbox.fail(2, &["figures", "--only", "5", "--image", "100000"]);
    assert!(failed.contains("figure 5 (binarisation): image 100000"), "{failed}");
    train(&sandbox, "basic-20d", "run", 1);
    let failed = sandbox.fail(2, &["figures", "--only", "7", "--model", "run"]);
    assert!(failed.contains("figure 7 (latent-map): `model.latent` is 20"), "{failed}");
    train(&sandbox, "hmcvi-9", "plane", 1);
    sandbox.succeed(&["figures", "--only", "6,7", "--model", "plane", "--out", "of-run"]);
    assert!(sandbox.path().join("of-run/7-latent-map.svg").is_file());
}

/// Images without labels: dark squares of 8 x 8 with a light corner.
fn unlabelled(sandbox: &Sandbox, count: usize) {
    let header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({count}, 8, 8), }}");
    // The header ends with a new line, at a multiple of 64.
    let header = format!("{header:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend((0..64 * count).map(|i| if i % 8 < i / 64 % 8 { 255 } else { 0 }));
    std::fs::write(sandbox.path().join("images.npy"), bytes).expect("a writable folder");
}

#[test]
fn images_without_labels_have_no_classes() {
    let sandbox = Sandbox::new();
    unlabelled(&sandbox, 80);
    let train =
        ["train", "basic-2d", "--data", "images.npy", "--out", "run", "-q", "--set", "train.epochs=1"];
    sandbox.succeed(&[&train[..], &["model.hidden=[8]", "train.batch=10"]].concat());
    sandbox.succeed(&["figures", "--only", "7", "--model", "run", "--out", "f"]);
    let read = |end: &str| std::fs::read_to_string(sandbox.path().join(format!("f/7-latent-map.{end}")));
    let data: serde_json::Value =
        serde_json::from_str(&read("json").expect("the data is there")).expect("JSON");
    assert!(data["points"].as_array().is_some_and(|all| all.iter().all(|p| p["class"].is_null())), "{data}");
    let drawing = read("svg").expect("the drawing is there");
    assert!(!drawing.contains(">class<") && drawing.contains("drawn from the encoder"));
    sandbox.succeed(&["sample", "run", "--count", "4", "--out", "s.png"]);
    let png = std::fs::read(sandbox.path().join("s.png")).expect("the picture is there");
    // Two images of eight pixels and a gap, each pixel a square of seven.
    assert_eq!(png[16..24], [0, 0, 0, 119, 0, 0, 0, 119]);
}
