//! A device that is emulated: every sequence of the library runs on it, with every access checked.

use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warpfold_array::CudaError;
use warpfold_gpu::Device;
use warpfold_gpu::runtime::{Grid, Handle, Loaded, Properties, Runtime};
use warpfold_kernels::{All, Kernel, Kernels, Visit};

use crate::Faults;
use crate::counters::Report;
use crate::memory::Memory;
use crate::run::Run;

/// Bytes of memory that an emulated device is said to have.
const MEMORY: u64 = 1 << 36;

/// What became of a launch.
type Outcome = Option<Result<Report, Box<Faults>>>;

/// An emulated device. Clones are the same one.
///
/// Streams do their work at once, so nothing is found of streams that do not wait for one another.
///
/// A reduction, and what its kernel did:
///
/// ```
/// use warpfold_array::{ArrayRef, Op};
/// use warpfold_emulator::{Emulator, Report};
/// use warpfold_gpu::{Array, Options, Stream, reduce};
/// use warpfold_kernels::{Names, Only};
///
/// // The kernels to compile. `Emulator::new` takes all, which is a minute.
/// struct Rows;
///
/// impl Names for Rows {
///     const NAMES: &'static [&'static str] = &["rows_sum_f32"];
/// }
///
/// # fn main() -> Result<(), warpfold_array::Error> {
/// let emulator = Emulator::of::<Only<Rows>>(1);
/// let stream = Stream::new(&emulator.device())?;
/// let numbers: Vec<f32> = (1..=3000).map(|x| x as f32).collect();
/// let there = Array::upload(&stream, ArrayRef::from_slice(&numbers, &[3000])?)?;
///
/// let sum = reduce(Op::Sum, there.view(), &Options::default(), &stream)?.download(&stream)?;
/// assert_eq!(sum.into_vec::<f32>(), Some(vec![4_501_500.0]));
///
/// let mut all = Report::default();
/// for (kernel, report) in emulator.take_launches() {
///     println!("{kernel}: {} blocks of {} threads", report.blocks, report.threads / report.blocks);
///     all.add(&report);
/// }
/// assert!(all.launches >= 1 && all.total.global_sectors >= 3000 * 4 / 32);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Emulator(Arc<State>);

struct State {
    properties: Properties,
    known: Known,
    inner: Mutex<Inner>,
}

/// The kernels that a device has, by name.
struct Known {
    /// Bytes of the parameter.
    size: fn(&str) -> Option<usize>,
    /// Runs it.
    run: fn(&str, Run<'_>) -> Option<Outcome>,
}

#[derive(Default)]
struct Inner {
    memory: Memory,
    launches: Vec<(String, Report)>,
    /// Launches that did something wrong.
    faults: Vec<Faults>,
    kernels: Vec<Loaded>,
    /// Page-locked memory of the host.
    locked: HashMap<usize, Box<[u128]>>,
    /// Names of streams, events and graphs that have been given out.
    handles: usize,
    /// What streams that record have recorded.
    recording: HashMap<usize, Vec<Work>>,
    graphs: HashMap<usize, Vec<Work>>,
}

/// One piece of work of a stream.
#[derive(Clone)]
enum Work {
    Copy { to: u64, from: u64, bytes: usize },
    Fill { to: u64, byte: u8, bytes: usize },
    Launch { entry: Arc<str>, grid: u32, block: u32, room: u32, params: Vec<u64> },
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an emulated device")
    }
}

impl Emulator {
    /// A device of so many multiprocessors: with few, small problems take several blocks.
    ///
    /// It has all kernels of the library. They take a minute to compile, and that in the crate that calls this;
    /// [`Emulator::of`] takes fewer.
    #[inline]
    pub fn new(multiprocessors: u32) -> Emulator {
        Emulator::of::<All>(multiprocessors)
    }

    /// A device that has these kernels: [`All`], [`Only`](warpfold_kernels::Only) those of some names, or a user's
    /// [`Own`](warpfold_kernels::Own).
    pub fn of<K: Kernels>(multiprocessors: u32) -> Emulator {
        Emulator::with::<K>(multiprocessors, (7, 5))
    }

    /// A device that says it has this compute capability. [`Emulator::new`] has 7.5.
    #[inline]
    pub fn like(multiprocessors: u32, capability: (u32, u32)) -> Emulator {
        Emulator::with::<All>(multiprocessors, capability)
    }

    fn with<K: Kernels>(multiprocessors: u32, capability: (u32, u32)) -> Emulator {
        let known = Known { size: |entry| K::find(entry, Size), run: |entry, run| K::find(entry, run) };
        // From above, so that no GPU has the same index.
        static NEXT: AtomicUsize = AtomicUsize::new(usize::MAX);
        let properties = Properties {
            index: NEXT.fetch_sub(1, Ordering::Relaxed),
            name: "emulator".into(),
            driver: (12, 0),
            capability,
            multiprocessors,
            shared_bytes: 227 << 10,
            memory_bytes: MEMORY,
            l2_bytes: 0,
            bus_bits: 64,
            memory_khz: 150_000 * multiprocessors, // So slow that small problems have the plans of large ones.
        };
        Emulator(Arc::new(State { properties, known, inner: Mutex::default() }))
    }

