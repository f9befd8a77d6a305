//! Labels, and what lies beside them brought into their order: a stable counting sort, cut over threads.

use rayon::prelude::*;

use super::KeyError;
use super::integers::Integers;
use crate::Error;
use crate::cpu::engine::{Output, large_pages};
use crate::cpu::policy::BLOCK;
use crate::layout::ArrayRef;

/// The most groups: a label fits 31 bits, as on a GPU.
const MOST_GROUPS: usize = 1 << 31;

/// Labels that a task reads.
const TASK: usize = 1 << 16;

/// Buckets of one pass of the sort: their counters and the ends of their runs stay in L2.
const BUCKETS: usize = 1 << 11;

/// Checked labels: below `groups`, or -1 of 32 bits, which belongs to none.
pub(super) struct Labels {
    pub labels: Vec<u32>,
    pub groups: usize,
}

impl Labels {
    /// Labels along one axis, of any integer dtype: -1 is ignored. Without `groups`, there are as many as the greatest label
    /// and one more.
    pub fn new(array: ArrayRef<'_>, groups: Option<usize>) -> Result<Self, Error> {
        if array.shape().len() != 1 {
            return Err(KeyError::LabelsShape { shape: array.shape().to_vec() }.into());
        }
        let entries = Integers::new(array, "labels")?;
        let n = entries.len();
        if n > u32::MAX as usize {
            return Err(KeyError::TooMany { what: "labels", n, most: u32::MAX as usize }.into());
        }
        let most = groups.unwrap_or(MOST_GROUPS);
        if most > MOST_GROUPS {
            return Err(KeyError::TooMany { what: "groups", n: most, most: MOST_GROUPS }.into());
        }
        let mut labels: Vec<u32> = room_for(n);
        let greatest = labels.spare_capacity_mut()[..n]
            .par_chunks_mut(TASK)
            .enumerate()
            .map(|(i, to)| {
                let (mut room, mut greatest) = (Vec::new(), -1);
                for (j, to) in to.chunks_mut(BLOCK).enumerate() {
                    let from = i * TASK + j * BLOCK;
                    let block = entries.read(from, to.len(), &mut room);
                    let (low, high) = block.iter().fold((0, -1), |(low, high), &x| (x.min(low), x.max(high)));
                    let max_u64 = low == -1 && block.iter().any(|&x| x == -1 && entries.exact(x) != -1);
                    if low < -1 || high >= most as i64 || max_u64 {
                        let bad = |&x: &i64| !(-1..most as i128).contains(&entries.exact(x));
                        let at = block.iter().position(bad).expect("one of them is out of range");
                        let label = entries.exact(block[at]);
                        return Err(KeyError::LabelOutOfRange { at: from + at, label, groups: most });
                    }
                    greatest = greatest.max(high);
                    to.iter_mut().zip(block).for_each(|(to, &x)| _ = to.write(x as u32));
                }
                Ok(greatest)
            })
            .collect::<Vec<_>>()
            .into_iter()
            // In order, so that it is the first bad label that is named.
            .try_fold(-1, |greatest, part| part.map(|x| x.max(greatest)))?;
        // SAFETY: no block was wrong, so all are written.
        unsafe { labels.set_len(n) };
        Ok(Self { labels, groups: groups.unwrap_or((greatest + 1) as usize) })
    }

