//! Reductions on a GPU: the bits of the CPU, whatever the shape. Without a GPU these tests are skipped, and say so;
//! `WARPFOLD_REQUIRE_GPU=1` makes that a failure.
//!
//! `WARPFOLD_CASE=Rows:123` runs one case. `WARPFOLD_GPU_CASES=5000` runs so many of each class,
//! `WARPFOLD_GPU_SECONDS=60` goes on with other cases for so long, from `WARPFOLD_GPU_FROM`. `WARPFOLD_GPU_TRACE=1`
//! names each case before it runs, for kernels that do not end.

#![cfg(feature = "cuda")]

#[path = "all/cases.rs"]
mod cases;
#[path = "gpu/custom.rs"]
mod custom;
#[path = "gpu/golden.rs"]
mod golden;
#[allow(dead_code)]
#[path = "golden/cases.rs"]
mod golden_cases;
#[path = "gpu/keys.rs"]
mod keys;
#[path = "gpu/kmeans.rs"]
mod kmeans;
#[allow(dead_code)]
#[path = "all/reference.rs"]
mod reference;
#[path = "gpu/segments.rs"]
mod segments;
#[path = "gpu/soak.rs"]
mod soak;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use cases::Class;
use reference::{Random, Strided, element};
use soak::{OnDevice, differs, soak};
use warpfold::cuda::{self, Array, ArrayView, Buffer, Device, Error, Options, Reduction, Stream};
use warpfold::{ArrayRef, DType, DeviceName, Op, Order, Scalar, describe, reduce, reduce_on};

static SKIPPED: AtomicU32 = AtomicU32::new(0);

/// The GPU, one test at a time; `None` to skip.
fn gpu() -> Option<MutexGuard<'static, Device>> {
    static GPU: LazyLock<Result<Mutex<Device>, Error>> = LazyLock::new(|| cuda::shared(0).map(Mutex::new));
    match &*GPU {
        // A test that failed leaves the device as usable as its error says.
        Ok(gpu) => Some(gpu.lock().unwrap_or_else(PoisonError::into_inner)),
        Err(why) => {
            assert!(std::env::var_os("WARPFOLD_REQUIRE_GPU").is_none_or(|v| v != "1"), "a GPU is required: {why}");
            let skipped = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
            println!("skipped ({skipped} so far): {why}");
            None
        }
    }
}

fn run(class: Class) {
    let Some(gpu) = gpu() else { return };
    soak(&gpu, class);
}

#[test]
fn class_tiny() {
    run(Class::Tiny);
}

#[test]
fn class_full() {
    run(Class::Full);
}

#[test]
fn class_rows() {
    run(Class::Rows);
}

#[test]
fn class_short_rows() {
    run(Class::ShortRows);
}

#[test]
fn class_columns() {
    run(Class::Columns);
}

#[test]
fn class_few_columns() {
    run(Class::FewColumns);
}

#[test]
fn class_middle() {
    run(Class::Middle);
}

#[test]
fn class_wild() {
    run(Class::Wild);
}

#[test]
fn class_empty() {
    run(Class::Empty);
}

#[test]
fn class_degenerate() {
    run(Class::Degenerate);
}

#[test]
fn class_large() {
    run(Class::Large);
}

#[test]
fn descriptions_of_every_class() {
    let Some(gpu) = gpu() else { return };
    for class in Class::ALL {
        soak::describe_soak(&gpu, class);
    }
}

#[test]
fn one_case() {
    let (Some(gpu), Ok(name)) = (gpu(), std::env::var("WARPFOLD_CASE")) else { return };
    soak::one(&gpu, &name);
}

fn numbers(n: usize, seed: u64) -> Vec<f32> {
    let r = &mut Random(seed | 1);
    (0..n).map(|_| element(r, DType::F32, 0).to_f64() as f32).collect()
}

fn axes(axes: &[isize]) -> Options<'static> {
    Options { axes: Some(axes.to_vec()), ..Options::default() }
}

fn host_axes(axes: &[isize]) -> warpfold::Options<'static> {
    warpfold::Options { axes: Some(axes.to_vec()), ..Default::default() }
}

