//! k-means in the emulator: no fault, and the bits of core's fixed-point sums.

use warpfold_core::{Accumulate, DType, Fixed, bf16, f16};
use warpfold_emulator::{Memory, Report};
use warpfold_kernels::Production;
use warpfold_gpu::plan::kmeans::{Launch, Problem};
use warpfold_kernels::kmeans::{emulate, sort};
use warpfold_simt::{Global, Pod};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let x = self.0 ^ (self.0 >> 33);
        x.wrapping_mul(0xff51_afd7_ed55_8ccd) >> 16
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    /// Of either sign, over some binades.
    fn number(&mut self) -> f32 {
        let x = self.below(1 << 20) as f32 / (1 << 19) as f32 - 1.0;
        x * 2f32.powi(self.below(12) as i32 - 6)
    }
}

/// Points as they lie in memory, and as they are computed with.
struct Points<F> {
    dtype: DType,
    n: usize,
    d: usize,
    /// Elements from one point, and one coordinate, to the next.
    steps: [usize; 2],
    bytes: Vec<u8>,
    values: Vec<F>,
}

impl<F: Fixed> Points<F> {
    fn new(dtype: DType, n: usize, d: usize, columns: bool, gap: usize, r: &mut Random) -> Points<F> {
        let steps = if columns { [1, n + gap] } else { [d + gap, 1] };
        let mut memory = vec![0f64; (n.max(1) - 1) * steps[0] + (d - 1) * steps[1] + 1];
        let mut values = Vec::new();
        for i in 0..n {
            for j in 0..d {
                let x = r.number();
                let x = match dtype {
                    DType::F16 => f16::from_f32(x).to_f64(),
                    DType::BF16 => bf16::from_f32(x).to_f64(),
                    DType::F64 => x as f64 * std::f64::consts::PI,
                    _ => x as f64,
                };
                memory[i * steps[0] + j * steps[1]] = x;
                values.push(F::from_f64(x));
            }
        }
        let bytes = memory
            .iter()
            .flat_map(|&x| match dtype {
                DType::F16 => f16::from_f64(x).to_bits().to_le_bytes().to_vec(),
                DType::BF16 => bf16::from_f64(x).to_bits().to_le_bytes().to_vec(),
                DType::F64 => x.to_le_bytes().to_vec(),
                _ => (x as f32).to_le_bytes().to_vec(),
            })
            .collect();
        Points { dtype, n, d, steps, bytes, values }
    }

    fn problem(&self, address: u64, clusters: usize) -> Problem {
        let size = self.dtype.size();
        let [along, across] = self.steps.map(|step| (step * size) as isize);
        Problem { dtype: self.dtype, n: self.n, dimensions: self.d, along, across, address, clusters }
    }

    fn units(&self) -> Vec<i32> {
        let column = |j: usize| self.values.iter().skip(j).step_by(self.d);
        (0..self.d).map(|j| F::unit(F::from_f64(column(j).fold(0.0, |a: f64, x| a.max(x.to_f64().abs()))))).collect()
    }
}

fn run(memory: &Memory, launch: &Launch, addresses: &[u64]) -> Report {
    let mut params = launch.params.clone();
    params[..addresses.len()].copy_from_slice(addresses);
    let production = Production { entry: &launch.entry, grid: launch.grid, block: launch.block, params: &params };
    emulate(memory, production).expect(&launch.entry).unwrap_or_else(|faults| panic!("{}: {faults}", launch.entry))
}

fn at<T>(array: Global<T>) -> u64 {
    array.as_ptr().addr() as u64
}

/// Means and counts by the definition.
fn expected<F: Fixed>(points: &Points<F>, labels: &[i32], clusters: usize, before: &[F]) -> (Vec<u64>, Vec<u64>) {
    let (d, units) = (points.d, points.units());
    let (mut totals, mut counts) = (vec![F::Total::ZERO; clusters * d], vec![0u64; clusters]);
    for (x, &label) in points.values.chunks(d).zip(labels) {
        if (0..clusters as i32).contains(&label) {
            counts[label as usize] += 1;
            for j in 0..d {
                let total = &mut totals[label as usize * d + j];
                *total = F::plus(*total, x[j].quantize(F::scale(units[j])));
            }
        }
    }
    let mean = |i: usize| match counts[i / d] {
        0 => before[i],
        count => F::mean(totals[i], count, units[i % d]),
    };
    ((0..clusters * d).map(|i| mean(i).to_f64().to_bits()).collect(), counts)
}

