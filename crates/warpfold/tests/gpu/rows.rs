//! Operations on rows and on windows: the bits of the CPU, wherever rows lie.

use crate::row_cases::{Test, cross_entropy, differs, gradient, in_turns, many, norm, norm_gradient, softmax};
use crate::{channels, gpu, pairs, windows};
use warpfold::cuda::{self, Device, Stream, rows};
use warpfold::{ArrayRef, rows as cpu};

/// Runs a random test: `WARPFOLD_GPU_CASES` times, or 400; from case `WARPFOLD_GPU_FROM`.
fn cases(gpu: &Device, test: Test) {
    let number = |name: &str, usual: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(usual);
    let (from, cases) = (number("WARPFOLD_GPU_FROM", 0), number("WARPFOLD_GPU_CASES", 400));
    many(&Stream::new(gpu).expect("a stream"), test, from, cases, 1 << 18);
}

/// Random tests by name.
macro_rules! classes {
    ($($name:ident: $test:expr;)*) => {$(
        #[test]
        fn $name() {
            let Some(gpu) = gpu() else { return };
            cases(&gpu, $test);
        }
    )*};
}

classes! {
    class_softmax: softmax;
    class_softmax_gradients: gradient;
    class_norms: norm;
    class_norm_gradients: norm_gradient;
    class_cross_entropy: cross_entropy;
    class_channels_group: channels::group;
    class_channels_batch: channels::batch;
    class_pairs: pairs::pairs;
    class_windows_average: windows::average;
    class_windows_max: windows::max;
}

/// Rows that a block reads in turns, since there are some for each multiprocessor.
#[test]
fn rows_in_turns() {
    let Some(gpu) = gpu() else { return };
    let (stream, rows) = (Stream::new(&gpu).expect("a stream"), 2 * gpu.properties().multiprocessors as usize + 3);
    for test in [softmax, gradient, norm, norm_gradient, cross_entropy] {
        in_turns(&stream, test, 8, rows);
    }
}

/// Rows of several blocks, and so many parts of a row that blocks reduce these first.
#[test]
fn very_long_rows() {
    let Some(gpu) = gpu() else { return };
    let stream = Stream::new(&gpu).expect("a stream");
    for (shape, seed) in [([300usize, 40_003], 1), ([2, 4_000_001], 2), ([1, 1 << 25], 3)] {
        let x = crate::numbers(shape.iter().product(), seed);
        let x = ArrayRef::from_slice(&x, &shape).expect("a shape");
        let there = cuda::Array::upload(&stream, x).expect("room");
        let want = cpu::softmax(x, &[1], &cpu::Softmax::default()).expect("a result");
        let got = rows::softmax(there.view(), &[1], &rows::Softmax::default(), &stream);
        assert_eq!(differs(got, &want, &stream), None, "softmax {shape:?}");
        let want = cpu::layer_norm(x, &[1], &cpu::Norm::default()).expect("a result");
        let got = rows::layer_norm(there.view(), &[1], &rows::Norm::default(), &stream);
        assert_eq!(differs(got, &want, &stream), None, "layer_norm {shape:?}");
        let want = cpu::layer_norm_backward(x, x, &[1], &cpu::Norm::default()).expect("a result");
        let got = rows::layer_norm_backward(there.view(), there.view(), &[1], &rows::Norm::default(), &stream);
        assert_eq!(differs(got.map(|got| got.x), &want.x, &stream), None, "layer_norm_backward {shape:?}");
    }
}

#[test]
fn windows_that_fill_a_tree() {
    let Some(gpu) = gpu() else { return };
    windows::edges(&Stream::new(&gpu).expect("a stream"));
}

#[test]
fn windows_quotients() {
    let Some(gpu) = gpu() else { return };
    windows::quotients(&Stream::new(&gpu).expect("a stream"), 1 << 20);
}
