//! Operations on rows on an emulated GPU: the bits of the CPU, wherever rows lie, and no fault.

use warpfold_array::{Array, ArrayRef, Error, Values};
use warpfold_core::DType;
use warpfold_cpu::rows as cpu;
use warpfold_emulator::Emulator;
use warpfold_gpu::{ArrayView, Buffer, Stream, rows};
use warpfold_kernels::{Names, Only};

/// The kernels of rows.
struct Rows;

/// The names of all kernels of an operation for a dtype.
macro_rules! names {
    ($($op:literal)*) => { names!(@ "f32" $($op)*; "f64" $($op)*; "f16" $($op)*; "bf16" $($op)*) };
    (@ $($dtype:literal $($op:literal)*);*) => {
        &["rowwise_arrange", "rowwise_join_f32", "rowwise_join_f64", $(
            concat!("rowfolded_rms_norm_backward_", $dtype), concat!("rowfolded_layer_norm_backward_", $dtype),
            concat!("rowwise_products_", $dtype), concat!("rowwise_columns_", $dtype),
        )* $($(
            concat!("rowwise_", $op, "_", $dtype), concat!("rowlonger_", $op, "_", $dtype),
            concat!("rowshort_", $op, "_", $dtype),
        )*)*]
    };
}

impl Names for Rows {
    const NAMES: &'static [&'static str] = names!("softmax" "softmax_masked" "log_softmax" "log_softmax_masked"
        "softmax_backward" "log_softmax_backward" "rms_norm" "layer_norm" "rms_norm_backward" "layer_norm_backward"
        "cross_entropy");
}

const FLOATS: [DType; 4] = [DType::F32, DType::BF16, DType::F16, DType::F64];

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as usize % n
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// An array in memory, at an offset and with gaps.
struct Strided {
    bytes: Vec<u8>,
    first: usize,
    dtype: DType,
    shape: Vec<usize>,
    strides: Vec<isize>,
}

impl Strided {
    /// Elements by `each`; `plain` layouts have no gaps and begin with a line.
    fn new(
        r: &mut Random,
        dtype: DType,
        shape: &[usize],
        plain: bool,
        mut each: impl FnMut(&mut Random) -> f64,
    ) -> Self {
        let size = dtype.size();
        let mut order: Vec<usize> = (0..shape.len()).collect();
        if !plain && r.chance(25) {
            order.swap(0, shape.len() - 1);
        }
        let (mut strides, mut step) = (vec![0; shape.len()], size);
        for &axis in order.iter().rev() {
            strides[axis] = step as isize;
            step *= shape[axis].max(1);
            if !plain && r.chance(30) {
                step += size * r.below(4);
            }
        }
        let first = if plain { 0 } else { size * r.below(6) };
        let n = (first + step) / size;
        let values = Values::F64((0..n).map(|_| each(r)).collect()).cast(dtype);
        Self { bytes: values.as_bytes().to_vec(), first, dtype, shape: shape.to_vec(), strides }
    }

    fn host(&self) -> ArrayRef<'_> {
        let base = self.bytes[self.first..].as_ptr();
        // SAFETY: the strides reach no further than the bytes.
        unsafe { ArrayRef::from_raw(base, self.dtype, &self.shape, &self.strides) }.expect("a layout")
    }
}

/// The device, its stream, and a buffer of each array that is lent.
struct On {
    emulator: Emulator,
    stream: Stream,
}

impl On {
    fn upload(&self, array: &Strided) -> Buffer<u8> {
        Buffer::upload(&self.stream, &array.bytes).expect("room")
    }

    fn view<'a>(&self, buffer: &'a Buffer<u8>, array: &Strided) -> ArrayView<'a> {
        let (address, index) = (buffer.address() + array.first as u64, self.stream.device().properties().index);
        // SAFETY: an emulated device finds every access outside of its buffers.
        unsafe { ArrayView::from_raw(index, address, array.dtype, &array.shape, &array.strides) }.expect("a view")
    }
}

/// Elements of which some are NaN, infinite, zero of either sign or extreme, and some minus infinity.
fn element(r: &mut Random, spread: f64, wild: usize, nothing: usize) -> f64 {
    if r.chance(nothing) {
        return f64::NEG_INFINITY;
    }
    match r.chance(wild) {
        true => [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 1e-40, -6e4, 3e38][r.below(8)],
        false => (r.below(2_000_001) as f64 * 1e-6 - 1.0) * spread,
    }
}

