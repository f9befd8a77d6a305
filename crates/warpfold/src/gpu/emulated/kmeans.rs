//! k-means of random points, by the kernels that are planned for them: the CPU's means, counts, labels and inertia.

use std::collections::BTreeSet;

use warpfold_emulator::Memory;
use warpfold_kernels::Production;
use warpfold_gpu::plan::kmeans::{Launch, Problem};
use warpfold_kernels::kmeans::{BAD, EMPTY, emulate, sort};
use warpfold_simt::{Global, Pod};

use super::golden::cases::random;
use super::{LIMITS, upload};
use warpfold_gpu::plan::problem;
use crate::keys::kmeans::Coordinate;
use crate::keys::{Axes, EmptyCluster, Init, KMeans, Scale, centroid_update_with};
use crate::{Array, ArrayRef, DType, Op, Options, Points, bf16, f16, reduce};
use warpfold_array::Value;

/// A number below `n`.
fn pick(n: usize, seed: &mut u64) -> usize {
    random(seed) as usize % n
}

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
        let most = (150_000 / (d * clusters)).clamp(1, 2500);
        Case {
            dtype: [DType::F32, DType::F16, DType::BF16, DType::F64, DType::F64][pick(5, seed)],
            n: clusters + pick(most, seed),
            d,
            clusters,
            axes: [Axes::PointsFirst, Axes::CoordinatesFirst][pick(2, seed)],
            gap: [0, 0, 8, 3][pick(4, seed)],
            offset: [0, 0, 8, 1][pick(4, seed)],
            // Squares of distances that hardly fit, or are subnormal; subnormal coordinates; zeros; the greatest, which are too far.
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

/// Points on the emulated device.
struct OnDevice<'a, F: Coordinate> {
    memory: Memory,
    problem: Problem,
    scale: &'a Scale,
    labels: Global<i32>,
    centre: Global<F>,
    report: Global<u64>,
    order: Global<u32>,
    entries: BTreeSet<String>,
}

fn at<T>(array: Global<T>) -> u64 {
    array.as_ptr().addr() as u64
}

impl<'a, F: Coordinate + Pod> OnDevice<'a, F> {
    fn new(case: &Case, bytes: &[u8], points: &Points<'_>, scale: &'a Scale) -> Self {
        let mut memory = Memory::new();
        let x = upload(&mut memory, "points", bytes) + (case.offset * case.dtype.size()) as u64;
        Self {
            labels: memory.upload("labels", &vec![-1; case.n]),
            centre: memory.alloc("centre", case.d),
            report: memory.upload("report", &[0; 3]),
            order: memory.alloc("order", 2 * case.n),
            problem: problem(points, x, case.clusters),
            memory,
            scale,
            entries: BTreeSet::new(),
        }
    }

    fn run(&mut self, launch: &Launch, addresses: &[u64]) -> Result<(), String> {
        let mut params = launch.params.clone();
        params[..addresses.len()].copy_from_slice(addresses);
        let production = Production { entry: &launch.entry, grid: launch.grid, block: launch.block, params: &params };
        self.entries.insert(launch.entry.clone());
        match emulate(&self.memory, production) {
            None => Err(format!("no kernel {}", launch.entry)),
            Some(Err(faults)) => Err(format!("{}: {faults}", launch.entry)),
            Some(Ok(_)) => Ok(()),
        }
    }

    fn upload<T: Pod>(&mut self, name: &str, x: &[T]) -> u64 {
        at(self.memory.upload(name, x))
    }

    /// Means and counts of the labels that are there. What no point has keeps what it has `before`.
    fn update(&mut self, problem: Problem, before: Option<&[F]>) -> Result<Updated<F>, String> {
        let (k, d) = (problem.clusters, problem.dimensions);
        let scales = upload(&mut self.memory, "scales", self.scale.factors().as_bytes());
        let units = self.upload("units", self.scale.units());
        let totals: Global<u64> = self.memory.upload("totals", &vec![0; problem.totals()]);
        let cursors = at(self.memory.alloc::<u64>("cursors", sort::cursors(k)));
        let (means, counts) = (self.memory.alloc::<F>("means", k * d), self.memory.alloc::<i64>("counts", k));
        let (labels, order, report) = (at(self.labels), at(self.order), at(self.report));
        let old = before.map_or(0, |before| self.upload("before", before));
        let moves = at(self.memory.alloc::<f64>("moves", k * d));
        let moves = if old == 0 { 0 } else { moves };
        let mut first = vec![problem.address, labels, scales, at(totals), order, cursors, 0, at(self.centre)];
        first.extend([report, at(means), at(counts), units, old, moves]);
        for launch in problem.update(LIMITS.multiprocessors) {
            self.run(&launch, &first)?;
        }
        if !problem.finishes() {
            self.run(&problem.finish(), &first)?;
        }
        match self.memory.read(totals, problem.totals()).iter().all(|&x| x == 0) {
            true => Ok(Updated { means: self.memory.read(means, k * d), counts: self.memory.read(counts, k) }),
            false => Err("totals are not zero again".into()),
        }
    }

    /// The labels by centroids.
    fn assign(&mut self, centroids: &[F]) -> Result<Vec<i32>, String> {
        let order = at(self
            .memory
            .alloc::<F>("centroids to find labels by", self.problem.centroids().div_ceil(size_of::<F>())));
        let unsure = at(self.memory.alloc::<u32>("points that are not sure", self.problem.unsure()));
        for launch in self.problem.assign(LIMITS.multiprocessors) {
            self.by_centroids(&launch, centroids, order, unsure)?;
        }
        Ok(self.memory.read(self.labels, self.problem.n))
    }

