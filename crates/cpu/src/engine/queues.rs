//! Elements on their way to the trees of their groups: a queue for each.

use std::mem::MaybeUninit;

use super::nodes::Nodes;
use super::span::Span;
use crate::loops::{Item, Loops, Node};
use crate::policy::{BLOCK, LEAST_QUEUE, QUEUE_BYTES};

/// An element as groups move it: any of its size. Zeros are a number of every dtype, and absent where elements may be.
pub(super) trait Word: Copy + Send + Sync {
    const ZERO: Self;
}

impl<W: Copy + Send + Sync> Word for MaybeUninit<W> {
    const ZERO: Self = MaybeUninit::zeroed();
}

/// Elements on their way to the trees of their groups.
pub(super) struct Queues<'a, T> {
    kernel: &'a dyn Loops,
    /// Elements that a queue holds: a power of two. An element's place in it is that in its group's sequence, modulo
    /// this.
    room: usize,
    /// All queues, and one more for elements of no group.
    items: Vec<T>,
    /// Where in `items` the next element of each queue goes.
    next: Vec<u32>,
    /// What has left the queues.
    pub spans: Vec<Span>,
}

impl<'a, T: Word> Queues<'a, T> {
    /// Queues for `groups` groups, of about `each` elements. Those begin at `starts`, or else at 0.
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

    /// Takes the next elements, with their labels. Those beyond the last group belong to none.
    ///
    /// # Safety
    /// They are elements of the kernel.
    pub unsafe fn push(&mut self, mut elements: impl Iterator<Item = (u32, T)> + Clone) {
        while let Some(full) = fill(&mut elements, &mut self.next, &mut self.items, self.room) {
            if full < self.spans.len() {
                self.settle(full);
            }
            self.next[full] = (full * self.room) as u32;
        }
    }

    /// The elements in a queue: where, and how many.
    pub fn waiting(&self, group: usize) -> (*const Item, usize) {
        let first = group * self.room + self.spans[group].end() as usize % self.room;
        let waiting = &self.items[first..self.next[group] as usize];
        (waiting.as_ptr().cast(), waiting.len())
    }

    /// Reduces the elements in a queue to nodes of the tree.
    pub fn settle(&mut self, group: usize) {
        let (x, n) = self.waiting(group);
        // SAFETY: they came by `push`.
        unsafe { self.spans[group].extend(self.kernel, x, n) };
    }

    /// Whether the elements in a queue are one node, if they are the last of their sequence.
    pub fn is_subtree(&self, group: usize) -> bool {
        (self.spans[group].end() as usize).is_multiple_of(self.room)
    }

    /// Begins the queue of a group anew.
    pub fn begin(&mut self, group: usize) {
        self.next[group] = (group * self.room + self.spans[group].end() as usize % self.room) as u32;
    }

    /// The root of a sequence from its start: what has left the queue, if `span` is that, and what waits in it. How
    /// many elements it has.
    ///
    /// # Safety
    /// `to` has room for a node.
    pub unsafe fn root(&self, group: usize, span: Option<&Span>, node: &mut Nodes, to: *mut Node) -> u64 {
        let (x, n) = self.waiting(group);
        let own = &self.spans[group];
        // SAFETY: elements and nodes of this kernel.
        unsafe {
            if n == 0 {
                return span.unwrap_or(own).root(self.kernel, std::ptr::null(), 0, to);
            }
            node.write(1, |to| self.kernel.short(x, n, own.end(), to));
            span.unwrap_or(own).root(self.kernel, node.first(), n as u64, to)
        }
    }
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