fn floats(r: &mut Random, dtype: DType, shape: &[usize], plain: bool) -> Strided {
    let spread = [1.0, 20.0, 100.0, 3e4][r.below(4)];
    let (wild, nothing) = ([0, 0, 2, 30][r.below(4)], [0, 0, 0, 60][r.below(4)]);
    Strided::new(r, dtype, shape, plain, |r| element(r, spread, wild, nothing))
}

/// A shape, and the axes of its rows.
fn problem(r: &mut Random, dtype: DType) -> (Vec<usize>, Vec<isize>) {
    let line = 16 / dtype.size();
    let len = match r.below(9) {
        0 => 1 + r.below(2 * line),
        1 => line * (1 + r.below(40)),
        2 => 1 + r.below(128 * line),
        3 => [127, 128, 129][r.below(3)] * line - r.below(2),
        4 => 128 * line + r.below(400 * line),
        5 => 256 * line * (1 + r.below(3)) + [0, 0, 1, line - 1][r.below(4)],
        // Hidden sizes, and others of some quarters of a warp's chunk, of which warps have parts of two rows.
        6 => [128, 1536, 2880, 1280][r.below(4)],
        7 => 32 * line * (3 + r.below(12)) - [0, 0, 0, 1, line, 3 * line][r.below(6)],
        _ => r.below(4),
    };
    let rows = 1 + r.below([40, 8, 5][(len > 100) as usize + (len > 1000) as usize]);
    match r.below(6) {
        0 => (vec![len, rows], vec![0]),
        1 => (vec![2, rows.div_ceil(2), len], vec![-1]),
        2 => (vec![rows.div_ceil(2), 2, len.div_ceil(2), 2], vec![2, 3]),
        3 if len < 100 => (vec![2, len, rows.div_ceil(2), 2], vec![1, -1]),
        _ => (vec![rows, len], vec![1]),
    }
}

fn bits(array: &Array) -> &[u8] {
    array.values.as_bytes()
}

fn same(got: Result<warpfold_gpu::Array, Error>, want: Result<Array, Error>, on: &On, what: &str) {
    let (got, want) = (got.and_then(|array| array.download(&on.stream)), want.expect("the CPU has a result"));
    let got = got.unwrap_or_else(|why| panic!("{what}: {}", why.to_string().chars().take(3000).collect::<String>()));
    let differs = bits(&got).iter().zip(bits(&want)).position(|(got, want)| got != want);
    assert_eq!((got.dtype(), &got.shape), (want.dtype(), &want.shape), "{what}");
    if let Some(byte) = differs {
        let at = byte / got.dtype().size();
        let number = got.values.len().min(at + 4);
        let show = |array: &Array| (at..number).map(|i| format!("{:?}", array.values.get(i))).collect::<Vec<_>>();
        panic!("{what}: element {at}: {:?}, not {:?}", show(&got), show(&want));
    }
}

fn softmax(r: &mut Random, on: &On, dtype: DType, what: &str) {
    let ((shape, axes), plain) = (problem(r, dtype), r.chance(40));
    let x = floats(r, dtype, &shape, plain);
    let mask = r.chance(40).then(|| {
        let first = r.below(shape.len());
        let shape: Vec<usize> = shape[first..].iter().map(|&n| if r.chance(20) { 1 } else { n }).collect();
        let share = [100, 90, 50, 3][r.below(4)];
        Strided::new(r, DType::Bool, &shape, false, |r| r.chance(share) as u8 as f64)
    });
    let (scale, log) = ([1.0, 1.0, 0.37, -2.0][r.below(4)], r.chance(40));
    let options = cpu::Softmax { scale, mask: mask.as_ref().map(Strided::host), threads: Some(1) };
    let want = if log { cpu::log_softmax } else { cpu::softmax }(x.host(), &axes, &options);
    let (there, of_mask) = (on.upload(&x), mask.as_ref().map(|mask| on.upload(mask)));
    let of_mask = mask.as_ref().zip(of_mask.as_ref()).map(|(mask, buffer)| on.view(buffer, mask));
    let options = rows::Softmax { scale, mask: of_mask };
    let got = if log { rows::log_softmax } else { rows::softmax }(on.view(&there, &x), &axes, &options, &on.stream);
    let masked = mask.map(|mask| (mask.shape, mask.strides));
    let what = format!("{what} {shape:?} {axes:?} {:?}+{} scale {scale} log {log} {masked:?}", x.strides, x.first);
    same(got, want, on, &what);
}

