//! Say whether a test ran on a card; with `HMCVI_REQUIRE_CUDA=1` a missing card fails it.

use std::fmt::Display;
use std::io::Write;

/// Makes a missing card a failure; `cargo xtask gpu` sets it.
const REQUIRE: &str = "HMCVI_REQUIRE_CUDA";

/// The card that a test asked for; without one the test fails or says that it was skipped.
pub fn required<D, E: Display>(card: Result<D, E>) -> Option<D> {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    match card {
        Ok(card) => {
            note(&format!("on the card: {test}"));
            Some(card)
        }
        Err(why) if is_required() => panic!("no CUDA device ({why}), and {REQUIRE}=1 asks for one"),
        Err(why) => {
            note(&format!("skipped {test}: no CUDA device ({why})"));
            None
        }
    }
}

fn is_required() -> bool {
    match std::env::var(REQUIRE).as_deref() {
        Ok("1") => true,
        Ok("0" | "") | Err(_) => false,
        Ok(other) => panic!("{REQUIRE}={other}: 1 makes a missing card a failure, 0 skips what needs one"),
    }
}

/// Writes a line: not by a macro, whose output tests that pass do not show.
fn note(text: &str) {
    // What cannot be written is only a note.
    let _ = writeln!(std::io::stderr(), "{text}");
}
