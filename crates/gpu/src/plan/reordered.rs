//! Plans of reductions with results whose neighbours in the input are far apart in the output: results are written side
//! by side, in the order of memory, and then copied to their places by tiles. Columns of few rows that are some steps
//! apart have such results, too: those of what lies between them, which is reduced as well, and not copied.

use std::cmp::Reverse;

use warpfold_array::Op;
use warpfold_array::problem::{Dim, Problem, merge};
use warpfold_kernels::reduce::any::AXES;

use super::copy::{Way, copy};
use super::described::DESCRIBED;
use super::launch::{From, Moved, To};
use super::limits::Limits;
use super::near::is_stepped;
use super::parts::numbered;
use super::policy::{BESIDE_BYTES, FILLED_BYTES, REORDERED, SECTOR, SHALLOW, STAGED_FEW};
use super::transpose::{ALIGNED, Asked, Copied, is_small};

/// Arrays of results that follow one another, of elements of the same size.
struct Results {
    /// Bytes before the first of them, for each output.
    before: usize,
    /// How many.
    arrays: usize,
    /// Bytes of an element.
    size: usize,
}

/// All arrays of results.
fn results(asked: &Asked<'_>) -> Vec<Results> {
    if !asked.described {
        return vec![Results { before: 0, arrays: 1, size: asked.spec.result().size() }];
    }
    let (mut all, mut before): (Vec<Results>, usize) = (Vec::new(), 0);
    for (_, own) in DESCRIBED {
        let size = own.unwrap_or(asked.spec.input).size();
        match all.last_mut().filter(|last| last.size == size) {
            Some(last) => last.arrays += 1,
            None => all.push(Results { before, arrays: 1, size }),
        }
        before += size;
    }
    all
}

/// How many steps apart the columns of few rows are, if what lies between them is to be reduced as well: shallow
/// columns have no steps, and other kernels take eight rows at a time, however few there are.
fn filled(asked: &Asked<'_>, problem: &Problem) -> Option<usize> {
    let Problem { kept, reduced, size, count, .. } = problem;
    let ([rows], columns) = (&reduced[..], kept.last()?) else { return None };
    let is_beside = is_stepped(columns.x, *size) && rows.x.unsigned_abs() >= columns.len * columns.x as usize;
    let is_shallow = asked.fold.facts.shallow && *count <= 8 && columns.len >= SHALLOW;
    // All results have at most the bytes of what is read.
    let are_few = (asked.spec.result().size()..=FILLED_BYTES).contains(&(count * size));
    (is_beside && is_shallow && are_few && !asked.described).then(|| columns.x as usize / size)
}

/// A problem whose results lie in the output as its elements do in memory, and how they get to their places.
pub(super) struct Reordered {
    /// That problem.
    pub(super) own: Problem,
    /// Whether it has more neighbours side by side, of which the other has few. On an H200, argmax f32 (262144,2,64,2)
    /// along axis 0 in order 0,2,1,3 took 603 us as two columns, 128 times: in memory it has 256.
    pub(super) is_torn: bool,
    /// Its axes in the output, the outermost first: steps in the problem's results, and in those of the output.
    axes: Vec<Dim>,
    /// The place among the problem's results of that which is first in the output, and the place of that there.
    first: [isize; 2],
}

impl Reordered {
    /// None, if results lie in the output as they do in the input, or are few and lanes have columns enough.
    pub(super) fn of(asked: &Asked<'_>, problem: &Problem, limits: &Limits) -> Option<Self> {
        let Problem { count, outputs, size, .. } = *problem;
        // Two results are one array here.
        let both = asked.spec.op == Op::MinMax || asked.spec.means > 0;
        if problem.reduced.is_empty() || both || is_small(problem, limits) {
            return None;
        }
        let (mut rows, inner) = (numbered(problem), problem.kept.last()?);
        let steps = filled(asked, problem);
        if let Some((columns, steps)) = rows.kept.last_mut().zip(steps) {
            let all = columns.len * steps;
            *columns = Dim { len: all, x: size as isize, ..*columns };
            rows = numbered(&Problem { outputs: outputs * steps, ..rows });
            rows.kept.last_mut()?.len = all - (steps - 1);
        }
        let own = Problem { kept: merge(rows.kept.clone()), out_offset: 0, ..rows.clone() };
        if let Some(columns) = rows.kept.last_mut() {
            columns.out *= steps.unwrap_or(1) as isize;
        }
        let all = results(asked);
        let arrays: usize = all.iter().map(|results| results.arrays).sum();
        let most = all.iter().map(|results| results.size).max()?;
        let is_far = inner.out.unsigned_abs() * most >= SECTOR;
        let are_many = arrays * outputs * SECTOR * REORDERED >= count * outputs * size;
        let (is_beside, few) = match problem.reduced[..] {
            // Rows side by side, which are staged.
            [run] if run.x == size as isize && inner.x as usize == run.len * size => {
                (true, inner.len * run.len * size < STAGED_FEW)
            }
            _ => (inner.x == size as isize, inner.len * size < BESIDE_BYTES),
        };
        let is_wider = own.kept.last().is_some_and(|axis| axis.len > inner.len);
        let is_torn = is_beside && few && is_wider;
        if !(is_far && are_many || is_torn || steps.is_some()) || problem.kept.len() >= AXES {
            return None;
        }
        // The copy goes upwards in the output.
        let (mut axes, mut first) = (Vec::new(), [0; 2]);
        for (axis, own) in problem.kept.iter().zip(&rows.kept) {
            let (last, up) = (axis.len as isize - 1, if axis.out < 0 { -1 } else { 1 });
            if up < 0 {
                first = [first[0] + own.out * last, first[1] + axis.out * last];
            }
            axes.push(Dim { len: axis.len, x: up * own.out, mask: 0, out: up * axis.out });
        }
        axes.sort_by_key(|axis| Reverse(axis.out));
        first[1] += if asked.described { problem.out_offset } else { 0 };
        Some(Self { own, is_torn, axes: merge(axes), first })
    }

    /// The plan of that problem, and then the copies.
    pub(super) fn plan(&self, asked: &Asked<'_>, inner: Copied, limits: &Limits) -> Copied {
        let outputs = self.own.outputs;
        let staged = inner.workspace.next_multiple_of(ALIGNED);
        let mut launches: Vec<_> = inner.launches.into_iter().map(|launch| launch.with_results_at(staged)).collect();
        let mut room = 0;
        for Results { before, arrays, size } in results(asked) {
            let [from, to] = self.first.map(|place| place * size as isize);
            let way = |axis: &Dim| Way { len: axis.len, from: axis.x * size as isize, to: axis.out as usize * size };
            let array = Way { len: arrays, from: (outputs * size) as isize, to: outputs * size };
            let all = (arrays > 1).then_some(array).into_iter();
            let ways: Vec<Way> = all.chain(self.axes.iter().map(way)).collect();
            let moved = Moved {
                from: From::Workspace(staged + before * outputs),
                to: To::Output((before * outputs) as isize + to),
            };
            launches.push(copy(&ways, size, from, 0, limits).moved(moved));
            room = outputs * (before + arrays * size);
        }
        Copied { launches, workspace: staged + room, bytes: inner.bytes + 2 * room as u64 }
    }
}
