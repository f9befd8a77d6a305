//! Histograms.

use warpfold::cuda::histogram_host;
use warpfold::{Bins, DType};

use super::{array, bytes, cases, length};
use crate::gpu;
use crate::reference::Random;
use crate::soak::differs;

#[test]
fn histograms_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let (mut wrong, mut ran) = (Vec::new(), 0);
    for i in 0..cases(156) {
        let r = &mut Random(i as u64 * 1_000_117 + 37);
        let dtype = DType::ALL[i % 13];
        let n = length(r, i / 13);
        let kind = [0, 2, 3][r.below(3)];
        let x = bytes(r, dtype, n, kind);
        let x = array(&x, dtype, n);
        let mut edges: Vec<f64> = (0..2 + r.below(20)).map(|_| r.below(400) as f64 / 4.0 - 50.0).collect();
        edges.sort_by(f64::total_cmp);
        let count = [1, 10, 256, 8192, 8193, 100_000][r.below(6)];
        let bins = match r.below(3) {
            0 => Bins::Uniform { bins: count, range: None },
            1 => Bins::Uniform { bins: count, range: Some((-20.5, 30.0)) },
            _ => Bins::Edges(edges),
        };
        let weights = bytes(r, DType::F32, n, 2);
        let weights = r.chance(30).then(|| array(&weights, DType::F32, n));
        ran += 1;
        let (got, want) = (histogram_host(x, &bins, weights, &gpu), warpfold::histogram(x, &bins, weights));
        let why = match (got, want) {
            (Ok(got), Ok(want)) => differs(&got.counts, &want.counts).or_else(|| differs(&got.edges, &want.edges)),
            (Err(got), Err(want)) if got.to_string() == want.to_string() => None,
            (got, want) => Some(format!("{:?}, not {:?}", got.map(|_| "counts"), want.map(|_| "counts"))),
        };
        wrong.extend(why.map(|why| format!("{i}: {dtype} {n} {bins:?} {}: {why}", weights.is_some())));
    }
    println!("{ran} cases ran");
    assert!(wrong.is_empty(), "{} of {ran} wrong: {}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
}
