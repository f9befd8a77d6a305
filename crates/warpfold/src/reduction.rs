//! A reduction whose op and dtype are known at run time: options, plan, execution.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use warpfold_core::{Cast, DType, Kind, Reducer};

use crate::cpu::engine::{self, Job, Progress};
use crate::cpu::kernel::{Item, Kernel};
use crate::cpu::load::Load;
use crate::cpu::policy::BLOCK;
use crate::dispatch::{Spec, Visit};
use crate::layout::ArrayRef;
use crate::memory;
use crate::plan::Plan;
use crate::problem::{At, Problem, normalize_axes, result_shape};
use crate::values::{Array, Collect, Hole, Scalar, Values};
use crate::{Error, Op, Ord, Precision};

/// How to reduce: everything but the array.
#[derive(Clone, Default)]
pub struct Options<'a> {
    /// The axes to reduce, negative ones from the end; `None`: all.
    pub axes: Option<Vec<isize>>,
    /// Whether reduced axes stay, with length 1.
    pub keepdims: bool,
    /// Cast elements to this dtype first; it is also the result's.
    pub dtype: Option<DType>,
    /// Plain floats, or double words.
    pub precision: Precision,
    /// Leave NaNs out.
    pub skip_nan: bool,
    /// Reduce only where this bool array, broadcast to the array's shape, is true.
    pub mask: Option<ArrayRef<'a>>,
    /// One more element on the left: sum, prod, min, max.
    pub initial: Option<Scalar>,
    /// Subtracted from the count in the divisor: var, std. Default 0.
    pub ddof: Option<f64>,
    /// Which norm. Default 2.
    pub ord: Option<Ord>,
    /// How many threads; `None`: all of rayon's current pool.
    pub threads: Option<usize>,
    /// Told how many bytes each finished task has read.
    pub progress: Option<Progress<'a>>,
}

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
    let request = Request::new(op, &array, options)?;
    let (outputs, width) = (request.problem.outputs, if op == Op::MinMax { 2 } else { 1 });
    if outputs > MANY {
        let size = request.spec.dispatch(OutputSize).max(width * request.spec.result().size());
        memory::afford("the result", outputs, size)?;
    }
    let hole = |hole| request.hole(hole);
    let values = on_threads(options.threads, |threads| {
        let run = Execute { request: &request, threads };
        request.spec.dispatch(run)
    })?
    .map_err(hole)?;
    Ok(Array { shape: request.shape(), values: values.cast(request.spec.result()) })
}

/// Outputs beyond which it is asked first whether there is memory for them.
const MANY: usize = 1 << 16;

/// How large an output is before it becomes an element of the result.
struct OutputSize;

impl Visit for OutputSize {
    type Out = usize;

    fn visit<K, L>(self, _: K, _: L) -> usize
    where
        K: Kernel,
        L: Load<Item<K>>,
        <K::R as Reducer>::Output: Collect,
    {
        size_of::<engine::Out<K>>()
    }
}

/// What [`reduce`] would do, for a person to read.
///
/// # Errors
/// As [`reduce`], but for those that the data decide.
pub fn explain(op: Op, array: ArrayRef<'_>, options: &Options<'_>) -> Result<Plan, Error> {
    let request = Request::new(op, &array, options)?;
    let threads = options.threads.unwrap_or_else(rayon::current_num_threads);
    Ok(Plan::new(&request.spec, &request.problem, &array, &request.axes, options, threads))
}

/// All elements of `array`, which are the dense `flat`; without an allocation if they are few.
pub(crate) fn reduce_slice(op: Op, flat: ArrayRef<'_>, array: &ArrayRef<'_>) -> Result<Scalar, Error> {
    let options = Options::default();
    let spec = spec(op, &flat, &options);
    let small = (1..=BLOCK).contains(&flat.len()) && spec.reads_in_place();
    if small && let Some(result) = spec.dispatch(OneBlock { array: &flat }) {
        return result.map_err(|hole| hole_error(hole, op, array.dtype(), array.shape(), &[]));
    }
    Ok(reduce(op, flat, &options)?.values.get(0))
}

