//! The reduction of parts of an array that are in many places: each part is reduced to nodes of the tree, and nodes
//! join as parts become adjacent. The last part to join makes the result of the whole, in its bits.

mod bytes;
mod lines;
mod range;
mod rooted;
mod wrong;

use crate::bound::Bound;
use crate::dispatch::Kernels;
use crate::engine::nodes::Nodes;
use crate::reduction::on_threads;
use warpfold_array::problem::normalize_axes;
use warpfold_array::request::{Request, Spec};
use warpfold_array::{Array, ArrayRef, Error, Hole, Op, Options, elements, memory};
use warpfold_core::{Cast, DType};

use lines::Lines;
use range::Ranges;
use wrong::wrong;

/// The state of a reduction of which only some parts have been seen: for each output the canonical nodes of the ranges
/// of its sequence that they cover.
///
/// Parts may come in any order, from any process, and be cut anywhere. There are outputs for the kept axes of the
/// parts, which are the same for all. A part may be a block of several reduced axes, which covers a range of the
/// sequence in each of its rows.
///
/// ```
/// use warpfold::{ArrayRef, Op, Options, Spans, reduce};
///
/// let x: Vec<f32> = (0..1000).map(|i| i as f32 * 0.1).collect();
/// let whole = ArrayRef::from_slice(&x, &[1000])?;
/// let part = |from: usize, to: usize| {
///     let mut spans = Spans::new(Op::Sum, whole.dtype(), &[], false, &Options::default())?;
///     spans.add(whole.narrow(0, from, to - from), &[0], &[from as u64], &[1000], &Options::default())?;
///     Ok::<_, warpfold::Error>(spans)
/// };
/// let mut sum = part(333, 1000)?;
/// sum.merge(Spans::from_bytes(&part(0, 333)?.to_bytes())?)?;
/// assert_eq!(sum.finish(1000)?, reduce(Op::Sum, whole, &Options::default())?);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub struct Spans {
    spec: Spec,
    /// The shape of the outputs.
    kept: Vec<usize>,
    outputs: usize,
    ranges: Ranges,
}

impl Clone for Spans {
    fn clone(&self) -> Self {
        let Self { spec, kept, outputs, ranges } = self;
        Self { spec: *spec, kept: kept.clone(), outputs: *outputs, ranges: ranges.copied() }
    }
}

impl Spans {
    /// No parts yet, of a reduction of elements of a dtype into outputs of the shape `kept`. `masked` says whether
    /// parts may have masks. The options are those of [`crate::reduce`], but for `axes`, `keepdims`, `mask`, `threads`
    /// and `progress`, which are not used.
    ///
    /// # Errors
    /// Options that the reduction does not have; [`Error::Memory`] if memory has no room for the outputs.
    pub fn new(op: Op, dtype: DType, kept: &[usize], masked: bool, options: &Options<'_>) -> Result<Self, Error> {
        let outputs = elements(kept, 1)?;
        let nothing = ArrayRef::from_bytes(&[], dtype, &[0], warpfold_array::Order::C, false)?;
        let options = Options { axes: None, keepdims: false, mask: None, ..options.clone() };
        let spec = Spec { masked, ..Request::new(op, &nothing, &options)?.spec };
        let ranges = Kernels(&spec).with(|bound| Ranges::new(bound.kernel, outputs));
        Ok(Self { spec, kept: kept.to_vec(), outputs, ranges })
    }

    /// The reduction.
    pub fn op(&self) -> Op {
        self.spec.op
    }

    /// The dtype of the elements.
    pub fn dtype(&self) -> DType {
        self.spec.input
    }

    /// The shape of the outputs.
    pub fn shape(&self) -> &[usize] {
        &self.kept
    }

