//! Times reductions of segments on the first GPU: medians by the GPU's clock, and the bytes of values, offsets and results by time.
//!
//! `cargo run --release -p warpfold --example segments`; further words choose cases whose line contains one of them.

use warpfold::cuda::{Array, Device, Event, Options, Segmented, Stream};
use warpfold::{ArrayRef, Op, Segments};

/// Elements of f32.
const N: usize = 1 << 28;

const SAMPLES: usize = 9;

/// What segments there are.
#[derive(Clone, Copy, Debug)]
enum Lengths {
    Equal(usize),
    /// Of 16 segments 15 have up to 8 elements; of the others 15 of 16 have up to 64, and so on, up to 2^24.
    PowerLaw,
    /// Nearly everything in one, beside a million of one or none.
    OneAndMany,
}

impl Lengths {
    fn offsets(self) -> Vec<i64> {
        let mix = |i: usize| (i as u32).wrapping_mul(2_654_435_761).rotate_left(13).wrapping_mul(0x85eb_ca6b) >> 8;
        let mut offsets = vec![0i64];
        let mut at = 0;
        while at < N {
            let (i, random) = (offsets.len(), mix(offsets.len()) as usize);
            let len = match self {
                Lengths::Equal(len) => len,
                Lengths::PowerLaw => {
                    let most = 8usize << (3 * (random.trailing_zeros() / 4).min(7));
                    1 + (random >> 8) * most / (1 << 16)
                }
                Lengths::OneAndMany if i == 500_000 => N - at - 250_000,
                Lengths::OneAndMany => random & 1,
            };
            at = (at + len).min(N);
            offsets.push(at as i64);
        }
        offsets
    }
}

fn main() -> Result<(), warpfold::Error> {
    let stream = Stream::new(&Device::shared(0)?)?;
    let words: Vec<String> = std::env::args().skip(1).collect();
    println!("{:?}", stream.device());
    let mix = |i: usize| (i as u32).wrapping_mul(2_654_435_761).rotate_left(13).wrapping_mul(0x85eb_ca6b);
    let x: Vec<f32> = (0..N).map(|i| mix(i) as f32 / (1u64 << 31) as f32 - 1.0).collect();
    let x = ArrayRef::from_slice(&x, &[N])?;
    let values = Array::upload(&stream, x)?;
    let equal = [1, 7, 64, 1000, 1 << 20].map(Lengths::Equal);
    for lengths in equal.into_iter().chain([Lengths::PowerLaw, Lengths::OneAndMany]) {
        let offsets = lengths.offsets();
        let list = ArrayRef::from_slice(&offsets, &[offsets.len()])?;
        let there = Array::upload(&stream, list)?;
        for op in [Op::Sum, Op::ArgMax] {
            let name = format!("{op} {lengths:?}");
            if !words.is_empty() && !words.iter().any(|word| name.contains(word.as_str())) {
                continue;
            }
            let fill = matches!(lengths, Lengths::OneAndMany).then_some(warpfold::Scalar::I8(0));
            let (values, there) = (values.view(), there.view());
            let reduction = Segmented::new(&stream.device(), op, &values, &there, &Options::default(), fill)?;
            let mut out = reduction.output()?;
            let time = median(&stream, || reduction.run(&stream, values, there, &mut out))?;
            let got = out.download(&stream)?;
            let segments = fill.into_iter().fold(Segments::new(list)?, Segments::fill);
            let want = segments.reduce(op, x, &warpfold::Options::default())?;
            let same = (0..got.values.len()).all(|i| got.values.get(i).bits() == want.values.get(i).bits());
            let bytes = 4 * N + 8 * offsets.len() + (offsets.len() - 1) * got.values.dtype().size();
            println!(
                "{name}: {} segments, {time:.1} us, {:.2} TB/s, {}, {}",
                offsets.len() - 1,
                bytes as f64 / time / 1e6,
                if same { "the CPU's bits" } else { "WRONG" },
                reduction.kernels().join(" ")
            );
        }
    }
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
