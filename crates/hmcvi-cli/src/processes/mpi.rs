//! Exchange bytes between processes over MPI. Every exchange has a limit of time, so that nobody waits for ever.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hmcvi::device::{Parcel, Ranks};
use mpi::environment::Universe;
use mpi::request::{LocalScope, Request, scope};
use mpi::topology::{Communicator, SimpleCommunicator};
use mpi::traits::{CommunicatorCollectives, Destination, Root, Source};
use mpi::{Threading, initialize_with_threading};

use super::{Exchange, Here};
use crate::failure::Failure;
use crate::terminal::Terminal;

/// Variable with the seconds that processes wait for each other.
const PATIENCE: &str = "HMCVI_MPI_TIMEOUT";
/// Seconds that they wait without it: longer than the longest part of the work between two exchanges.
const USUAL_PATIENCE: u64 = 600;
/// Most bytes of one message: MPI counts with 32 bits.
const MESSAGE: usize = 1 << 30;

/// Membership in MPI, which ends when it is dropped.
pub(super) struct Joined {
    link: Arc<Link>,
    here: Here,
    _universe: Universe,
}

/// The others, as the library sees them.
struct Link {
    rank: usize,
    size: usize,
    patience: Duration,
    terminal: Arc<Terminal>,
    measures: AtomicBool,
    measured: Mutex<Exchange>,
}

impl Joined {
    pub(super) fn new(terminal: Arc<Terminal>, started: usize) -> Result<Self, Failure> {
        let patience = patience()?;
        let (universe, threading) = initialize_with_threading(Threading::Serialized)
            .ok_or_else(|| Failure::Other("MPI was begun twice".into()))?;
        if threading < Threading::Serialized {
            let text = "this MPI does not let programs have several threads".to_owned();
            return Err(Failure::Device(text).then("use an MPI with MPI_THREAD_SERIALIZED, such as OpenMPI"));
        }
        let world = universe.world();
        let (rank, size) = (world.rank() as usize, world.size() as usize);
        if size != started {
            let text = format!(
                "{started} processes were started together, but the MPI of this build knows of {size}"
            );
            return Err(Failure::Usage(text)
                .then("start them with the `mpirun` of the MPI that the program was built with"));
        }
        let local = world.split_shared(world.rank());
        let here = Here { number: local.rank() as usize, processes: local.size() as usize };
        terminal.speak_for(rank);
        let (measures, measured) = (AtomicBool::new(false), Mutex::default());
        let link = Arc::new(Link { rank, size, patience, terminal, measures, measured });
        Ok(Joined { link, here, _universe: universe })
    }

    pub(super) fn ranks(&self) -> Arc<dyn Ranks> {
        self.link.clone()
    }

    /// This process on its machine.
    pub(super) fn here(&self) -> Here {
        self.here
    }

