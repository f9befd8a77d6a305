//! Labels by the products of a Hopper GPU: those of the definition, and no fault.

use std::collections::BTreeSet;

use warpfold::DType;
use warpfold::cuda::Array;
use warpfold::cuda::kmeans::Lloyd;
use warpfold::{ArrayRef, f16};

use super::kmeans_exact::{Points, Random, nearest};
use crate::Emulated;

/// What is odd about the points or centroids of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Odd {
    /// Nothing: coordinates of many magnitudes, and the last centroid is the first again.
    Nothing,
    /// Each centroid is there sixteen times.
    Copies,
    /// Some coordinates are no numbers, or infinite.
    Infinite,
    /// So is one of a centroid.
    Centroid,
    /// The scale is that of smaller points, by so many powers of two.
    Smaller(i32),
    /// Centroids are closer to the centre, by so many powers of two.
    Closer(i32),
    /// Points are centroids, but for a little.
    Near,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    odd: Odd,
    dtype: DType,
    /// Points, coordinates, clusters.
    sizes: [usize; 3],
    columns: bool,
    gap: usize,
}

/// Sets a coordinate of a point.
fn set(points: &mut Points<f32>, [i, j]: [usize; 2], x: f32) {
    points.values[i * points.d + j] = x;
    let size = points.dtype.size();
    let at = (i * points.steps[0] + j * points.steps[1]) * size;
    // What is no number has the upper bits of one in bf16; f16 has its own.
    let bits = if points.dtype == DType::F16 { u32::from(f16::from_f32(x).to_bits()) << 16 } else { x.to_bits() };
    points.bytes[at..at + size].copy_from_slice(&bits.to_le_bytes()[4 - size..]);
}

/// Finds labels; returns the kernels, and how many points two lists had.
fn check(case: Case, r: &mut Random) -> (Vec<String>, [u32; 2]) {
    let Case { dtype, sizes: [n, d, clusters], columns, gap, odd } = case;
    let on = Emulated::hopper();
    let mut points = Points::<f32>::new(dtype, n, d, columns, gap, r);
    let by = if let Odd::Closer(by) = odd { 0.5f32.powi(by) } else { 1.0 };
    let mut centroids: Vec<f32> = (0..clusters * d).map(|_| r.number() * by).collect();
    let centre: Vec<f64> = (0..d).map(|_| f64::from(r.number() * by / 8.0)).collect();
    match odd {
        Odd::Copies => (16..clusters).for_each(|k| centroids.copy_within((k % 16) * d..(k % 16 + 1) * d, k * d)),
        Odd::Near => (0..clusters.min(n)).for_each(|k| {
            let x: Vec<f32> = points.values[k * d..][..d].iter().map(|x| x * (1.0 + r.number() / 4096.0)).collect();
            centroids[k * d..][..d].copy_from_slice(&x);
        }),
        Odd::Centroid => centroids[d * 7 + d / 2] = f32::NAN,
        Odd::Infinite => {
            for x in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let (i, j) = (r.below(n as u64) as usize, r.below(d as u64) as usize);
                set(&mut points, [i, j], x);
            }
        }
        _ => centroids.copy_within(..d, (clusters - 1) * d),
    }
    let about: Vec<f32> = centre.iter().map(|&x| x as f32).collect();
    let want: Vec<i32> = points.values.chunks(d).map(|x| nearest(x, &centroids, &about)).collect();
    let smaller = if let Odd::Smaller(by) = odd { by } else { 0 };
    let scale = if odd == Odd::Infinite {
        Points::<f32>::new(dtype, n, d, columns, gap, r).scale(0)
    } else {
        points.scale(smaller)
    };
    let there = on.upload(&points.bytes);
    let x = points.view(&on, &there);
    let mut lloyd = Lloyd::new(&on.stream, &x, points.axes, clusters, &scale, &centre).expect("a plan");
    let given = ArrayRef::from_slice(&centroids, &[clusters, d]).expect("centroids");
    let given = Array::upload(&on.stream, given).expect("room");
    let mut labels = on.list(&vec![-1i32; n]);
    lloyd.assign(&on.stream, x, &given, &mut labels).expect("labels");
    let found = on.numbers::<i32>(&labels);
    let wrong = (0..n).find(|&i| found[i] != want[i]);
    assert!(wrong.is_none(), "{case:?}: {wrong:?} has {:?}", wrong.map(|i| (found[i], want[i])));
    let left = lloyd.unsettled(&on.stream).expect("numbers").expect("labels found in rounds");
    (lloyd.kernels().into_iter().map(str::to_owned).collect(), left)
}

fn case(dtype: DType, n: usize, d: usize, clusters: usize, odd: Odd) -> Case {
    Case { odd, dtype, sizes: [n, d, clusters], columns: false, gap: 0 }
}

#[test]
fn labels_are_those_of_the_definition() {
    let r = &mut Random::new(6);
    let mut ran = BTreeSet::new();
    let dtypes = [DType::F32, DType::F16, DType::BF16];
    for (i, (n, d, clusters)) in
        [(140, 128, 130), (1, 64, 128), (129, 100, 200), (290, 33, 150)].into_iter().enumerate()
    {
        for (j, dtype) in dtypes.into_iter().enumerate() {
            let (columns, gap) = ((i + j) % 4 == 3, [0, 8, 3][(i + j) % 3]);
            ran.extend(check(Case { columns, gap, ..case(dtype, n, d, clusters, Odd::Nothing) }, r).0);
        }
    }
    let odds =
        [Odd::Copies, Odd::Near, Odd::Infinite, Odd::Centroid, Odd::Smaller(20), Odd::Smaller(-30), Odd::Closer(9)];
    for (i, odd) in odds.into_iter().enumerate() {
        let (dtype, n, d, clusters) = [(DType::F32, 131, 128, 140), (DType::F16, 135, 64, 129)][i % 2];
        ran.extend(check(case(dtype, n, d, clusters, odd), r).0);
    }
    let hopper = ran.iter().filter(|entry| entry.contains("hopper")).count();
    assert_eq!(hopper, 6, "{ran:?}");
}

#[test]
fn a_block_settles_what_it_doubts() {
    let r = &mut Random::new(7);
    // More points than two rounds of both blocks.
    let (_, left) = check(case(DType::F32, 600, 64, 140, Odd::Nothing), r);
    assert!(left[0] < 8, "{left:?} are left");
    // Points of equal scores are handed on.
    let (_, left) = check(case(DType::F16, 300, 64, 256, Odd::Copies), r);
    assert_eq!(left[0], 300);
}
