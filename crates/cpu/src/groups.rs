//! Elements by label: each group reduced by itself, without a sort.
//!
//! Every group has a queue of a few elements. A full queue is a whole subtree of the group's sequence: it becomes one node of its
//! tree, and begins anew. Queues stay in the cache, so that labels and elements are read once, and nothing is written. Each
//! thread has queues for a part of the elements; labels are counted first, to know where the part begins in every sequence.
//!
//! The queues of many groups would not fit. Then elements first go to buckets of neighbouring groups, in order, by the high bits of
//! their labels. All elements of a bucket fit the cache: each group's become a column of a matrix, and vectors reduce columns side by
//! side, however short they are. (Queues again, if some group has many more than others.)

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use warpfold_core::{Reducer, Span};

use super::engine::{Job, Out, Output, large_pages};
use super::kernel::{Acc, Item, Kernel};
use super::load::Load;
use super::policy::{BLOCK, BUCKETS, COLUMN_BYTES, FEW_GROUPS, LEAST_PART, LEAST_QUEUE, QUEUE_BYTES};
use super::segments::short;
use super::simd::vectorize;
use super::transposed::extend;
use super::tree::{QUAD, TILE};

/// Labels or elements that are read at a time: few, since queues want the L1 cache, and so that the next come from memory meanwhile.
const PIECE: usize = BLOCK / 16;

/// Groups that are finished at a time.
const TOGETHER: usize = 64;

/// A label for each element.
pub trait Labels: Sync {
    /// Those of the elements `from..from + n`, perhaps in this room. What belongs to no group has the greatest number.
    fn read<'r>(&'r self, from: usize, n: usize, room: &'r mut Vec<u32>) -> &'r [u32];
}

/// Elements on their way to the trees of their groups.
struct Queues<'a, K: Kernel> {
    kernel: &'a K,
    /// Elements that a queue holds: a power of two. An element's place in it is that in its group's sequence, modulo this.
    room: usize,
    /// All queues, and one more for elements of no group.
    items: Vec<Item<K>>,
    /// Where in `items` the next element of each queue goes.
    next: Vec<u32>,
    /// What has left the queues.
    spans: Vec<Span<Acc<K>>>,
}

impl<'a, K: Kernel> Queues<'a, K> {
    /// Queues for `groups` groups, of about `each` elements. Those begin at `starts`, or else at 0. `any` is an element.
    fn new(kernel: &'a K, groups: usize, each: usize, any: Item<K>, starts: Option<&[u32]>) -> Self {
        let fits = (QUEUE_BYTES / size_of::<Item<K>>() / groups.max(1)).max(LEAST_QUEUE);
        let room = fits.min(2 * each).clamp(2, BLOCK / 2).next_power_of_two();
        let start = |group: usize| starts.and_then(|starts| starts.get(group)).map_or(0, |&start| start as usize);
        Self {
            kernel,
            room,
            items: vec![any; (groups + 1) * room],
            next: (0..=groups).map(|group| (group * room + start(group) % room) as u32).collect(),
            spans: (0..groups).map(|group| Span::new(start(group) as u64)).collect(),
        }
    }

    /// Takes the next elements, with their labels. Those beyond the last group belong to none.
    fn push(&mut self, mut elements: impl Iterator<Item = (u32, Item<K>)> + Clone) {
        while let Some(full) = fill(&mut elements, &mut self.next, &mut self.items, self.room) {
            if full < self.spans.len() {
                self.settle(full);
            }
            self.next[full] = (full * self.room) as u32;
        }
    }

    /// The elements in a queue.
    fn waiting(&self, group: usize) -> &[Item<K>] {
        let first = group * self.room + self.spans[group].end() as usize % self.room;
        &self.items[first..self.next[group] as usize]
    }

    /// Reduces the elements in a queue to nodes of the tree.
    fn settle(&mut self, group: usize) {
        let first = group * self.room + self.spans[group].end() as usize % self.room;
        extend(self.kernel, &mut self.spans[group], &self.items[first..self.next[group] as usize]);
    }

    /// Whether the elements in a queue are one node, if they are the last of their sequence.
    fn is_subtree(&self, group: usize) -> bool {
        (self.spans[group].end() as usize).is_multiple_of(self.room)
    }

