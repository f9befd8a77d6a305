//! Operations on rows, on two arrays and on windows, wherever these lie.

use crate::Emulated;
use warpfold::cuda::{self, Array, Buffer, rows};
use warpfold::{ArrayRef, DType, bf16, rows as cpu};
use warpfold_testing::golden::{Specials, elements};
use warpfold_testing::rows::{self as cases, Test};
use warpfold_testing::{channels, pairs, windows};

/// Cases of at most so many elements about, but that rows longer than a block come now and then.
fn run(test: Test, cases: u64) {
    let on = Emulated::new();
    cases::many(&on.stream, test, 0, cases, 1 << 11);
}

#[test]
fn softmax_has_the_bits_of_the_cpu() {
    run(cases::softmax, 48);
}

#[test]
fn gradients_of_softmax_have_the_bits_of_the_cpu() {
    run(cases::gradient, 48);
}

#[test]
fn norms_have_the_bits_of_the_cpu() {
    run(cases::norm, 48);
}

#[test]
fn gradients_of_norms_have_the_bits_of_the_cpu() {
    run(cases::norm_gradient, 48);
}

#[test]
fn sums_over_many_rows_have_the_bits_of_the_cpu() {
    let on = Emulated::new();
    cases::many(&on.stream, cases::norm_gradient, 1000, 24, 1 << 14);
}

#[test]
fn cross_entropy_has_the_bits_of_the_cpu() {
    run(cases::cross_entropy, 48);
}

#[test]
fn norms_of_groups_of_channels_have_the_bits_of_the_cpu() {
    run(channels::group, 120);
}

#[test]
fn norms_of_channels_have_the_bits_of_the_cpu() {
    run(channels::batch, 120);
}

/// Gradients that begin anywhere, of another dtype than elements that are copied: sums of whole packs want lines.
#[test]
fn gradients_of_norms_of_channels_begin_anywhere() {
    let on = Emulated::new();
    let (x, g) = (vec![bf16::ONE; 2 * 3 * 12], (0..73).map(|i| i as f32).collect::<Vec<_>>());
    let x = ArrayRef::from_slice(&x, &[2, 3, 12]).expect("an array");
    let all = ArrayRef::flat(&g);
    let [of_x, of_g] = [x, all].map(|array| Array::upload(&on.stream, array).expect("room"));
    for from in [0, 1] {
        let g = ArrayRef::from_slice(&g[from..from + 72], &[2, 3, 12]).expect("an array");
        let address = of_g.address() + 4 * from as u64;
        // SAFETY: within the array, which stays until the results are there.
        let there = unsafe { cuda::ArrayView::dense(of_x.view().device(), address, DType::F32, &[2, 3, 12]) }
            .expect("a layout");
        let want = cpu::batch_norm_backward(x, g, 1, &cpu::BatchNorm::default()).expect("a result");
        let got = rows::batch_norm_backward(of_x.view(), there, 1, &rows::BatchNorm::default(), &on.stream);
        assert_eq!(cases::differs(got.map(|got| got.x), &want.x, &on.stream), None, "from {from}");
    }
}

#[test]
fn losses_of_two_arrays_have_the_bits_of_the_cpu() {
    run(pairs::pairs, 200);
}

#[test]
fn means_of_windows_have_the_bits_of_the_cpu() {
    run(windows::average, 400);
    // More multiprocessors have more bands of rows.
    cases::many(&Emulated::of(16).stream, windows::average, 400, 600, 1 << 11);
}

#[test]
fn greatest_elements_of_windows_have_the_bits_of_the_cpu() {
    run(windows::max, 400);
    cases::many(&Emulated::of(16).stream, windows::max, 400, 600, 1 << 11);
}

#[test]
fn windows_that_fill_a_tree_have_the_bits_of_the_cpu() {
    windows::edges(&Emulated::new().stream);
}

#[test]
fn gradients_of_any_bits_are_divided_as_the_cpu_divides() {
    windows::quotients(&Emulated::new().stream, 1 << 12);
}

