//! Elements that share lines of memory.

use warpfold_array::problem::{Dim, Problem};

use super::policy::{BESIDE_BYTES, NESTED_BYTES};

/// Elements from one to the next, up to which they are read where they lie. Not measured.
const STEPS: usize = 4;

/// Whether elements of so many bytes lie side by side or a few steps apart, and so have lines in common.
pub(super) fn is_near(step: isize, size: usize) -> bool {
    step.unsigned_abs() <= STEPS * size
}

/// Whether they are some steps apart, upwards.
pub(super) fn is_stepped(step: isize, size: usize) -> bool {
    step > size as isize && is_near(step, size)
}

/// Whether elements of 4 bytes and more that follow one another have those of other reduced axes between them. On an
/// H200, sum f32 (3,22369621) in Fortran order took 217 us by tiles, and 389 by stretches; but bf16 (4,33554432) 217
/// and 119.
pub(super) fn is_between(Problem { kept, reduced, size, .. }: &Problem) -> bool {
    let is_read = kept.iter().chain(reduced).all(|axis| axis.x != 0);
    is_read && reduced.len() > 1 && *size >= 4 && reduced.last().is_some_and(|run| is_stepped(run.x, *size))
}

/// Whether outputs have short runs of their few elements in turn, so that none has a sector to itself.
pub(super) fn is_nested(Problem { kept, reduced, size, count, .. }: &Problem) -> bool {
    let short = |axis: &Dim| axis.x > 0 && axis.len * axis.x as usize <= BESIDE_BYTES;
    let run = reduced.split_last().filter(|(run, far)| !far.is_empty() && run.x == *size as isize && run.len > 1);
    let few = count * size <= NESTED_BYTES;
    few && run.is_some_and(|(run, far)| {
        kept.last().is_some_and(|axis| short(axis) && axis.x > run.x && far.iter().all(|far| far.x > axis.x))
    })
}