fn gradient(r: &mut Random, on: &On, dtype: DType, what: &str) {
    let ((shape, axes), plain) = (problem(r, dtype), r.chance(40));
    let of = if r.chance(85) { dtype } else { FLOATS[r.below(4)] };
    let (y, g) = (floats(r, dtype, &shape, plain), floats(r, of, &shape, plain));
    let (scale, log) = ([1.0, 0.37, -2.0][r.below(3)], r.chance(40));
    let options = cpu::Softmax { scale, mask: None, threads: Some(1) };
    let op = if log { cpu::log_softmax_backward } else { cpu::softmax_backward };
    let want = op(y.host(), g.host(), &axes, &options);
    let (of_y, of_g) = (on.upload(&y), on.upload(&g));
    let op = if log { rows::log_softmax_backward } else { rows::softmax_backward };
    let options = rows::Softmax { scale, mask: None };
    let got = op(on.view(&of_y, &y), on.view(&of_g, &g), &axes, &options, &on.stream);
    let what = format!("{what} {shape:?} {axes:?} {:?} {of} {:?} scale {scale} log {log}", y.strides, g.strides);
    same(got, want, on, &what);
}

fn norm(r: &mut Random, on: &On, dtype: DType, what: &str) {
    let ((shape, axes), plain) = (problem(r, dtype), r.chance(40));
    let x = floats(r, dtype, &shape, plain);
    let rank = shape.len() as isize;
    let row: Vec<usize> =
        (0..rank).filter(|a| axes.contains(a) || axes.contains(&(a - rank))).map(|a| shape[a as usize]).collect();
    let factor = |r: &mut Random, often: usize| {
        let of = if r.chance(50) { dtype } else { FLOATS[r.below(4)] };
        r.chance(often).then(|| Strided::new(r, of, &row, plain, |r| element(r, 1.5, 1, 0)))
    };
    let (weight, bias) = (factor(r, 60), factor(r, 40));
    let (layer, weight_offset) = (r.chance(50), [0.0, 0.0, 1.0][r.below(3)]);
    let epsilon = [0.0, 1e-5, 1e-3][r.below(3)];
    let (weights, biases) = (weight.as_ref().map(Strided::host), bias.as_ref().map(Strided::host));
    let options = cpu::Norm { weight: weights, bias: biases, weight_offset, epsilon, threads: Some(1) };
    let want = if layer { cpu::layer_norm } else { cpu::rms_norm }(x.host(), &axes, &options);
    let there = on.upload(&x);
    let [of_weight, of_bias] = [&weight, &bias].map(|array| array.as_ref().map(|array| on.upload(array)));
    let weights = weight.as_ref().zip(of_weight.as_ref()).map(|(array, buffer)| on.view(buffer, array));
    let biases = bias.as_ref().zip(of_bias.as_ref()).map(|(array, buffer)| on.view(buffer, array));
    let options = rows::Norm { weight: weights, bias: biases, weight_offset, epsilon };
    let got = if layer { rows::layer_norm } else { rows::rms_norm }(on.view(&there, &x), &axes, &options, &on.stream);
    let of = [&weight, &bias].map(|array| array.as_ref().map(|array| array.dtype));
    let what = format!("{what} {shape:?} {axes:?} {:?}+{} layer {layer} {of:?}", x.strides, x.first);
    same(got, want, on, &what);
}

