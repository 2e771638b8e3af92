//! Keep the library's modules in one direction: who knows whom, as `docs/architecture.md` has it.
#![allow(missing_docs, reason = "tests are named for what they guard")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Modules, and the modules that each of them imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// Who must not know whom, whatever else changes.
const STRANGERS: [(&str, &[&str]); 6] = [
    ("config", &["train", "eval", "device", "run", "problem"]),
    ("eval", &["train", "run", "model"]),
    ("family", &["data", "model", "config", "train", "eval"]),
    ("hmc", &["data", "model", "family", "config"]),
    ("model", &["family", "config", "train", "eval", "hmc"]),
    ("train", &["model", "run", "eval"]),
];

fn gather(path: &Path, module: Option<&str>, all: &mut Imports) {
    for entry in std::fs::read_dir(path).expect("a folder of sources").flatten() {
        let (path, name) = (entry.path(), entry.file_name().into_string().expect("a plain name"));
        let module = module.unwrap_or(name.trim_end_matches(".rs"));
        if path.is_dir() {
            gather(&path, Some(module), all);
        } else if module != "lib" {
            let text = std::fs::read_to_string(&path).expect("a source file");
            all.entry(module.to_owned()).or_default().extend(imported(&text, module));
        }
    }
}

/// The modules that a text names, other than its own.
fn imported(text: &str, own: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let named = lines.flat_map(|line| line.split("crate::").skip(1));
    let module = |rest: &str| {
        rest.split(|c: char| !c.is_ascii_lowercase() && c != '_').next().unwrap_or("").to_owned()
    };
    named.map(module).filter(|name| !name.is_empty() && name != own).collect()
}

/// Everything that a module knows, directly or through others.
fn reached(imports: &Imports, from: &str) -> BTreeSet<String> {
    let (mut found, mut open) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(module) = open.pop() {
        let new = imports.get(&module).into_iter().flatten().filter(|name| found.insert((*name).clone()));
        open.extend(new.cloned().collect::<Vec<_>>());
    }
    found
}

#[test]
fn imports_go_one_way() {
    let mut imports = Imports::new();
    gather(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), None, &mut imports);
    assert!(imports["train"].contains("device") && imports["problem"].contains("model"), "{imports:?}");
    for module in imports.keys() {
        assert!(!reached(&imports, module).contains(module), "`{module}` imports itself through others");
    }
    for (module, strangers) in STRANGERS {
        let known: Vec<_> = strangers.iter().filter(|name| imports[module].contains(**name)).collect();
        assert!(known.is_empty(), "`{module}` must not know {known:?}");
    }
}
