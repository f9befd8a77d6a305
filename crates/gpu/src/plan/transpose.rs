//! Reductions of elements that no kernel reads well where they lie: copied in the order in which they are reduced, in
//! pieces, and reduced as rows.

use std::cmp::Reverse;
use std::ops::Range;

use warpfold_array::Op;
use warpfold_array::problem::{Dim, Problem};
use warpfold_array::request::Spec;
use warpfold_kernels::reduce::call::CallAt;
use warpfold_kernels::reduce::table::KEPT;
use warpfold_kernels::reduce::workspace::COUNTERS;

use super::choose::{Fold, Nodes};
use super::chunk::chunks;
use super::copy::{Way, copy_lines};
use super::launch::{From, Launch, Moved, To};
use super::limits::Limits;
use super::near::{inside, is_crossed, is_nested, is_stepped};
use super::planner::Planner;
use super::policy::{
    BESIDE_BYTES, COPIED_BYTES, NESTED_BYTES, NESTED_COPY, RUN_BYTES, RUNS_COPY, TOGETHER, TRANSPOSED_BYTES,
};

/// Where copies and nodes begin in a workspace, in bytes.
pub(super) const ALIGNED: usize = 256;

/// A copy may have a turn more of an axis at both ends, if it has so many turns in between.
const LITTLE: usize = 16;

/// Bytes side by side in the input, of which a piece has all that it can: a few sectors.
const PIECE_LINE: usize = 256;

/// Elements from one output's element to the next, beyond which what is not reduced is copied by tiles. Not measured.
const TOGETHER_STEPS: usize = 4;

/// Bytes that a copy moves at once, at most.
const WORDS: usize = 8;

/// From the input to the workspace.
const INSIDE: Moved = Moved { from: From::Input(0), to: To::Workspace(0) };

/// Whether an array is so small that a second launch costs more than it saves.
pub(super) fn is_small(Problem { count, outputs, size, .. }: &Problem, limits: &Limits) -> bool {
    count * outputs * size < limits.multiprocessors as usize * TRANSPOSED_BYTES
}

/// Whether an array is read in less than so many seconds.
pub(super) fn is_brief(Problem { count, outputs, size, .. }: &Problem, limits: &Limits, seconds: f64) -> bool {
    ((count * outputs * size) as f64) < limits.bandwidth * seconds
}

