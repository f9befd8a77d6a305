//! Runs the library's kernels in the emulator, by name.

use crate::{Faults, Lane, Memory, Report};
use warpfold_kernels::params::of_words;
use warpfold_kernels::{Kernel, Visit};

/// One launch of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Production<'a> {
    /// The entry's name.
    pub entry: &'a str,
    /// Blocks.
    pub grid: u32,
    /// Threads per block.
    pub block: u32,
    /// The one parameter, as words.
    pub params: &'a [u64],
}

/// A visitor of kernels, which runs the one that it is shown.
#[derive(Clone, Copy)]
pub struct Run<'a>(pub &'a Memory, pub Production<'a>);

impl Visit for Run<'_> {
    /// None if the parameter has another size.
    type Output = Option<Result<Report, Box<Faults>>>;

    fn visit<K: Kernel>(self) -> Self::Output {
        let Run(memory, Production { entry, grid, block, params }) = self;
        let params: K::Params = of_words(params)?;
        Some(crate::launch(memory, entry, grid, block, |s: &Lane<'_>| K::run(s, &params)))
    }
}

/// Runs a kernel of the library; `None` if there is no such kernel, or its parameter has another size.
#[must_use]
pub fn emulate(memory: &Memory, launch: Production<'_>) -> Option<Result<Report, Box<Faults>>> {
    warpfold_kernels::find(launch.entry, Run(memory, launch)).flatten()
}

/// The same of sums of f32 and of integers of 32 bits only: a program that needs no others is seven megabytes smaller.
#[must_use]
pub fn emulate_sum(memory: &Memory, launch: Production<'_>) -> Option<Result<Report, Box<Faults>>> {
    warpfold_kernels::find_sum(launch.entry, Run(memory, launch)).flatten()
}