fn update<F: Fixed + Pod>(points: &Points<F>, labels: &[i32], clusters: usize) -> Vec<String> {
    let mut memory = Memory::new();
    let units = points.units();
    let scales: Vec<F> = units.iter().map(|&unit| F::scale(unit)).collect();
    let x: Global<u8> = memory.upload("points", &points.bytes);
    let given = memory.upload("labels", labels);
    let scales = memory.upload("scales", &scales);
    let problem = points.problem(at(x), clusters);
    let words = problem.totals();
    let totals = memory.upload("totals", &vec![0u64; words]);
    let order = memory.alloc::<u32>("order", 2 * points.n);
    let cursors = memory.alloc::<u64>("cursors", sort::cursors(clusters));
    let before: Vec<F> = (0..clusters * points.d).map(|i| F::from_f64(i as f64)).collect();
    let means = memory.alloc::<F>("means", clusters * points.d);
    let counts = memory.alloc::<u64>("counts", clusters);
    let units = memory.upload("units", &units);
    let old = memory.upload("before", &before);
    let moves = memory.alloc::<f64>("moves", clusters * points.d);
    let report = memory.upload("report", &[0u64; 3]);
    let made = [at(report), at(means), at(counts), at(units), at(old), at(moves)];
    let mut addresses = vec![at(x), at(given), at(scales), at(totals), at(order), at(cursors), 0, 0];
    addresses.extend(made);
    let launches = problem.update(if points.n.is_multiple_of(2) { 1 } else { 3 });
    for launch in &launches {
        run(&memory, launch, &addresses);
    }
    assert_eq!(launches.len() > 1, problem.is_sorted());
    if !problem.finishes() {
        run(&memory, &problem.finish(), &addresses);
    }
    let (want, many) = expected(points, labels, clusters, &before);
    let got: Vec<u64> = memory.read(means, clusters * points.d).iter().map(|x: &F| x.to_f64().to_bits()).collect();
    let about = format!("{} {}x{} k={clusters} {:?} {launches:?}", points.dtype, points.n, points.d, points.steps);
    assert_eq!(memory.read(counts, clusters), many, "{about}");
    assert_eq!(got, want, "{about}");
    assert!(memory.read(totals, words).iter().all(|&x| x == 0), "totals are not zero again");
    let bad = labels.iter().filter(|&&label| label < -1 || label >= clusters as i32).count();
    let empty = many.iter().filter(|&&count| count == 0).count();
    assert_eq!(memory.read(report, 3), [empty as u64, bad as u64, 0]);
    for (i, square) in memory.read(moves, clusters * points.d).into_iter().enumerate() {
        assert_eq!(square, (f64::from_bits(want[i]) - before[i].to_f64()).powi(2));
    }
    launches.into_iter().map(|launch| launch.entry).collect()
}

fn labels(n: usize, clusters: usize, r: &mut Random) -> Vec<i32> {
    // Some clusters have most points.
    let skewed = r.below(3) == 0;
    let one = |r: &mut Random| r.below(clusters as u64 + 1) as i32 - 1;
    (0..n).map(|_| if skewed && r.below(4) > 0 { 0 } else { one(r) }).collect()
}

const DTYPES: [DType; 4] = [DType::F32, DType::F16, DType::BF16, DType::F64];

#[test]
fn updates_have_the_bits_of_core() {
    let r = &mut Random(1);
    let mut entries = std::collections::BTreeSet::new();
    let shapes = [
        (1, 1, 1),
        (100, 16, 3),
        (5000, 1, 16),
        (3000, 3, 7),
        (2500, 32, 40),
        (4100, 8, 100),
        (700, 40, 300),
        (3000, 5, 600),
        (900, 128, 64),
        (5000, 1, 9000),
        (5000, 1, 40),
    ];
    for (i, (n, d, k)) in shapes.into_iter().enumerate() {
        for dtype in DTYPES {
            for columns in [false, true] {
                let gap = [0, 8, 3][(i + columns as usize) % 3];
                let mut labels = labels(n, k, r);
                if i == 3 {
                    labels[n / 2..][..3].copy_from_slice(&[k as i32, -2, i32::MIN]);
                }
                entries.extend(match dtype {
                    DType::F64 => update(&Points::<f64>::new(dtype, n, d, columns, gap, r), &labels, k),
                    _ => update(&Points::<f32>::new(dtype, n, d, columns, gap, r), &labels, k),
                });
            }
        }
    }
    println!("{entries:?}");
    assert!(entries.len() == 22, "{entries:?}");
}

trait Fused: Fixed + Pod {
    /// `self · a + b`, rounded once.
    fn fused(self, a: Self, b: Self) -> Self;
}
impl Fused for f32 {
    fn fused(self, a: f32, b: f32) -> f32 {
        self.mul_add(a, b)
    }
}
impl Fused for f64 {
    fn fused(self, a: f64, b: f64) -> f64 {
        self.mul_add(a, b)
    }
}