    /// The device, for all that the library does on one.
    pub fn device(&self) -> Device {
        Device::new(self.0.clone())
    }

    /// Each kernel that was launched since the last call, in order, and what was counted.
    ///
    /// A launch that did something wrong is among [`Emulator::take_faults`] instead.
    pub fn take_launches(&self) -> Vec<(String, Report)> {
        std::mem::take(&mut self.0.lock().launches)
    }

    /// The launches since the last call that did something wrong. Each was an error ([`CudaError::Launch`]) of the call
    /// that queued it.
    pub fn take_faults(&self) -> Vec<Faults> {
        std::mem::take(&mut self.0.lock().faults)
    }
}

/// Asks a kernel for the bytes of its parameter.
struct Size;

impl Visit for Size {
    type Output = usize;

    fn visit<K: Kernel>(self) -> usize {
        size_of::<K::Params>()
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic in a kernel leaves memory behind that is still whole.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does a piece of work, or records it.
    fn queue(&self, stream: Handle, work: Work) -> Result<(), CudaError> {
        let mut inner = self.lock();
        if let Some(recorded) = inner.recording.get_mut(&stream.0.addr()) {
            recorded.push(work);
            return Ok(());
        }
        self.carry_out(&mut inner, &work)
    }

    fn carry_out(&self, inner: &mut Inner, work: &Work) -> Result<(), CudaError> {
        match *work {
            Work::Copy { to, from, bytes } => inner.memory.copy(to, from, bytes).map_err(refused("copy")),
            Work::Fill { to, byte, bytes } => inner.memory.fill(to, byte, bytes).map_err(refused("fill")),
            Work::Launch { ref entry, grid, block, room, ref params } => {
                let run = Run { memory: &inner.memory, entry, grid, block, room, params };
                let why = match (self.known.run)(entry, run).flatten() {
                    Some(Ok(report)) => {
                        inner.launches.push((entry.to_string(), report));
                        return Ok(());
                    }
                    Some(Err(faults)) => {
                        let why = faults.to_string();
                        inner.faults.push(*faults);
                        why
                    }
                    None => "the parameter has another size".into(),
                };
                Err(CudaError::Launch { entry: entry.to_string(), grid, block, why })
            }
        }
    }

    /// Whether a stream records.
    fn records(&self, stream: Handle) -> bool {
        self.lock().recording.contains_key(&stream.0.addr())
    }

    fn handle(&self) -> Handle {
        let mut inner = self.lock();
        inner.handles += 1;
        Handle(std::ptr::without_provenance_mut(inner.handles))
    }
}

fn refused(call: &'static str) -> impl FnOnce(String) -> CudaError {
    move |why| CudaError::Call { call, why }
}

/// Work that a graph cannot hold.
fn not_recorded(call: &'static str) -> CudaError {
    CudaError::Call { call, why: "it waits for the host, and cannot be recorded".into() }
}

impl Runtime for State {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn memory(&self) -> Result<(u64, u64), CudaError> {
        Ok((MEMORY, MEMORY))
    }

    fn synchronize(&self) -> Result<(), CudaError> {
        Ok(())
    }

    fn allocate(&self, what: &'static str, bytes: u64) -> Result<u64, CudaError> {
        let index = self.properties.index;
        if bytes > MEMORY {
            return Err(CudaError::OutOfMemory { index, what, needed: bytes, free: MEMORY, total: MEMORY });
        }
        let array = self.lock().memory.alloc::<u8>(what, bytes as usize);
        Ok(array.as_ptr().addr() as u64)
    }

    unsafe fn free(&self, address: u64) {
        self.lock().memory.free(address);
    }

    fn lock_host(&self, bytes: u64) -> Result<NonNull<u8>, CudaError> {
        let index = self.properties.index;
        let what = "page-locked host memory";
        if bytes > MEMORY {
            return Err(CudaError::OutOfMemory { index, what, needed: bytes, free: MEMORY, total: MEMORY });
        }
        let mut block = vec![0u128; (bytes as usize).div_ceil(size_of::<u128>()).max(1)].into_boxed_slice();
        let start = NonNull::from(&mut block[0]).cast();
        self.lock().locked.insert(start.addr().get(), block);
        Ok(start)
    }

    unsafe fn unlock_host(&self, start: NonNull<u8>) {
        self.lock().locked.remove(&start.addr().get());
    }

    unsafe fn map_host(&self, _start: NonNull<u8>) -> Result<Option<u64>, CudaError> {
        // Emulated kernels see emulated memory alone.
        Ok(None)
    }

