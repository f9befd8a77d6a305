//! Floating-point addition is not associative, so the order of a sum is part of its definition.

use warpfold_core::ops::{Compensated, Sum, Value};
use warpfold_core::{DoubleWord, tree};

/// The sum rounded once: an expansion of floats that do not overlap, each addition without error (Shewchuk, 1997).
fn exact(data: &[f64]) -> f64 {
    let mut parts: Vec<f64> = Vec::new();
    for &x in data {
        let mut carry = x;
        let mut rest = Vec::new();
        for part in parts {
            let sum: DoubleWord<f64> = two_sum(carry, part);
            if sum.lo != 0.0 {
                rest.push(sum.lo);
            }
            carry = sum.hi;
        }
        rest.push(carry);
        parts = rest;
    }
    parts.iter().sum()
}

/// `a + b` and its rounding error.
fn two_sum(a: f64, b: f64) -> DoubleWord<f64> {
    let hi = a + b;
    let part = hi - a;
    DoubleWord { hi, lo: (a - (hi - part)) + (b - part) }
}

fn sums(data: &[f64]) -> String {
    let all = |x: &f64| *x;
    let plain = tree::reduce(&Sum::<f64>::total(), data.iter().map(all)).expect("a sum");
    let compensated = tree::reduce(&Sum::<f64, Value, Compensated>::total(), data.iter().map(all)).expect("a sum");
    let results = [
        ("left to right", data.iter().fold(-0.0, |a, b| a + b)),
        ("right to left", data.iter().rfold(-0.0, |a, b| a + b)),
        ("tree", plain),
        ("tree, compensated", compensated),
        ("exact, rounded once", exact(data)),
    ];
    results.map(|(name, sum)| format!("{name:<21}{sum:?}\n")).concat()
}

pub fn print() -> String {
    let mut data = vec![1e-20; 10];
    data.extend([1e20, -1e20]);
    let first = sums(&data);
    // Harder: terms that cancel are far apart, so that small terms are added to large ones first.
    let apart = [&[1e16][..], &[1.0; 10], &[-1e16]].concat();
    format!("ten times 1e-20, then 1e20, -1e20\n{first}\n1e16, ten times 1.0, then -1e16\n{}", sums(&apart))
}
