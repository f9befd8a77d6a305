//! What the reductions of one stream share: the workspace of their kernels, and pinned memory for small results.

use warpfold_array::CudaError;
use warpfold_kernels::reduce::workspace::{COUNTERS, STATUS};

use crate::buffer::{Buffer, Pinned};
use crate::event::Event;
use crate::queue::Queue;

/// Results of at most so many bytes are written by kernels into the host's memory directly.
pub(crate) const MAILBOX: usize = 16 << 10;

/// Bytes of one pinned chunk on the way to a device. Large enough that the launch of a copy costs nothing beside it,
/// small enough to be in the host's cache between gathering and copying.
const CHUNK: usize = 4 << 20;

/// Memory that lives as long as its stream. Whoever holds the lock around it may queue work that uses it: in the
/// stream's order, one reduction's launches at a time.
#[derive(Default)]
pub(crate) struct Scratch {
    workspace: Option<Buffer<u8>>,
    /// Smaller workspaces of before: queued work, or a graph, may still use them.
    retired: Vec<Buffer<u8>>,
    mailbox: Option<Mailbox>,
    staging: Option<[Staged; 2]>,
}

/// Pinned memory that kernels write.
pub(crate) struct Mailbox {
    /// [`MAILBOX`] bytes for a result, and a word for its status.
    pub host: Pinned<u8>,
    /// The same memory, as kernels see it.
    pub address: u64,
}

/// A pinned chunk, and when the copy out of it is done.
pub(crate) struct Staged {
    pub chunk: Pinned<u8>,
    pub copied: Event,
}

impl Scratch {
    /// The address of at least `bytes` bytes, whose counters are zero. It grows by doubling, so what is retired is
    /// together no larger than what is in use.
    pub fn workspace(&mut self, queue: &Queue, bytes: usize) -> Result<u64, CudaError> {
        let bytes = bytes.max(COUNTERS);
        if let Some(workspace) = self.workspace.as_ref().filter(|w| w.len() >= bytes) {
            return Ok(workspace.address());
        }
        let mut grown = Buffer::new(&queue.device(), bytes.next_power_of_two())?;
        // On a stream of its own, so that it is done now, even while `queue` is only recording a graph.
        let zeroing = Queue::new(&queue.device())?;
        grown.fill(&zeroing, 0)?;
        zeroing.synchronize()?;
        let address = grown.address();
        self.retired.extend(self.workspace.replace(grown));
        Ok(address)
    }

    /// The mailbox; none if kernels do not see the host's memory.
    pub fn mailbox(&mut self, queue: &Queue) -> Result<Option<&mut Mailbox>, CudaError> {
        if self.mailbox.is_none() {
            let host = Pinned::new(&queue.device(), MAILBOX + 8)?;
            let Some(address) = host.device_address()? else { return Ok(None) };
            self.mailbox = Some(Mailbox { host, address });
        }
        Ok(self.mailbox.as_mut())
    }

    /// Two chunks, to be used in turn.
    pub fn staging(&mut self, queue: &Queue) -> Result<&mut [Staged; 2], CudaError> {
        if self.staging.is_none() {
            let device = queue.device();
            let make = || -> Result<Staged, CudaError> {
                Ok(Staged { chunk: Pinned::new(&device, CHUNK)?, copied: Event::new(&device)? })
            };
            self.staging = Some([make()?, make()?]);
        }
        Ok(self.staging.as_mut().expect("made just now"))
    }
}

/// Where the status of a reduction goes.
#[derive(Clone, Copy)]
pub(crate) enum StatusTo {
    /// No status is written: every output has a value.
    Nowhere,
    /// A word on the device.
    Device(u64),
    /// A word of pinned memory.
    Host(*mut u8),
}

/// Queues moving the status out of the workspace, which has none afterwards.
///
/// # Safety
/// `workspace` is one of the queue's device; there are 4 bytes at the destination, which stay until that is done.
pub(crate) unsafe fn queue_status(queue: &Queue, workspace: u64, to: StatusTo) -> Result<(), CudaError> {
    let status = workspace + 4 * STATUS as u64;
    match to {
        StatusTo::Nowhere => return Ok(()),
        // SAFETY: 4 bytes at both ends, by the caller's promise.
        StatusTo::Device(to) => unsafe { queue.copy(to, status, 4) }?,
        // SAFETY: 4 bytes at both ends, by the caller's promise; no reference to the destination exists while the
        // device writes it.
        StatusTo::Host(to) => unsafe { queue.runtime().copy_out(queue.raw(), to, status, 4) }?,
    }
    // SAFETY: the status is 4 bytes of the workspace.
    unsafe { queue.fill(status, 0, 4) }
}
