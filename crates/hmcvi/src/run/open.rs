//! Open the data that a run's settings name, no more of it than they allow.

use crate::config::DataSettings;
use crate::data::{DataError, Dataset, Images, Source, Split, open};

/// The data set of the settings, with at most `limit` images in every split.
pub fn open_data(settings: &DataSettings) -> Result<Dataset, DataError> {
    let data = open(&Source::from(settings.source.as_str()))?;
    if settings.limit == 0 {
        return Ok(data);
    }
    let first = |split: Split| -> Images {
        let images = data.images(split);
        let count = images.len().min(settings.limit);
        images.slice(0..count).unwrap_or_else(|| images.clone())
    };
    let [train, validation, test] = Split::ALL.map(first);
    Dataset::new(data.name(), data.source(), train, validation, test)
}