#[test]
fn what_is_uploaded_is_what_is_downloaded() {
    let Some(gpu) = gpu() else { return };
    let stream = Stream::new(&gpu).expect("a stream");
    let mut wrong = Vec::new();
    for seed in 0..200 {
        let r = &mut Random(seed * 77 + 1);
        let dtype = DType::ALL[r.below(13)];
        let shape: Vec<usize> = (0..r.below(4)).map(|_| r.below(70)).collect();
        let x = Strided::new(r, dtype, &shape, |r| element(r, dtype, 3));
        let back = Array::upload(&stream, x.view()).and_then(|array| array.download(&stream));
        let bits = |values: &warpfold::Values| (0..values.len()).map(|i| values.get(i).bits().0).collect::<Vec<_>>();
        let expected: Vec<u64> = x.elements().iter().map(|v| v.bits().0).collect();
        match back {
            Ok(back) if back.shape == shape && bits(&back.values) == expected => {}
            other => wrong.push(format!("seed {seed} {dtype} {shape:?}: {:?}", other.map(|a| a.shape))),
        }
    }
    // Large enough for several pinned chunks, in the other byte order.
    let data: Vec<u8> = (0..20_000_004u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let swapped = ArrayRef::from_bytes(&data, DType::U32, &[5_000_001], Order::C, true).expect("bytes");
    let back = Array::upload(&stream, swapped).and_then(|a| a.download(&stream)).expect("a copy");
    let expected: Vec<u32> = data.chunks_exact(4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]])).collect();
    assert!(back.into_vec::<u32>().expect("u32") == expected, "a large swapped array");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn views_are_slices_steps_and_permutations() {
    let Some(gpu) = gpu() else { return };
    let stream = Stream::new(&gpu).expect("a stream");
    let x = numbers(30 * 40 * 50, 3);
    let host = ndarray::ArrayView3::from_shape((30, 40, 50), &x).expect("a shape");
    let array = Array::upload(&stream, ArrayRef::from_slice(&x, &[30, 40, 50]).expect("a shape")).expect("upload");
    let view = array.view().slice(1, 3..33).and_then(|v| v.step(2, -3)).and_then(|v| v.permute(&[2, 0, 1]));
    let view = view.expect("a view");
    let same = host.slice(ndarray::s![.., 3..33, ..]).to_owned();
    let same = same.slice(ndarray::s![.., .., ..;-3]).permuted_axes([2, 0, 1]).as_standard_layout().to_owned();
    assert_eq!(view.shape(), same.shape());
    let flat = same.as_slice().expect("standard layout");
    for op in [Op::Sum, Op::ArgMax, Op::Var] {
        let got =
            cuda::reduce(op, view, &axes(&[1, 2]), &stream).and_then(|out| out.download(&stream)).expect("a result");
        let want = reduce(op, ArrayRef::from_slice(flat, same.shape()).expect("a shape"), &host_axes(&[1, 2]));
        assert_eq!(got, want.expect("a result"), "{op}");
    }
    assert!(view.slice(0, 5..99).is_err() && view.slice(7, 0..1).is_err() && view.step(0, 0).is_err());
    assert!(view.permute(&[0, 0, 1]).is_err() && view.permute(&[0, 1]).is_err());
}

#[test]
fn slices_of_cudarc_are_arrays() {
    let Some(gpu) = gpu() else { return };
    let stream = Stream::new(&gpu).expect("a stream");
    let x = numbers(6000, 8);
    let theirs = cudarc::driver::CudaContext::new(0).expect("a context").default_stream();
    let slice = theirs.clone_htod(&x).expect("a slice");
    theirs.synchronize().expect("done");
    let view = cuda::view(&slice, &[60, 100]).expect("a view");
    let got =
        cuda::reduce(Op::Sum, view, &axes(&[0]), &stream).and_then(|out| out.download(&stream)).expect("a result");
    let want =
        reduce(Op::Sum, ArrayRef::from_slice(&x, &[60, 100]).expect("a shape"), &host_axes(&[0])).expect("a result");
    assert_eq!(got, want);
    assert!(cuda::view(&slice, &[61, 100]).is_err());
}

