//! Labels, and positions brought into their order.

use super::integers::Integers;
use super::sort::{counting_sort, room_for, sort};
use crate::engine::{self, Labels as _};
use crate::parallel;
use crate::policy::BLOCK;
use crate::simd::{prefetch, vectorize};
use warpfold_array::ArrayRef;
use warpfold_array::Error;
use warpfold_array::KeyError;

/// The most groups: a label fits 31 bits, as on a GPU.
const MOST_GROUPS: usize = 1 << 31;

/// The numbers of [`Labels::is_sparse`]: groups for each label, and further groups.
const SPARSE: (usize, usize) = (16, 1 << 20);

/// Labels that a task reads.
const TASK: usize = 1 << 16;

/// Buckets of one pass of the sort: their counters and the ends of their runs stay in L2.
const BUCKETS: usize = 1 << 11;

/// Checked labels: below `groups`, or -1, which belongs to none.
#[derive(Clone, Copy)]
pub(super) struct Labels<'a> {
    entries: Integers<'a>,
    pub groups: usize,
}

impl<'a> Labels<'a> {
    /// Checks labels along one axis, of any integer dtype. -1 is the label of no group. Without `groups`, there is one
    /// group more than the greatest label.
    pub fn new(array: ArrayRef<'a>, groups: Option<usize>) -> Result<Self, Error> {
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
        let ends = parallel::map(n.div_ceil(TASK), |task| {
            let mut room = Vec::new();
            let blocks = (task * TASK..n.min((task + 1) * TASK)).step_by(BLOCK);
            let end = blocks.map(|from| end(&entries, from, BLOCK.min(n - from), &mut room)).max();
            end.unwrap_or(0)
        });
        let end = ends.into_iter().max().unwrap_or(0);
        if end > most as u64 {
            let bad = |&label: &i64| !(-1..most as i128).contains(&entries.exact(label));
            entries.blocks(|from, block| match block.iter().position(bad) {
                Some(i) => {
                    Err(KeyError::LabelOutOfRange { at: from + i, label: entries.exact(block[i]), groups: most })
                }
                None => Ok(()),
            })?;
        }
        Ok(Self { entries, groups: groups.unwrap_or(end as usize) })
    }

    /// Raises the number of groups to at least `groups`.
    pub fn at_least(self, groups: usize) -> Self {
        Self { groups: self.groups.max(groups), ..self }
    }

    /// The number of labels.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// All labels as u32, where -1 becomes `u32::MAX`.
    pub fn to_vec(self) -> Vec<u32> {
        let n = self.len();
        let mut labels: Vec<u32> = room_for(n);
        parallel::chunks(&mut labels.spare_capacity_mut()[..n], BLOCK, |i, to| {
            to.write_copy_of_slice(self.read(i * BLOCK, to.len(), &mut Vec::new()));
        });
        // SAFETY: the chunks are all `n` places, and each has been written from a slice of its length.
        unsafe { labels.set_len(n) };
        labels
    }

    /// Whether there are so many more groups than labels that only the groups with elements should be visited. An array
    /// of all groups is then made for the result alone.
    pub fn is_sparse(&self) -> bool {
        self.groups > SPARSE.0.saturating_mul(self.len()).saturating_add(SPARSE.1)
    }

    /// The groups that have elements, ascending, and [`Labels::sort`] of these groups alone.
    pub fn sort_present(&self) -> (Vec<u32>, Sorted) {
        let labels = self.to_vec();
        let pair = |(at, &label): (usize, &u32)| u64::from(label) << 32 | at as u64;
        let belongs = |&(_, &label): &(usize, &u32)| label != u32::MAX;
        let mut pairs: Vec<u64> = labels.iter().enumerate().filter(belongs).map(pair).collect();
        sort(&mut pairs);
        let (mut present, mut offsets) = (Vec::new(), vec![0]);
        for group in pairs.chunk_by(|a, b| a >> 32 == b >> 32) {
            present.push((group[0] >> 32) as u32);
            offsets.push(offsets[offsets.len() - 1] + group.len());
        }
        (present, Sorted { offsets, positions: pairs.into_iter().map(|pair| pair as u32).collect() })
    }

