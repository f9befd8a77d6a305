//! Errors: of arrays that do not fit a plan, and of a machine without a GPU.

use crate::{axes, gpu, numbers};
use warpfold::cuda::{self, Array, ArrayView, Error, Options, Reduction, Stream};
use warpfold::{ArrayRef, DType, DeviceName, Op, reduce_on};

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
