//! Guard that the page on data of one's own is true: its commands run, and the program says what the page quotes.
#![cfg(unix)]

mod common;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use common::Sandbox;
use flate2::Compression;
use flate2::write::GzEncoder;
use hmcvi::data::{Dataset, write_npy, write_npy_to};
use hmcvi::dist::RandomSource;
use hmcvi_graph::random::Key;
use serde_json::Value;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
/// The folder that the page says its files are in.
const FOLDER: &str = "/home/you";
/// Rows of the data that are drawn here.
const ROWS: usize = 300;

fn source(row: usize) -> RandomSource {
    RandomSource::new(Key { seed: 3, stream: 90, step: 0, row: row as u32 })
}

/// The section of the page with this title.
fn section(title: &str) -> String {
    let page = fs::read_to_string(format!("{DOCS}/your-data.md")).expect("the page");
    let found = page.split("\n## ").find(|section| section.lines().next() == Some(title));
    found.unwrap_or_else(|| panic!("no section `{title}`")).to_owned()
}

/// The blocks of a section in one language, also those of a list, which are indented.
fn blocks(section: &str, language: &str) -> Vec<String> {
    let (start, mut found, mut inside) = (format!("```{language}"), Vec::new(), false);
    for line in section.lines() {
        match (inside, line.trim()) {
            (false, trimmed) if trimmed == start => {
                found.push(String::new());
                inside = true;
            }
            (true, "```") => inside = false,
            (true, line) => *found.last_mut().expect("a block") += &format!("{line}\n"),
            _ => {}
        }
    }
    assert!(!found.is_empty(), "no block of {language} in {section}");
    found
}

/// Numbers with standard errors in a section's table of results, row by row.
fn results(section: &str) -> Vec<Vec<[f64; 2]>> {
    let number = |text: &str| text.trim().parse::<f64>().unwrap_or_else(|_| panic!("no number: {text}"));
    let pair = |cell: &str| cell.split_once('±').map(|(mean, error)| [number(mean), number(error)]);
    let rows = section.lines().filter(|line| line.starts_with('|') && line.contains('±'));
    rows.map(|line| line.split('|').filter_map(pair).collect()).collect()
}

/// What `hmcvi compare` finds for a run: bound and likelihood, of itself or compared with the first run. Signs are those
/// of the page, where smaller is better.
fn compared(sandbox: &Sandbox, first: &str, second: &str) -> [Vec<[f64; 2]>; 3] {
    let [first, second] = [first, second].map(|run| format!("runs/{run}"));
    let text = sandbox.succeed(&["compare", "--json", &first, &second]);
    let runs = &serde_json::from_str::<Value>(&text).expect("JSON")["runs"];
    let pair = |of: &Value| {
        let number = |name: &str| of[name].as_f64().unwrap_or_else(|| panic!("no {name} in {text}"));
        [-number("mean"), number("standard_error")]
    };
    let own = |run: &Value| ["bound", "log_likelihood"].map(|name| pair(&run[name])).to_vec();
    let differences =
        ["bound_difference", "log_likelihood_difference"].map(|name| pair(&runs[1][name]["estimate"]));
    [own(&runs[0]), own(&runs[1]), differences.to_vec()]
}

/// Whether the page's number is the one found. Processors round differently, which training amplifies; what a reader
/// concludes stays the same within half a standard error.
fn agree([page, page_error]: [f64; 2], [found, error]: [f64; 2]) -> bool {
    (page - found).abs() <= 0.5 * error + 0.005 && (page_error / error - 1.0).abs() < 0.25
}

/// Runs a command of the page in a shell that finds the program; returns its exit code and all it said.
fn shell(sandbox: &Sandbox, script: &str) -> (Option<i32>, String) {
    let program = Path::new(env!("CARGO_BIN_EXE_hmcvi")).parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-euc", script])
        .current_dir(sandbox.path())
        .env("PATH", format!("{}:{path}", program.display()))
        .env("HMCVI_CACHE", sandbox.path().join("cache"))
        .output()
        .expect("a shell");
    let said =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    // Where temporary folders are reached by a link, the program knows where it leads.
    let real = fs::canonicalize(sandbox.path()).expect("the folder");
    let said = said.replace(&real.display().to_string(), FOLDER);
    (output.status.code(), said.replace(&sandbox.path().display().to_string(), FOLDER))
}

