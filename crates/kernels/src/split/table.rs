//! The table of kernels that part by a digit: the name, the launch struct and the kernel of each. One expansion exports
//! them as PTX, another finds them by name.

use crate::kernel::each_row;
#[cfg(all(target_arch = "nvptx64", feature = "entries"))]
use crate::kernel::export;
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernel::{Visit, visit};
use crate::reduce::fold::Sums;
use crate::source::F32;
use crate::split::sums::SumsCall;
use crate::split::{Split, count, pass, starts, sums};
use warpfold_core::ops::Plain;

/// Calls `$each` with `$with` and every kernel.
macro_rules! table {
    ($each:ident $with:tt) => {
        each_row! { $each $with
            "split_count"; Split = count::kernel::<_>;
            "split_starts"; Split = starts::kernel::<_>;
            "split_pass"; Split = pass::kernel::<_>;
            "split_sums_f32"; SumsCall = sums::kernel::<_, Sums<F32, Plain>>;
        }
    };
}

#[cfg(all(target_arch = "nvptx64", feature = "entries"))]
table!(export());

/// Lets a visitor see the kernel of that name. Gives the visitor back if there is none.
#[cfg(not(target_arch = "nvptx64"))]
pub fn find<V: Visit>(entry: &str, visitor: V) -> Result<V::Output, V> {
    table!(visit(entry, visitor: V));
    Err(visitor)
}
