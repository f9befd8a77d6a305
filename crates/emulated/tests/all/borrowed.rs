//! Streams and memory of other libraries: the same results, in their memory, and their streams stay.

use warpfold::cuda::{Array, Handle, Options, Reduction, Stream};
use warpfold::{ArrayRef, DType, Error, Op};

use crate::Emulated;

#[test]
fn results_go_to_memory_and_streams_of_others() {
    let it = Emulated::new();
    let x: Vec<f32> = (0..3000).map(|i| (i % 7) as f32).collect();
    let x = ArrayRef::from_slice(&x, &[30, 100]).expect("the shape");
    let on_device = Array::upload(&it.stream, x).expect("room");
    // SAFETY: the emulator's default stream, which does not go.
    let stream = unsafe { Stream::borrowed(&it.device, Handle(std::ptr::null_mut())) };
    for op in [Op::Sum, Op::Var, Op::ArgMax, Op::MinMax] {
        let options = Options { axes: Some(vec![1]), ..Options::default() };
        let reduction = Reduction::new(&it.device, op, &on_device.view(), &options).expect("a plan");
        let out = reduction.output().expect("room");
        // SAFETY: the array has room for the result, and nothing else uses it.
        unsafe { reduction.run_at(&stream, on_device.view(), None, out.address()) }.expect("a run");
        let found = out.download(&it.stream).expect("a result");
        let options = warpfold::Options { axes: Some(vec![1]), ..warpfold::Options::default() };
        assert_eq!(found, warpfold::reduce(op, x, &options).expect("a result"), "{op}");
    }
}

#[test]
fn an_output_without_a_value_is_an_error_of_the_run_and_of_no_later_one() {
    let it = Emulated::new();
    let nan = [f32::NAN; 12];
    let nan = Array::upload(&it.stream, ArrayRef::from_slice(&nan, &[3, 4]).expect("the shape")).expect("room");
    let options = Options { axes: Some(vec![1]), skip_nan: true, ..Options::default() };
    let reduction = Reduction::new(&it.device, Op::ArgMin, &nan.view(), &options).expect("a plan");
    let out = Array::new(&it.device, DType::I64, &[3]).expect("room");
    // SAFETY: the array has room for the result, and nothing else uses it.
    let said = unsafe { reduction.run_at(&it.stream, nan.view(), None, out.address()) };
    assert!(matches!(said, Err(Error::AllNan { .. })), "{said:?}");
    let one = [1f32, 2.0, 0.0, 4.0];
    let one = Array::upload(&it.stream, ArrayRef::from_slice(&one, &[1, 4]).expect("the shape")).expect("room");
    let reduction = Reduction::new(&it.device, Op::ArgMin, &one.view(), &options).expect("a plan");
    // SAFETY: as above.
    unsafe { reduction.run_at(&it.stream, one.view(), None, out.address()) }.expect("a value");
    let found = out.download(&it.stream).expect("a result").into_vec::<i64>();
    assert_eq!(found.expect("i64")[0], 2);
}
