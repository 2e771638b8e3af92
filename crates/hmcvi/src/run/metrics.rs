//! Keep one line for every epoch, and take back those that a checkpoint does not know.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use hmcvi_record::Epoch;

use super::atomic;
use super::error::DirectoryError;

/// Adds a line.
pub(super) fn append(path: &Path, epoch: &Epoch) -> Result<(), DirectoryError> {
    let failed = |source| DirectoryError::io(path, "write", source);
    let line = serde_json::to_string(epoch).expect("numbers become JSON") + "\n";
    let mut file = File::options().create(true).append(true).open(path).map_err(failed)?;
    file.write_all(line.as_bytes()).map_err(failed)
}

/// All epochs. A last line without an end is one that was cut off, and is left out.
pub(super) fn read(path: &Path) -> Result<Vec<Epoch>, DirectoryError> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(path).map_err(|source| DirectoryError::io(path, "read", source))?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let line = |(number, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|e| {
            DirectoryError::content(path, format!("line {}: {e}", number + 1), "one epoch as JSON")
        })
    };
    whole.lines().enumerate().map(line).collect()
}

/// Drops epochs after `last`, which will be done again. Returns those that stay.
pub(super) fn rewind(path: &Path, last: u64) -> Result<Vec<Epoch>, DirectoryError> {
    let mut epochs = read(path)?;
    epochs.retain(|e| e.epoch <= last);
    let line = |e: &Epoch| serde_json::to_string(e).expect("numbers become JSON") + "\n";
    atomic::write(path, epochs.iter().map(line).collect::<String>().as_bytes())?;
    Ok(epochs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_missing_afterwards_and_nothing_else_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("metrics.jsonl");
        let train = [("bound", -90.5), ("gradient_norm", f64::INFINITY)];
        let epoch = |number: u64, validation: f64| Epoch {
            epoch: number,
            step: 10 * number,
            seconds: 1.5,
            learning_rate: 1e-3,
            train: train.map(|(name, value)| (name.to_owned(), value)).into(),
            validation: Some([("bound".to_owned(), validation)].into()),
            images: 100,
            divergences: 2,
            skipped: 1,
            images_per_second: 10.0,
        };
        append(&file, &epoch(1, f64::NAN)).expect("it is written");
        append(&file, &epoch(2, -91.0)).expect("it is written");
        let read = read(&file).expect("it is read");
        let bound: std::collections::BTreeMap<String, f64> = [("bound".to_owned(), -90.5)].into();
        assert_eq!(read[0], Epoch { train: bound.clone(), validation: Some([].into()), ..epoch(1, 0.0) });
        assert_eq!(read[1], Epoch { train: bound, ..epoch(2, -91.0) });
        // Going on after such an epoch keeps it.
        assert_eq!(rewind(&file, 1).expect("it is read").len(), 1);
    }
}
