//! The table of kernels for groups, and of those that part: the name, the launch struct and the kernel of each. One
//! expansion exports them as PTX, another finds them by name.

use crate::group::bins::{self, Bins};
use crate::group::ends::{self, Ends};
use crate::group::offsets::{self, Offsets, Places};
use crate::group::turn::{self, Repeat, Turn};
#[cfg(all(target_arch = "nvptx64", feature = "entries"))]
use crate::kernel::export;
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernel::visit;
use crate::kernel::{each_row, tabled};
use crate::reduce::fold::Sums;
use crate::source::F32;
use crate::split::{Split, SumsCall, count, joints, nodes, pass, starts, sums};

/// Calls `$each` with `$with` and every kernel.
macro_rules! table {
    ($each:ident $with:tt) => {
        each_row! { $each $with
            "group_offsets"; Offsets = offsets::offsets::<_>;
            "group_places"; Places = offsets::places::<_>;
            "group_ends"; Ends = ends::kernel::<_>;
            "rows_turn"; Turn = turn::kernel::<_>;
            "rows_repeat"; Repeat = turn::repeat::<_>;
            "bins_count"; Bins = bins::kernel::<_>;
            "split_count"; Split = count::kernel::<_>;
            "split_starts"; Split = starts::kernel::<_>;
            "split_pass"; Split = pass::kernel::<_>;
            "split_nodes_f32"; Split = nodes::kernel::<_, Sums<F32>>;
            "split_joints_f32"; Split = joints::kernel::<_, Sums<F32>>;
            "split_sums_f32"; SumsCall = sums::kernel::<_, Sums<F32>>;
        }
    };
}

tabled!(table);
