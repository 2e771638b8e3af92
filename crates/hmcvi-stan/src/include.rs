//! Read programs from files, with the files that they include.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Source, StanError};

/// Files that include each other are told by their depth.
const DEEPEST: usize = 20;

/// The text of a file, with the text of others in place of its lines `#include`.
pub(crate) fn read(path: &Path) -> Result<Source, StanError> {
    let text = text_of(path, "the program")?;
    let mut all = Joined { text: String::with_capacity(text.len()), origins: Vec::new() };
    all.include(path, &text, 0)?;
    Ok(Source::joined(all.text, all.origins))
}

/// The text so far, with the file and the line that each of its lines comes from; no file is the program itself.
struct Joined {
    text: String,
    origins: Vec<(Option<Arc<str>>, usize)>,
}

fn text_of(path: &Path, what: &str) -> Result<String, StanError> {
    std::fs::read_to_string(path)
        .map_err(|e| StanError::of_file(format!("cannot read {what} {}: {e}", path.display())))
}

impl Joined {
    fn include(&mut self, path: &Path, text: &str, depth: usize) -> Result<(), StanError> {
        let file: Option<Arc<str>> = (depth > 0).then(|| path.display().to_string().into());
        for (i, line) in text.lines().enumerate() {
            let Some(name) = included(line) else {
                self.text.push_str(line);
                self.text.push('\n');
                self.origins.push((file.clone(), i + 1));
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
            let other = beside(path, name);
            let inner = text_of(&other, &format!("what {here} includes,"))?;
            self.include(&other, &inner, depth + 1)?;
        }
        Ok(())
    }
}

/// Where an included file is: in the folder of the file that names it. Names such as `/pre/license.stan`, as packages for R
/// write them, are looked for from that folder on, too.
fn beside(path: &Path, name: &str) -> PathBuf {
    let folder = path.parent().unwrap_or(Path::new(""));
    let other = folder.join(name);
    match name.strip_prefix('/') {
        Some(rest) if !other.exists() => folder.join(rest),
        _ => other,
    }
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
        write("e.stan", "functions {\n#include /parts/f.stan\n}\nparameters { real x; } model { x ~ f(1); }");
        assert!(Program::open(folder.join("e.stan")).is_ok());
        write("b.stan", "\n#include <none.stan>");
        let message = Program::open(folder.join("b.stan")).expect_err("no file").message().to_owned();
        assert!(message.contains("line 2 of") && message.contains("none.stan"), "{message}");
        write("parts/h.stan", "// first\nreal h(real x) {\n  return y;\n}");
        write(
            "d.stan",
            "functions {\n#include parts/h.stan\n}\nparameters { real x; } model { x ~ nomal(0, 1); }",
        );
        let error = Program::open(folder.join("d.stan")).expect_err("`y` is not declared");
        assert_eq!((error.line(), error.column()), (Some(3), Some(10)));
        assert!(error.file().is_some_and(|file| file.ends_with("h.stan")), "{error}");
        assert!(error.to_string().contains("h.stan, line 3, column 10:"), "{error}");
        write("parts/h.stan", "// first\n// second\nreal h(real x) {\n  return x;\n}");
        let error = Program::open(folder.join("d.stan")).expect_err("there is no `nomal`");
        assert_eq!((error.file(), error.line()), (None, Some(4)), "{error}");
        write("c.stan", "#include c.stan");
        let message = Program::open(folder.join("c.stan")).expect_err("no end").message().to_owned();
        assert!(message.contains("more than 20 times deep"), "{message}");
        std::fs::remove_dir_all(&folder).expect("the folder goes");
    }
}
