//! Guard the user's files: no command replaces one that was there before it without `--force`.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use common::{SMALL, Sandbox, train};

/// What a user's own file holds.
const OWN: &str = "hours of work";

/// Commands with `--out`, and arguments that make them write below `mine` in a moment. `RUN` is a trained model.
const COMMANDS: [(&str, &[&str]); 9] = [
    ("sample", &["builtin", "--count", "4", "--out", "mine/digits.png"]),
    ("encode", &["builtin", "--limit", "5", "--out", "mine"]),
    ("hmc", &["--landscape", "gaussian", "--out", "mine/chains.npy"]),
    ("figures", &["--only", "4,5", "--out", "mine"]),
    ("report", &["RUN", "--out", "mine/page.html"]),
    ("fit", &["eight-schools", "--method", "gaussian", "--draws", "100", "--out", "mine"]),
    ("train", &["basic-2d", "--out", "mine", "--data", "embedded"]),
    ("reproduce table1", &["--rows", "basic-2d", "--epochs", "1", "--data", "embedded", "--out", "mine"]),
    ("sweep", &["seeds.toml", "--data", "embedded", "--out", "mine"]),
];

/// Commands with `--out` that have a test of their own: below, where two take minutes and one needs a network, and in
/// `posteriors.rs`.
const APART: [&str; 4] = ["quickstart", "data fetch", "reproduce families", "reproduce posteriors"];

fn words(sandbox: &Sandbox, (command, arguments): (&str, &[&str])) -> Vec<String> {
    let run = sandbox.path().join("run").display().to_string();
    let argument = |a: &&str| if *a == "RUN" { run.clone() } else { (*a).into() };
    let mut words: Vec<String> =
        command.split(' ').map(String::from).chain(arguments.iter().map(argument)).collect();
    if matches!(command, "train" | "reproduce table1" | "sweep") {
        words.extend(SMALL.map(String::from));
    }
    if matches!(command, "train" | "sweep") {
        words.push("train.epochs=1".into());
    }
    words
}

/// A folder with a trained model in it, for the commands that need one.
fn sandbox(command: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path().join("seeds.toml"), "base = \"basic-2d\"\n").expect("written");
    if command == "report" {
        train(&sandbox, "basic-2d", "run", 1);
    }
    sandbox
}

/// Files below a folder, without hidden ones.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        match path.is_dir() {
            true => found.extend(files(&path)),
            false if name.to_string_lossy().starts_with('.') => {}
            false => found.push(path),
        }
    }
    found
}

