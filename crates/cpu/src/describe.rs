//! Many statistics in one read of the data, by one kernel ([`crate::statistics`]) that carries them all.

use warpfold_core::{DType, bf16, f16};

use crate::engine::Job;
use crate::gather::{Gather, gather_same};
use crate::load::{Loaded, Plain};
use crate::output::{Output, large_pages};
use crate::reduction::{on_threads, reduce};
use crate::statistics::described::Described;
use crate::statistics::results::{Fill, argmaxes, argmins, maxes, means, mins, nan_counts, norms, stds, sums};
use crate::statistics::{Describe, Row};
use std::mem::MaybeUninit;

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
    let mut result = Description { shape: vec![0], count: 0, stats: Vec::new() };
    describe_into(array, options, &mut result)?;
    Ok(result)
}

/// [`describe()`], in the memory of an earlier description, where it has room for this one and the dtypes are the same.
/// Large results take longer to allocate than to write: the system clears every page.
///
/// # Errors
/// Those of [`describe()`]. Then `result` has its statistics no more, or is as it was.
pub fn describe_into(array: ArrayRef<'_>, options: &Options<'_>, result: &mut Description) -> Result<(), Error> {
    let axes = normalize_axes(options.axes.as_deref(), array.shape().len())?;
    let dtype = array.dtype();
    check_describe(dtype, &Options { mask: None, skip_nan: false, ..options.clone() })?;
    let problem = Problem::new(&array, &axes, options.mask.as_ref())?;
    let fits = result.stats.iter().all(|(_, values)| values.len() >= problem.outputs) && !result.stats.is_empty();
    if !fits {
        memory::afford("the statistics", problem.outputs, ROW)?;
    }
    let spare = std::mem::take(&mut result.stats);
    let run = Run { array: &array, problem: &problem, options, segments: None };
    let partial = options.mask.is_some() || (options.skip_nan && dtype.is_float());
    let stats = match if partial { None } else { run.stats(spare)? } {
        Some(stats) => stats,
        None if partial && problem.count > 0 => of_some(array, options)?,
        None => of_nothing(array, options)?,
    };
    let shape = result_shape(array.shape(), &axes, options.keepdims);
    *result = Description { shape, count: problem.count as u64, stats };
    Ok(())
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
    /// The statistics by name, in the memory of earlier ones that have room; `None` if a slice or a segment has no
    /// elements.
    pub fn stats(&self, spare: Vec<(&'static str, Values)>) -> Result<Option<Vec<(&'static str, Values)>>, Error> {
        on_threads(self.options.threads, |threads| match self.array.dtype() {
            DType::Bool => self.of(threads, u8::gather(DType::Bool, false, DType::Bool), spare),
            DType::U8 => self.of::<u8>(threads, gather_same(false), spare),
            DType::I8 => self.of::<i8>(threads, gather_same(false), spare),
            DType::I16 => self.of::<i16>(threads, gather_same(self.array.is_swapped()), spare),
            DType::I32 => self.of::<i32>(threads, gather_same(self.array.is_swapped()), spare),
            DType::I64 => self.of::<i64>(threads, gather_same(self.array.is_swapped()), spare),
            DType::U16 => self.of::<u16>(threads, gather_same(self.array.is_swapped()), spare),
            DType::U32 => self.of::<u32>(threads, gather_same(self.array.is_swapped()), spare),
            DType::U64 => self.of::<u64>(threads, gather_same(self.array.is_swapped()), spare),
            DType::F16 => self.of::<f16>(threads, gather_same(self.array.is_swapped()), spare),
            DType::BF16 => self.of::<bf16>(threads, gather_same(self.array.is_swapped()), spare),
            DType::F32 => self.of::<f32>(threads, gather_same(self.array.is_swapped()), spare),
            DType::F64 => self.of::<f64>(threads, gather_same(self.array.is_swapped()), spare),
        })
    }

    fn of<T: Described + Value>(
        &self,
        threads: usize,
        gather: Gather<T>,
        mut spare: Vec<(&'static str, Values)>,
    ) -> Option<Vec<(&'static str, Values)>> {
        let dtype = self.array.dtype();
        let load =
            Plain::<T> { gather, direct: dtype == T::DTYPE && !self.array.is_swapped(), masked_as: None, nan_as: None };
        let kernel = Describe::<T>::new();
        let (problem, progress) = (self.problem, self.options.progress);
        let job =
            Job { kernel: &kernel, load: &load, problem, base: base(self.array, None, problem), threads, progress };
        let outputs = problem.outputs * self.segments.map_or(1, |offsets| offsets.len() - 1);
        let spare = &mut spare;
        let nan_count = Column::new("nan_count", outputs, spare);
        let (argmin, argmax) = (Column::new("argmin", outputs, spare), Column::new("argmax", outputs, spare));
        let (min, max) = (Column::new("min", outputs, spare), Column::new("max", outputs, spare));
        let (mean, std) = (Column::new("mean", outputs, spare), Column::new("std", outputs, spare));
        let (sum, norm) = (Column::new("sum", outputs, spare), Column::new("norm", outputs, spare));
        // Rows have as many elements each.
        let write = |rows: &[Row<T>], at: usize| {
            // SAFETY: the engine writes each output once.
            unsafe {
                nan_count.put(rows, at, nan_counts);
                min.put(rows, at, mins);
                argmin.put(rows, at, argmins);
                max.put(rows, at, maxes);
                argmax.put(rows, at, argmaxes);
                mean.put(rows, at, means);
                std.put(rows, at, stds);
                sum.put(rows, at, sums);
                norm.put(rows, at, norms);
            }
        };
        let write_all = |rows: &[Row<T>]| {
            let mut at = 0;
            for rows in rows.chunk_by(|a, b| a.count == b.count) {
                write(rows, at);
                at += rows.len();
            }
        };
        // SAFETY: an ArrayRef's elements are readable; the problem reaches no others. The engine scatters rows that are
        // written.
        let all = unsafe {
            match self.segments {
                None => job.scattered(&|rows, n, at| write(std::slice::from_raw_parts(rows.cast(), n), at)),
                Some(offsets) => job.segments(offsets).map(|rows| write_all(&rows)).is_some(),
            }
        };
        if !all {
            return None;
        }
        let cast = |op: Op, values: Values| values.cast(op.result_dtype(dtype));
        // SAFETY: every output has been written.
        unsafe {
            Some(vec![
                ("nan_count", nan_count.values()),
                ("min", cast(Op::Min, min.values())),
                ("argmin", argmin.values()),
                ("max", cast(Op::Max, max.values())),
                ("argmax", argmax.values()),
                ("mean", cast(Op::Mean, mean.values())),
                ("std", cast(Op::Std, std.values())),
                ("sum", cast(Op::Sum, sum.values())),
                ("norm", cast(Op::Norm, norm.values())),
            ])
        }
    }
}

/// One statistic of every output.
struct Column<V> {
    values: Vec<V>,
    places: Output<V>,
}

impl<V: Value> Column<V> {
    /// In the memory of the earlier statistic of this name, if that has room.
    fn new(name: &str, outputs: usize, spare: &mut Vec<(&'static str, Values)>) -> Self {
        let earlier = spare.iter().position(|(earlier, _)| *earlier == name).map(|at| spare.swap_remove(at).1);
        let fits = |values: &Vec<V>| values.capacity() >= outputs;
        let mut values = match earlier.and_then(V::unwrap).filter(fits) {
            Some(mut values) => {
                values.clear();
                values
            }
            None => {
                let mut values = Vec::with_capacity(outputs);
                large_pages(&mut values.spare_capacity_mut()[..outputs]);
                values
            }
        };
        let places = Output::new(&mut values.spare_capacity_mut()[..outputs]);
        Self { values, places }
    }

    /// Writes the outputs from number `at` on.
    ///
    /// # Safety
    /// No other task writes them.
    unsafe fn put<T: Described>(&self, rows: &[Row<T>], at: usize, fill: Fill<T, V>) {
        let to = self.places.at(at as isize, rows.len()).cast::<MaybeUninit<V>>();
        // SAFETY: `at` has checked that the places are in bounds, and the caller vouches that no other task writes
        // them.
        fill(rows, unsafe { std::slice::from_raw_parts_mut(to, rows.len()) });
    }

    /// # Safety
    /// Every output has been written.
    unsafe fn values(self) -> Values {
        let Self { mut values, places } = self;
        // SAFETY: the caller vouches for all values.
        unsafe { values.set_len(places.len()) };
        V::wrap(values)
    }
}
