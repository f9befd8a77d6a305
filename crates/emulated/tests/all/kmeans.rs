//! k-means of random points: the CPU's means, counts, labels and inertia.

use std::collections::BTreeSet;

use warpfold::cuda::kmeans::{CentroidUpdate, fit, predict, transform};
use warpfold::keys::kmeans::Coordinate;
use warpfold::keys::{Axes, EmptyCluster, Init, centroid_update_with};
use warpfold::{Array, ArrayRef, DType, Error, KMeans, Points, bf16, cuda, f16};

use crate::{Emulated, brief, cases, pick};
use warpfold_testing::golden::random;

/// Points in memory: dense, with gaps, either axis first, beginning anywhere.
#[derive(Clone, Copy, Debug)]
struct Case {
    dtype: DType,
    n: usize,
    d: usize,
    clusters: usize,
    axes: Axes,
    gap: usize,
    offset: usize,
    /// Of two, what f64 points are multiplied by.
    power: i32,
    seed: u64,
}

impl Case {
    fn random(seed: &mut u64) -> Case {
        let (d, clusters) = match pick(6, seed) {
            0 => (1, 1 + pick(16, seed)),
            1 => ([4, 8, 16, 32][pick(4, seed)], 1 + pick(40, seed)),
            2 => (1 + pick(16, seed), 1 + pick(40, seed)),
            3 => (1 + pick(70, seed), 1 + pick(20, seed)),
            4 => (1 + pick(4, seed), 100 + pick(600, seed)),
            _ => ([64, 128][pick(2, seed)], 20 + pick(60, seed)),
        };
        let most = (80_000 / (d * clusters)).clamp(1, 2500);
        Case {
            dtype: [DType::F32, DType::F16, DType::BF16, DType::F64, DType::F64][pick(5, seed)],
            n: clusters + pick(most, seed),
            d,
            clusters,
            axes: [Axes::PointsFirst, Axes::CoordinatesFirst][pick(2, seed)],
            gap: [0, 0, 8, 3][pick(4, seed)],
            offset: [0, 0, 8, 1][pick(4, seed)],
            // Squares of distances that hardly fit, or are subnormal; subnormal coordinates; zeros; the greatest, which
            // are too far.
            power: [0, 0, 0, 500, -530, -1015, -1200, 1023][pick(8, seed)],
            seed: random(seed),
        }
    }

    /// Shape, and strides in elements.
    fn shape(&self) -> [[usize; 2]; 2] {
        match self.axes {
            Axes::PointsFirst => [[self.n, self.d], [self.d + self.gap, 1]],
            Axes::CoordinatesFirst => [[self.d, self.n], [self.n + self.gap, 1]],
        }
    }

    /// A number below 1, in the magnitude of the points.
    fn scaled(&self, x: f64) -> f64 {
        let power = if self.dtype == DType::F64 { self.power } else { 0 };
        // Neither is out of range.
        x * 2f64.powi(power / 2) * 2f64.powi(power - power / 2)
    }

    /// The memory, from its first byte.
    fn bytes(&self) -> Vec<u8> {
        let [shape, strides] = self.shape();
        let mut seed = self.seed;
        let number = |_| {
            if self.dtype == DType::F64 {
                // 53 bits, of either sign and some binades, or a zero of either sign.
                let x = (random(&mut seed) as i64 >> 10) as f64 * 2f64.powi(-53 - pick(12, &mut seed) as i32);
                return self.scaled(if pick(5, &mut seed) == 0 { x * 0.0 } else { x }).to_le_bytes().to_vec();
            }
            let x = (random(&mut seed) % (1 << 20)) as f32 / (1 << 19) as f32 - 1.0;
            let x = x * 2f32.powi((random(&mut seed) % 8) as i32 - 4);
            match self.dtype {
                DType::F16 => f16::from_f32(x).to_le_bytes().to_vec(),
                DType::BF16 => bf16::from_f32(x).to_le_bytes().to_vec(),
                _ => x.to_le_bytes().to_vec(),
            }
        };
        (0..self.offset + shape[0] * strides[0]).flat_map(number).collect()
    }

    /// The array in that memory.
    fn array<'a>(&self, bytes: &'a [u8]) -> ArrayRef<'a> {
        let [shape, strides] = self.shape();
        let size = self.dtype.size();
        let strides = strides.map(|step| (step * size) as isize);
        assert!(bytes.len() >= (self.offset + shape[0] * self.shape()[1][0]) * size);
        // SAFETY: rows follow one another by the stride, which is a row or more, and all of them lie in the bytes.
        let array = unsafe { ArrayRef::from_raw(bytes.as_ptr().add(self.offset * size), self.dtype, &shape, &strides) };
        array.expect("an array")
    }
}

fn same(what: &str, found: &Array, want: &Array) -> Result<(), String> {
    if found.shape == want.shape && found.values.as_bytes() == want.values.as_bytes() {
        return Ok(());
    }
    Err(format!("{what}: {found:?}, on the CPU {want:?}"))
}

