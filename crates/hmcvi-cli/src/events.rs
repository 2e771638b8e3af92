//! Keep the metrics of a training for TensorBoard too, where the settings ask for it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use hmcvi::run::{RunDirectory, Watch};
use hmcvi::train::{Batch, Observer};
use hmcvi_record::{Epoch, RunInfo, files};
use hmcvi_report::EventWriter;

use crate::Context;
use crate::progress::Training;

/// Watches a training for a person and, if it is wanted, for TensorBoard.
pub(crate) struct Recorded<'c> {
    context: &'c Context,
    shown: Training<'c>,
    /// The run directory, until a file was opened in it or could not be.
    wanted: Option<PathBuf>,
    events: Option<EventWriter<File>>,
}

impl<'c> Recorded<'c> {
    pub(crate) fn new(context: &'c Context, shown: Training<'c>, run: &Path, wanted: bool) -> Self {
        Recorded { context, shown, wanted: wanted.then(|| run.into()), events: None }
    }

    /// Takes the redrawn line away.
    pub(crate) fn finish(&self) {
        self.shown.finish();
    }

    /// Training is worth more than its events: it continues without them.
    fn give_up(&mut self, why: &std::io::Error) {
        self.events = None;
        self.context.terminal.notice(&format!(
            "events for TensorBoard cannot be written ({why}); training continues without them, and metrics.jsonl has the same numbers"
        ));
    }
}

impl Observer for Recorded<'_> {
    fn batch(&mut self, batch: &Batch<'_>) {
        self.shown.batch(batch);
    }

    fn stop(&mut self) -> bool {
        self.shown.stop()
    }
}

impl Watch for Recorded<'_> {
    fn begin(&mut self, info: &RunInfo, epochs_done: u64) {
        self.shown.begin(info, epochs_done);
        let Some(run) = self.wanted.take() else { return };
        match open(&run, info, epochs_done) {
            Ok(writer) => self.events = Some(writer),
            Err(why) => self.give_up(&why),
        }
    }

    fn epoch(&mut self, epoch: &Epoch, best: bool) {
        self.shown.epoch(epoch, best);
        if let Some(why) = self.events.as_mut().and_then(|events| events.epoch(epoch, now()).err()) {
            self.give_up(&why);
        }
    }
}

/// A new file of events. After a pause it tells readers to forget what was done after the checkpoint; a run that had no
/// events before gets those of its earlier epochs.
fn open(run: &Path, info: &RunInfo, epochs_done: u64) -> std::io::Result<EventWriter<File>> {
    let names = std::fs::read_dir(run)?.flatten().map(|e| e.file_name());
    let before = names.filter(|n| n.to_str().is_some_and(|n| n.starts_with(files::EVENTS))).count();
    // Readers take files in the order of their names: by time, then by number.
    let name = format!("{}{:010}.hmcvi.{before:04}", files::EVENTS, now() as u64);
    let file = File::options().write(true).create_new(true).open(run.join(name))?;
    let mut writer = EventWriter::new(file, now())?;
    let done = match epochs_done {
        0 => Vec::new(),
        _ => RunDirectory::open(run).and_then(|d| d.epochs()).map_err(std::io::Error::other)?,
    };
    if before > 0 {
        writer.go_on(done.last().map_or(0, |e| e.step) + 1, now())?;
        return Ok(writer);
    }
    for epoch in &done {
        writer.epoch(epoch, info.started as f64 + epoch.seconds)?;
    }
    Ok(writer)
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64())
}
