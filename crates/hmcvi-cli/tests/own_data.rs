//! Guard what happens to data of the user's own: it is read as it is meant, split fairly, or refused with its name.

mod common;

use std::fs;
use std::io::Write;
use std::path::Path;

use common::Sandbox;
use hmcvi::data::write_npy_to;
use serde_json::Value;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const IMAGES: usize = 140;

/// Bytes of a `.npy` file.
fn npy(shape: &[usize], values: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    write_npy_to(&mut file, shape, values).expect("values for the shape");
    file
}

/// Bytes of a `.npy` file of truth values.
fn npy_bool(shape: &[usize], values: &[u8]) -> Vec<u8> {
    let mut file = npy(shape, values);
    let at = file.windows(3).position(|code| code == b"|u1").expect("the type");
    file[at + 1] = b'b';
    file
}

fn save(sandbox: &Sandbox, name: &str, file: &[u8]) {
    fs::write(sandbox.path().join(name), file).expect("a file");
}

fn save_npz(sandbox: &Sandbox, name: &str, arrays: &[(&str, Vec<u8>)]) {
    let file = fs::File::create(sandbox.path().join(name)).expect("a file");
    let mut archive = ZipWriter::new(file);
    for (array, bytes) in arrays {
        archive.start_file(format!("{array}.npy"), SimpleFileOptions::default()).expect("an entry");
        archive.write_all(bytes).expect("written");
    }
    archive.finish().expect("an archive");
}

/// Images of 8 x 8 pixels in seven classes, sorted by class: one row of each is `one`, with some noise.
fn pictures(one: u8) -> Vec<u8> {
    let pixel =
        |image: usize, pixel: usize| (pixel / 8 == image / 20) != (31 * image + 7 * pixel).is_multiple_of(23);
    (0..IMAGES * 64).map(|i| if pixel(i / 64, i % 64) { one } else { 0 }).collect()
}

fn classes() -> Vec<u8> {
    (0..IMAGES).map(|image| (image / 20) as u8).collect()
}