/// Gradients of elements, and of weights and biases, which are sums over rows.
fn norm_gradient(r: &mut Random, on: &On, dtype: DType, what: &str) {
    let ((shape, axes), plain) = (problem(r, dtype), r.chance(60));
    let (x, g) = (floats(r, dtype, &shape, plain), floats(r, dtype, &shape, plain));
    let (rank, layer) = (shape.len() as isize, r.chance(50));
    let of_row = |a: &isize| axes.contains(a) || axes.contains(&(a - rank));
    let row: Vec<usize> = (0..rank).filter(of_row).map(|a| shape[a as usize]).collect();
    let factor = |r: &mut Random| r.chance(60).then(|| Strided::new(r, dtype, &row, plain, |r| element(r, 1.5, 1, 0)));
    let (weight, bias) = (factor(r), factor(r));
    let of_cpu = cpu::Norm {
        weight: weight.as_ref().map(Strided::host),
        bias: bias.as_ref().map(Strided::host),
        ..cpu::Norm::default()
    };
    let op = if layer { cpu::layer_norm_backward } else { cpu::rms_norm_backward };
    let want = op(x.host(), g.host(), &axes, &of_cpu).expect("a result");
    let (of_x, of_g) = (on.upload(&x), on.upload(&g));
    let there = [&weight, &bias].map(|array| array.as_ref().map(|array| (on.upload(array), array)));
    let [weight, bias] = [0, 1].map(|which: usize| there[which].as_ref().map(|(buffer, array)| on.view(buffer, array)));
    let options = rows::Norm { weight, bias, ..rows::Norm::default() };
    let op = if layer { rows::layer_norm_backward } else { rows::rms_norm_backward };
    let got = op(on.view(&of_x, &x), on.view(&of_g, &g), &axes, &options, &on.stream);
    let what = format!("{what} {shape:?} {axes:?} {:?} {:?} layer {layer}", x.strides, g.strides);
    let got = got.unwrap_or_else(|why| panic!("{what}: {why}"));
    same(Ok(got.x), Ok(want.x), on, &format!("{what}: elements"));
    for (which, (got, want)) in [(got.weight, want.weight), (got.bias, want.bias)].into_iter().enumerate() {
        assert_eq!(got.is_some(), want.is_some(), "{what}");
        got.zip(want).into_iter().for_each(|(got, want)| same(Ok(got), Ok(want), on, &format!("{what}: sums {which}")));
    }
}

/// Losses of rows, and the gradient of their logits.
fn loss(r: &mut Random, on: &On, dtype: DType, what: &str) {
    let ((shape, _), plain) = (problem(r, dtype), r.chance(60));
    let shape = [shape[..shape.len() - 1].iter().product(), shape[shape.len() - 1]];
    let x = floats(r, dtype, &shape, plain);
    let targets = Strided::new(r, DType::I64, &shape[..1], true, |r| r.below(shape[1].max(1)) as f64);
    let options = cpu::CrossEntropy { reduction: cpu::LossReduction::None, ..cpu::CrossEntropy::default() };
    let want = cpu::cross_entropy_gradient(x.host(), targets.host(), 1, &options);
    let (of_x, of_targets) = (on.upload(&x), on.upload(&targets));
    let (logits, classes) = (on.view(&of_x, &x), on.view(&of_targets, &targets));
    let got = rows::cross_entropy(logits, classes, 1, &rows::CrossEntropy::default(), &on.stream);
    if let Err(want) = &want {
        return assert_eq!(got.err().as_ref(), Some(want), "{what} {shape:?}");
    }
    let gradient = got.map(|got| got.gradient.expect("it is asked for"));
    same(gradient, want.map(|want| want.gradient), on, &format!("{what} {shape:?} {:?}", x.strides));
}

