//! The table of kernels of pooling: the name, the launch struct and the kernel of each. One expansion exports them as
//! PTX, another finds them by name. Those of large windows of f32 take elements of 16 bits, too.

use super::number::{Any, Elements, Of};
use super::{LEVELS, MOST_LEVELS, PLANES, Pool, average, max};
#[cfg(all(target_arch = "nvptx64", feature = "entries"))]
use crate::kernel::export;
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernel::visit;
use crate::kernel::{each_row, tabled};
use crate::source::{Bf16, F16, F32, F64};
use warpfold_simt::Simt;

/// A kernel of windows that are not large.
macro_rules! some {
    ($name:ident = $module:ident::$kernel:ident) => {
        #[inline(always)]
        fn $name<S: Simt, E: Elements>(s: &S, call: &Pool) {
            $module::$kernel::<S, E, PLANES, LEVELS>(s, call);
        }
    };
}
some!(mean = average::average);
some!(mean_backward = average::backward);
some!(max_backward = max::backward);

/// Calls `$each` with `$with` and every kernel.
macro_rules! table {
    ($each:ident $with:tt) => {
        table!(@ $each $with "f16", F16);
        table!(@ $each $with "bf16", Bf16);
        table!(@ $each $with "f32", F32);
        table!(@ $each $with "f64", F64);
        each_row! { $each $with
            "pool_average_large_f32"; Pool = average::average::<_, Any, 1, MOST_LEVELS>;
            "pool_average_large_f64"; Pool = average::average::<_, Of<F64>, 1, MOST_LEVELS>;
            "pool_average_backward_large_f32"; Pool = average::backward::<_, Any, 1, MOST_LEVELS>;
            "pool_average_backward_large_f64"; Pool = average::backward::<_, Of<F64>, 1, MOST_LEVELS>;
            "pool_max_backward_large_f32"; Pool = max::backward::<_, Any, 1, MOST_LEVELS>;
            "pool_max_backward_large_f64"; Pool = max::backward::<_, Of<F64>, 1, MOST_LEVELS>;
        }
    };
    (@ $each:ident $with:tt $dtype:literal, $source:ty) => {
        each_row! { $each $with
            concat!("pool_average_", $dtype); Pool = mean::<_, Of<$source>>;
            concat!("pool_average_backward_", $dtype); Pool = mean_backward::<_, Of<$source>>;
            concat!("pool_max_", $dtype); Pool = max::max::<_, Of<$source>>;
            concat!("pool_max_backward_", $dtype); Pool = max_backward::<_, Of<$source>>;
        }
    };
}

tabled!(table);