/// Rows of which a warp has several, of exactly so many quarters of its chunk, of other lengths, and longer than a
/// block holds: their results begin at any element of a line, and nothing beside them is touched.
#[test]
fn results_that_begin_anywhere_in_a_line_are_whole() {
    let on = Emulated::new();
    let cases = [
        (DType::BF16, &[37, 497, 1536, 1792, 2304, 2560, 8200][..]),
        (DType::F32, &[3, 101, 640, 2304, 2560][..]),
        (DType::F64, &[5, 1280, 1283][..]),
    ];
    for (dtype, lens) in cases {
        let size = dtype.size();
        for (i, &len) in lens.iter().enumerate() {
            let (shape, strides) = ([8, len], [(len * size) as isize, size as isize]);
            let bytes = elements(dtype, 8 * len, i as u64, Specials::None);
            // SAFETY: so many elements are there.
            let array = unsafe { ArrayRef::from_raw(bytes.as_ptr(), dtype, &shape, &strides) }.expect("an array");
            let want = cpu::softmax(array, &[-1], &cpu::Softmax::default()).expect("a result");
            let input = on.upload(&bytes);
            let view = on.view(&input, 0, dtype, &shape, &strides).expect("a view");
            let plan = rows::RowMap::softmax(&on.device, &view, &[-1], &rows::Softmax::default()).expect("a plan");
            for place in 1..16 / size {
                let first = 16 + place * size;
                let mut out: Buffer<u8> = on.upload(&vec![0; first + bytes.len() + 32]);
                out.fill(&on.stream, 0xa5).expect("bytes");
                let to = out.address() + first as u64;
                // SAFETY: there is room for the result, at a multiple of an element's size.
                unsafe { plan.run_at(&on.stream, view, &rows::RowArrays::default(), to) }.expect("a run");
                let found = out.read(&on.stream).expect("bytes");
                let (before, rest) = found.split_at(first);
                let (result, after) = rest.split_at(bytes.len());
                let wrong = result.iter().zip(want.values.as_bytes()).position(|(a, b)| a != b);
                assert_eq!(wrong, None, "{dtype} rows of {len}, {first} bytes after a line");
                assert!(before.iter().chain(after).all(|&byte| byte == 0xa5), "beside {dtype} rows of {len}, {first}");
            }
        }
    }
}