    fn create_stream(&self) -> Result<Handle, CudaError> {
        Ok(self.handle())
    }

    unsafe fn destroy_stream(&self, stream: Handle) {
        self.lock().recording.remove(&stream.0.addr());
    }

    unsafe fn synchronize_stream(&self, stream: Handle) -> Result<(), CudaError> {
        if self.records(stream) { Err(not_recorded("synchronize")) } else { Ok(()) }
    }

    unsafe fn is_idle(&self, stream: Handle) -> Result<bool, CudaError> {
        if self.records(stream) { Err(not_recorded("is_idle")) } else { Ok(true) }
    }

    fn create_event(&self) -> Result<Handle, CudaError> {
        Ok(self.handle())
    }

    unsafe fn destroy_event(&self, _event: Handle) {}

    unsafe fn record(&self, _event: Handle, _stream: Handle) -> Result<(), CudaError> {
        Ok(())
    }

    unsafe fn wait(&self, _stream: Handle, _event: Handle) -> Result<(), CudaError> {
        Ok(())
    }

    unsafe fn synchronize_event(&self, _event: Handle) -> Result<(), CudaError> {
        Ok(())
    }

    unsafe fn nanoseconds(&self, _from: Handle, _to: Handle) -> Result<u64, CudaError> {
        Err(CudaError::Call { call: "nanoseconds", why: "an emulator has no clock".into() })
    }

    unsafe fn copy_in(&self, stream: Handle, to: u64, from: &[u8]) -> Result<(), CudaError> {
        if self.records(stream) {
            return Err(not_recorded("copy_in"));
        }
        self.lock().memory.write_bytes(to, from).map_err(refused("copy_in"))
    }

    unsafe fn copy_out(&self, stream: Handle, to: *mut u8, from: u64, bytes: usize) -> Result<(), CudaError> {
        if self.records(stream) {
            return Err(not_recorded("copy_out"));
        }
        let data = self.lock().memory.read_bytes(from, bytes).map_err(refused("copy_out"))?;
        // SAFETY: room for so many bytes, which nobody touches, by the caller's promise.
        unsafe { to.copy_from_nonoverlapping(data.as_ptr(), bytes) };
        Ok(())
    }

    unsafe fn copy(&self, stream: Handle, to: u64, from: u64, bytes: usize) -> Result<(), CudaError> {
        self.queue(stream, Work::Copy { to, from, bytes })
    }

    unsafe fn fill(&self, stream: Handle, to: u64, byte: u8, bytes: usize) -> Result<(), CudaError> {
        self.queue(stream, Work::Fill { to, byte, bytes })
    }

    fn kernel(&self, entry: &str, _text: Option<String>) -> Result<Loaded, CudaError> {
        if let Some(known) = self.lock().kernels.iter().find(|known| &*known.entry == entry) {
            return Ok(known.clone());
        }
        let size = (self.known.size)(entry).ok_or_else(|| CudaError::UnknownEntry { entry: entry.to_owned() })?;
        let mut inner = self.lock();
        let index = inner.kernels.len();
        let function = Handle(std::ptr::without_provenance_mut(index));
        let loaded = Loaded { entry: entry.into(), function, parameters: Arc::from([size]), room: 0, index };
        inner.kernels.push(loaded.clone());
        Ok(loaded)
    }

    unsafe fn launch(
        &self,
        stream: Handle,
        Grid { kernel, grid, block, room }: Grid<'_>,
        parameters: &mut [*mut c_void],
    ) -> Result<(), CudaError> {
        let mut params = Vec::new();
        for (pointer, bytes) in parameters.iter().zip(&*kernel.parameters) {
            // SAFETY: as many bytes as the parameter has, by the caller's promise; words of 8 bytes, as kernels'
            // parameters are.
            params.extend(unsafe { std::slice::from_raw_parts(pointer.cast::<u64>(), bytes / 8) });
        }
        self.queue(stream, Work::Launch { entry: kernel.entry.clone(), grid, block, room, params })
    }

    unsafe fn begin_recording(&self, stream: Handle) -> Result<(), CudaError> {
        self.lock().recording.insert(stream.0.addr(), Vec::new());
        Ok(())
    }

    unsafe fn end_recording(&self, stream: Handle) -> Result<Handle, CudaError> {
        let graph = self.handle();
        let mut inner = self.lock();
        let recorded = inner.recording.remove(&stream.0.addr()).unwrap_or_default();
        inner.graphs.insert(graph.0.addr(), recorded);
        Ok(graph)
    }

    unsafe fn launch_graph(&self, stream: Handle, graph: Handle) -> Result<(), CudaError> {
        let works = self.lock().graphs.get(&graph.0.addr()).cloned().unwrap_or_default();
        works.into_iter().try_for_each(|work| self.queue(stream, work))
    }

    unsafe fn destroy_graph(&self, graph: Handle) {
        self.lock().graphs.remove(&graph.0.addr());
    }
}
