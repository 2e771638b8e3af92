//! Listen to Ctrl-C and to the request to terminate: the first asks to stop, the second stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Exit code of a program that was stopped by the user.
const STOPPED: i32 = 130;

/// Whether the user asked to stop.
#[derive(Clone)]
pub(crate) struct Interrupt {
    requested: Arc<AtomicBool>,
}

impl Interrupt {
    /// Begins to listen. Where that is not possible the system's own reaction stays: stop at once.
    pub(crate) fn install() -> Self {
        let requested = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order: the second request finds the first, and everything on the disk is whole at any time.
            let again = flag::register_conditional_shutdown(signal, STOPPED, requested.clone());
            drop(again.and_then(|_| flag::register(signal, requested.clone())));
        }
        // A terminal that disappears does not end a run; what is written to it is lost.
        #[cfg(unix)]
        drop(flag::register(signal_hook::consts::SIGHUP, Arc::new(AtomicBool::new(false))));
        Interrupt { requested }
    }

    /// Whether to stop.
    pub(crate) fn requested(&self) -> bool {
        self.requested.load(Ordering::SeqCst)
    }
}
