//! Run the tests of the Python package, where there is a Python that can.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;
use std::{env, fs};

/// What the tests cannot do without.
const NEEDED: &str = "import sys, numpy, pytest; sys.exit(sys.version_info < (3, 10))";
/// Where the package is.
const PACKAGE: &str = "crates/hmcvi-python";

/// Runs the tests of the package, or says why they are skipped.
pub(crate) fn check() -> ExitCode {
    let Some(python) = interpreter() else {
        eprintln!(
            "Python: SKIPPED: there is no Python 3.10 or newer with numpy and pytest; `pip install numpy pytest` gets \
             them, and HMCVI_PYTHON=PATH names another interpreter than python3"
        );
        return ExitCode::SUCCESS;
    };
    eprintln!("checking Python: the tests of {PACKAGE} with {python}");
    let start = Instant::now();
    match built().and_then(|library| test(&python, &library)) {
        Ok(()) => {
            eprintln!("Python: passed in {:.0} s", start.elapsed().as_secs_f64());
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("Python: failed: {why}");
            ExitCode::FAILURE
        }
    }
}

fn interpreter() -> Option<String> {
    let python = env::var("HMCVI_PYTHON").unwrap_or_else(|_| "python3".into());
    let found = Command::new(&python).args(["-c", NEEDED]).output();
    found.is_ok_and(|found| found.status.success()).then_some(python)
}

/// Where cargo puts what the tests are made of.
fn folder() -> PathBuf {
    env::var("CARGO_TARGET_DIR").map_or_else(|_| PathBuf::from("target"), PathBuf::from).join("debug")
}

/// The extension module, which the tests in Rust have built.
fn built() -> Result<PathBuf, String> {
    let names = ["deps/lib_hmcvi.so", "deps/lib_hmcvi.dylib"];
    let built = names.iter().map(|name| folder().join(name)).find(|path| path.exists());
    built.ok_or_else(|| format!("there is no extension module in {}", folder().display()))
}

fn test(python: &str, library: &Path) -> Result<(), String> {
    let package = Path::new(PACKAGE).join("python");
    let copy = package.join("hmcvi").join("_hmcvi.abi3.so");
    fs::copy(library, &copy).map_err(|why| format!("cannot write {}: {why}", copy.display()))?;
    let absolute = |path: &Path| fs::canonicalize(path).map_err(|why| format!("{}: {why}", path.display()));
    let program = folder().join("hmcvi");
    let status = Command::new(python)
        .args(["-m", "pytest", "--quiet", "-rs"])
        .current_dir(PACKAGE)
        .env("PYTHONPATH", absolute(&package)?)
        .env("HMCVI_PROGRAM", absolute(&program)?)
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err("a test failed".into()),
        Err(why) => Err(format!("{python} could not be started: {why}")),
    }
}
