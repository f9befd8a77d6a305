//! Kernels, and launches of them with everything decided.

use std::ffi::c_void;

use warpfold_array::CudaError;

use crate::device::Device;
use crate::plan;
use crate::queue::Queue;
use crate::runtime::{Grid, Loaded};
use warpfold_kernels::params::{Plain, address_words};
use warpfold_kernels::reduce::call::CallAt;

/// A kernel, loaded and ready to launch. Clones are the same kernel.
#[derive(Clone)]
pub struct Kernel {
    device: Device,
    loaded: Loaded,
}

impl Device {
    /// The kernel of that name. The first call for it compiles it for this GPU, which takes the driver 0.05 to 0.8 s
    /// unless it finds it in its cache on disk.
    ///
    /// # Errors
    /// If there is no such kernel, or the driver refuses it.
    pub fn kernel(&self, entry: &str) -> Result<Kernel, CudaError> {
        Ok(Kernel { device: self.clone(), loaded: self.0.kernel(entry, None)? })
    }

    /// The kernel of that name in a module of a user's own.
    pub(crate) fn kernel_of(&self, entry: &str, text: String) -> Result<Kernel, CudaError> {
        Ok(Kernel { device: self.clone(), loaded: self.0.kernel(entry, Some(text))? })
    }
}

/// A kernel's argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arg {
    /// The address of a buffer.
    Address(u64),
    /// A 64-bit number.
    U64(u64),
    /// A 32-bit number.
    U32(u32),
}

impl Arg {
    fn size(self) -> usize {
        match self {
            Arg::Address(_) | Arg::U64(_) => 8,
            Arg::U32(_) => 4,
        }
    }
    /// The argument's bytes, lowest first, as the driver copies them from here.
    fn bytes(self) -> [u8; 8] {
        match self {
            Arg::Address(x) | Arg::U64(x) => x.to_ne_bytes(),
            Arg::U32(x) => {
                let [a, b, c, d] = x.to_ne_bytes();
                [a, b, c, d, 0, 0, 0, 0]
            }
        }
    }
}

/// A launch with everything decided, to be repeated at no more than the driver's own cost.
pub struct Launch {
    kernel: Kernel,
    grid: u32,
    block: u32,
    /// One for each parameter.
    args: Vec<Slot>,
}

/// One argument, aligned for what it may be.
#[derive(Clone, Copy)]
#[repr(align(8))]
struct Slot([u8; 8]);

/// More parameters than any kernel has.
const MOST: usize = 16;

/// More words than the struct of any kernel has: half of what the driver takes.
const MOST_WORDS: usize = 256;

impl Launch {
    /// Prepares a launch of `grid` blocks of `block` threads.
    ///
    /// # Errors
    /// If the kernel takes other arguments.
    pub fn new(kernel: Kernel, grid: u32, block: u32, args: &[Arg]) -> Result<Launch, CudaError> {
        let given: Vec<usize> = args.iter().map(|arg| arg.size()).collect();
        check(&kernel, grid, block, &given)?;
        let args = args.iter().map(|arg| Slot(arg.bytes())).collect();
        Ok(Launch { kernel, grid, block, args })
    }

    /// The kernel's name.
    pub fn entry(&self) -> &str {
        &self.kernel.loaded.entry
    }

    /// Replaces an argument that is an address.
    ///
    /// # Panics
    /// If argument `i` has not the size of an address.
    pub fn set_address(&mut self, i: usize, address: u64) {
        let entry = &self.kernel.loaded.entry;
        assert_eq!(self.kernel.loaded.parameters[i], 8, "argument {i} of {entry} is no address");
        self.args[i] = Slot(Arg::Address(address).bytes());
    }

    /// Queues the launch.
    ///
    /// # Errors
    /// If the driver refuses. What goes wrong in the kernel is an error of a later call.
    ///
    /// # Safety
    /// The kernel reads and writes through the addresses among its arguments. With this grid, this block and the
    /// numbers among the arguments, all that it touches lies in buffers of the stream's device; these live until the
    /// device has been synchronised (dropping one does that); and no other stream writes what it reads or touches what
    /// it writes.
    pub unsafe fn queue(&mut self, stream: &Queue) -> Result<(), CudaError> {
        let mut pointers = [std::ptr::null_mut::<c_void>(); MOST];
        for (pointer, slot) in pointers.iter_mut().zip(self.args.iter_mut()) {
            *pointer = (&raw mut slot.0).cast();
        }
        let kernel = &self.kernel.loaded;
        let grid = Grid { kernel, grid: self.grid, block: self.block, room: kernel.room };
        // SAFETY: a pointer for each parameter, to as many bytes as it has (`check`). The rest is the caller's promise.
        unsafe { self.kernel.launch(stream, grid, &mut pointers[..self.args.len()]) }
    }
}

