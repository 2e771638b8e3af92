//! Guard what users see of data that are no images: every command works on tables, and speaks of rows.

mod common;

use std::fmt::Write;
use std::fs;
use std::io::Write as _;

use common::Sandbox;
use hmcvi::data::{NpyValue, write_npy_to};
use serde_json::Value;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const ROWS: usize = 140;
const SMALL: [&str; 7] = [
    "--set",
    "model.hidden=[8]",
    "model.latent=2",
    "train.batch=50",
    "train.epochs=2",
    "data.evaluation_draws=1",
    "eval.importance_samples=20",
];

/// Trains on a file with an HMC step; returns standard error.
#[track_caller]
fn train(sandbox: &Sandbox, data: &str, more: &[&str]) -> String {
    let mut arguments = vec!["train", "hmcvi-1", "--data", data, "--out", "run"];
    arguments.extend(SMALL);
    arguments.extend(more);
    let output = sandbox.run(&arguments);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

/// Three real columns of three classes that differ, as CSV with names; one name has an underscore, one a comma.
fn real_table() -> String {
    let mut text = "width_1,\"height, left\",weight,class\n".to_owned();
    for row in 0..ROWS {
        let (class, wave) = (row % 3, ((row * 37 % 101) as f64 / 101.0 - 0.5) * 0.4);
        let centre = class as f64;
        let _ = writeln!(text, "{},{},{},{class}", centre + wave, 10.0 - centre * wave, 0.25 + 2.0 * wave);
    }
    text
}

/// Counts in eight columns of two groups of rows, without names, as `.npz` of four-byte integers.
fn dense_counts(sandbox: &Sandbox) {
    let count = |row: usize, column: usize| ((row % 2) * column + (row * 13 + column * 7) % 5) as u32;
    let values: Vec<u32> = (0..ROWS * 8).map(|i| count(i / 8, i % 8)).collect();
    let file = fs::File::create(sandbox.path().join("counts.npz")).expect("a file");
    let mut archive = ZipWriter::new(file);
    archive.start_file("x.npy", SimpleFileOptions::default()).expect("an entry");
    archive.write_all(&npy(&[ROWS, 8], &values)).expect("written");
    archive.finish().expect("an archive");
}

/// Bytes of a `.npy` file.
fn npy<T: NpyValue>(shape: &[usize], values: &[T]) -> Vec<u8> {
    let mut file = Vec::new();
    write_npy_to(&mut file, shape, values).expect("values for the shape");
    file
}

/// Sparse counts in 50 columns as Matrix Market: one in ten is not zero, and later columns are larger.
fn count_table() -> String {
    let mut entries = String::new();
    let mut count = 0;
    for (row, column) in (1..=ROWS).flat_map(|row| (1..=50).map(move |column| (row, column))) {
        if (row * 7 + column * 3) % 10 == 0 {
            count += 1;
            let _ = writeln!(entries, "{row} {column} {}", 1 + column / 10 + row % 3);
        }
    }
    format!("%%MatrixMarket matrix coordinate integer general\n{ROWS} 50 {count}\n{entries}")
}

/// Shape and values of a file of the sandbox, whose numbers have four bytes.
fn array(sandbox: &Sandbox, name: &str) -> (Vec<usize>, Vec<[u8; 4]>) {
    let bytes = fs::read(sandbox.path().join(name)).expect("an array");
    // The header is "\x93NUMPY", a version, its length in two bytes, and a line such as
    // {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
    let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let (header, values) = bytes[10..].split_at(length);
    let header = String::from_utf8_lossy(header);
    let shape: Vec<usize> =
        between(&header, "(", ")")[0].split(',').filter_map(|n| n.trim().parse().ok()).collect();
    let (values, rest) = values.as_chunks::<4>();
    assert_eq!((values.len(), rest.len()), (shape.iter().product(), 0), "{header}");
    (shape, values.to_vec())
}

/// The same of numbers with a point.
fn numbers(sandbox: &Sandbox, name: &str) -> (Vec<usize>, Vec<f32>) {
    let (shape, values) = array(sandbox, name);
    (shape, values.into_iter().map(f32::from_le_bytes).collect())
}

/// Width and height of a PNG file.
fn size(sandbox: &Sandbox, name: &str) -> (u32, u32) {
    let bytes = fs::read(sandbox.path().join(name)).expect("a picture");
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n");
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    (number(16), number(20))
}

/// What stands between two marks, wherever they are.
fn between<'a>(text: &'a str, start: &str, end: &str) -> Vec<&'a str> {
    text.split(start).skip(1).filter_map(|rest| Some(rest.split_once(end)?.0)).collect()
}

