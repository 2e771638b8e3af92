//! Let Python look in while the library works: progress, and Ctrl-C.

use std::time::{Duration, Instant};

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;

/// Time between two looks. Each takes the interpreter from others for some microseconds.
const EVERY: Duration = Duration::from_millis(50);

/// Calls a function of Python now and then, from code that runs without the interpreter.
pub(crate) struct Watch {
    callback: Option<Py<PyAny>>,
    next: Instant,
    error: Option<PyErr>,
}

impl Watch {
    pub(crate) fn new(callback: Option<Py<PyAny>>) -> Self {
        Watch { callback, next: Instant::now(), error: None }
    }

    /// Tells how it goes on; returns whether it should.
    pub(crate) fn goes_on<A>(&mut self, arguments: impl FnOnce() -> A) -> bool
    where
        A: for<'py> PyCallArgs<'py>,
    {
        if self.error.is_some() {
            return false;
        }
        let now = Instant::now();
        if now < self.next {
            return true;
        }
        self.next = now + EVERY;
        let seen = Python::attach(|py| {
            py.check_signals()?;
            match &self.callback {
                Some(callback) => callback.call1(py, arguments()).map(drop),
                None => Ok(()),
            }
        });
        self.error = seen.err();
        self.error.is_none()
    }

    /// What ended the work before its time: `KeyboardInterrupt`, or an error of the function.
    pub(crate) fn ended_by(self) -> Option<PyErr> {
        self.error
    }
}
