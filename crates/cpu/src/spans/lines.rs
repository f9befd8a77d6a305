//! A part of an array as lines: runs of the reduced sequence that lie in memory at one step.

use std::ops::Range;

use warpfold_array::problem::{At, Dim, Problem, Walk};
use warpfold_array::{ArrayRef, Error, Progress};

use super::range::{Ranges, levels};
use super::rooted::Rooted;
use super::wrong::wrong;
use crate::bound::Bound;
use crate::engine::Work;
use crate::engine::nodes::{Items, Nodes};
use crate::loops::Node;
use crate::moves::copy;
use crate::output::Output;
use crate::parallel;
use crate::policy::{AHEAD_LIGHT, BLOCK, ONE_THREAD};
use crate::simd::prefetch;

/// The most elements of a task of the only output.
const TASK: usize = 1 << 20;

/// A true mask for any element, which steps of 0 repeat.
static TRUE: u8 = 1;

/// The lines of a part.
pub struct Lines {
    /// Kept axes, then one axis of a line; lengths, and steps in the array and the mask.
    shape: Vec<usize>,
    strides: Vec<isize>,
    mask_strides: Vec<isize>,
    size: usize,
    /// Bytes to the first element.
    base: At,
    /// The reduced axes that lines do not cover, the outermost first.
    outer: Vec<Outer>,
    /// The index in the sequence of the first line's first element.
    start: u64,
}

/// A reduced axis that lines do not cover.
struct Outer {
    dim: Dim,
    /// The step in the sequence.
    step: u64,
}

/// The number of elements of a sequence, and how many of them follow from one index of each axis to the next.
fn steps(total: &[u64]) -> Result<Vec<u64>, Error> {
    let mut steps = vec![1u64; total.len()];
    for axis in (1..total.len()).rev() {
        steps[axis - 1] = steps[axis].checked_mul(total[axis]).ok_or_else(too_long)?;
    }
    let all = total.first().map_or(Some(1), |&first| steps[0].checked_mul(first));
    all.filter(|&all| all <= i64::MAX as u64).map(|_| steps).ok_or_else(too_long)
}

fn too_long() -> Error {
    wrong("the reduced axes have more elements than 2^63".into())
}

impl Lines {
    /// The lines of a part, whose reduced axes are `axes`, sorted.
    pub fn new(
        array: &ArrayRef<'_>,
        axes: &[usize],
        start: &[u64],
        total: &[u64],
        mask: Option<&ArrayRef<'_>>,
        masked: bool,
    ) -> Result<Self, Error> {
        if start.len() != axes.len() || total.len() != axes.len() {
            let (axes, start, total) = (axes.len(), start.len(), total.len());
            return Err(wrong(format!("{axes} axes are reduced, but there are {start} starts and {total} totals")));
        }
        for ((&axis, &start), &total) in axes.iter().zip(start).zip(total) {
            let len = array.shape()[axis] as u64;
            if start.checked_add(len).is_none_or(|end| end > total) {
                return Err(wrong(format!(
                    "along axis {axis} a part of {len} from {start} on exceeds the {total} of the whole"
                )));
            }
        }
        let mask_strides = match mask {
            Some(mask) => warpfold_array::problem::broadcast(mask, array)?,
            None => vec![0; array.shape().len()],
        };
        let nowhere = if masked { &raw const TRUE } else { std::ptr::null() };
        let base = At { x: array.base(), mask: mask.map_or(nowhere, ArrayRef::base) };
        let steps = steps(total)?;
        let first = start.iter().zip(&steps).map(|(start, step)| start * step).sum();
        let dims = axes.iter().map(|&axis| Dim {
            len: array.shape()[axis],
            x: array.strides()[axis],
            mask: mask_strides[axis],
            out: 0,
        });
        let mut outer: Vec<Outer> = dims.zip(steps).map(|(dim, step)| Outer { dim, step }).collect();
        let mut line = Dim { len: 1, x: array.dtype().size() as isize, mask: 0, out: 0 };
        let mut whole = true;
        // Axes join from the innermost on, while those inside are whole, and memory goes on at one step.
        while let Some(next) = outer.last().filter(|_| whole).map(|outer| outer.dim) {
            let len = line.len as isize;
            match (line.len, next.len) {
                (_, 1) => {}
                (1, _) => line = next,
                _ if next.x == line.x * len && next.mask == line.mask * len => line.len *= next.len,
                _ => break,
            }
            outer.pop();
            whole = next.len as u64 == total[outer.len()];
        }
        let kept = (0..array.shape().len()).filter(|axis| !axes.contains(axis));
        let (mut shape, mut strides, mut masks) = (Vec::new(), Vec::new(), Vec::new());
        for axis in kept {
            shape.push(array.shape()[axis]);
            strides.push(array.strides()[axis]);
            masks.push(mask_strides[axis]);
        }
        if outer.iter().any(|outer| outer.dim.len == 0) {
            line.len = 0;
        }
        shape.push(line.len);
        strides.push(line.x);
        masks.push(line.mask);
        Ok(Self { shape, strides, mask_strides: masks, size: array.dtype().size(), base, outer, start: first })
    }

