//! One reduction: an argument of any kind in, a result of the same kind out.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};
use warpfold::{Array, ArrayRef, DeviceName, Op, Options, Scalar, Value, Values, reduce_on};
use warpfold_array::each;
use warpfold_array::request::spec;
use warpfold_cpu::policy::BLOCK;

use crate::gpu::{self, GpuArray};
use crate::input::{AtOnce, Input, adapt};
use crate::options::Given;
use crate::{error, numpy, pool};

/// Reduces `x`.
pub fn reduce<'py>(
    x: &Bound<'py, PyAny>,
    op: Op,
    skip_nan: bool,
    given: &Given<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    if numpy::is_exact(x) {
        let array = numpy::layout(x)?;
        // A kernel may read unsigned integers as signed ones: the bits are those of the result's dtype.
        if let Some(scalar) = small(x, op, skip_nan, &array, given) {
            let scalar = scalar.map_err(|e| error::of(py, &e))?;
            let cast = spec(op, &array, &Options::default()).result();
            return numpy::element(py, scalar, cast);
        }
    }
    let input = match AtOnce::of(x)? {
        AtOnce::Host(input) => input,
        AtOnce::Gpu { tensor, of, exchange } => {
            let array = GpuArray::exchanged(of, tensor, exchange)?;
            return gpu::reduce(&array, op, skip_nan, given);
        }
        AtOnce::Unknown => match GpuArray::asked(x)? {
            Some(array) => return gpu::reduce(&array, op, skip_nan, given),
            None => Input::of(x)?,
        },
    };
    let array = input.layout()?;
    let mask = mask(&input, given.r#where)?;
    let result = computed(py, op, skip_nan, array, mask.as_ref(), given)?;
    let wrap = |result: Array| input.result(py, result, given.axis);
    let result = if op == Op::MinMax {
        let [least, greatest] = halves(result).map(wrap);
        PyTuple::new(py, [least?, greatest?])?.into_any()
    } else {
        if let Some(out) = given.out.filter(|out| !input.wraps() && numpy::fill(out, &result)) {
            return Ok(out.clone());
        }
        wrap(result)?
    };
    match given.out {
        None => Ok(result),
        Some(out) => adapt(py)?.call_method1("store", (out, result)),
    }
}

/// The result of few elements side by side, without options: most of the time of a general call is not in arithmetic.
fn small(
    x: &Bound<'_, PyAny>,
    op: Op,
    skip_nan: bool,
    array: &ArrayRef<'_>,
    given: &Given<'_, '_>,
) -> Option<Result<Scalar, warpfold::Error>> {
    let few = (1..=BLOCK).contains(&array.len()) && numpy::is_dense(x) && given.is_plain();
    if !few || skip_nan || op == Op::MinMax {
        return None;
    }
    let flat = array.line(0, array.len(), array.dtype().size() as isize);
    let direct = spec(op, &flat, &Options::default()).reads_in_place();
    let aligned = flat.base().addr().is_multiple_of(array.dtype().size());
    (direct && aligned).then(|| warpfold_cpu::reduce_slice(op, flat, array))
}

/// The mask of a call: that of the array itself, and that of the argument `where`.
pub fn mask<'py>(input: &Input<'py>, given: Option<&Bound<'py, PyAny>>) -> PyResult<Option<Input<'py>>> {
    // NumPy's default is True.
    let all = |mask: &&Bound<'py, PyAny>| !mask.cast::<PyBool>().is_ok_and(|mask| mask.is_true());
    let given = given.filter(all);
    match (input.mask(), given) {
        (None, None) => Ok(None),
        (Some(one), None) | (None, Some(one)) => Input::of(one).map(Some),
        (Some(own), Some(given)) => {
            let both = adapt(own.py())?.call_method1("both", (own, given))?;
            Input::of(&both).map(Some)
        }
    }
}

/// The result of a reduction on a device.
fn computed(
    py: Python<'_>,
    op: Op,
    skip_nan: bool,
    array: ArrayRef<'_>,
    mask: Option<&Input<'_>>,
    given: &Given<'_, '_>,
) -> PyResult<Array> {
    let options = given.options(op, array.dtype(), skip_nan)?;
    let device = given.device(py)?.unwrap_or(DeviceName::Cpu);
    let may_end = matches!(op, Op::Min | Op::Max | Op::ArgMin | Op::ArgMax | Op::Any | Op::All);
    if may_end && mask.is_none() && device == DeviceName::Cpu && array.len() > pool::HOLD {
        // Threads would take longer to wake.
        if let Some(result) = warpfold_cpu::decided(op, array, &options) {
            return Ok(result);
        }
    }
    let mask = mask.map(Input::layout).transpose()?;
    pool::run(py, array.len(), |how| {
        let options = Options { mask, threads: how.threads, progress: how.progress, ..options };
        reduce_on(device, op, array, &options)
    })
}

/// The two halves of a minmax.
fn halves(Array { mut shape, values }: Array) -> [Array; 2] {
    shape.pop();
    fn every<T: Value>(values: &[T], from: usize) -> Values {
        T::wrap(values.iter().skip(from).step_by(2).copied().collect())
    }
    [0, 1].map(|from| Array { shape: shape.clone(), values: each!(Values, &values, v => every(v, from)) })
}
