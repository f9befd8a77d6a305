//! k-means on a real GPU: the bits of the CPU.

use crate::reference::Random;
use crate::{gpu, numbers};
use ndarray::Array2;
use warpfold::cuda::kmeans::{CentroidUpdate, Lloyd, centroid_update, fit, scale};
use warpfold::cuda::{Array, Stream};
use warpfold::keys::{Axes, EmptyCluster, Init};
use warpfold::{ArrayRef, DType, DeviceName, KMeans, Points, Values, bf16, f16};

/// Points as bytes of their dtype, with gaps between them, in either layout.
struct Case {
    dtype: DType,
    n: usize,
    d: usize,
    k: usize,
    axes: Axes,
    gap: usize,
    bytes: Vec<u8>,
}

impl Case {
    fn new(r: &mut Random) -> Case {
        let dtype = [DType::F32, DType::F16, DType::BF16, DType::F64][r.below(4)];
        let d = [1, 2, 3, 8, 16, 24, 32, 40, 128, 200][r.below(10)];
        let most = [100, 5_000, 200_000][r.below(3)];
        let n = 1 + r.below(most).min(4_000_000 / d);
        let most = [4, 20, 100, 700, 10_000][r.below(5)];
        let k = 1 + r.below(most.min(n));
        let axes = [Axes::PointsFirst, Axes::CoordinatesFirst][r.below(2)];
        let gap = [0, 0, 8, 3][r.below(4)];
        let shift = [0.0, 0.0, 100.0][r.below(3)];
        let len = if axes == Axes::PointsFirst { n * (d + gap) } else { d * (n + gap) };
        let x = numbers(len, r.next()).into_iter().map(|x| x + shift);
        let bytes = x.flat_map(|x| match dtype {
            DType::F16 => f16::from_f32(x).to_le_bytes().to_vec(),
            DType::BF16 => bf16::from_f32(x).to_le_bytes().to_vec(),
            // With all bits of it.
            DType::F64 => (f64::from(x) * std::f64::consts::PI).to_le_bytes().to_vec(),
            _ => x.to_le_bytes().to_vec(),
        });
        Case { dtype, n, d, k, axes, gap, bytes: bytes.collect() }
    }

    /// With the gaps, and without.
    fn shapes(&self) -> [[usize; 2]; 2] {
        let gap = self.gap;
        match self.axes {
            Axes::PointsFirst => [[self.n, self.d + gap], [self.n, self.d]],
            Axes::CoordinatesFirst => [[self.d, self.n + gap], [self.d, self.n]],
        }
    }

    fn host(&self) -> ArrayRef<'_> {
        let ([all, shape], size) = (self.shapes(), self.dtype.size() as isize);
        let strides = [all[1] as isize * size, size];
        // SAFETY: the bytes have all rows with their gaps.
        unsafe { ArrayRef::from_raw(self.bytes.as_ptr(), self.dtype, &shape, &strides) }.expect("an array")
    }

    fn upload(&self, stream: &Stream) -> Array {
        let [all, _] = self.shapes();
        let dense = ArrayRef::from_bytes(&self.bytes, self.dtype, &all, warpfold::Order::C, false).expect("an array");
        Array::upload(stream, dense).expect("upload")
    }

    fn labels(&self, r: &mut Random) -> Vec<i32> {
        let skewed = r.chance(30);
        let mut one = || if skewed && r.chance(80) { 0 } else { r.below(self.k + 1) as i32 - 1 };
        (0..self.n).map(|_| one()).collect()
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}x{} k={} {:?} gap {}", self.dtype, self.n, self.d, self.k, self.axes, self.gap)
    }
}

#[test]
fn updates_have_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let stream = Stream::new(&gpu).expect("a stream");
    let mut entries = std::collections::BTreeSet::new();
    for seed in 0..150 {
        let r = &mut Random(seed * 91 + 7);
        let case = Case::new(r);
        let labels = case.labels(r);
        let labels = ArrayRef::from_slice(&labels, &[case.n]).expect("labels");
        let points = Points::new(case.host(), case.axes).expect("points");
        let want = warpfold::centroid_update(&points, labels, case.k).expect("means");
        let (all, on_device) = (case.upload(&stream), Array::upload(&stream, labels).expect("upload"));
        let axis = (case.axes == Axes::CoordinatesFirst) as usize;
        let view = all.view().slice(1, 0..if axis == 1 { case.n } else { case.d }).expect("a slice");
        let found = scale(&stream, view, case.axes).expect("a scale");
        assert_eq!(found, points.scale().expect("a scale"), "{case}");
        let mut update = CentroidUpdate::new(&stream, &view, case.axes, case.k, &found).expect("a plan");
        let (mut means, mut counts) = (update.means().expect("room"), update.counts().expect("room"));
        // Twice, since a run leaves its sums as it finds them.
        for _ in 0..2 {
            update.run(&stream, view, on_device.view(), &mut means, &mut counts).expect("a run");
            update.check(&stream).expect("good labels");
            let got = (means.download(&stream).expect("means"), counts.download(&stream).expect("counts"));
            assert_eq!(got.1.into_vec::<i64>().expect("counts"), want.counts, "{case} by {:?}", update.kernels());
            assert!(bits(&got.0) == bits(&want.means), "{case} by {:?}", update.kernels());
        }
        entries.extend(update.kernels().into_iter().map(str::to_owned));
    }
    println!("{entries:?}");
    assert!(entries.len() > 12, "{entries:?}");
}

fn bits(array: &warpfold::Array) -> Vec<u64> {
    (0..array.values.len()).map(|i| array.values.get(i).bits().0).collect()
}

