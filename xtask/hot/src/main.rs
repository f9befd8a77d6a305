//! Runs each hot loop once: a small program in which `cargo xtask loops` finds their machine code.

use std::hint::black_box;
use std::mem::MaybeUninit;

use warpfold_core::ops::{Arg, Deviation, Extremum, IntegerSum, LogSumExp, Search, Sum};
use warpfold_core::{DType, Element, bf16, f16};
use warpfold_cpu::args::ArgScan;
use warpfold_cpu::exponentials::Exponentials;
use warpfold_cpu::extrema::Peak;
use warpfold_cpu::halves::Halves;
use warpfold_cpu::hot;
use warpfold_cpu::integers::Integers;
use warpfold_cpu::kernel::{Acc, Kernel, Tree};
use warpfold_cpu::moments::Spread;
use warpfold_cpu::policy::{BLOCK, PANEL};

fn max<T: Element>() -> Peak<T> {
    Peak(Extremum { search: Search::new(true, false), initial: None })
}

/// A hot loop over the columns of some rows.
type Panel<K, T> = unsafe fn(&K, &[*const T], &mut [MaybeUninit<Acc<K>>]);

fn columns<K: Kernel, T>(panel: Panel<K, T>, kernel: &K, x: &[T]) {
    let width = x.len() / PANEL;
    let rows: Vec<*const T> = x.chunks_exact(width).map(<[T]>::as_ptr).collect();
    let mut out = Vec::with_capacity(width);
    // SAFETY: each row has as many elements as there is room for nodes.
    unsafe { panel(kernel, &rows, out.spare_capacity_mut()) };
}

/// A hot loop over rows of one length.
type Rows<K, T> = fn(&K, &[T], usize, &mut [MaybeUninit<Acc<K>>]);

fn rows<K: Kernel, T>(rows: Rows<K, T>, kernel: &K, x: &[T]) {
    const LEN: usize = 64;
    let mut out = Vec::with_capacity(x.len() / LEN);
    rows(kernel, x, LEN, &mut out.spare_capacity_mut()[..x.len() / LEN]);
}

fn main() {
    let x = black_box(vec![1.0f32; BLOCK]);
    let wide = black_box(vec![1.0f64; BLOCK]);
    let whole = black_box(vec![1i32; BLOCK]);
    let bytes = black_box(vec![1i8; BLOCK]);
    black_box(hot::sum_f32(&Tree(Sum::total()), &x));
    black_box(hot::sum_f64(&Tree(Sum::total()), &wide));
    black_box(hot::sum_f16(&Halves(Sum::total()), &black_box(vec![f16::ONE; BLOCK])));
    black_box(hot::sum_bf16(&Halves(Sum::total()), &black_box(vec![bf16::ONE; BLOCK])));
    black_box(hot::sum_i32(&Integers::new(IntegerSum::new(false, None)), &whole));
    black_box(hot::sum_i8(&Integers::new(IntegerSum::new(false, None)), &bytes));
    black_box(hot::max_f32(&max(), &x));
    black_box(hot::max_f64(&max(), &wide));
    black_box(hot::max_i8(&max(), &bytes));
    black_box(hot::argmax_f32(&ArgScan(Arg { search: Search::new(true, false) }), &x));
    black_box(hot::var_f32(&Spread(Deviation::new(0.0, false)), &x));
    black_box(hot::logsumexp_f32(&Exponentials { reducer: LogSumExp::new(), dtype: DType::F32 }, &x));
    columns(hot::columns_sum_f32, &Tree(Sum::total()), &x);
    columns(hot::columns_sum_f64, &Tree(Sum::total()), &wide);
    columns(hot::columns_max_f32, &max(), &x);
    columns(hot::columns_var_f32, &Spread(Deviation::new(0.0, false)), &x);
    rows(hot::rows_sum_f32, &Tree(Sum::total()), &x);
    rows(hot::rows_var_f32, &Spread(Deviation::new(0.0, false)), &x);
    rows(hot::rows_sum_i32, &Integers::new(IntegerSum::new(false, None)), &whole);
}
