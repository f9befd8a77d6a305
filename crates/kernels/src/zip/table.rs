//! The table of kernels of two arrays: the name, the launch struct and the kernel of each. One expansion exports them
//! as PTX, another finds them by name.

use super::each::{self, Each};
use super::fold::{Cosines, Losses};
use super::rows::Zipped;
#[cfg(all(target_arch = "nvptx64", feature = "entries"))]
use crate::kernel::export;
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernel::visit;
use crate::kernel::{each_row, tabled};
use crate::reduce::call::Call;
use crate::reduce::shape::piece::Dense;
use crate::reduce::shape::rows::{self, Rows};
use crate::reduce::table::KEPT;
use crate::source::{Bf16, F16, F32, F64};

/// Calls `$each` with `$with` and every kernel.
macro_rules! table {
    ($each:ident $with:tt) => {
        table!(@ $each $with F32, "f32");
        table!(@ $each $with F64, "f64");
        table!(@ $each $with F16, "f16");
        table!(@ $each $with Bf16, "bf16");
    };
    (@ $each:ident $with:tt $source:ty, $dtype:literal) => {
        each_row! { $each $with
            concat!("zip_loss_", $dtype); Call<Rows<KEPT, Dense>> = rows::kernel::<_, Zipped<Losses<$source>>, KEPT>;
            concat!("zip_cosine_", $dtype); Call<Rows<KEPT, Dense>> = rows::kernel::<_, Zipped<Cosines<$source>>, KEPT>;
            concat!("zip_each_", $dtype); Each = each::kernel::<_, $source>;
        }
    };
}

tabled!(table);
