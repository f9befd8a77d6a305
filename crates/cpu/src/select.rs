//! The greatest or the least elements along an axis, in order, and where they are.
//!
//! A row is read once. Its candidates are the elements that none of the first k seen so far keep out: vectors look for
//! an element beyond the last of these, and in most of a row there is none. When there are twice as many candidates as
//! results, the first k of them stay. So a row in the worst order costs a selection, too, and not more.
#![cfg(feature = "reductions")]

use std::ops::Range;

use warpfold_array::problem::normalize_axes;
use warpfold_array::{Array, ArrayRef, Error, PoolError, Value, Values, elements, memory};
use warpfold_core::pool::place;
use warpfold_core::{DType, Element, Key, with_dtype};

use crate::gather::{Gather, Readable, gather_same, truths};
use crate::output::Output;
use crate::parallel::{for_each, results};
use crate::policy::{CHUNK, ONE_THREAD};
use crate::reduction::on_threads;
use crate::rows::lines::{Lines, Part};
use crate::simd::vectorize;

pub use crate::sample::sample;

/// What [`top_k`] finds.
#[derive(Clone, Debug, PartialEq)]
pub struct TopK {
    /// The elements, in order: an array in C order, of length k along the axis.
    pub values: Array,
    /// Their indices along the axis: i64.
    pub indices: Array,
}

/// The `k` greatest elements along an axis (from the end if negative), the greatest first; without `largest` the least,
/// the least first. NaN is greater than any number, and the first of equal elements comes first. Elements may be of any
/// dtype. `threads`: how many; `None`: as many as rayon's current pool has.
///
/// ```
/// use warpfold::{ArrayRef, select};
///
/// let found = select::top_k(ArrayRef::flat(&[3i32, 9, 4, 9]), 3, 0, true, None)?;
/// assert_eq!(found.values.into_vec::<i32>().unwrap(), [9, 9, 4]);
/// assert_eq!(found.indices.into_vec::<i64>().unwrap(), [1, 3, 2]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// A bad axis; [`PoolError::K`]; [`Error::Memory`], [`Error::Threads`].
pub fn top_k(x: ArrayRef<'_>, k: usize, axis: isize, largest: bool, threads: Option<usize>) -> Result<TopK, Error> {
    let axis = normalize_axes(Some(&[axis]), x.shape().len())?[0];
    let len = x.shape()[axis];
    if k > len {
        return Err(PoolError::K { k, len }.into());
    }
    let call = Call { x: &x, axis, k, largest, threads };
    if x.dtype() == DType::Bool {
        // Whatever byte a truth has in memory, it is read as 1.
        let found = call.of::<u8>(truths::<u8>)?;
        let truths = u8::unwrap(found.values.values).expect("the elements are bytes");
        let values = Values::Bool(truths.into_iter().map(|x| x != 0).collect());
        return Ok(TopK { values: Array { values, ..found.values }, ..found });
    }
    with_dtype!(x.dtype(), T => call.of::<T>(gather_same::<T>(x.is_swapped())))
}

/// A call whose axis and k have been checked.
struct Call<'a> {
    x: &'a ArrayRef<'a>,
    axis: usize,
    k: usize,
    largest: bool,
    threads: Option<usize>,
}

impl Call<'_> {
    fn of<T: Value + Readable>(&self, gather: Gather<T>) -> Result<TopK, Error> {
        let Self { x, axis, k, .. } = *self;
        let mut shape = x.shape().to_vec();
        shape[axis] = k;
        let n = elements(&shape, size_of::<i64>())?;
        memory::afford("what is selected from", k.saturating_mul(2).min(x.shape()[axis]), 2 * size_of::<u128>())?;
        let mut values = memory::room::<T>("the result", n)?;
        let mut indices = memory::room::<i64>("the indices", n)?;
        if n > 0 {
            let work = Work {
                call: self,
                lines: Lines::of(x, &[axis]),
                gather,
                rows: n / k,
                len: x.shape()[axis],
                inner: x.shape()[axis + 1..].iter().product(),
                values: Output::large(&mut values.spare_capacity_mut()[..n]),
                indices: Output::large(&mut indices.spare_capacity_mut()[..n]),
            };
            // A candidate of 64 bits has an index of 32.
            let small = size_of::<T>() <= 4 && u32::try_from(work.len).is_ok();
            on_threads(
                self.threads,
                |threads| if small { work.run::<u64>(threads) } else { work.run::<u128>(threads) },
            )?;
        }
        // SAFETY: `run` has written the places of all rows.
        unsafe {
            values.set_len(n);
            indices.set_len(n);
        }
        let values = Array { shape: shape.clone(), values: T::wrap(values) };
        Ok(TopK { values, indices: Array { shape, values: i64::wrap(indices) } })
    }
}

