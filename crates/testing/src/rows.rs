//! Random operations on rows of a GPU, or of the emulator, beside the CPU's.

use crate::reference::{Random, Strided, element};
use warpfold::cuda::{self, ArrayView, Buffer, Stream, rows};
use warpfold::{Array, DType, Error, rows as cpu};

pub(crate) const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];

/// An array of the device with the layout of one of the host.
pub(crate) struct There<'a> {
    bytes: Buffer<u8>,
    first: usize,
    host: &'a Strided,
}

impl<'a> There<'a> {
    pub(crate) fn new(stream: &Stream, host: &'a Strided) -> Self {
        let (bytes, first) = host.bytes();
        // A GPU reads elements from multiples of their size.
        let before = first % host.dtype.size();
        Self { bytes: Buffer::upload(stream, &bytes[before..]).expect("room"), first: first - before, host }
    }

    pub(crate) fn view(&self) -> ArrayView<'_> {
        let (x, address) = (self.host, self.bytes.address() + self.first as u64);
        // SAFETY: the strides reach no further than the bytes, which stay until the test is done with the device.
        let view = unsafe { ArrayView::from_raw(self.bytes.device_index(), address, x.dtype, &x.shape, &x.strides) };
        view.expect("a layout")
    }
}

/// Elements near zero, or far apart, or wild; some arrays are mostly minus infinity.
pub(crate) fn floats(r: &mut Random, dtype: DType, shape: &[usize]) -> Strided {
    let (spread, wild) = ([0.1, 2.0, 10.0, 3e3][r.below(4)], [0, 0, 2, 30][r.below(4)]);
    let nothing = [0, 0, 0, 60][r.below(4)];
    let of = |x: f64| warpfold::Values::F64(vec![x]).cast(dtype).get(0);
    Strided::new(r, dtype, shape, |r| match r.chance(nothing) {
        true => of(f64::NEG_INFINITY),
        false => of(element(r, DType::F64, wild).to_f64() * spread),
    })
}

/// How large the arrays of a test are.
#[derive(Clone, Copy)]
pub struct Size {
    /// Whether rows may be longer than a block holds many times.
    pub long: bool,
    /// Elements of an array whose rows are shorter, about.
    pub elements: usize,
    /// So many rows, all of which are longer than a block holds, and shorter than six times that; zero: any.
    pub rows: usize,
}

