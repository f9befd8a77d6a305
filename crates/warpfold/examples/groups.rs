//! Times distinct values and group sums on the first GPU: medians by the GPU's clock, and the bytes that a sort has to move at least by time.
//!
//! `cargo run --release -p warpfold --example groups`; further words choose cases whose line contains one of them.

use warpfold::cuda::{Array, ArrayView, Device, Event, Finder, Grouped, Groups, Options, Stream, Wanted};
use warpfold::{ArrayRef, DType, Distinct, Op};

/// Elements.
const N: usize = 1 << 26;

const SAMPLES: usize = 9;

/// The words of the command line.
struct Chosen(Vec<String>);

impl Chosen {
    fn has(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|word| name.contains(word.as_str()))
    }
}

fn mix(i: usize) -> u32 {
    (i as u32).wrapping_mul(2_654_435_761).rotate_left(13).wrapping_mul(0x85eb_ca6b) ^ (i as u32) >> 7
}

fn main() -> Result<(), warpfold::Error> {
    let stream = Stream::new(&Device::shared(0)?)?;
    let chosen = Chosen(std::env::args().skip(1).collect());
    println!("{:?}, {N} elements", stream.device());
    distinct(&stream, &chosen)?;
    groups(&stream, &chosen)
}

/// Distinct values of i32 and f32: of random bits, and of 2^20 values.
fn distinct(stream: &Stream, chosen: &Chosen) -> Result<(), warpfold::Error> {
    for (many, mask) in [("random bits", u32::MAX), ("2^20 values", (1 << 20) - 1)] {
        let bits: Vec<u32> = (0..N).map(|i| mix(i) & mask).collect();
        let x = Array::upload(stream, ArrayRef::from_slice(&bits, &[N])?)?;
        for dtype in [DType::I32, DType::F32] {
            // SAFETY: the same elements, of the same size, as long as `x` is there.
            let view = unsafe { ArrayView::from_raw(x.view().device(), x.address(), dtype, &[N], &[4])? };
            for (what, wanted) in [
                ("", Wanted::default()),
                (", counts", Wanted { counts: true, ..Wanted::default() }),
                (", counts, first and inverse", Wanted { counts: true, first: true, inverse: true }),
            ] {
                let name = format!("unique {dtype} {many}{what}");
                if !chosen.has(&name) {
                    continue;
                }
                let mut finder = Finder::new(&stream.device(), &view, wanted)?;
                let mut out = finder.output()?;
                let time = median(stream, || finder.run(stream, view, &mut out))?;
                let kernels = finder.kernels().join(" ");
                let out = out.trim(stream)?;
                let host: Vec<u8> = bits.iter().flat_map(|x| x.to_le_bytes()).collect();
                let host = ArrayRef::from_bytes(&host, dtype, &[N], warpfold::Order::C, false)?;
                let want = warpfold::unique(host, Distinct::default())?;
                let same = out.values.download(stream)?.values.as_bytes() == want.values.values.as_bytes();
                let carried = if wanted.first || wanted.inverse { 4 } else { 0 };
                report(&name, time, N * (4 + 4 * 2 * (4 + carried)), same, &kernels);
            }
        }
    }
    Ok(())
}

/// Sums of f32, and places of the greatest, by i32 labels.
fn groups(stream: &Stream, chosen: &Chosen) -> Result<(), warpfold::Error> {
    let x: Vec<f32> = (0..N).map(|i| mix(i + 7) as f32 / (1u64 << 31) as f32 - 1.0).collect();
    let x = ArrayRef::from_slice(&x, &[N])?;
    let there = Array::upload(stream, x)?;
    let values = there.view();
    for k in [16usize, 1024, 1_000_000] {
        let by: Vec<i32> = (0..N).map(|i| ((u64::from(mix(i)) * k as u64) >> 32) as i32).collect();
        let by = ArrayRef::from_slice(&by, &[N])?;
        let on_device = Array::upload(stream, by)?;
        let labels = on_device.view();
        let passes = (usize::BITS - k.leading_zeros()).div_ceil(8) as usize;
        for op in [Op::Sum, Op::ArgMax] {
            let name = format!("{op} in {k} groups");
            if !chosen.has(&name) {
                continue;
            }
            let options = Options::default();
            let mut reduction = Grouped::new(&stream.device(), op, &labels, &values, k, &options, None)?;
            let mut out = reduction.output()?;
            let time = median(stream, || reduction.run(stream, labels, values, &mut out))?;
            let got = out.download(stream)?;
            let want = warpfold::group_by(op, by, x, Some(k), &warpfold::Options::default())?;
            let same = got.values.as_bytes() == want.values.as_bytes();
            report(&name, time, N * (4 + 16 * passes + 4), same, &reduction.kernels().join(" "));
        }
        let name = format!("sum in {k} groups of an order that is kept");
        if chosen.has(&name) {
            let kept = Groups::new(labels, Some(k), stream)?;
            let mut reduction = kept.prepare(Op::Sum, &values, &Options::default(), None)?;
            let mut out = reduction.output()?;
            let time = median(stream, || reduction.run(stream, values, &mut out))?;
            let got = out.download(stream)?;
            let want = warpfold::group_by(Op::Sum, by, x, Some(k), &warpfold::Options::default())?;
            report(
                &name,
                time,
                N * 16,
                got.values.as_bytes() == want.values.as_bytes(),
                &reduction.kernels().join(" "),
            );
        }
    }
    Ok(())
}

fn report(name: &str, time: f64, bytes: usize, same: bool, kernels: &str) {
    let rate = bytes as f64 / time / 1e6;
    let bits = if same { "the CPU's bits" } else { "WRONG" };
    println!("{name}: {time:.1} us, {rate:.2} TB/s, {bits}, {kernels}");
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
    let runs = (5000.0 / sample(3)?) as u64 + 1;
    let mut samples = (0..SAMPLES).map(|_| sample(runs)).collect::<Result<Vec<f64>, _>>()?;
    samples.sort_unstable_by(f64::total_cmp);
    Ok(samples[SAMPLES / 2])
}