/// Runs a case on both; says which kernels ran, or what is wrong.
fn check<F: Coordinate>(on: &Emulated, case: &Case) -> Result<String, String> {
    let said = |e: Error| e.to_string();
    let bytes = case.bytes();
    let array = case.array(&bytes);
    let points = Points::new(array, case.axes).map_err(said)?;
    let scale = points.scale().map_err(said)?;
    let (n, d, k) = (case.n, case.d, case.clusters);
    let there = on.upload(&bytes);
    let first = case.offset * case.dtype.size();
    let x = on.view(&there, first, case.dtype, array.shape(), array.strides()).map_err(said)?;

    // The update, some points without a label. Twice, since the totals must be zero again.
    let mut seed = case.seed ^ 5;
    let labels: Vec<i32> = (0..n).map(|_| pick(k + 1, &mut seed) as i32 - 1).collect();
    let given = ArrayRef::from_slice(&labels, &[n]).map_err(said)?;
    let want = centroid_update_with(&points, given, k, &scale).map_err(said)?;
    let given = cuda::Array::upload(&on.stream, given).map_err(said)?;
    let mut update = CentroidUpdate::new(&on.stream, &x, case.axes, k, &scale).map_err(said)?;
    let (mut means, mut counts) = (update.means().map_err(said)?, update.counts().map_err(said)?);
    for _ in 0..2 {
        update.run(&on.stream, x, given.view(), &mut means, &mut counts).map_err(said)?;
        let found = counts.download(&on.stream).map_err(said)?;
        let counts: Vec<i64> = want.counts.clone();
        same("counts", &found, &Array { shape: vec![k], values: warpfold::Values::I64(counts) })?;
        same("means", &means.download(&on.stream).map_err(said)?, &want.means)?;
    }
    if case.dtype == DType::F64 && case.power > 1000 {
        return Ok(on.entries());
    }

    // Fits of a few iterations from given centroids. The last is the first again, and so has no points.
    let number = |x: usize| F::from_f64(case.scaled((x as f64 / 2048.0 - 1.0) * 0.5));
    let mut given: Vec<F> = (0..k * d).map(|_| number(pick(1 << 12, &mut seed))).collect();
    given.copy_within(..d, (k - 1) * d);
    let settings = KMeans {
        init: Init::Given(Array { shape: vec![k, d], values: F::wrap(given) }),
        iterations: 1 + pick(2, &mut seed),
        tolerance: 0.0,
        empty: [EmptyCluster::Keep, EmptyCluster::Farthest][pick(2, &mut seed)],
        ..KMeans::new(k)
    };
    let want = settings.fit(&points);
    let found = fit(&on.stream, &settings, x, case.axes, None);
    match (found, want) {
        (Ok(found), Ok(want)) => {
            same("centre", &found.centre, &want.centre)?;
            same("centroids", &found.centroids, &want.centroids)?;
            if found.labels != want.labels {
                return Err("labels".into());
            }
            if found.inertia.to_bits() != want.inertia.to_bits() {
                return Err(format!("inertia {}, on the CPU {}", found.inertia, want.inertia));
            }
            let labels = Array { shape: vec![n], values: warpfold::Values::I32(want.predict(&points).map_err(said)?) };
            let found = predict(&on.stream, &want, x, case.axes).map_err(said)?;
            same("labels by a fit", &found.download(&on.stream).map_err(said)?, &labels)?;
            let found = transform(&on.stream, &want, x, case.axes).map_err(said)?;
            same("distances", &found.download(&on.stream).map_err(said)?, &want.transform(&points).map_err(said)?)?;
        }
        (Err(found), Err(want)) if found == want => {}
        (found, want) => return Err(format!("{found:?}, on the CPU {want:?}")),
    }
    Ok(on.entries())
}

#[test]
fn k_means_has_the_bits_of_the_cpu_and_no_fault() {
    let (on, count) = (Emulated::new(), cases(44));
    let (mut seed, mut wrong, mut ran) = (20, Vec::new(), BTreeSet::<String>::new());
    for _ in 0..count {
        let case = Case::random(&mut seed);
        let found = if case.dtype == DType::F64 { check::<f64>(&on, &case) } else { check::<f32>(&on, &case) };
        match found {
            Ok(entries) => ran.extend(entries.split_whitespace().map(str::to_owned)),
            Err(why) => wrong.push(format!("{case:?}\n{}", brief(&why))),
        }
        if wrong.len() == 8 {
            break;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    // Every kind of kernel, for one dtype or another.
    for kind in [
        "column",
        "tile_any",
        "tile_f",
        "gather_any",
        "direct",
        "near_8",
        "near_16",
        "rough_8",
        "fine_32",
        "settle",
        "assign",
        "distance",
        "finish",
    ]
    .into_iter()
    .chain(["tile_f64", "tile_any_f64", "gather_any_f64", "finish_f64"])
    {
        assert!(ran.iter().any(|entry| entry.contains(kind)), "no {kind} among {ran:?}");
    }
}
