//! The exported kernels. The lists are `ladder::for_each_entry` and `kernels::for_each_kernel`.

use crate::hardware::Hardware;
use crate::kernels::any::{self, AXES, Any, Strides};
use crate::kernels::entries::{KEPT, deep, deep_any, slots};
use crate::kernels::fold::{Parts, Tree};
use crate::kernels::keys::entries::for_each_keyed;
use crate::kernels::keys::{Update, assign, column, direct, distance, finish, nearest, score, sort, tile};
use crate::kernels::shape::columns::{self, Columns};
use crate::kernels::shape::describe::Both;
use crate::kernels::shape::panel::{self, Pitch};
use crate::kernels::shape::parts::{self, Left};
use crate::kernels::shape::piece::{self, Dense};
use crate::kernels::shape::rows::{self, Rows};
use crate::kernels::shape::segments::{self, Segments};
use crate::kernels::shape::shallow::{self, Shallow};
use crate::kernels::shape::short::{self, Short};
use crate::kernels::shape::tiny::{self, Tiny};
use crate::kernels::{Call, entries::for_each_kernel, fold, source};
use crate::ladder::c::Centroids;
use crate::ladder::{a, b, c, for_each_entry, read};
use crate::probe;
use crate::simt::Global;
use warpfold_core::ops::{Compensated, Magnitude, Plain, Square, Value};

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

macro_rules! production {
    ($($class:ident $name:ident: $fold:ty $(, $wide:literal)?;)*) => {
        $(production_one!($class $name, $fold $(, $wide)?);)*
    };
}

/// Exports one kernel.
///
/// # Safety
/// Of what it exports: as `Global::from_raw`, for every address that the call's shape reaches from its addresses; and a
/// workspace with the room that the planner says, whose counters are zero.
macro_rules! export_kernel {
    ($name:expr, $shape:ty, $run:expr) => {
        const _: () = {
            #[unsafe(export_name = $name)]
            unsafe extern "ptx-kernel" fn kernel(call: Call<$shape>) {
                $run(&Hardware, &call)
            }
        };
    };
}

