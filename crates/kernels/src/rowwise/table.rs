//! The table of kernels of rows: the name, the launch struct and the kernel of each. One expansion exports them as PTX,
//! another finds them by name.

use super::Rowwise;
use super::arrange::{Arrange, arrange};
use super::columns::{columns, join};
use super::cross_entropy::CrossEntropy;
use super::folded::folded;
use super::gradient::SoftmaxGradients;
use super::kernel::{longer, short};
use super::norm::{Layer, Norms, Rms};
use super::norm_gradient::NormGradients;
use super::softmax::Softmaxes;
use super::swept::swept;
use super::together::long;
use super::{SHORT, steps};
#[cfg(all(target_arch = "nvptx64", feature = "entries"))]
use crate::kernel::export;
use crate::kernel::tabled;
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernel::visit;
use crate::source::{Bf16, F16, F32, F64};

/// Calls `$each` with `$with` and the three kernels of each operation.
macro_rules! ops {
    ($each:ident $with:tt $source:ty, $size:literal, $dtype:literal: $($name:literal = $op:ty;)*) => {$(
        $each!($with concat!("rowwise_", $name, "_", $dtype), Rowwise, long::<_, $op, { steps($size) }>);
        $each!($with concat!("rowlonger_", $name, "_", $dtype), Rowwise, longer::<_, $op, { steps($size) }>);
        $each!($with concat!("rowshort_", $name, "_", $dtype), Rowwise, short::<_, $op, SHORT>);
    )*};
}

/// Calls `$each` with `$with` and every kernel.
macro_rules! table {
    ($each:ident $with:tt) => {
        $each!($with "rowwise_arrange", Arrange, arrange::<_>);
        $each!($with "rowwise_columns_f32", Rowwise, columns::<_, F32, 2>);
        $each!($with "rowwise_products_f32", Rowwise, columns::<_, F32, 1>);
        $each!($with "rowwise_columns_f64", Rowwise, columns::<_, F64, 2>);
        $each!($with "rowwise_products_f64", Rowwise, columns::<_, F64, 1>);
        $each!($with "rowwise_columns_f16", Rowwise, columns::<_, F16, 2>);
        $each!($with "rowwise_products_f16", Rowwise, columns::<_, F16, 1>);
        $each!($with "rowwise_columns_bf16", Rowwise, columns::<_, Bf16, 2>);
        $each!($with "rowwise_products_bf16", Rowwise, columns::<_, Bf16, 1>);
        $each!($with "rowwise_join_f32", Rowwise, join::<_, F32>);
        $each!($with "rowwise_join_f64", Rowwise, join::<_, F64>);
        table!(@ $each $with F32, 4, "f32");
        table!(@ $each $with F64, 8, "f64");
        table!(@ $each $with F16, 2, "f16");
        table!(@ $each $with Bf16, 2, "bf16");
    };
    (@ $each:ident $with:tt $source:ty, $size:literal, $dtype:literal) => {
        $each!($with concat!("rowfolded_rms_norm_backward_", $dtype), Rowwise, folded::<_, $source, Rms, 1>);
        $each!($with concat!("rowfolded_layer_norm_backward_", $dtype), Rowwise, folded::<_, $source, Layer, 2>);
        $each!($with concat!("rowswept_rms_norm_backward_", $dtype), Rowwise, swept::<_, $source, Rms, 1>);
        $each!($with concat!("rowswept_layer_norm_backward_", $dtype), Rowwise, swept::<_, $source, Layer, 2>);
        ops! { $each $with $source, $size, $dtype:
            "softmax" = Softmaxes<$source, false, false>;
            "softmax_masked" = Softmaxes<$source, false, true>;
            "log_softmax" = Softmaxes<$source, true, false>;
            "log_softmax_masked" = Softmaxes<$source, true, true>;
            "cross_entropy" = CrossEntropy<$source>;
            "softmax_backward" = SoftmaxGradients<$source, false>;
            "log_softmax_backward" = SoftmaxGradients<$source, true>;
            "rms_norm" = Norms<$source, Rms>;
            "layer_norm" = Norms<$source, Layer>;
            "rms_norm_backward" = NormGradients<$source, Rms, 1>;
            "layer_norm_backward" = NormGradients<$source, Layer, 2>;
        }
    };
}

tabled!(table);
