//! Say how settings read data and see its rows.

use std::path::Path;

use super::spec::DataSettings;
use crate::data::{
    Binarisation, CsvColumns, Dataset, Format, Kind, Observation, PixelScale, Reading, Seen, Splitting, Table,
};

impl DataSettings {
    /// These settings for `data`: they name its kind, and leave nothing to chance where its values are 0 and 1 already.
    #[must_use]
    pub fn for_data(&self, data: &Dataset) -> Self {
        let settings = DataSettings { kind: Some(data.kind()), ..self.clone() };
        match data.kind() {
            Kind::Binary => DataSettings {
                binarisation: Binarisation::Threshold,
                pixel_scale: PixelScale::P255,
                ..settings
            },
            Kind::Byte => settings,
            _ => DataSettings { binarisation: Binarisation::None, ..settings },
        }
    }

    /// How rows of a table become what a model sees.
    pub fn observation(&self, table: &Table) -> Observation {
        let (binarisation, scale) = match table.kind() {
            Kind::Binary => (Binarisation::Threshold, PixelScale::P255),
            _ => (self.binarisation, self.pixel_scale),
        };
        let pixels = table.are_bytes().then_some(Seen::Pixels { binarisation, scale });
        Observation { seen: pixels.unwrap_or(Seen::Values), columns: table.columns() }
    }

    /// How the data is read.
    pub fn reading(&self) -> Reading {
        let columns = CsvColumns { selected: self.columns.clone(), labels: self.labels.clone() };
        Reading { kind: self.kind, splitting: self.split, columns, transpose: self.transpose }
    }

    /// These settings for other data, which need not be read as theirs was. What its format has no use for is left out.
    #[must_use]
    pub fn for_other_data(&self, source: String) -> Self {
        let format = Format::of_name(Path::new(&source));
        let mut settings = DataSettings { source, kind: None, split: Splitting::default(), ..self.clone() };
        if format != Some(Format::Csv) {
            (settings.columns, settings.labels) = (Vec::new(), None);
        }
        settings.transpose &= format == Some(Format::Mtx);
        settings
    }
}
