//! Run the repository's checks, cheapest first: `cargo xtask check`.
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
        _ => {
            eprintln!("usage: cargo xtask check    format, clippy, documentation and tests, cheapest first");
            ExitCode::from(2)
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
