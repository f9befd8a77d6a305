//! Segments: consecutive parts of the first axis, each reduced by itself.

use std::ops::Range;

use warpfold_core::DType;

use super::integers::Integers;
use crate::bound::Task;
use crate::describe::{ROW, Run, STATS, check_describe};
use crate::dispatch::Kernels;
use crate::engine::Cuts;
use crate::reduction::on_threads;
use warpfold_array::ArrayRef;
use warpfold_array::KeyError;
use warpfold_array::Options;
use warpfold_array::memory;
use warpfold_array::problem::Problem;
use warpfold_array::request::{Request, base};
use warpfold_array::{Array, Hole, Scalar, Value, Values};
use warpfold_array::{Error, Op};

/// Reduces each segment `offsets[i]..offsets[i + 1]` of the first axis of `values`, in the bits of
/// `reduce(op, values[offsets[i]..offsets[i + 1]], axis 0)`. See [`Segments`].
///
/// ```
/// use warpfold::{ArrayRef, Op, Options, segmented};
///
/// let x = [1.0f32, 2.0, 3.0, 4.0, 5.0];
/// let x = ArrayRef::from_slice(&x, &[5])?;
/// let offsets = ArrayRef::from_slice(&[0i64, 2, 2, 5], &[4])?;
/// let sums = segmented(Op::Sum, x, offsets, &Options::default())?;
/// assert_eq!(sums.into_vec::<f32>().unwrap(), [3.0, 0.0, 12.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`Segments::new`] and [`Segments::reduce`].
pub fn segmented(op: Op, values: ArrayRef<'_>, offsets: ArrayRef<'_>, options: &Options<'_>) -> Result<Array, Error> {
    Segments::new(offsets)?.reduce(op, values, options)
}

/// The offsets at which the first axis of values is cut.
///
/// There is one offset more than segments; they need not start at 0 nor end at the last element. A segment may be
/// empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Segments {
    offsets: Vec<usize>,
    fill: Option<Scalar>,
    what: &'static str,
}

/// The statistics of segments or groups.
#[derive(Clone, Debug, PartialEq)]
pub struct Descriptions {
    /// The shape of each statistic: segments or groups, then the other axes of the values.
    pub shape: Vec<usize>,
    /// The number of elements of each segment or group, NaNs included.
    pub counts: Vec<i64>,
    /// As [`crate::Description::stats`].
    pub stats: Vec<(&'static str, Values)>,
}

impl Descriptions {
    /// The statistic of this name.
    pub fn get(&self, name: &str) -> Option<&Values> {
        self.stats.iter().find(|(n, _)| *n == name).map(|(_, v)| v)
    }
}

impl Segments {
    /// Segments between neighbouring offsets: integers of any dtype, along one axis.
    ///
    /// # Errors
    /// [`KeyError::NotIntegers`], [`KeyError::OffsetsShape`], [`KeyError::OffsetsDecrease`],
    /// [`KeyError::OffsetNegative`].
    pub fn new(offsets: ArrayRef<'_>) -> Result<Self, Error> {
        if offsets.shape().len() != 1 || offsets.is_empty() {
            return Err(KeyError::OffsetsShape { shape: offsets.shape().to_vec() }.into());
        }
        let entries = Integers::new(offsets, "offsets")?;
        let mut list = Vec::with_capacity(entries.len());
        let mut before = 0;
        entries.blocks(|from, block| {
            for (i, &entry) in block.iter().enumerate() {
                let at = from + i;
                let Ok(after) = u64::try_from(entry) else {
                    return Err(KeyError::OffsetNegative { at, offset: entries.exact(entry) });
                };
                if after < before {
                    return Err(KeyError::OffsetsDecrease { at, before, after });
                }
                before = after;
                list.push(after as usize);
            }
            Ok(())
        })?;
        Ok(Self { offsets: list, fill: None, what: "segment" })
    }

    /// Segments that have been checked, under the name that errors give them.
    pub(super) fn checked(offsets: Vec<usize>, what: &'static str, fill: Option<Scalar>) -> Self {
        Self { offsets, fill, what }
    }

    /// Sets the result of segments that have none, for min, max, minmax, argmin and argmax: segments without elements,
    /// or with NaNs alone that are skipped. The value is cast to the result's dtype.
    pub fn fill(self, x: Scalar) -> Self {
        Self { fill: Some(x), ..self }
    }