struct OneBlock<'a> {
    array: &'a ArrayRef<'a>,
}

impl Visit for OneBlock<'_> {
    type Out = Option<Result<Scalar, Hole>>;

    #[inline]
    fn visit<K, L>(self, kernel: K, load: L) -> Self::Out
    where
        K: Kernel,
        L: Load<Item<K>>,
        <K::R as Reducer>::Output: Collect,
    {
        let (p, n) = (self.array.base().cast::<Item<K>>(), self.array.len());
        if !load.direct() || !p.is_aligned() || n > BLOCK {
            return None;
        }
        // SAFETY: the array is dense (the caller's), holds the kernel's items (direct), and is aligned.
        let x = unsafe { std::slice::from_raw_parts(p, n) };
        Some(kernel.reducer().finish(kernel.block(x, 0), n as u64).one())
    }
}

fn spec(op: Op, array: &ArrayRef<'_>, options: &Options<'_>) -> Spec {
    Spec {
        op,
        input: array.dtype(),
        swapped: array.is_swapped(),
        dtype: options.dtype,
        precision: options.precision,
        skip_nan: options.skip_nan && array.dtype().is_float(),
        masked: options.mask.is_some(),
        // In the dtype of the elements first, so that an unsigned one keeps its bits.
        initial: options.initial.map(|x| initial(op, x, array.dtype())),
        ddof: options.ddof.unwrap_or(0.0),
        ord: options.ord.unwrap_or_default(),
    }
}

/// The initial value as the kernel takes it: of min and max, as an element.
fn initial(op: Op, x: Scalar, dtype: DType) -> Cast {
    if !op.selects() {
        return x.to_cast();
    }
    let element = match x.to_cast() {
        Cast::Signed(v) => Values::I64(vec![v]),
        Cast::Unsigned(v) => Values::U64(vec![v]),
        Cast::Float(v) => Values::F64(vec![v]),
    };
    element.cast(dtype).get(0).to_cast()
}

/// A reduction whose options have been checked.
pub(crate) struct Request<'a> {
    pub spec: Spec,
    pub problem: Problem,
    pub axes: Vec<usize>,
    array: &'a ArrayRef<'a>,
    options: &'a Options<'a>,
}

impl<'a> Request<'a> {
    pub(crate) fn new(op: Op, array: &'a ArrayRef<'a>, options: &'a Options<'a>) -> Result<Self, Error> {
        check(op, array.dtype(), options)?;
        let axes = normalize_axes(options.axes.as_deref(), array.shape().len())?;
        let problem = Problem::new(array, &axes, options.mask.as_ref())?;
        Ok(Self { spec: spec(op, array, options), problem, axes, array, options })
    }

    /// How to reduce.
    pub(crate) fn options(&self) -> &'a Options<'a> {
        self.options
    }

    /// The shape of the result.
    pub(crate) fn shape(&self) -> Vec<usize> {
        let mut shape = result_shape(self.array.shape(), &self.axes, self.options.keepdims);
        if self.spec.op == Op::MinMax {
            shape.push(2);
        }
        shape
    }

    fn hole(&self, hole: Hole) -> Error {
        hole_error(hole, self.spec.op, self.array.dtype(), self.array.shape(), &self.axes)
    }
}

pub(crate) fn hole_error(hole: Hole, op: Op, dtype: DType, shape: &[usize], axes: &[usize]) -> Error {
    let (shape, axes) = (shape.to_vec(), axes.to_vec());
    match hole {
        Hole::Empty => Error::Empty { op, dtype, shape, axes },
        Hole::AllNan => Error::AllNan { op, shape, axes },
    }
}

