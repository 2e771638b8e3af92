//! Do the repository's chores: `cargo xtask check` runs its checks, cheapest first, those in Python last and only where
//! there is one; `cargo xtask export-model` makes the built-in model from a run; `cargo xtask soak` trains for a long time
//! and watches memory and speed; `cargo xtask supply-chain` checks what the program is made of.
#![allow(clippy::print_stderr)]

mod python;
mod soak;

use std::process::{Command, ExitCode};
use std::time::Instant;

/// The checks in order: name, arguments of cargo.
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
        Some("export-model") => {
            cargo(&["run", "--release", "--quiet", "-p", "hmcvi", "--example", "export_model", "--"], 2)
        }
        Some("soak") => soak(),
        Some("supply-chain") => cargo(&["deny", "check"], 2),
        _ => {
            eprintln!(
                "usage: cargo xtask check                   format, clippy, documentation and tests, cheapest first\n       \
                 cargo xtask export-model RUN OUT    the files of the built-in model, from a run (into \
                 crates/hmcvi/assets/model)\n       \
                 cargo xtask soak [MINUTES [THREADS]] train that long [60, all cores]; memory and speed must stay\n       \
                 cargo xtask supply-chain            advisories, licences and sources (needs `cargo install cargo-deny`)"
            );
            ExitCode::from(2)
        }
    }
}

/// Runs cargo with these arguments and with those that were typed from some place on. This program is built before every
/// check, so it depends on nothing.
fn cargo(arguments: &[&str], from: usize) -> ExitCode {
    match Command::new("cargo").args(arguments).args(std::env::args().skip(from)).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("cargo could not be started: {why}");
            ExitCode::FAILURE
        }
    }
}

fn soak() -> ExitCode {
    let minutes = std::env::args().nth(2).map_or(Ok(60.0), |m| m.parse());
    let threads = std::env::args().nth(3).unwrap_or("0".into());
    let outcome = match minutes {
        Ok(minutes) => soak::soak(minutes, &threads),
        Err(why) => Err(format!("minutes must be a number: {why}")),
    };
    outcome.unwrap_or_else(|why| {
        eprintln!("{why}");
        ExitCode::FAILURE
    })
}

fn check() -> ExitCode {
    for (name, arguments) in CHECKS {
        eprintln!("checking {name}: cargo {}", arguments.join(" "));
        let start = Instant::now();
        let status = Command::new("cargo").args(arguments).env("RUSTDOCFLAGS", "-D warnings").status();
        match status {
            Ok(status) if status.success() => {
                eprintln!("{name}: passed in {:.0} s", start.elapsed().as_secs_f64());
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
    python::check()
}
