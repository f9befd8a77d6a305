//! Runs kernels on the host, finds what is wrong with them, and counts what a profiler would.
//!
//! A GPU thread is a stackful coroutine, a block runs on one OS thread, blocks run in parallel. Barriers, shuffles and
//! votes are the only places where a thread gives way. See [`Kind`] for the faults found and [`Counters`] for what is
//! counted; both name the kernel's source line.
//!
//! Three things are weaker here than on hardware, and reported as such. Acquire-release atomics on shared memory order
//! nothing else. What a thread acquired through one address is not passed on through another. And of more than 33
//! unordered readers of one element, some are forgotten, so that a writer may be charged with one race less.

mod block;
mod collective;
mod counters;
mod fault;
mod lane;
mod memory;
mod race;
mod requests;
mod run;
mod runtime;
mod shared;
mod state;
mod sync;
mod wait;

pub use counters::{Conflicts, Counters, Line, Report};
pub use fault::Log;
pub use fault::{Act, Fault, Kind, Op, Place, Site, Space};
pub use lane::Lane;
pub use memory::Memory;
pub use runtime::Emulator;

use core::fmt;
use rayon::prelude::*;
use warpfold_simt::Dim;

/// A launch that did something wrong.
#[derive(Clone, Debug)]
pub struct Faults {
    /// What was launched.
    pub kernel: String,
    /// The distinct faults, sorted; at most 64.
    pub faults: Vec<Fault>,
    /// Occurrences beyond those.
    pub dropped: u64,
    /// What was counted nevertheless.
    pub report: Report,
}

impl Faults {
    /// Whether there is a fault of this kind.
    pub fn has(&self, kind: &Kind) -> bool {
        self.faults.iter().any(|f| f.kind == *kind)
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel {} is wrong:", self.kernel)?;
        for fault in &self.faults {
            write!(f, "\n  {fault}")?;
        }
        if self.dropped > 0 {
            write!(f, "\n  and {} faults at other lines", self.dropped)?;
        }
        Ok(())
    }
}

impl core::error::Error for Faults {}

/// Runs `kernel` once per thread of `grid` blocks of `block` threads, to the end, whatever it does wrong.
///
/// A faulty read yields zero and a faulty write is dropped; a barrier or shuffle that waits for a thread that never
/// comes goes on without it. So one run shows all faults.
///
/// # Errors
/// The faults, with the report.
///
/// # Panics
/// If the block has no threads or more than 1024, or the grid more than 2^32 - 1 blocks.
pub fn launch<K>(
    memory: &Memory,
    name: &str,
    grid: impl Into<Dim>,
    block: impl Into<Dim>,
    kernel: K,
) -> Result<Report, Box<Faults>>
where
    K: Fn(&Lane<'_>) + Sync,
{
    launch_any(memory, name, grid.into(), block.into(), None, &kernel)
}

/// The same, compiled once for all kernels, with so many bytes for a large shared array of any size, if that is known.
fn launch_any(
    memory: &Memory,
    name: &str,
    grid: Dim,
    block: Dim,
    room: Option<u32>,
    kernel: &(dyn Fn(&Lane<'_>) + Sync),
) -> Result<Report, Box<Faults>> {
    assert!((1..=1024).contains(&block.count()), "{name}: a block has 1 to 1024 threads, not {}", block.count());
    let blocks = u32::try_from(grid.count()).expect("a grid of at most 2^32 - 1 blocks");
    let (releases, launch) = (sync::Releases::default(), memory.next_launch());
    let context = state::Context { memory, releases, launch, grid, block, room };
    let gathered: Vec<block::Gathered> = (0..blocks)
        .into_par_iter()
        .fold(block::Gathered::default, |mut gathered, number| {
            block::run(&context, number, kernel, &mut gathered);
            gathered
        })
        .collect();
    let mut log = fault::Log::default();
    let mut report =
        Report { launches: 1, blocks: u64::from(blocks), threads: grid.count() * block.count(), ..Report::default() };
    for part in gathered {
        log.merge(part.log);
        report.shared_bytes = report.shared_bytes.max(part.shared_bytes);
        let lines = part.table.into_lines();
        let mut total = Counters::default();
        lines.iter().for_each(|l| total += &l.counters);
        report.add(&Report { total, lines, ..Report::default() });
    }
    let dropped = log.dropped;
    let faults = log.into_sorted();
    if faults.is_empty() {
        return Ok(report);
    }
    Err(Box::new(Faults { kernel: name.to_owned(), faults, dropped, report }))
}
