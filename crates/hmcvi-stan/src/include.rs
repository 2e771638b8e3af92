//! Read programs from files, with the files that they include.

use std::path::{Path, PathBuf};

use crate::error::StanError;

/// Files that include each other are told by their depth.
const DEEPEST: usize = 20;

/// The text of a file, with the text of others in place of its lines `#include`.
pub(crate) fn read(path: &Path) -> Result<String, StanError> {
    let text = text_of(path, "the program")?;
    let mut all = String::with_capacity(text.len());
    include(path, &text, &mut all, 0)?;
    Ok(all)
}

fn text_of(path: &Path, what: &str) -> Result<String, StanError> {
    std::fs::read_to_string(path)
        .map_err(|e| StanError::of_file(format!("cannot read {what} {}: {e}", path.display())))
}

fn include(path: &Path, text: &str, all: &mut String, depth: usize) -> Result<(), StanError> {
    for (i, line) in text.lines().enumerate() {
        let Some(name) = included(line) else {
            all.push_str(line);
            all.push('\n');
            continue;
        };
        let here = format!("line {} of {}", i + 1, path.display());
        if name.is_empty() {
            return Err(StanError::of_file(format!("{here}: `#include` needs the name of a file")));
        }
        if depth == DEEPEST {
            let message = format!("{here}: files include each other more than {DEEPEST} times deep");
            return Err(StanError::of_file(message));
        }
        let other: PathBuf = path.parent().unwrap_or(Path::new("")).join(name);
        let inner = text_of(&other, &format!("what {here} includes,"))?;
        include(&other, &inner, all, depth + 1)?;
    }
    Ok(())
}

/// The name in a line such as `#include "name.stan"`.
fn included(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("#include")?;
    let rest = rest.split("//").next().unwrap_or("").trim();
    Some(rest.trim_matches(|c| matches!(c, '"' | '<' | '>')))
}

#[cfg(test)]
mod tests {
    use crate::Program;

    #[test]
    fn included_files_stand_beside_the_program() {
        let folder = std::env::temp_dir().join(format!("hmcvi-stan-include-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("parts")).expect("a folder");
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("a file");
        write(
            "a.stan",
            "functions {\n#include parts/f.stan // shared\n}\nparameters { real x; } model { x ~ f(1); }",
        );
        write("parts/f.stan", "#include \"g.stan\"\nreal f_lpdf(real x, real m) { return g(x - m); }");
        write("parts/g.stan", "real g(real x) { return -x^2; }");
        assert!(Program::open(folder.join("a.stan")).is_ok());
        write("b.stan", "\n#include <none.stan>");
        let message = Program::open(folder.join("b.stan")).expect_err("no file").message().to_owned();
        assert!(message.contains("line 2 of") && message.contains("none.stan"), "{message}");
        write("c.stan", "#include c.stan");
        let message = Program::open(folder.join("c.stan")).expect_err("no end").message().to_owned();
        assert!(message.contains("more than 20 times deep"), "{message}");
        std::fs::remove_dir_all(&folder).expect("the folder goes");
    }
}
