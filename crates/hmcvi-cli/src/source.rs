//! Choose the data: what was asked for, else the cache if it holds MNIST, else what is embedded.

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use hmcvi::data::{MNIST_FILES, Source, verify_mnist};

use crate::Context;
use crate::failure::Failure;

/// The folder that MNIST is fetched into: `HMCVI_CACHE/mnist`, else in the user's cache folder.
pub(crate) fn cache() -> Result<PathBuf, Failure> {
    if let Some(folder) = std::env::var_os("HMCVI_CACHE").filter(|v| !v.is_empty()) {
        return Ok(PathBuf::from(folder).join("mnist"));
    }
    let user = etcetera::choose_base_strategy()
        .map_err(|e| Failure::Data(format!("there is no cache folder ({e}); set HMCVI_CACHE to a folder")))?;
    Ok(user.cache_dir().join("hmcvi").join("mnist"))
}

/// The source to use when none was named.
pub(crate) fn usual(context: &Context) -> Source {
    let Ok(folder) = cache() else { return Source::Embedded };
    if MNIST_FILES.iter().all(|file| file.find(&folder).is_some()) {
        match verify_mnist(&folder) {
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