/// Whether neighbouring lanes of the kernels that read elements where they lie would find them far apart.
pub(super) fn is_scattered(asked: &Asked<'_>, problem: &Problem, limits: &Limits) -> bool {
    let Problem { kept, reduced, size, count, .. } = problem;
    let is_small = is_small(problem, limits);
    let Some((run, far)) = reduced.split_last() else {
        // Nothing is reduced: a copy, whose neighbours may lie far apart.
        let inner = kept.iter().min_by_key(|axis| axis.out.unsigned_abs());
        let is_far = inner.is_some_and(|axis| axis.x.unsigned_abs() > TOGETHER_STEPS * size);
        return is_far && !is_small && kept.iter().all(|axis| axis.x != 0) && matches!(size, 1 | 2 | 4 | 8);
    };
    // What is broadcast would be copied again and again. Rows of few elements need a kernel of their own.
    let is_few = !asked.fold.facts.staged && count * size < BESIDE_BYTES * 32;
    if is_small || !matches!(size, 1 | 2 | 4 | 8) || is_few || kept.iter().chain(reduced).any(|axis| axis.x == 0) {
        return false;
    }
    let x = *size as isize;
    let is_turned = || asked.planner(problem, problem, 0, limits).turned().is_some();
    if is_nested(problem) {
        return count * size <= NESTED_COPY && !is_turned();
    }
    // Lanes that read elements a few steps apart where they lie find their neighbours' in the same lines.
    // Where these are few, and so are an output's elements, most lanes have nothing: var f32 (50,22369,2,10) over axis
    // 2, three steps apart, took an H100 7829 us.
    let has_lanes = |axis: &Dim| axis.len >= 32 || *count >= 32;
    let beside = kept.last().is_some_and(|axis| is_stepped(axis.x, *size) && has_lanes(axis));
    let stepped = is_stepped(run.x.abs(), *size) || beside;
    let in_runs = run.x == x && (far.is_empty() || (run.len * size >= RUN_BYTES && reduced.len() <= 3));
    let is_read = stepped && reduced.len() <= 3 && !is_crossed(asked.fold, problem);
    let in_words = run.len * size % WORDS == 0 && kept.iter().chain(far).all(|axis| axis.x % WORDS as isize == 0);
    if kept.len() <= KEPT && (in_runs || is_read) {
        // A warp has a tile of each output in several runs, of which few elements leave most of it empty.
        return in_runs && !far.is_empty() && in_words && count * size <= RUNS_COPY && !is_turned();
    }
    if inside(problem).is_some() && is_turned() {
        return false;
    }
    // Where no kernel stages turns, lanes would read small elements of short runs one by one: these are copied several
    // at once. Variances of i8 (2,8388608,16) along axes 0 and 2 took an H200 1059 us where they lie, and 424 so.
    let facts = &asked.fold.facts;
    if *size <= 2 && run.x == x && in_words && facts.ordered && !facts.turns && count * size <= NESTED_BYTES {
        return true;
    }
    // Short runs with others' beside them: var bf16 (136956,196,5) of axes 0 and 2 took an H200 2283 us by a copy, and
    // 293 where they lie.
    let is_run = run.x == x && !far.is_empty() && reduced.len() <= 3;
    if is_run && kept.len() <= KEPT + 1 && kept.last().is_some_and(|axis| axis.x == x * run.len as isize) {
        return false;
    }
    let Some(columns) = kept.last().filter(|axis| axis.x == x && kept.len() <= KEPT + 1) else { return true };
    // Few columns do as well where lanes that take neighbouring rows read a long stretch together.
    let width = columns.len * size;
    let is_wide = width >= BESIDE_BYTES || (run.x == width as isize && run.len * width >= TOGETHER);
    !far.is_empty() && (!is_wide || reduced.len() > 3) && !is_turned()
}

/// The kept axes in the order of the outputs, all of them upwards, and the reduced ones; how far the first element is
/// from the problem's, in bytes, and its output, in elements.
fn in_order(problem: &Problem) -> (Vec<Way>, isize, isize) {
    let (mut from, mut first) = (0, 0);
    let mut kept = problem.kept.clone();
    for axis in kept.iter_mut().filter(|axis| axis.out < 0) {
        let last = axis.len as isize - 1;
        from += axis.x * last;
        first += axis.out * last;
        *axis = Dim { x: -axis.x, out: -axis.out, ..*axis };
    }
    kept.sort_by_key(|axis| Reverse(axis.out));
    let mut to = problem.size;
    let mut axes: Vec<Way> = Vec::new();
    for axis in kept.iter().chain(&problem.reduced).rev() {
        axes.push(Way { len: axis.len, from: axis.x, to });
        to *= axis.len;
    }
    axes.reverse();
    (axes, from, first)
}

/// Boxes of which a range of the places of axes consists, in order: the range of each axis in each.
fn boxes(axes: &[Way], range: Range<usize>) -> Vec<Vec<Range<usize>>> {
    let Some((_, rest)) = axes.split_first() else { return vec![Vec::new()] };
    let inner: usize = rest.iter().map(|axis| axis.len).product();
    let of = |own: Range<usize>, inside: Range<usize>| {
        boxes(rest, inside).into_iter().map(move |rest| [vec![own.clone()], rest].concat())
    };
    let (first, last) = (range.start / inner, (range.end - 1) / inner);
    let (start, end) = (range.start - first * inner, range.end - last * inner);
    if first == last {
        return of(first..first + 1, start..end).collect();
    }
    let (head, tail) = (start > 0, end < inner);
    let middle = first + head as usize..last + 1 - tail as usize;
    let mut all = Vec::new();
    if head {
        all.extend(of(first..first + 1, start..inner));
    }
    if !middle.is_empty() {
        all.extend(of(middle, 0..inner));
    }
    if tail {
        all.extend(of(last..last + 1, 0..end));
    }
    all
}

