//! Groups: the elements of each label, reduced without a sort.
//!
//! Every group has a queue of a few elements. A full queue is a whole subtree of the group's sequence: it becomes one
//! node of the group's tree, and the queue is emptied. Queues stay in the cache, so labels and elements are read once,
//! and no element is written to memory. Each thread has queues for a part of the elements. Labels are counted first, so
//! that a thread knows the rank of its first element in every group.
//!
//! The queues of many groups would not fit the cache. Then elements are first scattered to buckets of neighbouring
//! groups, in order, by the high bits of their labels. The elements of a bucket fit the cache: those of each group
//! become a column of a matrix, and vectors reduce columns side by side, however short. (If one group has many more
//! elements than the others, the bucket is reduced by queues.)

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::nodes::{Items, Nodes};
use super::queues::{Queues, Word};
use super::span::Span;
use super::{Labels, Work};
use crate::loops::{Loops, Node, Value};
use crate::moves::by_size;
use crate::output::{Output, large_pages};
use crate::policy::{BLOCK, BUCKETS, COLUMN_BYTES, FEW_GROUPS, LEAST_PART, LEAST_QUEUE};
use crate::uneven::{QUAD, TILE};

/// Labels or elements that are read at a time. They are few, so that queues stay in L1, and so that the next ones are
/// loaded meanwhile.
const PIECE: usize = BLOCK / 16;

/// Groups that are finished at a time.
const TOGETHER: usize = 64;

/// The elements of a bucket's groups, as columns that lie side by side, [`TILE`] in a tile, so that vectors reduce many
/// groups at once.
struct Columns<'a, T> {
    kernel: &'a dyn Loops,
    /// Tile by tile: the first element of each column, then the second, and so on.
    items: Vec<T>,
    /// Elements of a tile.
    tile: usize,
    /// The place in `items` of the next element of each column.
    next: Vec<u32>,
    /// The number of elements of each column.
    lens: Vec<u32>,
    /// The nodes of columns.
    nodes: Nodes,
}

