//! Operations on rows: the bits of the CPU, wherever rows lie.

use crate::gpu;
use crate::reference::{Random, Strided, element};
use warpfold::cuda::{self, ArrayView, Buffer, Device, Stream, rows};
use warpfold::{Array, ArrayRef, DType, Error, rows as cpu};

const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];

/// An array of the device with the layout of one of the host.
struct There<'a> {
    bytes: Buffer<u8>,
    first: usize,
    host: &'a Strided,
}

impl<'a> There<'a> {
    fn new(stream: &Stream, host: &'a Strided) -> Self {
        let (bytes, first) = host.bytes();
        // A GPU reads elements from multiples of their size.
        let before = first % host.dtype.size();
        Self { bytes: Buffer::upload(stream, &bytes[before..]).expect("room"), first: first - before, host }
    }

    fn view(&self) -> ArrayView<'_> {
        let (x, address) = (self.host, self.bytes.address() + self.first as u64);
        // SAFETY: the strides reach no further than the bytes, which stay until the test is done with the device.
        let view = unsafe { ArrayView::from_raw(self.bytes.device_index(), address, x.dtype, &x.shape, &x.strides) };
        view.expect("a layout")
    }
}

/// Elements near zero, or far apart, or wild; some arrays are mostly minus infinity.
fn floats(r: &mut Random, dtype: DType, shape: &[usize]) -> Strided {
    let (spread, wild) = ([0.1, 2.0, 10.0, 3e3][r.below(4)], [0, 0, 2, 30][r.below(4)]);
    let nothing = [0, 0, 0, 60][r.below(4)];
    let of = |x: f64| warpfold::Values::F64(vec![x]).cast(dtype).get(0);
    Strided::new(r, dtype, shape, |r| match r.chance(nothing) {
        true => of(f64::NEG_INFINITY),
        false => of(element(r, DType::F64, wild).to_f64() * spread),
    })
}

/// A shape, and the axes of its rows.
fn problem(r: &mut Random, dtype: DType, long: bool) -> (Vec<usize>, Vec<isize>) {
    let line = 16 / dtype.size();
    let len = match r.below(6) {
        0 => 1 + r.below(2 * line),
        1 => line * (1 + r.below(130)),
        2 => 1 + r.below(128 * line),
        3 => 128 * line + r.below(400 * line),
        4 if long => 2000 * line + r.below(20_000 * line),
        4 => 256 * line * (1 + r.below(8)) + [0, 0, 1, line - 1][r.below(4)],
        _ => 1 + r.below(2048 * line),
    };
    let rows = 1 + r.below(1 + (1 << 18) / len);
    // Rows along the last axis, mostly; along the first; several axes of rows, or along several axes.
    let half = rows.div_ceil(2);
    let (shape, axes): (&[usize], &[isize]) = match r.below(8) {
        0 => (&[len, rows], &[0]),
        1 => (&[half, 2, len], &[2]),
        2 => (&[half, 2, 2, len.div_ceil(2)], &[-1, 2]),
        3 if len < 100 => (&[len, half, 3], &[0, 2]),
        _ => (&[rows, len], &[-1]),
    };
    (shape.to_vec(), axes.to_vec())
}

/// What is wrong, if anything is.
fn differs(got: Result<cuda::Array, Error>, want: &Array, stream: &Stream) -> Option<String> {
    let got = match got.and_then(|array| array.download(stream)) {
        Ok(got) => got,
        Err(why) => return Some(why.to_string()),
    };
    if (got.dtype(), &got.shape) != (want.dtype(), &want.shape) {
        return Some(format!("{} {:?}", got.dtype(), got.shape));
    }
    let (a, b) = (got.values.as_bytes(), want.values.as_bytes());
    let at = a.iter().zip(b).position(|(a, b)| a != b)? / got.dtype().size();
    Some(format!("element {at}: {:?}, not {:?}", got.values.get(at), want.values.get(at)))
}

fn softmax(r: &mut Random, dtype: DType, long: bool, stream: &Stream) -> Option<String> {
    let (shape, axes) = problem(r, dtype, long);
    let x = floats(r, dtype, &shape);
    let mask = r.chance(30).then(|| {
        let first = r.below(shape.len());
        let shape: Vec<usize> = shape[first..].iter().map(|&n| if r.chance(20) { 1 } else { n }).collect();
        let share = [100, 90, 50, 3][r.below(4)];
        Strided::new(r, DType::Bool, &shape, |r| warpfold::Scalar::Bool(r.chance(share)))
    });
    let (scale, log) = ([1.0, 1.0, 1.0, 0.37, -2.0][r.below(5)], r.chance(40));
    let options = cpu::Softmax { scale, mask: mask.as_ref().map(Strided::view), threads: None };
    let want = if log { cpu::log_softmax } else { cpu::softmax }(x.view(), &axes, &options).expect("a result");
    let (there, of_mask) = (There::new(stream, &x), mask.as_ref().map(|mask| There::new(stream, mask)));
    let options = rows::Softmax { scale, mask: of_mask.as_ref().map(There::view) };
    let got = if log { rows::log_softmax } else { rows::softmax }(there.view(), &axes, &options, stream);
    differs(got, &want, stream).map(|why| {
        let mask = mask.as_ref().map(|mask| (&mask.shape, &mask.strides));
        format!("{shape:?} {axes:?} {:?} scale {scale} log {log} mask {mask:?}: {why}", x.strides)
    })
}

