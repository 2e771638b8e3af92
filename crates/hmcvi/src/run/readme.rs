//! Explain a run directory to the person who finds it.

use std::path::Path;

use crate::config::{FitSpec, RunSpec};

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

/// The same of a fit.
pub(super) fn of_fit(path: &Path, spec: &FitSpec) -> String {
    let place = path.display();
    format!(
        "A fit of hmcvi (model {}, method {}, seed {}).\n\n\
         fit.toml           the complete settings\n\
         model.stan         the Stan program, and data.json the data, where the fit was made in Python\n\
         fit.json           what was found: bound, log evidence, k-hat, and every number of the model; missing where\n\
         \x20                  the fit was ended before it had draws\n\
         draws-1.csv        draws, a file for each chain, in the format of CmdStan; lp__ is the log density, log_weight__\n\
         \x20                  the log importance weight\n\
         draws.npz          the same as arrays of NumPy, [chain, draw, ...]\n\
         gaussian.csv       draws of the Gaussian that the chain begins with (method hmcvi)\n\
         nuts-1.csv         draws of NUTS, after `hmcvi fit --check`\n\
         fitted/            the fit itself, which `hmcvi::bayes::Fitted::load` takes up again\n\
         report.html        all of it as a page, after `hmcvi report`; its data in report.json\n\n\
         Read about it:     hmcvi report {place} --open\n\
         Examine it:        hmcvi diagnose {place}\n\
         In Python:         hmcvi.open_run(\"{place}\"), or arviz.from_cmdstan(\"{place}/draws-*.csv\")\n",
        spec.model,
        spec.method.name(),
        spec.seed,
    )
}