    /// The number of lines.
    fn len(&self) -> usize {
        if self.line().len == 0 { 0 } else { self.outer.iter().map(|outer| outer.dim.len).product() }
    }

    /// The axis of a line.
    fn line(&self) -> Dim {
        let last = self.shape.len() - 1;
        Dim { len: self.shape[last], x: self.strides[last], mask: self.mask_strides[last], out: 0 }
    }

    /// About how many nodes of each output there will be.
    pub fn nodes(&self) -> usize {
        self.len().saturating_mul(2 * (usize::BITS - self.line().len.leading_zeros()) as usize)
    }

    /// Where a line begins in memory and in the sequence.
    fn at(&self, line: usize) -> (At, u64) {
        let (mut at, mut start, mut rest) = (self.base, self.start, line);
        for outer in self.outer.iter().rev() {
            let i = rest % outer.dim.len;
            rest /= outer.dim.len;
            at = at.step(&outer.dim, i);
            start += i as u64 * outer.step;
        }
        (at, start)
    }

    /// Prefetches the first elements of the line that is next: the CPU does not know where it begins.
    fn prefetch(&self, next: At) {
        let dim = self.line();
        if dim.x == self.size as isize {
            prefetch(next.x, AHEAD_LIGHT.min(dim.len * self.size));
        }
    }

    /// The nodes of all lines.
    ///
    /// # Safety
    /// The elements of the part are readable.
    pub unsafe fn reduce(
        &self,
        bound: &Bound<'_>,
        outputs: usize,
        threads: usize,
        progress: Option<Progress<'_>>,
    ) -> Ranges {
        let (lines, len) = (self.len(), self.line().len);
        let elements = lines.saturating_mul(len);
        let alone = threads == 1 || elements.saturating_mul(outputs) < ONE_THREAD;
        if outputs == 1 {
            // Tasks are stretches of the part, which need not end with a line.
            let tasks = elements.div_ceil(TASK).max(if alone { 1 } else { 4 * threads });
            let task = |task: usize| {
                // SAFETY: the caller's.
                let found = unsafe { self.stretch(bound, elements * task / tasks..elements * (task + 1) / tasks) };
                progress.inspect(|progress| progress((elements / tasks * self.size) as u64));
                found
            };
            let run = |task: &(dyn Fn(usize) + Sync)| match alone {
                true => (0..tasks).for_each(task),
                false => parallel::for_each(tasks, task),
            };
            return self.joined(bound, outputs, parallel::results(tasks, run, task));
        }
        // Either each thread has many lines, or all threads share each.
        let tasks = if alone || lines < 4 * threads { 1 } else { 4 * threads };
        let inside = if tasks == 1 && !alone { threads } else { 1 };
        // Elements side by side are read once for each output, and not once for each piece of the line. A line that is
        // one piece is transposed by the engine.
        let dense = self.line().x == self.size as isize && outputs >= 8 * inside;
        let apart = |line: usize| {
            let start = self.at(line).1;
            dense && levels(start, start + len as u64).nth(1).is_some()
        };
        let task = |task: usize| {
            let mut ranges = Ranges::new(bound.kernel, outputs);
            for line in lines * task / tasks..lines * (task + 1) / tasks {
                // SAFETY: the caller's.
                unsafe {
                    if apart(line) {
                        let tasks = if inside == 1 { 1 } else { 4 * inside };
                        self.outputs_of_line(bound, outputs, line, tasks, progress, &mut ranges);
                    } else {
                        self.of_line(bound, outputs, line, inside, progress, &mut ranges);
                    }
                }
            }
            ranges
        };
        self.joined(bound, outputs, parallel::map(tasks, task))
    }

