//! Counts by label, and histograms.

use std::cmp::Ordering;
use std::mem::MaybeUninit;

use warpfold_core::{DType, Element, Float, bf16, f16};

use super::dense;
use super::groups::by_labels;
use super::labels::Labels;
use crate::parallel;
use crate::reduction::reduce;
use warpfold_array::KeyError;
use warpfold_array::Options;
use warpfold_array::memory;
use warpfold_array::{Array, Values};
use warpfold_array::{ArrayRef, Order};
use warpfold_array::{Error, Op};

/// Bins at each end whose width is checked before all bins are computed.
const LOOK: usize = 4096;

/// Elements that a task reads.
const TASK: usize = 1 << 16;

/// The number of times that each label occurs, or the sum of its `weights`, by the tree, in the dtype of a sum of
/// weights. Labels are as in [`crate::Groups::new`]: -1 is not counted. There are at least `least` bins.
///
/// ```
/// use warpfold::{ArrayRef, bincount};
///
/// let labels = ArrayRef::from_slice(&[2u8, 0, 2], &[3])?;
/// assert_eq!(bincount(labels, None, 0)?.into_vec::<i64>().unwrap(), [1, 0, 2]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`crate::Groups::new`] and [`crate::Groups::reduce`]; weights with more than one axis.
pub fn bincount(labels: ArrayRef<'_>, weights: Option<ArrayRef<'_>>, least: usize) -> Result<Array, Error> {
    let labels = Labels::new(labels, None)?.at_least(least);
    match weights {
        None => {
            let bins = labels.groups;
            memory::afford("the counts of bins", bins, size_of::<i64>())?;
            Ok(Array { shape: vec![bins], values: Values::I64(count(&labels.to_vec(), bins)) })
        }
        Some(weights) if weights.shape() != [labels.len()] => {
            Err(KeyError::WeightsShape { weights: weights.shape().to_vec(), array: vec![labels.len()] }.into())
        }
        Some(weights) => by_labels(Op::Sum, &labels, weights, &Options::default()),
    }
}

/// The number of times that each label below `bins` occurs.
fn count(labels: &[u32], bins: usize) -> Vec<i64> {
    let n = labels.len();
    if bins >= n {
        let mut table = vec![0i64; bins + 1];
        labels.iter().for_each(|&a| table[(a as usize).min(bins)] += 1);
        table.truncate(bins);
        return table;
    }
    let parts = (n / (4 * bins).max(TASK)).clamp(1, parallel::threads());
    let of_part = |part: usize| {
        let labels = &labels[n * part / parts..n * (part + 1) / parts];
        // Two tables, so that equal neighbours need not wait for each other. The last counter is for labels of no bin.
        let mut tables = [vec![0i64; bins + 1], vec![0i64; bins + 1]];
        let [even, odd] = &mut tables;
        for labels in labels.chunks(TASK) {
            parallel::look();
            let (pairs, last) = labels.as_chunks::<2>();
            for [a, b] in pairs {
                even[(*a as usize).min(bins)] += 1;
                odd[(*b as usize).min(bins)] += 1;
            }
            last.iter().for_each(|a| even[(*a as usize).min(bins)] += 1);
        }
        even.iter().zip(odd).map(|(a, b)| *a + *b).collect::<Vec<i64>>()
    };
    let tables = parallel::map(parts, of_part);
    (0..bins).map(|bin| tables.iter().map(|table| table[bin]).sum()).collect()
}

/// The bins of a [`histogram`].
#[derive(Clone, Debug, PartialEq)]
pub enum Bins {
    /// Bins of one width, from the least to the greatest element, or over a range.
    Uniform {
        /// The number of bins.
        bins: usize,
        /// The first and the last edge; `None`: the least and the greatest element.
        range: Option<(f64, f64)>,
    },
    /// Between neighbouring edges, which do not decrease.
    Edges(Vec<f64>),
}

/// The number of elements in each bin.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// The counts (i64), or the sums of the weights.
    pub counts: Array,
    /// The edges of bins, one more than there are bins. Uniform edges have the dtype of float elements; others are f64.
    pub edges: Array,
}

