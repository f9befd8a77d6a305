//! Many statistics in one read of the data: every reducer reduces a block while the block is in L1.

use warpfold_core::DType;

use crate::engine::{self, Job};
use crate::load::{Loaded, Plain};
use crate::parallel::map;
use crate::policy::BLOCK;
use crate::reduction::{on_threads, reduce};
use crate::route::Route;
use crate::statistics::{Describe, Described, Row};
use warpfold_array::ArrayRef;
use warpfold_array::Op;
use warpfold_array::Options;
use warpfold_array::memory;
use warpfold_array::problem::{Problem, normalize_axes, result_shape};
use warpfold_array::request::base;
use warpfold_array::{Error, Precision};
use warpfold_array::{Value, Values};

/// The statistics of an array, or of slices of it along axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The shape of each statistic.
    pub shape: Vec<usize>,
    /// Elements per slice, NaNs included.
    pub count: u64,
    /// `nan_count`, `min`, `argmin`, `max`, `argmax`, `mean`, `std`, `sum`, `norm`, in this order; each has the bits
    /// and the dtype of the reduction of that name. Of no elements, `min`, `argmin`, `max` and `argmax` are left out.
    /// With a mask, `count` comes first: how many elements it leaves of each slice.
    pub stats: Vec<(&'static str, Values)>,
}

/// The names of [`Description::stats`].
pub const STATS: [&str; 9] = ["nan_count", "min", "argmin", "max", "argmax", "mean", "std", "sum", "norm"];

/// Count, NaN count, min, argmin, max, argmax, mean, std (population), sum and 2-norm in one read of the data.
///
/// The options that it takes are `axes`, `keepdims`, `mask`, `skip_nan`, `threads` and `progress`. With `mask` or
/// `skip_nan`, each statistic is a reduction of its own.
///
/// ```
/// use warpfold::{ArrayRef, Options, Scalar, describe};
///
/// let x = ArrayRef::from_slice(&[3.0f32, 1.0, 2.0], &[3])?;
/// let d = describe(x, &Options::default())?;
/// assert_eq!(d.get("argmin").unwrap().get(0), Scalar::I64(1));
/// assert_eq!(d.get("mean").unwrap().get(0), Scalar::F32(2.0));
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors Bad axes, an option that it does not take, or, of several slices, one without elements after masking and
/// skipping, which has no least element.
pub fn describe(array: ArrayRef<'_>, options: &Options<'_>) -> Result<Description, Error> {
    let axes = normalize_axes(options.axes.as_deref(), array.shape().len())?;
    let dtype = array.dtype();
    check_describe(dtype, &Options { mask: None, skip_nan: false, ..options.clone() })?;
    let problem = Problem::new(&array, &axes, options.mask.as_ref())?;
    memory::afford("the statistics", problem.outputs, ROW)?;
    let run = Run { array: &array, problem: &problem, options, segments: None };
    let partial = options.mask.is_some() || (options.skip_nan && dtype.is_float());
    let parts = if partial { None } else { Parts::of(array, &axes, &problem) };
    let stats = match if partial || parts.is_some() { None } else { run.stats()? } {
        Some(stats) => stats,
        None if let Some(parts) = parts => parts.stats(options)?,
        None if partial && problem.count > 0 => of_some(array, options)?,
        None => of_nothing(array, options)?,
    };
    let shape = result_shape(array.shape(), &axes, options.keepdims);
    Ok(Description { shape, count: problem.count as u64, stats })
}

/// The most bytes of a slice's statistics: those for 64-bit elements.
pub const ROW: usize = STATS.len() * size_of::<u64>();

/// The statistics of slices without elements, which have no minimum, maximum, argmin and argmax.
fn of_nothing(array: ArrayRef<'_>, options: &Options<'_>) -> Result<Vec<(&'static str, Values)>, Error> {
    let ops = [Op::Mean, Op::Std, Op::Sum, Op::Norm];
    let stats = ops.map(|op| reduce(op, array, options).map(|result| (op.name(), result.values)));
    let stats = stats.into_iter().collect::<Result<Vec<_>, _>>()?;
    let nans = Values::I64(vec![0; stats[0].1.len()]);
    Ok([("nan_count", nans)].into_iter().chain(stats).collect())
}

/// The bytes of a part: it stays in the L2 cache while each statistic reads it.
const PART: usize = 1 << 19;

/// The fewest bytes of a part that lie side by side where outputs do.
const PART_RUN: usize = 1 << 10;

/// An array cut along kept axes. Each statistic of a part is a reduction of its own: where outputs are many, nodes of
/// all statistics would be most of what passes through the caches.
struct Parts<'a> {
    array: ArrayRef<'a>,
    axes: Vec<usize>,
    /// The kept axes that are cut, the first of them first, and how many indices of each a part has: one, but of the
    /// last. None, if the array is one part.
    cuts: Vec<(usize, usize)>,
}

