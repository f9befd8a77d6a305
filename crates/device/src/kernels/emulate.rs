//! Runs production kernels in the emulator, by name.

use super::any::{self, AXES, Any, Strides};
use super::entries::{KEPT, deep, deep_any, slots};
use super::fold::{self, Parts, Tree};
use super::shape::columns::{self, Columns};
use super::shape::describe::Both;
use super::shape::panel::{self, Pitch};
use super::shape::parts::{self, Left};
use super::shape::piece::{self, Dense};
use super::shape::rows::{self, Rows};
use super::shape::segments::{self, Segments};
use super::shape::shallow::{self, Shallow};
use super::shape::short::{self, Short};
use super::shape::tiny::{self, Tiny};
use super::{Call, source};
use crate::emulator::{self, Faults, Memory, Report};
use warpfold_core::ops::{Compensated, Magnitude, Plain, Square, Value};

/// One launch of a production kernel.
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

macro_rules! run_kernel {
    ($memory:ident, $launch:ident, $name:expr, $shape:ty, $run:expr) => {
        if $launch.entry == $name {
            let call: Call<$shape> = Call::from_words($launch.params)?;
            return Some(emulator::launch(
                $memory,
                $launch.entry,
                $launch.grid,
                $launch.block,
                |s: &emulator::Lane<'_>| $run(s, &call),
            ));
        }
    };
}