/// Short rows that fill all lanes of their blocks and follow one another, in lines or behind them, and with a gap after
/// each; with weights and biases like the elements, others, and none.
#[test]
fn rows_that_fill_their_blocks_have_the_bits_of_the_cpu() {
    let on = Emulated::new();
    let stream = &on.stream;
    for (case, (dtype, packs, specials)) in [
        (DType::BF16, 16, Specials::None),
        (DType::BF16, 64, Specials::All),
        (DType::F16, 8, Specials::None),
        (DType::F32, 32, Specials::None),
        (DType::F32, 64, Specials::All),
        (DType::F64, 8, Specials::None),
    ]
    .into_iter()
    .enumerate()
    {
        let (size, len) = (dtype.size(), packs * 16 / dtype.size());
        // A block has eight warps, and each of their lanes four packs.
        let count = 8 * 32 * 4 / packs * (1 + case % 2);
        for (before, gap) in [(0, 0), (1, 0), (0, 16 / size)] {
            let (shape, each) = ([count, len], len + gap);
            let steps = [(each * size) as isize, size as isize];
            let [x, gradients] = [0, 1].map(|seed| elements(dtype, before + count * each, seed, specials));
            let host = |bytes: &'_ [u8]| {
                // SAFETY: so many elements are there, until the end of the case.
                unsafe { ArrayRef::from_raw(bytes[before * size..].as_ptr(), dtype, &shape, &steps) }.expect("an array")
            };
            let there = [&x, &gradients].map(|bytes| on.upload(bytes));
            let view = |array: usize| on.view(&there[array], before * size, dtype, &shape, &steps).expect("a view");
            let name = format!("{dtype} {shape:?}, {before} elements before, {gap} between");
            let same = |got, want: Result<warpfold::Array, warpfold::Error>, op: &str| {
                let differs = cases::differs(got, &want.expect("a result"), stream);
                assert_eq!(differs, None, "{op} {name}");
            };
            let (all, plain) = (&rows::Softmax::default(), &cpu::Softmax::default());
            same(rows::softmax(view(0), &[-1], all, stream), cpu::softmax(host(&x), &[-1], plain), "softmax");
            same(rows::log_softmax(view(0), &[-1], all, stream), cpu::log_softmax(host(&x), &[-1], plain), "its log");
            let want = cpu::softmax_backward(host(&x), host(&gradients), &[-1], plain);
            same(rows::softmax_backward(view(0), view(1), &[-1], all, stream), want, "its gradient");
            for (of_weight, of_bias) in [(dtype, Some(dtype)), (dtype, None), (DType::F64, Some(DType::F64))] {
                let of = [Some(of_weight), of_bias];
                let bytes = of.map(|of| of.map(|of| (of, elements(of, len, 7, Specials::None))));
                let held = bytes.each_ref().map(|of| of.as_ref().map(|(of, bytes)| (*of, on.upload(bytes))));
                let factor = |which: usize| {
                    let (of, there) = held[which].as_ref()?;
                    Some(on.view(there, 0, *of, &[len], &[of.size() as isize]).expect("a view"))
                };
                let own = |which: usize| {
                    let (of, bytes) = bytes[which].as_ref()?;
                    // SAFETY: so many elements are there, until the end of the case.
                    let array = unsafe { ArrayRef::from_raw(bytes.as_ptr(), *of, &[len], &[of.size() as isize]) };
                    Some(array.expect("an array"))
                };
                let options = rows::Norm { weight: factor(0), bias: factor(1), ..rows::Norm::default() };
                let host_options = cpu::Norm { weight: own(0), bias: own(1), ..cpu::Norm::default() };
                let want = cpu::layer_norm(host(&x), &[-1], &host_options);
                same(rows::layer_norm(view(0), &[-1], &options, stream), want, "layer norm");
                let (options, host_options) =
                    (rows::Norm { bias: None, ..options }, cpu::Norm { bias: None, ..host_options });
                let want = cpu::rms_norm(host(&x), &[-1], &host_options);
                same(rows::rms_norm(view(0), &[-1], &options, stream), want, "rms norm");
            }
        }
    }
}

/// Short rows that several warps share, of which some have elements whose exponentials are no ordinary numbers, and
/// some are masked out but for one: what one warp finds, all must know.
#[test]
fn wild_rows_among_others_have_the_bits_of_the_cpu() {
    let on = Emulated::new();
    let stream = &on.stream;
    for (dtype, len) in [(DType::F32, 174), (DType::F32, 70), (DType::BF16, 281), (DType::F64, 21), (DType::F16, 300)] {
        let (size, count) = (dtype.size(), 70);
        let (shape, steps) = ([count, len], [(len * size) as isize, size as isize]);
        let mut x = elements(dtype, count * len, 5, Specials::None);
        let some = elements(dtype, 64, 6, Specials::All);
        for (i, special) in some.chunks(size).enumerate() {
            // Of a few rows, among them the first and the last of a block.
            let at = ([0, 5, 22, 23, 41, 69][i % 6] * len + i * 31 % len) * size;
            x[at..at + size].copy_from_slice(special);
        }
        // SAFETY: so many elements are there, until the end of the case.
        let host = || unsafe { ArrayRef::from_raw(x.as_ptr(), dtype, &shape, &steps) }.expect("an array");
        let there = on.upload(&x);
        let view = || on.view(&there, 0, dtype, &shape, &steps).expect("a view");
        let (all, plain) = (&rows::Softmax::default(), &cpu::Softmax::default());
        let want = cpu::softmax(host(), &[-1], plain).expect("a result");
        assert_eq!(cases::differs(rows::softmax(view(), &[-1], all, stream), &want, stream), None, "{dtype} {len}");
        let want = cpu::log_softmax(host(), &[-1], plain).expect("a result");
        assert_eq!(cases::differs(rows::log_softmax(view(), &[-1], all, stream), &want, stream), None, "{dtype} {len}");
    }
}

