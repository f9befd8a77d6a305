//! k-means by its definition: the bits of core's fixed-point sums, and the label of least score.

use std::collections::BTreeSet;

use warpfold::core::ops::Sum;
use warpfold::core::{Accumulate, tree};
use warpfold::cuda::kmeans::{CentroidUpdate, Lloyd};
use warpfold::cuda::{self, Array, ArrayView, Buffer};
use warpfold::keys::kmeans::Coordinate;
use warpfold::keys::{Axes, Scale};
use warpfold::{ArrayRef, DType, Value, bf16, f16};

use crate::Emulated;

pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed)
    }
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let x = self.0 ^ (self.0 >> 33);
        x.wrapping_mul(0xff51_afd7_ed55_8ccd) >> 16
    }
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    /// Of either sign, over some binades.
    pub(super) fn number(&mut self) -> f32 {
        let x = self.below(1 << 20) as f32 / (1 << 19) as f32 - 1.0;
        x * 2f32.powi(self.below(12) as i32 - 6)
    }
}

/// What points are computed in.
pub(super) trait Fused: Coordinate + Value {
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

/// Points as they lie in memory, and as they are computed with.
pub(super) struct Points<F> {
    pub(super) dtype: DType,
    pub(super) n: usize,
    pub(super) d: usize,
    pub(super) axes: Axes,
    /// Elements from one point, and one coordinate, to the next.
    pub(super) steps: [usize; 2],
    pub(super) bytes: Vec<u8>,
    pub(super) values: Vec<F>,
}

impl<F: Fused> Points<F> {
    pub(super) fn new(dtype: DType, n: usize, d: usize, columns: bool, gap: usize, r: &mut Random) -> Points<F> {
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
        let axes = if columns { Axes::CoordinatesFirst } else { Axes::PointsFirst };
        Points { dtype, n, d, axes, steps, bytes, values }
    }

    /// The points among their bytes on a device.
    pub(super) fn view<'a>(&self, on: &Emulated, there: &'a Buffer<u8>) -> ArrayView<'a> {
        let steps = self.steps.map(|step| (step * self.dtype.size()) as isize);
        let (shape, strides) = match self.axes {
            Axes::PointsFirst => ([self.n, self.d], steps),
            Axes::CoordinatesFirst => ([self.d, self.n], [steps[1], steps[0]]),
        };
        on.view(there, 0, self.dtype, &shape, &strides).expect("points")
    }

    fn greatest(&self) -> Vec<f64> {
        let column = |j: usize| self.values.iter().skip(j).step_by(self.d);
        (0..self.d).map(|j| column(j).fold(0.0, |most: f64, x| most.max(x.to_f64().abs()))).collect()
    }

    /// The scale of points that are smaller by so many powers of two.
    pub(super) fn scale(&self, smaller: i32) -> Scale {
        let greatest = self.greatest();
        let scale = Scale::new(F::DTYPE, greatest.iter().map(|x| x * 2f64.powi(-smaller)).collect());
        let units: Vec<i32> = greatest.iter().map(|&x| F::unit(F::from_f64(x)) - smaller).collect();
        assert_eq!(scale.units(), units);
        scale
    }

    fn about(&self, clusters: usize) -> String {
        format!("{} {}x{} k={clusters} {:?}", self.dtype, self.n, self.d, self.steps)
    }
}

fn bits<F: Fused>(x: &[F]) -> Vec<u64> {
    x.iter().map(|x| x.to_f64().to_bits()).collect()
}

/// Means and counts by the definition. A cluster without points has what it had before, or NaN.
fn expected<F: Fused>(points: &Points<F>, labels: &[i32], clusters: usize, before: Option<&[F]>) -> (Vec<F>, Vec<i64>) {
    let (d, units) = (points.d, points.scale(0).units().to_vec());
    let (mut totals, mut counts) = (vec![F::Total::ZERO; clusters * d], vec![0i64; clusters]);
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
        0 => before.map_or(F::from_f64(f64::NAN), |before| before[i]),
        count => F::mean(totals[i], count as u64, units[i % d]),
    };
    ((0..clusters * d).map(mean).collect(), counts)
}

