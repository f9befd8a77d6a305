//! The table of kernels of channels: the name, the launch struct and the kernel of each.

use super::Channels;
use super::record::{self, Records};
use super::{last, packs, sums};
#[cfg(all(target_arch = "nvptx64", feature = "entries"))]
use crate::kernel::export;
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernel::visit;
use crate::kernel::{each_row, tabled};
use crate::source::{Bf16, F16, F32, F64};

/// Calls `$each` with `$with` and every kernel.
macro_rules! table {
    ($each:ident $with:tt) => {
        each_row! { $each $with
            "channel_f32"; Channels = packs::kernel::<_, F32>;
            "channel_f64"; Channels = packs::kernel::<_, F64>;
            "channel_f16"; Channels = packs::kernel::<_, F16>;
            "channel_bf16"; Channels = packs::kernel::<_, Bf16>;
            "channel_last_f32"; Channels = last::kernel::<_, F32>;
            "channel_last_f64"; Channels = last::kernel::<_, F64>;
            "channel_last_f16"; Channels = last::kernel::<_, F16>;
            "channel_last_bf16"; Channels = last::kernel::<_, Bf16>;
            "channel_sums_f32"; Channels = sums::kernel::<_, F32>;
            "channel_sums_f64"; Channels = sums::kernel::<_, F64>;
            "channel_sums_f16"; Channels = sums::kernel::<_, F16>;
            "channel_sums_bf16"; Channels = sums::kernel::<_, Bf16>;
            "channel_records_f32"; Records = record::kernel::<_, F32>;
            "channel_records_f64"; Records = record::kernel::<_, F64>;
        }
    };
}

tabled!(table);