    /// Sorts the positions of labels by label, stably. Positions of labels of no group are left out.
    pub fn sort(&self) -> Sorted {
        let (groups, labels) = (self.groups, self.to_vec());
        if groups <= BUCKETS {
            let key = |i: usize| (labels[i] as usize).min(groups);
            let (starts, mut positions) = counting_sort(labels.len(), groups + 1, key, |i| i as u32);
            positions.truncate(starts[groups]);
            return Sorted { offsets: starts[..=groups].to_vec(), positions };
        }
        // Positions are sorted by the high bits of labels first. Then each bucket fits the caches.
        let shift = groups.div_ceil(BUCKETS).next_power_of_two().trailing_zeros();
        let buckets = groups.div_ceil(1 << shift);
        let key = |i: usize| (labels[i] as usize >> shift).min(buckets);
        let (starts, pairs) = counting_sort(labels.len(), buckets + 1, key, |i| (labels[i], i as u32));
        let mut positions = room_for(starts[buckets]);
        let mut offsets = vec![0usize; groups + 1];
        let mut rest = positions.spare_capacity_mut();
        let mut tasks = Vec::with_capacity(buckets);
        for (bucket, offsets) in offsets[1..].chunks_mut(1 << shift).enumerate() {
            let pairs = &pairs[starts[bucket]..starts[bucket + 1]];
            let (to, after) = rest.split_at_mut(pairs.len());
            rest = after;
            tasks.push((starts[bucket], pairs, to, offsets));
        }
        let low = (1usize << shift) - 1;
        parallel::chunks(&mut tasks, 1, |_, task| {
            let [(start, pairs, to, ends)] = task else { return };
            // The place of each group's next position. When all positions are written, it is the end of the group.
            ends.fill(0);
            pairs.iter().for_each(|&(label, _)| ends[label as usize & low] += 1);
            let mut next = 0;
            ends.iter_mut().for_each(|end| next += std::mem::replace(end, next));
            for &(label, position) in *pairs {
                let end = &mut ends[label as usize & low];
                to[*end].write(position);
                *end += 1;
            }
            ends.iter_mut().for_each(|end| *end += *start);
        });
        // SAFETY: each task writes a position for each of its pairs, of which there are as many.
        unsafe { positions.set_len(starts[buckets]) };
        Sorted { offsets, positions }
    }
}

impl engine::Labels for Labels<'_> {
    /// -1 becomes `u32::MAX`, which has the same bits. Labels of i32 that are contiguous in memory are not copied.
    fn read<'r>(&'r self, from: usize, n: usize, room: &'r mut Vec<u32>) -> &'r [u32] {
        if let Some(labels) = self.entries.as_slice::<i32>() {
            let labels = &labels[from..from + n];
            // SAFETY: i32 and u32 have one size and alignment, and any bits are a u32; the slice has `n` labels.
            return unsafe { std::slice::from_raw_parts(labels.as_ptr().cast(), n) };
        }
        let mut wide = Vec::new();
        let labels = match self.entries.as_slice::<i64>() {
            Some(labels) => {
                // The next block is prefetched: the CPU does not recognise a stream in blocks of this size in time.
                prefetch(labels[from + n..].as_ptr(), n);
                &labels[from..from + n]
            }
            None => self.entries.read(from, n, &mut wide),
        };
        room.resize(n, 0);
        vectorize(|| room.iter_mut().zip(labels).for_each(|(to, &label)| *to = label as u32));
        room
    }
}

/// One more than the greatest of some labels, 0 if all are -1. More than any number of groups if one is neither -1 nor
/// a label.
fn end(entries: &Integers<'_>, from: usize, n: usize, room: &mut Vec<i64>) -> u64 {
    if let Some(labels) = entries.as_slice::<i32>() {
        let end = |&label: &i32| (label as u32).wrapping_add(1);
        return vectorize(|| labels[from..from + n].iter().map(end).max()).map_or(0, u64::from);
    }
    let labels = match entries.as_slice::<i64>() {
        Some(labels) => &labels[from..from + n],
        None => entries.read(from, n, room),
    };
    let end = vectorize(|| labels.iter().map(|&label| (label as u64).wrapping_add(1)).max()).unwrap_or(0);
    // The greatest u64 has the bits of -1.
    let no_label = entries.exact(-1) != -1 && labels.contains(&-1);
    if no_label { u64::MAX } else { end }
}

/// Positions by label.
pub(super) struct Sorted {
    /// The first place of each group among the positions, and the end of the last group.
    pub offsets: Vec<usize>,
    /// The positions of each group's elements, ascending, group after group.
    pub positions: Vec<u32>,
}
