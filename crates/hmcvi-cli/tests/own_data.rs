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
    let sizes = |found: Value| [0, 1, 2].map(|split| found["splits"][split]["rows"].as_u64());
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
fn real_values_are_described_and_kinds_that_do_not_fit_refused() {
    let sandbox = Sandbox::new();
    let save_floats = |values: &[f32]| {
        let mut file = Vec::new();
        write_npy_to(&mut file, &[values.len() / 2, 1, 2], values).expect("values");
        save(&sandbox, "real.npy", &file);
    };
    save_floats(&[-1.5, 0.0, 2.0, f32::NAN, 0.0, 0.0]);
    let text = sandbox.fail(3, &["data", "info", "real.npy"]);
    assert!(text.contains("row 1, column 1") && text.contains("NaN"), "{text}");
    assert!(!text.contains("astype"), "{text}");
    save_floats(&[0.0, 0.5, 1.0, 0.25, 0.75, 0.0]);
    let text = narration(&sandbox, &["data", "info", "real.npy"]);
    assert!(text.contains("numpy.round(255 * numpy.clip(x, 0, 1)).astype('uint8')"), "{text}");
    let counts = "model.likelihood=poisson";
    let text = sandbox.fail(2, &["train", "basic-2d", "--data", "real.npy", "--out", "run", "--set", counts]);
    assert!(text.contains("`model.likelihood` is poisson") && text.contains("has 0.5 in column 1"), "{text}");
    assert!(!sandbox.path().join("run").exists());
    // A kind that does not fit is refused with the value.
    let text = sandbox.fail(3, &["data", "info", "real.npy", "--set", "data.kind=byte"]);
    assert!(text.contains("row 0, column 1 is 0.5, expected an integer from 0 to 255"), "{text}");
}

/// Flowers with gaps between their numbers, in three classes.
fn flowers() -> String {
    let row = |i: usize| format!("{}.5,{},{}\n", i % 7, i % 3, ["iris", "lily", "rose"][i % 3]);
    (0..70).map(row).fold("sepal,petals,species\n".into(), |text: String, row| text + &row)
}

#[test]
fn tables_of_every_format_are_described() {
    let sandbox = Sandbox::new();
    save(&sandbox, "flowers.csv", flowers().as_bytes());
    let text = sandbox.succeed(&["data", "info", "flowers.csv", "--set", "data.labels=species"]);
    assert!(text.contains("kind real (some values are not integers); values from 0 to 6.5"), "{text}");
    assert!(text.contains("columns sepal, petals") && text.contains("iris "), "{text}");
    let labels = ["data", "info", "flowers.csv", "--json", "--set", "data.labels=species"];
    let found: Value = serde_json::from_str(&sandbox.succeed(&labels)).expect("JSON");
    assert_eq!((&found["rows"], &found["columns"], &found["height"]), (&70.into(), &2.into(), &Value::Null));
    assert_eq!((&found["kind"], &found["sparse"]), (&"real".into(), &false.into()));
    assert_eq!(found["column_names"], serde_json::json!(["sepal", "petals"]));
    assert_eq!(found["class_names"], serde_json::json!(["iris", "lily", "rose"]));
    let counts = (0..3).map(|split| found["splits"][split]["class_counts"].as_array().expect("counts"));
    assert_eq!(counts.flatten().filter_map(Value::as_u64).sum::<u64>(), 70);
    let counts = ["data", "info", "flowers.csv", "--set", "data.columns=[\"petals\"]"];
    let text = sandbox.succeed(&counts);
    assert!(text.contains("kind count") && !text.contains("sepal"), "{text}");
    let text = sandbox.fail(3, &["data", "info", "flowers.csv", "--set", "data.columns=[\"petal\"]"]);
    assert!(text.contains("column `petal`") && text.contains("`petals`"), "{text}");
    let text = sandbox.fail(2, &["data", "info", "flowers.csv", "--set", "data.columns=petals"]);
    assert!(text.contains("`data.columns`") && text.contains("a list of strings"), "{text}");
    let text = sandbox.fail(2, &["data", "info", "flowers.csv", "--set", "train.epochs=3"]);
    assert!(text.contains("only settings of `data`"), "{text}");

    let entries: String = (1..=30).map(|i| format!("{} {i} {i}\n", i % 4 + 1)).collect();
    let matrix = format!("%%MatrixMarket matrix coordinate integer general\n4 30 30\n{entries}");
    save(&sandbox, "genes.mtx", matrix.as_bytes());
    let transposed = ["data", "info", "genes.mtx", "--json", "--set", "data.transpose=true"];
    let found: Value = serde_json::from_str(&sandbox.succeed(&transposed)).expect("JSON");
    assert_eq!((&found["rows"], &found["columns"], &found["sparse"]), (&30.into(), &4.into(), &true.into()));
    assert_eq!(
        (&found["kind"], &found["zeros"], &found["max"]),
        (&"count".into(), &0.75.into(), &30.0.into())
    );
    let text = narration(&sandbox, &["data", "info", "genes.mtx"]);
    assert!(text.contains("`data.transpose = true`"), "{text}");
}