impl<'a, T: Word> Columns<'a, T> {
    /// Columns for `groups` groups of about `each` elements, if they fit the cache.
    fn new(kernel: &'a dyn Loops, groups: usize, each: usize) -> Option<Self> {
        // Random labels hardly ever give a group twice the mean and 8: the standard deviation is the root of the mean.
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

    /// Replaces the elements by those of a bucket. Returns whether the elements of every group fit its column.
    fn fill(&mut self, pairs: &[Pair<T>]) -> bool {
        let start = |tile: usize| (tile * self.tile) as u32..;
        for (tile, next) in self.next.as_chunks_mut::<TILE>().0.iter_mut().enumerate() {
            next.iter_mut().zip(start(tile)).for_each(|(next, start)| *next = start);
        }
        for &Pair(column, item) in pairs {
            let next = &mut self.next[column as usize];
            // A column that is too long goes on in the next tile. Its length shows that at the end.
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

    /// Writes the results of the first `n` groups. Returns whether all have one.
    ///
    /// # Safety
    /// The elements are of the kernel's type; `out` has room for `n` values.
    unsafe fn finish(&mut self, n: usize, out: *mut Value) -> bool {
        // SAFETY: the caller vouches for the elements and the room. Places without an element hold zeros or elements of
        // an earlier bucket, which are elements of the kernel's type, too.
        unsafe {
            let Self { kernel, items, lens, nodes, .. } = self;
            nodes.write(lens.len(), |to| match kernel.facts().ragged {
                true => kernel.columns(items.as_ptr().cast(), items.len(), lens, to),
                false => one_by_one(*kernel, items, self.tile, lens, to),
            });
            kernel.finish_each(nodes.first(), &lens[..n], out)
        }
    }
}

/// The nodes of columns in tiles of so many elements, one column after the other. That of a column of no elements is
/// the identity, or any node if there is none.
///
/// # Safety
/// The elements are of the kernel's type; there is room for a node of each column.
unsafe fn one_by_one<T: Copy>(kernel: &dyn Loops, items: &[T], tile: usize, lens: &[u32], to: *mut Node) {
    let (mut column, node) = (Vec::<T>::new(), kernel.facts().node);
    for (at, &len) in lens.iter().enumerate() {
        // SAFETY: the caller's.
        unsafe {
            let to = to.byte_add(at * node);
            if len > 0 || !kernel.identity(to) {
                column.clear();
                let first = at / TILE * tile + at % TILE;
                column.extend(items[first..].iter().step_by(TILE).take(len.max(1) as usize));
                kernel.short(column.as_ptr().cast(), column.len(), 0, to);
            }
        }
    }
}

/// Adds the number of labels in each bucket of 2^`shift` groups to `counts`. Labels of no group are counted in the last
/// place. Even and odd neighbours have counters of their own, so that equal neighbours need not wait for each other.
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

/// An element in a bucket, and the low bits of its label, without padding, since writing and reading pairs takes most
/// of the time.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Pair<T>(u16, T);

/// Scatters elements to the buckets of their labels, each to the bucket's next place.
///
/// # Safety
/// No other task writes the places from `next` on that these elements take.
unsafe fn scatter<T: Copy + Send>(labels: &[u32], x: &[T], shift: u32, next: &mut [u32], out: &Output<Pair<T>>) {
    let last = next.len() - 1;
    for (&label, &x) in labels.iter().zip(x) {
        let place = &mut next[(label as usize >> shift).min(last)];
        // SAFETY: the caller vouches that no other task writes this bucket's next place.
        unsafe { out.write(*place as isize, Pair((label & ((1 << shift) - 1)) as u16, x)) };
        *place += 1;
    }
}

impl Work<'_> {
    /// See [`super::Job::groups`]. Returns whether every group has a result.
    ///
    /// # Safety
    /// Every element that the problem reaches from the base is readable. It has one axis, of fewer than 2^32 elements,
    /// and reduces it. `out` has a place for each group.
    pub unsafe fn groups(&self, labels: &dyn Labels, groups: usize, out: &Output<Value>) -> bool {
        // SAFETY: the caller vouches for the elements and the places, and the word has the size of an element.
        unsafe {
            by_size!(self.facts.item, T => match groups <= FEW_GROUPS {
                true => self.few_groups::<T>(labels, groups, out),
                false => self.many_groups::<T>(labels, groups, out),
            }, else unreachable!("a dtype, or an option of one, has 1, 2, 4, 8 or 16 bytes"))
        }
    }

    /// Reduces groups by queues. Returns whether every group has a result.
    unsafe fn few_groups<T: Word>(&self, labels: &dyn Labels, groups: usize, out: &Output<Value>) -> bool {
        let n = self.problem.count;
        let parts = (n / LEAST_PART.max(64 * groups)).clamp(1, self.threads);
        // Halves of parts are counted, so that two threads count one part. The last part need not be counted.
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
            // SAFETY: the caller vouches for all elements, and `pieces` passes elements of the kernel's type.
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
                // SAFETY: each group is in one task, and has a place of its own.
                unsafe { self.finish_group(out, group, (&last, group), whole.as_ref(), &mut room, &all) };
            }
        });
        all.into_inner()
    }

    /// Reduces groups by buckets. Returns whether every group has a result.
    unsafe fn many_groups<T: Word>(&self, labels: &dyn Labels, groups: usize, out: &Output<Value>) -> bool {
        let n = self.problem.count;
        let shift = groups.div_ceil(BUCKETS).next_power_of_two().ilog2().min(u16::BITS);
        let buckets = groups.div_ceil(1 << shift);
        let parts = (n / LEAST_PART).clamp(1, self.threads);
        let part = |i: usize| n * i / parts..n * (i + 1) / parts;
        let mut places = self.quiet_results(parts, |i| self.counts(labels, part(i), shift, buckets));
        // An exclusive scan: the counts of each bucket and part become the places of their first elements.
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
            // SAFETY: the caller vouches for the elements. By the scan, each part and bucket has places of its own, as
            // many as elements.
            unsafe { self.pieces(labels, part(i), |labels, x: &[T]| scatter(labels, x, shift, &mut next, &room)) };
        });
        // SAFETY: there are as many places as elements, and each element has been written to one of its own.
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
                    // SAFETY: each group is in one bucket, which one task has; there is a place for each group.
                    if !unsafe { columns.finish(groups, out.at(first as isize, groups)) } {
                        all.store(false, Ordering::Relaxed);
                    }
                    continue;
                }
                let queues =
                    queues.get_or_insert_with(|| Queues::<T>::new(self.kernel, width, each.max(LEAST_QUEUE), None));
                // SAFETY: these are elements of the kernel's type, as `pieces` has read them.
                unsafe { queues.push(pairs.iter().map(|&Pair(label, item)| (label as u32, item))) };
                for group in 0..groups {
                    let at = first + group;
                    // SAFETY: each group is in one bucket, which one task has.
                    unsafe { self.finish_group(out, at, (queues, group), None, &mut room, &all) };
                    queues.spans[group].begin(0);
                    queues.begin(group);
                }
            }
        });
        all.into_inner()
    }

    /// Calls `each` with the labels and the elements of a range, a piece at a time.
    unsafe fn pieces<T: Word>(&self, labels: &dyn Labels, range: Range<usize>, mut each: impl FnMut(&[u32], &[T])) {
        let inner = self.problem.inner();
        let (mut of_labels, mut of_items) = (Vec::new(), Items::new());
        for from in range.clone().step_by(PIECE) {
            let n = PIECE.min(range.end - from);
            let labels = labels.read(from, n, &mut of_labels);
            // SAFETY: the caller vouches for all elements. `run_of` returns `n` elements, in place if they are aligned,
            // or copied to memory that is aligned for any of them. A word has their size, and any of their bits.
            let x = unsafe {
                let x = self.run_of(self.base.step(&inner, from), &inner, n, &mut of_items);
                std::slice::from_raw_parts(x.cast::<T>(), n)
            };
            each(labels, x);
            self.tell(n);
        }
    }

    /// The number of labels of a range in each of `buckets` buckets, and then the number of labels of no group.
    fn counts(&self, labels: &dyn Labels, range: Range<usize>, shift: u32, buckets: usize) -> Vec<u32> {
        let (mut counts, mut room) = (vec![[0; 2]; buckets + 1], Vec::new());
        for from in range.clone().step_by(PIECE) {
            count(labels.read(from, PIECE.min(range.end - from), &mut room), shift, &mut counts);
        }
        counts.into_iter().map(|[a, b]| a + b).collect()
    }

    /// Writes the result of a group: of the elements in the span `whole`, or in the queue's own span if that is `None`,
    /// and of those in the queue. Clears `all` if the group has no result.
    ///
    /// # Safety
    /// No other task writes the place.
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
        // SAFETY: `root` writes a node if it returns a count above 0, and only then is the node read; the caller
        // vouches that no other task writes the place.
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