/// A range that is one box: the least that has all of this one, if that is little more; else the same range.
fn widened(axes: &[Way], range: Range<usize>) -> Range<usize> {
    let Some((_, rest)) = axes.split_first() else { return range };
    let inner: usize = rest.iter().map(|axis| axis.len).product();
    let (first, last) = (range.start / inner, (range.end - 1) / inner);
    if first == last {
        let inside = widened(rest, range.start - first * inner..range.end - first * inner);
        return inside.start + first * inner..inside.end + first * inner;
    }
    if range.len() >= LITTLE * inner { first * inner..(last + 1) * inner } else { range }
}

/// Bytes of a copy at once: as many as policy says, and so many more that a piece has all of most sectors that it
/// reads.
fn piece_bytes(axes: &[Way], size: usize, limits: &Limits) -> usize {
    let unit = (0..axes.len()).min_by_key(|&i| axes[i].from.unsigned_abs()).unwrap_or(0);
    let inner: usize = axes.iter().skip(unit + 1).map(|axis| axis.len).product();
    let all: usize = axes.iter().map(|axis| axis.len).product();
    (limits.multiprocessors as usize * COPIED_BYTES).max((PIECE_LINE * inner).min(all * size))
}

/// At most `each` outputs, if need be fewer: whole turns of the inner axes.
fn whole(axes: &[Way], outputs: usize, each: usize) -> usize {
    let mut inner = outputs;
    for axis in axes {
        if inner <= each {
            break;
        }
        inner /= axis.len;
    }
    each / inner * inner
}

/// The axes of a box, those that are one axis in the input joined, as they are in the copy.
fn merged(axes: &[Way], ranges: &[Range<usize>]) -> Vec<Way> {
    let mut all: Vec<Way> = Vec::new();
    let own = axes.iter().zip(ranges).map(|(axis, range)| Way { len: range.len(), ..*axis });
    for axis in own.filter(|axis| axis.len != 1) {
        match all.last_mut() {
            Some(outer) if outer.from == axis.from * axis.len as isize && outer.to == axis.to * axis.len => {
                *outer = Way { len: outer.len * axis.len, ..axis };
            }
            _ => all.push(axis),
        }
    }
    all
}

/// A part of the copy, and the launches that reduce it.
struct Piece {
    elements: Range<usize>,
    launches: Vec<Launch<CallAt>>,
    /// The output of the first of its elements, counted from the problem's first.
    output: isize,
}

/// What is computed of rows.
pub(super) struct Asked<'a> {
    /// The op and its options.
    pub spec: &'a Spec,
    /// The fold.
    pub fold: &'a Fold,
    /// Whether it is all that `describe` says, an array of outputs for each statistic.
    pub described: bool,
    /// Whether elements become nodes only, or are nodes.
    pub nodes: Nodes,
}

impl Asked<'_> {
    /// A planner of some outputs of `whole`, from the output so many elements from its first.
    pub fn planner<'p>(&self, problem: &'p Problem, whole: &Problem, first: isize, limits: &Limits) -> Planner<'p> {
        let mut planner = Planner::new(self.spec, self.fold.clone(), true, problem, limits);
        planner.recipe = self.nodes.recipe(planner.recipe);
        if self.described {
            planner.recipe.initial = [whole.outputs as u64, (whole.out_offset + first) as u64];
        }
        planner
    }

    /// Bytes of an output, where the output's address says which is the first.
    fn result(&self) -> usize {
        let pair = if self.spec.op == Op::MinMax { 2 } else { 1 };
        if self.described { 0 } else { pair * self.spec.result().size() }
    }
}

/// A plan in several launches, by way of the workspace.
pub(super) struct Copied {
    /// In order.
    pub launches: Vec<Launch<CallAt>>,
    /// Bytes of workspace.
    pub workspace: usize,
    /// Bytes that are written and read there.
    pub bytes: u64,
}

