//! Disjoint ranges of the sequences of many outputs, as canonical nodes in one list.

use std::ops::Range as Numbers;

use crate::bound::Bound;
use crate::engine::pieces::{Growing, Pieces};
use crate::loops::{Item, Loops, Node};

/// Ranges in ascending order, of which none overlaps or touches another, and their nodes.
pub struct Ranges {
    outputs: usize,
    all: Vec<Range>,
    pieces: Pieces,
}

/// One of them. Its pieces go on to the first piece of the next.
#[derive(Clone, Copy)]
struct Range {
    start: u64,
    grown: Growing,
}

/// A range of one of several lists: where it begins, the number of the list, its number there.
type Place = (u64, u32, u32);

impl Ranges {
    /// No ranges yet.
    pub fn new(kernel: &dyn Loops, outputs: usize) -> Self {
        Self { outputs, all: Vec::new(), pieces: Pieces::new(kernel, outputs) }
    }

    /// A copy.
    pub fn copied(&self) -> Self {
        Self { outputs: self.outputs, all: self.all.clone(), pieces: self.pieces.copied() }
    }

    /// The number of ranges.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Where each range begins and ends.
    pub fn bounds(&self) -> impl ExactSizeIterator<Item = (u64, u64)> + '_ {
        self.all.iter().map(|range| (range.start, range.grown.end))
    }

    /// Removes all ranges, and keeps their memory.
    pub fn clear(&mut self) {
        self.all.clear();
        self.pieces.clear();
    }

    /// The number of pieces of all ranges.
    pub fn len_of_pieces(&self) -> usize {
        self.pieces.len()
    }

    /// The address of a piece's nodes.
    pub fn at(&self, piece: usize) -> *const Node {
        self.pieces.at(piece)
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.pieces.len() * self.outputs
    }

    /// The numbers of a range's pieces.
    fn of(&self, i: usize) -> Numbers<usize> {
        let end = self.all.get(i + 1).map_or(self.pieces.len(), |next| next.grown.first);
        self.all[i].grown.first..end
    }

    /// Goes on at `start`: in the last range if it ends there, else in a new one.
    pub fn begin(&mut self, start: u64) {
        if self.all.last().is_none_or(|last| last.grown.end != start) {
            self.all.push(Range { start, grown: Growing { first: self.pieces.len(), end: start } });
        }
    }

    /// The index after the last element.
    pub fn end(&self) -> u64 {
        self.all.last().map_or(0, |last| last.grown.end)
    }

    /// Appends to the last range the nodes of the next `2^level` elements, which `write` writes.
    ///
    /// # Safety
    /// There is a range, and `write` writes a node of this kernel for each output.
    pub unsafe fn push(&mut self, kernel: &dyn Loops, level: u32, write: impl FnOnce(*mut Node)) {
        let last = self.all.last_mut().expect("a range has begun");
        // SAFETY: the caller's.
        unsafe { self.pieces.push(kernel, &mut last.grown, level, write) };
    }

    /// Appends `n` elements to the last range, of the one output.
    ///
    /// # Safety
    /// There is a range, and `n` elements of this kernel's type are readable at `x`.
    pub unsafe fn extend(&mut self, kernel: &dyn Loops, x: *const Item, n: usize) {
        let last = self.all.last_mut().expect("a range has begun");
        // SAFETY: the caller's.
        unsafe { self.pieces.extend(kernel, &mut last.grown, x, n) };
    }

    /// Appends the range number `i` of another list of this kernel, which begins where the last one ends or later.
    fn append(&mut self, kernel: &dyn Loops, other: &Ranges, i: usize) {
        self.begin(other.all[i].start);
        let last = self.all.last_mut().expect("it has begun");
        // SAFETY: lists of one state are of one kernel, and all of their nodes are written.
        unsafe { self.pieces.join(kernel, &mut last.grown, &other.pieces, other.of(i)) };
    }

    /// Adds all ranges of other lists of this kernel; or says which elements are in two of them. Then nothing has
    /// changed.
    pub fn merge(&mut self, kernel: &dyn Loops, others: &[&Ranges]) -> Result<(), (u64, u64)> {
        // Lists that follow one another, and this one, are appended as they are.
        let mut end = self.end();
        let follows = |other: &&Ranges| {
            let first = other.all.first().map_or(end, |range| range.start);
            let after = first >= end;
            end = end.max(other.end());
            after
        };
        if others.iter().all(follows) {
            for other in others {
                (0..other.len()).for_each(|i| self.append(kernel, other, i));
            }
            return Ok(());
        }
        let lists: Vec<&Ranges> = [&*self].into_iter().chain(others.iter().copied()).collect();
        let order = Self::order(&lists)?;
        let mut merged = Self::new(kernel, self.outputs);
        merged.pieces.reserve(lists.iter().map(|list| list.pieces.len()).max().unwrap_or(0));
        for (_, list, i) in order {
            merged.append(kernel, lists[list as usize], i as usize);
        }
        *self = merged;
        Ok(())
    }

    /// The ranges of all lists in ascending order; or elements that are in two of them.
    fn order(lists: &[&Ranges]) -> Result<Vec<Place>, (u64, u64)> {
        let places = |(list, ranges): (usize, &&Ranges)| -> Vec<Place> {
            ranges.all.iter().enumerate().map(|(i, range)| (range.start, list as u32, i as u32)).collect()
        };
        let mut order: Vec<Place> = lists.iter().enumerate().flat_map(places).collect();
        // A stable sort finds the lists, which are sorted, and merges them.
        order.sort();
        let end = |&(_, list, i): &Place| lists[list as usize].all[i as usize].grown.end;
        match order.windows(2).find(|pair| end(&pair[0]) > pair[1].0) {
            Some(pair) => Err((pair[1].0, end(&pair[0]).min(end(&pair[1])))),
            None => Ok(order),
        }
    }

    /// Writes the roots of the trees over the one range, which starts at 0 and is not empty.
    ///
    /// # Safety
    /// `to` has room for a node of each output.
    pub unsafe fn root(&self, kernel: &dyn Loops, to: *mut Node) {
        // SAFETY: the caller's.
        unsafe { self.pieces.root(kernel, 0..self.pieces.len(), std::ptr::null(), 0, to) };
    }

    /// Appends the nodes of a range as bytes.
    pub fn put(&self, bound: &Bound<'_>, i: usize, to: &mut Vec<u8>) {
        let of = self.of(i);
        // SAFETY: a piece has a node for each output, and those of its successors follow.
        unsafe { (bound.wires.put)(self.pieces.at(of.start), of.len() * self.outputs, to) };
    }
}

/// The levels of the canonical nodes of a range, from left to right.
pub fn levels(start: u64, end: u64) -> impl Iterator<Item = u32> {
    let mut at = start;
    std::iter::from_fn(move || {
        let rest = end.checked_sub(at).filter(|&rest| rest > 0)?;
        let level = at.trailing_zeros().min(rest.ilog2());
        at += 1 << level;
        Some(level)
    })
}