fn run(sandbox: &Sandbox, words: &[String]) -> (Option<i32>, String) {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = sandbox.run(&words);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn keeps_every_file_of_its_user(case: (&str, &[&str])) {
    let sandbox = sandbox(case.0);
    let (words, mine) = (words(&sandbox, case), sandbox.path().join("mine"));
    let (code, text) = run(&sandbox, &words);
    assert_eq!(code, Some(0), "{words:?}: {text}");
    let written = files(&mine);
    assert!(!written.is_empty(), "{words:?} wrote nothing");
    for file in written {
        fs::remove_dir_all(&mine).expect("removed");
        fs::create_dir_all(file.parent().expect("a folder")).expect("created");
        fs::write(&file, OWN).expect("written");
        let (code, text) = run(&sandbox, &words);
        let name = file.file_name().expect("a name").to_string_lossy();
        assert_ne!(code, Some(0), "{words:?} ignored {name}");
        assert_eq!(fs::read_to_string(&file).expect("still there"), OWN, "{words:?} replaced {name}: {text}");
        assert_eq!(
            files(&mine),
            std::slice::from_ref(&file),
            "{words:?} wrote beside {name} before it looked"
        );
        assert!(text.contains("mine"), "{words:?} does not say what is in the way: {text}");
    }
}

#[test]
fn every_command_with_an_output_is_covered() {
    fn with_output(sandbox: &Sandbox, command: &[&str], found: &mut BTreeSet<String>) {
        let help = sandbox.succeed(&[command, &["--help"]].concat());
        if let Some((_, list)) = help.split_once("\nCommands:\n") {
            let lines = list.lines().take_while(|line| line.starts_with("  "));
            let names = lines.filter(|l| !l.starts_with("   ")).filter_map(|l| l.split_whitespace().next());
            for name in names.filter(|name| *name != "help") {
                with_output(sandbox, &[command, &[name]].concat(), found);
            }
        } else if help.contains("--out ") {
            found.insert(command.join(" "));
        }
    }
    let mut found = BTreeSet::new();
    with_output(&Sandbox::new(), &[], &mut found);
    let covered = COMMANDS.map(|c| c.0).into_iter().chain(APART).map(String::from).collect();
    assert_eq!(found, covered);
}

macro_rules! kept_by {
    ($($name:ident: $index:literal),*) => {$(
        #[test]
        fn $name() {
            keeps_every_file_of_its_user(COMMANDS[$index]);
        }
    )*};
}
kept_by!(
    sample_replaces_nothing: 0,
    encode_replaces_nothing: 1,
    hmc_replaces_nothing: 2,
    figures_replaces_nothing: 3,
    report_replaces_nothing: 4,
    fit_replaces_nothing: 5,
    train_replaces_nothing: 6,
    reproduce_replaces_nothing: 7,
    sweep_replaces_nothing: 8
);

/// Runs a command that takes minutes with one file of the user's in its folder, for each of some names.
fn looks_before_it_trains(command: &[&str], names: &[&str]) {
    for name in names {
        let sandbox = Sandbox::new();
        let file = sandbox.path().join("mine").join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("created");
        fs::write(&file, OWN).expect("written");
        let output = sandbox.run(&[command, &["--out", "mine"]].concat());
        assert!(matches!(output.status.code(), Some(2 | 3)), "{name}: {output:?}");
        assert_eq!(files(&sandbox.path().join("mine")), std::slice::from_ref(&file));
        assert_eq!(fs::read_to_string(&file).expect("still there"), OWN);
    }
}

#[test]
fn quickstart_looks_before_it_trains() {
    let names =
        ["latent-map.png", "latent-map.svg", "learning-curves.svg", "decoded-hmcvi.png", "basic/config.toml"];
    looks_before_it_trains(&["quickstart", "--short"], &names);
}

#[test]
fn reproducing_families_looks_before_it_trains() {
    let names = ["sweep.json", "report.html", "learning.svg", "likelihoods.png", "plain/model.safetensors"];
    looks_before_it_trains(&["reproduce", "families", "--data", "embedded"], &names);
}

#[test]
fn fetching_leaves_other_data_of_the_same_name_alone() {
    let sandbox = Sandbox::new();
    let file = sandbox.path().join("mine/train-images-idx3-ubyte");
    fs::create_dir_all(file.parent().expect("a folder")).expect("created");
    fs::write(&file, OWN).expect("written");
    for data_set in ["mnist", "fashion-mnist"] {
        sandbox.fail(3, &["data", "fetch", data_set, "--out", "mine"]);
        assert_eq!(fs::read_to_string(&file).expect("still there"), OWN);
    }
}

#[test]
fn force_replaces_files_but_never_the_data_itself() {
    let sandbox = Sandbox::new();
    let out = ["sample", "builtin", "--count", "4", "--out", "digits.png"];
    fs::write(sandbox.path().join("digits.npy"), OWN).expect("written");
    let text = sandbox.fail(2, &out);
    assert!(text.contains("digits.npy") && text.contains("--force"), "{text}");
    sandbox.succeed(&[&out[..], &["--force"]].concat());
    assert_ne!(fs::read(sandbox.path().join("digits.npy")).expect("written"), OWN.as_bytes());
    // 28 x 28 images under the name that the values of the samples would have.
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (20, 28, 28), }";
    let mut data = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    data.extend(format!("{header:<117}\n").bytes());
    data.extend((0..20 * 28 * 28).map(|i| (i % 251) as u8));
    fs::write(sandbox.path().join("digits.npy"), &data).expect("written");
    let text = sandbox.fail(2, &[&out[..], &["--force", "--data", "digits.npy"]].concat());
    assert!(text.contains("the data itself"), "{text}");
    assert_eq!(fs::read(sandbox.path().join("digits.npy")).expect("still there"), data);
}
