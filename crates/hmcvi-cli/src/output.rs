//! Write the files that commands leave behind, and replace none that was there before without being told to.

use std::path::{Path, PathBuf};

use hmcvi::data::{NpyValue, write_npy_to};
use hmcvi::run::{write_new, write_whole};
use hmcvi_report::Scene;

use crate::failure::Failure;

/// Names that a message lists before it only counts.
const NAMED: usize = 3;

/// The files that a command is going to write, claimed before it computes anything.
#[derive(Debug)]
pub(crate) struct Outputs {
    files: Vec<PathBuf>,
    force: bool,
}

impl Outputs {
    /// Claims files. Those that exist are replaced with `force` only.
    pub(crate) fn claim(files: impl IntoIterator<Item = PathBuf>, force: bool) -> Result<Self, Failure> {
        let outputs = Outputs { files: files.into_iter().collect(), force };
        if let Some(folder) = outputs.files.iter().find(|file| file.is_dir()) {
            return Err(Failure::Usage(format!(
                "{} is a folder, but a file of that name is to be written; choose another name with --out",
                folder.display()
            )));
        }
        // A link that leads nowhere is somebody's, too.
        let exists = |file: &&PathBuf| file.symlink_metadata().is_ok();
        let there: Vec<&PathBuf> = outputs.files.iter().filter(exists).collect();
        if force || there.is_empty() { Ok(outputs) } else { Err(refusal(&there)) }
    }

    /// Refuses to replace the data that a model is used with, even by force.
    pub(crate) fn spare(&self, source: &str) -> Result<(), Failure> {
        let data = Path::new(source).canonicalize().ok();
        let same = |file: &&PathBuf| data.is_some() && file.canonicalize().ok() == data;
        self.files.iter().find(same).map_or(Ok(()), |file| {
            Err(Failure::Usage(format!(
                "{} is the data itself, so it is not replaced even with --force; choose another name with --out",
                file.display()
            )))
        })
    }

    /// Writes one of the files in one piece, with its folder if that is missing.
    pub(crate) fn write(&self, file: &Path, bytes: &[u8]) -> Result<(), Failure> {
        debug_assert!(self.files.iter().any(|f| f == file), "{} was not claimed", file.display());
        make_folder(file)?;
        if self.force {
            return Ok(write_whole(file, bytes)?);
        }
        match write_new(file, bytes) {
            // It appeared while the command was at work.
            Err(_) if file.symlink_metadata().is_ok() => Err(refusal(&[&file.to_path_buf()])),
            written => Ok(written?),
        }
    }

    /// Writes an array.
    pub(crate) fn write_npy<T: NpyValue>(
        &self,
        file: &Path,
        shape: &[usize],
        values: &[T],
    ) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        let written = write_npy_to(&mut bytes, shape, values);
        written.map_err(|e| Failure::Other(format!("cannot write {}: {e}", file.display())))?;
        self.write(file, &bytes)
    }

    /// Writes a drawing as SVG and as PNG; see [`drawing_files`].
    pub(crate) fn write_drawing(&self, stem: &Path, scene: &Scene) -> Result<(), Failure> {
        let [svg, png] = drawing_files(stem);
        self.write(&svg, scene.to_svg().as_bytes())?;
        self.write(&png, &scene.to_png()?)
    }
}

/// The two files of a drawing.
pub(crate) fn drawing_files(stem: &Path) -> [PathBuf; 2] {
    ["svg", "png"].map(|end| stem.with_extension(end))
}

fn refusal(there: &[&PathBuf]) -> Failure {
    let names: Vec<String> = there.iter().take(NAMED).map(|file| file.display().to_string()).collect();
    let more = match there.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let (verb, them) = if there.len() == 1 { ("exists", "it") } else { ("exist", "them") };
    Failure::Usage(format!(
        "{}{more} already {verb}; add --force to replace {them}, or choose another place with --out",
        names.join(", ")
    ))
}

/// Makes the folder of a file.
pub(crate) fn make_folder(file: &Path) -> Result<(), Failure> {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => std::fs::create_dir_all(folder)
            .map_err(|e| Failure::Other(format!("cannot create the folder {}: {e}", folder.display()))),
        _ => Ok(()),
    }
}