    /// The squares of the distances to the centroids of the labels.
    fn squares(&mut self, centroids: &[F]) -> Result<Vec<F>, String> {
        let squares = self.memory.alloc::<F>("squares", self.problem.n);
        self.by_centroids(&self.problem.distances(), centroids, at(squares), 0)?;
        Ok(self.memory.read(squares, self.problem.n))
    }

    fn by_centroids(&mut self, launch: &Launch, centroids: &[F], room: u64, unsure: u64) -> Result<(), String> {
        let scales = upload(&mut self.memory, "scales", self.scale.factors().as_bytes());
        let centroids = self.upload("centroids", centroids);
        let (labels, centre, report) = (at(self.labels), at(self.centre), at(self.report));
        self.run(launch, &[self.problem.address, labels, scales, 0, room, unsure, centroids, centre, report])
    }
}

struct Updated<F> {
    means: Vec<F>,
    counts: Vec<i64>,
}

fn bits<F: Value>(x: &[F]) -> Vec<u64> {
    x.iter().map(|x| x.scalar().bits().0).collect()
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &[T], want: &[T]) -> Result<(), String> {
    match found.iter().zip(want).position(|(a, b)| a != b).or((found.len() != want.len()).then_some(found.len())) {
        None => Ok(()),
        Some(i) => Err(format!("{what} {i}: {:?}, on the CPU {:?}", found.get(i), want.get(i))),
    }
}

/// Runs a case on both; says which kernels ran, or what is wrong.
fn check<F: Coordinate + Pod>(case: &Case) -> Result<BTreeSet<String>, String> {
    let said = |e: crate::Error| e.to_string();
    let bytes = case.bytes();
    let points = Points::new(case.array(&bytes), case.axes).map_err(said)?;
    let scale = points.scale().map_err(said)?;
    let (n, d, k) = (case.n, case.d, case.clusters);
    let mut device = OnDevice::<F>::new(case, &bytes, &points, &scale);
    let all = device.problem;

    // The update, some points without a label.
    let mut seed = case.seed ^ 5;
    let labels: Vec<i32> = (0..n).map(|_| pick(k + 1, &mut seed) as i32 - 1).collect();
    let given = ArrayRef::from_slice(&labels, &[n]).map_err(said)?;
    let want = centroid_update_with(&points, given, k, &scale).map_err(said)?;
    device.memory.write(device.labels, &labels);
    let found = device.update(all, None)?;
    same("count", &found.counts, &want.counts)?;
    same("mean", &bits(&found.means), &bits(&want.means.into_vec::<F>().unwrap_or_default()))?;
    let report = device.memory.read(device.report, 3);
    let empty = want.counts.iter().filter(|&&count| count == 0).count() as u64;
    same("word of the report", &[report[EMPTY], report[BAD]], &[empty, 0])?;

    if points.computed() == DType::F64 && case.power > 1000 {
        return Ok(device.entries);
    }

    // A fit of one iteration from given centroids. The last is the first again, and so has no points.
    let first = |x: usize| F::from_f64(case.scaled((x as f64 / 2048.0 - 1.0) * 0.5));
    let mut first: Vec<F> = (0..k * d).map(|_| first(pick(1 << 12, &mut seed))).collect();
    first.copy_within(..d, (k - 1) * d);
    let centroids = Array { shape: vec![k, d], values: F::wrap(first.clone()) };
    let settings = KMeans {
        init: Init::Given(centroids),
        iterations: 1,
        tolerance: 0.0,
        empty: EmptyCluster::Keep,
        ..KMeans::new(k)
    };
    let fit = settings.fit(&points).map_err(said)?;
    device.memory.write(device.labels, &vec![0; n]);
    let centre = device.update(Problem { clusters: 1, ..all }, None)?.means;
    same("centre", &bits(&centre), &bits(&fit.centre.into_vec::<F>().unwrap_or_default()))?;
    device.memory.write(device.centre, &centre);
    device.memory.write(device.labels, &vec![-1; n]);
    device.assign(&first)?;
    let means = device.update(all, Some(&first))?.means;
    let after = fit.centroids.into_vec::<F>().unwrap_or_default();
    same("centroid", &bits(&means), &bits(&after))?;
    same("label", &device.assign(&means)?, &fit.labels)?;
    let squares = device.squares(&means)?;
    let wide = Options { dtype: Some(DType::F64), ..Options::default() };
    let inertia = reduce(Op::Sum, ArrayRef::from_slice(&squares, &[n]).map_err(said)?, &wide).map_err(said)?;
    same("inertia", &[inertia.values.get(0).to_f64().to_bits()], &[fit.inertia.to_bits()])?;
    Ok(device.entries)
}

#[test]
fn planned_k_means_has_the_bits_of_the_cpu_and_no_fault() {
    let count = std::env::var("WARPFOLD_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(80);
    let (mut seed, mut wrong, mut ran) = (20, Vec::new(), BTreeSet::new());
    for _ in 0..count {
        let case = Case::random(&mut seed);
        let found = if case.dtype == DType::F64 { check::<f64>(&case) } else { check::<f32>(&case) };
        match found {
            Ok(entries) => ran.extend(entries),
            Err(why) => wrong.push(format!("{case:?}\n{}", why.chars().take(1500).collect::<String>())),
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