/// Runs a random test many times: `WARPFOLD_CASES`, or so many.
fn many(usual: u64, test: impl Fn(&mut Random, &On, DType, &str)) {
    let cases = std::env::var("WARPFOLD_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual);
    let emulator = Emulator::of::<Only<Rows>>(1);
    let stream = Stream::new(&emulator.device()).expect("a stream");
    let on = On { emulator, stream };
    for seed in 0..cases {
        let r = &mut Random((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        (0..4).for_each(|_| _ = r.below(2));
        let dtype = FLOATS[r.below(4)];
        test(r, &on, dtype, &format!("seed {seed} {dtype}"));
    }
    let kernels = on.emulator.take_launches();
    for shape in ["rowwise_", "rowshort_", "rowwise_arrange"] {
        assert!(kernels.iter().any(|(entry, _)| entry.starts_with(shape)) || cases < 100, "no {shape}");
    }
}

#[test]
fn softmax_has_the_bits_of_the_cpu() {
    many(250, softmax);
}

#[test]
fn gradients_have_the_bits_of_the_cpu() {
    many(250, gradient);
}

#[test]
fn norms_have_the_bits_of_the_cpu() {
    many(250, norm);
}

#[test]
fn gradients_of_norms_have_the_bits_of_the_cpu() {
    many(250, norm_gradient);
}

#[test]
fn losses_have_the_bits_of_the_cpu() {
    many(250, loss);
}

/// Rows that several blocks share, and so many parts of a row that blocks reduce these first.
#[test]
fn rows_beyond_a_block_have_the_bits_of_the_cpu() {
    let emulator = Emulator::of::<Only<Rows>>(1);
    let stream = Stream::new(&emulator.device()).expect("a stream");
    let (on, r) = (On { emulator, stream }, &mut Random(77));
    for (dtype, shape) in [(DType::BF16, [3, 40_003]), (DType::F32, [2, 8193]), (DType::F64, [1, 4096 * 257 + 5])] {
        let spread = if shape[0] == 2 { 300.0 } else { 3.0 };
        let x = Strided::new(r, dtype, &shape, shape[0] == 1, |r| element(r, spread, 0, 0));
        let there = on.upload(&x);
        let options = rows::Softmax::default();
        let got = rows::softmax(on.view(&there, &x), &[1], &options, &on.stream);
        same(got, cpu::softmax(x.host(), &[1], &cpu::Softmax::default()), &on, "softmax");
        let got = rows::layer_norm(on.view(&there, &x), &[1], &rows::Norm::default(), &on.stream);
        same(got, cpu::layer_norm(x.host(), &[1], &cpu::Norm::default()), &on, "layer_norm");
    }
}

#[test]
fn wrong_arrays_are_the_errors_of_the_cpu() {
    let emulator = Emulator::of::<Only<Rows>>(1);
    let stream = Stream::new(&emulator.device()).expect("a stream");
    let (integers, numbers) = ([1i32; 6], [1.0f32; 6]);
    let upload = |x: ArrayRef<'_>| warpfold_gpu::Array::upload(&stream, x).expect("room");
    let of = |x| ArrayRef::from_slice(x, &[2, 3]).expect("a shape");
    let (host, wrong) = (of(&numbers), ArrayRef::from_slice(&integers, &[2, 3]).expect("a shape"));
    let (x, y) = (upload(host), upload(wrong));
    let short = upload(ArrayRef::flat(&numbers[..2]));
    let options = cpu::Norm { weight: Some(ArrayRef::flat(&numbers[..2])), ..cpu::Norm::default() };
    let want = cpu::rms_norm(host, &[1], &options).unwrap_err();
    let options = rows::Norm { weight: Some(short.view()), ..rows::Norm::default() };
    assert_eq!(rows::rms_norm(x.view(), &[1], &options, &stream).err(), Some(want));
    let want = cpu::softmax(wrong, &[1], &cpu::Softmax::default()).unwrap_err();
    assert_eq!(rows::softmax(y.view(), &[1], &rows::Softmax::default(), &stream).err(), Some(want));
    let options = cpu::Softmax { mask: Some(ArrayRef::flat(&[true; 2])), ..cpu::Softmax::default() };
    let want = cpu::softmax(host, &[1], &options).unwrap_err();
    let mask = upload(ArrayRef::flat(&[true; 2]));
    let options = rows::Softmax { mask: Some(mask.view()), ..rows::Softmax::default() };
    assert_eq!(rows::softmax(x.view(), &[1], &options, &stream).err(), Some(want));
    // Losses of no classes.
    let (none, targets) = (ArrayRef::from_slice::<f32>(&[], &[2, 0]).expect("a shape"), ArrayRef::flat(&[0i64; 2]));
    let want = cpu::cross_entropy(none, targets, 1, &cpu::CrossEntropy::default()).unwrap_err();
    let (none, targets) = (upload(none), upload(targets));
    let got = rows::cross_entropy(none.view(), targets.view(), 1, &rows::CrossEntropy::default(), &stream);
    assert_eq!(got.err(), Some(want));
    let axis = rows::softmax(x.view(), &[2], &rows::Softmax::default(), &stream);
    assert!(matches!(axis.err(), Some(Error::AxisOutOfRange { axis: 2, rank: 2 })));
}
