//! A part of an array as lines: runs of the reduced sequence that lie in memory at one step.

use warpfold_array::problem::{At, Dim, Problem};
use warpfold_array::{ArrayRef, Error, Progress};

use super::range::{Piece, Range, joined, levels};
use super::rooted::Rooted;
use super::wrong::wrong;
use crate::bound::Bound;
use crate::engine::Work;
use crate::engine::nodes::{Items, Nodes};
use crate::output::Output;
use crate::parallel;
use crate::policy::{BLOCK, ONE_THREAD};

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
    ) -> Vec<Range> {
        let lines = self.len();
        let work = lines.saturating_mul(outputs).saturating_mul(self.line().len);
        // Either each thread has many lines, or all threads share each.
        let parts = if threads == 1 || work < ONE_THREAD || lines < 4 * threads { 1 } else { 4 * threads };
        let inside = if parts == 1 { threads } else { 1 };
        let part = |part: usize| {
            let mut items = Items::new();
            let of_part = lines * part / parts..lines * (part + 1) / parts;
            let ranges = of_part.map(|line| {
                // SAFETY: the caller's.
                unsafe { self.range(bound, outputs, line, inside, progress, &mut items) }
            });
            joined(bound.kernel, outputs, ranges.collect())
        };
        let found = if parts == 1 { part(0) } else { parallel::map(parts, part).into_iter().flatten().collect() };
        joined(bound.kernel, outputs, found)
    }

    /// The nodes of one line.
    ///
    /// # Safety
    /// The elements of the part are readable.
    unsafe fn range(
        &self,
        bound: &Bound<'_>,
        outputs: usize,
        line: usize,
        threads: usize,
        progress: Option<Progress<'_>>,
        items: &mut Items,
    ) -> Range {
        let (first, start) = self.at(line);
        let dim = self.line();
        let mut range = Range::new(start);
        let mut done = 0;
        for level in levels(start, start + dim.len as u64) {
            let (at, n) = (first.step(&dim, done), 1usize << level);
            // SAFETY: the caller's; the piece is `n` elements of the line.
            let nodes = unsafe {
                if outputs == 1 && n <= BLOCK {
                    self.block(bound, at, n, range.end, items)
                } else {
                    self.piece(bound, outputs, at, n, range.end, threads, progress)
                }
            };
            range.push(bound.kernel, outputs, Piece { level, nodes });
            done += n;
        }
        range
    }

    /// The node of at most a block of elements of the only output.
    ///
    /// # Safety
    /// The `n` elements are readable.
    unsafe fn block(&self, bound: &Bound<'_>, at: At, n: usize, start: u64, items: &mut Items) -> Nodes {
        let (facts, dim) = (bound.kernel.facts(), self.line());
        let dense = n == 1 || dim.x == facts.item as isize;
        let mut nodes = Nodes::with_capacity(facts.node, 1);
        // SAFETY: the elements are in place, dense and aligned, or are gathered to a room of their size. One node is
        // written.
        unsafe {
            let x = if bound.load.direct() && dense && at.x.addr().is_multiple_of(facts.align) {
                at.x.cast()
            } else {
                let room = items.room(n * facts.item);
                bound.load.gather(at, &dim, n, room);
                room.cast_const()
            };
            nodes.write(1, |to| bound.kernel.short(x, n, start, to));
        }
        nodes
    }

    /// The nodes of all outputs of a piece of a line.
    ///
    /// # Safety
    /// The elements are readable.
    #[allow(clippy::too_many_arguments)]
    unsafe fn piece(
        &self,
        bound: &Bound<'_>,
        outputs: usize,
        at: At,
        n: usize,
        start: u64,
        threads: usize,
        progress: Option<Progress<'_>>,
    ) -> Nodes {
        let last = self.shape.len() - 1;
        let shape = [&self.shape[..last], &[n]].concat();
        let problem = Problem::of(&shape, &self.strides, &self.mask_strides, &[last], self.size);
        let base = at.offset(problem.x_offset, problem.mask_offset);
        let rooted = Rooted(bound.kernel);
        let work = Work::new(&rooted, bound.load, &problem, base, threads, progress);
        let mut nodes = Nodes::with_capacity(rooted.0.facts().node, outputs);
        // SAFETY: the caller vouches for the elements; there is a place for the node of each output, and all are
        // written, since there are elements.
        unsafe {
            nodes.write(outputs, |to| {
                let out = Output::at_address(to.cast(), outputs, rooted.0.facts().node);
                assert!(work.outputs(&out), "there are elements");
            });
            (bound.wires.moved)(nodes.first_mut(), outputs, start);
        }
        nodes
    }
}
