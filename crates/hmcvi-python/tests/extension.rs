//! The extension module is one: Python finds the function that makes it, and whatever Python that is.

use std::path::PathBuf;

/// The extension module beside this program: cargo builds it first.
fn module() -> Vec<u8> {
    let program = std::env::current_exe().expect("a running program has a path");
    let folder = program.parent().map_or_else(PathBuf::new, PathBuf::from);
    let names = ["lib_hmcvi.so", "lib_hmcvi.dylib", "_hmcvi.dll"];
    let found = names.iter().map(|name| folder.join(name)).find(|path| path.exists());
    std::fs::read(found.expect("the library was built")).expect("a file")
}

fn has(module: &[u8], text: &str) -> bool {
    module.windows(text.len()).any(|part| part == text.as_bytes())
}

#[test]
fn the_module_has_its_entry_and_keeps_to_the_stable_interface() {
    let module = module();
    assert!(has(&module, "PyInit__hmcvi"));
    // Fields of objects are functions in the stable interface; this macro's function is in no other.
    assert!(has(&module, "PyType_GetSlot") && has(&module, "PyObject_Call"));
    assert!(!has(&module, "_PyObject_MakeTpCall"));
}
