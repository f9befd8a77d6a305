//! The table of kernels of rows: the name, the launch struct and the kernel of each. One expansion exports them as PTX,
//! another finds them by name.

use super::Rowwise;
use super::arrange::{Arrange, arrange};
use super::gradient::SoftmaxGradients;
use super::kernel::{long, short};
use super::norm::{LayerNorms, RmsNorms};
use super::softmax::Softmaxes;
use super::steps;
#[cfg(all(target_arch = "nvptx64", feature = "entries"))]
use crate::kernel::export;
use crate::kernel::tabled;
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernel::visit;
use crate::source::{Bf16, F16, F32, F64};

/// Calls `$each` with `$with` and both kernels of each operation.
macro_rules! ops {
    ($each:ident $with:tt $source:ty, $size:literal, $dtype:literal: $($name:literal = $op:ty;)*) => {$(
        $each!($with concat!("rowwise_", $name, "_", $dtype), Rowwise, long::<_, $op, { steps($size) }>);
        $each!($with concat!("rowshort_", $name, "_", $dtype), Rowwise, short::<_, $op, { steps($size) }>);
    )*};
}

/// Calls `$each` with `$with` and every kernel.
macro_rules! table {
    ($each:ident $with:tt) => {
        $each!($with "rowwise_arrange", Arrange, arrange::<_>);
        table!(@ $each $with F32, 4, "f32");
        table!(@ $each $with F64, 8, "f64");
        table!(@ $each $with F16, 2, "f16");
        table!(@ $each $with Bf16, 2, "bf16");
    };
    (@ $each:ident $with:tt $source:ty, $size:literal, $dtype:literal) => {
        ops! { $each $with $source, $size, $dtype:
            "softmax" = Softmaxes<$source, false, false>;
            "softmax_masked" = Softmaxes<$source, false, true>;
            "log_softmax" = Softmaxes<$source, true, false>;
            "log_softmax_masked" = Softmaxes<$source, true, true>;
            "softmax_backward" = SoftmaxGradients<$source, false>;
            "log_softmax_backward" = SoftmaxGradients<$source, true>;
            "rms_norm" = RmsNorms<$source>;
            "layer_norm" = LayerNorms<$source>;
        }
    };
}

tabled!(table);