/// Trains for an epoch; returns standard error.
#[track_caller]
fn train(sandbox: &Sandbox, data: &str, out: &str, more: &[&str]) -> String {
    let mut arguments = vec!["train", "basic-2d", "--data", data, "--out", out, "--set", "model.hidden=[8]"];
    arguments.extend(["train.batch=50", "train.epochs=1"]);
    arguments.extend(more);
    let output = sandbox.run(&arguments);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

/// Runs and expects success; returns standard error.
#[track_caller]
fn narration(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let output = sandbox.run(arguments);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {text}");
    text
}

fn info(sandbox: &Sandbox, data: &str) -> Value {
    serde_json::from_str(&sandbox.succeed(&["data", "info", data, "--json"])).expect("JSON")
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

#[test]
fn binary_data_is_trained_on_as_it_is() {
    let sandbox = Sandbox::new();
    let shape = [IMAGES, 8, 8];
    save(&sandbox, "truth.npy", &npy_bool(&shape, &pictures(1)));
    save(&sandbox, "numbers.npy", &npy(&shape, &pictures(1)));
    save(&sandbox, "grey.npy", &npy(&shape, &pictures(255)));
    for name in ["truth", "numbers", "grey"] {
        let text = train(&sandbox, &format!("{name}.npy"), name, &[]);
        assert!(text.contains("taken for binary data, exactly 0 and 1"), "{text}");
        assert!(text.contains("note: there are only two values"), "{text}");
        let config = read(&sandbox.path().join(name).join("config.toml"));
        assert!(
            config.contains("kind = \"binary\"") && config.contains("binarisation = \"threshold\""),
            "{config}"
        );
    }
    // The same data however it is stored, so the same bits.
    let bytes =
        |run: &str| fs::read(sandbox.path().join(run).join("last.safetensors")).expect("a checkpoint");
    assert!(bytes("truth") == bytes("numbers") && bytes("truth") == bytes("grey"));
    let text = narration(&sandbox, &["eval", "truth", "--samples", "10"]);
    assert!(text.contains("taken for binary data"), "{text}");
    // One draw, because all would be the same.
    let evaluation: Value =
        serde_json::from_str(&read(&sandbox.path().join("truth/evaluation.json"))).expect("JSON");
    assert_eq!(evaluation["draws"], 1);
}

#[test]
fn counts_are_warned_about_wherever_data_is_opened() {
    let sandbox = Sandbox::new();
    let counts: Vec<u8> =
        (0..IMAGES * 50).map(|i| if i % 50 < 30 { (i * i / 7 % 5) as u8 } else { 0 }).collect();
    save(&sandbox, "counts.npy", &npy(&[IMAGES, 50], &counts));
    let range = "warning: the largest value is 4, but values are taken for intensities from 0 to 255";
    let columns = "warning: 20 of 50 columns never change";
    let text = train(&sandbox, "counts.npy", "run", &[]);
    assert!(text.contains(range) && text.contains(columns), "{text}");
    assert!(text.contains("taken for intensities: 1 with the probability byte/256"), "{text}");
    let text = narration(&sandbox, &["eval", "run", "--samples", "10"]);
    assert!(text.contains(range) && text.contains(columns), "{text}");
    let text = narration(&sandbox, &["data", "info", "counts.npy"]);
    assert!(text.contains(range) && text.contains(columns), "{text}");
    let found = info(&sandbox, "counts.npy");
    assert_eq!(found["kind"], "byte");
    let about: Vec<_> = found["remarks"].as_array().expect("remarks").iter().map(|r| &r["about"]).collect();
    assert_eq!(about, ["split", "range", "columns"]);
    // Nothing is wrong with MNIST.
    let text = narration(&sandbox, &["data", "info", "embedded"]);
    assert!(text.contains("of 784 columns never change, as usual") && !text.contains("warning"), "{text}");
}

#[test]
fn no_array_is_lost_and_no_class_is_left_out() {
    let sandbox = Sandbox::new();
    let shape = [IMAGES, 8, 8];
    let sorted = [("X", npy(&shape, &pictures(200))), ("y", npy(&shape[..1], &classes()))];
    save_npz(&sandbox, "sorted.npz", &sorted);
    let text = train(&sandbox, "sorted.npz", "run", &[]);
    assert!(text.contains("shuffled with the seed 0, are taken: 100 training, 20 validation"), "{text}");
    let found = info(&sandbox, "sorted.npz");
    for split in 0..3 {
        let counts = found["splits"][split]["class_counts"].as_array().expect("counts");
        assert!(counts.len() == 7 && counts.iter().all(|count| count.as_u64() > Some(0)), "{counts:?}");
    }
    // Which rows of the file the latent variables belong to.
    sandbox.succeed(&["encode", "run", "--out", "latent", "--quiet"]);
    let rows = fs::read(sandbox.path().join("latent/rows.npy")).expect("rows");
    let labels = fs::read(sandbox.path().join("latent/labels.npy")).expect("labels");
    let (rows, labels) = (&rows[rows.len() - 4 * 20..], &labels[labels.len() - 20..]);
    for (row, label) in rows.chunks(4).zip(labels) {
        let row = u32::from_le_bytes(row.try_into().expect("four bytes"));
        assert_eq!(classes()[row as usize], *label);
    }

    let part = |count: usize| npy(&[count, 8, 8], &pictures(200)[..count * 64]);
    let arrays = [("x_train", part(50)), ("x_val", part(20)), ("x_test", part(10)), ("extra", part(5))];
    save_npz(&sandbox, "parts.npz", &arrays);
    let sizes = |found: Value| [0, 1, 2].map(|split| found["splits"][split]["images"].as_u64());
    assert_eq!(sizes(info(&sandbox, "parts.npz")), [Some(50), Some(20), Some(10)]);
    let text = narration(&sandbox, &["data", "info", "parts.npz"]);
    assert!(text.contains("warning: not used: ") && text.contains("parts.npz[extra]"), "{text}");
}

#[test]
fn runs_from_before_keep_their_data() {
    let sandbox = Sandbox::new();
    let shape = [IMAGES, 8, 8];
    let arrays = [("x_train", npy(&shape, &pictures(1))), ("x_val", npy(&[9, 8, 8], &pictures(1)[..9 * 64]))];
    save_npz(&sandbox, "old.npz", &arrays);
    train(&sandbox, "old.npz", "run", &["data.split=earlier", "data.kind=byte"]);
    // Settings had neither key then.
    let config = sandbox.path().join("run/config.toml");
    let text = read(&config);
    let old: String = text
        .lines()
        .filter(|l| !l.starts_with("kind") || l.contains("cosine"))
        .fold(String::new(), |text, line| if line.starts_with("split") { text } else { text + line + "\n" });
    assert_eq!(old.lines().count() + 2, text.lines().count());
    fs::write(&config, &old).expect("written");
    // The file's bytes 0 and 1 in their order, of which the last seventh is the test, and `x_val` is not known.
    let sha256 = "f741719d37975b952a7a453fb7266df433cb3953d2fe1825e7d3af90be90f907";
    let known: Value = serde_json::from_str(&read(&sandbox.path().join("run/run.json"))).expect("JSON");
    assert!(known["data_sha256"].as_str().is_some_and(|found| found == sha256), "{known}");
    let text = narration(&sandbox, &["eval", "run", "--samples", "10"]);
    assert!(!text.contains("SHA-256 differs") && text.contains("warning: every value is 0 or 1"), "{text}");
    // Also from another place, as `--data` and as settings of a new run.
    fs::rename(sandbox.path().join("old.npz"), sandbox.path().join("moved.npz")).expect("moved");
    let text = narration(&sandbox, &["eval", "run", "--samples", "10", "--data", "moved.npz"]);
    assert!(!text.contains("SHA-256 differs"), "{text}");
    sandbox.succeed(&["resume", "run", "--data", "moved.npz", "--set", "train.epochs=2", "--quiet"]);
    assert!(read(&config).contains("split = \"earlier\""));
    let shown = sandbox.succeed(&["config", "show", "run/config.toml"]);
    assert!(shown.contains("split = \"earlier\"") && shown.contains("kind = \"byte\""), "{shown}");
}

#[test]
fn a_file_of_settings_without_the_keys_gets_the_shuffle() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path().join("mine.toml"), "[data]\nsource = \"embedded\"\n").expect("written");
    let shown = sandbox.succeed(&["config", "show", "mine.toml"]);
    assert!(shown.contains("split = \"shuffled\""), "{shown}");
}

