//! Operations on rows, on two arrays and on windows, wherever these lie.

use crate::Emulated;
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