/// Runs what a section says, and finds all that it quotes and the likelihood that it names.
#[track_caller]
fn runs_as_written(sandbox: &Sandbox, title: &str, run: &str, likelihood: &str) {
    let section = section(title);
    let (code, said) = shell(sandbox, &blocks(&section, "sh").concat());
    assert_eq!(code, Some(0), "{said}");
    for line in blocks(&section, "text").concat().lines() {
        assert!(said.contains(line.trim_start()), "{title}: not said: {line}\n{said}");
    }
    assert!(section.contains(&format!("`{likelihood}`")), "{title} does not name {likelihood}");
    for run in [format!("{run}-base"), format!("{run}-plain"), run.to_owned()] {
        let config =
            fs::read_to_string(sandbox.path().join("runs").join(&run).join("config.toml")).expect("settings");
        assert!(config.contains(&format!("likelihood = \"{likelihood}\"")), "{run}: {config}");
    }
    let expected = results(&section);
    let found = compared(sandbox, &format!("{run}-plain"), run);
    // Rows of other runs come before these three.
    assert!(expected.len() >= 3, "{title}: no table of results; found {found:?}");
    let shown = &expected[expected.len() - 3..];
    for (shown, found) in shown.iter().flatten().zip(found.iter().flatten()) {
        assert!(agree(*shown, *found), "{title}: {shown:?} is shown, {found:?} is found");
    }
    assert_eq!(shown.concat().len(), 6, "{title}: {shown:?}");
    let run = sandbox.path().join("runs").join(run);
    let report = fs::read_to_string(run.join("report.html")).expect("a report");
    assert!(report.contains("</html>"), "{title}: the report is cut off");
    assert!(run.join("evaluation.json").exists(), "{title}: no evaluation");
}

fn save_png(path: &Path, pixels: &[u8]) {
    let mut encoder = png::Encoder::new(fs::File::create(path).expect("a file"), 28, 28);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().expect("written").write_image_data(pixels).expect("written");
}

#[test]
fn images() {
    let sandbox = Sandbox::new();
    let data = Dataset::embedded().expect("images");
    let pixels = &data.train().bytes().expect("bytes")[..ROWS * 784];
    write_npy(&sandbox.path().join("digits.npy"), &[ROWS, 28, 28], pixels).expect("written");
    let folder = sandbox.path().join("digits");
    fs::create_dir(&folder).expect("a folder");
    for (row, image) in pixels.chunks(784).enumerate() {
        save_png(&folder.join(format!("{row:03}.png")), image);
    }
    let hash = |source| {
        let found = sandbox.succeed(&["data", "info", source, "--json"]);
        serde_json::from_str::<Value>(&found).expect("JSON")["sha256"].clone()
    };
    assert_eq!(hash("digits"), hash("digits.npy"));
    runs_as_written(&sandbox, "Images", "digits", "bernoulli");
}

#[test]
fn measurements() {
    let sandbox = Sandbox::new();
    let flowers = fs::read_to_string(format!("{DOCS}/data/iris.csv")).expect("flowers");
    for species in ["setosa", "versicolor", "virginica"] {
        assert_eq!(flowers.lines().filter(|line| line.ends_with(species)).count(), 50, "{species}");
    }
    assert_eq!(flowers.lines().count(), 151);
    let shown = &blocks(&section("Measurements"), "csv")[0];
    assert!(flowers.starts_with(shown.as_str()), "{shown}");
    fs::write(sandbox.path().join("iris.csv"), flowers).expect("written");
    runs_as_written(&sandbox, "Measurements", "iris", "gaussian");
}

/// How often each of 120 words occurs in each document. A document is about one of four topics, which prefers a
/// quarter of the words.
fn documents() -> Vec<Vec<f32>> {
    let document = |row: usize| {
        let mut source = source(row);
        let weights: Vec<f64> = (0..120).map(|word| if word / 30 == row % 4 { 8.0 } else { 1.0 }).collect();
        let (length, mut counts) = (1.0 + source.poisson(60.0), vec![0.0; 120]);
        source.multinomial(length, &weights, &mut counts);
        counts
    };
    (0..ROWS).map(document).collect()
}

/// Writes rows as `scipy.sparse.save_npz` writes a CSR matrix of integers.
fn save_csr(path: &Path, rows: &[Vec<f32>]) {
    let (mut values, mut indices, mut starts) = (Vec::new(), Vec::new(), vec![0]);
    for row in rows {
        for (column, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            values.push(value as i64);
            indices.push(column as i64);
        }
        starts.push(values.len() as i64);
    }
    let array = |values: &[i64]| {
        let mut file = Vec::new();
        write_npy_to(&mut file, &[values.len()], values).expect("values for the shape");
        file
    };
    let header = "{'descr': '|S3', 'fortran_order': False, 'shape': (), }";
    let mut format = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    format.extend(format!("{header:<117}\ncsr").bytes());
    let shape = [rows.len() as i64, rows[0].len() as i64];
    let mut archive = ZipWriter::new(fs::File::create(path).expect("a file"));
    for (name, bytes) in [
        ("indices", array(&indices)),
        ("indptr", array(&starts)),
        ("format", format),
        ("shape", array(&shape)),
        ("data", array(&values)),
    ] {
        archive.start_file(format!("{name}.npy"), SimpleFileOptions::default()).expect("an entry");
        archive.write_all(&bytes).expect("written");
    }
    archive.finish().expect("an archive");
}

