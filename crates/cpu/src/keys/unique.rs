//! Distinct values, sorted, with their counts and positions.

use warpfold_core::{DType, Element};

use super::dense;
use super::rank::{Rank, Ranks};
use super::sort::{self, room_for, sort};
use crate::output::large_pages;
use crate::parallel;
use crate::policy::BLOCK;
use warpfold_array::ArrayRef;
use warpfold_array::Error;
use warpfold_array::KeyError;
use warpfold_array::{Array, Value, Values};

/// Elements that a task reads.
const TASK: usize = 1 << 16;

/// The most counters of a table that is always faster than sorting. A larger table is faster if there are at least
/// [`PER_COUNTER`] elements for each counter.
const TABLE: u64 = 1 << 16;
/// See [`TABLE`].
const PER_COUNTER: usize = 8;

/// What [`unique`] computes beside the distinct values and their counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Distinct {
    /// The position at which each value occurs first.
    pub first: bool,
    /// The index of each element's value among the distinct values.
    pub inverse: bool,
}

/// The distinct values of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct Unique {
    /// The values, ascending; NaN is the last.
    pub values: Array,
    /// The number of times that each value occurs.
    pub counts: Vec<i64>,
    /// The position at which each value occurs first, in row-major order, if asked for.
    pub first: Option<Vec<i64>>,
    /// The index in `values` of each element, of the array's shape, if asked for.
    pub inverse: Option<Array>,
}

/// The distinct values of an array of any dtype, shape and layout. All NaNs are one value, which is the canonical NaN;
/// -0.0 and +0.0 are one value, of which the first in row-major order is kept.
///
/// ```
/// use warpfold::{ArrayRef, Distinct, unique};
///
/// let x = ArrayRef::from_slice(&[3.0f32, 1.0, f32::NAN, 3.0], &[4])?;
/// let found = unique(x, Distinct { first: true, inverse: true })?;
/// assert_eq!((found.counts, found.first), (vec![1, 2, 1], Some(vec![1, 0, 2])));
/// assert_eq!(found.inverse.unwrap().into_vec::<i64>().unwrap(), [1, 0, 2, 1]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// [`KeyError::TooMany`] beyond 2^32 - 1 elements.
pub fn unique(array: ArrayRef<'_>, what: Distinct) -> Result<Unique, Error> {
    let n = array.len();
    if n > u32::MAX as usize {
        return Err(KeyError::TooMany { what: "elements", n, most: u32::MAX as usize }.into());
    }
    let (found, values) = by_dtype!(array.dtype(), T => {
        let x = dense::elements::<T>(&array);
        let x: &[T] = &x;
        let found = find(&x, what);
        let mut values = room_for(found.ranks.len());
        for ranks in found.ranks.chunks(TASK) {
            parallel::look();
            values.extend(ranks.iter().map(|&rank| value(rank, x)));
        }
        (found, T::wrap(values))
    });
    let values = if array.dtype() == DType::Bool { values.cast(DType::Bool) } else { values };
    let inverse = found.inverse.map(|x| Array { shape: array.shape().to_vec(), values: Values::I64(x) });
    let values = Array { shape: vec![values.len()], values };
    Ok(Unique { values, counts: found.counts, first: found.first, inverse })
}

/// The element of a rank. A zero has the sign of the first zero in `x`.
fn value<T: Element<Key: Rank>>(rank: u64, x: &[T]) -> T {
    let key = T::Key::of_rank(rank);
    let value = T::from_key(key);
    if !T::DTYPE.is_float() || value.is_nan() || value.truthy() {
        return value;
    }
    position(&x, rank).map_or(value, |at| x[at])
}

/// The position at which a rank occurs first.
fn position(x: &dyn Ranks, rank: u64) -> Option<usize> {
    let found = |task: usize| {
        let mut at = None;
        blocks(x, task, &mut |from, ranks| at = at.or(ranks.iter().position(|&found| found == rank).map(|i| from + i)));
        at
    };
    // A few tasks at a time, since elements after the first occurrence need not be read.
    const TOGETHER: usize = 64;
    let tasks = x.len().div_ceil(TASK);
    let some =
        |from: usize| parallel::map(TOGETHER.min(tasks - from), |i| found(from + i)).into_iter().flatten().next();
    (0..tasks).step_by(TOGETHER).find_map(some)
}

/// Calls `each` with the ranks of a task, a block at a time, and the position of the block's first element.
fn blocks(x: &dyn Ranks, task: usize, each: &mut dyn FnMut(usize, &[u64])) {
    let mut room = [0; BLOCK];
    let end = x.len().min((task + 1) * TASK);
    for from in (task * TASK..end).step_by(BLOCK) {
        let ranks = &mut room[..BLOCK.min(end - from)];
        x.read(from, ranks);
        each(from, ranks);
    }
}

/// The ranks that occur, ascending, and what was asked about each.
#[derive(Default)]
struct Found {
    ranks: Vec<u64>,
    counts: Vec<i64>,
    first: Option<Vec<i64>>,
    inverse: Option<Vec<i64>>,
}

