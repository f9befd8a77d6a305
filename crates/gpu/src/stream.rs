//! A queue of work, and what the reductions on it share.

use std::fmt;
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};

use warpfold_array::CudaError;

use crate::device::Device;
use crate::queue::Queue;
use crate::runtime::Handle;
use crate::scratch::Scratch;

/// A queue of work for a device: in order within, in any order between streams.
///
/// Reductions on one stream share a workspace, which the stream keeps. Any number of threads may use a stream.
pub struct Stream {
    /// Dropped after the workspace.
    scratch: Mutex<Scratch>,
    queue: Queue,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a stream of {:?}", self.device())
    }
}

impl Stream {
    /// A new queue.
    ///
    /// # Errors
    /// If the driver makes none.
    pub fn new(device: &Device) -> Result<Stream, CudaError> {
        Ok(Stream { scratch: Mutex::default(), queue: Queue::new(device)? })
    }

    /// A stream that another library has made, as [`Queue::borrowed`], with a workspace of its own.
    ///
    /// # Safety
    /// As [`Queue::borrowed`].
    pub unsafe fn borrowed(device: &Device, raw: Handle) -> Stream {
        // SAFETY: the caller's.
        Stream { scratch: Mutex::default(), queue: unsafe { Queue::borrowed(device, raw) } }
    }

    /// What its reductions share.
    pub(crate) fn scratch(&self) -> MutexGuard<'_, Scratch> {
        // What a panicking thread could leave behind is memory that is still whole.
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deref for Stream {
    type Target = Queue;

    fn deref(&self) -> &Queue {
        &self.queue
    }
}
