//! Read reference draws of posteriors: `NAME.data.json`, `NAME.reference.json` and `NAME.draws.npy` in one folder.

use std::path::{Path, PathBuf};

use hmcvi::data::read_npy;
use serde::Deserialize;

use crate::failure::Failure;

/// What is known of a posterior.
pub(super) struct Reference {
    /// Reference draws that moments are of.
    pub(super) count: f64,
    pub(super) parameters: Vec<Parameter>,
}

/// What reference draws say about one number of the model.
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) mean: f64,
    pub(super) sd: f64,
    /// Some of the draws.
    pub(super) draws: Vec<f64>,
}

/// `NAME.reference.json`
#[derive(Deserialize)]
struct Moments {
    draws: u64,
    parameters: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    mean: f64,
    sd: f64,
}

fn file(folder: &Path, posterior: &str, end: &str) -> PathBuf {
    folder.join(format!("{posterior}.{end}"))
}

/// The file with the data of a posterior.
pub(super) fn data(folder: &Path, posterior: &str) -> PathBuf {
    file(folder, posterior, "data.json")
}

/// The Stan program of a posterior: its name comes after that of its data, as in posteriordb.
pub(super) fn program(folder: &Path, posterior: &str) -> PathBuf {
    let name = posterior.split_once('-').map_or(posterior, |(_, program)| program);
    folder.join(format!("{name}.stan"))
}

/// Refuses a folder in which a posterior lacks a file.
pub(super) fn check(folder: &Path, posterior: &str) -> Result<(), Failure> {
    let all = ["data.json", "reference.json", "draws.npy"].map(|end| file(folder, posterior, end));
    match all.iter().find(|file| !file.is_file()) {
        Some(missing) => Err(Failure::Data(format!("there is no {}", missing.display())).then(
            "`--reference` or HMCVI_POSTERIORDB names the folder with reference draws; docs/posteriors.md says what is in it",
        )),
        None => Ok(()),
    }
}

/// Reads what is known of a posterior.
pub(super) fn read(folder: &Path, posterior: &str) -> Result<Reference, Failure> {
    let path = file(folder, posterior, "reference.json");
    let broken = |why: String| Failure::Data(format!("{}: {why}", path.display()));
    let text = std::fs::read_to_string(&path).map_err(|e| broken(e.to_string()))?;
    let moments: Moments = serde_json::from_str(&text).map_err(|e| broken(e.to_string()))?;
    let path = file(folder, posterior, "draws.npy");
    let table = read_npy(&path)?;
    let (found, columns) = (table.columns(), moments.parameters.len());
    if found != columns {
        let text = format!("{}: {found} columns, but {columns} parameters in the reference", path.display());
        return Err(Failure::Data(text));
    }
    let rows: Vec<u32> = (0..table.len() as u32).collect();
    let mut values = vec![0.0; rows.len() * columns];
    table.gather(&rows, &mut values);
    let column = |j: usize| values.iter().skip(j).step_by(columns).map(|x| f64::from(*x)).collect();
    let of = |(j, Row { name, mean, sd })| Parameter { name, mean, sd, draws: column(j) };
    let parameters = moments.parameters.into_iter().enumerate().map(of).collect();
    Ok(Reference { count: moments.draws as f64, parameters })
}