/// Gradients of layer norm whose weights or biases are frozen: the others have their bits, and the sums of both are
/// copied by one launch.
#[test]
fn gradients_of_what_is_frozen_are_left_out() {
    let on = Emulated::new();
    for (i, (dtype, count, len)) in
        [(DType::F32, 37, 24), (DType::BF16, 9, 1), (DType::BF16, 70, 776), (DType::F64, 5, 130)]
            .into_iter()
            .enumerate()
    {
        let shape = [count, len];
        let [host_x, host_gradient] =
            [0, 1].map(|seed| elements(dtype, shape[0] * len, 7 * i as u64 + seed, Specials::None));
        let factors = [2, 3].map(|seed| elements(dtype, len, 7 * i as u64 + seed, Specials::None));
        let steps = [(len * dtype.size()) as isize, dtype.size() as isize];
        let [of_x, of_gradient] = [&host_x, &host_gradient].map(|bytes| on.upload(bytes));
        let of_factors = factors.each_ref().map(|bytes| on.upload(bytes));
        let [x, gradient] =
            [&of_x, &of_gradient].map(|there| on.view(there, 0, dtype, &shape, &steps).expect("a view"));
        let [weight, bias] =
            of_factors.each_ref().map(|there| Some(on.view(there, 0, dtype, &[len], &steps[1..]).expect("a view")));
        let options = rows::Norm { weight, bias, ..rows::Norm::default() };
        let plan = rows::RowMap::layer_norm_backward(&on.device, &x, &gradient, &[-1], &options).expect("a plan");
        let copies = plan.kernels().iter().filter(|name| **name == "rowwise_arrange").count();
        let before = if (len * dtype.size()).is_multiple_of(16) { 0 } else { 1 };
        assert_eq!(copies, before + 1, "{dtype} {shape:?}");
        let given = rows::RowArrays { weight, bias, gradient: Some(gradient), ..Default::default() };
        let run = |wanted: [bool; 2]| {
            let room = |n: usize| Array::new(&on.device, dtype, &[n][..]).expect("room");
            let [weight, bias] = wanted.map(|is_wanted| is_wanted.then(|| room(len)));
            let mut out = rows::NormGradients { x: plan.output().expect("room"), weight, bias };
            plan.run_gradients(&on.stream, x, &given, &mut out).expect("a run");
            let read = |array: Array| array.download(&on.stream).expect("an array").values.as_bytes().to_vec();
            (read(out.x), out.weight.map(read), out.bias.map(read))
        };
        let (of_x, of_weight, of_bias) = run([true, true]);
        let host = |bytes: &[u8], shape: &[usize]| {
            // SAFETY: so many elements are there, until the end of the case.
            unsafe { ArrayRef::from_raw(bytes.as_ptr(), dtype, shape, &steps[steps.len() - shape.len()..]) }
                .expect("an array")
        };
        let [weight, bias] = factors.each_ref().map(|bytes| Some(host(bytes, &[len])));
        let options = cpu::Norm { weight, bias, ..cpu::Norm::default() };
        let arrays = [&host_x, &host_gradient].map(|bytes| host(bytes, &shape));
        let want = cpu::layer_norm_backward(arrays[0], arrays[1], &[-1], &options).expect("a result");
        assert_eq!(of_x, want.x.values.as_bytes(), "{dtype} {shape:?}");
        let want = [want.weight, want.bias].map(|array| array.map(|array| array.values.as_bytes().to_vec()));
        assert!([of_weight.clone(), of_bias.clone()] == want, "{dtype} {shape:?}");
        for wanted in [[true, false], [false, true], [false, false]] {
            let found = run(wanted);
            let want = (of_x.clone(), of_weight.clone().filter(|_| wanted[0]), of_bias.clone().filter(|_| wanted[1]));
            assert!(found == want, "{dtype} {shape:?} {wanted:?}");
        }
    }
}

