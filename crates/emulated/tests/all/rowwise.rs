//! Operations on rows, on two arrays and on windows, wherever these lie.

use crate::Emulated;
use warpfold::cuda::{Buffer, rows};
use warpfold::{ArrayRef, DType, rows as cpu};
use warpfold_testing::golden::{Specials, elements};
use warpfold_testing::rows::{self as cases, Test};
use warpfold_testing::{pairs, windows};

/// Cases of at most so many elements about, but that rows longer than a block come now and then.
fn run(test: Test, cases: u64) {
    let on = Emulated::new();
    cases::many(&on.stream, test, 0, cases, 1 << 11);
}

#[test]
fn softmax_has_the_bits_of_the_cpu() {
    run(cases::softmax, 48);
}

#[test]
fn gradients_of_softmax_have_the_bits_of_the_cpu() {
    run(cases::gradient, 48);
}

#[test]
fn norms_have_the_bits_of_the_cpu() {
    run(cases::norm, 48);
}

#[test]
fn gradients_of_norms_have_the_bits_of_the_cpu() {
    run(cases::norm_gradient, 48);
}

#[test]
fn sums_over_many_rows_have_the_bits_of_the_cpu() {
    let on = Emulated::new();
    cases::many(&on.stream, cases::norm_gradient, 1000, 24, 1 << 14);
}

#[test]
fn cross_entropy_has_the_bits_of_the_cpu() {
    run(cases::cross_entropy, 48);
}

#[test]
fn losses_of_two_arrays_have_the_bits_of_the_cpu() {
    run(pairs::pairs, 200);
}

#[test]
fn means_of_windows_have_the_bits_of_the_cpu() {
    run(windows::average, 300);
}

#[test]
fn greatest_elements_of_windows_have_the_bits_of_the_cpu() {
    run(windows::max, 300);
}

#[test]
fn windows_that_fill_a_tree_have_the_bits_of_the_cpu() {
    windows::edges(&Emulated::new().stream);
}

/// Rows of which a warp has several, of exactly so many quarters of its chunk, of other lengths, and longer than a
/// block holds: their results begin at any element of a line, and nothing beside them is touched.
#[test]
fn results_that_begin_anywhere_in_a_line_are_whole() {
    let on = Emulated::new();
    let cases = [
        (DType::BF16, &[37, 497, 1536, 1792, 2304, 2560, 8200][..]),
        (DType::F32, &[3, 101, 640, 2304, 2560][..]),
        (DType::F64, &[5, 1280, 1283][..]),
    ];
    for (dtype, lens) in cases {
        let size = dtype.size();
        for (i, &len) in lens.iter().enumerate() {
            let (shape, strides) = ([8, len], [(len * size) as isize, size as isize]);
            let bytes = elements(dtype, 8 * len, i as u64, Specials::None);
            // SAFETY: so many elements are there.
            let array = unsafe { ArrayRef::from_raw(bytes.as_ptr(), dtype, &shape, &strides) }.expect("an array");
            let want = cpu::softmax(array, &[-1], &cpu::Softmax::default()).expect("a result");
            let input = on.upload(&bytes);
            let view = on.view(&input, 0, dtype, &shape, &strides).expect("a view");
            let plan = rows::RowMap::softmax(&on.device, &view, &[-1], &rows::Softmax::default()).expect("a plan");
            for place in 1..16 / size {
                let first = 16 + place * size;
                let mut out: Buffer<u8> = on.upload(&vec![0; first + bytes.len() + 32]);
                out.fill(&on.stream, 0xa5).expect("bytes");
                let to = out.address() + first as u64;
                // SAFETY: there is room for the result, at a multiple of an element's size.
                unsafe { plan.run_at(&on.stream, view, &rows::RowArrays::default(), to) }.expect("a run");
                let found = out.read(&on.stream).expect("bytes");
                let (before, rest) = found.split_at(first);
                let (result, after) = rest.split_at(bytes.len());
                let wrong = result.iter().zip(want.values.as_bytes()).position(|(a, b)| a != b);
                assert_eq!(wrong, None, "{dtype} rows of {len}, {first} bytes after a line");
                assert!(before.iter().chain(after).all(|&byte| byte == 0xa5), "beside {dtype} rows of {len}, {first}");
            }
        }
    }
}
