//! Open the data that a run's settings name, no more of it than they allow.

use crate::config::DataSettings;
use crate::data::{DataError, Dataset, Source, open_among, open_as};
use crate::device::Device;

/// The data set of the settings as models take it, with at most `limit` rows in every split.
pub fn open_data(settings: &DataSettings) -> Result<Dataset, DataError> {
    limited(open_as(&Source::from(settings.source.as_str()), &settings.reading())?, settings)
}

/// The same to train on a device. Where processes share rows on the CPU, each holds a part of them, as [`open_among`]
/// says; a GPU keeps all.
pub fn open_data_to_train(settings: &DataSettings, device: &Device) -> Result<Dataset, DataError> {
    let (source, reading) = (Source::from(settings.source.as_str()), settings.reading());
    let ranks = device.ranks().filter(|_| matches!(device, Device::Cpu { .. }));
    let data = match ranks {
        Some(ranks) => open_among(&source, &reading, ranks)?,
        None => open_as(&source, &reading)?,
    };
    limited(data, settings)
}

fn limited(data: Dataset, settings: &DataSettings) -> Result<Dataset, DataError> {
    let data = data.one_hot()?;
    if settings.limit == 0 { Ok(data) } else { data.limited(settings.limit) }
}