/// The place of an element in the order, and its index, as one integer. The greatest comes first.
trait Candidate: Ord + Copy + Send {
    fn new<K: Key>(place: K, index: usize) -> Self;
    fn place<K: Key>(self) -> K;
    fn index(self) -> usize;
}

macro_rules! candidate {
    ($t:ty, $half:ty) => {
        impl Candidate for $t {
            #[inline(always)]
            fn new<K: Key>(place: K, index: usize) -> Self {
                (place.to_ordered() as $t) << <$half>::BITS | !(index as $half) as $t
            }
            #[inline(always)]
            fn place<K: Key>(self) -> K {
                K::from_ordered((self >> <$half>::BITS) as u64)
            }
            #[inline(always)]
            fn index(self) -> usize {
                !(self as $half) as usize
            }
        }
    };
}
candidate!(u64, u32);
candidate!(u128, u64);

/// The first k of the elements of a row that it has been given.
struct Selector<T: Element, P> {
    k: usize,
    largest: bool,
    /// All elements so far that can be among the first k, and fewer than about k others.
    candidates: Vec<P>,
    /// The place of the last of the first k, once there are as many.
    last: Option<T::Key>,
}

/// Elements that are tested together for one beyond the last place.
const SOME: usize = 256;
/// The same, where one is near.
const FEW: usize = 32;

impl<T: Element, P: Candidate> Selector<T, P> {
    fn new(k: usize, largest: bool, len: usize) -> Self {
        Self { k, largest, candidates: Vec::with_capacity(Self::most(k).min(len)), last: None }
    }

    /// The candidates from which on the first k are selected.
    fn most(k: usize) -> usize {
        k.saturating_add(k.max(16))
    }

    /// Takes elements, the first of which has an index that is greater than those of all elements before.
    fn push(&mut self, x: &[T], first: usize) {
        // Until there are k candidates that are known to be the first, all elements are.
        let room = match self.last {
            None => Self::most(self.k).saturating_sub(self.candidates.len()).min(x.len()),
            Some(_) => 0,
        };
        self.candidates.extend(x[..room].iter().zip(first..).map(|(x, i)| P::new(place(*x, self.largest), i)));
        if self.candidates.len() >= Self::most(self.k) {
            self.select();
        }
        let Some(mut last) = self.last else { return };
        let mut at = room;
        while at < x.len() {
            at += few_beyond(&x[at..], last, self.largest);
            let few = at..x.len().min(at + FEW);
            for (x, index) in x[few.clone()].iter().zip(first + at..) {
                let place = place(*x, self.largest);
                if place > last {
                    self.candidates.push(P::new(place, index));
                    if self.candidates.len() >= Self::most(self.k) {
                        self.select();
                        last = self.last.unwrap_or(last);
                    }
                }
            }
            at = few.end;
        }
    }

    /// Drops all candidates but the first k.
    fn select(&mut self) {
        if self.candidates.len() > self.k {
            let (_, last, _) = self.candidates.select_nth_unstable_by(self.k - 1, |a, b| b.cmp(a));
            self.last = Some(last.place());
            self.candidates.truncate(self.k);
        }
    }

    /// The first k candidates, in order.
    fn sorted(mut self) -> Vec<P> {
        self.select();
        self.candidates.sort_unstable_by(|a, b| b.cmp(a));
        self.candidates
    }
}

/// Where a few elements begin of which one comes before a place in the order; the number of elements if none does.
#[inline(always)]
fn few_beyond<T: Element>(x: &[T], last: T::Key, largest: bool) -> usize {
    /// Whether one of these does.
    #[inline(always)]
    fn one<T: Element>(x: &[T], last: T::Key, largest: bool) -> bool {
        let mut first = last;
        for x in x {
            first = first.max(place(*x, largest));
        }
        first > last
    }
    vectorize(
        #[inline(always)]
        || {
            let few = FEW.min(x.len());
            if one(&x[..few], last, largest) {
                return 0;
            }
            let mut at = few;
            for some in x[few..].chunks(SOME) {
                if one(some, last, largest) {
                    let mut next = 0;
                    while !one(&some[next..some.len().min(next + FEW)], last, largest) {
                        next += FEW;
                    }
                    return at + next;
                }
                at += some.len();
            }
            at
        },
    )
}

/// A selection from all rows.
struct Work<'a, T> {
    call: &'a Call<'a>,
    lines: Lines,
    gather: Gather<T>,
    rows: usize,
    len: usize,
    /// Rows that are neighbours in the result, between the elements of one.
    inner: usize,
    values: Output<T>,
    indices: Output<i64>,
}