    /// The ranges of the sequence that are there, ascending, each as its start and its end.
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = (u64, u64)> + '_ {
        self.ranges.bounds()
    }

    /// About how many bytes of memory the state takes.
    pub fn bytes(&self) -> usize {
        let node = Kernels(&self.spec).with(|bound| bound.kernel.facts().node);
        size_of::<Self>() + self.ranges.nodes() * node + self.ranges.len() * size_of::<[u64; 3]>()
    }

    /// Adds a part: an array whose `axes` are reduced. Along the first of these axes the part begins at `start[0]` of
    /// `total[0]` elements, and so on. Of the options, `mask`, `threads` and `progress` are used.
    ///
    /// # Errors
    /// Bad axes; a part of another dtype, of other outputs, beyond the total, or of which something is there already; a
    /// mask where none was announced.
    pub fn add(
        &mut self,
        array: ArrayRef<'_>,
        axes: &[isize],
        start: &[u64],
        total: &[u64],
        options: &Options<'_>,
    ) -> Result<(), Error> {
        let axes = normalize_axes(Some(axes), array.shape().len())?;
        if array.dtype() != self.spec.input {
            let (found, expected) = (array.dtype(), self.spec.input);
            return Err(wrong(format!("a part has dtype {found}, the reduction is of {expected}")));
        }
        if options.mask.is_some() && !self.spec.masked {
            return Err(wrong("a part has a mask, which was not announced".into()));
        }
        let kept = (0..array.shape().len()).filter(|axis| !axes.contains(axis)).map(|axis| array.shape()[axis]);
        let kept: Vec<usize> = kept.collect();
        if kept != self.kept {
            return Err(wrong(format!("a part has outputs of shape {kept:?}, the others have {:?}", self.kept)));
        }
        let lines = Lines::new(&array, &axes, start, total, options.mask.as_ref(), self.spec.masked)?;
        let spec = Spec { swapped: array.is_swapped(), ..self.spec };
        let found = Kernels(&spec).with(|bound| {
            memory::afford(
                "the nodes of a part",
                self.outputs.saturating_mul(lines.nodes()),
                bound.kernel.facts().node,
            )?;
            on_threads(options.threads, |threads| {
                // SAFETY: an ArrayRef's elements are readable, and the lines reach no others.
                unsafe { lines.reduce(bound, self.outputs, threads, options.progress) }
            })
        })?;
        self.join(&[&found])
    }

    /// Adds all that another state has.
    ///
    /// # Errors
    /// A state of another reduction, or one that has something which is there already. Nothing has changed then.
    pub fn merge(&mut self, other: Self) -> Result<(), Error> {
        self.merge_all(&[&other])
    }

    /// Adds all that other states have, in one pass: of many states this is faster than one after the other.
    ///
    /// ```
    /// use warpfold::{ArrayRef, Op, Options, Spans};
    ///
    /// let x = [1.0f64, 2.0, 3.0];
    /// let part = |at: usize| {
    ///     let mut part = Spans::new(Op::Sum, warpfold::DType::F64, &[], false, &Options::default())?;
    ///     part.add(ArrayRef::from_slice(&x[at..at + 1], &[1])?, &[0], &[at as u64], &[3], &Options::default())?;
    ///     Ok::<_, warpfold::Error>(part)
    /// };
    /// let mut sum = part(1)?;
    /// sum.merge_all(&[&part(2)?, &part(0)?])?;
    /// assert_eq!(sum.finish(3)?.into_vec::<f64>().unwrap(), [6.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Spans::merge`].
    pub fn merge_all(&mut self, others: &[&Self]) -> Result<(), Error> {
        if !others.iter().all(|other| self.is_of(other)) {
            return Err(wrong("the states are of different reductions, dtypes, options or outputs".into()));
        }
        self.join(&others.iter().map(|other| &other.ranges).collect::<Vec<_>>())
    }

    /// Adds ranges of this reduction.
    fn join(&mut self, others: &[&Ranges]) -> Result<(), Error> {
        let (spec, ranges) = (&self.spec, &mut self.ranges);
        Kernels(spec)
            .with(|bound| ranges.merge(bound.kernel, others))
            .map_err(|(from, to)| wrong(format!("the elements {from}..{to} of the sequence are there already")))
    }

    fn is_of(&self, other: &Self) -> bool {
        let (a, b) = (&self.spec, &other.spec);
        let bits = |x: Cast| match x {
            Cast::Float(x) => Err(x.to_bits()),
            other => Ok(other),
        };
        // NaN is an initial value like others.
        let options = |spec: &Spec| {
            let Spec { dtype, precision, skip_nan, masked, initial, ord, .. } = *spec;
            (dtype, precision, skip_nan, masked, initial.map(bits), ord)
        };
        (a.op, a.input, &self.kept) == (b.op, b.input, &other.kept)
            && options(a) == options(b)
            && a.ddof.to_bits() == b.ddof.to_bits()
    }

    /// The result, of the shape of the outputs; of a minmax with one more axis of length 2. The state can go on.
    ///
    /// # Errors
    /// If not all `total` elements of the sequence are there; as [`crate::reduce`], if an output has no value.
    pub fn finish(&self, total: u64) -> Result<Array, Error> {
        let mut ranges = self.ranges();
        let whole = match (ranges.next(), ranges.next()) {
            (None, _) if total == 0 => None,
            (Some(range), None) if range == (0, total) => Some(total),
            _ => {
                let there: Vec<String> = self.ranges().take(3).map(|(start, end)| format!("{start}..{end}")).collect();
                let more = if self.ranges.len() > 3 { ", …" } else { "" };
                let there = if there.is_empty() { "none".into() } else { there.join(", ") + more };
                return Err(wrong(format!(
                    "of the {total} elements of the sequence there are {there}: add the others"
                )));
            }
        };
        let width = if self.spec.op == Op::MinMax { 2 } else { 1 };
        memory::afford("the result", self.outputs.saturating_mul(width), self.spec.result().size())?;
        let found = Kernels(&self.spec).with(|bound| self.values(bound, whole));
        let mut shape = self.kept.clone();
        shape.extend((width == 2).then_some(2));
        let values = found.ok_or(Hole::Empty).flatten().map_err(|hole| {
            warpfold_array::request::hole_error(hole, self.spec.op, self.spec.input, &[total as usize], &[0])
        })?;
        Ok(Array { shape, values: values.cast(self.spec.result()) })
    }

    /// The values of all outputs: of the one range, of this number of elements, or of nothing.
    fn values(&self, bound: &Bound<'_>, whole: Option<u64>) -> Option<Result<warpfold_array::Values, Hole>> {
        let Some(count) = whole else {
            return (bound.collect)(self.outputs, &mut |out| {
                // SAFETY: `collect` has a place for each output.
                (0..self.outputs).all(|i| unsafe { bound.kernel.finish_empty(out.at(i as isize, 1)) })
            });
        };
        let mut root = Nodes::with_capacity(bound.kernel.facts().node, self.outputs);
        // SAFETY: there is room for a node of each output, and all are written.
        unsafe { root.write(self.outputs, |to| self.ranges.root(bound.kernel, to)) };
        (bound.collect)(self.outputs, &mut |out| {
            // SAFETY: there is a node for each output, and `collect` has as many places.
            unsafe { bound.kernel.finish(root.first(), self.outputs, count, out.at(0, self.outputs)) };
            true
        })
    }
}

impl std::fmt::Debug for Spans {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ranges: Vec<_> = self.ranges().collect();
        write!(f, "Spans({} of {} into {:?}, {ranges:?})", self.spec.op, self.spec.input, self.kept)
    }
}