#[test]
fn binary_tables_without_a_shape_are_trained_on_evaluated_and_drawn_as_heat_maps() {
    let sandbox = Sandbox::new();
    let pictures = pictures(1);
    let names: Vec<String> = (0..64).map(|i| format!("answer {i}")).collect();
    let rows = pictures.chunks(64).zip(classes()).map(|(row, class)| {
        let row: Vec<String> = row.iter().map(u8::to_string).collect();
        format!("{},class {class}\n", row.join(","))
    });
    let text = rows.fold(format!("{},town\n", names.join(",")), |text, row| text + &row);
    save(&sandbox, "answers.csv", text.as_bytes());
    let text = train(&sandbox, "answers.csv", "run", &["data.labels=town"]);
    assert!(text.contains("100 training rows of answers") && text.contains("64 values each"), "{text}");
    assert!(text.contains("note: the values are treated as binary data"), "{text}");
    let config = read(&sandbox.path().join("run/config.toml"));
    assert!(config.contains("kind = \"binary\"") && config.contains("labels = \"town\""), "{config}");
    let info: Value = serde_json::from_str(&read(&sandbox.path().join("run/run.json"))).expect("JSON");
    assert_eq!((&info["image_shape"], &info["columns"]), (&Value::Null, &64.into()));
    // The same numbers as images: what a table holds does not depend on its file.
    save(&sandbox, "images.npy", &npy(&[IMAGES, 8, 8], &pictures));
    train(&sandbox, "images.npy", "images", &[]);
    let bytes =
        |run: &str| fs::read(sandbox.path().join(run).join("last.safetensors")).expect("a checkpoint");
    assert!(bytes("run") == bytes("images"));

    narration(&sandbox, &["eval", "run", "--samples", "10"]);
    for more in [&[][..], &["--reconstruct"]] {
        let arguments = [&["sample", "run", "--count", "4", "--json", "--force"], more].concat();
        let written: Value = serde_json::from_str(&sandbox.succeed(&arguments)).expect("JSON");
        assert_eq!(written["image"], "samples.png");
        assert_eq!(written["shape"].as_array().and_then(|shape| shape.last()), Some(&64.into()));
        assert!(sandbox.path().join("samples.png").exists() && sandbox.path().join("samples.npy").exists());
    }
    narration(&sandbox, &["report", "run", "--out", "report.html"]);
    let page = read(&sandbox.path().join("report.html"));
    assert!(page.contains("the 40 columns of 64") && page.contains(">answer "), "a heat map with names");
    let text = sandbox.fail(3, &["figures", "--model", "run", "--only", "6", "--image", "1"]);
    assert!(text.contains("figure 6 (energy-surface)") && text.contains("no height and width"), "{text}");
    sandbox.succeed(&["encode", "run", "--out", "latent", "--quiet"]);
    let labels = fs::read(sandbox.path().join("latent/labels.npy")).expect("labels");
    assert!(String::from_utf8_lossy(&labels[..128]).contains("'<i8'"), "classes with names are numbers");
    // Other data of another size.
    save(&sandbox, "few.csv", b"a,b\n1,0\n0,1\n1,1\n0,0\n");
    let text = sandbox.fail(3, &["eval", "run", "--data", "few.csv"]);
    assert!(text.contains("found none of column `town`"), "{text}");
    let text = sandbox.fail(3, &["eval", "images", "--data", "few.csv"]);
    assert!(text.contains("rows of 2 columns, the model takes 64"), "{text}");
}
