//! Open the data that a run's settings name, no more of it than they allow.

use crate::config::DataSettings;
use crate::data::{DataError, Dataset, Source, open_as};

/// The data set of the settings as models take it, with at most `limit` rows in every split.
pub fn open_data(settings: &DataSettings) -> Result<Dataset, DataError> {
    let data = open_as(&Source::from(settings.source.as_str()), &settings.reading())?.one_hot()?;
    if settings.limit == 0 { Ok(data) } else { data.limited(settings.limit) }
}