#[test]
fn fits_have_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let stream = Stream::new(&gpu).expect("a stream");
    for seed in 0..60 {
        let r = &mut Random(seed * 17 + 3);
        let mut case = Case::new(r);
        case.k = case.k.min(300);
        let points = Points::new(case.host(), case.axes).expect("points");
        let init = match r.below(3) {
            0 => Init::PlusPlus,
            1 => Init::Random,
            _ => {
                // Some far away, so that clusters lose all points.
                let mut first = numbers(case.k * case.d, r.next());
                first.iter_mut().skip(case.d).take(2 * case.d).for_each(|x| *x += 1e4);
                Init::Given(warpfold::Array { shape: vec![case.k, case.d], values: Values::F32(first) })
            }
        };
        let empty = [EmptyCluster::Farthest, EmptyCluster::Keep][r.below(2)];
        let settings =
            KMeans { init, empty, seed, iterations: 1 + r.below(6), runs: 1 + r.below(2), ..KMeans::new(case.k) };
        let mut steps = Vec::new();
        let want = settings.fit_with(&points, &mut |step| steps.push(step)).expect("clusters");
        let all = case.upload(&stream);
        let view = all.view().slice(1, 0..case.shapes()[1][1]).expect("a slice");
        let mut told = Vec::new();
        let got = fit(&stream, &settings, view, case.axes, Some(&mut |step| told.push(step))).expect("clusters");
        assert!(got == want, "{case} {settings:?}: {} and {}", got.inertia, want.inertia);
        assert_eq!(told, steps, "{case}");
        let got = warpfold::kmeans_on(DeviceName::Cuda(0), &settings, &points, None).expect("clusters");
        assert!(got == want, "{case} {settings:?} from the host");
    }
}

/// Of many clusters and coordinates: labels come of products of matrices.
#[test]
fn labels_of_many_clusters_have_the_bits_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let stream = Stream::new(&gpu).expect("a stream");
    let shapes = [
        (16_000, 128, 1024),
        (16_000, 64, 2048),
        (5_000, 100, 200),
        (3_001, 33, 129),
        (257, 128, 128),
        (20_000, 64, 300),
    ];
    for (i, (n, d, k)) in shapes.into_iter().enumerate() {
        for (j, dtype) in [DType::F32, DType::F16, DType::BF16].into_iter().enumerate() {
            // Sums of four are closer to normal.
            let x = numbers(4 * n * d, (i * 7 + j) as u64);
            let shift = if i % 2 == 0 { 0.0 } else { 3.0 };
            let x = x.chunks(4).map(|x| x.iter().sum::<f32>() + shift);
            let bytes = x.flat_map(|x| match dtype {
                DType::F16 => f16::from_f32(x).to_le_bytes().to_vec(),
                DType::BF16 => bf16::from_f32(x).to_le_bytes().to_vec(),
                _ => x.to_le_bytes().to_vec(),
            });
            let axes = [Axes::PointsFirst, Axes::CoordinatesFirst][usize::from(i == 3)];
            let case = Case { dtype, n, d, k, axes, gap: 0, bytes: bytes.collect() };
            let points = Points::new(case.host(), axes).expect("points");
            let settings = KMeans { init: Init::Random, seed: 3, iterations: 2, ..KMeans::new(k) };
            let want = settings.fit(&points).expect("clusters");
            let all = case.upload(&stream);
            let began = std::time::Instant::now();
            let got = fit(&stream, &settings, all.view(), axes, None).expect("clusters");
            println!("{case}: {:?}", began.elapsed());
            let differ = got.labels.iter().zip(&want.labels).filter(|(a, b)| a != b).count();
            assert!(got == want, "{case}: {differ} labels differ");
        }
    }
}

#[test]
fn mistakes_are_told() {
    let Some(gpu) = gpu() else { return };
    let stream = Stream::new(&gpu).expect("a stream");
    let mut x = Array2::from_shape_vec((500, 3), numbers(1500, 2)).expect("a shape");
    let upload = |x: &Array2<f32>| {
        let x = ArrayRef::from_slice(x.as_slice().expect("dense"), &[500, 3]).expect("a shape");
        Array::upload(&stream, x).expect("upload")
    };
    let labels = |label: i32| {
        let labels: Vec<i32> = (0..500).map(|i| if i == 77 { label } else { i % 4 }).collect();
        Array::upload(&stream, ArrayRef::from_slice(&labels, &[500]).expect("a shape")).expect("upload")
    };
    let points = upload(&x);
    let run = |label| centroid_update(&stream, points.view(), Axes::PointsFirst, labels(label).view(), 4);
    assert!(run(-1).is_ok());
    for bad in [4, -2, i32::MIN, i32::MAX] {
        let said = run(bad).expect_err("a bad label").to_string();
        assert!(said.contains("1 labels are out of range: give 0 to 3"), "{said}");
    }
    let found = scale(&stream, points.view(), Axes::PointsFirst).expect("a scale");
    let lloyd = Lloyd::new(&stream, &points.view(), Axes::PointsFirst, 4, &found, &[0.0; 2]);
    assert!(lloyd.err().expect("a wrong centre").to_string().contains("2 coordinates"));
    x[[123, 1]] = f32::NAN;
    let said = fit(&stream, &KMeans::new(2), upload(&x).view(), Axes::PointsFirst, None).expect_err("a NaN");
    assert!(said.to_string().contains("point 123 is not finite: coordinate 1 is NaN"), "{said}");
    let wide = [0.0, 1.0, f64::INFINITY];
    let wide = Array::upload(&stream, ArrayRef::from_slice(&wide, &[3]).expect("a shape")).expect("upload");
    let said = fit(&stream, &KMeans::new(2), wide.view(), Axes::PointsFirst, None).expect_err("an infinity");
    assert!(said.to_string().contains("point 2 is not finite: coordinate 0 is inf"), "{said}");
}
