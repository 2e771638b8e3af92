//! Build the wheel and the source package of Python, and say what they run on.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

/// Where both are put.
const FOLDER: &str = "target/wheels";

/// Builds both with maturin; further arguments are its own.
pub(crate) fn wheel() -> ExitCode {
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(), String> {
    let maturin = env::var("HMCVI_MATURIN").unwrap_or_else(|_| "maturin".into());
    let arguments =
        ["build", "--release", "--sdist", "--strip", "-m", "crates/hmcvi-python/Cargo.toml", "--out", FOLDER];
    let status = Command::new(&maturin).args(arguments).args(env::args().skip(2)).status();
    match status {
        Ok(status) if status.success() => {}
        Ok(_) => return Err("maturin could not build the wheel".into()),
        Err(why) => {
            return Err(format!(
                "{maturin} could not be started ({why}); `pip install maturin` gets it, and HMCVI_MATURIN=PATH names it"
            ));
        }
    }
    for wheel in wheels()? {
        let size = fs::metadata(&wheel).map_or(0, |file| file.len());
        eprintln!("{}: {:.1} MB", wheel.display(), size as f64 / 1e6);
    }
    Ok(())
}

fn wheels() -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(Path::new(FOLDER)).map_err(|why| format!("{FOLDER}: {why}"))?;
    let all = entries.flatten().map(|entry| entry.path());
    Ok(all.filter(|path| path.extension().is_some_and(|end| end == "whl" || end == "gz")).collect())
}