/// Counts elements between edges: bin `i` has the elements with `edges[i] <= x < edges[i + 1]`, and the last bin also
/// those equal to the last edge. Elements are compared as f64. NaN and elements outside of all bins are not counted.
/// With `weights` of the same shape, the result of a bin is the sum of its elements' weights, by the tree, in row-major
/// order.
///
/// Uniform edges are those of `numpy.histogram`, to the bit.
///
/// ```
/// use warpfold::{ArrayRef, Bins, histogram};
///
/// let x = ArrayRef::from_slice(&[1.0f32, 2.0, 2.5, 4.0], &[4])?;
/// let found = histogram(x, &Bins::Uniform { bins: 3, range: None }, None)?;
/// assert_eq!(found.counts.into_vec::<i64>().unwrap(), [1, 2, 1]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// [`KeyError::Bins`]: no bins, edges that decrease or are NaN, a range that is not finite (that of elements of which
/// one is not), or too narrow for so many bins. Weights of another shape; more than 2^32 - 1 of them.
pub fn histogram(array: ArrayRef<'_>, bins: &Bins, weights: Option<ArrayRef<'_>>) -> Result<Histogram, Error> {
    if let Some(weights) = weights.filter(|weights| weights.shape() != array.shape()) {
        return Err(KeyError::WeightsShape { weights: weights.shape().to_vec(), array: array.shape().to_vec() }.into());
    }
    let (edges, dtype) = edges(bins, array.dtype(), array.len(), || {
        let both = reduce(Op::MinMax, array, &Options::default())?.values;
        Ok((both.get(0).to_f64(), both.get(1).to_f64()))
    })?;
    let bins = edges.len() - 1;
    let finder = Finder::new(&edges);
    let labels: Vec<u32> = by_dtype!(array.dtype(), T => {
        let x = dense::elements::<T>(&array);
        in_tasks(x.len(), &|from, room| {
            for (to, &x) in room.iter_mut().zip(&x[from..]) {
                to.write(finder.bin(x.float().to_f64()));
            }
        })
    });
    let counts = match weights {
        None => Values::I64(count(&labels, bins)),
        Some(weights) => {
            let flat = dense::values(&weights);
            let bytes = flat.as_bytes();
            let flat = ArrayRef::from_bytes(bytes, weights.dtype(), &[weights.len()], Order::C, false)?;
            // An element of no bin has the label `u32::MAX`, which is -1 as an i32.
            let labels = Values::U32(labels);
            let labels = ArrayRef::from_bytes(labels.as_bytes(), DType::I32, &[labels.len()], Order::C, false)?;
            let labels = Labels::new(labels, Some(bins))?;
            by_labels(Op::Sum, &labels, flat, &Options::default())?.values
        }
    };
    let edges = Values::F64(edges).cast(dtype);
    Ok(Histogram {
        counts: Array { shape: vec![bins], values: counts },
        edges: Array { shape: vec![bins + 1], values: edges },
    })
}

/// `n` labels, which tasks write. `write` is given the index of a task's first label and room for the task's labels,
/// all of which it must write. The function is not generic, so that it is compiled once.
fn in_tasks(n: usize, write: &(dyn Fn(usize, &mut [MaybeUninit<u32>]) + Sync)) -> Vec<u32> {
    let mut labels: Vec<u32> = Vec::with_capacity(n);
    let room = &mut labels.spare_capacity_mut()[..n];
    parallel::chunks(room, TASK, |task, room| write(task * TASK, room));
    // SAFETY: the chunks are all of the room, and `write` writes every place of a chunk: the only caller passes a
    // closure that does.
    unsafe { labels.set_len(n) };
    labels
}

/// The edges of bins for `n` elements of a dtype, and the dtype of the edges. `extent` finds the least and the greatest
/// element.
pub fn edges(
    bins: &Bins,
    dtype: DType,
    n: usize,
    extent: impl FnOnce() -> Result<(f64, f64), Error>,
) -> Result<(Vec<f64>, DType), Error> {
    match bins {
        Bins::Uniform { bins, range } => uniform(dtype, n, extent, *bins, *range),
        Bins::Edges(edges) => Ok((given(edges)?, DType::F64)),
    }
}

/// Checks edges that are given.
fn given(edges: &[f64]) -> Result<Vec<f64>, KeyError> {
    if edges.len() < 2 {
        return Err(KeyError::Bins { why: format!("give two edges or more, there are {}", edges.len()) });
    }
    match edges.windows(2).position(|pair| pair[0].partial_cmp(&pair[1]).is_none_or(Ordering::is_gt)) {
        Some(at) => {
            let why = format!("edges must not decrease, but after {} (entry {at}) comes {}", edges[at], edges[at + 1]);
            Err(KeyError::Bins { why })
        }
        None => Ok(edges.to_vec()),
    }
}

