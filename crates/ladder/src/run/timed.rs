//! Kernels that are checked and timed on a GPU.

use super::check::results;
use super::error::Error;
use crate::plan::Buffer;
use crate::program::{Inputs, Program};
use warpfold::cuda::Stream;

/// A rung, or the library's own kernels, ready to run.
pub trait Timed {
    /// Queues overwriting all results with ones.
    ///
    /// # Errors
    /// If the driver refuses.
    fn reset(&mut self, stream: &Stream, inputs: &Inputs) -> Result<(), Error>;

    /// Queues one run.
    ///
    /// # Errors
    /// If the driver refuses.
    fn run(&mut self, stream: &Stream, inputs: &Inputs) -> Result<(), Error>;

    /// Waits, and returns the result as bits, and the counts.
    ///
    /// # Errors
    /// If something went wrong in a kernel.
    fn read(&self, stream: &Stream) -> Result<(Vec<u32>, Vec<u32>), Error>;
}

impl Timed for Program {
    fn reset(&mut self, stream: &Stream, inputs: &Inputs) -> Result<(), Error> {
        Ok(Program::reset(self, stream, inputs)?)
    }

    fn run(&mut self, stream: &Stream, inputs: &Inputs) -> Result<(), Error> {
        Ok(Program::run(self, stream, inputs)?)
    }

    fn read(&self, stream: &Stream) -> Result<(Vec<u32>, Vec<u32>), Error> {
        let (mut output, mut counts) = (Vec::new(), Vec::new());
        for buffer in results(self.plan()) {
            match buffer {
                Buffer::Counts => counts = Program::read(self, stream, buffer)?,
                _ => output = Program::read(self, stream, buffer)?,
            }
        }
        Ok((output, counts))
    }
}
