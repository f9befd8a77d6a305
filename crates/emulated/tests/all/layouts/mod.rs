//! Operations on rows on an emulated GPU: the bits of the CPU, wherever rows lie, and no fault.

mod arrays;

use arrays::{On, Random, Strided, bits, element, floats, problem, same};
use warpfold_array::{ArrayRef, Error};
use warpfold_core::DType;
use warpfold_cpu::rows as cpu;
use warpfold_emulator::Emulator;
use warpfold_gpu::{Stream, rows};

const FLOATS: [DType; 4] = [DType::F32, DType::BF16, DType::F16, DType::F64];

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
    let options =
        cpu::Norm { weight: weights, bias: biases, weight_offset, epsilon, threads: Some(1), ..cpu::Norm::default() };
    let want = if layer { cpu::layer_norm } else { cpu::rms_norm }(x.host(), &axes, &options);
    let there = on.upload(&x);
    let [of_weight, of_bias] = [&weight, &bias].map(|array| array.as_ref().map(|array| on.upload(array)));
    let weights = weight.as_ref().zip(of_weight.as_ref()).map(|(array, buffer)| on.view(buffer, array));
    let biases = bias.as_ref().zip(of_bias.as_ref()).map(|(array, buffer)| on.view(buffer, array));
    let options = rows::Norm { weight: weights, bias: biases, weight_offset, epsilon, noted: None };
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
    loss_of(r, on, &x, what);
}

/// The gradients of the logits `x`, two axes, of random classes.
fn loss_of(r: &mut Random, on: &On, x: &Strided, what: &str) {
    let (shape, dtype) = (&x.shape, x.dtype);
    let targets = Strided::new(r, DType::I64, &shape[..1], true, |r| r.below(shape[1].max(1)) as f64);
    // Factors that are far from 1, too.
    let scales = Strided::new(r, dtype, &shape[..1], true, |r| [1.0, -0.3, 1e-4, 1e-30, 1e30, 0.0][r.below(6)]);
    let (ignore, reduction) = (r.below(shape[1] + 1) as i64, cpu::LossReduction::None);
    let options =
        cpu::CrossEntropy { ignore, reduction, gradient: Some(scales.host()), ..cpu::CrossEntropy::default() };
    let want = cpu::cross_entropy_gradient(x.host(), targets.host(), 1, &options);
    let [of_x, of_targets, of_scales] = [x, &targets, &scales].map(|array| on.upload(array));
    let (logits, classes) = (on.view(&of_x, x), on.view(&of_targets, &targets));
    let options =
        rows::CrossEntropy { ignore, scales: Some(on.view(&of_scales, &scales)), ..rows::CrossEntropy::default() };
    let got = rows::cross_entropy(logits, classes, 1, &options, &on.stream);
    if let Err(want) = &want {
        return assert_eq!(got.err().as_ref(), Some(want), "{what} {shape:?}");
    }
    let gradient = got.map(|got| got.gradient.expect("it is asked for"));
    same(gradient, want.map(|want| want.gradient), on, &format!("{what} {shape:?} {:?}", x.strides));
}

fn emulated() -> On {
    let emulator = Emulator::new(1);
    let stream = Stream::new(&emulator.device()).expect("a stream");
    On { emulator, stream }
}

