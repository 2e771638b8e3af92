//! Open the data that a run's settings name, no more of it than they allow.

use crate::config::DataSettings;
use crate::data::{DataError, Dataset, Kind, Source, open_as};

/// The data set of the settings as models take it, with at most `limit` rows in every split.
pub fn open_data(settings: &DataSettings) -> Result<Dataset, DataError> {
    let data = open_as(&Source::from(settings.source.as_str()), &settings.reading())?.one_hot()?;
    if settings.limit == 0 { Ok(data) } else { data.limited(settings.limit) }
}

/// Refuses data whose values no model has a likelihood for.
pub fn check_likelihood(data: &Dataset) -> Result<(), DataError> {
    match data.kind() {
        Kind::Binary | Kind::Byte => Ok(()),
        kind => {
            let expected = "`binary` or `byte`: there are no models of other kinds yet";
            Err(DataError::field(data.source(), "`data.kind`", format!("`{kind}`"), expected))
        }
    }
}
