//! Give the numbers of draws as arrays of NumPy, with those that a Stan program generates.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hmcvi_fit::{Drawing, Subject};
use hmcvi_record::{FitMethod, FitRow};
use numpy::{PyArray1, PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;

use crate::failure;
use crate::watch::Watch;

/// Draws of all numbers.
#[pyclass(frozen, module = "hmcvi")]
pub(crate) struct Drawn {
    pub(crate) drawn: Arc<hmcvi_fit::Drawn>,
}

/// A name and an array `[chain, draw, ...]`.
type Named<'py> = (String, Bound<'py, PyArrayDyn<f64>>);

#[pymethods]
impl Drawn {
    /// All variables.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Vec<Named<'py>>> {
        self.drawn.arrays().map(|array| named(py, array)).collect()
    }

    /// What a sampler says of each draw.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Vec<Named<'py>>> {
        self.drawn.statistics().map(|array| named(py, array)).collect()
    }

    /// What went wrong with generated quantities, if anything did.
    #[getter]
    fn failed(&self) -> Option<String> {
        let failed = self.drawn.generated.as_ref()?.failed.as_ref()?;
        Some(format!(
            "quantities of {} of {} draws are wrong; what could not be computed is NaN. First in draw {}: {}",
            failed.draws,
            self.drawn.count(),
            failed.first,
            failed.message
        ))
    }
}

fn named<'py>(py: Python<'py>, array: Drawing) -> PyResult<Named<'py>> {
    let Drawing { name, shape, values } = array;
    Ok((name, PyArray1::from_vec(py, values).reshape(shape)?))
}

/// Draws whose generated quantities are computed when they are asked for.
pub(crate) struct Lazy {
    method: FitMethod,
    seed: u64,
    drawn: Mutex<State>,
}

/// Draws without generated quantities, or with them.
enum State {
    Raw(hmcvi_fit::Drawn),
    Whole(Arc<hmcvi_fit::Drawn>),
}

impl Lazy {
    pub(crate) fn new(drawn: hmcvi_fit::Drawn, method: FitMethod, seed: u64) -> Self {
        Lazy { method, seed, drawn: Mutex::new(State::Raw(drawn)) }
    }

    /// Draws that have everything.
    pub(crate) fn whole(drawn: hmcvi_fit::Drawn, method: FitMethod, seed: u64) -> Self {
        Lazy { method, seed, drawn: Mutex::new(State::Whole(Arc::new(drawn))) }
    }

    /// Number of chains.
    pub(crate) fn chains(&self) -> usize {
        match &*self.drawn.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Raw(drawn) => drawn.chains.len(),
            State::Whole(drawn) => drawn.chains.len(),
        }
    }

    /// The draws with everything; Ctrl-C ends it, and leaves what there was.
    pub(crate) fn get(
        &self,
        py: Python<'_>,
        subject: &Subject,
        watch: Option<Py<PyAny>>,
    ) -> PyResult<Arc<hmcvi_fit::Drawn>> {
        py.detach(|| {
            // A panic elsewhere leaves one or the other.
            let mut state = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
            let mut drawn = match &*state {
                State::Whole(drawn) => return Ok(drawn.clone()),
                State::Raw(drawn) => drawn.clone(),
            };
            generate(subject, &mut drawn, self.method, self.seed, watch)?;
            let drawn = Arc::new(drawn);
            *state = State::Whole(drawn.clone());
            Ok(drawn)
        })
    }
}

/// Rows of a summary: those of the model, then those that were generated.
pub(crate) fn rows(own: &[FitRow], drawn: &hmcvi_fit::Drawn) -> Vec<FitRow> {
    let generated = drawn.generated.iter().flat_map(|generated| &generated.rows);
    own.iter().chain(generated).cloned().collect()
}

/// Computes the quantities of all draws, on threads that Python does not know; this one looks in at Python meanwhile.
pub(crate) fn generate(
    subject: &Subject,
    drawn: &mut hmcvi_fit::Drawn,
    method: FitMethod,
    seed: u64,
    watch: Option<Py<PyAny>>,
) -> PyResult<()> {
    if subject.stan.is_none() {
        return Ok(());
    }
    let (mut watch, stopped, count) = (Watch::new(watch), AtomicBool::new(false), AtomicUsize::new(0));
    let all = drawn.count();
    let found = std::thread::scope(|scope| {
        // Nothing is sent: the other end goes when the work is done.
        let (ended, end) = channel::<()>();
        let (stopped, count) = (&stopped, &count);
        let work = scope.spawn(move || {
            let found = drawn.generate(subject, seed, method, &|done, _| {
                count.fetch_max(done, Ordering::Relaxed);
                !stopped.load(Ordering::Relaxed)
            });
            drop(ended);
            found
        });
        while end.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            let goes_on =
                watch.goes_on(|| ("quantities of draws", count.load(Ordering::Relaxed), all, f64::NAN));
            stopped.store(!goes_on, Ordering::Relaxed);
        }
        work.join()
    });
    match (found, watch.ended_by()) {
        (_, Some(ended)) => Err(ended),
        (Ok(Ok(_)), None) => Ok(()),
        (Ok(Err(error)), None) => Err(failure::of_other(&format!("the quantities of draws: {error}"))),
        (Err(_), None) => Err(failure::of_other(&"the quantities of draws: a thread ended")),
    }
}

/// Time between two looks at Python.
const LOOK: Duration = Duration::from_millis(50);