impl<'a> Parts<'a> {
    /// The parts of an array of many outputs; none if an output is so long that blocks of it are reduced by all
    /// statistics in turn.
    fn of(array: ArrayRef<'a>, axes: &[usize], problem: &Problem) -> Option<Self> {
        let Problem { outputs, count, size, .. } = *problem;
        let route = Route::of(problem, false);
        let odd = array.dtype() == DType::Bool || array.is_swapped();
        if odd || count == 0 || outputs < 2 || (matches!(route, Route::Rows | Route::Runs) && count >= BLOCK / 2) {
            return None;
        }
        // A broadcast array may have any number of elements.
        let bytes = count.saturating_mul(size);
        let most = PART / bytes.min(PART);
        let mut cuts = Vec::new();
        let mut rest = outputs;
        if bytes <= PART && (route == Route::Rows || most * size >= PART_RUN) {
            for axis in (0..array.shape().len()).filter(|axis| !axes.contains(axis)) {
                let len = array.shape()[axis];
                rest /= len;
                cuts.push((axis, (most / rest).clamp(1, len)));
                if rest <= most {
                    break;
                }
            }
        }
        Some(Self { array, axes: axes.to_vec(), cuts })
    }

    /// The number of parts.
    fn len(&self) -> usize {
        self.cuts.iter().map(|&(axis, n)| self.array.shape()[axis].div_ceil(n)).product()
    }

    /// Part number `part`.
    fn part(&self, mut part: usize) -> Result<ArrayRef<'a>, Error> {
        let (mut shape, mut at) = (self.array.shape().to_vec(), 0);
        for &(axis, n) in self.cuts.iter().rev() {
            let (len, parts) = (self.array.shape()[axis], self.array.shape()[axis].div_ceil(n));
            let first = part % parts * n;
            part /= parts;
            shape[axis] = n.min(len - first);
            at += first as isize * self.array.strides()[axis];
        }
        let first = self.array.base().wrapping_offset(at);
        // SAFETY: the elements are among the array's, which are readable.
        unsafe { ArrayRef::from_raw(first, self.array.dtype(), &shape, self.array.strides()) }
    }

    /// The statistics of all parts, one after the other, which is the order of their outputs.
    fn stats(&self, options: &Options<'_>) -> Result<Vec<(&'static str, Values)>, Error> {
        let of = |part: usize, threads: Option<usize>| {
            let array = self.part(part)?;
            let axes = Some(self.axes.iter().map(|&axis| axis as isize).collect());
            let stats = of_each(array, &Options { axes, threads, ..Options::default() })?;
            if let Some(progress) = options.progress {
                progress(array.bytes() as u64);
            }
            Ok(stats)
        };
        if self.len() == 1 {
            return of(0, options.threads);
        }
        let parts: Result<Vec<Vec<_>>, Error> = on_threads(options.threads, |threads| match threads {
            1 => (0..self.len()).map(|part| of(part, Some(1))).collect(),
            _ => map(self.len(), |part| of(part, Some(1))).into_iter().collect(),
        })?;
        let parts = parts?;
        let names: Vec<&'static str> = parts[0].iter().map(|(name, _)| *name).collect();
        let mut columns: Vec<Vec<Values>> = names.iter().map(|_| Vec::with_capacity(parts.len())).collect();
        for (column, (_, values)) in parts.into_iter().flat_map(|part| part.into_iter().enumerate()) {
            columns[column].push(values);
        }
        Ok(names.into_iter().zip(columns.into_iter().map(Values::concat)).collect())
    }
}

/// Each statistic by itself, of an array that has elements, NaNs included.
fn of_each(array: ArrayRef<'_>, options: &Options<'_>) -> Result<Vec<(&'static str, Values)>, Error> {
    let of = |op: Op, skip_nan: bool| {
        reduce(op, array, &Options { skip_nan, ..options.clone() }).map(|result| result.values)
    };
    let nans = match of(Op::CountNonzero, false)? {
        // A NaN is not zero, unless it is skipped.
        Values::I64(with) if array.dtype().is_float() => {
            let without = i64::unwrap(of(Op::CountNonzero, true)?).expect("counts are 64-bit integers");
            with.into_iter().zip(without).map(|(with, without)| with - without).collect()
        }
        counts => vec![0; counts.len()],
    };
    let ops = [Op::Min, Op::ArgMin, Op::Max, Op::ArgMax, Op::Mean, Op::Std, Op::Sum, Op::Norm];
    let stats = ops.into_iter().map(|op| Ok((op.name(), of(op, false)?)));
    [Ok(("nan_count", Values::I64(nans)))].into_iter().chain(stats).collect()
}

