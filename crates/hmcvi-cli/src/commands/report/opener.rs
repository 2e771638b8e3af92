//! Show a page in the browser, with the command that the system has for it.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// Commands that open a file, the likeliest first.
const OPENERS: &[&[&str]] = if cfg!(target_os = "macos") {
    &[&["open"]]
} else if cfg!(windows) {
    &[&["cmd", "/C", "start", ""]]
} else {
    &[&["xdg-open"], &["wslview"], &["gio", "open"]]
};

pub(super) fn open(page: &Path) -> Result<(), Failure> {
    let page = std::path::absolute(page).unwrap_or_else(|_| page.into());
    let opened = |words: &&&[&str]| {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(&page);
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|s| s.success())
    };
    match OPENERS.iter().find(opened) {
        Some(_) => Ok(()),
        None => Err(Failure::Other(format!(
            "no program to open pages with was found ({} could not do it); the page is written: open {} in a browser",
            OPENERS.iter().map(|words| words[0]).collect::<Vec<_>>().join(", "),
            page.display()
        ))),
    }
}
