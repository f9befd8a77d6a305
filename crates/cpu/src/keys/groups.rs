//! Groups: elements of equal labels, at any positions.

use std::ops::Range;

use warpfold_core::DType;

use super::dense::{self, Rows};
use super::labels::Labels;
use super::segments::{Descriptions, Found, Positions, Segments};
use crate::bound::Task;
use crate::dispatch::Kernels;
use crate::reduction::{on_threads, reduce};
use warpfold_array::ArrayRef;
use warpfold_array::KeyError;
use warpfold_array::Options;
use warpfold_array::memory;
use warpfold_array::problem::Problem;
use warpfold_array::request::{Request, base};
use warpfold_array::{Array, Hole, Scalar, Value, Values};
use warpfold_array::{Error, Op};

/// Bytes of a row from which on groups of rows are reduced where they lie.
const LEAST_ROW: usize = 64;
/// The most bytes of a line of the labelled axis whose elements are brought in order by themselves: a share of L2.
const MOST_LINE: usize = 1 << 18;
/// The fewest such lines, so that there are some for each thread.
const LEAST_LINES: usize = 64;

/// Reduces the elements of each label: group `k` has the bits of `reduce(op, values[labels == k], axis 0)`. For several
/// reductions by the same labels see [`Groups`], which sorts them once.
///
/// ```
/// use warpfold::{ArrayRef, Op, Options, group_by};
///
/// let x = [1.0f32, 2.0, 3.0, 4.0, 5.0];
/// let x = ArrayRef::from_slice(&x, &[5])?;
/// let labels = ArrayRef::from_slice(&[2i32, 0, 2, -1, 0], &[5])?;
/// let sums = group_by(Op::Sum, labels, x, None, &Options::default())?;
/// assert_eq!(sums.into_vec::<f32>().unwrap(), [7.0, 0.0, 4.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`Groups::new`] and [`Groups::reduce`].
pub fn group_by(
    op: Op,
    labels: ArrayRef<'_>,
    values: ArrayRef<'_>,
    groups: Option<usize>,
    options: &Options<'_>,
) -> Result<Array, Error> {
    by_labels(op, &Labels::new(labels, groups)?, values, options)
}

/// [`group_by`] for labels that have been checked.
pub(super) fn by_labels(
    op: Op,
    labels: &Labels<'_>,
    values: ArrayRef<'_>,
    options: &Options<'_>,
) -> Result<Array, Error> {
    // Groups of rows, and indices of elements, take sorted positions. So does the error of a group without a result.
    if values.shape().len() == 1 && !matches!(op, Op::ArgMin | Op::ArgMax) && !labels.is_sparse() {
        fits(labels.len(), &values)?;
        Segments::checked(vec![0], "group", None).fits(&values, options)?;
        let request = Request::new(op, &values, options)?;
        let found = on_threads(options.threads, |threads| {
            let (problem, options) = (&request.problem, request.options());
            let base = base(&values, options.mask.as_ref(), problem);
            let task = Task { problem, base, threads, progress: options.progress };
            // SAFETY: an ArrayRef's elements are readable; the problem has one axis, as long as there are labels.
            Kernels(&request.spec).with(|bound| unsafe { bound.groups(&task, labels, labels.groups) })
        })?;
        if let Some(Ok(found)) = found {
            let shape = [labels.groups].into_iter().chain(request.shape()).collect();
            return Ok(Array { shape, values: found.cast(request.spec.result()) });
        }
    }
    Groups::sorted(labels)?.reduce(op, values, options)
}

/// Checks that the first axis has an index for each label.
fn fits(labels: usize, values: &ArrayRef<'_>) -> Result<(), Error> {
    match values.shape().first() {
        None => Err(KeyError::NoAxis.into()),
        Some(&n) if n != labels => {
            let shape = values.shape().to_vec();
            Err(KeyError::LabelsLength { labels, shape }.into())
        }
        Some(_) => Ok(()),
    }
}

/// Elements by their labels: 0, 1, … in any order. Elements of label -1 belong to no group.
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    /// The part of `positions` of each group, or of each group in `present`.
    segments: Segments,
    /// The positions of each group's elements, ascending, group after group.
    positions: Vec<u32>,
    /// The number of labels.
    labels: usize,
    /// The number of groups.
    groups: usize,
    /// The groups that have elements, ascending, if there are many more groups than labels. `None`: `segments` has all
    /// groups.
    present: Option<Vec<u32>>,
}

impl Groups {
    /// Sorts labels, of any integer dtype along one axis, into `groups` groups; without a number, into one more than
    /// the greatest label.
    ///
    /// # Errors
    /// [`KeyError::NotIntegers`], [`KeyError::LabelsShape`]; [`KeyError::LabelOutOfRange`] of the first label that is
    /// neither -1 nor below `groups`; [`KeyError::TooMany`] beyond 2^31 groups or 2^32 - 1 labels.
    pub fn new(labels: ArrayRef<'_>, groups: Option<usize>) -> Result<Self, Error> {
        Self::sorted(&Labels::new(labels, groups)?)
    }