fn gradient(r: &mut Random, dtype: DType, long: bool, stream: &Stream) -> Option<String> {
    let (shape, axes) = problem(r, dtype, long);
    let of = if r.chance(85) { dtype } else { FLOATS[r.below(4)] };
    let (y, g) = (floats(r, dtype, &shape), floats(r, of, &shape));
    let (scale, log) = ([1.0, 0.37, -2.0][r.below(3)], r.chance(40));
    let options = cpu::Softmax { scale, mask: None, threads: None };
    let op = if log { cpu::log_softmax_backward } else { cpu::softmax_backward };
    let want = op(y.view(), g.view(), &axes, &options).expect("a result");
    let (of_y, of_g) = (There::new(stream, &y), There::new(stream, &g));
    let op = if log { rows::log_softmax_backward } else { rows::softmax_backward };
    let got = op(of_y.view(), of_g.view(), &axes, &rows::Softmax { scale, mask: None }, stream);
    differs(got, &want, stream)
        .map(|why| format!("{shape:?} {axes:?} {:?} {of} {:?} scale {scale} log {log}: {why}", y.strides, g.strides))
}

fn norm(r: &mut Random, dtype: DType, long: bool, stream: &Stream) -> Option<String> {
    let (shape, axes) = problem(r, dtype, long);
    let x = floats(r, dtype, &shape);
    let rank = shape.len() as isize;
    let of_row = |a: &isize| axes.contains(a) || axes.contains(&(a - rank));
    let row: Vec<usize> = (0..rank).filter(of_row).map(|a| shape[a as usize]).collect();
    let factor = |r: &mut Random, often: usize| {
        let of = if r.chance(50) { dtype } else { FLOATS[r.below(4)] };
        r.chance(often).then(|| Strided::new(r, of, &row, |r| element(r, of, 1)))
    };
    let (weight, bias) = (factor(r, 60), factor(r, 40));
    let (layer, weight_offset) = (r.chance(50), [0.0, 0.0, 1.0][r.below(3)]);
    let epsilon = [0.0, 1e-5, 1e-3][r.below(3)];
    let [weights, biases] = [&weight, &bias].map(|array| array.as_ref().map(Strided::view));
    let options = cpu::Norm { weight: weights, bias: biases, weight_offset, epsilon, threads: None };
    let want = if layer { cpu::layer_norm } else { cpu::rms_norm }(x.view(), &axes, &options).expect("a result");
    let there = There::new(stream, &x);
    let factors = [&weight, &bias].map(|array| array.as_ref().map(|array| There::new(stream, array)));
    let [weights, biases] = [&factors[0], &factors[1]].map(|array| array.as_ref().map(There::view));
    let options = rows::Norm { weight: weights, bias: biases, weight_offset, epsilon };
    let got = if layer { rows::layer_norm } else { rows::rms_norm }(there.view(), &axes, &options, stream);
    differs(got, &want, stream).map(|why| {
        let of = [&weight, &bias].map(|array| array.as_ref().map(|array| array.dtype));
        format!("{shape:?} {axes:?} {:?} layer {layer} {of:?}: {why}", x.strides)
    })
}

/// Runs a random test: `WARPFOLD_GPU_CASES` times, or 400; from case `WARPFOLD_GPU_FROM`.
fn many(gpu: &Device, test: impl Fn(&mut Random, DType, bool, &Stream) -> Option<String>) {
    let number = |name: &str, usual: u64| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(usual);
    let (from, cases) = (number("WARPFOLD_GPU_FROM", 0), number("WARPFOLD_GPU_CASES", 400));
    let stream = Stream::new(gpu).expect("a stream");
    let mut wrong = Vec::new();
    for case in from..from + cases {
        let r = &mut Random((case + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        (0..4).for_each(|_| _ = r.next());
        let dtype = FLOATS[r.below(4)];
        if let Some(why) = test(r, dtype, case % 16 == 0, &stream) {
            wrong.push(format!("case {case} {dtype} {why}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong of {cases}:\n{}", wrong.len(), wrong[..wrong.len().min(9)].join("\n"));
}

#[test]
fn class_softmax() {
    let Some(gpu) = gpu() else { return };
    many(&gpu, softmax);
}

#[test]
fn class_softmax_gradients() {
    let Some(gpu) = gpu() else { return };
    many(&gpu, gradient);
}

#[test]
fn class_norms() {
    let Some(gpu) = gpu() else { return };
    many(&gpu, norm);
}

/// Rows of several blocks, and so many parts of a row that blocks reduce these first.
#[test]
fn very_long_rows() {
    let Some(gpu) = gpu() else { return };
    let stream = Stream::new(&gpu).expect("a stream");
    for (shape, seed) in [([300usize, 40_003], 1), ([2, 4_000_001], 2), ([1, 1 << 25], 3)] {
        let x = crate::numbers(shape.iter().product(), seed);
        let x = ArrayRef::from_slice(&x, &shape).expect("a shape");
        let there = cuda::Array::upload(&stream, x).expect("room");
        let want = cpu::softmax(x, &[1], &cpu::Softmax::default()).expect("a result");
        let got = rows::softmax(there.view(), &[1], &rows::Softmax::default(), &stream);
        assert_eq!(differs(got, &want, &stream), None, "softmax {shape:?}");
        let want = cpu::layer_norm(x, &[1], &cpu::Norm::default()).expect("a result");
        let got = rows::layer_norm(there.view(), &[1], &rows::Norm::default(), &stream);
        assert_eq!(differs(got, &want, &stream), None, "layer_norm {shape:?}");
    }
}