/// Updates twice, since totals must be zero again. Adds the names of the kernels.
fn update<F: Fused>(points: &Points<F>, labels: &[i32], clusters: usize, entries: &mut BTreeSet<String>) {
    let on = Emulated::of(if points.n.is_multiple_of(2) { 1 } else { 3 });
    let about = points.about(clusters);
    let there = on.upload(&points.bytes);
    let x = points.view(&on, &there);
    let given = on.list(labels);
    let mut update = CentroidUpdate::new(&on.stream, &x, points.axes, clusters, &points.scale(0)).expect("a plan");
    let (mut means, mut counts) = (update.means().expect("room"), update.counts().expect("room"));
    let (want, many) = expected(points, labels, clusters, None);
    let bad = labels.iter().filter(|&&label| label < -1 || label >= clusters as i32).count() as u64;
    for _ in 0..2 {
        update.run(&on.stream, x, given.view(), &mut means, &mut counts).expect("a run");
        assert_eq!(on.numbers::<i64>(&counts), many, "{about}");
        for (i, (got, want)) in on.numbers::<F>(&means).into_iter().zip(&want).enumerate() {
            let (got, want) = (got.to_f64(), want.to_f64());
            let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
            assert!(same, "{about}: {got} instead of {want} at {i}");
        }
        match update.check(&on.stream) {
            Err(cuda::Error::BadLabels { bad: found, .. }) => assert_eq!(found, bad, "{about}"),
            said => assert!(said.is_ok() && bad == 0, "{about}: {said:?}"),
        }
    }
    let launched: Vec<String> = on.emulator.take_launches().into_iter().map(|(entry, _)| entry).collect();
    assert_eq!(launched, [update.kernels(), update.kernels()].concat(), "{about}");
    entries.extend(launched);
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
    let mut entries = BTreeSet::new();
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
                match dtype {
                    DType::F64 => update(&Points::<f64>::new(dtype, n, d, columns, gap, r), &labels, k, &mut entries),
                    _ => update(&Points::<f32>::new(dtype, n, d, columns, gap, r), &labels, k, &mut entries),
                }
            }
        }
    }
    // Every kernel of updates, of every dtype that it is for.
    assert_eq!(entries.len(), 24, "{entries:?}");
}

/// The label of least score, by its definition.
pub(super) fn nearest<F: Fused>(x: &[F], centroids: &[F], centre: &[F]) -> i32 {
    let scores = centroids.chunks(x.len()).map(|c| {
        let c: Vec<F> = c.iter().zip(centre).map(|(c, m)| c.sub(*m)).collect();
        let half = c.iter().fold(F::ZERO, |sum, c| c.fused(*c, sum)).half();
        x.iter().zip(centre).map(|(x, m)| m.sub(*x)).zip(&c).fold(half, |score, (x, c)| x.fused(*c, score))
    });
    scores.enumerate().reduce(|best, next| if next.1 < best.1 { next } else { best }).map_or(0, |(k, _)| k as i32)
}

/// The sum of neighbours, and of these, and so on.
fn pairwise<F: Fused>(x: Vec<F>) -> F {
    let pairs = |x: Vec<F>| x.chunks(2).map(|x| x.iter().copied().reduce(F::add).expect("one or two")).collect();
    if x.len() == 1 { x[0] } else { pairwise(pairs(x)) }
}

/// The scale is that of points that are smaller by so many powers of two, and centroids are closer to the origin by as
/// many; then there is no update. Returns the kernel that finds labels.
fn iterate<F: Fused>(points: &Points<F>, clusters: usize, [smaller, closer]: [i32; 2], r: &mut Random) -> String {
    let (on, d, about) = (Emulated::new(), points.d, points.about(clusters));
    let by = 0.5f64.powi(closer);
    let mut centroids: Vec<F> = (0..clusters * d).map(|_| F::from_f64(r.number() as f64 * by)).collect();
    // The last is a copy of the first: the first of equals counts.
    centroids.copy_within(..d, (clusters - 1) * d);
    let centre: Vec<F> = (0..d).map(|_| F::from_f64(r.number() as f64 * by / 8.0)).collect();
    let want: Vec<i32> = points.values.chunks(d).map(|x| nearest(x, &centroids, &centre)).collect();

    let there = on.upload(&points.bytes);
    let x = points.view(&on, &there);
    let wide: Vec<f64> = centre.iter().map(|x| x.to_f64()).collect();
    let mut lloyd = Lloyd::new(&on.stream, &x, points.axes, clusters, &points.scale(smaller), &wide).expect("a plan");
    let given = ArrayRef::from_slice(&centroids, &[clusters, d]).expect("centroids");
    let given = Array::upload(&on.stream, given).expect("room");
    let mut labels = on.list(&vec![-1i32; points.n]);
    lloyd.assign(&on.stream, x, &given, &mut labels).expect("labels");
    assert_eq!(on.numbers::<i32>(&labels), want, "{about}");

    // The squares of the distances.
    let squares = lloyd.squares::<F>(&on.stream, x, &given, &labels).expect("squares");
    for (i, got) in squares.iter().enumerate() {
        let c = &centroids[want[i] as usize * d..][..d];
        let terms = points.values[i * d..][..d].iter().zip(c).map(|(x, c)| x.sub(*c)).map(|d| d.mul(d));
        assert_eq!(got.to_f64().to_bits(), pairwise::<F>(terms.collect()).to_f64().to_bits(), "{about}");
    }
    let inertia = lloyd.inertia(&on.stream, x, &given, &labels).expect("an inertia");
    let sum = tree::reduce(&Sum::<f64>::total(), squares.iter().map(|x| x.to_f64())).expect("a point");
    assert_eq!(inertia.to_bits(), sum.to_bits(), "{about}");

    if smaller == 0 && closer == 0 {
        let (want_means, counts) = expected(points, &want, clusters, Some(&centroids));
        let moves = want_means.iter().zip(&centroids).map(|(a, b)| (a.to_f64() - b.to_f64()).powi(2));
        let shift = tree::reduce(&Sum::<f64>::total(), moves).expect("a coordinate");
        let mut means = Array::new(&on.device, F::DTYPE, &[clusters, d]).expect("room");
        labels.fill(&on.stream, 0xff).expect("filled");
        // Twice: the second time no label has changed, and totals must be zero again.
        for changed in [true, false] {
            lloyd.forget(&on.stream).expect("forgotten");
            lloyd.iterate(&on.stream, x, &given, &mut labels, &mut means).expect("an iteration");
            assert_eq!(on.numbers::<i32>(&labels), want, "{about}");
            assert_eq!(bits::<F>(&on.numbers(&means)), bits(&want_means), "{about}");
            let done = lloyd.done(&on.stream).expect("a report");
            let empty = counts.iter().filter(|&&count| count == 0).count() as u64;
            assert_eq!((done.changed, done.empty), (changed, empty), "{about}");
            assert_eq!(done.shift.to_bits(), shift.to_bits(), "{about}");
        }
    }
    let finds = |entry: &&str| ["rough", "near", "direct", "assign"].iter().any(|kind| entry.contains(kind));
    lloyd.kernels().into_iter().find(finds).expect("a kernel that finds labels").to_owned()
}