/// What a reader of a page reads: no tags, no styles, no pictures.
fn words(page: &str) -> String {
    page.split('<')
        .filter_map(|part| part.split_once('>'))
        .map(|(_, text)| text)
        .collect::<Vec<_>>()
        .join("\n")
}

/// A report's pictures and their captions. The whole page speaks of rows.
#[track_caller]
fn report(sandbox: &Sandbox) -> (String, String) {
    sandbox.succeed(&["report", "run", "--out", "report.html"]);
    let page = fs::read_to_string(sandbox.path().join("report.html")).expect("a page");
    let (_, body) = page.split_once("<body").expect("a body");
    let text = words(body).to_lowercase();
    let about_images: Vec<&str> = text.lines().filter(|line| line.contains("image")).collect();
    assert_eq!(about_images, [""; 0]);
    assert!(text.contains("nats per row") && text.contains("rows/s"), "{text}");
    assert!(!text.contains("--quadrature"), "it is refused for what is not binary: {text}");
    let part = body.split_once("panels pictures").expect("pictures").1;
    (part.to_owned(), between(part, "<figcaption>", "</figcaption>").join("\n"))
}

/// Evaluates in every way, compares, diagnoses and encodes: every number is there, and texts speak of rows.
#[track_caller]
fn use_everywhere(sandbox: &Sandbox) {
    let all =
        ["eval", "run", "--limit", "10", "--ais", "4", "--bdmc", "4", "--posterior", "2", "--reverse", "4"];
    let mut arguments = all.to_vec();
    arguments.extend(["--temperatures", "10", "--iwae", "5", "--json"]);
    let found: Value = serde_json::from_str(&sandbox.succeed(&arguments)).expect("JSON");
    assert_eq!(found["images"], 10);
    for estimate in [
        &found["bound"],
        &found["importance_sampling"]["log_likelihood"],
        &found["annealing"]["log_likelihood"],
        &found["bidirectional"]["gap"],
        &found["posterior"]["gain"]["wasserstein"],
        &found["reverse"]["own"],
        &found["encoder_bound"]["bound"],
    ] {
        // What is not finite is null in JSON.
        assert!(estimate["mean"].is_f64(), "{found}");
    }
    let texts = [
        // What the evaluation before has found is kept, and told again.
        sandbox.succeed(&["eval", "run", "--limit", "10"]),
        sandbox.succeed(&["compare", "run", "run"]),
        String::from_utf8_lossy(&sandbox.run(&["diagnose", "run"]).stdout).into_owned(),
    ];
    for (text, says) in texts.iter().zip(["posterior: 2 rows", "nats per row", "only 10 rows were evaluated"])
    {
        assert!(text.contains(says) && !text.contains("image") && !text.contains("pixel"), "{text}");
    }
    let refused = sandbox.fail(2, &["eval", "run", "--quadrature"]);
    assert!(refused.contains("needs the likelihood `bernoulli`") && refused.contains("--ais"), "{refused}");
    encode(sandbox);
}

/// The parts of the table together have every row once.
#[track_caller]
fn encode(sandbox: &Sandbox) {
    let mut all = Vec::new();
    for split in ["train", "validation", "test"] {
        sandbox.succeed(&["encode", "run", "--split", split, "--out", split]);
        let (shape, rows) = array(sandbox, &format!("{split}/rows.npy"));
        for file in ["encoder_mean", "encoder_log_variance"] {
            let (found, values) = numbers(sandbox, &format!("{split}/{file}.npy"));
            assert_eq!(found, [shape[0], 2]);
            assert!(values.iter().all(|v| v.is_finite()), "{split}/{file}");
        }
        all.extend(rows.into_iter().map(u32::from_le_bytes));
    }
    all.sort_unstable();
    assert_eq!(all, Vec::from_iter(0..ROWS as u32));
}

/// Samples rows as a heat map; returns the values.
#[track_caller]
fn sample(sandbox: &Sandbox, count: usize, columns: usize) -> Vec<f32> {
    let written = sandbox.succeed(&["sample", "run", "--count", &count.to_string(), "--out", "s.png"]);
    assert_eq!(written, "s.png\ns.npy\ns-z.npy\n");
    let (shape, values) = numbers(sandbox, "s.npy");
    assert_eq!(shape, [count, columns]);
    assert!(values.iter().all(|v| v.is_finite()));
    assert_eq!(numbers(sandbox, "s-z.npy").0, [count, 2]);
    values
}

