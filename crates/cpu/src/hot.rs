//! The hottest loops under fixed names, by which `cargo xtask loops` finds their machine code.
//!
//! Each function calls the method that [`crate::reduce`] dispatches to, so it uses the same instance of the loop, and
//! nothing is compiled twice.
#![allow(missing_docs)]

use std::mem::MaybeUninit;

use warpfold_core::ops::Sum;
use warpfold_core::{bf16, f16};

use crate::args::ArgScan;
use crate::exponentials::Exponentials;
use crate::extrema::Peak;
use crate::halves::Halves;
use crate::integers::Integers;
use crate::kernel::{Acc, Kernel, Tree};
use crate::moments::Spread;
use crate::panel::Panel;

/// Blocks of neighbours.
macro_rules! blocks {
    ($($name:ident: $item:ty, $kernel:ty;)*) => {$(
        #[inline(never)]
        pub fn $name(kernel: &$kernel, x: &[$item]) -> Acc<$kernel> {
            kernel.block(x, 0)
        }
    )*};
}

blocks! {
    sum_f32: f32, Tree<Sum<f32>>;
    sum_f64: f64, Tree<Sum<f64>>;
    sum_f16: f16, Halves<f16>;
    sum_bf16: bf16, Halves<bf16>;
    sum_i32: i32, Integers<i32, i64>;
    sum_i8: i8, Integers<i8, i64>;
    max_f32: f32, Peak<f32>;
    max_f64: f64, Peak<f64>;
    max_i8: i8, Peak<i8>;
    argmax_f32: f32, ArgScan<f32>;
    var_f32: f32, Spread<f32>;
    logsumexp_f32: f32, Exponentials<f32>;
}

/// Columns of at most [`crate::policy::PANEL`] rows.
macro_rules! panels {
    ($($name:ident: $item:ty, $kernel:ty;)*) => {$(
        /// # Safety
        /// See [`Kernel::panel`].
        #[inline(never)]
        pub unsafe fn $name(kernel: &$kernel, rows: &[*const $item], out: &mut [MaybeUninit<Acc<$kernel>>]) {
            // SAFETY: this function has the contract of `Kernel::panel`, which the caller keeps.
            unsafe { kernel.panel(Panel::new(rows, 0), out) }
        }
    )*};
}

panels! {
    columns_sum_f32: f32, Tree<Sum<f32>>;
    columns_sum_f64: f64, Tree<Sum<f64>>;
    columns_max_f32: f32, Peak<f32>;
    columns_var_f32: f32, Spread<f32>;
}

/// Rows of one length.
macro_rules! rows {
    ($($name:ident: $item:ty, $kernel:ty;)*) => {$(
        #[inline(never)]
        pub fn $name(kernel: &$kernel, x: &[$item], len: usize, out: &mut [MaybeUninit<Acc<$kernel>>]) {
            kernel.rows(x, len, out);
        }
    )*};
}

rows! {
    rows_sum_f32: f32, Tree<Sum<f32>>;
    rows_var_f32: f32, Spread<f32>;
    rows_sum_i32: i32, Integers<i32, i64>;
}