/// A shape, and the axes of its rows.
pub(crate) fn problem(r: &mut Random, dtype: DType, size: Size) -> (Vec<usize>, Vec<isize>) {
    let Size { long, elements, rows } = size;
    let line = 16 / dtype.size();
    if rows > 0 {
        // What a block holds of two or four bytes; twice as much of eight.
        let turns = 8192 * (1 + r.below(5));
        let len = turns + [0, 0, 1, line, 8192 - line, 8192 - 3, r.below(8192)][r.below(7)];
        return (vec![rows, len.max(8193)], vec![-1]);
    }
    let len = match r.below(8) {
        0 => 1 + r.below(2 * line),
        1 => line * (1 + r.below(130)),
        2 => 1 + r.below(128 * line),
        3 => 128 * line + r.below(400 * line),
        4 if long => 2000 * line + r.below(20_000 * line),
        4 => 256 * line * (1 + r.below(8)) + [0, 0, 1, line - 1][r.below(4)],
        // Hidden sizes, and others of some quarters of a warp's chunk, of which warps have parts of two rows.
        5 => [128, 1536, 2880, 1280][r.below(4)],
        6 => 32 * line * (3 + r.below(12)) - [0, 0, 0, 1, line, 3 * line][r.below(6)],
        _ => 1 + r.below(2048 * line),
    };
    let rows = 1 + r.below(1 + (elements / len).max(5));
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
pub fn differs(got: Result<cuda::Array, Error>, want: &Array, stream: &Stream) -> Option<String> {
    host_differs(got.and_then(|array| array.download(stream)), want)
}

fn host_differs(got: Result<Array, Error>, want: &Array) -> Option<String> {
    let got = match got {
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

/// What is wrong of the gradients of a norm, if anything is.
pub(crate) fn gradients_differ(
    got: Result<rows::NormGradients, Error>,
    want: cpu::NormGradients,
    stream: &Stream,
) -> Option<String> {
    let got = match got {
        Ok(got) => got,
        Err(why) => return Some(why.to_string()),
    };
    let of_array = |what: &str, got: Option<cuda::Array>, want: &Option<Array>| match (got, want) {
        (None, None) => None,
        (Some(got), Some(want)) => differs(Ok(got), want, stream).map(|why| format!("{what}: {why}")),
        _ => Some(format!("{what}: one is absent")),
    };
    of_array("elements", Some(got.x), &Some(want.x))
        .or_else(|| of_array("weights", got.weight, &want.weight))
        .or_else(|| of_array("biases", got.bias, &want.bias))
}

pub fn softmax(r: &mut Random, dtype: DType, size: Size, stream: &Stream) -> Option<String> {
    let (shape, axes) = problem(r, dtype, size);
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

pub fn gradient(r: &mut Random, dtype: DType, size: Size, stream: &Stream) -> Option<String> {
    let (shape, axes) = problem(r, dtype, size);
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

/// A norm's options, on the host and on the device.
struct Factors {
    weight: Option<Strided>,
    bias: Option<Strided>,
    layer: bool,
    weight_offset: f64,
    epsilon: f64,
}

impl Factors {
    fn new(r: &mut Random, dtype: DType, shape: &[usize], axes: &[isize]) -> Self {
        let rank = shape.len() as isize;
        let of_row = |a: &isize| axes.contains(a) || axes.contains(&(a - rank));
        let row: Vec<usize> = (0..rank).filter(of_row).map(|a| shape[a as usize]).collect();
        let factor = |r: &mut Random, often: usize| {
            let of = if r.chance(50) { dtype } else { FLOATS[r.below(4)] };
            r.chance(often).then(|| Strided::new(r, of, &row, |r| element(r, of, 1)))
        };
        let (weight, bias) = (factor(r, 60), factor(r, 40));
        let (layer, weight_offset) = (r.chance(50), [0.0, 0.0, 1.0][r.below(3)]);
        Self { weight, bias, layer, weight_offset, epsilon: [0.0, 1e-5, 1e-3][r.below(3)] }
    }

    fn of_host(&self) -> cpu::Norm<'_> {
        let [weight, bias] = [&self.weight, &self.bias].map(|array| array.as_ref().map(Strided::view));
        let &Self { weight_offset, epsilon, .. } = self;
        cpu::Norm { weight, bias, weight_offset, epsilon, ..cpu::Norm::default() }
    }

    fn there(&self, stream: &Stream) -> [Option<There<'_>>; 2] {
        [&self.weight, &self.bias].map(|array| array.as_ref().map(|array| There::new(stream, array)))
    }

    fn of_device<'a>(&self, there: &'a [Option<There<'_>>; 2]) -> rows::Norm<'a> {
        let [weight, bias] = [&there[0], &there[1]].map(|array| array.as_ref().map(There::view));
        let &Self { weight_offset, epsilon, .. } = self;
        rows::Norm { weight, bias, weight_offset, epsilon, noted: None }
    }

    fn brief(&self) -> String {
        let of = [&self.weight, &self.bias].map(|array| array.as_ref().map(|array| array.dtype));
        format!("layer {} {of:?} offset {} epsilon {}", self.layer, self.weight_offset, self.epsilon)
    }
}

pub fn norm(r: &mut Random, dtype: DType, size: Size, stream: &Stream) -> Option<String> {
    let (shape, axes) = problem(r, dtype, size);
    let x = floats(r, dtype, &shape);
    let of = Factors::new(r, dtype, &shape, &axes);
    let op = if of.layer { cpu::layer_norm } else { cpu::rms_norm };
    let want = op(x.view(), &axes, &of.of_host()).expect("a result");
    let (there, factors) = (There::new(stream, &x), of.there(stream));
    let op = if of.layer { rows::layer_norm } else { rows::rms_norm };
    let got = op(there.view(), &axes, &of.of_device(&factors), stream);
    differs(got, &want, stream).map(|why| format!("{shape:?} {axes:?} {:?} {}: {why}", x.strides, of.brief()))
}

/// What a norm has noted of its rows.
fn noted(
    layer: bool,
    x: cuda::ArrayView<'_>,
    axes: &[isize],
    options: &rows::Norm<'_>,
    stream: &Stream,
) -> Result<cuda::Array, Error> {
    let op = if layer { rows::RowMap::layer_norm } else { rows::RowMap::rms_norm };
    let map = op(&stream.device(), &x, axes, options)?;
    let mut noted = cuda::Array::new(&stream.device(), map.dtype_of_losses(), &map.shape_of_noted())?;
    let &rows::Norm { weight, bias, .. } = options;
    let arrays = rows::RowArrays { weight, bias, ..rows::RowArrays::default() };
    map.run_noted(stream, x, &arrays, [&mut map.output()?, &mut noted])?;
    Ok(noted)
}

pub fn norm_gradient(r: &mut Random, dtype: DType, size: Size, stream: &Stream) -> Option<String> {
    let (shape, axes) = problem(r, dtype, size);
    let other = if r.chance(85) { dtype } else { FLOATS[r.below(4)] };
    let (x, g) = (floats(r, dtype, &shape), floats(r, other, &shape));
    let of = Factors::new(r, dtype, &shape, &axes);
    let op = if of.layer { cpu::layer_norm_backward } else { cpu::rms_norm_backward };
    let want = op(x.view(), g.view(), &axes, &of.of_host()).expect("a result");
    let (of_x, of_g, factors) = (There::new(stream, &x), There::new(stream, &g), of.there(stream));
    let op = if of.layer { rows::layer_norm_backward } else { rows::rms_norm_backward };
    let options = of.of_device(&factors);
    let noted =
        r.chance(50).then(|| noted(of.layer, of_x.view(), &axes, &options, stream).expect("room, and a result"));
    let options = rows::Norm { noted: noted.as_ref().map(cuda::Array::view), ..options };
    let got = op(of_x.view(), of_g.view(), &axes, &options, stream);
    let why = gradients_differ(got, want, stream);
    let of = of.brief() + if noted.is_some() { " noted" } else { "" };
    why.map(|why| format!("{shape:?} {axes:?} {:?} {other} {:?} {of}: {why}", x.strides, g.strides))
}

pub fn cross_entropy(r: &mut Random, dtype: DType, size: Size, stream: &Stream) -> Option<String> {
    let (shape, axes) = problem(r, dtype, size);
    let (axis, rank) = (axes[0], shape.len());
    let at = axis.rem_euclid(rank as isize) as usize;
    let batch: Vec<usize> = (0..rank).filter(|i| *i != at).map(|i| shape[i]).collect();
    let x = floats(r, dtype, &shape);
    let (classes, ignored) = (shape[at], [0, 0, 20, 100][r.below(4)]);
    let ignore = [-100, -1, 0][r.below(3)];
    let targets = Strided::new(r, DType::I64, &batch, |r| {
        warpfold::Scalar::I64(if r.chance(ignored) { ignore } else { r.below(classes) as i64 })
    });
    let factor = |r: &mut Random, often: usize, shape: &[usize]| {
        let of = FLOATS[r.below(4)];
        r.chance(often).then(|| Strided::new(r, of, shape, |r| element(r, of, 0)))
    };
    let weights = factor(r, 30, &[classes]);
    let scales = if r.chance(50) { factor(r, 60, &batch) } else { None };
    let options = cpu::CrossEntropy {
        ignore,
        weights: weights.as_ref().map(Strided::view),
        reduction: cpu::LossReduction::None,
        gradient: scales.as_ref().map(Strided::view),
        ..cpu::CrossEntropy::default()
    };
    let want = cpu::cross_entropy_gradient(x.view(), targets.view(), axis, &options).expect("a result");
    let (there, of_targets) = (There::new(stream, &x), There::new(stream, &targets));
    let [of_weights, of_scales] = [&weights, &scales].map(|a| a.as_ref().map(|a| There::new(stream, a)));
    let options = rows::CrossEntropy {
        ignore,
        weights: of_weights.as_ref().map(There::view),
        scales: of_scales.as_ref().map(There::view),
        gradient: r.chance(80),
        noted: None,
    };
    let once =
        |options: &rows::CrossEntropy<'_>| rows::cross_entropy(there.view(), of_targets.view(), axis, options, stream);
    let mut got = once(&options);
    if r.chance(50) {
        // Again, by what the first call has noted.
        got = got.and_then(|first| {
            let noted = first.noted.expect("the first call notes");
            once(&rows::CrossEntropy { noted: Some(noted.view()), ..options })
        });
    }
    let why = match got {
        Err(why) => Some(why.to_string()),
        Ok(got) => {
            // Rounded to the dtype of the logits, as the CPU has them.
            let rounded = |array: cuda::Array| {
                let array = array.download(stream)?;
                Ok(Array { shape: array.shape.clone(), values: array.values.cast(dtype) })
            };
            let of = |what: &str, got: Result<Array, Error>, want: &Array| {
                host_differs(got, want).map(|why| format!("{what}: {why}"))
            };
            of("losses", rounded(got.losses), &want.loss)
                .or_else(|| of("logsumexp", rounded(got.logsumexp), &want.logsumexp))
                .or_else(|| of("gradient", got.gradient?.download(stream), &want.gradient))
        }
    };
    why.map(|why| {
        let of = [&weights, &scales].map(|array| array.as_ref().map(|array| array.dtype));
        format!("{shape:?} {axis} {:?} {:?} {of:?} ignore {ignore}: {why}", x.strides, targets.strides)
    })
}

/// A random test of operations on rows.
pub type Test = fn(&mut Random, DType, Size, &Stream) -> Option<String>;

/// Runs a random test of so many cases, from case `from` on.
pub fn many(stream: &Stream, test: Test, from: u64, cases: u64, elements: usize) {
    run(stream, test, from, cases, |case| Size { long: case % 16 == 0, elements, rows: 0 });
}

/// The same of so many rows, which are enough for a block to read each of them in turns.
pub fn in_turns(stream: &Stream, test: Test, cases: u64, rows: usize) {
    run(stream, test, 0, cases, |_| Size { long: true, elements: 0, rows });
}

fn run(stream: &Stream, test: Test, from: u64, cases: u64, size: impl Fn(u64) -> Size) {
    let mut wrong = Vec::new();
    for case in from..from + cases {
        let r = &mut Random((case + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        (0..4).for_each(|_| _ = r.next());
        let dtype = FLOATS[r.below(4)];
        if let Some(why) = test(r, dtype, size(case), stream) {
            wrong.push(format!("case {case} {dtype} {why}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong of {cases}:\n{}", wrong.len(), wrong[..wrong.len().min(9)].join("\n"));
}