#[test]
fn images_of_another_size_are_refused_as_data() {
    let sandbox = Sandbox::new();
    let grey = |count: usize| (0..count).map(|i| (i * 37 % 256) as u8).collect::<Vec<_>>();
    save(&sandbox, "mine.npy", &npy(&[14, 8, 8], &grey(14 * 64)));
    save(&sandbox, "wide.npy", &npy(&[14, 5, 10], &grey(14 * 50)));
    train(&sandbox, "mine.npy", "run", &[]);
    let expected = "8x8 images, the model takes 28x28";
    for command in [
        &["eval", "builtin"][..],
        &["sample", "builtin", "--reconstruct", "--out", "a.png"],
        &["encode", "builtin", "--out", "latent"],
    ] {
        let text = sandbox.fail(3, &[command, &["--data", "mine.npy"]].concat());
        assert!(text.contains(expected), "{command:?}: {text}");
    }
    for command in ["eval", "resume"] {
        let text = sandbox.fail(3, &[command, "run", "--data", "wide.npy"]);
        assert!(text.contains("5x10 images, the model takes 8x8"), "{command}: {text}");
    }
}

#[test]
fn other_data_of_a_model_is_read_by_its_own_values() {
    let sandbox = Sandbox::new();
    let shape = [IMAGES, 8, 8];
    save(
        &sandbox,
        "grey.npy",
        &npy(&shape, &(0..IMAGES * 64).map(|i| (i * 37 % 256) as u8).collect::<Vec<_>>()),
    );
    save(&sandbox, "truth.npy", &npy_bool(&shape, &pictures(1)));
    train(&sandbox, "grey.npy", "grey", &[]);
    train(&sandbox, "truth.npy", "truth", &[]);
    let text = narration(&sandbox, &["eval", "grey", "--samples", "10", "--data", "truth.npy"]);
    assert!(text.contains("taken for binary data"), "{text}");
    let text = narration(&sandbox, &["eval", "truth", "--samples", "10", "--data", "grey.npy"]);
    assert!(text.contains("warning: the model was trained on binary data"), "{text}");
}

#[test]
fn real_values_are_refused_with_their_range() {
    let sandbox = Sandbox::new();
    let save_floats = |values: &[f32]| {
        let mut file = Vec::new();
        write_npy_to(&mut file, &[values.len() / 2, 2], values).expect("values");
        save(&sandbox, "real.npy", &file);
    };
    save_floats(&[-1.5, 0.0, 2.0, f32::NAN]);
    let text = sandbox.fail(3, &["data", "info", "real.npy"]);
    assert!(text.contains("float32 (`<f4`), from -1.5 to 2, 1 of 4 NaN"), "{text}");
    assert!(!text.contains("astype"), "{text}");
    save_floats(&[0.0, 0.5, 1.0, 0.25]);
    let text = sandbox.fail(3, &["data", "info", "real.npy"]);
    assert!(text.contains("numpy.round(255 * numpy.clip(x, 0, 1)).astype('uint8')"), "{text}");
}
