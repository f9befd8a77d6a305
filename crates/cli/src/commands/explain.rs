//! `warpfold explain`

use std::fmt::Display;
use std::io::Write;
use std::ptr::NonNull;

use warpfold::cuda::{self, Properties};
use warpfold::{ArrayRef, DType, DeviceName, Error, Options, Order};

use super::print;
use crate::args::Explain;
use crate::error::Failure;

/// Prints a plan made without data.
pub fn run(args: &Explain) -> Result<(), Failure> {
    let (shape, dtype) = (&args.shape.0, args.dtype);
    let strides = strides(shape, dtype, args.order.into()).ok_or(Error::ShapeOverflow { shape: shape.clone() })?;
    // SAFETY: there are no such elements, and none is read: the plan is made of the shape and the strides.
    let array = unsafe { ArrayRef::from_raw(NonNull::<u64>::dangling().as_ptr().cast(), dtype, shape, &strides)? };
    let options = Options {
        axes: args.axes.list(),
        keepdims: args.axes.keepdims,
        dtype: args.result,
        precision: args.precision.into(),
        skip_nan: args.skip_nan,
        ord: args.ord,
        threads: args.threads.map(usize::from),
        ..Options::default()
    };
    let plan: Box<dyn Display> = match args.device.resolve(array.bytes()) {
        DeviceName::Cuda(index) => {
            Box::new(cuda::explain(args.op, array, &options, gpu(index).map_err(Error::Cuda)?.as_ref())?)
        }
        _ => Box::new(warpfold::explain(args.op, array, &options)?),
    };
    print(|to| writeln!(to, "{plan}"))
}

/// The GPU of that index; `None` if this machine has no GPU at all.
fn gpu(index: usize) -> Result<Option<Properties>, cuda::Error> {
    let gpus = match cuda::devices() {
        Ok(gpus) => gpus,
        Err(why) if why.is_unavailable() => Vec::new(),
        Err(why) => return Err(why),
    };
    let count = gpus.len();
    match gpus.into_iter().nth(index) {
        None if count > 0 => Err(cuda::Error::NoSuchDevice { index, count }),
        gpu => Ok(gpu),
    }
}

/// The steps of a dense array in bytes; `None` if the address space does not hold it.
fn strides(shape: &[usize], dtype: DType, order: Order) -> Option<Vec<isize>> {
    let mut strides = vec![0; shape.len()];
    let mut step = isize::try_from(dtype.size()).ok()?;
    for i in 0..shape.len() {
        let axis = if order == Order::C { shape.len() - 1 - i } else { i };
        strides[axis] = step;
        step = step.checked_mul(isize::try_from(shape[axis].max(1)).ok()?)?;
    }
    Some(strides)
}