/// The statistics of the elements that a mask, or skipping NaN, leaves.
fn of_some(array: ArrayRef<'_>, options: &Options<'_>) -> Result<Vec<(&'static str, Values)>, Error> {
    let of = |op: Op, array: ArrayRef<'_>, skip_nan: bool| {
        // Progress is reported once, not for each statistic.
        let progress = options.progress.filter(|_| op == Op::Sum);
        reduce(op, array, &Options { skip_nan, progress, ..options.clone() }).map(|result| result.values)
    };
    let integers = |values: Values| (0..values.len()).map(move |i| values.get(i).to_f64() as i64);
    let mut stats = Vec::new();
    if options.mask.is_some() {
        // SAFETY: all steps are 0, so every element is the one byte, which is static.
        let ones = unsafe { ArrayRef::from_raw(&1u8, DType::U8, array.shape(), &vec![0; array.shape().len()])? };
        stats.push(("count", of(Op::CountNonzero, ones, false)?));
    }
    // A NaN is not zero, unless it is skipped.
    let (with, without) = (of(Op::CountNonzero, array, false)?, of(Op::CountNonzero, array, true)?);
    let outputs = with.len();
    let nans = integers(with).zip(integers(without)).map(|(with, without)| with - without).collect();
    stats.push(("nan_count", Values::I64(nans)));
    for op in [Op::Min, Op::ArgMin, Op::Max, Op::ArgMax, Op::Mean, Op::Std, Op::Sum, Op::Norm] {
        match of(op, array, options.skip_nan) {
            Ok(values) => stats.push((op.name(), values)),
            Err(Error::Empty { .. } | Error::AllNan { .. }) if outputs == 1 => {}
            Err(why) => return Err(why),
        }
    }
    Ok(stats)
}

/// Refuses options that [`describe()`] does not take.
pub fn check_describe(dtype: DType, options: &Options<'_>) -> Result<(), Error> {
    let refused = [
        (options.dtype.is_some(), "dtype"),
        (options.skip_nan, "skip_nan"),
        (options.mask.is_some(), "a mask"),
        (options.initial.is_some(), "initial"),
        (options.ddof.is_some(), "ddof"),
        (options.ord.is_some(), "ord"),
        (options.precision != Precision::Tree, "precision"),
    ];
    if let Some((_, option)) = refused.into_iter().find(|(set, _)| *set) {
        return Err(Error::Unsupported {
            op: Op::MinMax,
            dtype,
            option,
            why: "describe computes plain statistics; ask for the one that you need by itself",
        });
    }
    Ok(())
}

impl Description {
    /// The names of all statistics, in order.
    pub const NAMES: [&'static str; 9] = STATS;

    /// The statistic of this name.
    pub fn get(&self, name: &str) -> Option<&Values> {
        self.stats.iter().find(|(n, _)| *n == name).map(|(_, v)| v)
    }
}

/// A computation of statistics, of whole slices or of segments of the only reduced axis.
pub struct Run<'a> {
    pub array: &'a ArrayRef<'a>,
    pub problem: &'a Problem,
    pub options: &'a Options<'a>,
    pub segments: Option<&'a [usize]>,
}

impl Run<'_> {
    /// The statistics by name; `None` if a slice or a segment has no elements.
    pub fn stats(&self) -> Result<Option<Vec<(&'static str, Values)>>, Error> {
        on_threads(self.options.threads, |threads| match self.array.dtype() {
            DType::Bool | DType::U8 => self.of::<u8>(threads),
            DType::I8 => self.of::<i8>(threads),
            DType::I16 => self.of::<i16>(threads),
            DType::I32 => self.of::<i32>(threads),
            DType::I64 => self.of::<i64>(threads),
            DType::U16 => self.of::<u16>(threads),
            DType::U32 => self.of::<u32>(threads),
            DType::U64 => self.of::<u64>(threads),
            DType::F16 | DType::BF16 | DType::F32 => self.of::<f32>(threads),
            DType::F64 => self.of::<f64>(threads),
        })
    }

    fn of<T: Described + Loaded + Value>(&self, threads: usize) -> Option<Vec<(&'static str, Values)>> {
        let dtype = self.array.dtype();
        let load = Plain::<T> {
            gather: T::gather(dtype, self.array.is_swapped(), dtype),
            direct: dtype == T::DTYPE && !self.array.is_swapped(),
            masked_as: None,
            nan_as: None,
        };
        let kernel = Describe::<T>::new();
        let (problem, progress) = (self.problem, self.options.progress);
        let job =
            Job { kernel: &kernel, load: &load, problem, base: base(self.array, None, problem), threads, progress };
        // SAFETY: an ArrayRef's elements are readable; the problem reaches no others.
        let rows = unsafe {
            match self.segments {
                None => engine::run(&job),
                Some(offsets) => job.segments(offsets),
            }
        }?;
        fn column<T, V: Value>(rows: &[Row<T>], f: impl Fn(&Row<T>) -> V) -> Values
        where
            T: Described,
        {
            V::wrap(rows.iter().map(f).collect())
        }
        let cast = |op: Op, values: Values| values.cast(op.result_dtype(dtype));
        Some(vec![
            ("nan_count", column(&rows, |r| r.nan_count)),
            ("min", cast(Op::Min, column(&rows, |r| r.min))),
            ("argmin", column(&rows, |r| r.argmin)),
            ("max", cast(Op::Max, column(&rows, |r| r.max))),
            ("argmax", column(&rows, |r| r.argmax)),
            ("mean", cast(Op::Mean, column(&rows, |r| r.mean))),
            ("std", cast(Op::Std, column(&rows, |r| r.std))),
            ("sum", cast(Op::Sum, column(&rows, |r| r.sum))),
            ("norm", cast(Op::Norm, column(&rows, |r| r.norm))),
        ])
    }
}