/// Runs a random test many times: `WARPFOLD_CASES`, or so many.
fn many(usual: u64, test: impl Fn(&mut Random, &On, DType, &str)) {
    let cases = std::env::var("WARPFOLD_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual);
    let emulator = Emulator::new(1);
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
    many(110, softmax);
}

#[test]
fn gradients_have_the_bits_of_the_cpu() {
    many(110, gradient);
}

#[test]
fn norms_have_the_bits_of_the_cpu() {
    many(110, norm);
}

#[test]
fn gradients_of_norms_have_the_bits_of_the_cpu() {
    many(110, norm_gradient);
}

#[test]
fn losses_have_the_bits_of_the_cpu() {
    many(110, loss);
}

/// A gradient is computed anew only for another gradient of the loss than that with which it was, or a NaN.
#[test]
fn a_gradient_that_is_there_is_left_alone() {
    let emulator = Emulator::new(1);
    let stream = Stream::new(&emulator.device()).expect("a stream");
    let (on, r) = (On { emulator, stream }, &mut Random(5));
    for (dtype, len) in [(DType::BF16, 40), (DType::F32, 1000), (DType::BF16, 9000), (DType::F64, 4097)] {
        let x = Strided::new(r, dtype, &[3, len], true, |r| element(r, 3.0, 0, 0));
        let targets = Strided::new(r, DType::I64, &[3], true, |r| r.below(len) as f64);
        let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
        let numbers = [1.0, 1.0, 0.25, f64::NAN].map(|x| Strided::new(r, wide, &[], true, |_| x));
        let [of_x, of_targets] = [&x, &targets].map(|array| on.upload(array));
        let of_numbers = numbers.each_ref().map(|number| on.upload(number));
        let scales = |i: usize| Some(on.view(&of_numbers[i], &numbers[i]));
        let (logits, classes) = (on.view(&of_x, &x), on.view(&of_targets, &targets));
        let whole = |i: usize| {
            let options = rows::CrossEntropy { scales: scales(i), ..rows::CrossEntropy::default() };
            let got = rows::cross_entropy(logits, classes, 1, &options, &on.stream).expect("losses");
            got.gradient.expect("it is asked for").download(&on.stream).expect("a copy")
        };
        let options = rows::CrossEntropy { scales: scales(0), ..rows::CrossEntropy::default() };
        let map = rows::RowMap::cross_entropy(&on.stream.device(), &logits, &classes, &[1], &options).expect("a plan");
        for (used, scale, computes) in [(0, 1, false), (0, 2, true), (2, 0, true), (3, 3, true), (2, 2, false)] {
            // What nothing computes.
            let out = warpfold_gpu::Array::upload(&on.stream, x.host()).expect("room");
            let before = out.download(&on.stream).expect("a copy");
            let arrays = rows::RowArrays { targets: Some(classes), scales: scales(scale), ..Default::default() };
            let (what, used) = (format!("{dtype} {len} {used} {scale}"), scales(used).expect("a number").address());
            let to = rows::RowAddresses { x: out.address(), used, ..Default::default() };
            // SAFETY: there is room for a gradient of these logits.
            unsafe { map.run_into(&on.stream, logits, &arrays, &to) }.expect("a run");
            let found = out.download(&on.stream).expect("a copy");
            let want = if computes { whole(scale) } else { before };
            assert_eq!(bits(&found), bits(&want), "{what}");
        }
    }
}

/// Results that are put in order at the end are computed in any case: what is copied may be another run's.
#[test]
fn a_gradient_of_other_axes_is_computed_anew() {
    let emulator = Emulator::new(1);
    let stream = Stream::new(&emulator.device()).expect("a stream");
    let (on, r) = (On { emulator, stream }, &mut Random(6));
    let targets = Strided::new(r, DType::I64, &[4, 7], true, |r| r.below(10) as f64);
    let one = Strided::new(r, DType::F32, &[], true, |_| 1.0);
    let [of_targets, of_one] = [&targets, &one].map(|array| on.upload(array));
    let (classes, scale) = (on.view(&of_targets, &targets), on.view(&of_one, &one));
    let options = rows::CrossEntropy { scales: Some(scale), ..rows::CrossEntropy::default() };
    let both = [0, 1].map(|_| Strided::new(r, DType::F32, &[4, 10, 7], true, |r| element(r, 3.0, 0, 0)));
    let of_both = both.each_ref().map(|x| on.upload(x));
    let gradients = [0, 1].map(|i| {
        let logits = on.view(&of_both[i], &both[i]);
        let got = rows::cross_entropy(logits, classes, 1, &options, &on.stream).expect("losses");
        got.gradient.expect("it is asked for")
    });
    let logits = on.view(&of_both[0], &both[0]);
    let map = rows::RowMap::cross_entropy(&on.stream.device(), &logits, &classes, &[1], &options).expect("a plan");
    let before = gradients[0].download(&on.stream).expect("a copy");
    let arrays = rows::RowArrays { targets: Some(classes), scales: Some(scale), ..Default::default() };
    let to = rows::RowAddresses { x: gradients[0].address(), used: scale.address(), ..Default::default() };
    // SAFETY: there is room for a gradient of these logits.
    unsafe { map.run_into(&on.stream, logits, &arrays, &to) }.expect("a run");
    assert_eq!(bits(&gradients[0].download(&on.stream).expect("a copy")), bits(&before));
}

/// Rows that several blocks share, and so many parts of a row that blocks reduce these first.
#[test]
fn rows_beyond_a_block_have_the_bits_of_the_cpu() {
    let (on, r) = (emulated(), &mut Random(77));
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

/// Rows in more turns than shared memory has room for: the first ones come a second time, too.
#[test]
fn rows_in_many_turns_have_the_bits_of_the_cpu() {
    let (on, r) = (emulated(), &mut Random(3));
    // Many; rows that begin with lines; that have a line beyond the last turn; a gradient that begins elsewhere.
    let of = [(DType::BF16, 8192 * 7 + 3, 0), (DType::F16, 8192 * 4 - 8, 0), (DType::BF16, 8192 * 4 - 3, 0)];
    for (dtype, len, after) in of.into_iter().chain([(DType::F16, 8192 * 4, 3)]) {
        let [x, mut g] = [0, 1].map(|_| Strided::new(r, dtype, &[2, len], true, |r| element(r, 3.0, 0, 0)));
        g.first = after * dtype.size();
        g.bytes.splice(0..0, vec![0; g.first]);
        let (of_x, of_g) = (on.upload(&x), on.upload(&g));
        let (at, of) = (on.view(&of_x, &x), on.view(&of_g, &g));
        let got = rows::softmax_backward(at, of, &[1], &rows::Softmax::default(), &on.stream);
        same(got, cpu::softmax_backward(x.host(), g.host(), &[1], &cpu::Softmax::default()), &on, "gradient");
        let got = rows::rms_norm(at, &[1], &rows::Norm::default(), &on.stream);
        same(got, cpu::rms_norm(x.host(), &[1], &cpu::Norm::default()), &on, "rms_norm");
    }
    let kernels = on.emulator.take_launches();
    let turned = kernels.iter().filter(|(entry, _)| entry.starts_with("rowlonger_")).count();
    assert_eq!(turned, 8, "a launch for each");
    // Three turns of one array, or of two, of blocks of at least four warps.
    let kept = kernels.iter().filter(|(_, report)| report.shared_bytes > 3 * (8 << 10)).count();
    assert_eq!(kept, 8, "norms and gradients");
}

/// Rows of which exponentials of some turns stay, in registers and in shared memory, and some are computed twice.
#[test]
fn rows_of_which_turns_stay_have_the_bits_of_the_cpu() {
    let (on, r) = (emulated(), &mut Random(4));
    // Rows in many turns, by lines; that begin with lines; that do not; results that begin elsewhere; many that stay.
    let of = [(DType::BF16, 8192 * 7 + 3, 0), (DType::F16, 8192 * 4 - 8, 0), (DType::BF16, 8192 * 4 - 3, 0)];
    for (dtype, len, after) in of.into_iter().chain([(DType::F16, 8192 * 2 + 1, 3), (DType::BF16, 8192 * 6 + 8, 0)]) {
        let mut x = Strided::new(r, dtype, &[3, len], true, |r| element(r, 3.0, 0, 0));
        // One row has turns with elements that are far from zero, minus infinity and NaN among them; one of them alone.
        let (size, far) = (dtype.size(), Strided::new(r, dtype, &[8192], true, |r| element(r, 300.0, 9, 0)));
        let at = (len + 8192) * size;
        x.bytes[at..at + 8192 * size].copy_from_slice(&far.bytes);
        let last = x.bytes.len() - 4 * size;
        x.bytes[last..].copy_from_slice(&far.bytes[..4 * size]);
        x.first = after * size;
        x.bytes.splice(0..0, vec![0; x.first]);
        let there = on.upload(&x);
        let at = on.view(&there, &x);
        let got = rows::softmax(at, &[1], &rows::Softmax::default(), &on.stream);
        same(got, cpu::softmax(x.host(), &[1], &cpu::Softmax::default()), &on, "softmax");
        let got = rows::log_softmax(at, &[1], &rows::Softmax::default(), &on.stream);
        same(got, cpu::log_softmax(x.host(), &[1], &cpu::Softmax::default()), &on, "log_softmax");
        loss_of(r, &on, &x, "losses");
    }
    let kernels = on.emulator.take_launches();
    assert_eq!(kernels.iter().filter(|(entry, _)| entry.starts_with("rowlonger_")).count(), 15, "a launch for each");
    // One turn at least.
    let kept = kernels.iter().filter(|(_, report)| report.shared_bytes > 32 << 10).count();
    assert_eq!(kept, 15, "all");
}

#[test]
fn wrong_arrays_are_the_errors_of_the_cpu() {
    let emulator = Emulator::new(1);
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
