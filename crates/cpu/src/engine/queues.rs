//! Queues: for each group, the elements that do not yet fill a node of the group's tree.

use std::mem::MaybeUninit;

use super::nodes::Nodes;
use super::span::Span;
use crate::loops::{Item, Loops, Node};
use crate::policy::{BLOCK, LEAST_QUEUE, QUEUE_BYTES};

/// An element of a known size, of which groups know nothing else. Zero bytes are a number of every dtype, and an absent
/// element where elements may be absent.
pub(super) trait Word: Copy + Send + Sync {
    const ZERO: Self;
}

impl<W: Copy + Send + Sync> Word for MaybeUninit<W> {
    const ZERO: Self = MaybeUninit::zeroed();
}

/// The queues of all groups, and the spans that full queues are appended to.
pub(super) struct Queues<'a, T> {
    kernel: &'a dyn Loops,
    /// Elements that a queue holds, a power of two. An element's place is its rank in the group modulo this.
    room: usize,
    /// The elements of all queues, and of one more queue for elements of no group.
    items: Vec<T>,
    /// The place in `items` of the next element of each queue.
    next: Vec<u32>,
    /// The elements that have left the queues, a span for each group.
    pub spans: Vec<Span>,
}

impl<'a, T: Word> Queues<'a, T> {
    /// Queues for `groups` groups of about `each` elements. The first element of group g has the rank `starts[g]`, or
    /// 0.
    pub fn new(kernel: &'a dyn Loops, groups: usize, each: usize, starts: Option<&[u32]>) -> Self {
        let fits = (QUEUE_BYTES / size_of::<T>() / groups.max(1)).max(LEAST_QUEUE);
        let room = fits.min(2 * each).clamp(2, BLOCK / 2).next_power_of_two();
        let start = |group: usize| starts.and_then(|starts| starts.get(group)).map_or(0, |&start| start as usize);
        Self {
            kernel,
            room,
            items: vec![T::ZERO; (groups + 1) * room],
            next: (0..=groups).map(|group| (group * room + start(group) % room) as u32).collect(),
            spans: (0..groups).map(|group| Span::new(kernel, start(group) as u64)).collect(),
        }
    }

    /// Appends elements, given with their labels. A label beyond the last group is that of no group.
    ///
    /// # Safety
    /// The elements are of the kernel's type.
    pub unsafe fn push(&mut self, mut elements: impl Iterator<Item = (u32, T)> + Clone) {
        while let Some(full) = fill(&mut elements, &mut self.next, &mut self.items, self.room) {
            if full < self.spans.len() {
                self.settle(full);
            }
            self.next[full] = (full * self.room) as u32;
        }
    }

    /// The address and the number of the elements in a queue.
    pub fn waiting(&self, group: usize) -> (*const Item, usize) {
        let first = group * self.room + self.spans[group].end() as usize % self.room;
        let waiting = &self.items[first..self.next[group] as usize];
        (waiting.as_ptr().cast(), waiting.len())
    }

    /// Appends the elements in a queue to the group's span.
    pub fn settle(&mut self, group: usize) {
        let (x, n) = self.waiting(group);
        // SAFETY: the queue holds `n` elements from `x` on, which are of the kernel's type, as the callers of `push`
        // vouch.
        unsafe { self.spans[group].extend(self.kernel, x, n) };
    }

    /// Whether the elements in a queue are the leaves of one node, if no more elements follow in their group.
    pub fn is_subtree(&self, group: usize) -> bool {
        (self.spans[group].end() as usize).is_multiple_of(self.room)
    }

    /// Empties the queue of a group, whose elements have been appended to its span.
    pub fn begin(&mut self, group: usize) {
        self.next[group] = (group * self.room + self.spans[group].end() as usize % self.room) as u32;
    }

    /// Writes the root of a group: over the elements of `span`, or of the group's own span if that is `None`, and over
    /// those in the queue. Returns the number of elements. If it is 0, no root is written.
    ///
    /// # Safety
    /// `to` has room for a node.
    pub unsafe fn root(&self, group: usize, span: Option<&Span>, node: &mut Nodes, to: *mut Node) -> u64 {
        let (x, n) = self.waiting(group);
        let own = &self.spans[group];
        // SAFETY: the queue holds `n` elements of the kernel's type; `short` writes their node before `root` reads it;
        // the caller vouches for room at `to`.
        unsafe {
            if n == 0 {
                return span.unwrap_or(own).root(self.kernel, std::ptr::null(), 0, to);
            }
            node.write(1, |to| self.kernel.short(x, n, own.end(), to));
            span.unwrap_or(own).root(self.kernel, node.first(), n as u64, to)
        }
    }
}

/// Appends elements to the queues of their groups until a queue is full. Returns its number.
#[inline(never)]
fn fill<T: Copy>(
    elements: &mut (impl Iterator<Item = (u32, T)> + Clone),
    next: &mut [u32],
    items: &mut [T],
    room: usize,
) -> Option<usize> {
    let last = next.len() - 1;
    // A local copy of the iterator stays in registers.
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
