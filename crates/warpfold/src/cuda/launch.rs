use super::error::{is_fatal, words};
use super::{Device, Error, Kernel, Stream};
use cudarc::driver::{result, sys::CUresult};
use std::ffi::c_void;

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
    args: Vec<Slot>,
}

/// One argument, aligned for what it may be.
#[derive(Clone, Copy)]
#[repr(align(8))]
struct Slot([u8; 8]);

/// More parameters than any kernel has.
const MOST: usize = 16;

impl Launch {
    /// Prepares a launch of `grid` blocks of `block` threads.
    ///
    /// # Errors
    /// If the kernel takes other arguments.
    pub fn new(kernel: Kernel, grid: u32, block: u32, args: &[Arg]) -> Result<Launch, Error> {
        let given: Vec<usize> = args.iter().map(|arg| arg.size()).collect();
        if given[..] != kernel.handle.parameters[..] || given.len() > MOST {
            return Err(Error::Launch {
                entry: kernel.handle.entry.to_string(),
                grid,
                block,
                why: format!("arguments of {given:?} bytes for parameters of {:?}", kernel.handle.parameters),
            });
        }
        Ok(Launch { kernel, grid, block, args: args.iter().map(|arg| Slot(arg.bytes())).collect() })
    }

    /// Replaces an argument that is an address.
    ///
    /// # Panics
    /// If argument `i` has not the size of an address.
    pub fn set_address(&mut self, i: usize, address: u64) {
        assert_eq!(self.kernel.handle.parameters[i], 8, "argument {i} of {} is no address", self.kernel.handle.entry);
        self.args[i] = Slot(Arg::Address(address).bytes());
    }

    /// Queues the launch.
    ///
    /// # Errors
    /// If the driver refuses. What goes wrong in the kernel is an error of a later call.
    ///
    /// # Safety
    /// The kernel reads and writes through the addresses among its arguments. With this grid, this block and the numbers
    /// among the arguments, all that it touches lies in buffers of the stream's device; these live until the device has
    /// been synchronised (dropping one does that); and no other stream writes what it reads or touches what it writes.
    pub unsafe fn queue(&mut self, stream: &Stream) -> Result<(), Error> {
        let handle = &self.kernel.handle;
        let raw = stream.bound()?;
        self.kernel.context.modules.launched(handle);
        let mut pointers = [std::ptr::null_mut::<c_void>(); MOST];
        for (pointer, slot) in pointers.iter_mut().zip(&mut self.args) {
            *pointer = (&raw mut slot.0).cast();
        }
        // SAFETY: there is a pointer for each parameter, to as many bytes as it has, which the driver copies before it
        // returns; the function's module stays loaded as long as the kernel holds on to its context. The rest is the
        // caller's promise.
        let said = unsafe {
            result::launch_kernel(
                handle.function,
                (self.grid, 1, 1),
                (self.block, 1, 1),
                0,
                raw,
                &mut pointers[..self.args.len()],
            )
        };
        said.map_err(|code| match code.0 {
            _ if is_fatal(code) => Error::Dead {
                index: Device(self.kernel.context.clone()).properties().index,
                call: "cuLaunchKernel",
                launched: Some(handle.entry.to_string()),
                why: words(code),
            },
            CUresult::CUDA_ERROR_INVALID_HANDLE | CUresult::CUDA_ERROR_INVALID_CONTEXT => Error::Launch {
                entry: handle.entry.to_string(),
                grid: self.grid,
                block: self.block,
                why: format!("{} (is the stream of another device?)", words(code)),
            },
            _ => {
                let entry = handle.entry.to_string();
                Error::Launch { entry, grid: self.grid, block: self.block, why: words(code) }
            }
        })
    }
}