/// The label of least score, by its definition.
fn nearest<F: Fused>(x: &[F], centroids: &[F], centre: &[F]) -> i32 {
    let scores = centroids.chunks(x.len()).map(|c| {
        let c: Vec<F> = c.iter().zip(centre).map(|(c, m)| c.sub(*m)).collect();
        let half = c.iter().fold(F::ZERO, |sum, c| c.fused(*c, sum)).half();
        x.iter().zip(centre).map(|(x, m)| m.sub(*x)).zip(&c).fold(half, |score, (x, c)| x.fused(*c, score))
    });
    scores.enumerate().reduce(|best, next| if next.1 < best.1 { next } else { best }).map_or(0, |(k, _)| k as i32)
}

/// The sum of neighbours, and of these, and so on.
fn tree<F: Fused>(x: Vec<F>) -> F {
    let pairs = |x: Vec<F>| x.chunks(2).map(|x| x.iter().copied().reduce(F::add).expect("one or two")).collect();
    if x.len() == 1 { x[0] } else { tree(pairs(x)) }
}

fn iterate<F: Fused>(points: &Points<F>, clusters: usize, r: &mut Random) -> String {
    unusual(points, clusters, 0, 0, r)
}

/// The scale is that of points that are smaller by so many powers of two, and centroids are closer to the origin by as many; then there is no update.
fn unusual<F: Fused>(points: &Points<F>, clusters: usize, smaller: i32, closer: i32, r: &mut Random) -> String {
    let (n, d) = (points.n, points.d);
    let by = 0.5f64.powi(closer);
    let mut centroids: Vec<F> = (0..clusters * d).map(|_| F::from_f64(r.number() as f64 * by)).collect();
    // The last is a copy of the first: the first of equals counts.
    centroids.copy_within(..d, (clusters - 1) * d);
    let centre: Vec<F> = (0..d).map(|_| F::from_f64(r.number() as f64 * by / 8.0)).collect();
    let want: Vec<i32> = points.values.chunks(d).map(|x| nearest(x, &centroids, &centre)).collect();
    let mut memory = Memory::new();
    let units: Vec<i32> = points.units().into_iter().map(|unit| unit - smaller).collect();
    let scales: Vec<F> = units.iter().map(|&unit| F::scale(unit)).collect();
    let x: Global<u8> = memory.upload("points", &points.bytes);
    let labels = memory.upload("labels", &vec![-1i32; n]);
    let scales = memory.upload("scales", &scales);
    let problem = points.problem(at(x), clusters);
    let totals = memory.upload("totals", &vec![0u64; problem.totals()]);
    let c = memory.upload("centroids", &centroids);
    let m = memory.upload("centre", &centre);
    let report = memory.upload("report", &[0u64; 3]);
    let order = memory.alloc::<F>("centroids to find labels by", problem.centroids().div_ceil(size_of::<F>()));
    let unsure = memory.alloc::<u32>("points that are not sure", problem.unsure());
    let means = memory.alloc::<F>("means", clusters * d);
    let units_there = memory.upload("units", &units);
    let addresses = |order: u64| {
        let first = [at(x), at(labels), at(scales), at(totals), order, at(unsure), at(c), at(m), at(report)];
        [&first[..], &[at(means), 0, at(units_there), at(c), 0]].concat()
    };
    let about = format!("{} {n}x{d} k={clusters} {:?}", points.dtype, points.steps);
    let assign = problem.assign(1);
    for launch in &assign {
        run(&memory, launch, &addresses(at(order)));
    }
    assert_eq!(memory.read(labels, n), want, "{about}");
    assert_eq!(memory.read(report, 3), [0, 0, 1]);
    // Again: no label has changed.
    memory.write(report, &[0u64; 3]);
    for launch in &assign {
        run(&memory, launch, &addresses(at(order)));
    }
    assert_eq!(memory.read(report, 3), [0, 0, 0]);
    // The squares of the distances.
    let squares = memory.alloc::<F>("squares", n);
    run(&memory, &problem.distances(), &addresses(at(squares)));
    for (i, got) in memory.read(squares, n).into_iter().enumerate() {
        let c = &centroids[want[i] as usize * d..][..d];
        let terms = points.values[i * d..][..d].iter().zip(c).map(|(x, c)| x.sub(*c)).map(|d| d.mul(d));
        assert_eq!(got.to_f64().to_bits(), tree(terms.collect()).to_f64().to_bits(), "{about}");
    }
    let entry = assign.get(1).unwrap_or(&assign[0]).entry.clone();
    if problem.is_sorted() || smaller != 0 || closer != 0 {
        return entry;
    }
    let (means_want, counts) = expected(points, &want, clusters, &centroids);
    let empty = counts.iter().filter(|&&n| n == 0).count() as u64;
    let finish = (!problem.finishes()).then(|| problem.finish());
    for launch in problem.update(1).iter().chain(&finish) {
        run(&memory, launch, &addresses(0));
    }
    assert_eq!(memory.read(report, 3), [empty, 0, 0]);
    let got: Vec<u64> = memory.read(means, clusters * d).iter().map(|x: &F| x.to_f64().to_bits()).collect();
    assert_eq!(got, means_want, "{about}");
    assert!(memory.read(totals, problem.totals()).iter().all(|&x| x == 0), "totals are not zero again");
    entry
}

