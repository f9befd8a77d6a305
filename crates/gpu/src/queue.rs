//! The queue of work of a device.

use std::time::{Duration, Instant};

use warpfold_array::CudaError;

use crate::device::Device;
use crate::event::Event;
use crate::runtime::{Handle, Runtime};

/// How long a host that waits for a small result asks again and again before it goes to sleep. Waking up costs more
/// than a small reduction takes.
const SPIN: Duration = Duration::from_micros(200);

/// A queue of work for a device: in order within, in any order between queues. [`crate::Stream`] is one with a
/// workspace.
#[derive(Debug)]
pub struct Queue {
    device: Device,
    raw: Handle,
    /// Whether somebody else has made the queue, and destroys it.
    borrowed: bool,
}

impl Queue {
    /// A new queue.
    ///
    /// # Errors
    /// If the driver makes none.
    pub fn new(device: &Device) -> Result<Queue, CudaError> {
        let raw = device.0.create_stream()?;
        Ok(Queue { device: device.clone(), raw, borrowed: false })
    }

    /// A queue that another library has made: the driver's handle of a stream of the device's primary context. Null is
    /// the context's default stream.
    ///
    /// # Safety
    /// The stream stays as long as this value, and as what is queued here.
    pub unsafe fn borrowed(device: &Device, raw: Handle) -> Queue {
        Queue { device: device.clone(), raw, borrowed: true }
    }

    /// Whether all that was queued is done.
    ///
    /// # Errors
    /// What went wrong meanwhile.
    pub fn is_idle(&self) -> Result<bool, CudaError> {
        // SAFETY: the stream lives as long as `self`.
        unsafe { self.runtime().is_idle(self.raw) }
    }

    /// The device that it is of.
    pub fn device(&self) -> Device {
        self.device.clone()
    }

    /// Waits until the queue is empty.
    ///
    /// # Errors
    /// What went wrong meanwhile.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        // SAFETY: the stream lives as long as `self`.
        unsafe { self.runtime().synchronize_stream(self.raw) }
    }

    /// Marks this point of the queue, replacing what the event marked before.
    ///
    /// # Errors
    /// If the event is of another device, or the driver refuses.
    pub fn record(&self, event: &Event) -> Result<(), CudaError> {
        self.is_of("event", event.device())?;
        // SAFETY: both are of this device and live as long as the borrows; the driver keeps what it needs of an event
        // that is destroyed later.
        unsafe { self.runtime().record(event.raw(), self.raw) }
    }

    /// Lets what is queued here from now on wait for an event of any stream of the device.
    ///
    /// # Errors
    /// If the event is of another device, or the driver refuses.
    pub fn wait(&self, event: &Event) -> Result<(), CudaError> {
        self.is_of("event", event.device())?;
        // SAFETY: both are of this device and live as long as the borrows; the driver keeps what it needs of an event
        // that is destroyed later.
        unsafe { self.runtime().wait(self.raw, event.raw()) }
    }

    /// Waits until the queue is empty, without going to sleep at first.
    pub(crate) fn spin(&self) -> Result<(), CudaError> {
        let start = Instant::now();
        while start.elapsed() < SPIN {
            if self.is_idle()? {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        self.synchronize()
    }

    /// Checks that it is a queue of the device that something was prepared for.
    pub(crate) fn is_one_of(&self, device: &Device) -> Result<(), CudaError> {
        let (found, expected) = (self.device.index(), device.index());
        if found == expected { Ok(()) } else { Err(CudaError::OtherDevice { what: "stream", found, expected }) }
    }

    /// Checks that `other` is the stream's device. `what` names the argument in the error.
    pub(crate) fn is_of(&self, what: &'static str, other: &Device) -> Result<(), CudaError> {
        self.is_on(what, other.index())
    }

    /// Checks that a device of index `found` is the stream's device. `what` names the argument in the error.
    pub(crate) fn is_on(&self, what: &'static str, found: usize) -> Result<(), CudaError> {
        let expected = self.device.index();
        if found == expected { Ok(()) } else { Err(CudaError::OtherDevice { what, found, expected }) }
    }

    /// What the runtime knows it by.
    pub(crate) fn raw(&self) -> Handle {
        self.raw
    }

    /// The runtime of its device.
    pub(crate) fn runtime(&self) -> &dyn Runtime {
        &*self.device.0
    }

    /// Queues a copy from the host.
    ///
    /// # Safety
    /// The device has room for the bytes at `to`; both live, the source unchanged, until the copy is done. From
    /// pageable memory, that is when this returns.
    pub(crate) unsafe fn copy_in(&self, to: u64, from: &[u8]) -> Result<(), CudaError> {
        // SAFETY: the caller's; the stream lives as long as `self`.
        unsafe { self.runtime().copy_in(self.raw, to, from) }
    }

    /// Queues a copy within the device.
    ///
    /// # Safety
    /// So many bytes are at both addresses until it is done, and no other stream writes them.
    pub(crate) unsafe fn copy(&self, to: u64, from: u64, bytes: usize) -> Result<(), CudaError> {
        // SAFETY: the caller's; the stream lives as long as `self`.
        unsafe { self.runtime().copy(self.raw, to, from, bytes) }
    }

    /// Queues setting bytes.
    ///
    /// # Safety
    /// So many bytes are at the address until it is done, and no other stream touches them.
    pub(crate) unsafe fn fill(&self, to: u64, byte: u8, bytes: usize) -> Result<(), CudaError> {
        // SAFETY: the caller's; the stream lives as long as `self`.
        unsafe { self.runtime().fill(self.raw, to, byte, bytes) }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if !self.borrowed {
            // SAFETY: made in `new`, destroyed only here; work still queued is finished first.
            unsafe { self.runtime().destroy_stream(self.raw) };
        }
    }
}
