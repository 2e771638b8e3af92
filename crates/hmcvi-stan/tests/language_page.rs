//! The page of the language is what the tables of the code say.
#![allow(missing_docs, reason = "tests are named for what they guard")]

use std::path::Path;

#[test]
fn the_page_is_written_from_the_tables() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/stan.md");
    let text = hmcvi_stan::language();
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&page, &text).expect("the page can be written");
    }
    let written = std::fs::read_to_string(&page).unwrap_or_default();
    assert!(written == text, "docs/stan.md is not what the code says; `UPDATE_SNAPSHOTS=1` writes it");
}
