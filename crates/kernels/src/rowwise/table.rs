//! The table of kernels of rows: the name, the launch struct and the kernel of each. One expansion exports them as PTX,
//! another finds them by name.

use super::Rowwise;
use super::arrange::{Arrange, arrange};
use super::gradient::SoftmaxGradients;
use super::kernel::{long, short};
use super::steps;
use super::norm::{LayerNorms, RmsNorms};
use super::softmax::Softmaxes;
#[cfg(all(target_arch = "nvptx64", feature = "entries"))]
use crate::kernel::export;
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernel::{Visit, visit};
use crate::source::{Bf16, F16, F32, F64, Source};

/// Calls `$each` with `$with` and both kernels of each operation.
macro_rules! ops {
    ($each:ident $with:tt $source:ty, $dtype:literal: $($name:literal = $op:ty;)*) => {$(
        $each!($with concat!("rowwise_", $name, "_", $dtype), Rowwise, long::<_, $op, { steps(size_of::<<$source as Source>::Bits>()) }>);
        $each!($with concat!("rowshort_", $name, "_", $dtype), Rowwise, short::<_, $op, { steps(size_of::<<$source as Source>::Bits>()) }>);
    )*};
}

/// Calls `$each` with `$with` and every kernel.
macro_rules! table {
    ($each:ident $with:tt) => {
        $each!($with "rowwise_arrange", Arrange, arrange::<_>);
        table!(@ $each $with F32, "f32");
        table!(@ $each $with F64, "f64");
        table!(@ $each $with F16, "f16");
        table!(@ $each $with Bf16, "bf16");
    };
    (@ $each:ident $with:tt $source:ty, $dtype:literal) => {
        ops! { $each $with $source, $dtype:
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

#[cfg(all(target_arch = "nvptx64", feature = "entries"))]
table!(export());

/// Lets a visitor see the kernel of that name. Gives the visitor back if there is none.
#[cfg(not(target_arch = "nvptx64"))]
pub fn find<V: Visit>(entry: &str, visitor: V) -> Result<V::Output, V> {
    table!(visit(entry, visitor: V));
    Err(visitor)
}
