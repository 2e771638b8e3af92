//! Add up sums of several GPUs with NCCL, which is loaded when it is first needed.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use cudarc::driver::{CudaViewMut, DevicePtrMut};
use libloading::{Library, Symbol};

use super::device::CudaDevice;
use super::error::CudaError;
use super::library::{LOOKED_IN, load};
use crate::ranks::Ranks;

/// Names that are looked for: version 2 has had the functions below since 2.0.
const NAMES: [&str; 2] = ["libnccl.so.2", "libnccl.so"];
/// `ncclFloat32` and `ncclSum` of nccl.h.
const FLOAT: c_int = 7;
const SUM: c_int = 0;
/// Bytes of `ncclUniqueId`.
const ID: usize = 128;

#[repr(C)]
#[derive(Clone, Copy)]
struct Id([u8; ID]);

type Comm = *mut c_void;
type GetId = unsafe extern "C" fn(*mut Id) -> c_int;
type Join = unsafe extern "C" fn(*mut Comm, c_int, Id, c_int) -> c_int;
type Leave = unsafe extern "C" fn(Comm) -> c_int;
type AllReduce =
    unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int, c_int, Comm, *mut c_void) -> c_int;
type Explain = unsafe extern "C" fn(c_int) -> *const c_char;

/// The library of this process.
fn library() -> Option<&'static Library> {
    static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
    LIBRARY.get_or_init(|| load(&NAMES).next()).as_ref()
}

/// Whether there is an NCCL here.
pub(super) fn is_there() -> bool {
    library().is_some()
}

/// A function by its name in nccl.h, with zero at the end.
///
/// # Safety
/// It must have the signature `F`.
unsafe fn function<F>(
    library: &'static Library,
    call: &'static str,
) -> Result<Symbol<'static, F>, CudaError> {
    // SAFETY: guaranteed by the caller.
    unsafe { library.get(call.as_bytes()) }.map_err(|why| CudaError::Nccl { call, why: why.to_string() })
}

fn check(library: &'static Library, call: &'static str, status: c_int) -> Result<(), CudaError> {
    if status == 0 {
        return Ok(());
    }
    // SAFETY: the signature is that of nccl.h; the text is a constant of the library.
    let why = unsafe {
        let explain = function::<Explain>(library, "ncclGetErrorString")?;
        CStr::from_ptr(explain(status)).to_string_lossy().into_owned()
    };
    Err(CudaError::Nccl { call, why })
}

/// Membership among the GPUs of several processes.
pub(super) struct Nccl {
    library: &'static Library,
    comm: Comm,
    device: CudaDevice,
    all_reduce: AllReduce,
}

// SAFETY: whoever calls NCCL has the executable that does to himself, and executables of one device run in turn.
unsafe impl Send for Nccl {}
// SAFETY: as above.
unsafe impl Sync for Nccl {}

impl Nccl {
    /// Joins the others; all of them have to.
    pub(super) fn join(device: &CudaDevice, ranks: &dyn Ranks) -> Result<Self, CudaError> {
        let missing = || CudaError::NoNccl { looked_in: LOOKED_IN.into() };
        let found = library();
        // Nobody waits for one that has no library.
        let library = if ranks.any(found.is_none()) { None } else { found }.ok_or_else(missing)?;
        let id = ranks.of_first(if ranks.rank() == 0 { new_id(library)?.0.to_vec() } else { Vec::new() });
        let id = Id(id.try_into().map_err(|_| missing())?);
        device.stream.context().bind_to_thread()?;
        let mut comm = std::ptr::null_mut();
        // SAFETY: signatures are those of nccl.h, and the thread uses the device's context.
        let (status, all_reduce) = unsafe {
            let join = function::<Join>(library, "ncclCommInitRank")?;
            let status = join(&mut comm, ranks.size() as c_int, id, ranks.rank() as c_int);
            (status, *function::<AllReduce>(library, "ncclAllReduce")?)
        };
        check(library, "ncclCommInitRank", status)?;
        Ok(Nccl { library, comm, device: device.clone(), all_reduce })
    }

    /// Queues that all values become the sums of those of all processes.
    pub(super) fn add(&self, values: &mut CudaViewMut<'_, f32>) -> Result<(), CudaError> {
        let stream = &self.device.stream;
        stream.context().bind_to_thread()?;
        let count = values.len();
        let (at, _recorded) = values.device_ptr_mut(stream);
        let at = at as *mut c_void;
        // SAFETY: there are so many values, and what is queued before and behind uses the same stream.
        let status =
            unsafe { (self.all_reduce)(at, at, count, FLOAT, SUM, self.comm, stream.cu_stream().cast()) };
        check(self.library, "ncclAllReduce", status)
    }
}

impl Drop for Nccl {
    fn drop(&mut self) {
        // Unlike `ncclCommDestroy`, this waits for nobody.
        // SAFETY: the signature is that of nccl.h, and nobody uses the membership any more.
        if let Ok(leave) = unsafe { function::<Leave>(self.library, "ncclCommAbort") } {
            // SAFETY: as above.
            unsafe { leave(self.comm) };
        }
    }
}

fn new_id(library: &'static Library) -> Result<Id, CudaError> {
    let mut id = Id([0; ID]);
    // SAFETY: the signature is that of nccl.h, and there is room for an identity.
    let status = unsafe { function::<GetId>(library, "ncclGetUniqueId")?(&mut id) };
    check(library, "ncclGetUniqueId", status)?;
    Ok(id)
}
