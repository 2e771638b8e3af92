//! Share rows out among processes that have a GPU each: sums over rows travel from card to card by NCCL, or through the
//! host where processes share a card.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};

use cudarc::driver::CudaSlice;

use super::device::CudaDevice;
use super::error::CudaError;
use super::nccl::{self, Nccl};
use crate::ranks::{Ranks, add_up, spare};

/// How sums come from one GPU to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// By NCCL where it is installed and every process has a GPU of its own, else through the host.
    #[default]
    Usual,
    /// By NCCL.
    Nccl,
    /// Through the memory of the host.
    Host,
}

/// Processes that share rows, and how the sums of their GPUs are added up.
pub struct CudaRanks {
    ranks: Arc<dyn Ranks>,
    nccl: Option<Nccl>,
}

/// Memory of the host for sums that travel through it.
pub(super) struct Room {
    own: Vec<f32>,
    others: Vec<f32>,
}

impl CudaRanks {
    /// Joins the others, all of which have to do so.
    pub fn new(device: &CudaDevice, ranks: Arc<dyn Ranks>, way: Way) -> Result<Self, CudaError> {
        let by_nccl = match way {
            Way::Nccl => true,
            Way::Host => false,
            Way::Usual => has_own_card(device, &*ranks)? && !ranks.any(!nccl::is_there()),
        };
        let join = || Nccl::join(device, &*ranks);
        let nccl = if by_nccl { Some(watched(&*ranks, join)?) } else { None };
        Ok(CudaRanks { ranks, nccl })
    }

    /// The processes.
    pub fn ranks(&self) -> &Arc<dyn Ranks> {
        &self.ranks
    }

    /// Whether sums travel by NCCL.
    pub fn is_by_nccl(&self) -> bool {
        self.nccl.is_some()
    }

    /// What sums need of the host's memory.
    pub(super) fn room(&self, len: usize) -> Room {
        let len = if self.is_by_nccl() { 0 } else { len };
        Room { own: vec![0.0; len], others: vec![0.0; spare(&*self.ranks, len)] }
    }

    /// Makes sums of this process those of all; what is queued afterwards finds them.
    pub(super) fn add(
        &self,
        device: &CudaDevice,
        sums: &mut CudaSlice<f32>,
        place: &Range<usize>,
        room: &mut Room,
    ) -> Result<(), CudaError> {
        let mut sums = sums.slice_mut(place.clone());
        let Some(nccl) = &self.nccl else {
            let own = &mut room.own[..place.len()];
            device.stream.memcpy_dtoh(&sums, own)?;
            device.synchronise()?;
            add_up(&*self.ranks, own, &mut room.others);
            return Ok(device.stream.memcpy_htod(own, &mut sums)?);
        };
        if !self.ranks.measures() {
            return nccl.add(&mut sums);
        }
        // Only then is it known when the sums begin to travel, and when they are there.
        device.synchronise()?;
        let mut outcome = Ok(());
        self.ranks.measured(size_of::<f32>() * place.len(), &mut || {
            outcome = nccl.add(&mut sums).and_then(|()| device.synchronise());
        });
        outcome
    }

    /// Does something that waits for the GPU, and so perhaps for others.
    pub(super) fn wait<R>(&self, work: impl FnOnce() -> R) -> R {
        // On the way through the host, the exchange of bytes watches itself.
        if self.is_by_nccl() { watched(&*self.ranks, work) } else { work() }
    }
}

/// Whether no process uses the GPU of another.
fn has_own_card(device: &CudaDevice, ranks: &dyn Ranks) -> Result<bool, CudaError> {
    let cards = ranks.of_all(&device.identity()?);
    Ok((1..cards.len()).all(|i| !cards[..i].contains(&cards[i])))
}

/// Does something that takes long if others do not answer, which ends the job.
fn watched<R>(ranks: &dyn Ranks, work: impl FnOnce() -> R) -> R {
    let Some(patience) = ranks.patience() else { return work() };
    std::thread::scope(|scope| {
        let (done, is_done) = channel::<()>();
        scope.spawn(move || {
            if is_done.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                ranks.too_late();
            }
        });
        let result = work();
        drop(done);
        result
    })
}