    /// What tasks have found, in order.
    fn joined(&self, bound: &Bound<'_>, outputs: usize, found: Vec<Ranges>) -> Ranges {
        let mut all = found.into_iter();
        let mut first = all.next().unwrap_or_else(|| Ranges::new(bound.kernel, outputs));
        let others: Vec<Ranges> = all.collect();
        first.merge(bound.kernel, &others.iter().collect::<Vec<_>>()).expect("lines are disjoint");
        first
    }

    /// The nodes of some elements of the only output, which are counted line after line.
    ///
    /// # Safety
    /// The elements of the part are readable.
    unsafe fn stretch(&self, bound: &Bound<'_>, elements: Range<usize>) -> Ranges {
        let dim = self.line();
        let mut ranges = Ranges::new(bound.kernel, 1);
        let mut items = Items::new();
        let mut next = elements.start;
        while next < elements.end {
            let (line, from) = (next / dim.len, next % dim.len);
            let n = (dim.len - from).min(elements.end - next);
            let (first, start) = self.at(line);
            let (first, start) = (first.step(&dim, from), start + from as u64);
            ranges.begin(start);
            if line + 1 < self.len() {
                self.prefetch(self.at(line + 1).0);
            }
            // SAFETY: these are elements of the line.
            unsafe { self.run(bound, first, n, &mut items, &mut ranges) };
            next += n;
        }
        ranges
    }

    /// Appends the nodes of `n` elements along a line, of one output.
    ///
    /// # Safety
    /// The elements are readable.
    unsafe fn run(&self, bound: &Bound<'_>, first: At, n: usize, items: &mut Items, ranges: &mut Ranges) {
        let (facts, dim) = (bound.kernel.facts(), self.line());
        let dense = n == 1 || dim.x == facts.item as isize;
        if bound.load.direct() && dense && first.x.addr().is_multiple_of(facts.align) {
            // SAFETY: the elements are in place, dense and aligned.
            return unsafe { ranges.extend(bound.kernel, first.x.cast(), n) };
        }
        let mut done = 0;
        while done < n {
            // To the end of a block, so that blocks are nodes.
            let few = (BLOCK - ranges.end() as usize % BLOCK).min(n - done);
            let room = items.room(BLOCK * facts.item);
            // SAFETY: the elements are among the `n` of the line, and are gathered to a room of their size.
            unsafe {
                bound.load.gather(first.step(&dim, done), &dim, few, room);
                ranges.extend(bound.kernel, room, few);
            }
            done += few;
        }
    }

