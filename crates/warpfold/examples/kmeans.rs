//! Times the update step and whole iterations of k-means on the first GPU: medians by the GPU's clock, beside one read of points
//! and labels at the speed of a sum over the points.
//!
//! `cargo run --release -p warpfold --example kmeans`; further words choose cases whose line contains one of them.

use warpfold::cuda::kmeans::{CentroidUpdate, Lloyd, scale};
use warpfold::cuda::{Array, Device, Event, Options, Reduction, Stream};
use warpfold::keys::{Axes, centroid_update_with};
use warpfold::{ArrayRef, DType, Op, Points, f16};

/// Points, coordinates, clusters, dtype.
const CASES: [(usize, usize, usize, DType); 7] = [
    (1 << 20, 1, 16, DType::F32),
    (1 << 20, 16, 16, DType::F32),
    (1 << 20, 128, 1024, DType::F32),
    (1 << 20, 128, 1024, DType::F16),
    (1 << 20, 128, 16384, DType::F16),
    (1 << 23, 32, 256, DType::F32),
    (1 << 24, 16, 64, DType::F32),
];

const SAMPLES: usize = 9;

fn main() -> Result<(), warpfold::Error> {
    let stream = Stream::new(&Device::shared(0)?)?;
    let words: Vec<String> = std::env::args().skip(1).collect();
    println!("{:?}", stream.device());
    for (n, d, k, dtype) in CASES {
        let name = format!("({n}, {d}, {k}, {dtype})");
        if words.is_empty() || words.iter().any(|word| name.contains(word.as_str())) {
            case(&stream, &name, n, d, k, dtype)?;
        }
    }
    Ok(())
}

fn case(stream: &Stream, name: &str, n: usize, d: usize, k: usize, dtype: DType) -> Result<(), warpfold::Error> {
    let mix = |i: usize| (i as u32).wrapping_mul(2_654_435_761).rotate_left(13).wrapping_mul(0x85eb_ca6b);
    let x: Vec<f32> = (0..n * d).map(|i| mix(i) as f32 / (1u64 << 31) as f32 - 1.0).collect();
    let half: Vec<f16> = if dtype == DType::F16 { x.iter().map(|&x| f16::from_f32(x)).collect() } else { Vec::new() };
    let host = match dtype {
        DType::F16 => ArrayRef::from_slice(&half, &[n, d])?,
        _ => ArrayRef::from_slice(&x, &[n, d])?,
    };
    let labels: Vec<i32> = (0..n).map(|i| ((mix(i ^ 0x5555) as u64 * k as u64) >> 32) as i32).collect();
    let labels = ArrayRef::from_slice(&labels, &[n])?;
    let (points, given) = (Array::upload(stream, host)?, Array::upload(stream, labels)?);
    let view = points.view();

    // The floor: as fast as a sum over all coordinates reads them, for as many bytes more as the labels have.
    let sum = Reduction::new(&stream.device(), Op::Sum, &view, &Options::default())?;
    let mut out = sum.output()?;
    let read = median(stream, || sum.run(stream, view, None, &mut out))?;
    let bytes = (n * d * dtype.size()) as f64;
    let floor = read * (bytes + 4.0 * n as f64) / bytes;

    let found = scale(stream, view, Axes::PointsFirst)?;
    let mut update = CentroidUpdate::new(stream, &view, Axes::PointsFirst, k, &found)?;
    let (mut means, mut counts) = (update.means()?, update.counts()?);
    let time = median(stream, || update.run(stream, view, given.view(), &mut means, &mut counts))?;
    let want = centroid_update_with(&Points::new(host, Axes::PointsFirst)?, labels, k, &found)?;
    let got = means.download(stream)?;
    let same = (0..k * d).all(|i| got.values.get(i).bits() == want.means.values.get(i).bits());
    let kernels = update.kernels().join(" ");
    println!(
        "{name} floor {floor:.1} us, update {time:.1} us, {}, {kernels}",
        if same { "the CPU's bits" } else { "WRONG" }
    );

    // First centroids are points.
    let first: Vec<f32> =
        x[..k * d].iter().map(|&x| if dtype == DType::F16 { f16::from_f32(x).to_f32() } else { x }).collect();
    let centroids = Array::upload(stream, ArrayRef::from_slice(&first, &[k, d])?)?;
    let mut lloyd = Lloyd::new(stream, &view, Axes::PointsFirst, k, &found, &vec![0.0; d])?;
    let mut labels = Array::new(&stream.device(), DType::I32, &[n])?;
    let time = median(stream, || lloyd.iterate(stream, view, &centroids, &mut labels, &mut means))?;
    println!("{name} iteration {time:.1} us, {}", lloyd.kernels().join(" "));
    Ok(())
}

/// Microseconds of one of many runs, one after the other.
fn median(stream: &Stream, mut run: impl FnMut() -> Result<(), warpfold::Error>) -> Result<f64, warpfold::Error> {
    let (start, end) = (Event::new(&stream.device())?, Event::new(&stream.device())?);
    let mut sample = |runs: u64| -> Result<f64, warpfold::Error> {
        stream.record(&start)?;
        (0..runs).try_for_each(|_| run())?;
        stream.record(&end)?;
        Ok(end.nanoseconds_since(&start)? as f64 / 1e3 / runs as f64)
    };
    sample(1)?;
    let runs = (1000.0 / sample(3)?) as u64 + 1;
    let mut samples = (0..SAMPLES).map(|_| sample(runs)).collect::<Result<Vec<f64>, _>>()?;
    samples.sort_unstable_by(f64::total_cmp);
    Ok(samples[SAMPLES / 2])
}