#[test]
fn iterations_have_the_bits_of_the_definition() {
    let r = &mut Random(2);
    let mut entries = std::collections::BTreeSet::new();
    let shapes = [
        (1, 1, 2),
        (2500, 16, 16),
        (3000, 1, 16),
        (700, 32, 40),
        (900, 7, 90),
        (300, 20, 130),
        (150, 100, 70),
        (260, 8, 5),
        (40, 9, 1),
        (300, 12, 90),
        (130, 50, 33),
        (70, 130, 9),
    ];
    for (i, (n, d, k)) in shapes.into_iter().enumerate() {
        for dtype in DTYPES {
            for columns in [false, true] {
                let gap = [0, 8, 3][(i + columns as usize) % 3];
                entries.insert(match dtype {
                    DType::F64 => iterate(&Points::<f64>::new(dtype, n, d, columns, gap, r), k, r),
                    _ => iterate(&Points::<f32>::new(dtype, n, d, columns, gap, r), k, r),
                });
            }
        }
    }
    println!("{entries:?}");
    assert_eq!(entries.len(), 25, "{entries:?}");
}

#[test]
fn labels_are_exact_where_rough_scores_overflow_or_underflow() {
    let r = &mut Random(3);
    let mut entries = std::collections::BTreeSet::new();
    for smaller in [-100, -40, -20, 6, 16, 40] {
        for (d, k) in [(20, 40), (12, 40), (12, 90)] {
            entries.insert(unusual(&Points::<f32>::new(DType::F32, 100, d, false, 0, r), k, smaller, 0, r));
        }
    }
    assert_eq!(entries.len(), 3, "{entries:?}");
}

#[test]
fn labels_are_exact_where_points_are_far_from_all_centroids() {
    let r = &mut Random(5);
    for closer in [2, 5, 12, 40, 100] {
        for (d, k) in [(5, 9), (12, 40), (12, 90), (12, 700), (30, 20)] {
            unusual(&Points::<f32>::new(DType::F32, 90, d, false, 0, r), k, 0, closer, r);
        }
    }
}

#[test]
fn few_labels_are_left_to_exact_scores() {
    let r = &mut Random(4);
    for (d, clusters, most) in [(128, 40, [60, 10]), (32, 60, [60, 10]), (16, 100, [60, 10])] {
        let left = left_to_exact_scores(256, d, clusters, r);
        println!("{d} coordinates, {clusters} clusters: {left:?}");
        assert!(left[0] < most[0] && left[1] < most[1], "{left:?} of {d} coordinates and {clusters} clusters");
    }
}

/// How many points neither rough nor fine scores have settled.
fn left_to_exact_scores(n: usize, d: usize, clusters: usize, r: &mut Random) -> [u32; 2] {
    // All magnitudes are close to the greatest, which is just below a power of two.
    let values: Vec<f32> = (0..n * d).map(|_| 3.99 * (r.below(1 << 20) as f32 / (1 << 19) as f32 - 1.0)).collect();
    let bytes = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    let points = Points { dtype: DType::F32, n, d, steps: [d, 1], bytes, values };
    let scales: Vec<f32> = points.units().iter().map(|&unit| f32::scale(unit)).collect();
    let mut memory = Memory::new();
    let x: Global<u8> = memory.upload("points", &points.bytes);
    let problem = points.problem(at(x), clusters);
    let labels = memory.upload("labels", &vec![-1i32; n]);
    let (scales, centre) = (memory.upload("scales", &scales), memory.upload("centre", &vec![0f32; d]));
    let centroids = memory.upload("centroids", &points.values[..clusters * d]);
    let order = memory.alloc::<f32>("centroids to find labels by", problem.centroids() / 4);
    let (unsure, report) = (memory.alloc::<u32>("points", problem.unsure()), memory.upload("report", &[0u64; 3]));
    let addresses = [at(x), at(labels), at(scales), 0, at(order), at(unsure), at(centroids), at(centre), at(report)];
    for launch in problem.assign(1) {
        run(&memory, &launch, &addresses);
    }
    let lists = memory.read(unsure, problem.unsure());
    [lists[0], lists[n + 1]]
}
