//! Make settings fit data, and refuse those that do not.

use super::error::ConfigError;
use super::spec::RunSpec;
use crate::data::{Binarisation, Dataset, Kind, Split, Table};
use crate::model::likelihood::LikelihoodKind;

impl RunSpec {
    /// These settings with all choices that they leave to the data: its kind, and the likelihood of the model.
    ///
    /// # Errors
    /// [`ConfigError::Value`] if the data has values that the likelihood does not allow, or its settings do not fit.
    pub fn for_data(&self, data: &Dataset) -> Result<Self, ConfigError> {
        let (kind, train) = (data.kind(), data.train());
        let mut spec = RunSpec { data: self.data.for_data(data), ..self.clone() };
        spec.model = self.model.for_data(kind, train.columns(), train.groups());
        if kind == Kind::Byte && spec.model.likelihood() != LikelihoodKind::Bernoulli {
            spec.data.binarisation = Binarisation::None;
        }
        spec.check_data(data)?;
        Ok(spec)
    }

    /// Refuses data with values that the likelihood does not allow.
    ///
    /// # Errors
    /// As [`for_data`](Self::for_data).
    pub fn check_data(&self, data: &Dataset) -> Result<(), ConfigError> {
        let kind = self.model.likelihood();
        let settings = self.model.likelihood_settings();
        let refused = |allowed: String| ConfigError::Value {
            key: "model.likelihood".into(),
            value: kind.name(),
            allowed: format!("one that fits the data: {allowed}"),
        };
        kind.likelihood()
            .check(&settings, data.train().columns())
            .map_err(|error| refused(error.to_string().replace("`groups`", "`model.groups`")))?;
        if data.kind() == Kind::Byte {
            // Intensities become numbers from 0 to 1.
            let fits = matches!(kind, LikelihoodKind::Bernoulli | LikelihoodKind::Gaussian);
            let advice =
                "intensities are scaled to numbers from 0 to 1; if they are counts, set `data.kind=count`";
            return if fits { Ok(()) } else { Err(refused(advice.into())) };
        }
        Split::ALL.into_iter().try_for_each(|split| self.check_rows(data.table(split), &format!("{split} ")))
    }

    /// Refuses rows with values that the likelihood does not allow; `which` of them, as a word before "rows". Intensities
    /// are left to [`check_data`](Self::check_data).
    ///
    /// # Errors
    /// [`ConfigError::Value`] with the first such value.
    pub fn check_rows(&self, rows: &Table, which: &str) -> Result<(), ConfigError> {
        let kind = self.model.likelihood();
        if rows.kind() == Kind::Byte {
            return Ok(());
        }
        let Some((row, column, value)) = first_refused(rows, kind) else { return Ok(()) };
        let (name, column) = (kind.name(), rows.column(column));
        let found = format!("row {row} (from 0) of the {which}rows has {value} in column {column}");
        let allowed = kind.likelihood().allowed();
        Err(ConfigError::Value {
            key: "model.likelihood".into(),
            allowed: format!("one that fits the data: {found}, but {name} needs {allowed}"),
            value: name,
        })
    }
}

/// The first value that a likelihood does not allow, with its row and column.
fn first_refused(table: &Table, kind: LikelihoodKind) -> Option<(usize, usize, f32)> {
    let likelihood = kind.likelihood();
    let all = (0..table.len())
        .flat_map(|row| table.non_zeros(row).map(move |(column, value)| (row, column, value)));
    all.into_iter().find(|&(_, _, value)| !likelihood.allows(value))
}