#[test]
fn iterations_have_the_bits_of_the_definition() {
    let r = &mut Random(2);
    let mut entries = BTreeSet::new();
    let shapes = [
        (1, 1, 2),
        (400, 16, 16),
        (900, 1, 16),
        (140, 32, 40),
        (200, 7, 90),
        (140, 20, 130),
        (70, 100, 70),
        (260, 8, 5),
        (40, 9, 1),
        (140, 12, 90),
        (130, 50, 33),
        (70, 130, 9),
    ];
    for (i, (n, d, k)) in shapes.into_iter().enumerate() {
        for (j, dtype) in DTYPES.into_iter().enumerate() {
            // Both ways of some shapes, and one of the others.
            for columns in [false, true].into_iter().filter(|columns| i < 4 || *columns == ((i + j) % 2 == 0)) {
                let gap = [0, 8, 3][(i + columns as usize) % 3];
                entries.insert(match dtype {
                    DType::F64 => iterate(&Points::<f64>::new(dtype, n, d, columns, gap, r), k, [0, 0], r),
                    _ => iterate(&Points::<f32>::new(dtype, n, d, columns, gap, r), k, [0, 0], r),
                });
            }
        }
    }
    assert_eq!(entries.len(), 25, "{entries:?}");
}

#[test]
fn labels_are_exact_where_rough_scores_overflow_or_underflow() {
    let r = &mut Random(3);
    let mut entries = BTreeSet::new();
    for smaller in [-100, -40, -20, 6, 16, 40] {
        for (d, k) in [(20, 40), (12, 40), (12, 90)] {
            let points = Points::<f32>::new(DType::F32, 100, d, false, 0, r);
            entries.insert(iterate(&points, k, [smaller, 0], r));
        }
    }
    assert_eq!(entries.len(), 3, "{entries:?}");
}

#[test]
fn labels_are_exact_where_points_are_far_from_all_centroids() {
    let r = &mut Random(5);
    for closer in [2, 5, 12, 40, 100] {
        for (d, k) in [(5, 9), (12, 40), (12, 90), (12, 700), (30, 20)] {
            iterate(&Points::<f32>::new(DType::F32, 90, d, false, 0, r), k, [0, closer], r);
        }
    }
}

#[test]
fn few_labels_are_left_to_exact_scores() {
    let r = &mut Random(4);
    for (d, clusters, most) in [(128, 40, [60, 10]), (32, 60, [60, 10]), (16, 100, [60, 10])] {
        let left = left_to_exact_scores(256, d, clusters, r);
        assert!(left[0] < most[0] && left[1] < most[1], "{left:?} of {d} coordinates and {clusters} clusters");
    }
}

/// How many points neither rough nor fine scores have settled.
fn left_to_exact_scores(n: usize, d: usize, clusters: usize, r: &mut Random) -> [u32; 2] {
    // All magnitudes are close to the greatest, which is just below a power of two.
    let values: Vec<f32> = (0..n * d).map(|_| 3.99 * (r.below(1 << 20) as f32 / (1 << 19) as f32 - 1.0)).collect();
    let bytes = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    let points = Points { dtype: DType::F32, n, d, axes: Axes::PointsFirst, steps: [d, 1], bytes, values };
    let on = Emulated::new();
    let there = on.upload(&points.bytes);
    let (x, zeros) = (points.view(&on, &there), vec![0.0; d]);
    let mut lloyd = Lloyd::new(&on.stream, &x, points.axes, clusters, &points.scale(0), &zeros).expect("a plan");
    let given = ArrayRef::from_slice(&points.values[..clusters * d], &[clusters, d]).expect("centroids");
    let given = Array::upload(&on.stream, given).expect("room");
    let mut labels = on.list(&vec![-1i32; n]);
    lloyd.assign(&on.stream, x, &given, &mut labels).expect("labels");
    lloyd.unsettled(&on.stream).expect("numbers").expect("labels found in rounds")
}
