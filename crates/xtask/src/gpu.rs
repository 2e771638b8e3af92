//! Run all tests that need a GPU: none is skipped unseen, and those that ran on the card are counted.
//!
//! The test programs can be built on a machine without a card, carried to another one, and run there by this program,
//! which lies beside them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// The tests that look for a card.
const TESTS: [&[&str]; 2] = [&["-p", "hmcvi-graph", "--tests"], &["-p", "hmcvi", "--test", "cuda"]];
/// What a test writes that got hold of the card; its name follows.
const ON_THE_CARD: &str = "on the card: ";
const USAGE: &str = "usage: cargo xtask gpu [--build FOLDER | --run FOLDER]";

/// Builds the tests and runs them, or does one of both with a folder.
pub(crate) fn gpu(arguments: &[String]) -> Result<ExitCode, String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => run(&build()?),
        ["--build", folder] => carry(&build()?, Path::new(folder)),
        ["--run", folder] => run(&programs_in(Path::new(folder))?),
        _ => Err(USAGE.into()),
    }
}

/// Builds the test programs and returns where they are.
fn build() -> Result<Vec<PathBuf>, String> {
    let mut programs = Vec::new();
    for tests in TESTS {
        let options = ["--features", "cuda", "--no-run", "--quiet", "--message-format", "json"];
        let output =
            Command::new("cargo").arg("test").args(tests).args(options).stderr(Stdio::inherit()).output();
        let output = output.map_err(|why| format!("cargo could not be started: {why}"))?;
        if !output.status.success() {
            return Err("the tests could not be built".into());
        }
        programs.extend(executables(&String::from_utf8_lossy(&output.stdout)).map(PathBuf::from));
    }
    Ok(programs)
}

/// The executables that cargo's messages name; this program depends on nothing, so they are found by their key.
fn executables(messages: &str) -> impl Iterator<Item = &str> {
    const KEY: &str = "\"executable\":\"";
    messages.lines().filter_map(|line| line.split_once(KEY)?.1.split('"').next())
}

/// Copies the programs and this one into a new folder.
fn carry(programs: &[PathBuf], folder: &Path) -> Result<ExitCode, String> {
    let failed = |why: std::io::Error| format!("{}: {why}", folder.display());
    if folder.exists() {
        return Err(format!("{} exists: name a folder that does not", folder.display()));
    }
    fs::create_dir_all(folder).map_err(failed)?;
    let own = std::env::current_exe().map_err(failed)?;
    fs::copy(own, folder.join("xtask")).map_err(failed)?;
    for program in programs {
        let name = program.file_name().ok_or("a test program has no name")?;
        fs::copy(program, folder.join(name)).map_err(failed)?;
    }
    eprintln!(
        "{} test programs; on the machine with the card: FOLDER/xtask gpu --run FOLDER",
        programs.len()
    );
    Ok(ExitCode::SUCCESS)
}

/// The test programs that were carried here.
fn programs_in(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    let mut programs: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    programs.retain(|path| path.is_file() && path.file_stem().is_some_and(|name| name != "xtask"));
    programs.sort();
    if programs.is_empty() {
        return Err(format!(
            "{} holds no test programs: `cargo xtask gpu --build` makes them",
            folder.display()
        ));
    }
    Ok(programs)
}

/// Runs the programs; a failure, a missing card and no test on a card at all make it fail.
fn run(programs: &[PathBuf]) -> Result<ExitCode, String> {
    let (mut on_the_card, mut failed) = (0, Vec::new());
    for program in programs {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        eprintln!("running {name}");
        let program = program.canonicalize().map_err(|why| format!("{name}: {why}"))?;
        let output = Command::new(program).env("HMCVI_REQUIRE_CUDA", "1").output();
        let output = output.map_err(|why| format!("{name} could not be started: {why}"))?;
        let notes = String::from_utf8_lossy(&output.stderr);
        on_the_card += tests_on_the_card(&notes);
        if !output.status.success() {
            eprintln!("{}{notes}", String::from_utf8_lossy(&output.stdout));
            failed.push(name.into_owned());
        }
    }
    eprintln!("{on_the_card} tests ran on the card, in {} programs", programs.len());
    match failed[..] {
        [] if on_the_card > 0 => Ok(ExitCode::SUCCESS),
        [] => Err("no test ran on a card: were the programs built with `--features cuda`?".into()),
        _ => Err(format!("failed: {}", failed.join(", "))),
    }
}

/// Tests that said that they got hold of the card; one may say so several times.
fn tests_on_the_card(notes: &str) -> usize {
    notes.lines().filter_map(|line| Some(line.split_once(ON_THE_CARD)?.1)).collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::{executables, tests_on_the_card};

    #[test]
    fn test_programs_are_found_in_cargos_messages() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null}\n\
             {\"reason\":\"compiler-artifact\",\"executable\":\"/t/deps/cuda-1\",\"fresh\":true}\n";
        assert_eq!(executables(messages).collect::<Vec<_>>(), ["/t/deps/cuda-1"]);
    }

    #[test]
    fn a_test_on_the_card_counts_once() {
        assert_eq!(tests_on_the_card("on the card: a\nother words\non the card: b\non the card: a\n"), 2);
    }
}
