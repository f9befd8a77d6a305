
use super::{Context};
use cudarc::driver::{DriverError, result, sys};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use crate::device::{Device};
use crate::scratch::{Scratch};
use warpfold_array::{CudaError};
/// How long a host that waits for a small result asks again and again before it goes to sleep. Waking up costs more than a
/// small reduction takes.
const SPIN: Duration = Duration::from_micros(200);

/// A queue of work for a device: in order within, in any order between streams.
///
/// Reductions on one stream share a workspace, which the stream keeps. Any number of threads may use a stream.
pub struct Stream {
    pub(crate) context: Arc<Context>,
    raw: sys::CUstream,
    scratch: Mutex<Scratch>,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a stream of {:?}", self.context)
    }
}

// SAFETY: the driver's calls on a stream are thread-safe, and each is preceded by `bind`.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// A new queue.
    ///
    /// # Errors
    /// If the driver makes none.
    pub fn new(device: &Device) -> Result<Stream, CudaError> {
        let context = device.0.clone();
        context.bind()?;
        let raw = context.check("cuStreamCreate", result::stream::create(result::stream::StreamKind::NonBlocking))?;
        Ok(Stream { context, raw, scratch: Mutex::default() })
    }

    /// The device that it is of.
    pub fn device(&self) -> Device {
        Device(self.context.clone())
    }

    /// Waits until the queue is empty.
    ///
    /// # Errors
    /// What went wrong meanwhile.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        let raw = self.bound()?;
        // SAFETY: the stream lives as long as `self`.
        self.context.check("cuStreamSynchronize", unsafe { result::stream::synchronize(raw) })
    }

    /// Marks this point of the queue, replacing what the event marked before.
    ///
    /// # Errors
    /// If the event is of another device, or the driver refuses.
    pub fn record(&self, event: &Event) -> Result<(), CudaError> {
        let raw = self.bound()?;
        // SAFETY: both live as long as the borrows; the driver keeps what it needs of an event that is destroyed later.
        self.context.check("cuEventRecord", unsafe { result::event::record(event.raw, raw) })
    }

    /// Lets what is queued here from now on wait for an event of any stream of the device.
    ///
    /// # Errors
    /// If the event is of another device, or the driver refuses.
    pub fn wait(&self, event: &Event) -> Result<(), CudaError> {
        let raw = self.bound()?;
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: both live as long as the borrows; the driver keeps what it needs of an event that is destroyed later.
        self.context.check("cuStreamWaitEvent", unsafe { result::stream::wait_event(raw, event.raw, flags) })
    }

    /// Waits until the queue is empty, without going to sleep at first.
    pub(crate) fn spin(&self) -> Result<(), CudaError> {
        let raw = self.bound()?;
        let start = Instant::now();
        while start.elapsed() < SPIN {
            // SAFETY: the stream lives as long as `self`.
            match unsafe { sys::cuStreamQuery(raw) }.result() {
                Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_READY)) => std::hint::spin_loop(),
                said => return self.context.check("cuStreamQuery", said),
            }
        }
        self.synchronize()
    }

    /// What its reductions share.
    pub(crate) fn scratch(&self) -> MutexGuard<'_, Scratch> {
        // What a panicking thread could leave behind is memory that is still whole.
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The handle, for a thread whose context is current.
    pub(crate) fn raw(&self) -> sys::CUstream {
        self.raw
    }

    /// The handle, for a call on the thread that asks.
    pub(crate) fn bound(&self) -> Result<sys::CUstream, CudaError> {
        self.context.bind()?;
        Ok(self.raw)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Ok(raw) = self.bound() {
            // SAFETY: made in `new`, destroyed only here; work still queued is finished by the driver first.
            let _ = unsafe { result::stream::destroy(raw) };
        }
    }
}

/// A point in a stream, with the time at which the device reached it.
#[derive(Debug)]
pub struct Event {
    context: Arc<Context>,
    raw: sys::CUevent,
}

// SAFETY: the driver's calls on an event are thread-safe, and each is preceded by `bind`.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// An event that marks nothing yet.
    ///
    /// # Errors
    /// If the driver makes none.
    pub fn new(device: &Device) -> Result<Event, CudaError> {
        let context = device.0.clone();
        context.bind()?;
        let raw = context.check("cuEventCreate", result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT))?;
        Ok(Event { context, raw })
    }

    /// Waits until the device has reached the point marked; at once if none was.
    ///
    /// # Errors
    /// What went wrong before it.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.context.bind()?;
        // SAFETY: the event lives as long as `self`.
        self.context.check("cuEventSynchronize", unsafe { result::event::synchronize(self.raw) })
    }

    /// Nanoseconds between two recorded events, by the device's own clock. Waits for both.
    ///
    /// # Errors
    /// If one was not recorded, or what went wrong before it.
    pub fn nanoseconds_since(&self, earlier: &Event) -> Result<u64, CudaError> {
        self.context.bind()?;
        // SAFETY: both events live as long as the borrows.
        self.context.check("cuEventSynchronize", unsafe { result::event::synchronize(self.raw) })?;
        // SAFETY: as above.
        let elapsed = unsafe { result::event::elapsed(earlier.raw, self.raw) };
        let milliseconds = self.context.check("cuEventElapsedTime", elapsed)?;
        Ok((f64::from(milliseconds) * 1e6).round() as u64)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: made in `new`, destroyed only here.
            let _ = unsafe { result::event::destroy(self.raw) };
        }
    }
}