/// The edges of bins of one width, and their dtype.
fn uniform(
    dtype: DType,
    n: usize,
    extent: impl FnOnce() -> Result<(f64, f64), Error>,
    bins: usize,
    range: Option<(f64, f64)>,
) -> Result<(Vec<f64>, DType), Error> {
    let bad = |why: String| Err(KeyError::Bins { why }.into());
    if bins == 0 || bins >= u32::MAX as usize {
        return bad(format!("give a number of bins from 1 to {}, not {bins}", u32::MAX - 1));
    }
    let dtype = if dtype.is_float() { dtype } else { DType::F64 };
    // As in NumPy: a range that is given, and 0 to 1 for no elements, is f64, and edges are rounded at the end. A range
    // that is found has the dtype of the elements, and every step is rounded to it.
    let steps = if range.is_some() || n == 0 { DType::F64 } else { dtype };
    let (first, last) = match range {
        Some(range) => range,
        None if n == 0 => (0.0, 1.0),
        None => extent()?,
    };
    if !first.is_finite() || !last.is_finite() {
        return bad(format!("the range from {first:?} to {last:?} is not finite: give one that is"));
    }
    if first > last {
        return bad(format!("the range from {first:?} to {last:?} is empty: give the lesser end first"));
    }
    let rounded = |x: f64| round(x, steps);
    let (first, last) = if first == last { (rounded(first - 0.5), rounded(last + 0.5)) } else { (first, last) };
    // numpy.linspace, step by step.
    let delta = rounded(last - first);
    let step = rounded(delta / rounded(bins as f64));
    let edge = |i: usize| {
        let i = rounded(i as f64);
        let along = if step == 0.0 { rounded(rounded(i / rounded(bins as f64)) * delta) } else { rounded(i * step) };
        round(rounded(along + first), dtype)
    };
    let edge = |i: usize| if i < bins { edge(i) } else { round(last, dtype) };
    let increases = |a: f64, b: f64| a.partial_cmp(&b) == Some(Ordering::Less);
    let narrow = || {
        bad(format!(
            "{first:?} to {last:?} is too narrow or too wide for {bins} bins of {dtype}: give fewer, or a range"
        ))
    };
    // Numbers of a float dtype are farthest apart at one of the ends. So a check of the ends refuses most bins that are
    // too narrow, before very many edges are computed.
    let mut ends = (0..bins.min(LOOK)).chain(bins.saturating_sub(LOOK)..bins);
    if ends.any(|i| !increases(edge(i), edge(i + 1))) {
        return narrow();
    }
    // Each bin takes an edge and a count.
    memory::afford("bins", bins, size_of::<f64>() + size_of::<i64>())?;
    let mut edges = memory::room("edges", bins + 1)?;
    edges.extend((0..=bins).map(edge));
    if edges.windows(2).any(|pair| !increases(pair[0], pair[1])) {
        return narrow();
    }
    Ok((edges, dtype))
}

/// Rounds to the nearest number of a float dtype. An operation of f64 that is rounded so has the bits of the operation
/// in that dtype, since f64 has more than twice as many bits.
fn round(x: f64, dtype: DType) -> f64 {
    match dtype {
        DType::F16 => f16::from_cast(x.cast()).to_f64(),
        DType::BF16 => bf16::from_cast(x.cast()).to_f64(),
        DType::F32 => x as f32 as f64,
        _ => x,
    }
}

/// Finds the bin of an element: the bin that it would be in if all had one width, then the neighbours of that bin, then
/// a binary search.
struct Finder<'a> {
    edges: &'a [f64],
    per_unit: f64,
}

impl<'a> Finder<'a> {
    fn new(edges: &'a [f64]) -> Self {
        let (first, last) = (edges[0], edges[edges.len() - 1]);
        Self { edges, per_unit: (edges.len() - 1) as f64 / (last - first) }
    }

    /// The bin of an element, or `u32::MAX` outside of all bins.
    #[inline(always)]
    fn bin(&self, x: f64) -> u32 {
        let last = self.edges.len() - 2;
        if !(x >= self.edges[0] && x <= self.edges[last + 1]) {
            return u32::MAX;
        }
        let guess = (((x - self.edges[0]) * self.per_unit) as usize).min(last);
        let right = |bin: usize| self.edges[bin] <= x && (bin == last || x < self.edges[bin + 1]);
        for near in [guess, guess.saturating_sub(1), (guess + 1).min(last)] {
            if right(near) {
                return near as u32;
            }
        }
        (self.edges[..=last].partition_point(|&edge| edge <= x) - 1) as u32
    }
}
