//! The exported kernels. The list is `ladder::for_each_entry`.

use crate::hardware::Hardware;
use crate::ladder::c::Centroids;
use crate::ladder::{a, b, c, for_each_entry, read};
use crate::probe;
use crate::simt::Global;

macro_rules! export {
    ($($class:ident $name:ident: $t:ty = $kernel:expr;)*) => {
        $(export_one!($class $name $t, $kernel);)*
    };
}

macro_rules! export_one {
    (reduce $name:ident $t:ty, $kernel:expr) => {
        /// # Safety
        /// As `Global::from_raw`; `input` has `n` elements, `output` what the plan says.
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(input: *mut $t, output: *mut $t, n: usize) {
            // SAFETY: the caller's promise.
            let (input, output) = unsafe { (Global::from_raw(input), Global::from_raw(output)) };
            $kernel(&Hardware, input, output, n)
        }
    };
    (centroid $name:ident $t:ty, $kernel:expr) => {
        /// # Safety
        /// As `Global::from_raw`; the sizes are those of `Centroids`, and labels are below `clusters`.
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(
            points: *mut $t,
            labels: *mut i32,
            sums: *mut $t,
            counts: *mut u32,
            n: usize,
            clusters: u32,
            coords: u32,
        ) {
            // SAFETY: the caller's promise.
            let at = unsafe {
                Centroids {
                    points: Global::from_raw(points),
                    labels: Global::from_raw(labels),
                    sums: Global::from_raw(sums),
                    counts: Global::from_raw(counts),
                    n,
                    clusters,
                    coords,
                }
            };
            $kernel(&Hardware, at)
        }
    };
}

for_each_entry!(export);

/// # Safety
/// As `Global::from_raw`; `input` has `n` words and is aligned to 16 bytes, `output` one word per block.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn read_u32(input: *mut u32, output: *mut u32, n: usize, never: u32) {
    // SAFETY: the caller's promise.
    let (input, output) = unsafe { (Global::from_raw(input), Global::from_raw(output)) };
    read::kernel(&Hardware, input, output, n, never)
}

/// # Safety
/// As `Global::from_raw`, with the sizes that `probe::kernel` says.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn probe(input: *mut u32, totals: *mut u32, output: *mut u32) {
    // SAFETY: the caller's promise.
    let (input, totals, output) =
        unsafe { (Global::from_raw(input), Global::from_raw(totals), Global::from_raw(output)) };
    probe::kernel(&Hardware, input, totals, output)
}