#[test]
fn a_reduction_is_prepared_once_and_runs_on_many_streams_and_threads() {
    let Some(gpu) = gpu() else { return };
    let setup = Stream::new(&gpu).expect("a stream");
    let shapes: [(&[usize], &[isize]); 4] =
        [(&[1 << 20], &[0]), (&[300, 4000], &[1]), (&[4000, 300], &[0]), (&[100_003, 3], &[0])];
    for (shape, reduced) in shapes {
        for op in [Op::Sum, Op::ArgMin, Op::MinMax, Op::Std] {
            let host: Vec<Vec<f32>> = (0..4).map(|i| numbers(shape.iter().product(), 31 * i + 7)).collect();
            let of = |x| ArrayRef::from_slice(x, shape).expect("a shape");
            let want: Vec<_> = host.iter().map(|x| reduce(op, of(x), &host_axes(reduced)).expect("a result")).collect();
            let arrays: Vec<Array> = host.iter().map(|x| Array::upload(&setup, of(x)).expect("upload")).collect();
            let reduction = Reduction::new(&gpu, op, &arrays[0].view(), &axes(reduced)).expect("a plan");
            let shared = Stream::new(&gpu).expect("a stream");
            let wrong: Vec<String> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4)
                    .map(|thread| {
                        let (reduction, arrays, want, shared) = (&reduction, &arrays, &want, &shared);
                        scope.spawn(move || {
                            // Two threads share a stream, the others have their own.
                            let own = Stream::new(&shared.device()).expect("a stream");
                            let stream = if thread < 2 { shared } else { &own };
                            let mut out = reduction.output().expect("room");
                            let mut wrong = Vec::new();
                            for turn in 0..50 {
                                let i = (turn + thread) % 4;
                                let view = arrays[i].view();
                                let got = match turn % 2 {
                                    0 => reduction.run_to_host(stream, view, None),
                                    _ => {
                                        reduction.run(stream, view, None, &mut out).and_then(|()| out.download(stream))
                                    }
                                };
                                if got.as_ref() != Ok(&want[i]) {
                                    wrong.push(format!("thread {thread} turn {turn}: {:?}", got.err()));
                                }
                            }
                            wrong
                        })
                    })
                    .collect();
                threads.into_iter().flat_map(|t| t.join().expect("no panic")).collect()
            });
            let first = &wrong[..wrong.len().min(5)];
            assert!(wrong.is_empty(), "{op} {shape:?} {:?}: {} wrong: {first:?}", reduction.kernels(), wrong.len());
        }
    }
}

#[test]
fn a_graph_replays_reductions_on_what_the_arrays_hold_then() {
    let Some(gpu) = gpu() else { return };
    let stream = Stream::new(&gpu).expect("a stream");
    let (a, b) = (numbers(300 * 500, 1), numbers(300 * 500, 2));
    let of = |x| ArrayRef::from_slice(x, &[300, 500]).expect("a shape");
    let first = Array::upload(&stream, of(&a)).expect("upload");
    let input = Buffer::<f32>::upload(&stream, &a).expect("upload");
    // SAFETY: the buffer has these elements and outlives the view's uses.
    let view = unsafe { ArrayView::from_raw(0, input.address(), DType::F32, &[300, 500], &[2000, 4]) }.expect("a view");
    let rows = Reduction::new(&gpu, Op::Sum, &view, &axes(&[1])).expect("a plan");
    let columns = Reduction::new(&gpu, Op::ArgMax, &view, &axes(&[0])).expect("a plan");
    let all = Reduction::new(&gpu, Op::Mean, &view, &Options::default()).expect("a plan");
    let mut out = [&rows, &columns, &all].map(|r| r.output().expect("room"));
    // SAFETY: arrays and reductions live until the end of the test, the graph does not.
    let graph = unsafe {
        stream.capture(|recording| {
            rows.run(recording, view, None, &mut out[0])?;
            columns.run(recording, view, None, &mut out[1])?;
            all.run(recording, view, None, &mut out[2])
        })
    };
    let graph = graph.expect("a graph");
    let mut input = input;
    for x in [&a, &b, &a] {
        input.write(&stream, x).expect("write");
        graph.launch(&stream).expect("launch");
        let plans = [(Op::Sum, Some(1)), (Op::ArgMax, Some(0)), (Op::Mean, None)];
        for ((op, axis), out) in plans.into_iter().zip(&out) {
            let o = warpfold::Options { axes: axis.map(|a| vec![a]), ..Default::default() };
            assert_eq!(out.download(&stream).expect("a result"), reduce(op, of(x), &o).expect("a result"), "{op}");
        }
    }
    let other = Stream::new(&gpu).expect("a stream");
    for _ in 0..20 {
        graph.launch(&stream).expect("launch");
        graph.launch(&other).expect("launch");
    }
    gpu.synchronize().expect("done");
    let sum = cuda::reduce(Op::Sum, first.view(), &axes(&[1]), &stream).and_then(|s| s.download(&stream));
    assert_eq!(out[0].download(&stream).expect("a result"), sum.expect("a result"));
    // What waits cannot be recorded, and says so; the stream goes on.
    // SAFETY: nothing is recorded.
    let refused = unsafe { stream.capture(|recording| rows.run_to_host(recording, view, None).map(drop)) };
    assert!(refused.is_err());
    assert!(rows.run_to_host(&stream, view, None).is_ok());
}

