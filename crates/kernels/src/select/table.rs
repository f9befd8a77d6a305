//! The table of kernels of selection: the name, the launch struct and the kernel of each. `select_b2` has a block for a
//! row, or a part of one, of elements of 2 bytes; `select_warp_b2` a warp; `select_parts_b4` chooses from what has been
//! chosen from parts, of elements of up to 4 bytes.

use super::Select;
use super::candidate::Wide;
use super::choose::{elements, parts};
use super::input::{Eight, Four, One, Two};
use super::team::{Block, Warp};
#[cfg(all(target_arch = "nvptx64", feature = "entries"))]
use crate::kernel::export;
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernel::visit;
use crate::kernel::{each_row, tabled};

/// Calls `$each` with `$with` and every kernel.
macro_rules! table {
    ($each:ident $with:tt) => {
        each_row! { $each $with
            "select_b1"; Select = elements::<_, Block, One, 16>;
            "select_b2"; Select = elements::<_, Block, Two, 8>;
            "select_b4"; Select = elements::<_, Block, Four, 4>;
            "select_b8"; Select = elements::<_, Block, Eight, 2>;
            "select_warp_b1"; Select = elements::<_, Warp, One, 16>;
            "select_warp_b2"; Select = elements::<_, Warp, Two, 8>;
            "select_warp_b4"; Select = elements::<_, Warp, Four, 4>;
            "select_warp_b8"; Select = elements::<_, Warp, Eight, 2>;
            "select_parts_b4"; Select = parts::<_, u64>;
            "select_parts_b8"; Select = parts::<_, Wide>;
        }
    };
}

tabled!(table);
