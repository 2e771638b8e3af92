//! Keep the library's messages free of the program's flags and commands: a library's caller has neither.
#![allow(missing_docs, reason = "tests are named for what they guard")]

use std::path::{Path, PathBuf};

/// Files whose texts are not errors: the file in a run directory that says how to use it with the program, and arguments
/// of other programs.
const OTHER_TEXTS: [&str; 3] = ["run/readme.rs", "hmcvi-fetch/src/npm.rs", "cuda/compile.rs"];

fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources").flatten() {
        match entry.path() {
            path if path.is_dir() => sources(&path, all),
            path if path.extension().is_some_and(|e| e == "rs") => all.push(path),
            _ => {}
        }
    }
}

/// Whether a line of code, not of a comment, has a flag such as ` --force` or a command such as `` `hmcvi eval ``.
fn speaks_of_the_program(line: &str) -> bool {
    let flag = |at: usize| {
        let before = line[..at].chars().next_back().is_none_or(|c| " `(\"".contains(c));
        before && line[at + 2..].starts_with(|c: char| c.is_ascii_lowercase())
    };
    let code = !line.trim_start().starts_with("//");
    code && (line.contains("`hmcvi ") || line.match_indices("--").any(|(at, _)| flag(at)))
}

#[test]
fn errors_of_the_libraries_name_no_flags_and_no_commands() {
    assert!(speaks_of_the_program(r#"#[error("{0} (`--device cpu`)")]"#));
    assert!(speaks_of_the_program(r#"#[error("go on with `hmcvi resume`")]"#));
    assert!(!speaks_of_the_program("// --force replaces it"));
    let mut files = Vec::new();
    for library in
        [".", "../hmcvi-fetch", "../hmcvi-graph", "../hmcvi-nuts", "../hmcvi-record", "../hmcvi-stan"]
    {
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(library).join("src"), &mut files);
    }
    assert!(files.len() > 50, "the sources are found");
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !OTHER_TEXTS.iter().any(|text| file.ends_with(text))) {
        let text = std::fs::read_to_string(file).expect("a source file");
        let lines = text.lines().enumerate().filter(|(_, line)| speaks_of_the_program(line));
        found.extend(lines.map(|(i, line)| format!("{}:{}: {}", file.display(), i + 1, line.trim())));
    }
    assert!(found.is_empty(), "the program adds its flags, not the library:\n{}", found.join("\n"));
}