    /// The node over the elements in a queue, and how many, if they are the end of the sequence.
    fn last(&self, group: usize) -> Option<(Acc<K>, u64)> {
        let rest = self.waiting(group);
        (!rest.is_empty()).then(|| (short(self.kernel, rest, self.spans[group].end()), rest.len() as u64))
    }

    /// The roots of whole sequences from their start, which are forgotten.
    fn finish(&mut self, groups: usize, mut each: impl FnMut(usize, Option<(Acc<K>, u64)>)) {
        for group in 0..groups {
            each(group, root(self.kernel.reducer(), &self.spans[group], self.last(group)));
            self.spans[group] = Span::new(0);
            self.next[group] = (group * self.room) as u32;
        }
    }
}

/// All elements of groups that have few, in columns that lie side by side, [`TILE`] in a tile: vectors reduce many at once.
struct Columns<'a, K: Kernel> {
    kernel: &'a K,
    /// Tile by tile: the first element of each column, then the second, and so on.
    items: Vec<Item<K>>,
    /// Elements of a tile.
    tile: usize,
    /// Where in `items` the next element of each column goes.
    next: Vec<u32>,
    /// How many elements each column has.
    lens: Vec<u32>,
    /// The trees over them.
    nodes: Vec<Acc<K>>,
}

impl<'a, K: Kernel> Columns<'a, K> {
    /// Columns for `groups` groups of about `each` elements, if they fit the cache. `any` is an element.
    fn new(kernel: &'a K, groups: usize, each: usize, any: Item<K>) -> Option<Self> {
        // Random labels hardly ever give a group so many: the standard deviation is the root of the mean.
        let tile = (2 * each + 8).next_multiple_of(QUAD) * TILE;
        let tiles = groups.div_ceil(TILE);
        let fits = tiles * tile * size_of::<Item<K>>() <= COLUMN_BYTES;
        fits.then(|| Self {
            kernel,
            items: vec![any; tiles * tile],
            tile,
            next: vec![0; tiles * TILE],
            lens: vec![0; tiles * TILE],
            nodes: Vec::new(),
        })
    }