#[test]
fn arrays_in_pieces_have_the_bits_of_the_whole() {
    let Some(gpu) = gpu() else { return };
    let (mut wrong, mut checked, mut cannot) = (Vec::new(), 0, 0);
    let shapes: [(&[usize], &[isize]); 7] = [
        (&[700, 1000], &[1]),
        (&[700, 1000], &[0]),
        (&[1000, 7], &[0]),
        (&[3, 200_001], &[1]),
        (&[500_003], &[0]),
        (&[40, 50, 60], &[0, 2]),
        (&[40, 50, 60], &[1]),
    ];
    let ops = [Op::Sum, Op::Mean, Op::Var, Op::Max, Op::ArgMax, Op::MinMax, Op::LogSumExp, Op::CountNonzero];
    for (i, (shape, reduced)) in shapes.into_iter().enumerate() {
        for (j, op) in ops.into_iter().enumerate() {
            for dtype in [DType::F32, DType::BF16, DType::I32, DType::F64] {
                let r = &mut Random((31 * i + j + 1) as u64);
                let fill = |r: &mut Random| element(r, dtype, 1);
                let x = match j % 2 {
                    0 => Strided::new(r, dtype, shape, fill),
                    _ => Strided::place(r, dtype, shape, dense(shape, dtype), 0, fill),
                };
                let mask = (j % 3 == 1).then(|| Strided::new(r, DType::Bool, shape, |r| Scalar::Bool(r.chance(60))));
                let o = warpfold::Options { mask: mask.as_ref().map(Strided::view), ..host_axes(reduced) };
                let want = reduce(op, x.view(), &o);
                let got = cuda::stream_host(op, x.view(), &o, &gpu, 64 << 10);
                checked += 1;
                let why = match (&got, &want) {
                    (Err(warpfold::Error::Cuda(Error::TooLarge { .. })), _) => {
                        cannot += 1;
                        continue;
                    }
                    (Ok(got), Ok(want)) => differs(got, want),
                    _ if got == want => None,
                    _ => Some(format!("{:?}, not {:?}", got.err(), want.err())),
                };
                wrong.extend(why.map(|why| format!("{op} {dtype} {shape:?} {reduced:?}: {why}")));
            }
        }
    }
    println!("{checked} checked, {cannot} could not be cut");
    // One row of elements without a mask always can.
    let row = |op: Op| {
        let x = numbers(3_000_017, 5);
        let x = ArrayRef::from_slice(&x, &[3_000_017]).expect("a shape");
        let o = warpfold::Options::default();
        (cuda::stream_host(op, x, &o, &gpu, 1 << 20), reduce(op, x, &o))
    };
    for op in [Op::ArgMin, Op::ArgMax, Op::MinMax] {
        let (got, want) = row(op);
        assert_eq!(got, want, "{op} in chunks");
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}

fn dense(shape: &[usize], dtype: DType) -> Vec<isize> {
    let step = |axis: usize| shape[axis + 1..].iter().product::<usize>() * dtype.size();
    (0..shape.len()).map(|axis| step(axis) as isize).collect()
}

#[test]
fn host_arrays_reduce_on_a_named_device() {
    let Some(gpu) = gpu() else { return };
    let mut wrong = Vec::new();
    for seed in 0..100 {
        let case = cases::Case::new(Class::Wild, seed);
        let want = reduce(case.op, case.x.view(), &case.options());
        let got = reduce_on(DeviceName::Cuda(0), case.op, case.x.view(), &case.options());
        match (&got, &want) {
            (Ok(got), Ok(want)) => wrong.extend(differs(got, want).map(|why| format!("{case}: {why}"))),
            _ if got == want => {}
            _ => wrong.push(format!("{case}: {:?}, not {:?}", got.err(), want.err())),
        }
    }
    let stream = Stream::new(&gpu).expect("a stream");
    for dtype in DType::ALL {
        for reduced in [vec![0], vec![1], vec![0, 1]] {
            let x = Strided::new(&mut Random(5), dtype, &[40, 70], |r| element(r, dtype, 1));
            let o = host_axes(&reduced);
            let want = describe(x.view(), &o).expect("a description");
            let on_device = OnDevice::new(&stream, &x);
            // Cases for the CPU have elements at any address.
            let Ok(view) = on_device.view() else { continue };
            let got = cuda::describe(view, &axes(&reduced), &stream);
            match got {
                Ok(got) if format!("{got:?}") == format!("{want:?}") => {}
                other => wrong.push(format!("describe {dtype} {reduced:?}: {other:?}, not {want:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}

#[test]
fn more_than_four_billion_elements() {
    let Some(gpu) = gpu() else { return };
    let n = (1usize << 32) + 12_345;
    if gpu.memory().expect("memory").0 < 6 << 30 {
        println!("skipped: needs 6 GiB");
        return;
    }
    let stream = Stream::new(&gpu).expect("a stream");
    let mut bytes = Buffer::<u8>::new(&gpu, n).expect("room");
    bytes.fill(&stream, 1).expect("ones");
    let three = Buffer::upload(&stream, &[3u8]).expect("upload");
    // SAFETY: the buffers have these bytes.
    let view = |shape: &[usize], strides: &[isize]| unsafe {
        ArrayView::from_raw(0, bytes.address(), DType::I8, shape, strides).expect("a view")
    };
    let one = |op, view, o: &Options<'_>| {
        cuda::reduce(op, view, o, &stream).and_then(|out| out.download(&stream)).map(|a| a.values.get(0))
    };
    let flat = view(&[n], &[1]);
    let all = Options::default();
    assert_eq!(one(Op::Sum, flat, &all), Ok(Scalar::I64(n as i64)));
    assert_eq!(one(Op::CountNonzero, flat, &all), Ok(Scalar::I64(n as i64)));
    assert_eq!(one(Op::Mean, flat, &all), Ok(Scalar::F64(1.0)));
    assert_eq!(one(Op::ArgMax, flat, &all), Ok(Scalar::I64(0)));
    let columns = cuda::reduce(Op::Sum, view(&[n / 3, 3], &[3, 1]), &axes(&[0]), &stream);
    let columns = columns.and_then(|out| out.download(&stream)).expect("sums");
    assert_eq!(columns.into_vec::<i64>(), Some(vec![(n / 3) as i64; 3]));
    drop(three);
}

#[test]
fn what_does_not_fit_is_refused_in_words() {
    let Some(gpu) = gpu() else { return };
    let stream = Stream::new(&gpu).expect("a stream");
    let x = numbers(600, 1);
    let array = Array::upload(&stream, ArrayRef::from_slice(&x, &[20, 30]).expect("a shape")).expect("upload");
    let reduction = Reduction::new(&gpu, Op::Max, &array.view(), &axes(&[1])).expect("a plan");
    let mut out = reduction.output().expect("room");
    let transposed = array.view().permute(&[1, 0]).expect("a view");
    let said = reduction.run(&stream, transposed, None, &mut out).expect_err("another layout").to_string();
    assert!(said.contains("[20, 30]") && said.contains("[30, 20]") && said.contains("prepare"), "{said}");
    let mut short = Array::new(&gpu, DType::F32, &[19]).expect("room");
    assert!(reduction.run(&stream, array.view(), None, &mut short).is_err());
    let said = cuda::reduce(Op::Sum, array.view(), &axes(&[2]), &stream).err().expect("no such axis").to_string();
    assert!(said.contains("axis 2 is out of range"), "{said}");
    let mask = Options { mask: Some(array.view()), ..Options::default() };
    let said = cuda::reduce(Op::Sum, array.view(), &mask, &stream).err().expect("no bools").to_string();
    assert!(said.contains("must be bool"), "{said}");
    let huge = Array::new(&gpu, DType::F64, &[1 << 44]).err().expect("too large");
    assert!(matches!(huge, warpfold::Error::Cuda(Error::OutOfMemory { needed, .. }) if needed >= 1 << 47), "{huge}");
    // SAFETY: refused before anything is done with the address.
    let elsewhere = unsafe { ArrayView::from_raw(7, 4096, DType::F32, &[20, 30], &[120, 4]) }.expect("a view");
    let said = reduction.run(&stream, elsewhere, None, &mut out).expect_err("another device").to_string();
    assert!(said.contains("cuda:7") && said.contains("cuda:0"), "{said}");
    assert!(reduction.run(&stream, array.view(), None, &mut out).is_ok() && out.download(&stream).is_ok());
}

#[test]
fn without_a_gpu_every_way_in_is_an_error_and_none_panics() {
    if cuda::open(0).is_ok() {
        return;
    }
    let x = numbers(100, 1);
    let x = ArrayRef::from_slice(&x, &[100]).expect("a shape");
    let o = warpfold::Options::default();
    for said in [
        cuda::open(0).map(|_| ()).map_err(warpfold::Error::from),
        cuda::shared(0).map(|_| ()).map_err(warpfold::Error::from),
        reduce_on(DeviceName::Cuda(0), Op::Sum, x, &o).map(|_| ()),
        warpfold::describe_on(DeviceName::Cuda(1), x, &o).map(|_| ()),
    ] {
        let said = said.expect_err("no GPU").to_string();
        assert!(said.contains("`cpu`"), "{said}");
    }
    assert!(reduce_on(DeviceName::Auto, Op::Sum, x, &o).is_ok());
    assert!(cuda::explain(Op::Sum, x, &o, None).is_ok());
}