/// Elements that are copied, and perhaps transposed, at a time.
const TILE: usize = 1 << 15;
/// Rows that are transposed together: a cache line of the smallest elements.
const ACROSS: usize = 32;
/// Tasks of a thread.
const TASKS: usize = 8;

impl<T: Value + Readable> Work<'_, T> {
    /// Selects from all rows: by tasks of some rows each, or of a part of some rows.
    fn run<P: Candidate>(&self, threads: usize) {
        let batch = if self.lines.across() { ACROSS.min(self.rows) } else { 1 };
        let small = self.rows.saturating_mul(self.len) < ONE_THREAD;
        let batches = self.rows.div_ceil(batch);
        // Rows are cut where there are too few for the threads, into parts of more elements than are selected.
        let cut = CHUNK.max(self.call.k.saturating_mul(8));
        let cuts = if small || batches >= 2 * threads { 1 } else { self.len.div_ceil(cut) };
        let rows = |i: usize| i * batch..self.rows.min((i + 1) * batch);
        if cuts == 1 {
            let each = batches.div_ceil(TASKS * threads);
            let task = |i: usize| {
                let mut tile = Vec::new();
                for i in i * each..batches.min((i + 1) * each) {
                    let found = self.select::<P>(rows(i), 0..self.len, &mut tile);
                    rows(i).zip(found).for_each(|(row, of_row)| self.write(row, of_row.sorted()));
                }
            };
            let tasks = batches.div_ceil(each);
            return if small { (0..tasks).for_each(task) } else { for_each(tasks, &task) };
        }
        let parts = results(
            batches * cuts,
            |task| for_each(batches * cuts, task),
            |i| {
                let from = i % cuts * cut;
                self.select::<P>(rows(i / cuts), from..self.len.min(from + cut), &mut Vec::new())
            },
        );
        let mut parts = parts.into_iter();
        for i in 0..batches {
            let mut of_rows = parts.next().expect("there is a part of each cut");
            for part in parts.by_ref().take(cuts - 1) {
                of_rows.iter_mut().zip(part).for_each(|(all, part)| all.candidates.extend(part.candidates));
            }
            rows(i).zip(of_rows).for_each(|(row, of_row)| self.write(row, of_row.sorted()));
        }
    }

    /// The candidates of some elements of some rows.
    fn select<P: Candidate>(&self, rows: Range<usize>, of: Range<usize>, tile: &mut Vec<T>) -> Vec<Selector<T, P>> {
        let Call { k, largest, .. } = *self.call;
        let mut found: Vec<_> = rows.clone().map(|_| Selector::new(k, largest, of.len())).collect();
        let whole = Part { rows: rows.clone(), from: of.start, n: of.len() };
        // SAFETY: an ArrayRef's elements are readable, and these are some of them.
        if let Some(x) = unsafe { self.lines.in_place::<T>(&whole) } {
            x.chunks_exact(of.len()).zip(&mut found).for_each(|(x, of_row)| of_row.push(x, of.start));
            return found;
        }
        let each = (TILE / rows.len()).max(1);
        for from in of.clone().step_by(each) {
            let n = each.min(of.end - from);
            tile.clear();
            tile.reserve(rows.len() * n);
            // SAFETY: as above; there is room for the elements, all of which are written.
            unsafe {
                self.lines.load(self.gather, &Part { rows: rows.clone(), from, n }, tile.as_mut_ptr());
                tile.set_len(rows.len() * n);
            }
            tile.chunks_exact(n).zip(&mut found).for_each(|(x, of_row)| of_row.push(x, from));
        }
        found
    }

    /// Writes what has been found in a row.
    fn write<P: Candidate>(&self, row: usize, found: Vec<P>) {
        let zero = T::Key::ZERO ^ if self.call.largest { T::Key::ZERO } else { T::Key::ONES };
        for (j, candidate) in found.into_iter().enumerate() {
            let (place, index) = (candidate.place::<T::Key>(), candidate.index());
            let at = ((row / self.inner * self.call.k + j) * self.inner + row % self.inner) as isize;
            let mut value = T::from_key(place ^ if self.call.largest { T::Key::ZERO } else { T::Key::ONES });
            if T::DTYPE.is_float() && place == zero {
                // Of either sign.
                // SAFETY: the element is one of the row's.
                unsafe { self.lines.load(self.gather, &Part { rows: row..row + 1, from: index, n: 1 }, &mut value) };
            }
            // SAFETY: each place of a row is written once, by the row's task.
            unsafe {
                self.values.write(at, value);
                self.indices.write(at, index as i64);
            }
        }
    }
}
