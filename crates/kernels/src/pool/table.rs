//! The table of kernels of pooling: the name, the launch struct and the kernel of each. One expansion exports them as
//! PTX, another finds them by name. Those of f32 take elements of 16 bits, too, but of few elements.

use super::number::{Any, Of};
use super::{LEVELS, MOST_LEVELS, PLANES, Pool, average, few, max, patch};
#[cfg(all(target_arch = "nvptx64", feature = "entries"))]
use crate::kernel::export;
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernel::visit;
use crate::kernel::{each_row, tabled};
use crate::source::{Bf16, F16, F32, F64};

/// Calls `$each` with `$with` and every kernel.
macro_rules! table {
    ($each:ident $with:tt) => {
        table!(@ $each $with "f16", F16);
        table!(@ $each $with "bf16", Bf16);
        table!(@ $each $with "f32", F32);
        table!(@ $each $with "f64", F64);
        table!(@any $each $with "f32", Any);
        table!(@any $each $with "f64", Of<F64>);
        each_row! { $each $with
            "pool_patch_average_f32"; Pool = patch::average;
            "pool_patch_average_backward_f32"; Pool = patch::average_backward;
            "pool_patch_max_f32"; Pool = patch::max;
            "pool_patch_max_backward_f32"; Pool = patch::max_backward;
        }
    };
    (@ $each:ident $with:tt $dtype:literal, $source:ty) => {
        each_row! { $each $with
            concat!("pool_few_average_", $dtype); Pool = few::average::<_, $source>;
            concat!("pool_few_average_backward_", $dtype); Pool = few::average_backward::<_, $source>;
            concat!("pool_few_max_", $dtype); Pool = few::max::<_, $source>;
            concat!("pool_few_max_backward_", $dtype); Pool = few::max_backward::<_, $source>;
        }
    };
    (@any $each:ident $with:tt $dtype:literal, $elements:ty) => {
        each_row! { $each $with
            concat!("pool_average_", $dtype); Pool = average::average::<_, $elements, PLANES, LEVELS>;
            concat!("pool_average_backward_", $dtype); Pool = average::backward::<_, $elements, PLANES, LEVELS>;
            concat!("pool_average_large_", $dtype); Pool = average::average::<_, $elements, 1, MOST_LEVELS>;
            concat!("pool_average_backward_large_", $dtype); Pool = average::backward::<_, $elements, 1, MOST_LEVELS>;
            concat!("pool_max_", $dtype); Pool = max::max::<_, $elements>;
            concat!("pool_max_backward_", $dtype); Pool = max::backward::<_, $elements, PLANES, LEVELS>;
            concat!("pool_max_backward_large_", $dtype); Pool = max::backward::<_, $elements, 1, MOST_LEVELS>;
        }
    };
}

tabled!(table);
