//! Reductions that are planned once: on many streams and threads, and in graphs.

use crate::{axes, gpu, host_axes, numbers};
use warpfold::cuda::{self, Array, ArrayView, Buffer, Options, Reduction, Stream};
use warpfold::{ArrayRef, DType, Op, reduce};

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
