//! Elements by label: each group reduced by itself, without a sort.
//!
//! Every group has a queue of a few elements. A full queue is a whole subtree of the group's sequence: it becomes one
//! node of its tree, and begins anew. Queues stay in the cache, so that labels and elements are read once, and nothing
//! is written. Each thread has queues for a part of the elements; labels are counted first, to know where the part
//! begins in every sequence.
//!
//! The queues of many groups would not fit. Then elements first go to buckets of neighbouring groups, in order, by the
//! high bits of their labels. All elements of a bucket fit the cache: each group's become a column of a matrix, and
//! vectors reduce columns side by side, however short they are. (Queues again, if some group has many more than
//! others.)

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::nodes::{Items, Nodes};
use super::queues::{Queues, Word};
use super::span::Span;
use super::{Labels, Work};
use crate::loops::{Loops, Value};
use crate::moves::by_size;
use crate::output::{Output, large_pages};
use crate::policy::{BLOCK, BUCKETS, COLUMN_BYTES, FEW_GROUPS, LEAST_PART, LEAST_QUEUE};
use crate::uneven::{QUAD, TILE};

/// Labels or elements that are read at a time: few, since queues want the L1 cache, and so that the next come from
/// memory meanwhile.
const PIECE: usize = BLOCK / 16;

/// Groups that are finished at a time.
const TOGETHER: usize = 64;

/// All elements of groups that have few, in columns that lie side by side, [`TILE`] in a tile: vectors reduce many at
/// once.
struct Columns<'a, T> {
    kernel: &'a dyn Loops,
    /// Tile by tile: the first element of each column, then the second, and so on.
    items: Vec<T>,
    /// Elements of a tile.
    tile: usize,
    /// Where in `items` the next element of each column goes.
    next: Vec<u32>,
    /// How many elements each column has.
    lens: Vec<u32>,
    /// The trees over them.
    nodes: Nodes,
}

impl<'a, T: Word> Columns<'a, T> {
    /// Columns for `groups` groups of about `each` elements, if they fit the cache.
    fn new(kernel: &'a dyn Loops, groups: usize, each: usize) -> Option<Self> {
        // Random labels hardly ever give a group so many: the standard deviation is the root of the mean.
        let tile = (2 * each + 8).next_multiple_of(QUAD) * TILE;
        let tiles = groups.div_ceil(TILE);
        let fits = tiles * tile * size_of::<T>() <= COLUMN_BYTES;
        fits.then(|| Self {
            kernel,
            items: vec![T::ZERO; tiles * tile],
            tile,
            next: vec![0; tiles * TILE],
            lens: vec![0; tiles * TILE],
            nodes: Nodes::new(kernel.facts().node),
        })
    }

    /// Takes the elements of a bucket, by label. Whether there was room for those of each.
    fn fill(&mut self, pairs: &[Pair<T>]) -> bool {
        let start = |tile: usize| (tile * self.tile) as u32..;
        for (tile, next) in self.next.as_chunks_mut::<TILE>().0.iter_mut().enumerate() {
            next.iter_mut().zip(start(tile)).for_each(|(next, start)| *next = start);
        }
        for &Pair(column, item) in pairs {
            let next = &mut self.next[column as usize];
            // A column that is too long goes on in the next tile, which is noticed in the end.
            let Some(place) = self.items.get_mut(*next as usize) else { return false };
            *place = item;
            *next += TILE as u32;
        }
        let (nexts, lens) = (self.next.as_chunks::<TILE>().0, self.lens.as_chunks_mut::<TILE>().0);
        for (tile, (next, lens)) in nexts.iter().zip(lens).enumerate() {
            for ((len, next), start) in lens.iter_mut().zip(next).zip(start(tile)) {
                *len = (next - start) / TILE as u32;
            }
        }
        self.lens.iter().all(|&len| len as usize * TILE <= self.tile)
    }

    /// The results of the first `n` groups. Whether all have one.
    ///
    /// # Safety
    /// The elements are of the kernel; there is room for as many values.
    unsafe fn finish(&mut self, n: usize, out: *mut Value) -> bool {
        // SAFETY: the caller's; columns without elements have zeros, which are elements, too.
        unsafe {
            let (x, len) = (self.items.as_ptr().cast(), self.items.len());
            self.nodes.write(self.lens.len(), |to| self.kernel.columns(x, len, &self.lens, to));
            self.kernel.finish_each(self.nodes.first(), &self.lens[..n], out)
        }
    }
}