/// Refuses options that the reduction does not have.
fn check(op: Op, dtype: DType, options: &Options<'_>) -> Result<(), Error> {
    let no = |option, why| Err(Error::Unsupported { op, dtype, option, why });
    if let Some(to) = options.dtype {
        if op.selects() || op.logical() {
            return no("dtype", "its result is an element, an index, a count or a bool; cast the result instead");
        }
        if to.kind() == Kind::Bool {
            return no("dtype=bool", "use any or all, or cast the result");
        }
        if dtype.is_float() && !to.is_float() {
            return no(
                "an integer dtype",
                "casting floats to integers loses their fractions; do it yourself if you mean it",
            );
        }
        if !matches!(op, Op::Sum | Op::Prod) && !to.is_float() {
            return no("an integer dtype", "its result is not an integer; ask for f16, bf16, f32 or f64");
        }
    }
    if options.initial.is_some() && !matches!(op, Op::Sum | Op::Prod | Op::Min | Op::Max) {
        return no("initial", "only sum, prod, min and max start from a value");
    }
    if options.ddof.is_some() && !matches!(op, Op::Var | Op::Std) {
        return no("ddof", "only var and std divide by a count less something");
    }
    if options.ddof.is_some_and(|d| !d.is_finite()) {
        return no("this ddof", "give a finite number, usually 0 or 1");
    }
    if options.ord.is_some() && op != Op::Norm {
        return no("ord", "only norm has an order");
    }
    if let Some(mask) = options.mask.filter(|m| m.dtype() != DType::Bool) {
        return Err(Error::MaskDType { dtype: mask.dtype() });
    }
    Ok(())
}

struct Execute<'a> {
    request: &'a Request<'a>,
    threads: usize,
}

impl Visit for Execute<'_> {
    type Out = Result<Values, Hole>;

    fn visit<K, L>(self, kernel: K, load: L) -> Self::Out
    where
        K: Kernel,
        L: Load<Item<K>>,
        <K::R as Reducer>::Output: Collect,
    {
        // SAFETY: an ArrayRef's elements are readable; the problem reaches no others.
        let outputs = unsafe { execute(&kernel, &load, &self.request.problem, self.request, self.threads) };
        Collect::collect(outputs.ok_or(Hole::Empty)?)
    }
}

/// # Safety
/// See [`engine::run`].
unsafe fn execute<K: Kernel, L: Load<Item<K>>>(
    kernel: &K,
    load: &L,
    problem: &Problem,
    request: &Request<'_>,
    threads: usize,
) -> Option<Vec<engine::Out<K>>>
where
    engine::Out<K>: Send,
{
    let base = base(request.array, request.options.mask.as_ref(), problem);
    // SAFETY: the caller's.
    unsafe { engine::run(&Job { kernel, load, problem, base, threads, progress: request.options.progress }) }
}

/// The first element in canonical order, and the mask's.
pub(crate) fn base(array: &ArrayRef<'_>, mask: Option<&ArrayRef<'_>>, problem: &Problem) -> At {
    let base = At { x: array.base(), mask: mask.map_or(std::ptr::null(), ArrayRef::base) };
    base.offset(problem.x_offset, problem.mask_offset)
}

/// Runs `f` on as many threads as asked for, and tells it how many.
pub(crate) fn on_threads<T: Send>(threads: Option<usize>, f: impl FnOnce(usize) -> T + Send) -> Result<T, Error> {
    static POOLS: Mutex<Option<HashMap<usize, Arc<rayon::ThreadPool>>>> = Mutex::new(None);
    match threads {
        None => Ok(f(rayon::current_num_threads())),
        Some(0 | 1) => Ok(f(1)),
        Some(threads) => {
            let pool = {
                let mut pools = POOLS.lock().unwrap_or_else(|e| e.into_inner());
                let pools = pools.get_or_insert_default();
                match pools.get(&threads) {
                    Some(pool) => pool.clone(),
                    None => {
                        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                        let pool = Arc::new(pool.map_err(|e| Error::Threads { threads, why: e.to_string() })?);
                        pools.insert(threads, pool.clone());
                        pool
                    }
                }
            };
            Ok(pool.install(|| f(threads)))
        }
    }
}