impl Kernel {
    /// # Safety
    /// `pointers` has a pointer for each parameter, to as many bytes as it has; and as [`Launch::queue`].
    unsafe fn launch(&self, stream: &Queue, grid: Grid<'_>, pointers: &mut [*mut c_void]) -> Result<(), CudaError> {
        stream.is_of("kernel", &self.device)?;
        // SAFETY: kernel and stream are of one device and live as long as the borrows; the rest is the caller's
        // promise.
        unsafe { stream.runtime().launch(stream.raw(), grid, pointers) }
    }
}

/// A planned launch with its kernel loaded: only the addresses `A` are open. Any number of threads can share it.
pub(crate) struct Ready<A> {
    kernel: Kernel,
    planned: plan::Launch<A>,
}

impl Device {
    /// Loads the kernel of a planned launch.
    pub(crate) fn ready<A: Plain>(&self, planned: &plan::Launch<A>) -> Result<Ready<A>, CudaError> {
        Ready::new(self.kernel(&planned.entry)?, planned)
    }

    /// Loads the kernels of planned launches.
    pub(crate) fn all_ready<A: Plain>(&self, planned: &[plan::Launch<A>]) -> Result<Vec<Ready<A>>, CudaError> {
        planned.iter().map(|launch| self.ready(launch)).collect()
    }
}

impl<A: Plain> Ready<A> {
    /// Prepares a planned launch of a kernel that has been loaded.
    ///
    /// # Errors
    /// If the kernel takes other arguments.
    pub fn new(kernel: Kernel, planned: &plan::Launch<A>) -> Result<Self, CudaError> {
        let (grid, block, words) = (planned.grid, planned.block, planned.words());
        check(&kernel, grid, block, &[size_of_val(words)])?;
        if words.len() > MOST_WORDS {
            let why = format!("{} words of parameters, more than {MOST_WORDS}", words.len());
            return Err(CudaError::Launch { entry: kernel.loaded.entry.to_string(), grid, block, why });
        }
        Ok(Self { kernel, planned: planned.clone() })
    }

    /// The kernel's name.
    pub fn entry(&self) -> &str {
        &self.kernel.loaded.entry
    }

    /// Queues the launch with these addresses.
    ///
    /// # Errors
    /// As [`Launch::queue`].
    ///
    /// # Safety
    /// As [`Launch::queue`], of the addresses `at`.
    pub unsafe fn queue(&self, stream: &Queue, at: A) -> Result<(), CudaError> {
        // SAFETY: the caller's.
        unsafe { self.queue_with(stream, at, None) }
    }

    /// The same with a word of the launch struct, at an index, that was not known when the launch was planned.
    ///
    /// # Errors
    /// As [`Launch::queue`].
    ///
    /// # Safety
    /// As [`Launch::queue`], of the addresses `at` and that word.
    pub unsafe fn queue_with(&self, stream: &Queue, at: A, word: Option<(usize, u64)>) -> Result<(), CudaError> {
        let (at, words) = (address_words(&at), self.planned.words());
        let mut copy = [0; MOST_WORDS];
        copy[..words.len()].copy_from_slice(words);
        copy[..at.len()].copy_from_slice(at);
        if let Some((index, word)) = word {
            copy[..words.len()][index] = word;
        }
        let (kernel, planned) = (&self.kernel.loaded, &self.planned);
        let room = if planned.room > 0 { planned.room } else { kernel.room };
        let grid = Grid { kernel, grid: planned.grid, block: planned.block, room };
        // SAFETY: the one parameter is a struct of so many words (`new`), which begins with its addresses (`Params`).
        // The rest is the caller's promise.
        unsafe { self.kernel.launch(stream, grid, &mut [copy.as_mut_ptr().cast()]) }
    }
}

impl Ready<CallAt> {
    /// The launch's addresses, from those of the whole reduction.
    pub fn place(&self, at: CallAt) -> CallAt {
        self.planned.place(at)
    }
}

fn check(kernel: &Kernel, grid: u32, block: u32, given: &[usize]) -> Result<(), CudaError> {
    let parameters = &kernel.loaded.parameters;
    if given == &parameters[..] && given.len() <= MOST {
        return Ok(());
    }
    let why = format!("arguments of {given:?} bytes for parameters of {parameters:?}");
    Err(CudaError::Launch { entry: kernel.loaded.entry.to_string(), grid, block, why })
}
