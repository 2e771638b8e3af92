//! Keep the evaluations of a run: new parts join those that still hold, and what is replaced stays once.

use std::fs;
use std::path::{Path, PathBuf};

use hmcvi_record::{Evaluated, Evaluation, ImageEvaluation, files, keep_parts};

use super::atomic;
use super::checkpoint::{self, Which};
use super::directory::RunDirectory;
use super::error::DirectoryError;

/// What became of an earlier evaluation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Parts that the new evaluation took over.
    pub parts: Vec<&'static str>,
    /// Where the evaluation that it replaced is now.
    pub previous: Option<PathBuf>,
}

/// The files of the latest evaluation and of the one before.
const LATEST: [&str; 2] = [files::EVALUATION, files::EVALUATION_IMAGES];
const PREVIOUS: [&str; 2] = [files::PREVIOUS_EVALUATION, files::PREVIOUS_EVALUATION_IMAGES];

impl RunDirectory {
    /// The latest evaluation, if there is one.
    pub fn evaluation(&self) -> Result<Option<Evaluation>, DirectoryError> {
        self.read_evaluation(files::EVALUATION)
    }

    fn read_evaluation(&self, name: &str) -> Result<Option<Evaluation>, DirectoryError> {
        self.file(name).is_file().then(|| self.read_json(name)).transpose()
    }

    /// What the latest evaluation found out about every image; nothing if there is none.
    pub fn evaluation_images(&self) -> Result<Vec<ImageEvaluation>, DirectoryError> {
        read_images(&self.file(files::EVALUATION_IMAGES))
    }

    /// Whether an evaluation is of a checkpoint that is still there; unknown without that checkpoint.
    pub fn is_current(&self, evaluation: &Evaluation) -> Option<bool> {
        let which = Which::named(&evaluation.checkpoint)?;
        match &evaluation.checkpoint_sha256 {
            Some(known) => Some(checkpoint::sha256(&self.file(which.file()))? == *known),
            None => {
                let summary = self.summary().ok()?;
                let epoch = if which == Which::Last { summary.epochs } else { summary.best_epoch };
                Some(evaluation.epoch == epoch)
            }
        }
    }

    /// Writes an evaluation, and what it found out about every image. Parts of earlier evaluations of the same
    /// checkpoint, images and draws that it did not compute anew become parts of it. An evaluation of something else,
    /// or with parts that were computed anew, is kept once under another name.
    pub fn write_evaluation(
        &self,
        evaluation: &Evaluation,
        images: &[ImageEvaluation],
    ) -> Result<Kept, DirectoryError> {
        let mut new: Evaluated = (evaluation.clone(), images.to_vec());
        let which = Which::named(&evaluation.checkpoint);
        new.0.checkpoint_sha256 = which.and_then(|which| checkpoint::sha256(&self.file(which.file())));
        let mut kept = Kept::default();
        for earlier in [LATEST, PREVIOUS].iter().filter_map(|names| self.evaluated(names)) {
            kept.parts.extend(keep_parts(&mut new, &earlier));
        }
        if self.replaces(&new.0, evaluation) {
            for (from, to) in LATEST.iter().zip(PREVIOUS) {
                if let Ok(bytes) = fs::read(self.file(from)) {
                    atomic::write(&self.file(to), &bytes)?;
                }
            }
            kept.previous = Some(self.file(files::PREVIOUS_EVALUATION));
        }
        let line = |image| serde_json::to_string(image).expect("plain values become JSON") + "\n";
        let lines: String = new.1.iter().map(line).collect();
        atomic::write(&self.file(files::EVALUATION_IMAGES), lines.as_bytes())?;
        self.write_json(files::EVALUATION, &new.0)?;
        Ok(kept)
    }

    fn evaluated(&self, [evaluation, images]: &[&str; 2]) -> Option<Evaluated> {
        Some((self.read_evaluation(evaluation).ok()??, read_images(&self.file(images)).ok()?))
    }

    /// Whether writing an evaluation loses something: an evaluation of something else, one that cannot be read, or
    /// parts that `computed` has anew.
    fn replaces(&self, new: &Evaluation, computed: &Evaluation) -> bool {
        match self.read_evaluation(files::EVALUATION) {
            Ok(None) => false,
            Ok(Some(old)) => {
                let again = old.parts().into_iter().any(|part| computed.parts().contains(&part));
                !new.same_subject(&old) || again && differs(&old, computed)
            }
            Err(_) => true,
        }
    }
}

/// Whether a part that both have came out differently.
fn differs(old: &Evaluation, new: &Evaluation) -> bool {
    fn both<T: PartialEq>(old: &Option<T>, new: &Option<T>) -> bool {
        old.is_some() && new.is_some() && old != new
    }
    let sampled = |e: &Evaluation| e.importance_sampling.as_ref().map(|s| s.log_likelihood);
    both(&sampled(old), &sampled(new))
        || both(&old.encoder_bound, &new.encoder_bound)
        || both(&old.quadrature.map(|q| q.log_likelihood), &new.quadrature.map(|q| q.log_likelihood))
        || both(&old.annealing, &new.annealing)
        || both(&old.bidirectional, &new.bidirectional)
        || both(&old.posterior, &new.posterior)
        || both(&old.reverse, &new.reverse)
}

fn read_images(file: &Path) -> Result<Vec<ImageEvaluation>, DirectoryError> {
    let text = match fs::read_to_string(file) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.map_err(|e| DirectoryError::io(file, "read", e))?,
    };
    let image = |line: &str| {
        serde_json::from_str(line)
            .map_err(|e| DirectoryError::content(file, e, "a line for every image; evaluate the model again"))
    };
    text.lines().map(image).collect()
}