    pub(super) fn measure(&self) -> Exchange {
        self.link.measures.store(true, Ordering::Relaxed);
        std::mem::take(&mut *self.link.measured.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn abort(&self, code: u8) {
        SimpleCommunicator::world().abort(i32::from(code));
    }
}

fn patience() -> Result<Duration, Failure> {
    let Ok(text) = std::env::var(PATIENCE) else { return Ok(Duration::from_secs(USUAL_PATIENCE)) };
    let seconds = text.parse().ok().filter(|seconds| (1..=1_000_000).contains(seconds));
    seconds.map(Duration::from_secs).ok_or_else(|| {
        Failure::Usage(format!(
            "the variable {PATIENCE} is `{text}`, but must be a number of seconds from 1 to 1000000"
        ))
    })
}

impl Link {
    /// Waits for what was begun, each with the process that it comes from.
    fn complete<'a, D: ?Sized>(&self, begun: Vec<(usize, Request<'a, D, &LocalScope<'a>>)>) {
        let (start, mut open) = (Instant::now(), begun);
        while !open.is_empty() {
            open = open
                .into_iter()
                .filter_map(|(rank, request)| request.test().err().map(|request| (rank, request)))
                .collect();
            if !open.is_empty() && start.elapsed() > self.patience {
                self.despair(open.iter().map(|(rank, _)| *rank).collect());
            }
            if !open.is_empty() {
                std::thread::yield_now();
            }
        }
    }

    /// Ends the job: others do not answer.
    fn despair(&self, mut missing: Vec<usize>) -> ! {
        missing.retain(|rank| *rank != self.rank);
        missing.dedup();
        // What this process hands out may wait for any of the others.
        let joint = if missing.is_empty() { " or " } else { ", " };
        if missing.is_empty() {
            missing = (0..self.size).filter(|rank| *rank != self.rank).collect();
        }
        let names: Vec<String> = missing.iter().map(ToString::to_string).collect();
        let seconds = self.patience.as_secs();
        let text = format!("process {} has waited {seconds} s for process {}", self.rank, names.join(joint));
        let failure = Failure::Other(text).then(format!(
            "see what became of it; the same command resumes a run from its last checkpoint, and {PATIENCE}=SECONDS waits \
             longer"
        ));
        self.terminal.error(&failure);
        SimpleCommunicator::world().abort(i32::from(failure.code()))
    }

    /// Waits until all are here, where it is to be known how long that takes.
    fn meet(&self) {
        let start = Instant::now();
        let mut open = Some(SimpleCommunicator::world().immediate_barrier());
        while let Some(request) = open.take() {
            open = request.test().err();
            if open.is_some() && start.elapsed() > self.patience {
                self.despair((0..self.size).collect());
            }
        }
        let mut measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        measured.waiting += start.elapsed().as_secs_f64();
    }

    /// Exchanges so many bytes, and notes how long that takes if it is to be known.
    fn timed(&self, bytes: usize, exchange: impl FnOnce()) {
        if !self.measures() {
            return exchange();
        }
        self.meet();
        let start = Instant::now();
        exchange();
        let mut measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        measured.calls += 1;
        measured.bytes += bytes as u64;
        measured.transfer += start.elapsed().as_secs_f64();
    }
}

impl Ranks for Link {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn patience(&self) -> Option<Duration> {
        Some(self.patience)
    }

    fn too_late(&self) {
        self.despair((0..self.size).collect());
    }

    fn measures(&self) -> bool {
        self.measures.load(Ordering::Relaxed)
    }

    fn measured(&self, bytes: usize, exchange: &mut dyn FnMut()) {
        self.timed(bytes, exchange);
    }

    fn gather(&self, bytes: &mut [u8], ends: &[usize]) {
        let (length, mut rest, mut begin, mut messages) = (bytes.len(), bytes, 0, Vec::new());
        for (rank, end) in ends.iter().enumerate() {
            let (part, others) = rest.split_at_mut(end - begin);
            messages.extend(part.chunks_mut(MESSAGE).map(|message| (rank, message)));
            (rest, begin) = (others, *end);
        }
        self.timed(length, || {
            let world = SimpleCommunicator::world();
            scope(|scope| {
                let send = |(rank, message)| {
                    let from = world.process_at_rank(rank as i32);
                    (rank, from.immediate_broadcast_into(scope, message))
                };
                self.complete(messages.into_iter().map(send).collect());
            });
        });
    }

    fn pass(&self, parcels: Vec<Parcel<'_>>) {
        let length = parcels.iter().map(|parcel| parcel.bytes.len()).sum();
        self.timed(length, || {
            let world = SimpleCommunicator::world();
            scope(|scope| {
                let mut begun = Vec::new();
                for Parcel { bytes, from, to } in parcels {
                    let other = if from == self.rank { to } else { from };
                    let process = world.process_at_rank(other as i32);
                    for message in bytes.chunks_mut(MESSAGE) {
                        let request = match from == self.rank {
                            true => process.immediate_send(scope, &*message),
                            false => process.immediate_receive_into(scope, message),
                        };
                        begun.push((other, request));
                    }
                }
                self.complete(begun);
            });
        });
    }
}