/// Plans a copy and its reduction; none, if no kernel reduces the rows.
pub(super) fn transposed(asked: &Asked<'_>, problem: &Problem, limits: &Limits) -> Option<Copied> {
    let Problem { count, outputs, size, .. } = *problem;
    let (axes, from, first) = in_order(problem);
    let (row, most) = (count * size, piece_bytes(&axes, size, limits));
    let mut pieces = Vec::new();
    let mut partials = COUNTERS;
    if row <= most {
        let each = whole(&axes, outputs, (most / row).min(outputs));
        for start in (0..outputs).step_by(each) {
            let (rows, output) = (dense(each.min(outputs - start), count, size), first + start as isize);
            let mut planner = asked.planner(&rows, problem, output, limits);
            let launches = vec![planner.fast()?];
            partials = partials.max(COUNTERS + 4 * planner.words);
            pieces.push(Piece { elements: start * count..(start + rows.outputs) * count, launches, output });
        }
    } else {
        for start in 0..outputs {
            let (rows, output) = (dense(1, count, size), first + start as isize);
            for chunk in chunks(&asked.planner(&rows, problem, output, limits), most) {
                partials = partials.max(chunk.workspace);
                let at = start * count + chunk.start / size;
                pieces.push(Piece { elements: at..at + chunk.len / size, launches: chunk.launches, output });
            }
        }
    }
    let staged = partials.next_multiple_of(ALIGNED);
    let (mut launches, mut room) = (Vec::new(), 0);
    for Piece { elements, launches: reducing, output } in pieces {
        let copied = widened(&axes, elements.clone());
        // What is reduced begins where lines do.
        let before = (elements.start - copied.start) * size;
        let start = staged + before.next_multiple_of(ALIGNED);
        room = room.max(start - before + copied.len() * size - staged);
        let mut to = start - before;
        for ranges in boxes(&axes, copied) {
            let some = || axes.iter().zip(&ranges);
            let from = from + some().map(|(axis, range)| axis.from * range.start as isize).sum::<isize>();
            launches.push(copy_lines(&merged(&axes, &ranges), size, from, to, limits).moved(INSIDE));
            to += ranges.iter().map(Range::len).product::<usize>() * size;
        }
        let moved = Moved { from: From::Workspace(start), to: To::Output(output * asked.result() as isize) };
        launches.extend(reducing.into_iter().map(|launch| launch.moved(moved)));
    }
    Some(Copied { launches, workspace: staged + room, bytes: (2 * outputs * row) as u64 })
}

/// Rows that follow one another.
fn dense(outputs: usize, count: usize, size: usize) -> Problem {
    let axis = |len: usize, x: usize, out| Dim { len, x: x as isize, mask: 0, out };
    Problem {
        kept: if outputs == 1 { Vec::new() } else { vec![axis(outputs, count * size, 1)] },
        reduced: if count == 1 { Vec::new() } else { vec![axis(count, size, 0)] },
        count,
        outputs,
        size,
        x_offset: 0,
        mask_offset: 0,
        out_offset: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::copy::Way;
    use super::{boxes, widened};

    #[test]
    fn boxes_are_a_range_in_order_and_no_more() {
        let axes = [3, 1, 5, 4].map(|len| Way { len, from: 0, to: 0 });
        let place = |at: &[usize]| axes.iter().zip(at).fold(0, |place, (axis, i)| place * axis.len + i);
        for (start, end) in (0..60).flat_map(|start| (start + 1..61).map(move |end| (start, end))) {
            let mut next = start;
            let all = boxes(&axes, start..end);
            for own in &all {
                assert_eq!(place(&own.iter().map(|range| range.start).collect::<Vec<_>>()), next);
                assert_eq!(place(&own.iter().map(|range| range.end - 1).collect::<Vec<_>>()) + 1, {
                    next += own.iter().map(|range| range.len()).product::<usize>();
                    next
                });
            }
            assert!(next == end && all.len() <= 5, "{start}..{end}: {all:?}");
            let wide = widened(&axes, start..end);
            assert!(wide.start <= start && end <= wide.end && wide.end <= 60);
            assert!(wide == (start..end) || boxes(&axes, wide).len() == 1);
        }
    }
}
