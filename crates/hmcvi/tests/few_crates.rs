//! Keep the library cheap to build: who depends on it builds few other crates.
#![allow(missing_docs, reason = "tests are named for what they guard")]

use std::collections::BTreeSet;
use std::process::Command;

/// Most crates that a build of the library takes, its own three included.
const MOST: usize = 45;

#[test]
fn the_library_needs_few_crates() {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let arguments = ["tree", "--offline", "--locked", "-p", "hmcvi", "--edges", "normal", "--prefix", "none"];
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let output = Command::new(cargo).args(arguments).args(["--manifest-path", manifest]).output();
    let output = output.expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {} failed: {said}", arguments.join(" "));
    let lines = String::from_utf8(output.stdout).expect("names are text");
    // Name and version; a crate that is there twice in different versions is built twice.
    let crates: BTreeSet<String> =
        lines.lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect();
    for own in ["hmcvi ", "hmcvi-graph ", "hmcvi-record ", "serde "] {
        assert!(crates.iter().any(|name| name.starts_with(own)), "{own}is missing in {crates:?}");
    }
    assert!(
        crates.len() <= MOST,
        "the library takes {} crates, and at most {MOST} are allowed: `cargo tree -p hmcvi --edges normal` shows who \
         brings which, and `cargo tree -p hmcvi --edges normal --invert NAME` why. Take a lighter crate, or make it a \
         dev-dependency or one of the program. Now they are {}",
        crates.len(),
        crates.into_iter().collect::<Vec<_>>().join(", ")
    );
}