/// Adds how many labels each bucket of 2^`shift` groups has. What belongs to none is in the last of `counts`.
/// Neighbours are counted apart, so that equal ones need not wait for each other.
fn count(labels: &[u32], shift: u32, counts: &mut [[u32; 2]]) {
    let last = counts.len() - 1;
    let bucket = |label: u32| (label as usize >> shift).min(last);
    let (pairs, odd) = labels.as_chunks::<2>();
    for &[a, b] in pairs {
        counts[bucket(a)][0] += 1;
        counts[bucket(b)][1] += 1;
    }
    odd.iter().for_each(|&label| counts[bucket(label)][0] += 1);
}

/// An element on its way through a bucket, and the low bits of its label: without a gap between them, since most of the
/// time goes by writing and reading them.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Pair<T>(u16, T);

/// Brings elements to the buckets of their labels: each to the next place there.
///
/// # Safety
/// Nobody else writes these places.
unsafe fn scatter<T: Copy + Send>(labels: &[u32], x: &[T], shift: u32, next: &mut [u32], out: &Output<Pair<T>>) {
    let last = next.len() - 1;
    for (&label, &x) in labels.iter().zip(x) {
        let place = &mut next[(label as usize >> shift).min(last)];
        // SAFETY: the caller's.
        unsafe { out.write(*place as isize, Pair((label & ((1 << shift) - 1)) as u16, x)) };
        *place += 1;
    }
}

