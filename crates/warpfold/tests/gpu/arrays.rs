//! Arrays in a GPU's memory: copies, views, slices of cudarc, more than 2^32 elements.

use crate::reference::{Random, Strided, element};
use crate::{axes, gpu, host_axes, numbers};
use warpfold::cuda::{self, Array, ArrayView, Buffer, Options, Stream};
use warpfold::{ArrayRef, DType, Op, Order, Scalar, reduce};

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