    /// Takes the elements of a bucket, by label. Whether there was room for those of each.
    fn fill(&mut self, pairs: &[Pair<Item<K>>]) -> bool {
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

    /// The results of the first groups. Whether all have one.
    fn finish(&mut self, out: &mut [MaybeUninit<Out<K>>]) -> bool {
        let reducer = self.kernel.reducer();
        self.nodes.clear();
        self.kernel.columns(&self.items, &self.lens, &mut self.nodes);
        vectorize(
            #[inline(always)]
            || {
                // A local copy, which `out` cannot overlap.
                let reducer = reducer.clone();
                for ((out, &node), &len) in out.iter_mut().zip(&self.nodes).zip(&self.lens) {
                    out.write(reducer.finish(node, len as u64));
                }
            },
        );
        // Without an identity there may yet be a result of nothing: the initial value of a maximum.
        let no_node = |len: u32| len == 0 && reducer.identity().is_none();
        for (out, _) in out.iter_mut().zip(&self.lens).filter(|&(_, &len)| no_node(len)) {
            match reducer.finish_empty() {
                Some(value) => out.write(value),
                None => return false,
            };
        }
        true
    }
}

/// The node over a span, and after it perhaps one of some more elements.
fn root<R: Reducer>(reducer: &R, span: &Span<R::Acc>, last: Option<(R::Acc, u64)>) -> Option<(R::Acc, u64)> {
    span.nodes().rev().fold(last, |right, (level, left)| {
        let n = 1 << level;
        Some(match right {
            Some((right, m)) => (reducer.combine_counted(left, n, right, m), n + m),
            None => (left, n),
        })
    })
}

/// Puts elements in the queues of their groups until one is full: which.
#[inline(never)]
fn fill<T: Copy>(
    elements: &mut (impl Iterator<Item = (u32, T)> + Clone),
    next: &mut [u32],
    items: &mut [T],
    room: usize,
) -> Option<usize> {
    let last = next.len() - 1;
    // A copy of its own stays in registers.
    let mut rest = elements.clone();
    while let Some((label, item)) = rest.next() {
        let group = (label as usize).min(last);
        let place = next[group];
        items[place as usize] = item;
        next[group] = place + 1;
        if (place as usize + 1) & (room - 1) == 0 {
            *elements = rest;
            return Some(group);
        }
    }
    None
}

/// Adds how many labels each bucket of 2^`shift` groups has. What belongs to none is in the last of `counts`. Neighbours are
/// counted apart, so that equal ones need not wait for each other.
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

/// An element on its way through a bucket, and the low bits of its label: without a gap between them, since most of the time goes
/// by writing and reading them.
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

impl<K: Kernel, L: Load<Item<K>>> Job<'_, K, L>
where
    Out<K>: Send,
{
    /// The result of the elements of each label below `groups`, in their order. `None` if there are no elements at all, or a
    /// group is empty and the reducer has no identity.
    ///
    /// # Safety
    /// Every element that the problem reaches from `base` is readable. It has one axis, of fewer than 2^32 elements, and reduces it.
    pub unsafe fn groups(&self, labels: &dyn Labels, groups: usize) -> Option<Vec<Out<K>>> {
        if self.problem.count == 0 {
            return None;
        }
        let mut values: Vec<Out<K>> = Vec::with_capacity(groups);
        large_pages(values.spare_capacity_mut());
        let out = Output::new(&mut values.spare_capacity_mut()[..groups]);
        // SAFETY: the caller's.
        let all = unsafe {
            match groups <= FEW_GROUPS {
                true => self.few_groups(labels, groups, &out),
                false => self.many_groups(labels, groups, &out),
            }
        };
        // SAFETY: then every group is written.
        all.then(|| unsafe {
            values.set_len(groups);
            values
        })
    }

    /// See the module. Whether every group has a result.
    unsafe fn few_groups(&self, labels: &dyn Labels, groups: usize, out: &Output<Out<K>>) -> bool {
        let n = self.problem.count;
        let parts = (n / LEAST_PART.max(64 * groups)).clamp(1, self.threads);
        // Halves of parts, so that two threads count one part. Where the last one ends is no matter.
        let counts = self.kept_results(2 * (parts - 1), |half| {
            self.counts(labels, n * half / (2 * parts)..n * (half + 1) / (2 * parts), 0, groups)
        });
        let mut starts = vec![vec![0u32; groups]];
        for halves in counts.chunks(2) {
            let before = &starts[starts.len() - 1];
            starts.push((0..groups).map(|group| before[group] + halves[0][group] + halves[1][group]).collect());
        }
        // SAFETY: the caller's.
        let any = unsafe { self.any() };
        let queues = self.kept_results(parts, |part| {
            let range = n * part / parts..n * (part + 1) / parts;
            let mut queues = Queues::new(self.kernel, groups, range.len() / groups.max(1), any, Some(&starts[part]));
            // SAFETY: the caller's.
            unsafe {
                self.pieces(labels, range, |labels, x| {
                    queues.push(labels.iter().copied().zip(x.iter().copied()));
                });
            }
            for group in 0..groups {
                if part + 1 < parts || !queues.is_subtree(group) {
                    queues.settle(group);
                    queues.next[group] =
                        (group * queues.room + queues.spans[group].end() as usize % queues.room) as u32;
                }
            }
            queues
        });
        let all = AtomicBool::new(true);
        self.quiet_tasks(groups.div_ceil(TOGETHER), &|task| {
            for group in task * TOGETHER..groups.min((task + 1) * TOGETHER) {
                let mut span = queues[0].spans[group].clone();
                for next in &queues[1..] {
                    span.join(self.kernel.reducer(), &next.spans[group]).expect("parts follow one another");
                }
                let root = root(self.kernel.reducer(), &span, queues[parts - 1].last(group));
                // SAFETY: each group is in one task.
                unsafe { self.finish_group(out, group, root, &all) };
            }
        });
        all.into_inner()
    }

    /// See the module. Whether every group has a result.
    unsafe fn many_groups(&self, labels: &dyn Labels, groups: usize, out: &Output<Out<K>>) -> bool {
        let n = self.problem.count;
        let shift = groups.div_ceil(BUCKETS).next_power_of_two().ilog2().min(u16::BITS);
        let buckets = groups.div_ceil(1 << shift);
        let parts = (n / LEAST_PART).clamp(1, self.threads);
        let part = |i: usize| n * i / parts..n * (i + 1) / parts;
        let mut places = self.kept_results(parts, |i| self.counts(labels, part(i), shift, buckets));
        // From how many there are to where the first of each part goes.
        let (mut starts, mut next) = (Vec::with_capacity(buckets + 1), 0);
        for bucket in 0..=buckets {
            starts.push(next as usize);
            places.iter_mut().for_each(|part| next += std::mem::replace(&mut part[bucket], next));
        }
        let mut pairs: Vec<Pair<Item<K>>> = Vec::with_capacity(n);
        large_pages(pairs.spare_capacity_mut());
        let room = Output::new(&mut pairs.spare_capacity_mut()[..n]);
        self.quiet_tasks(parts, &|i| {
            let mut next = places[i].clone();
            // SAFETY: the caller's; each element has a place of its own, after those before it.
            unsafe { self.pieces(labels, part(i), |labels, x| scatter(labels, x, shift, &mut next, &room)) };
        });
        // SAFETY: there are as many places as elements.
        unsafe { pairs.set_len(n) };
        // SAFETY: the caller's.
        let any = unsafe { self.any() };
        let at_a_time = buckets.div_ceil(8 * self.threads);
        let all = AtomicBool::new(true);
        self.quiet_tasks(buckets.div_ceil(at_a_time), &|task| {
            let (width, each) = (1 << shift, n.div_ceil(groups));
            let mut columns = Columns::new(self.kernel, width, each, any);
            let mut queues = None;
            for bucket in task * at_a_time..buckets.min((task + 1) * at_a_time) {
                let pairs = &pairs[starts[bucket]..starts[bucket + 1]];
                let first = bucket << shift;
                let groups = (groups - first).min(width);
                if let Some(columns) = &mut columns
                    && columns.fill(pairs)
                {
                    // SAFETY: each group is in one bucket.
                    if !columns.finish(unsafe { out.range(first as isize, groups) }) {
                        all.store(false, Ordering::Relaxed);
                    }
                    continue;
                }
                let queues =
                    queues.get_or_insert_with(|| Queues::new(self.kernel, width, each.max(LEAST_QUEUE), any, None));
                queues.push(pairs.iter().map(|&Pair(label, item)| (label as u32, item)));
                // SAFETY: each group is in one bucket.
                queues.finish(groups, |group, root| unsafe { self.finish_group(out, first + group, root, &all) });
            }
        });
        all.into_inner()
    }

    /// Reads some labels and their elements, a piece at a time.
    unsafe fn pieces(&self, labels: &dyn Labels, range: Range<usize>, mut each: impl FnMut(&[u32], &[Item<K>])) {
        let inner = self.problem.inner();
        let (mut of_labels, mut of_items) = (Vec::new(), Vec::new());
        for from in range.clone().step_by(PIECE) {
            let n = PIECE.min(range.end - from);
            let labels = labels.read(from, n, &mut of_labels);
            // SAFETY: the caller's.
            let x = unsafe { self.run_of(self.base.step(&inner, from), &inner, n, &mut of_items) };
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

    /// Some element.
    unsafe fn any(&self) -> Item<K> {
        // SAFETY: the caller's.
        unsafe { self.run_of(self.base, &self.problem.inner(), 1, &mut Vec::new())[0] }
    }

    /// # Safety
    /// Nobody else writes the place.
    unsafe fn finish_group(&self, out: &Output<Out<K>>, group: usize, root: Option<(Acc<K>, u64)>, all: &AtomicBool) {
        let reducer = self.kernel.reducer();
        match root.map_or_else(|| reducer.finish_empty(), |(acc, count)| Some(reducer.finish(acc, count))) {
            // SAFETY: the caller's.
            Some(value) => unsafe { out.write(group as isize, value) },
            None => all.store(false, Ordering::Relaxed),
        }
    }
}
