//! The list of compiled kernels for sorting and what comes of it, read by the PTX build and by the emulator: the
//! parameter and the kernel of each.
//!
//! `sort_pass_4_8` has keys of 4 bytes that carry 8. Numbers at the end are those of `crate::sort::OWN` and
//! `crate::sort::heads::OWN`: keys of a thread, words of a tile's keys, and how many of them carry something.

#[cfg(all(target_arch = "nvptx64", feature = "entries"))]
use crate::kernel::export;
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernel::visit;
use crate::kernel::{each_row, tabled};
use crate::sort::distinct::{self, Distinct};
use crate::sort::heads::{self, Counts, Heads};
use crate::sort::{Sort, count, pass, starts};

/// Calls `$each` with `$with` and every kernel.
macro_rules! table {
    ($each:ident $with:tt) => {
        each_row! { $each $with
            "sort_count_4"; Sort = count::kernel::<_, u32>;
            "sort_count_8"; Sort = count::kernel::<_, u64>;
            "sort_starts"; Sort = starts::kernel::<_>;
            "sort_pass_4_0"; Sort = pass::kernel::<_, u32, u32, 24, 6144, 1>;
            "sort_pass_4_4"; Sort = pass::kernel::<_, u32, u32, 16, 4096, 4096>;
            "sort_pass_4_8"; Sort = pass::kernel::<_, u32, u64, 12, 3072, 3072>;
            "sort_pass_8_0"; Sort = pass::kernel::<_, u64, u32, 12, 6144, 1>;
            "sort_pass_8_4"; Sort = pass::kernel::<_, u64, u32, 12, 6144, 3072>;
            "sort_heads_4"; Heads = heads::kernel::<_, u32, 24, 6144>;
            "sort_heads_8"; Heads = heads::kernel::<_, u64, 16, 8192>;
            "distinct_starts"; Distinct = distinct::starts::<_>;
            "distinct_flood"; Distinct = distinct::flood::<_>;
            "distinct_values"; Distinct = distinct::values::<_>;
            "sort_counts"; Counts = heads::counts::<_>;
        }
    };
}

tabled!(table);
