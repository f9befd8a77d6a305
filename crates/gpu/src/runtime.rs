//! What sequences of allocations, copies and launches are made of: a GPU by its driver, or an emulator in its place.

use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use warpfold_array::CudaError;

use crate::plan::Limits;

/// What a device is.
#[derive(Clone, Debug, PartialEq)]
pub struct Properties {
    /// As in `cuda:1`. Every runtime of a process has another.
    pub index: usize,
    /// As the driver names it.
    pub name: String,
    /// The CUDA version that the driver supports.
    pub driver: (u32, u32),
    /// Compute capability.
    pub capability: (u32, u32),
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of shared memory that a block can have.
    pub shared_bytes: u32,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Bytes of second-level cache.
    pub l2_bytes: u64,
    /// Width of the memory bus, in bits.
    pub bus_bits: u32,
    /// Memory clock, in kHz; 0 if the driver does not say.
    pub memory_khz: u32,
}

/// The share of the peak bandwidth that a plain read reaches: 4.6 of 4.8 TB/s on an H200.
const READ_SHARE: f64 = 0.95;

/// Bytes per second, if the driver does not say how fast the memory is.
const USUAL_BANDWIDTH: f64 = 1e12;

impl Properties {
    /// The compute capability whose instructions it takes: the driver must know them, too.
    pub fn usable(&self) -> (u32, u32) {
        // Instructions that 9.0 has came with PTX 8.0.
        if self.driver >= (12, 0) { self.capability } else { self.capability.min((8, 9)) }
    }

    /// The memory's peak bandwidth in GB/s: two transfers per clock over the whole bus.
    pub fn peak_gbs(&self) -> Option<f64> {
        let peak = 2.0 * f64::from(self.memory_khz) * 1e3 * f64::from(self.bus_bits) / 8.0 / 1e9;
        (peak > 0.0).then_some(peak)
    }

    /// What the planner has to know.
    pub(crate) fn limits(&self) -> Limits {
        let bandwidth = self.peak_gbs().map_or(USUAL_BANDWIDTH, |peak| READ_SHARE * peak * 1e9);
        Limits { multiprocessors: self.multiprocessors, bandwidth, aligned: false, shared_bytes: self.shared_bytes }
    }
}

/// A stream, an event or a graph of a runtime, which alone knows what the pointer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(pub *mut c_void);

// SAFETY: a name for something in the runtime, which any thread may use; nothing is read through it here.
unsafe impl Send for Handle {}
// SAFETY: a shared name is read only.
unsafe impl Sync for Handle {}

/// A kernel that a runtime has loaded.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Its name.
    pub entry: Arc<str>,
    /// What the runtime knows it by.
    pub function: Handle,
    /// Bytes of each parameter.
    pub parameters: Arc<[usize]>,
    /// Bytes of its large shared array; 0, if it has none, or each launch says how many.
    pub room: u32,
    /// Its place among the loaded kernels.
    pub index: usize,
}

/// A launch of a kernel.
pub struct Grid<'a> {
    /// The kernel.
    pub kernel: &'a Loaded,
    /// Blocks.
    pub grid: u32,
    /// Threads of a block.
    pub block: u32,
    /// Bytes of the kernel's large shared array.
    pub room: u32,
}

/// A device: memory, streams, kernels. Addresses are the device's.
///
/// Work that is queued on a stream is done in order; streams wait for each other only by events. Handles of streams,
/// events and graphs are valid until they are destroyed, and of the runtime that made them: that is the promise of the
/// callers of all `unsafe` methods, beside what these say themselves.
#[allow(clippy::missing_safety_doc, reason = "said once, above")]
#[allow(clippy::missing_errors_doc, reason = "all return what the driver says")]
pub trait Runtime: fmt::Debug + Send + Sync {
    /// What it is.
    fn properties(&self) -> &Properties;
    /// Bytes of memory: free now, and in all.
    fn memory(&self) -> Result<(u64, u64), CudaError>;
    /// Waits for everything that was asked of the device.
    fn synchronize(&self) -> Result<(), CudaError>;

