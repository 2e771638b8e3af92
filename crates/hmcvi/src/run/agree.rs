//! Make sure that processes which share a run mean the same one, and stop it together.

use hmcvi_graph::Ranks;

use super::checkpoint::{Which, initial_sha256, sha256};
use super::directory::RunDirectory;
use super::session::{Begin, SessionError};
use crate::config::RunSpec;

/// Checks that all processes have the same settings, data and first parameters, wherever they read them.
pub(super) fn agree(begin: &Begin, directory: Option<&RunDirectory>) -> Result<(), SessionError> {
    let Some(ranks) = begin.device.ranks() else { return Ok(()) };
    let initial = begin.spec.train.init_from.as_deref().and_then(initial_sha256).unwrap_or_default();
    let mut spec: RunSpec = begin.spec.clone();
    (spec.data.source, spec.train.init_from) = (String::new(), None);
    same(&**ranks, "version", &begin.version)?;
    same(&**ranks, "settings", &spec.to_toml())?;
    same(&**ranks, "data", begin.data.sha256())?;
    same(&**ranks, "first parameters", &initial)?;
    let Some(directory) = directory else { return Ok(()) };
    same(&**ranks, "checkpoint", &sha256(&directory.file(Which::Last.file())).unwrap_or_default())
}

/// Checks that all processes have the same of something. All of them come to the same answer.
pub(super) fn same(ranks: &dyn Ranks, what: &'static str, own: &str) -> Result<(), SessionError> {
    let all = ranks.of_all(own.as_bytes());
    match all.iter().position(|other| *other != all[0]) {
        None => Ok(()),
        Some(rank) => Err(SessionError::Disagree { what, rank }),
    }
}
