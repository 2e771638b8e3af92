//! Open the data that a run's settings name, no more of it than they allow.

use crate::config::DataSettings;
use crate::data::{DataError, Dataset, Reading, Source, open_as};

/// The data set of the settings, with at most `limit` images in every split.
pub fn open_data(settings: &DataSettings) -> Result<Dataset, DataError> {
    let reading = Reading { kind: settings.kind, splitting: settings.split };
    let data = open_as(&Source::from(settings.source.as_str()), reading)?;
    if settings.limit == 0 { Ok(data) } else { data.limited(settings.limit) }
}
