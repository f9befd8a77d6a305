//! Runs the library's kernels in the emulator, by name.

use crate::counters::Report;
use crate::lane::Lane;
use crate::memory::Memory;
use crate::{Faults, launch_any};
use warpfold_kernels::params::of_words;
use warpfold_kernels::{Kernel, Visit};

/// One launch of a kernel: a visitor, which runs the kernel that it is shown.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub memory: &'a Memory,
    pub entry: &'a str,
    /// Blocks.
    pub grid: u32,
    /// Threads per block.
    pub block: u32,
    /// Bytes that the launch brings for a large shared array of any size.
    pub room: u32,
    /// The one parameter, as words.
    pub params: &'a [u64],
}

impl Visit for Run<'_> {
    /// None if the parameter has another size.
    type Output = Option<Result<Report, Box<Faults>>>;

    fn visit<K: Kernel>(self) -> Self::Output {
        let params: K::Params = of_words(self.params)?;
        let (grid, block) = (self.grid.into(), self.block.into());
        Some(launch_any(self.memory, self.entry, grid, block, Some(self.room), &|s: &Lane<'_>| K::run(s, &params)))
    }
}
