//! How fast operations on rows are, beside a copy of the same bytes: `WARPFOLD_GPU_SPEED=1` prints a table. Every
//! output that is timed is compared with the CPU's.

use crate::gpu;
use crate::reference::{Random, element};
use warpfold::cuda::{Array, Buffer, Event, Stream, rows};
use warpfold::{ArrayRef, DType, Order, rows as cpu};

/// Rows that differ; all others are like one of them.
const DIFFERENT: usize = 16;
/// Samples, each of which is the time of so many runs.
const SAMPLES: usize = 15;
const RUNS: usize = 8;

const SHAPES: [(DType, usize, usize); 14] = [
    (DType::BF16, 32_768, 4096),
    (DType::BF16, 65_536, 1536),
    (DType::BF16, 524_288, 128),
    (DType::BF16, 32_768, 2880),
    (DType::BF16, 8192, 32_768),
    (DType::BF16, 1024, 262_144),
    (DType::BF16, 8192, 50_257),
    (DType::BF16, 300_000, 333),
    (DType::F32, 32_768, 4096),
    (DType::F32, 4096, 131_072),
    (DType::F32, 262_144, 250),
    (DType::F32, 4_000_000, 10),
    (DType::F16, 16_384, 8192),
    (DType::F64, 16_384, 4096),
];

/// Microseconds of one run: the median of samples of `first` and `second`, in turn.
fn times(stream: &Stream, mut first: impl FnMut(), mut second: impl FnMut()) -> [f64; 2] {
    let device = stream.device();
    let events: Vec<Event> = (0..=2 * SAMPLES).map(|_| Event::new(&device).expect("an event")).collect();
    first();
    second();
    stream.record(&events[0]).expect("a mark");
    for sample in 0..SAMPLES {
        (0..RUNS).for_each(|_| first());
        stream.record(&events[2 * sample + 1]).expect("a mark");
        (0..RUNS).for_each(|_| second());
        stream.record(&events[2 * sample + 2]).expect("a mark");
    }
    stream.synchronize().expect("done");
    [0, 1].map(|which| {
        let of = |i: usize| events[2 * i + which + 1].nanoseconds_since(&events[2 * i + which]).expect("recorded");
        let mut each: Vec<u64> = (0..SAMPLES).map(of).collect();
        each.sort_unstable();
        each[SAMPLES / 2] as f64 / RUNS as f64 / 1e3
    })
}

#[test]
fn speed_of_rows() {
    let Some(gpu) = gpu() else { return };
    if std::env::var_os("WARPFOLD_GPU_SPEED").is_none_or(|v| v != "1") {
        return;
    }
    let stream = Stream::new(&gpu).expect("a stream");
    println!("{:12} {:>5} {:>16} {:>9} {:>9} {:>6} {:>6}", "", "", "", "us", "copy us", "GB/s", "of it");
    for (dtype, rows, len) in SHAPES {
        let r = &mut Random(rows as u64);
        let some: Vec<f64> = (0..DIFFERENT * len).map(|_| element(r, DType::F64, 0).to_f64() * 0.1).collect();
        let some = warpfold::Values::F64(some).cast(dtype);
        let size = dtype.size();
        let [shape, strides] = [[rows / DIFFERENT, DIFFERENT, len], [0, len * size, size]];
        let strides = strides.map(|step| step as isize);
        // SAFETY: all strides stay within the values, which outlive the array.
        let x = unsafe { ArrayRef::from_raw(some.as_bytes().as_ptr(), dtype, &shape, &strides) }.expect("a layout");
        let there = Array::upload(&stream, x).expect("room");
        let ones = warpfold::Values::F32(vec![1.0; len]).cast(dtype);
        let ones = ArrayRef::from_bytes(ones.as_bytes(), dtype, &[len], Order::C, false).expect("a layout");
        let weight = Array::upload(&stream, ones).expect("room");
        let weight = rows::Norm { weight: Some(weight.view()), ..rows::Norm::default() };
        let plain = rows::Softmax::default();
        let host = x.narrow(0, 0, 1);
        let (softmax, norm) = (cpu::Softmax::default(), cpu::Norm::default());
        let device = &stream.device();
        let maps = [
            ("softmax", rows::RowMap::softmax(device, &there.view(), &[2], &plain), None),
            ("log_softmax", rows::RowMap::log_softmax(device, &there.view(), &[2], &plain), None),
            ("rms_norm", rows::RowMap::rms_norm(device, &there.view(), &[2], &weight), weight.weight),
            ("layer_norm", rows::RowMap::layer_norm(device, &there.view(), &[2], &weight), weight.weight),
        ];
        let wants = [
            cpu::softmax(host, &[2], &softmax),
            cpu::log_softmax(host, &[2], &softmax),
            cpu::rms_norm(host, &[2], &norm),
            cpu::layer_norm(host, &[2], &norm),
        ];
        for ((name, map, weight), want) in maps.into_iter().zip(wants) {
            let (map, want) = (map.expect("a plan"), want.expect("a result"));
            let arrays = rows::RowArrays { weight, ..rows::RowArrays::default() };
            let mut out = map.output().expect("room");
            let bytes = rows / DIFFERENT * DIFFERENT * len * size;
            let mut copies = [0, 1].map(|_| Buffer::<u8>::new(device, bytes).expect("room"));
            let [to, from] = &mut copies;
            let [us, copy] = times(
                &stream,
                || map.run(&stream, there.view(), &arrays, &mut out).expect("a run"),
                || to.copy_from(&stream, from).expect("a copy"),
            );
            let got = out.download(&stream).expect("a result");
            let same = got.values.as_bytes().chunks_exact(DIFFERENT * len * size).all(|x| x == want.values.as_bytes());
            assert!(same, "{name} {dtype} ({rows},{len})");
            let (speed, share) = (2.0 * bytes as f64 / us / 1e3, 100.0 * copy / us);
            let shape = format!("({rows},{len})");
            println!("{name:12} {dtype:>5} {shape:>16} {us:9.1} {copy:9.1} {speed:6.0} {share:5.0}%");
        }
    }
}
