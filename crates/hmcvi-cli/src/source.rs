//! Choose the data: what was asked for, else the cache if it holds MNIST, else what is embedded. Open it, and say what
//! it is taken for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use etcetera::BaseStrategy;
use hmcvi::config::{DataSettings, RunSpec};
use hmcvi::data::{Binarisation, Dataset, Kind, MNIST, Severity, Source};
use hmcvi::device::Device;
use hmcvi::run::{Checkpoint, open_data, open_data_to_train};
use hmcvi_report::{Noun, counted};

use crate::Context;
use crate::failure::Failure;

/// The folder that a data set is fetched into: `HMCVI_CACHE/mnist`, else in the user's cache folder.
pub(crate) fn cache(data_set: &str) -> Result<PathBuf, Failure> {
    if let Some(folder) = std::env::var_os("HMCVI_CACHE").filter(|v| !v.is_empty()) {
        return Ok(PathBuf::from(folder).join(data_set));
    }
    let user = etcetera::choose_base_strategy()
        .map_err(|e| Failure::Data(format!("there is no cache folder ({e}); set HMCVI_CACHE to a folder")))?;
    Ok(user.cache_dir().join("hmcvi").join(data_set))
}

/// The source to use when none was named.
pub(crate) fn usual(context: &Context) -> Source {
    let Ok(folder) = cache(MNIST.name) else { return Source::Embedded };
    if MNIST.files.iter().all(|file| file.find(&folder).is_some()) {
        match MNIST.verify(&folder) {
            Ok(_) => return Source::Folder(folder),
            Err(why) => context.terminal.notice(&format!("the cache is not used: {why}")),
        }
    }
    context.terminal.notice(
        "using the 7,000 embedded MNIST images; `hmcvi data fetch` gets all 70,000, `--data DIR` uses your own",
    );
    Source::Embedded
}

/// The source that was named, with absolute paths, so that it can be found again from anywhere.
pub(crate) fn named(text: &str) -> Source {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.into());
    match Source::from(text) {
        Source::Embedded => Source::Embedded,
        Source::Folder(path) => Source::Folder(absolute(&path)),
        Source::IdxFolder(path) => Source::IdxFolder(absolute(&path)),
        Source::File(path) => Source::File(absolute(&path)),
    }
}

/// Opens the data of a new training, says what is to be known about it, and makes the settings fit it.
pub(crate) fn open_to_train(
    context: &Context,
    spec: &mut RunSpec,
    device: &Device,
) -> Result<Arc<Dataset>, Failure> {
    let data = open_data_to_train(&spec.data, device)?;
    remark(context, &data, Severity::Note);
    if let Some(chosen) = spec.model.explained(data.kind(), data.train().columns()) {
        context.terminal.notice(&chosen);
    }
    *spec = spec.for_data(&data)?;
    Ok(Arc::new(data))
}

/// Opens the data that a trained model is used with: its own, or what was asked for with `--data`, of which the
/// settings then say how it is read. `trained_on` is the hash of its own.
pub(crate) fn open_for_model(
    context: &Context,
    spec: &mut RunSpec,
    checkpoint: &Checkpoint,
    asked: Option<&str>,
    trained_on: Option<&str>,
) -> Result<Arc<Dataset>, Failure> {
    if let Some(text) = asked {
        spec.data.source = named(text).to_string();
    }
    let is_own = |data: &Dataset| trained_on.is_none_or(|known| known == data.sha256());
    let data = match open_data(&spec.data) {
        Ok(data) if asked.is_none() || is_own(&data) => data,
        Err(error) if asked.is_none() => return Err(error.into()),
        _ => open_other(context, spec)?,
    };
    check_size(spec, checkpoint, &data)?;
    if !is_own(&data) {
        context.terminal.notice("this is not the data the model was trained on (the SHA-256 differs)");
    }
    context.terminal.say(&format!("data: {}", describe(&spec.data, &data)));
    remark(context, &data, if asked.is_some() { Severity::Note } else { Severity::Warning });
    Ok(Arc::new(data))
}

/// Opens data that is not the model's own, and so need not be read as that was.
fn open_other(context: &Context, spec: &mut RunSpec) -> Result<Dataset, Failure> {
    let other = spec.data.for_other_data(spec.data.source.clone());
    let data = open_data(&other)?;
    if (spec.data.kind, data.kind()) == (Some(Kind::Binary), Kind::Byte) {
        context.terminal.warn(
            "the model was trained on binary data, but these are intensities from 0 to 255: those of one half or more \
             are taken for 1",
        );
    }
    spec.data = other.for_data(&data);
    spec.check_data(&data)?;
    Ok(data)
}

/// Refuses rows of another size than those of the model.
pub(crate) fn check_size(spec: &RunSpec, checkpoint: &Checkpoint, data: &Dataset) -> Result<(), Failure> {
    let (table, columns) = (data.train(), spec.model.columns(&checkpoint.store));
    let Some(columns) = columns.filter(|&columns| columns != table.columns()) else { return Ok(()) };
    let side = columns.isqrt();
    let text = match table.shape() {
        Some((height, width)) if side * side == columns => {
            format!("{height}x{width} images, the model takes {side}x{side}")
        }
        Some((height, width)) => format!("{height}x{width} images, the model takes {columns} pixels"),
        None => format!("rows of {} columns, the model takes {columns}", table.columns()),
    };
    Err(Failure::Data(format!("{}: {text}", data.source())))
}

/// Prints what a user should know about the data, if it matters as much as `least`.
pub(crate) fn remark(context: &Context, data: &Dataset, least: Severity) {
    for remark in data.remarks().iter().filter(|remark| remark.severity >= least) {
        match remark.severity {
            Severity::Warning => context.terminal.warn(&remark.text),
            _ => context.terminal.notice(&remark.text),
        }
    }
}

/// What rows of the data are called.
pub(crate) fn rows(data: &Dataset) -> &'static str {
    match noun(data) {
        Noun::Image => "images",
        Noun::Row => "rows",
    }
}

/// The same for what tells of them.
pub(crate) fn noun(data: &Dataset) -> Noun {
    if data.train().shape().is_some() { Noun::Image } else { Noun::Row }
}

/// The data in a few words, and what the settings take its values for.
pub(crate) fn describe(settings: &DataSettings, data: &Dataset) -> String {
    let divisor = settings.pixel_scale.divisor();
    let taken_for = match (data.kind(), settings.binarisation) {
        (Kind::Byte, Binarisation::Stochastic) => {
            format!("intensities: 1 with the probability byte/{divisor}")
        }
        (Kind::Byte, Binarisation::Threshold) => "intensities: 1 from one half on".to_owned(),
        (Kind::Byte, Binarisation::None) => format!("intensities: byte/{divisor}"),
        (kind, _) => kind.words().to_owned(),
    };
    let size = match data.train().shape() {
        None | Some((1, _)) => format!("{} each", counted(data.train().columns() as u64, "value")),
        Some((height, width)) => format!("{height}x{width} pixels each"),
    };
    format!("{} ({}), {size}, taken for {taken_for}", data.name(), data.source())
}
