//! Reductions whose op and dtype are known at run time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::bound::{Bound, Task};
use crate::dispatch::Kernels;
use crate::parallel;
use crate::plan::Plan;
use crate::policy::{BLOCK, LEAST_DECIDED, MOST_DECIDED};
use warpfold_array::ArrayRef;
use warpfold_array::memory;
use warpfold_array::request::{Request, base, hole_error, spec};
use warpfold_array::{Array, Error, Hole, Op, Options, Scalar, Values};

/// Reduces an array.
///
/// ```
/// use warpfold::{ArrayRef, Op, Options, reduce};
///
/// let x = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let x = ArrayRef::from_slice(&x, &[2, 3])?;
/// let sums = reduce(Op::Sum, x, &Options { axes: Some(vec![0]), ..Options::default() })?;
/// assert_eq!(sums.shape, [3]);
/// assert_eq!(sums.into_vec::<f32>().unwrap(), [5.0, 7.0, 9.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// Axes out of range or named twice, a mask of another shape or dtype, an option that the reduction does not have, or
/// nothing to reduce where there is no identity; [`Error::Memory`] if memory does not hold the result.
pub fn reduce(op: Op, array: ArrayRef<'_>, options: &Options<'_>) -> Result<Array, Error> {
    let mut result = nothing();
    reduce_into(op, array, options, &mut result)?;
    Ok(result)
}

/// [`reduce`], in the memory of an earlier result, if it is of the same dtype and has room for this one. Otherwise new
/// memory takes its place. A large result takes longer to allocate than to write: the system clears every page.
///
/// ```
/// use warpfold::{ArrayRef, Op, Options, reduce, reduce_into};
///
/// let (monday, tuesday) = ([1.0f32, 2.0, 3.0, 4.0], [5.0f32, 6.0, 7.0, 8.0]);
/// let columns = Options { axes: Some(vec![0]), ..Options::default() };
/// let mut sums = reduce(Op::Sum, ArrayRef::from_slice(&monday, &[2, 2])?, &columns)?;
/// reduce_into(Op::Sum, ArrayRef::from_slice(&tuesday, &[2, 2])?, &columns, &mut sums)?;
/// assert_eq!(sums.into_vec::<f32>().unwrap(), [12.0, 14.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// Those of [`reduce`]. If the request is refused, `result` is as it was; if the elements leave an output without a
/// value, it is an array of no elements.
pub fn reduce_into(op: Op, array: ArrayRef<'_>, options: &Options<'_>, result: &mut Array) -> Result<(), Error> {
    let request = Request::new(op, &array, options)?;
    let (outputs, dtype) = (request.problem.outputs, request.spec.result());
    let fits = result.dtype() == dtype && result.values.len() >= outputs;
    if outputs > MANY && !fits {
        memory::afford("the result", outputs, Kernels(&request.spec).with(|bound| bound.bytes(dtype)))?;
    }
    let hole = |hole| request.hole(hole);
    let shape = request.shape();
    let values = on_threads(options.threads, |threads| {
        let (problem, given) = (&request.problem, request.options());
        let base = base(request.array(), given.mask.as_ref(), problem);
        let task = Task { problem, base, threads, progress: given.progress };
        let spare = std::mem::replace(result, nothing()).values;
        // SAFETY: an ArrayRef's elements are readable; the problem reaches no others.
        Kernels(&request.spec).with(|bound| unsafe { bound.run(&task, dtype, spare) })
    })?
    .ok_or(Hole::Empty)
    .flatten()
    .map_err(hole)?;
    *result = Array { shape, values };
    Ok(())
}

/// The result of a reduction that the first few elements of each output decide, such as the index of a NaN; `None` if
/// they do not, or the request has an error. It takes a small part of [`reduce`]'s time, and no thread but this one.
pub fn decided(op: Op, array: ArrayRef<'_>, options: &Options<'_>) -> Option<Array> {
    let request = Request::new(op, &array, options).ok()?;
    let (problem, dtype) = (&request.problem, request.spec.result());
    if problem.count < LEAST_DECIDED || problem.outputs > MOST_DECIDED {
        return None;
    }
    let base = base(request.array(), request.options().mask.as_ref(), problem);
    let task = Task { problem, base, threads: 1, progress: None };
    // SAFETY: an ArrayRef's elements are readable; the problem reaches no others.
    let values = Kernels(&request.spec).with(|bound| unsafe { bound.decided(&task, dtype) })?.ok()?;
    Some(Array { shape: request.shape(), values })
}

/// An array of no elements.
fn nothing() -> Array {
    Array { shape: vec![0], values: Values::U8(Vec::new()) }
}

/// The most outputs that are allocated without a check for available memory.
const MANY: usize = 1 << 16;

/// The plan by which [`reduce`] would compute a reduction, printable.
///
/// # Errors
/// As [`reduce`], except for errors that depend on the data.
pub fn explain(op: Op, array: ArrayRef<'_>, options: &Options<'_>) -> Result<Plan, Error> {
    let request = Request::new(op, &array, options)?;
    let threads = options.threads.unwrap_or_else(parallel::threads);
    Ok(Plan::new(&request.spec, &request.problem, &array, &request.axes, options, threads))
}

/// Reduces all elements of `array`. `flat` has the same elements as a contiguous array of one axis; errors tell of
/// `array`. A result of at most a block of elements takes no allocation.
pub fn reduce_slice(op: Op, flat: ArrayRef<'_>, array: &ArrayRef<'_>) -> Result<Scalar, Error> {
    let options = Options::default();
    let spec = spec(op, &flat, &options);
    let small = (1..=BLOCK).contains(&flat.len()) && Kernels(&spec).reads_in_place();
    let one_block = |bound: &Bound<'_>| {
        let (x, n) = (flat.base(), flat.len());
        let here = bound.load.direct() && x.addr().is_multiple_of(bound.kernel.facts().align);
        // SAFETY: `flat` is contiguous, so its `n` elements follow from `x` on, and they are readable. Direct loads
        // mean that they are the kernel's items. `here` means that they are aligned, and `small` that they are 1 to
        // BLOCK.
        here.then(|| unsafe { bound.block(x.cast(), n) })
    };
    if small && let Some(result) = Kernels(&spec).with(one_block) {
        return result.map_err(|hole| hole_error(hole, op, array.dtype(), array.shape(), &[]));
    }
    Ok(reduce(op, flat, &options)?.values.get(0))
}

/// Runs `f` on this thread and others, `threads` in all, and passes it their number. `None`: as it is called.
///
/// # Errors
/// [`Error::Threads`] if the system starts no more threads.
pub fn on_threads<T: Send>(threads: Option<usize>, f: impl FnOnce(usize) -> T + Send) -> Result<T, Error> {
    static POOLS: Mutex<Option<HashMap<usize, Arc<rayon::ThreadPool>>>> = Mutex::new(None);
    match threads {
        None => Ok(f(parallel::threads())),
        Some(0 | 1) => Ok(parallel::alone(|| f(1))),
        Some(threads) => {
            let pool = {
                let mut pools = POOLS.lock().unwrap_or_else(|e| e.into_inner());
                let pools = pools.get_or_insert_default();
                match pools.get(&threads) {
                    Some(pool) => pool.clone(),
                    None => {
                        // The calling thread is one of them.
                        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads - 1).build();
                        let pool = Arc::new(pool.map_err(|e| Error::Threads { threads, why: e.to_string() })?);
                        pools.insert(threads, pool.clone());
                        pool
                    }
                }
            };
            Ok(parallel::beside(&pool, || f(threads)))
        }
    }
}