    /// An item of each label that belongs to a group, by these and in order, and where each group begins among them.
    pub fn sort<T: Copy + Send + Sync>(&self, item: impl Fn(usize) -> T + Sync) -> Sorted<T> {
        let Self { ref labels, groups } = *self;
        if groups <= BUCKETS {
            let key = |i: usize| (labels[i] as usize).min(groups);
            let (starts, mut items) = counting_sort(labels.len(), groups + 1, key, item);
            items.truncate(starts[groups]);
            return Sorted { offsets: starts[..=groups].to_vec(), items };
        }
        // By the high bits first; what is then left of each bucket fits the caches.
        let shift = groups.div_ceil(BUCKETS).next_power_of_two().trailing_zeros();
        let buckets = groups.div_ceil(1 << shift);
        let key = |i: usize| (labels[i] as usize >> shift).min(buckets);
        let (starts, pairs) = counting_sort(labels.len(), buckets + 1, key, |i| (labels[i], item(i)));
        let mut items = room_for(starts[buckets]);
        let mut offsets = vec![0usize; groups + 1];
        let mut rest = items.spare_capacity_mut();
        let mut tasks = Vec::with_capacity(buckets);
        for (bucket, offsets) in offsets[1..].chunks_mut(1 << shift).enumerate() {
            let pairs = &pairs[starts[bucket]..starts[bucket + 1]];
            let (to, after) = rest.split_at_mut(pairs.len());
            rest = after;
            tasks.push((starts[bucket], pairs, to, offsets));
        }
        let low = (1usize << shift) - 1;
        tasks.into_par_iter().for_each(|(start, pairs, to, ends)| {
            // Where the next of each goes, which in the end is where it ends.
            ends.fill(0);
            pairs.iter().for_each(|&(label, _)| ends[label as usize & low] += 1);
            let mut next = 0;
            ends.iter_mut().for_each(|end| next += std::mem::replace(end, next));
            for &(label, item) in pairs {
                let end = &mut ends[label as usize & low];
                to[*end].write(item);
                *end += 1;
            }
            ends.iter_mut().for_each(|end| *end += start);
        });
        // SAFETY: each task writes an item for each of its pairs, of which there are as many.
        unsafe { items.set_len(starts[buckets]) };
        Sorted { offsets, items }
    }
}

/// Items by label.
pub(super) struct Sorted<T> {
    /// Where each group begins, and where the last ends.
    pub offsets: Vec<usize>,
    /// The items: those of a group in the order of their labels.
    pub items: Vec<T>,
}

/// Room for items that are all written once, in any order: in large pages, if they are many.
fn room_for<T>(n: usize) -> Vec<T> {
    let mut items = Vec::with_capacity(n);
    large_pages(&mut items.spare_capacity_mut()[..n]);
    items
}

/// The items 0 to `n` by their keys, below `keys`, those of one key in order; and where each key's begin, and the last's end.
fn counting_sort<T: Copy + Send>(
    n: usize,
    keys: usize,
    key: impl Fn(usize) -> usize + Sync,
    item: impl Fn(usize) -> T + Sync,
) -> (Vec<usize>, Vec<T>) {
    // Parts are many times longer than their tables of counters.
    let parts = (n / (4 * keys).max(TASK)).clamp(1, rayon::current_num_threads());
    let part = |i: usize| n * i / parts..n * (i + 1) / parts;
    let count = |i: usize| {
        // Two tables, so that equal neighbours need not wait for each other.
        let [mut even, mut odd] = [(); 2].map(|()| vec![0usize; keys]);
        let range = part(i);
        for i in range.clone().step_by(2) {
            even[key(i)] += 1;
            if i + 1 < range.end {
                odd[key(i + 1)] += 1;
            }
        }
        even.iter_mut().zip(odd).for_each(|(even, odd)| *even += odd);
        even
    };
    let mut places: Vec<Vec<usize>> =
        if parts == 1 { vec![count(0)] } else { (0..parts).into_par_iter().map(count).collect() };
    // From how many there are to where the first of each part goes.
    let mut starts = Vec::with_capacity(keys + 1);
    let mut next = 0;
    for key in 0..keys {
        starts.push(next);
        for part in &mut places {
            next += std::mem::replace(&mut part[key], next);
        }
    }
    starts.push(next);
    let mut items: Vec<T> = room_for(n);
    let room = Output::new(&mut items.spare_capacity_mut()[..n]);
    let scatter = |(of_part, mut places): (usize, Vec<usize>)| {
        for i in part(of_part) {
            let place = &mut places[key(i)];
            // SAFETY: each item has a place of its own, after those before it.
            unsafe { room.write(*place as isize, item(i)) };
            *place += 1;
        }
    };
    if parts == 1 {
        places.into_iter().enumerate().for_each(scatter);
    } else {
        places.into_par_iter().enumerate().for_each(scatter);
    }
    // SAFETY: there are as many places as items.
    unsafe { items.set_len(n) };
    (starts, items)
}