impl Work<'_> {
    /// See [`super::Job::groups`]. Whether every group has a result.
    ///
    /// # Safety
    /// Every element that the problem reaches from the base is readable. It has one axis, of fewer than 2^32 elements,
    /// and reduces it. `out` has a place for each group.
    pub unsafe fn groups(&self, labels: &dyn Labels, groups: usize, out: &Output<Value>) -> bool {
        // SAFETY: the caller's; the word has the size of an element.
        unsafe {
            by_size!(self.facts.item, T => match groups <= FEW_GROUPS {
                true => self.few_groups::<T>(labels, groups, out),
                false => self.many_groups::<T>(labels, groups, out),
            }, else unreachable!("a dtype, or an option of one, has 1, 2, 4, 8 or 16 bytes"))
        }
    }

    /// See the module. Whether every group has a result.
    unsafe fn few_groups<T: Word>(&self, labels: &dyn Labels, groups: usize, out: &Output<Value>) -> bool {
        let n = self.problem.count;
        let parts = (n / LEAST_PART.max(64 * groups)).clamp(1, self.threads);
        // Halves of parts, so that two threads count one part. The end of the last part is not read.
        let counts = self.quiet_results(2 * (parts - 1), |half| {
            self.counts(labels, n * half / (2 * parts)..n * (half + 1) / (2 * parts), 0, groups)
        });
        let mut starts = vec![vec![0u32; groups]];
        for halves in counts.chunks(2) {
            let before = &starts[starts.len() - 1];
            starts.push((0..groups).map(|group| before[group] + halves[0][group] + halves[1][group]).collect());
        }
        let mut queues = self.quiet_results(parts, |part| {
            let range = n * part / parts..n * (part + 1) / parts;
            let each = range.len() / groups.max(1);
            let mut queues = Queues::<T>::new(self.kernel, groups, each, Some(&starts[part]));
            // SAFETY: the caller's.
            unsafe {
                self.pieces(labels, range, |labels, x| queues.push(labels.iter().copied().zip(x.iter().copied())));
            }
            for group in 0..groups {
                if part + 1 < parts || !queues.is_subtree(group) {
                    queues.settle(group);
                    queues.begin(group);
                }
            }
            queues
        });
        let last = queues.pop().expect("a part");
        let all = AtomicBool::new(true);
        self.quiet_tasks(groups.div_ceil(TOGETHER), &|task| {
            let mut room = [Nodes::new(self.facts.node), Nodes::new(self.facts.node)];
            for group in task * TOGETHER..groups.min((task + 1) * TOGETHER) {
                let whole = queues.split_first().map(|(first, rest)| {
                    let mut span = Span::new(self.kernel, 0);
                    for part in [first].into_iter().chain(rest).chain([&last]) {
                        span.join(self.kernel, &part.spans[group]).expect("parts follow one another");
                    }
                    span
                });
                // SAFETY: each group is in one task.
                unsafe { self.finish_group(out, group, (&last, group), whole.as_ref(), &mut room, &all) };
            }
        });
        all.into_inner()
    }

    /// See the module. Whether every group has a result.
    unsafe fn many_groups<T: Word>(&self, labels: &dyn Labels, groups: usize, out: &Output<Value>) -> bool {
        let n = self.problem.count;
        let shift = groups.div_ceil(BUCKETS).next_power_of_two().ilog2().min(u16::BITS);
        let buckets = groups.div_ceil(1 << shift);
        let parts = (n / LEAST_PART).clamp(1, self.threads);
        let part = |i: usize| n * i / parts..n * (i + 1) / parts;
        let mut places = self.quiet_results(parts, |i| self.counts(labels, part(i), shift, buckets));
        // From how many there are to where the first of each part goes.
        let (mut starts, mut next) = (Vec::with_capacity(buckets + 1), 0);
        for bucket in 0..=buckets {
            starts.push(next as usize);
            places.iter_mut().for_each(|part| next += std::mem::replace(&mut part[bucket], next));
        }
        let mut pairs: Vec<Pair<T>> = Vec::with_capacity(n);
        large_pages(pairs.spare_capacity_mut());
        let room = Output::new(&mut pairs.spare_capacity_mut()[..n]);
        self.quiet_tasks(parts, &|i| {
            let mut next = places[i].clone();
            // SAFETY: the caller's; each element has a place of its own, after those before it.
            unsafe { self.pieces(labels, part(i), |labels, x: &[T]| scatter(labels, x, shift, &mut next, &room)) };
        });
        // SAFETY: there are as many places as elements.
        unsafe { pairs.set_len(n) };
        let at_a_time = buckets.div_ceil(8 * self.threads);
        let all = AtomicBool::new(true);
        self.quiet_tasks(buckets.div_ceil(at_a_time), &|task| {
            let (width, each) = (1 << shift, n.div_ceil(groups));
            let mut columns = Columns::<T>::new(self.kernel, width, each);
            let (mut queues, mut room) = (None, [Nodes::new(self.facts.node), Nodes::new(self.facts.node)]);
            for bucket in task * at_a_time..buckets.min((task + 1) * at_a_time) {
                let pairs = &pairs[starts[bucket]..starts[bucket + 1]];
                let first = bucket << shift;
                let groups = (groups - first).min(width);
                if let Some(columns) = &mut columns
                    && columns.fill(pairs)
                {
                    // SAFETY: each group is in one bucket.
                    if !unsafe { columns.finish(groups, out.at(first as isize, groups)) } {
                        all.store(false, Ordering::Relaxed);
                    }
                    continue;
                }
                let queues =
                    queues.get_or_insert_with(|| Queues::<T>::new(self.kernel, width, each.max(LEAST_QUEUE), None));
                // SAFETY: the elements that `pieces` read.
                unsafe { queues.push(pairs.iter().map(|&Pair(label, item)| (label as u32, item))) };
                for group in 0..groups {
                    let at = first + group;
                    // SAFETY: each group is in one bucket.
                    unsafe { self.finish_group(out, at, (queues, group), None, &mut room, &all) };
                    queues.spans[group].begin(0);
                    queues.begin(group);
                }
            }
        });
        all.into_inner()
    }

    /// Reads some labels and their elements, a piece at a time.
    unsafe fn pieces<T: Word>(&self, labels: &dyn Labels, range: Range<usize>, mut each: impl FnMut(&[u32], &[T])) {
        let inner = self.problem.inner();
        let (mut of_labels, mut of_items) = (Vec::new(), Items::new());
        for from in range.clone().step_by(PIECE) {
            let n = PIECE.min(range.end - from);
            let labels = labels.read(from, n, &mut of_labels);
            // SAFETY: the caller's; elements are lent only where they are aligned to their size, and copied to where
            // anything may be.
            let x = unsafe {
                let x = self.run_of(self.base.step(&inner, from), &inner, n, &mut of_items);
                std::slice::from_raw_parts(x.cast::<T>(), n)
            };
            each(labels, x);
            self.tell(n);
        }
    }

    /// How many of some labels each of `buckets` buckets has, and how many belong to none.
    fn counts(&self, labels: &dyn Labels, range: Range<usize>, shift: u32, buckets: usize) -> Vec<u32> {
        let (mut counts, mut room) = (vec![[0; 2]; buckets + 1], Vec::new());
        for from in range.clone().step_by(PIECE) {
            count(labels.read(from, PIECE.min(range.end - from), &mut room), shift, &mut counts);
        }
        counts.into_iter().map(|[a, b]| a + b).collect()
    }

    /// Finishes a group: what `whole`, or else the queue's own span, has, and what waits in the queue.
    ///
    /// # Safety
    /// Nobody else writes the place.
    unsafe fn finish_group<T: Word>(
        &self,
        out: &Output<Value>,
        at: usize,
        (queues, group): (&Queues<'_, T>, usize),
        whole: Option<&Span>,
        [node, waiting]: &mut [Nodes; 2],
        all: &AtomicBool,
    ) {
        let mut count = 0;
        // SAFETY: the caller's; a node is written if it has elements.
        unsafe {
            node.write(1, |to| count = queues.root(group, whole, waiting, to));
            if count > 0 {
                self.kernel.finish(node.first(), 1, count, out.at(at as isize, 1));
            } else if !self.kernel.finish_empty(out.at(at as isize, 1)) {
                all.store(false, Ordering::Relaxed);
            }
        }
    }
}