    /// Appends the nodes of one line, whose elements lie side by side, one output after the other.
    ///
    /// # Safety
    /// The elements of the part are readable.
    unsafe fn outputs_of_line(
        &self,
        bound: &Bound<'_>,
        outputs: usize,
        line: usize,
        tasks: usize,
        progress: Option<Progress<'_>>,
        ranges: &mut Ranges,
    ) {
        let ((first, start), len, size) = (self.at(line), self.line().len, bound.kernel.facts().node);
        let levels: Vec<u32> = levels(start, start + len as u64).collect();
        let kept: Vec<Dim> = (0..self.shape.len() - 1)
            .map(|axis| Dim { len: self.shape[axis], x: self.strides[axis], mask: self.mask_strides[axis], out: 0 })
            .collect();
        // [piece][output], as ranges have them.
        let mut nodes = Nodes::with_capacity(size, levels.len() * outputs);
        let write = |to: *mut Node| {
            let places = Output::at_address(to, levels.len() * outputs, size);
            parallel::for_each(tasks, &|task| {
                let (mut items, mut one) = (Items::new(), Ranges::new(bound.kernel, 1));
                let of_task = outputs * task / tasks..outputs * (task + 1) / tasks;
                let mut walk = Walk::new(&kept, first, of_task.start);
                for output in of_task.clone() {
                    let here = walk.at();
                    walk.advance();
                    self.prefetch(walk.at());
                    one.clear();
                    one.begin(start);
                    // SAFETY: the caller vouches for the elements of all outputs. The pieces of one output are
                    // canonical, so they are those of `levels`; each has a place, which no other task writes.
                    unsafe {
                        self.run(bound, here, len, &mut items, &mut one);
                        assert!(one.len_of_pieces() == levels.len(), "canonical pieces");
                        for piece in 0..levels.len() {
                            copy(one.at(piece), places.at((piece * outputs + output) as isize, 1), size);
                        }
                    }
                }
                progress.inspect(|progress| progress((of_task.len() * len * self.size) as u64));
            });
        };
        // SAFETY: the tasks write every place.
        unsafe { nodes.write(levels.len() * outputs, write) };
        ranges.begin(start);
        for (i, &level) in levels.iter().enumerate() {
            // SAFETY: the nodes of the piece are written, one for each output.
            unsafe { ranges.push(bound.kernel, level, |to| copy(nodes.at(i * outputs), to, outputs * size)) };
        }
    }

    /// Appends the nodes of one line.
    ///
    /// # Safety
    /// The elements of the part are readable.
    unsafe fn of_line(
        &self,
        bound: &Bound<'_>,
        outputs: usize,
        line: usize,
        threads: usize,
        progress: Option<Progress<'_>>,
        ranges: &mut Ranges,
    ) {
        let (first, start) = self.at(line);
        let dim = self.line();
        ranges.begin(start);
        let mut done = 0;
        for level in levels(start, start + dim.len as u64) {
            let (at, n) = (first.step(&dim, done), 1usize << level);
            let piece = Piece { at, n, start: start + done as u64 };
            // SAFETY: the caller's; the piece is `n` elements of the line. All of its nodes are written.
            unsafe {
                ranges.push(bound.kernel, level, |to| self.piece(bound, outputs, piece, threads, progress, to));
            }
            done += n;
        }
    }

    /// Writes the nodes of all outputs of a piece of a line.
    ///
    /// # Safety
    /// The elements are readable, and there is room for the nodes.
    unsafe fn piece(
        &self,
        bound: &Bound<'_>,
        outputs: usize,
        piece: Piece,
        threads: usize,
        progress: Option<Progress<'_>>,
        to: *mut Node,
    ) {
        let last = self.shape.len() - 1;
        let shape = [&self.shape[..last], &[piece.n]].concat();
        let problem = Problem::of(&shape, &self.strides, &self.mask_strides, &[last], self.size);
        let base = piece.at.offset(problem.x_offset, problem.mask_offset);
        let rooted = Rooted(bound.kernel);
        let work = Work::new(&rooted, bound.load, &problem, base, threads, progress);
        let out = Output::at_address(to.cast(), outputs, rooted.0.facts().node);
        // SAFETY: the caller vouches for the elements, and for a place for the node of each output. All are written,
        // since there are elements.
        unsafe {
            assert!(work.outputs(&out), "there are elements");
            (bound.wires.moved)(to, outputs, piece.start);
        }
    }
}

/// Some elements of a line: where they are, how many, and the index of the first in the sequence.
#[derive(Clone, Copy)]
struct Piece {
    at: At,
    n: usize,
    start: u64,
}