macro_rules! run_one {
    ($memory:ident, $launch:ident, tree $name:ident, $fold:ty, $wide:literal) => {
        run_kernel!($memory, $launch, concat!("rows_", stringify!($name)), Rows<KEPT, Dense>, rows::kernel::<_, piece::Ordered<$fold>, KEPT>);
        run_kernel!($memory, $launch, concat!("short_", stringify!($name)), Short<KEPT>, short::kernel::<_, piece::Ordered<$fold>, KEPT>);
        run_kernel!($memory, $launch, concat!("tiny_", stringify!($name)), Tiny<KEPT>, tiny::kernel::<_, piece::Ordered<$fold>, KEPT>);
        run_kernel!($memory, $launch, concat!("columns_", stringify!($name)), Columns<KEPT, Pitch>,
            columns::kernel::<_, panel::Ordered<$fold, false>, KEPT, $wide, { deep::<<$fold as Parts>::Part, <$fold as Tree>::Node>($wide) }>);
        run_kernel!($memory, $launch, concat!("narrow_", stringify!($name)), Columns<KEPT, Pitch>,
            columns::kernel::<_, panel::Ordered<$fold, true>, KEPT, $wide, { deep::<<$fold as Parts>::Part, <$fold as Tree>::Node>($wide) }>);
        run_kernel!($memory, $launch, concat!("shallow_", stringify!($name)), Shallow<KEPT>, shallow::kernel::<_, panel::Ordered<$fold, false>, KEPT, $wide>);
        run_kernel!($memory, $launch, concat!("parts_", stringify!($name)), Left<KEPT>, parts::kernel::<_, $fold, KEPT>);
        run_kernel!($memory, $launch, concat!("segments_", stringify!($name)), Segments, segments::kernel::<_, piece::Ordered<$fold>>);
        run_kernel!($memory, $launch, concat!("stretches_", stringify!($name)), Segments, segments::stretches::<_, piece::Ordered<$fold>>);
        run_kernel!($memory, $launch, concat!("ends_", stringify!($name)), Segments, segments::ends::<_, piece::Ordered<$fold>>);
    };
    ($memory:ident, $launch:ident, heap $name:ident, $fold:ty, $wide:literal) => {
        run_kernel!($memory, $launch, concat!("rows_", stringify!($name)), Rows<KEPT, Dense>, rows::kernel::<_, piece::Free<$fold>, KEPT>);
        run_kernel!($memory, $launch, concat!("short_", stringify!($name)), Short<KEPT>, short::kernel::<_, piece::Free<$fold>, KEPT>);
        run_kernel!($memory, $launch, concat!("tiny_", stringify!($name)), Tiny<KEPT>, tiny::kernel::<_, piece::Free<$fold>, KEPT>);
        run_kernel!($memory, $launch, concat!("columns_", stringify!($name)), Columns<KEPT, Pitch>,
            columns::kernel::<_, panel::Free<$fold>, KEPT, $wide, { slots::<<$fold as Parts>::Part>($wide) }>);
        run_kernel!($memory, $launch, concat!("shallow_", stringify!($name)), Shallow<KEPT>, shallow::kernel::<_, panel::Free<$fold>, KEPT, $wide>);
        run_kernel!($memory, $launch, concat!("parts_", stringify!($name)), Left<KEPT>, parts::kernel::<_, $fold, KEPT>);
        run_kernel!($memory, $launch, concat!("segments_", stringify!($name)), Segments, segments::kernel::<_, piece::Free<$fold>>);
        run_kernel!($memory, $launch, concat!("stretches_", stringify!($name)), Segments, segments::stretches::<_, piece::Free<$fold>>);
        run_kernel!($memory, $launch, concat!("ends_", stringify!($name)), Segments, segments::ends::<_, piece::Free<$fold>>);
    };
    ($memory:ident, $launch:ident, packed $name:ident, $fold:ty, $wide:literal) => {
        run_kernel!($memory, $launch, concat!("rows_", stringify!($name)), Rows<KEPT, Dense>, rows::kernel::<_, piece::Free<$fold>, KEPT>);
        run_kernel!($memory, $launch, concat!("short_", stringify!($name)), Short<KEPT>, short::kernel::<_, piece::Free<$fold>, KEPT>);
        run_kernel!($memory, $launch, concat!("tiny_", stringify!($name)), Tiny<KEPT>, tiny::kernel::<_, piece::Free<$fold>, KEPT>);
        run_kernel!($memory, $launch, concat!("columns_", stringify!($name)), Columns<KEPT, Pitch>,
            columns::kernel::<_, panel::Packed<$fold>, KEPT, $wide, { slots::<<$fold as Parts>::Part>($wide) }>);
        run_kernel!($memory, $launch, concat!("shallow_", stringify!($name)), Shallow<KEPT>, shallow::kernel::<_, panel::Packed<$fold>, KEPT, $wide>);
        run_kernel!($memory, $launch, concat!("parts_", stringify!($name)), Left<KEPT>, parts::kernel::<_, $fold, KEPT>);
        run_kernel!($memory, $launch, concat!("segments_", stringify!($name)), Segments, segments::kernel::<_, piece::Free<$fold>>);
        run_kernel!($memory, $launch, concat!("stretches_", stringify!($name)), Segments, segments::stretches::<_, piece::Free<$fold>>);
        run_kernel!($memory, $launch, concat!("ends_", stringify!($name)), Segments, segments::ends::<_, piece::Free<$fold>>);
    };
    ($memory:ident, $launch:ident, describe $name:ident, $source:ty, $wide:literal) => {
        run_kernel!($memory, $launch, concat!("rows_", stringify!($name)), Rows<KEPT, Dense>, rows::kernel::<_, Both<$source, false>, KEPT>);
        run_kernel!($memory, $launch, concat!("columns_", stringify!($name)), Columns<KEPT, Pitch>,
            columns::kernel::<_, Both<$source, false>, KEPT, $wide, { deep::<<fold::Described<$source> as Parts>::Part, <fold::Totals<$source> as Tree>::Node>($wide) }>);
        run_kernel!($memory, $launch, concat!("narrow_", stringify!($name)), Columns<KEPT, Pitch>,
            columns::kernel::<_, Both<$source, true>, KEPT, $wide, { deep::<<fold::Described<$source> as Parts>::Part, <fold::Totals<$source> as Tree>::Node>($wide) }>);
    };
    ($memory:ident, $launch:ident, describe_short $name:ident, $source:ty, $wide:literal) => {
        run_one!($memory, $launch, describe $name, $source, $wide);
        run_kernel!($memory, $launch, concat!("short_", stringify!($name)), Short<KEPT>, short::kernel::<_, Both<$source, false>, KEPT>);
    };
    ($memory:ident, $launch:ident, slow $name:ident, $recipe:ty) => {
        run_kernel!($memory, $launch, concat!("any_rows_", stringify!($name)), Rows<AXES, Strides<AXES>>, rows::kernel::<_, Any<$recipe>, AXES>);
    };
    ($memory:ident, $launch:ident, any $name:ident, $recipe:ty) => {
        run_one!($memory, $launch, slow $name, $recipe);
        run_kernel!($memory, $launch, concat!("any_columns_", stringify!($name)), Columns<AXES, Strides<AXES>>,
            columns::kernel::<_, Any<$recipe>, AXES, 1, { deep_any::<<Any<$recipe> as Parts>::Part>() }>);
    };
}

/// Runs it; `None` if there is no such kernel, or its parameter has another size.
#[must_use]
pub fn emulate(memory: &Memory, launch: Production<'_>) -> Option<Result<Report, Box<Faults>>> {
    macro_rules! run {
        ($($class:ident $name:ident: $fold:ty $(, $wide:literal)?;)*) => {
            $(run_one!(memory, launch, $class $name, $fold $(, $wide)?);)*
        };
    }
    for_each_kernel!(run);
    None
}

/// The same of sums of f32 and of integers of 32 bits only: a program that needs no others is seven megabytes smaller.
#[must_use]
pub fn emulate_sum(memory: &Memory, launch: Production<'_>) -> Option<Result<Report, Box<Faults>>> {
    run_one!(memory, launch, tree sum_f32, fold::Sums<source::F32, Plain>, 4);
    run_one!(memory, launch, heap sum_b4, fold::Integer<u32>, 4);
    run_one!(memory, launch, any sum_f32, any::Reals<f32, Value, Plain>);
    run_one!(memory, launch, any sum_i64, any::Integers<i64>);
    None
}