    /// Memory of the device, aligned to 256 bytes; `what` is for the error of too little.
    fn allocate(&self, what: &'static str, bytes: u64) -> Result<u64, CudaError>;
    /// Frees it when all queued work is done.
    unsafe fn free(&self, address: u64);
    /// Memory of the host that copies to and from the device can use by themselves.
    fn lock_host(&self, bytes: u64) -> Result<NonNull<u8>, CudaError>;
    /// Frees it when all queued work is done.
    unsafe fn unlock_host(&self, start: NonNull<u8>);
    /// Where kernels see it; none if they do not.
    unsafe fn map_host(&self, start: NonNull<u8>) -> Result<Option<u64>, CudaError>;

    /// A new queue.
    fn create_stream(&self) -> Result<Handle, CudaError>;
    /// Destroys it when its work is done.
    unsafe fn destroy_stream(&self, stream: Handle);
    /// Waits until the queue is empty.
    unsafe fn synchronize_stream(&self, stream: Handle) -> Result<(), CudaError>;
    /// Whether the queue is empty.
    unsafe fn is_idle(&self, stream: Handle) -> Result<bool, CudaError>;

    /// An event that marks nothing yet.
    fn create_event(&self) -> Result<Handle, CudaError>;
    /// Destroys it.
    unsafe fn destroy_event(&self, event: Handle);
    /// Marks this point of the queue.
    unsafe fn record(&self, event: Handle, stream: Handle) -> Result<(), CudaError>;
    /// Lets what is queued from now on wait for an event.
    unsafe fn wait(&self, stream: Handle, event: Handle) -> Result<(), CudaError>;
    /// Waits until the device has reached the point marked.
    unsafe fn synchronize_event(&self, event: Handle) -> Result<(), CudaError>;
    /// Nanoseconds between two recorded events that have been waited for.
    unsafe fn nanoseconds(&self, from: Handle, to: Handle) -> Result<u64, CudaError>;

    /// Queues a copy from the host; the source stays until it is done.
    unsafe fn copy_in(&self, stream: Handle, to: u64, from: &[u8]) -> Result<(), CudaError>;
    /// Queues a copy of so many bytes to the host; the destination stays, and nobody touches it, until it is done.
    unsafe fn copy_out(&self, stream: Handle, to: *mut u8, from: u64, bytes: usize) -> Result<(), CudaError>;
    /// Queues a copy within the device.
    unsafe fn copy(&self, stream: Handle, to: u64, from: u64, bytes: usize) -> Result<(), CudaError>;
    /// Queues setting every byte.
    unsafe fn fill(&self, stream: Handle, to: u64, byte: u8, bytes: usize) -> Result<(), CudaError>;

    /// The kernel of that name: the library's, or that of a module of PTX.
    fn kernel(&self, entry: &str, text: Option<String>) -> Result<Loaded, CudaError>;
    /// Queues a launch: a pointer for each parameter, to as many bytes as it has, which are copied before this returns.
    /// All that the kernel touches lives until it is done.
    unsafe fn launch(&self, stream: Handle, grid: Grid<'_>, parameters: &mut [*mut c_void]) -> Result<(), CudaError>;

    /// Begins to record what is queued on a stream, in place of doing it.
    unsafe fn begin_recording(&self, stream: Handle) -> Result<(), CudaError>;
    /// Ends that: a graph of what was queued. It ends in any case, also after an error.
    unsafe fn end_recording(&self, stream: Handle) -> Result<Handle, CudaError>;
    /// Queues all of a graph.
    unsafe fn launch_graph(&self, stream: Handle, graph: Handle) -> Result<(), CudaError>;
    /// Destroys a graph when all queued work is done.
    unsafe fn destroy_graph(&self, graph: Handle);
}
