//! Run the real program in a folder of its own.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// Settings that make training take a moment.
pub(crate) const SMALL: [&str; 4] = ["--set", "data.limit=100", "model.hidden=[16,16]", "train.batch=50"];

/// A folder, and the program run in it without anybody's cache or terminal.
pub(crate) struct Sandbox {
    folder: TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Sandbox { folder: TempDir::new().expect("a temporary folder") }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The program with arguments, not started yet.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hmcvi"));
        command.args(arguments).current_dir(self.path()).env("HMCVI_CACHE", self.path().join("cache"));
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program starts")
    }

    /// Runs and expects success; returns standard output.
    #[track_caller]
    pub(crate) fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    /// Runs and expects this exit code; returns standard error.
    #[track_caller]
    #[allow(dead_code, reason = "not every test file has something fail")]
    pub(crate) fn fail(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        text
    }
}

/// Says that something is not checked here. Not by a macro, whose output tests that pass do not show.
#[allow(dead_code, reason = "not every test file leaves something out")]
pub(crate) fn skipped(why: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// Trains with small settings into `out`.
#[track_caller]
#[allow(dead_code, reason = "not every test file trains")]
pub(crate) fn train(sandbox: &Sandbox, preset: &str, out: &str, epochs: usize) -> String {
    let epochs = format!("train.epochs={epochs}");
    let mut arguments = vec!["train", preset, "--out", out, "--json"];
    arguments.extend(SMALL);
    arguments.push(&epochs);
    sandbox.succeed(&arguments)
}