#[test]
fn a_table_of_real_numbers_is_shown_with_its_names() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path().join("table.csv"), real_table()).expect("a file");
    let text = train(&sandbox, "table.csv", &["data.labels=\"class\""]);
    assert!(text.contains(" rows/s") && !text.contains("image"), "{text}");
    use_everywhere(&sandbox);

    let values = sample(&sandbox, 7, 3);
    // Cells are 48 wide and 18 high, and names and the scale need room.
    let (width, height) = size(&sandbox, "s.png");
    assert!(width > 3 * 48 && height > 7 * 18, "{width} x {height}");

    sandbox.succeed(&["sample", "run", "--count", "7", "--out", "t.csv"]);
    let text = fs::read_to_string(sandbox.path().join("t.csv")).expect("text");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("width_1,\"height, left\",weight"));
    let read: Vec<f32> =
        lines.flat_map(|line| line.split(',')).map(|v| v.parse().expect("a number")).collect();
    assert_eq!(read, values, "the same seed, so the same rows");

    sandbox.succeed(&["sample", "run", "--reconstruct", "--count", "4", "--out", "r.csv"]);
    let text = fs::read_to_string(sandbox.path().join("r.csv")).expect("text");
    assert!(text.starts_with("part,width_1,"), "{text}");
    for part in ["original,", "before,", "after,"] {
        assert_eq!(text.lines().filter(|line| line.starts_with(part)).count(), 4, "{text}");
    }
    sandbox.succeed(&["sample", "run", "--reconstruct", "--count", "4", "--out", "parts.png"]);
    assert_eq!(numbers(&sandbox, "parts.npy").0, [3, 4, 3]);
    assert!(size(&sandbox, "parts.png").1 > 3 * 4 * 18);
    let refused = sandbox.fail(2, &["sample", "run", "--out", "s.jpg"]);
    assert!(refused.contains(".png, .npy or .csv"), "{refused}");

    let (part, captions) = report(&sandbox);
    assert!(part.contains(">width_1<") && part.contains(">height, left<"), "names of columns");
    assert!(part.contains(">standard deviations from the mean<"), "the scale");
    assert!(captions.contains("Test rows") && captions.contains("draws of the prior"), "{captions}");
    assert!(captions.contains("coloured by class"), "{captions}");
}

#[test]
fn counts_without_names_are_shown_by_number() {
    let sandbox = Sandbox::new();
    dense_counts(&sandbox);
    let text = train(&sandbox, "counts.npz", &["model.likelihood=negative-binomial"]);
    assert!(text.contains(" rows/s") && !text.contains("image"), "{text}");
    use_everywhere(&sandbox);
    let values = sample(&sandbox, 5, 8);
    assert!(values.iter().all(|v| *v >= 0.0), "means of counts");
    sandbox.succeed(&["sample", "run", "--count", "5", "--out", "t.npy"]);
    assert_eq!(numbers(&sandbox, "t.npy"), (vec![5, 8], values));

    let (part, captions) = report(&sandbox);
    assert!(captions.contains("all 8 columns, those with the largest means first"), "{captions}");
    // Names are in the order of the means, which grow with the column.
    let order: Vec<usize> = (0..8).filter_map(|i| part.find(&format!(">x{i}<"))).collect();
    assert!(order.len() == 8 && order[7] < order[1], "{order:?}");
}

#[test]
fn sparse_counts_are_shown_by_their_largest_columns() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path().join("counts.mtx"), count_table()).expect("a file");
    let text = train(&sandbox, "counts.mtx", &[]);
    assert!(text.contains(" rows/s") && !text.contains("image"), "{text}");
    use_everywhere(&sandbox);
    let output = sandbox.run(&["sample", "run", "--count", "300", "--out", "many.png"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("the first 200 of 300 rows"), "{text}");
    let values = sample(&sandbox, 30, 50);
    assert!(values.iter().all(|v| *v >= 0.0), "means of counts");

    let (part, captions) = report(&sandbox);
    assert!(captions.contains("the 40 columns of 50 with the largest means"), "{captions}");
    assert!(captions.contains("log(1 + x)"), "{captions}");
    // Means grow with the column's number by tens: 0 to 8 are the smallest.
    assert!(part.contains(">x49<") && !part.contains(">x0<"), "the largest columns");

    // Samples need no data: columns are then numbered, and chosen by the samples themselves.
    fs::remove_file(sandbox.path().join("counts.mtx")).expect("a file");
    sandbox.succeed(&["sample", "run", "--count", "5", "--out", "gone.png"]);
    sandbox.succeed(&["sample", "run", "--count", "5", "--out", "without.csv"]);
    let text = fs::read_to_string(sandbox.path().join("without.csv")).expect("text");
    assert!(text.starts_with("x0,x1,") && text.lines().count() == 6, "{text}");
}