macro_rules! production_one {
    (tree $name:ident, $fold:ty, $wide:literal) => {
        export_kernel!(concat!("rows_", stringify!($name)), Rows<KEPT, Dense>, rows::kernel::<_, piece::Ordered<$fold>, KEPT>);
        export_kernel!(concat!("short_", stringify!($name)), Short<KEPT>, short::kernel::<_, piece::Ordered<$fold>, KEPT>);
        export_kernel!(concat!("tiny_", stringify!($name)), Tiny<KEPT>, tiny::kernel::<_, piece::Ordered<$fold>, KEPT>);
        export_kernel!(concat!("columns_", stringify!($name)), Columns<KEPT, Pitch>,
            columns::kernel::<_, panel::Ordered<$fold, false>, KEPT, $wide, { deep::<<$fold as Parts>::Part, <$fold as Tree>::Node>($wide) }>);
        export_kernel!(concat!("narrow_", stringify!($name)), Columns<KEPT, Pitch>,
            columns::kernel::<_, panel::Ordered<$fold, true>, KEPT, $wide, { deep::<<$fold as Parts>::Part, <$fold as Tree>::Node>($wide) }>);
        export_kernel!(concat!("shallow_", stringify!($name)), Shallow<KEPT>, shallow::kernel::<_, panel::Ordered<$fold, false>, KEPT, $wide>);
        export_kernel!(concat!("parts_", stringify!($name)), Left<KEPT>, parts::kernel::<_, $fold, KEPT>);
        export_kernel!(concat!("segments_", stringify!($name)), Segments, segments::kernel::<_, piece::Ordered<$fold>>);
        export_kernel!(concat!("stretches_", stringify!($name)), Segments, segments::stretches::<_, piece::Ordered<$fold>>);
        export_kernel!(concat!("ends_", stringify!($name)), Segments, segments::ends::<_, piece::Ordered<$fold>>);
    };
    (heap $name:ident, $fold:ty, $wide:literal) => {
        export_kernel!(concat!("rows_", stringify!($name)), Rows<KEPT, Dense>, rows::kernel::<_, piece::Free<$fold>, KEPT>);
        export_kernel!(concat!("short_", stringify!($name)), Short<KEPT>, short::kernel::<_, piece::Free<$fold>, KEPT>);
        export_kernel!(concat!("tiny_", stringify!($name)), Tiny<KEPT>, tiny::kernel::<_, piece::Free<$fold>, KEPT>);
        export_kernel!(concat!("columns_", stringify!($name)), Columns<KEPT, Pitch>,
            columns::kernel::<_, panel::Free<$fold>, KEPT, $wide, { slots::<<$fold as Parts>::Part>($wide) }>);
        export_kernel!(concat!("shallow_", stringify!($name)), Shallow<KEPT>, shallow::kernel::<_, panel::Free<$fold>, KEPT, $wide>);
        export_kernel!(concat!("parts_", stringify!($name)), Left<KEPT>, parts::kernel::<_, $fold, KEPT>);
        export_kernel!(concat!("segments_", stringify!($name)), Segments, segments::kernel::<_, piece::Free<$fold>>);
        export_kernel!(concat!("stretches_", stringify!($name)), Segments, segments::stretches::<_, piece::Free<$fold>>);
        export_kernel!(concat!("ends_", stringify!($name)), Segments, segments::ends::<_, piece::Free<$fold>>);
    };
    (packed $name:ident, $fold:ty, $wide:literal) => {
        export_kernel!(concat!("rows_", stringify!($name)), Rows<KEPT, Dense>, rows::kernel::<_, piece::Free<$fold>, KEPT>);
        export_kernel!(concat!("short_", stringify!($name)), Short<KEPT>, short::kernel::<_, piece::Free<$fold>, KEPT>);
        export_kernel!(concat!("tiny_", stringify!($name)), Tiny<KEPT>, tiny::kernel::<_, piece::Free<$fold>, KEPT>);
        export_kernel!(concat!("columns_", stringify!($name)), Columns<KEPT, Pitch>,
            columns::kernel::<_, panel::Packed<$fold>, KEPT, $wide, { slots::<<$fold as Parts>::Part>($wide) }>);
        export_kernel!(concat!("shallow_", stringify!($name)), Shallow<KEPT>, shallow::kernel::<_, panel::Packed<$fold>, KEPT, $wide>);
        export_kernel!(concat!("parts_", stringify!($name)), Left<KEPT>, parts::kernel::<_, $fold, KEPT>);
        export_kernel!(concat!("segments_", stringify!($name)), Segments, segments::kernel::<_, piece::Free<$fold>>);
        export_kernel!(concat!("stretches_", stringify!($name)), Segments, segments::stretches::<_, piece::Free<$fold>>);
        export_kernel!(concat!("ends_", stringify!($name)), Segments, segments::ends::<_, piece::Free<$fold>>);
    };
    (describe $name:ident, $source:ty, $wide:literal) => {
        export_kernel!(concat!("rows_", stringify!($name)), Rows<KEPT, Dense>, rows::kernel::<_, Both<$source, false>, KEPT>);
        export_kernel!(concat!("columns_", stringify!($name)), Columns<KEPT, Pitch>,
            columns::kernel::<_, Both<$source, false>, KEPT, $wide, { deep::<<fold::Described<$source> as Parts>::Part, <fold::Totals<$source> as Tree>::Node>($wide) }>);
        export_kernel!(concat!("narrow_", stringify!($name)), Columns<KEPT, Pitch>,
            columns::kernel::<_, Both<$source, true>, KEPT, $wide, { deep::<<fold::Described<$source> as Parts>::Part, <fold::Totals<$source> as Tree>::Node>($wide) }>);
    };
    (describe_short $name:ident, $source:ty, $wide:literal) => {
        production_one!(describe $name, $source, $wide);
        export_kernel!(concat!("short_", stringify!($name)), Short<KEPT>, short::kernel::<_, Both<$source, false>, KEPT>);
    };
    (slow $name:ident, $recipe:ty) => {
        export_kernel!(concat!("any_rows_", stringify!($name)), Rows<AXES, Strides<AXES>>, rows::kernel::<_, Any<$recipe>, AXES>);
    };
    (any $name:ident, $recipe:ty) => {
        production_one!(slow $name, $recipe);
        export_kernel!(concat!("any_columns_", stringify!($name)), Columns<AXES, Strides<AXES>>,
            columns::kernel::<_, Any<$recipe>, AXES, 1, { deep_any::<<Any<$recipe> as Parts>::Part>() }>);
    };
}

for_each_kernel!(production);

macro_rules! keyed {
    ($($name:literal: $call:ty = $kernel:expr;)*) => {$(
        const _: () = {
            /// # Safety
            /// As `Global::from_raw`, for every address that the call reaches; arrays have the sizes that its fields say.
            #[unsafe(export_name = $name)]
            unsafe extern "ptx-kernel" fn kernel(call: $call) {
                $kernel(&Hardware, &call)
            }
        };
    )*};
}

for_each_keyed!(keyed);

mod sorting {
    //! The kernels of [`sort`], whose modules have names of their own.

    use crate::hardware::Hardware;
    use crate::kernels::sort::bins::{self, Bins};
    use crate::kernels::sort::distinct::{self, Distinct};
    use crate::kernels::sort::ends::{self, Ends};
    use crate::kernels::sort::entries::for_each_sort;
    use crate::kernels::sort::groups::{self, Groups};
    use crate::kernels::sort::heads::{self, Counts, Heads};
    use crate::kernels::sort::turn::{self, Repeat, Turn};
    use crate::kernels::sort::{Sort, count, pass, starts};

    for_each_sort!(keyed);
}
