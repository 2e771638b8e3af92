//! Listen to Ctrl-C and to the request to terminate: the first asks to stop, the second stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How often the user asked to stop.
#[derive(Clone)]
pub(crate) struct Interrupt {
    count: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Begins to listen. Where that is not possible the system's own reaction stays: stop at once.
    pub(crate) fn install() -> Self {
        let count = Arc::new(AtomicUsize::new(0));
        let handler = count.clone();
        let listening = ctrlc::set_handler(move || {
            if handler.fetch_add(1, Ordering::SeqCst) > 0 {
                leave();
            }
        });
        drop(listening);
        Interrupt { count }
    }

    /// Whether to stop.
    pub(crate) fn requested(&self) -> bool {
        self.count.load(Ordering::SeqCst) > 0
    }
}

#[expect(clippy::exit, reason = "the user asked twice; everything on the disk is whole at any time")]
fn leave() {
    std::process::exit(130);
}