    /// Sorts labels that have been checked.
    pub(super) fn sorted(labels: &Labels<'_>) -> Result<Self, Error> {
        let (present, sorted) = if labels.is_sparse() {
            let (present, sorted) = labels.sort_present();
            (Some(present), sorted)
        } else {
            memory::afford("an order by groups", labels.groups + 1, size_of::<usize>())?;
            (None, labels.sort())
        };
        let segments = Segments::checked(sorted.offsets, "group", None);
        Ok(Self { segments, positions: sorted.positions, labels: labels.len(), groups: labels.groups, present })
    }

    /// Sets the result of groups that have none, as [`Segments::fill`].
    pub fn fill(self, x: Scalar) -> Self {
        Self { segments: self.segments.fill(x), ..self }
    }

    /// The number of groups.
    pub fn len(&self) -> usize {
        self.groups
    }

    /// Whether there are no groups.
    pub fn is_empty(&self) -> bool {
        self.groups == 0
    }

    /// The number of elements of each group. For very many groups see [`Groups::sizes`].
    pub fn counts(&self) -> Vec<i64> {
        let Some(present) = &self.present else { return self.segments.counts() };
        let mut counts = vec![0; self.groups];
        present.iter().zip(self.segments.counts()).for_each(|(&group, count)| counts[group as usize] = count);
        counts
    }

    /// [`Groups::counts`] as an array.
    ///
    /// # Errors
    /// [`Error::Memory`] if there are more groups than memory has room for.
    pub fn sizes(&self) -> Result<Array, Error> {
        memory::afford("the sizes of groups", self.groups, size_of::<i64>())?;
        Ok(Array { shape: vec![self.groups], values: Values::I64(self.counts()) })
    }

    /// The positions of a group's elements, ascending.
    ///
    /// # Panics
    /// If there is no such group.
    pub fn positions(&self, group: usize) -> &[u32] {
        assert!(group < self.groups, "group {group} of {}", self.groups);
        let segment = match &self.present {
            None => group,
            Some(present) => match present.binary_search(&(group as u32)) {
                Ok(segment) => segment,
                Err(_) => return &[],
            },
        };
        &self.positions[self.segments.range(segment)]
    }

    /// Reduces each group along the first axis of `values`. The result has an axis of groups in place of the first
    /// axis, and then the other axes of `values`. Arg ops give positions in `values`. Groups without elements have the
    /// results that [`crate::reduce`] gives for no elements: 0 for sum, NaN for mean, and so on.
    ///
    /// # Errors
    /// Another number of values than labels, axes among the options, options that the reduction does not have; a group
    /// without a result, if there is nothing to fill in ([`KeyError::Empty`]).
    pub fn reduce(&self, op: Op, values: ArrayRef<'_>, options: &Options<'_>) -> Result<Array, Error> {
        fits(self.labels, &values)?;
        // A mask that does not fit is reported with the shape of the values as given, before rows are gathered.
        let problem = Problem::new(&values, &[0], options.mask.as_ref())?;
        let gathered = !reads_in_place(&problem);
        let positions = Positions { list: &self.positions, gathered };
        let (found, rest) = if gathered {
            let varies = |mask: &ArrayRef<'_>| mask.shape().len() == values.shape().len() && mask.shape()[0] != 1;
            let mask = options.mask.filter(varies).map(|mask| Rows::gather(&mask, &self.positions));
            let rows = Rows::gather(&values, &self.positions);
            let options = Options { mask: mask.as_ref().map(Rows::array).or(options.mask), ..options.clone() };
            self.segments.find(op, rows.array(), &options, Some(positions))?
        } else {
            self.segments.find(op, values, options, Some(positions))?
        };
        let nothing = || reduce(op, values.line(0, 0, 0), &Options { mask: None, ..options.clone() }).ok()?.scalar();
        self.complete(found, nothing, &rest, op.name(), values.dtype())
    }

