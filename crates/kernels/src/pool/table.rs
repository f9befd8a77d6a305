//! The table of kernels of pooling: the name, the launch struct and the kernel of each. One expansion exports them as
//! PTX, another finds them by name. Those of f32 take elements of 16 bits, too.

use super::{LEVELS, MOST_LEVELS, PLANES, Pool, average, max};
#[cfg(all(target_arch = "nvptx64", feature = "entries"))]
use crate::kernel::export;
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernel::visit;
use crate::kernel::{each_row, tabled};

/// Calls `$each` with `$with` and every kernel.
macro_rules! table {
    ($each:ident $with:tt) => {
        each_row! { $each $with
            "pool_average_f32"; Pool = average::average::<_, f32, PLANES, LEVELS>;
            "pool_average_f64"; Pool = average::average::<_, f64, PLANES, LEVELS>;
            "pool_average_large_f32"; Pool = average::average::<_, f32, 1, MOST_LEVELS>;
            "pool_average_large_f64"; Pool = average::average::<_, f64, 1, MOST_LEVELS>;
            "pool_average_backward_f32"; Pool = average::backward::<_, f32, PLANES, LEVELS>;
            "pool_average_backward_f64"; Pool = average::backward::<_, f64, PLANES, LEVELS>;
            "pool_average_backward_large_f32"; Pool = average::backward::<_, f32, 1, MOST_LEVELS>;
            "pool_average_backward_large_f64"; Pool = average::backward::<_, f64, 1, MOST_LEVELS>;
            "pool_max_f32"; Pool = max::max::<_, f32>;
            "pool_max_f64"; Pool = max::max::<_, f64>;
            "pool_max_backward_f32"; Pool = max::backward::<_, f32, PLANES, LEVELS>;
            "pool_max_backward_f64"; Pool = max::backward::<_, f64, PLANES, LEVELS>;
            "pool_max_backward_large_f32"; Pool = max::backward::<_, f32, 1, MOST_LEVELS>;
            "pool_max_backward_large_f64"; Pool = max::backward::<_, f64, 1, MOST_LEVELS>;
        }
    };
}

tabled!(table);