fn find(x: &dyn Ranks, what: Distinct) -> Found {
    let n = x.len();
    if n == 0 {
        let none = |asked: bool| asked.then(Vec::new);
        return Found { first: none(what.first), inverse: none(what.inverse), ..Found::default() };
    }
    let bounds = parallel::map(n.div_ceil(TASK), |task| {
        let (mut low, mut high) = (u64::MAX, 0);
        blocks(x, task, &mut |_, ranks| {
            (low, high) = ranks.iter().fold((low, high), |(low, high), &rank| (rank.min(low), rank.max(high)));
        });
        (low, high)
    });
    let (low, high) = bounds.into_iter().fold((u64::MAX, 0), |a, b| (a.0.min(b.0), a.1.max(b.1)));
    let span = high - low;
    let alone = !what.first && !what.inverse;
    if span < TABLE.max((n / PER_COUNTER) as u64) {
        by_table(x, low, span as usize + 1, what)
    } else if span <= u32::MAX as u64 && alone {
        by_sorting(collect(x, |_, rank| (rank - low) as u32), |x| low + x as u64)
    } else if span <= u32::MAX as u64 {
        // Rank and place in one word.
        let pairs = collect(x, |i, rank| (rank - low) << 32 | i as u64);
        by_sorting_places(pairs, |pair| (low + (pair >> 32), pair as u32), what)
    } else if alone {
        by_sorting(collect(x, |_, rank| rank), |x| x)
    } else {
        by_sorting_places(collect(x, |i, rank| (rank, i as u32)), |pair| pair, what)
    }
}

/// The results of `of` for the position and the rank of each element.
fn collect<K: Copy + Send>(x: &dyn Ranks, of: impl Fn(usize, u64) -> K + Sync) -> Vec<K> {
    let n = x.len();
    let mut all: Vec<K> = Vec::with_capacity(n);
    large_pages(&mut all.spare_capacity_mut()[..n]);
    parallel::chunks(&mut all.spare_capacity_mut()[..n], TASK, |task, room| {
        blocks(x, task, &mut |from, ranks| {
            for ((to, i), &rank) in room[from - task * TASK..].iter_mut().zip(from..).zip(ranks) {
                to.write(of(i, rank));
            }
        });
    });
    // SAFETY: the chunks are all `n` places, and `blocks` visits every element of a task, so each place is written.
    unsafe { all.set_len(n) };
    all
}

/// Counts ranks in tables. The least rank is `low`, and there are at most `span` different ones.
fn by_table(x: &dyn Ranks, low: u64, span: usize, what: Distinct) -> Found {
    let n = x.len();
    let tasks = n.div_ceil(TASK);
    let parts = (n / (4 * span).max(TASK)).clamp(1, parallel::threads());
    let tables: Vec<(Vec<i64>, Vec<u32>)> = parallel::map(parts, |part| {
        let mut counts = vec![0; span];
        let mut first = vec![u32::MAX; if what.first { span } else { 0 }];
        for task in tasks * part / parts..tasks * (part + 1) / parts {
            parallel::look();
            blocks(x, task, &mut |from, ranks| {
                for (i, &rank) in (from..).zip(ranks) {
                    let rank = (rank - low) as usize;
                    counts[rank] += 1;
                    if what.first && counts[rank] == 1 {
                        first[rank] = i as u32;
                    }
                }
            });
        }
        (counts, first)
    });
    let count = |rank: usize| tables.iter().map(|(counts, _)| counts[rank]).sum::<i64>();
    let mut all = Vec::new();
    for ranks in sort::tasks(0..span) {
        all.extend(ranks.map(|rank| (rank, count(rank))).filter(|&(_, count)| count > 0));
    }
    let place = |rank: usize| tables.iter().map(|(_, first)| first[rank]).min().unwrap_or(0);
    let inverse = what.inverse.then(|| {
        let mut index = vec![0i64; span];
        all.iter().enumerate().for_each(|(i, &(rank, _))| index[rank] = i as i64);
        collect(x, |_, rank| index[(rank - low) as usize])
    });
    Found {
        ranks: all.iter().map(|&(rank, _)| low + rank as u64).collect(),
        counts: all.iter().map(|&(_, count)| count).collect(),
        first: what.first.then(|| all.iter().map(|&(rank, _)| place(rank) as i64).collect()),
        inverse,
    }
}

/// Counts ranks by sorting them.
fn by_sorting<K: Ord + Copy + Send + Sync>(mut keys: Vec<K>, rank: impl Fn(K) -> u64) -> Found {
    sort(&mut keys);
    let mut found = Found::default();
    runs(
        &keys,
        |a, b| a == b,
        |run| {
            found.ranks.push(rank(run[0]));
            found.counts.push(run.len() as i64);
        },
    );
    found
}

/// Calls `each` with the runs of keys that are the same.
fn runs<K>(keys: &[K], same: impl Fn(&K, &K) -> bool, mut each: impl FnMut(&[K])) {
    let mut since = 0;
    for run in keys.chunk_by(same) {
        since += run.len();
        if since >= TASK {
            parallel::look();
            since = 0;
        }
        each(run);
    }
}

/// Counts ranks by sorting pairs of a rank and a position. Positions break ties, so no two pairs are equal.
fn by_sorting_places<K: Ord + Copy + Send + Sync>(
    mut pairs: Vec<K>,
    parts: impl Fn(K) -> (u64, u32) + Sync,
    what: Distinct,
) -> Found {
    sort(&mut pairs);
    let mut found = Found::default();
    let mut first = Vec::new();
    let mut inverse = vec![0i64; if what.inverse { pairs.len() } else { 0 }];
    runs(
        &pairs,
        |&a, &b| parts(a).0 == parts(b).0,
        |run| {
            let (rank, place) = parts(run[0]);
            if what.inverse {
                for (i, pairs) in run.chunks(TASK).enumerate() {
                    if i > 0 {
                        parallel::look();
                    }
                    pairs.iter().for_each(|&pair| inverse[parts(pair).1 as usize] = found.ranks.len() as i64);
                }
            }
            found.ranks.push(rank);
            found.counts.push(run.len() as i64);
            first.push(place as i64);
        },
    );
    Found { first: what.first.then_some(first), inverse: what.inverse.then_some(inverse), ..found }
}
