//! Make the files of the built-in model from a run: `cargo xtask export-model RUN OUT`.
#![allow(clippy::print_stdout, reason = "a program")]

use std::path::Path;

use hmcvi::run::{RunDirectory, export_model};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [run, out] = arguments.as_slice() else {
        return Err("usage: cargo xtask export-model RUN OUT".into());
    };
    std::fs::create_dir_all(out)?;
    let bytes = export_model(&RunDirectory::open(Path::new(run))?, Path::new(out))?;
    println!("{out}: parameters of {bytes} bytes");
    Ok(())
}