    /// The offsets, one more than there are segments.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The result of segments that have none, if it has been set.
    pub fn filling(&self) -> Option<Scalar> {
        self.fill
    }

    /// The number of segments.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no segments.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The length of each segment along the first axis.
    pub fn counts(&self) -> Vec<i64> {
        self.offsets.windows(2).map(|pair| (pair[1] - pair[0]) as i64).collect()
    }

    /// Reduces each segment of the first axis of `values`. The result has an axis of segments in place of the first
    /// axis, and then the other axes of `values`. Arg ops count from the segment's first element. Segments without
    /// elements have the results that [`crate::reduce`] gives for no elements: 0 for sum, NaN for mean, and so on.
    ///
    /// # Errors
    /// Segments beyond the values, axes among the options, options that the reduction does not have; a segment without
    /// a result, if there is nothing to fill in ([`KeyError::Empty`]).
    pub fn reduce(&self, op: Op, values: ArrayRef<'_>, options: &Options<'_>) -> Result<Array, Error> {
        let (found, rest) = self.find(op, values, options, None)?;
        self.complete(found, &rest, op.name(), values.dtype())
    }

    /// The results of segments, holes left out, and the shape of a segment's result. If positions are given, arg ops
    /// give these.
    pub(super) fn find(
        &self,
        op: Op,
        values: ArrayRef<'_>,
        options: &Options<'_>,
        positions: Option<Positions<'_>>,
    ) -> Result<(Found, Vec<usize>), Error> {
        let (order, positions) = match positions {
            Some(Positions { list, gathered }) => ((!gathered).then_some(list), Some(list)),
            None => (None, None),
        };
        self.fits(&values, options)?;
        let options = Options { axes: Some(vec![0]), ..options.clone() };
        let request = Request::new(op, &values, &options)?;
        let outputs = request.problem.outputs;
        let width = if op == Op::MinMax { 2 } else { 1 };
        memory::afford("the result", self.len().saturating_mul(outputs * width), request.spec.result().size())?;
        let run = |offsets: &[usize]| {
            on_threads(options.threads, |threads| {
                let (problem, options) = (&request.problem, request.options());
                let base = base(&values, options.mask.as_ref(), problem);
                let task = Task { problem, base, threads, progress: options.progress };
                // SAFETY: an ArrayRef's elements are readable; the problem reaches no others, and reduces axis 0 alone.
                Kernels(&request.spec).with(|bound| unsafe { bound.segments(&task, Cuts { offsets, order }) })
            })
        };
        let (found, holes) = match run(&self.offsets)? {
            Some(all) => all,
            None => {
                let parts = self.with_elements();
                let (found, holes) = run(&parts.offsets)?.expect("no segment is empty");
                let of_part = |at: usize| parts.segments[at / outputs] * outputs + at % outputs;
                let mut holes: Vec<_> = holes.into_iter().map(|(at, why)| (of_part(at), why)).collect();
                let empty = (0..self.len()).filter(|&i| self.range(i).is_empty());
                holes.extend(empty.flat_map(|i| (i * outputs..(i + 1) * outputs).map(|at| (at, Hole::Empty))));
                holes.sort_unstable_by_key(|&(at, _)| at);
                (found, holes)
            }
        };
        let mut found = found.cast(request.spec.result());
        if let (Op::ArgMin | Op::ArgMax, Some(positions), Values::I64(places)) = (op, positions, &mut found) {
            self.to_positions(places, &holes, outputs, positions);
        }
        Ok((Found { values: found, holes, outputs, width }, request.shape()))
    }

    /// The results of all segments, with holes filled. `rest` is the shape of a segment's result.
    pub(super) fn complete(
        &self,
        found: Found,
        rest: &[usize],
        op: &'static str,
        dtype: DType,
    ) -> Result<Array, Error> {
        let Found { values, holes, outputs, width } = found;
        let shape = [&[self.len()], rest].concat();
        let Some(&(at, why)) = holes.first() else { return Ok(Array { shape, values }) };
        let Some(fill) = self.fill else { return Err(self.empty(op, dtype, at / outputs, why)) };
        let holes: Vec<usize> = holes.into_iter().map(|(at, _)| at).collect();
        Ok(Array { shape, values: filled(values, &holes, width, fill) })
    }

