//! Reductions on a GPU: the bits of the CPU, whatever the shape. Without a GPU these tests are skipped, and say so;
//! `WARPFOLD_REQUIRE_GPU=1` makes that a failure.
//!
//! `WARPFOLD_CASE=Rows:123` runs one case. `WARPFOLD_GPU_CASES=5000` runs so many of each class,
//! `WARPFOLD_GPU_SECONDS=60` goes on with other cases for so long, from `WARPFOLD_GPU_FROM`. `WARPFOLD_GPU_TRACE=1`
//! names each case before it runs, for kernels that do not end.

#![cfg(feature = "cuda")]

mod arrays;
mod classes;
mod custom;
mod errors;
mod golden;
mod golden_rows;
mod host;
mod keys;
mod kmeans;
mod prepared;
mod rows;
mod rows_speed;
mod segments;
mod soak;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use reference::{Random, element};
use warpfold::DType;
use warpfold::cuda::{self, ArrayView, Device, Error, Options};
use warpfold_testing::{
    cases, channels, golden as golden_cases, golden_rows as golden_row_cases, pairs, reference, rows as row_cases,
    windows,
};

static SKIPPED: AtomicU32 = AtomicU32::new(0);

/// The GPU, one test at a time; `None` to skip.
fn gpu() -> Option<MutexGuard<'static, Device>> {
    static GPU: LazyLock<Result<Mutex<Device>, Error>> = LazyLock::new(|| cuda::shared(0).map(Mutex::new));
    match &*GPU {
        // A test that failed leaves the device as usable as its error says.
        Ok(gpu) => Some(gpu.lock().unwrap_or_else(PoisonError::into_inner)),
        Err(why) => {
            assert!(std::env::var_os("WARPFOLD_REQUIRE_GPU").is_none_or(|v| v != "1"), "a GPU is required: {why}");
            let skipped = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
            println!("skipped ({skipped} so far): {why}");
            None
        }
    }
}

fn numbers(n: usize, seed: u64) -> Vec<f32> {
    let r = &mut Random(seed | 1);
    (0..n).map(|_| element(r, DType::F32, 0).to_f64() as f32).collect()
}

fn axes(axes: &[isize]) -> Options<'static> {
    Options { axes: Some(axes.to_vec()), ..Options::default() }
}

fn host_axes(axes: &[isize]) -> warpfold::Options<'static> {
    warpfold::Options { axes: Some(axes.to_vec()), ..Default::default() }
}

/// The same options for an array on the device, with a mask there.
fn device_options<'a>(o: &warpfold::Options<'_>, mask: Option<ArrayView<'a>>) -> Options<'a> {
    Options {
        axes: o.axes.clone(),
        keepdims: o.keepdims,
        dtype: o.dtype,
        precision: o.precision,
        skip_nan: o.skip_nan,
        mask,
        initial: o.initial,
        ddof: o.ddof,
        ord: o.ord,
    }
}
