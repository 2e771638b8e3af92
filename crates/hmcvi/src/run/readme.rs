//! Explain a run directory to the person who finds it.

use std::path::Path;

use crate::config::RunSpec;

/// The text of `README.txt`.
pub(super) fn text(path: &Path, spec: &RunSpec) -> String {
    let place = path.display();
    let what = spec.preset.as_deref().unwrap_or("own settings");
    format!(
        "A training run of hmcvi ({what}, seed {}).\n\n\
         config.toml        the complete settings, as they are now\n\
         run.json           version, command, device, data and its SHA-256, settings changed on the way\n\
         metrics.jsonl      one line of JSON for every epoch\n\
         last.safetensors   parameters and optimiser state after the last epoch\n\
         best.safetensors   parameters of the epoch with the best validation bound\n\
         summary.json       the outcome of training\n\
         evaluation.json    bound and likelihood, after `hmcvi eval`; image by image in evaluation-images.jsonl;\n\
         \x20                  what it replaced in evaluation.previous.json\n\
         report.html        all of it as a page, after `hmcvi report`; its data in report.json\n\n\
         Resume it:         hmcvi resume {place}\n\
         Train it longer:   hmcvi resume {place} --set train.epochs={}\n\
         Evaluate it:       hmcvi eval {place}, then hmcvi diagnose {place}\n\
         Read about it:     hmcvi report {place} --open\n\
         Look at it:        hmcvi sample {place} --out samples.png\n",
        spec.seed,
        2 * spec.train.epochs,
    )
}