    /// Converts indices within segments to positions in the array that the values were gathered from.
    pub(super) fn to_positions(&self, places: &mut [i64], holes: &[(usize, Hole)], outputs: usize, positions: &[u32]) {
        let mut holes = holes.iter().map(|&(at, _)| at).peekable();
        let mut output = 0;
        for place in places {
            while holes.next_if_eq(&output).is_some() {
                output += 1;
            }
            *place = positions[self.offsets[output / outputs] + *place as usize] as i64;
            output += 1;
        }
    }

    /// The range of a segment's elements along the first axis.
    ///
    /// # Panics
    /// If there is no such segment.
    pub fn range(&self, segment: usize) -> Range<usize> {
        self.offsets[segment]..self.offsets[segment + 1]
    }

    /// Every statistic of [`crate::describe`] of each segment, in one read.
    ///
    /// # Errors
    /// Segments beyond the values, options other than `threads` and `progress`, an empty segment (which has no least
    /// element).
    pub fn describe(&self, values: ArrayRef<'_>, options: &Options<'_>) -> Result<Descriptions, Error> {
        self.fits(&values, options)?;
        check_describe(values.dtype(), options)?;
        let problem = Problem::new(&values, &[0], None)?;
        memory::afford("the statistics", self.len().saturating_mul(problem.outputs), ROW)?;
        let run = Run { array: &values, problem: &problem, options, segments: Some(&self.offsets) };
        let Some(stats) = run.stats(Vec::new())? else {
            let empty = (0..self.len()).find(|&i| self.range(i).is_empty());
            return Err(self.empty("describe", values.dtype(), empty.unwrap_or(0), Hole::Empty));
        };
        let shape = [self.len()].into_iter().chain(values.shape()[1..].iter().copied()).collect();
        debug_assert!(stats.iter().map(|(name, _)| *name).eq(STATS));
        Ok(Descriptions { shape, counts: self.counts(), stats })
    }

    pub(super) fn empty(&self, op: &'static str, dtype: DType, index: usize, why: Hole) -> Error {
        KeyError::Empty { op, dtype, what: self.what, index, why: why.of_a_segment() }.into()
    }

    /// Checks that the first axis of `values` is long enough, and that the options name no axes.
    pub fn fits(&self, values: &ArrayRef<'_>, options: &Options<'_>) -> Result<(), Error> {
        let &len = values.shape().first().ok_or(KeyError::NoAxis)?;
        if options.axes.is_some() || options.keepdims {
            return Err(KeyError::Axes.into());
        }
        match self.offsets.iter().position(|&offset| offset > len) {
            Some(at) => Err(KeyError::OffsetOutOfRange { at, offset: self.offsets[at] as i128, len }.into()),
            None => Ok(()),
        }
    }

    /// The segments that are not empty, which are consecutive as well.
    fn with_elements(&self) -> Parts {
        let segments = (0..self.len()).filter(|&i| !self.range(i).is_empty()).collect();
        let mut offsets = self.offsets.clone();
        offsets.dedup();
        Parts { offsets, segments }
    }
}

/// The results of segments.
pub(super) struct Found {
    /// The values of outputs in order, holes left out.
    pub values: Values,
    /// The outputs without a value, ascending, and why they have none.
    pub holes: Vec<(usize, Hole)>,
    /// The number of outputs of a segment.
    pub outputs: usize,
    /// Elements of each output.
    pub width: usize,
}

/// The positions of the elements of segments in an array.
#[derive(Clone, Copy)]
pub(super) struct Positions<'a> {
    /// Segment after segment.
    pub list: &'a [u32],
    /// Whether the values are those of these positions, and no others.
    pub gathered: bool,
}

/// The segments that are not empty.
struct Parts {
    offsets: Vec<usize>,
    /// The numbers of these segments among all.
    segments: Vec<usize>,
}

/// Inserts `fill` for the outputs `holes`, which have `width` elements each.
pub fn filled(values: Values, holes: &[usize], width: usize, fill: Scalar) -> Values {
    fn put<T: Value>(values: Vec<T>, holes: &[usize], width: usize, fill: Scalar) -> Values {
        let fill = T::from_cast(fill.to_cast());
        let total = values.len() + holes.len() * width;
        let (mut all, mut values, mut holes) = (Vec::with_capacity(total), values.into_iter(), holes.iter().peekable());
        for output in 0..total / width {
            match holes.next_if_eq(&&output) {
                Some(_) => all.extend(std::iter::repeat_n(fill, width)),
                None => all.extend(values.by_ref().take(width)),
            }
        }
        T::wrap(all)
    }
    warpfold_array::each!(Values, values, v => put(v, holes, width, fill))
}
