//! Do the repository's chores: `cargo xtask check` runs its checks, cheapest first, those in Python last and only where
//! there is one; `cargo xtask export-model` makes the built-in model from a run; `cargo xtask gpu` runs the tests that need
//! a GPU; `cargo xtask soak` trains for a long time and watches memory and speed; `cargo xtask kill` kills processes of
//! one; `cargo xtask supply-chain` checks what the program is made of.
#![allow(clippy::print_stderr)]

mod gpu;
mod kill;
mod python;
mod soak;
mod wheel;

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

/// Those that need an MPI and libclang.
const OVER_MPI: [(&str, &[&str]); 2] = [
    (
        "clippy with MPI",
        &[
            "clippy",
            "-p",
            "hmcvi-cli",
            "--features",
            "mpi",
            "--all-targets",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ],
    ),
    ("tests over MPI", &["test", "-p", "hmcvi-cli", "--features", "mpi", "--test", "mpi", "--quiet"]),
];

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("check") => check(),
        Some("export-model") => {
            cargo(&["run", "--release", "--quiet", "-p", "hmcvi", "--example", "export_model", "--"], 2)
        }
        Some("gpu") => gpu(),
        Some("soak") => soak(),
        Some("kill") => kill(),
        Some("supply-chain") => cargo(&["deny", "check"], 2),
        Some("wheel") => wheel::wheel(),
        _ => {
            eprintln!(
                "usage: cargo xtask check                   format, clippy, documentation and tests, cheapest first\n       \
                 cargo xtask export-model RUN OUT    the files of the built-in model, from a run (into \
                 crates/hmcvi/assets/model)\n       \
                 cargo xtask gpu [--build FOLDER | --run FOLDER]\n       \
                 \x20                                   all tests that need a GPU, which must be there; or their programs, to be \
                 carried to another machine and run there\n       \
                 cargo xtask soak [MINUTES [THREADS]] train that long [60, all cores]; memory and speed must stay\n       \
                 cargo xtask kill [KILLS [PROCESSES]]    kill each of some processes of a training over MPI that often \
                 [20, 2], and compare the bits\n       \
                 cargo xtask wheel [ARGUMENTS]       the wheel and the source package of Python (needs `pip install \
                 maturin`)\n       \
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

fn gpu() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    gpu::gpu(&arguments).unwrap_or_else(|why| {
        eprintln!("{why}");
        ExitCode::FAILURE
    })
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

fn kill() -> ExitCode {
    let number = |i: usize, usual: usize| std::env::args().nth(i).map_or(Ok(usual), |n| n.parse());
    let outcome = match (number(2, 20), number(3, 2)) {
        (Ok(kills), Ok(processes)) => kill::kill(kills, processes),
        _ => Err("kills and processes must be numbers".into()),
    };
    outcome.unwrap_or_else(|why| {
        eprintln!("{why}");
        ExitCode::FAILURE
    })
}

/// Whether a program can be started.
fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

fn check() -> ExitCode {
    let with_mpi = ["mpirun", "mpicc"].into_iter().all(is_there);
    if !with_mpi {
        eprintln!(
            "skipped: work over MPI is not checked, because there is no `mpirun` or no `mpicc` (docs/clusters.md)"
        );
    }
    for (name, arguments) in CHECKS.into_iter().chain(OVER_MPI.into_iter().filter(|_| with_mpi)) {
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