#[test]
fn words() {
    let sandbox = Sandbox::new();
    save_csr(&sandbox.path().join("words.npz"), &documents());
    runs_as_written(&sandbox, "Word counts", "words", "multinomial");
}

/// Counts of 60 genes in cells of three types, each of which raises a third of the genes, seen to a different depth.
fn cells() -> Vec<Vec<f32>> {
    let cell = |row: usize| {
        let mut source = source(row);
        let depth = (0.3 * source.normal()).exp();
        let mean = |gene: usize| depth * if gene / 20 == row % 3 { 6.0 } else { 0.8 };
        (0..60).map(|gene| source.negative_binomial(mean(gene), 2.0) as f32).collect()
    };
    (0..ROWS).map(cell).collect()
}

/// Writes cells as the columns of a compressed Matrix Market file.
fn save_mtx(path: &Path, cells: &[Vec<f32>]) {
    let entry = |gene: usize, cell: usize| match cells[cell][gene] {
        0.0 => String::new(),
        count => format!("{} {} {count}\n", gene + 1, cell + 1),
    };
    let genes = cells[0].len();
    let entries: String =
        (0..cells.len()).flat_map(|cell| (0..genes).map(move |gene| entry(gene, cell))).collect();
    let sizes = format!("{genes} {} {}", cells.len(), entries.lines().count());
    let text = format!("%%MatrixMarket matrix coordinate integer general\n{sizes}\n{entries}");
    let mut file = GzEncoder::new(fs::File::create(path).expect("a file"), Compression::default());
    file.write_all(text.as_bytes()).expect("written");
    file.finish().expect("written");
}

#[test]
fn cells_with_genes_as_rows() {
    let sandbox = Sandbox::new();
    save_mtx(&sandbox.path().join("cells.mtx.gz"), &cells());
    runs_as_written(&sandbox, "Cells", "cells", "negative-binomial");
    // What longer training alone gains stands in the table as well.
    let [base, ..] = compared(&sandbox, "cells-base", "cells");
    let shown = &results(&section("Cells"))[0];
    assert!(shown.iter().zip(&base).all(|(shown, found)| agree(*shown, *found)), "{shown:?}, {base:?}");
}

/// Every command of the section is followed by what it says; those that fail end with `error:`.
#[test]
fn what_goes_wrong() {
    let sandbox = Sandbox::new();
    let file = |name: &str| sandbox.path().join(name);
    let write = |name: &str, text: &str| fs::write(file(name), text).expect("written");
    write("gaps.csv", "height,weight\n1.81,77\n1.64,\n1.70,66\n");
    write("text.csv", "height,town\n1.81,Bonn\n1.64,Bern\n");
    write("votes.csv", "yes,no\n3,1\n0,2\n5,0\n1,1\n");
    write_npy(&file("nan.npy"), &[2, 2], &[0.5f32, 1.0, f32::NAN, 2.0]).expect("written");
    write_npy(&file("floats.npy"), &[4, 2], &[3.0f32, 1.0, 0.0, 2.0, 5.0, 0.0, 1.0, 1.0]).expect("written");
    write_npy(&file("bytes.npy"), &[4, 2], &[3u8, 1, 0, 2, 5, 0, 1, 1]).expect("written");
    save_mtx(&file("cells.mtx.gz"), &cells());
    fs::copy(format!("{DOCS}/data/iris.csv"), file("iris.csv")).expect("copied");
    let section = section("What goes wrong");
    let mut seen = 0;
    for block in blocks(&section, "console") {
        for part in block.split("$ ").skip(1) {
            let (command, expected) = part.split_once('\n').expect("a line");
            let (code, said) = shell(&sandbox, command);
            let fails = expected.starts_with("error:");
            assert_eq!(code != Some(0), fails, "{command}: {said}");
            // Lines are broken for the page, and only there.
            let expected = expected.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(said.contains(&expected), "{command}\nexpected: {expected}\nsaid: {said}");
            seen += 1;
        }
    }
    assert!(seen >= 6, "{seen} commands");
}
