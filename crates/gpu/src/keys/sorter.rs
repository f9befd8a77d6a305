//! A sort that is planned, its kernels loaded and its memory allocated.

use crate::buffer::Buffer;
use crate::device::Device;
use crate::launch::Ready;
use crate::plan;
use crate::plan::sort::Problem;
use crate::stream::Stream;
use warpfold_array::CudaError;
use warpfold_kernels::sort::SortAt;
use warpfold_kernels::sort::state::{FIRST, FOUND};

/// Words that report the first label of no group: see [`super::label_error`].
const SAID: usize = 3;

/// See the module.
pub struct Sorter {
    /// What is sorted.
    pub problem: Problem,
    launches: Vec<Ready<SortAt>>,
    keys: [Buffer<u8>; 2],
    carried: [Buffer<u8>; 2],
    state: Buffer<u32>,
}

impl Sorter {
    pub fn new(device: &Device, problem: Problem) -> Result<Self, CudaError> {
        Self::with(device, problem, &problem.sort(), problem.state_words())
    }

    /// Sorts nothing: has the state that the heads of runs need.
    pub fn unsorted(device: &Device, problem: Problem) -> Result<Self, CudaError> {
        let nothing = Problem { n: 0, ..problem };
        Ok(Self { problem, ..Self::with(device, nothing, &[], problem.runs_words())? })
    }

    fn with(
        device: &Device,
        problem: Problem,
        launches: &[plan::Launch<SortAt>],
        words: usize,
    ) -> Result<Self, CudaError> {
        let pair = |[a, b]: [usize; 2]| Ok::<_, CudaError>([Buffer::new(device, a)?, Buffer::new(device, b)?]);
        Ok(Self {
            problem,
            launches: device.all_ready(launches)?,
            keys: pair(problem.keys_bytes())?,
            carried: pair(problem.carried_bytes())?,
            state: Buffer::new(device, words)?,
        })
    }

    /// The kernels, in the order of their launches.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.launches.iter().map(Ready::entry)
    }

    /// Queues the sort of elements, and of what they carry, at these addresses (0: their positions).
    ///
    /// # Safety
    /// There are as many elements, of that dtype and side by side, and likewise what they carry, until the device is
    /// done with them.
    pub unsafe fn queue(&mut self, stream: &Stream, input: u64, values: u64) -> Result<(), CudaError> {
        self.state.fill(stream, 0)?;
        let (keys, carried, state) = (self.keys_at(), self.carried_at(), self.state_at());
        for launch in &self.launches {
            // SAFETY: the caller's; the rest is this value's, as large as the plan says, and the state is zero.
            unsafe { launch.queue(stream, SortAt { input, values, keys, carried, state }) }?;
        }
        Ok(())
    }

    /// The addresses of the keys, in both buffers.
    pub fn keys_at(&self) -> [u64; 2] {
        [self.keys[0].address(), self.keys[1].address()]
    }

    /// The addresses of what the keys carry, in both buffers.
    pub fn carried_at(&self) -> [u64; 2] {
        [self.carried[0].address(), self.carried[1].address()]
    }

    /// The addresses of the sorted labels and of what the labels have carried along.
    pub fn sorted(&self) -> (u64, u64) {
        let last = self.problem.last();
        (self.keys_at()[last], self.carried_at()[last])
    }

    /// The buffer of what labels have carried along.
    pub fn into_carried(self) -> Buffer<u8> {
        let last = self.problem.last();
        let [first, second] = self.carried;
        if last == 0 { first } else { second }
    }

    /// The address of the state.
    pub fn state_at(&self) -> u64 {
        self.state.address()
    }

    /// Queues a copy of the number of heads.
    pub fn copy_found(&self, stream: &Stream, to: &mut Buffer<u32>) -> Result<(), CudaError> {
        // SAFETY: the destination is a buffer of one word, which is lent.
        unsafe { self.copy(stream, FOUND, to.address(), 1) }
    }

    /// Queues a copy of the report on labels: 12 bytes.
    ///
    /// # Safety
    /// There are 12 bytes at the destination, until the device is done with them.
    pub unsafe fn copy_said(&self, stream: &Stream, to: u64) -> Result<(), CudaError> {
        // SAFETY: the caller's.
        unsafe { self.copy(stream, FIRST, to, SAID) }
    }

    /// # Safety
    /// There are so many words at the destination, until the device is done with them.
    unsafe fn copy(&self, stream: &Stream, from: usize, to: u64, words: usize) -> Result<(), CudaError> {
        debug_assert!(from + words <= self.state.len());
        let from = self.state.address() + 4 * from as u64;
        // SAFETY: the state has the words, and the destination by the caller's promise.
        unsafe { stream.copy(to, from, 4 * words) }
    }
}
