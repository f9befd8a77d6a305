//! Runs these kernels in the emulator, by name.

use super::bins::{self, Bins};
use super::distinct::{self, Distinct};
use super::ends::{self, Ends};
use super::entries::for_each_sort;
use super::groups::{self, Groups};
use super::heads::{self, Counts, Heads};
use super::turn::{self, Repeat, Turn};
use super::{Sort, count, pass, starts};
use crate::emulator::{self, Faults, Lane, Memory, Report};
use crate::kernels::{Production, recipe};

/// Runs one; `None` if there is no such kernel, or its parameter has another size.
#[must_use]
pub fn emulate(memory: &Memory, launch: Production<'_>) -> Option<Result<Report, Box<Faults>>> {
    macro_rules! run {
        ($($name:literal: $call:ty = $kernel:expr;)*) => {$(
            if launch.entry == $name {
                let call: $call = recipe::of_words(launch.params)?;
                let run = |s: &Lane<'_>| $kernel(s, &call);
                return Some(emulator::launch(memory, launch.entry, launch.grid, launch.block, run));
            }
        )*};
    }
    for_each_sort!(run);
    None
}