/// Gradients of norms with those of weights, of rows that a block sweeps over: some lanes have no part of a row, the
/// last block lacks rows, blocks have up to 32 warps, and longer rows are computed by halves. Arrays that do not begin
/// with lines of 16 bytes are for others.
#[test]
fn sweeps_over_rows_have_the_bits_of_the_cpu() {
    let on = Emulated::new();
    let cases = [
        (DType::BF16, 67, 776, 0),
        (DType::BF16, 67, 776, 1),
        (DType::F16, 131, 264, 0),
        (DType::F32, 21, 4096, 0),
        (DType::F32, 7, 2052, 0),
        (DType::F32, 19, 4100, 0),
        (DType::BF16, 11, 8192, 0),
        (DType::F16, 33, 5120, 0),
        (DType::F32, 7, 2052, 3),
        (DType::F64, 9, 130, 0),
    ];
    for (i, (dtype, count, len, shift)) in cases.into_iter().enumerate() {
        for specials in [Specials::None, Specials::All] {
            let (shape, size) = ([count, len], dtype.size());
            let seed = 5 * i as u64;
            // The second array begins elsewhere, or both do.
            let arrays = [0, 1].map(|which| elements(dtype, count * len + shift, seed + which, specials));
            let weights = elements(dtype, len, seed + 2, Specials::None);
            let steps = [(len * size) as isize, size as isize];
            let [of_x, of_gradient, of_weights] = [&arrays[0], &arrays[1], &weights].map(|bytes| on.upload(bytes));
            let there = |buffer, first: usize, shape: &[usize]| {
                on.view(buffer, first, dtype, shape, &steps[steps.len() - shape.len()..]).expect("a view")
            };
            let (x, gradient) = (there(&of_x, 0, &shape), there(&of_gradient, shift * size, &shape));
            let weight = Some(there(&of_weights, 0, &[len]));
            let host = |bytes: &[u8], shape: &[usize]| {
                // SAFETY: so many elements are there, until the end of the case.
                unsafe { ArrayRef::from_raw(bytes.as_ptr(), dtype, shape, &steps[steps.len() - shape.len()..]) }
                    .expect("an array")
            };
            let of_host = [host(&arrays[0], &shape), host(&arrays[1][shift * size..], &shape)];
            for is_layer in [false, true] {
                let options = rows::Norm { weight, ..rows::Norm::default() };
                let (run, plan) = match is_layer {
                    true => {
                        ("layer_norm", rows::RowMap::layer_norm_backward(&on.device, &x, &gradient, &[-1], &options))
                    }
                    false => ("rms_norm", rows::RowMap::rms_norm_backward(&on.device, &x, &gradient, &[-1], &options)),
                };
                let plan = plan.expect("a plan");
                // Two sums of rows by halves have no room.
                if !is_layer || len * size <= 8192 << (size == 4) as usize {
                    let name = format!("rowswept_{run}_backward_{dtype}");
                    assert!(plan.kernels().contains(&&name[..]), "{:?}", plan.kernels());
                }
                let given = rows::RowArrays { weight, gradient: Some(gradient), ..Default::default() };
                let room = |n: usize| Array::new(&on.device, dtype, &[n][..]).expect("room");
                let of_weight = Some(room(len));
                let mut out = rows::NormGradients { x: plan.output().expect("room"), weight: of_weight, bias: None };
                plan.run_gradients(&on.stream, x, &given, &mut out).expect("a run");
                let options = cpu::Norm { weight: Some(host(&weights, &[len])), ..cpu::Norm::default() };
                let op = if is_layer { cpu::layer_norm_backward } else { cpu::rms_norm_backward };
                let want = op(of_host[0], of_host[1], &[-1], &options).expect("a result");
                let read = |array: Array| array.download(&on.stream).expect("an array").values.as_bytes().to_vec();
                let what = format!("{run} {dtype} {shape:?} {shift} {specials:?}");
                assert!(read(out.x) == want.x.values.as_bytes(), "{what}");
                let want = want.weight.expect("gradients of weights");
                assert!(read(out.weight.expect("as much")) == want.values.as_bytes(), "{what}: weights");
            }
        }
    }
}
