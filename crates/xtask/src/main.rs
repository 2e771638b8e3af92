//! Do the repository's chores: `cargo xtask check` runs its checks, cheapest first; `cargo xtask export-model` makes
//! the built-in model from a run.
#![allow(clippy::print_stderr)]

use std::process::{Command, ExitCode};
use std::time::Instant;

/// The checks in order: name, arguments of cargo, whether warnings of rustdoc are errors.
const CHECKS: [(&str, &[&str]); 5] = [
    ("format", &["fmt", "--all", "--check"]),
    ("clippy", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]),
    (
        "clippy with CUDA",
        &[
            "clippy",
            "-p",
            "hmcvi-graph",
            "-p",
            "hmcvi",
            "-p",
            "hmcvi-cli",
            "--features",
            "cuda",
            "--all-targets",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ],
    ),
    ("documentation", &["doc", "--workspace", "--no-deps", "--quiet"]),
    ("tests", &["test", "--workspace", "--quiet"]),
];

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("check") => check(),
        Some("export-model") => export_model(),
        _ => {
            eprintln!(
                "usage: cargo xtask check                   format, clippy, documentation and tests, cheapest first\n       \
                 cargo xtask export-model RUN OUT    the files of the built-in model, from a run (into \
                 crates/hmcvi/assets/model)"
            );
            ExitCode::from(2)
        }
    }
}

/// Runs the library's own exporter: this program is built before every check, so it depends on nothing.
fn export_model() -> ExitCode {
    let mut command = Command::new("cargo");
    command.args(["run", "--release", "--quiet", "-p", "hmcvi", "--example", "export_model", "--"]);
    match command.args(std::env::args().skip(2)).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("cargo could not be started: {why}");
            ExitCode::FAILURE
        }
    }
}

fn check() -> ExitCode {
    for (name, arguments) in CHECKS {
        eprintln!("checking {name}: cargo {}", arguments.join(" "));
        let start = Instant::now();
        let status = Command::new("cargo").args(arguments).env("RUSTDOCFLAGS", "-D warnings").status();
        match status {
            Ok(status) if status.success() => {
                eprintln!("{name}: right, in {:.0} s", start.elapsed().as_secs_f64());
            }
            Ok(_) => {
                eprintln!("{name}: failed; repeat it alone with `cargo {}`", arguments.join(" "));
                return ExitCode::FAILURE;
            }
            Err(why) => {
                eprintln!("{name}: cargo could not be started: {why}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