    /// The results of all groups, with holes filled. `nothing` computes the result of a group without elements, if
    /// there is one. `rest` is the shape of a group's result.
    fn complete(
        &self,
        found: Found,
        nothing: impl Fn() -> Option<Scalar>,
        rest: &[usize],
        op: &'static str,
        dtype: DType,
    ) -> Result<Array, Error> {
        let Some(present) = &self.present else { return self.segments.complete(found, rest, op, dtype) };
        let Found { values, holes, outputs, width } = found;
        let shape = [&[self.groups], rest].concat();
        if outputs == 0 {
            return Ok(Array { shape, values });
        }
        let Some(other) = nothing().or(self.segments.filling()) else {
            let absent = absent(present);
            let hole = holes.first().map(|&(at, why)| (present[at / outputs] as usize, why));
            let (group, why) = hole.filter(|&(group, _)| group < absent).unwrap_or((absent, Hole::Empty));
            return Err(self.segments.empty(op, dtype, group, why));
        };
        let row = outputs * width;
        memory::afford("the result", self.groups.saturating_mul(row), values.dtype().size())?;
        let places = present.iter().flat_map(|&group| (group as usize * row..).step_by(width).take(outputs));
        let mut holes = holes.iter().map(|&(at, _)| at).peekable();
        // Holes keep the filling that `scattered` starts with.
        let places = places.enumerate().filter(|(output, _)| holes.next_if_eq(output).is_none());
        let places = places.map(|(_, place)| place..place + width);
        let values = warpfold_array::each!(Values, values, v => scattered(v, self.groups * row, other, places));
        Ok(Array { shape, values })
    }

    /// The first element of each group; of values with several axes, the first row.
    ///
    /// # Errors
    /// Another number of values than labels; a group without elements, if there is nothing to fill in.
    pub fn first(&self, values: ArrayRef<'_>) -> Result<Array, Error> {
        self.pick("first", values, |group| group.first())
    }

    /// The last element of each group; of values with several axes, the last row.
    ///
    /// # Errors
    /// As [`Groups::first`].
    pub fn last(&self, values: ArrayRef<'_>) -> Result<Array, Error> {
        self.pick("last", values, |group| group.last())
    }

    /// Every statistic of [`crate::describe`] of each group.
    ///
    /// # Errors
    /// Another number of values than labels, options other than `threads` and `progress`, an empty group (which has no
    /// least element).
    pub fn describe(&self, values: ArrayRef<'_>, options: &Options<'_>) -> Result<Descriptions, Error> {
        fits(self.labels, &values)?;
        if let Some(present) = &self.present {
            crate::describe::check_describe(values.dtype(), options)?;
            return Err(self.segments.empty("describe", values.dtype(), absent(present), Hole::Empty));
        }
        let rows = Rows::gather(&values, &self.positions);
        let mut description = self.segments.describe(rows.array(), options)?;
        for (_, places) in description.stats.iter_mut().filter(|(name, _)| name.starts_with("arg")) {
            if let Values::I64(places) = places {
                let outputs = places.len().checked_div(self.len()).unwrap_or(0);
                self.segments.to_positions(places, &[], outputs, &self.positions);
            }
        }
        Ok(description)
    }

    fn pick(&self, op: &'static str, values: ArrayRef<'_>, of: fn(&[u32]) -> Option<&u32>) -> Result<Array, Error> {
        fits(self.labels, &values)?;
        let segment = |i: usize| &self.positions[self.segments.range(i)];
        let picked: Vec<u32> = (0..self.segments.len()).filter_map(|i| of(segment(i)).copied()).collect();
        let found = dense::values(&Rows::gather(&values, &picked).array());
        let empty = (0..self.segments.len()).filter(|&i| segment(i).is_empty());
        let rest = &values.shape()[1..];
        let outputs: usize = rest.iter().product();
        let holes = empty.flat_map(|i| i * outputs..(i + 1) * outputs).map(|at| (at, Hole::Empty)).collect();
        self.complete(Found { values: found, holes, outputs, width: 1 }, || None, rest, op, values.dtype())
    }
}

/// Whether the elements of groups are read where they lie: rows of some length, or lines that fit the cache. Others are
/// gathered first.
fn reads_in_place(problem: &Problem) -> bool {
    let Some((lane, others)) = problem.kept.split_last() else { return false };
    let (inner, size) = (problem.inner(), problem.size as isize);
    let step = inner.x.unsigned_abs();
    let rows = lane.x == size && lane.len * problem.size >= LEAST_ROW && step > problem.size;
    let line = problem.count * problem.size <= MOST_LINE && problem.outputs >= LEAST_LINES;
    let lines = step > 0 && others.iter().chain([lane]).all(|dim| dim.x.unsigned_abs() >= step);
    problem.reduced.len() == 1 && (rows || line && lines)
}

/// The first group without elements, where `present` lists the groups with elements, which are not all groups.
fn absent(present: &[u32]) -> usize {
    present.iter().enumerate().position(|(i, &group)| i != group as usize).unwrap_or(present.len())
}

/// `n` values: `values`, in order, at `places`, and `other` at all other places.
fn scattered<T: Value>(values: Vec<T>, n: usize, other: Scalar, places: impl Iterator<Item = Range<usize>>) -> Values {
    let mut all = vec![T::from_cast(other.to_cast()); n];
    let mut values = values.into_iter();
    places.for_each(|place| all[place].iter_mut().zip(&mut values).for_each(|(to, x)| *to = x));
    T::wrap(all)
}
