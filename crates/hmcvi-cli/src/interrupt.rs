//! Listen to Ctrl-C and to the request to terminate: the first asks to stop, the second stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};

use crate::terminal::Terminal;

/// Exit code of a program that was stopped by the user.
const STOPPED: i32 = 130;

/// Whether the user asked to stop.
#[derive(Clone)]
pub(crate) struct Interrupt {
    requested: Arc<AtomicBool>,
}

impl Interrupt {
    /// Begins to listen. Where that is not possible the system's own reaction stays: stop at once.
    pub(crate) fn install(terminal: &Arc<Terminal>) -> Self {
        let requested = Arc::new(AtomicBool::new(false));
        listen(requested.clone(), terminal.clone());
        Interrupt { requested }
    }

    /// Whether to stop.
    pub(crate) fn requested(&self) -> bool {
        self.requested.load(Ordering::SeqCst)
    }
}

/// The line of progress goes at the first request, so that the second finds nothing it could leave torn. Everything on
/// the disk is whole at any time.
#[cfg(unix)]
fn listen(requested: Arc<AtomicBool>, terminal: Arc<Terminal>) {
    use signal_hook::consts::SIGHUP;
    use signal_hook::iterator::Signals;
    // A terminal that disappears does not end a run; what is written to it is lost.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    std::thread::spawn(move || {
        for signal in signals.forever().filter(|signal| *signal != SIGHUP) {
            if requested.swap(true, Ordering::SeqCst) {
                signal_hook::low_level::exit(STOPPED);
            }
            terminal.end_progress();
            if signal == SIGINT {
                terminal.say("stopping; press Ctrl-C again to stop at once");
            }
        }
    });
}

#[cfg(not(unix))]
fn listen(requested: Arc<AtomicBool>, _: Arc<Terminal>) {
    use signal_hook::flag;
    for signal in [SIGINT, SIGTERM] {
        // In this order: the second request finds the first.
        let again = flag::register_conditional_shutdown(signal, STOPPED, requested.clone());
        drop(again.and_then(|_| flag::register(signal, requested.clone())));
    }
}
