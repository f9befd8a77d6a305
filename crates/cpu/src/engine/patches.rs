//! Outputs that lie in another order among the results than their elements do in the array: say, the sum over the last
//! axis of a transposed array of three axes.
//!
//! Results that are written one by one, far apart, touch a cache line for each of them, and each line once for each of
//! its results. So a patch of outputs, which is compact on both sides, is reduced at a time, by any route. Its results
//! go to a buffer in the cache, in the order of the array, and from there in whole lines to their places.

use std::mem::MaybeUninit;

use warpfold_array::problem::{At, Dim, Problem, Walk, merge};

use super::nodes::Items;
use super::{Storing, Work};
use crate::loops::{Item, Value};
use crate::moves::copy_run;
use crate::output::Output;
use crate::policy::{LEAST_PATCHED, MOST_PATCHED, PATCH, PATCH_LINE, PATCH_RUN};
use crate::transpose::{LINE_BYTES, Rows, take_apart};

/// Bytes of a part of a result of several statistics.
const PART: usize = 8;

/// Cache lines of a row of results from which on rows are padded.
const LONG_ROW: usize = 16;

/// How the outputs of a problem are cut into patches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Patches {
    /// Indices of a patch along each of [`Problem::kept`].
    pub lens: Vec<usize>,
    /// The numbers of these axes in the order in which a patch's results lie in the cache, the fastest one first.
    order: Vec<usize>,
    /// How many of the first of them are the fastest on both sides.
    both: usize,
    /// How many of the first of them are in the order of the array. After these the results are padded.
    near: usize,
}

impl Patches {
    /// The patches of a problem whose results have `bytes` bytes each; `None` if results are written as they come.
    pub fn of(problem: &Problem, bytes: usize, threads: usize) -> Option<Self> {
        Self::of_parts(problem, bytes, 1, threads)
    }

    /// The patches of a problem whose results have `parts` parts of `bytes` bytes each, in arrays of their own.
    fn of_parts(problem: &Problem, bytes: usize, parts: usize, threads: usize) -> Option<Self> {
        let Problem { kept, count, outputs, size, .. } = problem;
        let is_large = *outputs >= LEAST_PATCHED && count.saturating_mul(*size) <= MOST_PATCHED * parts;
        if kept.len() < 2 || bytes == 0 || !is_large || kept.iter().any(|dim| dim.x <= 0 || dim.out <= 0) {
            return None;
        }
        let n = kept.len();
        let mut by_place: Vec<usize> = (0..n).collect();
        by_place.sort_by_key(|&i| kept[i].out);
        let mut run = 1;
        let mut is_next = |i: &usize| {
            let is_next = kept[*i].out == run;
            run *= kept[*i].len as isize;
            is_next
        };
        let both = (0..n).rev().take_while(&mut is_next).count();
        let run: usize = kept[n - both..].iter().map(|dim| dim.len).product();
        let whole_places = kept.iter().all(|dim| dim.out < run as isize || dim.out % run as isize == 0);
        if both + 1 >= n || run * bytes >= LINE_BYTES || !whole_places || kept[by_place[both]].out != run as isize {
            return None;
        }
        // As many neighbours on either side as make whole lines, and then more of them.
        let mut lens = vec![1; n];
        let extend = |lens: &mut Vec<usize>, i: usize, step: usize, most: usize| {
            lens[i] = lens[i].max(most.div_ceil(step).min(kept[i].len));
            lens[i] == kept[i].len && lens[i] * step < most
        };
        let _ = (0..n).rev().all(|i| extend(&mut lens, i, kept[i].x as usize, PATCH_RUN / parts));
        let _ = by_place.iter().all(|&i| extend(&mut lens, i, kept[i].out as usize * bytes, PATCH_LINE));
        let most = PATCH.min(outputs * bytes * parts / (8 * threads.max(1))) / bytes / parts;
        for i in (0..n).rev() {
            let others = lens.iter().product::<usize>();
            lens[i] = (lens[i] * (most / others).max(1)).min(kept[i].len);
        }
        // Axes that go on in memory, up to the one that goes on among the results.
        let far = by_place[both];
        let is_near = |&i: &usize| i > far && (i + 1 == n || lens[i + 1] == kept[i + 1].len);
        let mut order: Vec<usize> = (0..n).rev().take_while(is_near).collect();
        let near = order.len();
        order.extend(by_place.into_iter().filter(|i| !order.contains(i)).collect::<Vec<_>>());
        Some(Self { lens, order, both, near })
    }
}

impl Work<'_> {
    /// Reduces the outputs patch by patch, if it pays; whether it did.
    ///
    /// # Safety
    /// As of [`Work::run`].
    pub(super) unsafe fn patches(&self, out: &Output<Value>) -> bool {
        let apart = match self.storing {
            Some(Storing::Apart(scatter)) => Some(scatter),
            _ => None,
        };
        let patches = match apart {
            None => Patches::of(self.problem, out.size(), self.threads),
            Some(_) => Patches::of_parts(self.problem, PART, (self.facts.value / PART).max(1), self.threads),
        };
        let Some(mut patches) = patches else { return false };
        if apart.is_some() {
            // Results go on to a function, which takes them in their own order.
            patches.order = (0..patches.lens.len()).collect();
            patches.order.sort_by_key(|&i| self.problem.kept[i].out);
            patches.near = 0;
        }
        let kept = &self.problem.kept;
        let grid: Vec<usize> = kept.iter().zip(&patches.lens).map(|(dim, &len)| dim.len.div_ceil(len)).collect();
        self.quiet_tasks(grid.iter().product(), &|task| {
            let (mut rest, mut at, mut place) = (task, self.base, self.problem.out_offset);
            let mut dims = kept.clone();
            for (i, dim) in dims.iter_mut().enumerate().rev() {
                let first = rest % grid[i] * patches.lens[i];
                rest /= grid[i];
                at = at.step(dim, first);
                place += first as isize * dim.out;
                dim.len = patches.lens[i].min(dim.len - first);
            }
            // Steps between results in the cache.
            let (mut steps, mut step) = (vec![0; dims.len()], 1);
            let bytes = if apart.is_some() { self.facts.value } else { out.size() };
            for (k, &i) in patches.order.iter().enumerate() {
                if k == patches.near && apart.is_none() {
                    step += pad(step, patches.both, &dims, bytes);
                }
                steps[i] = step;
                step *= dims[i].len;
            }
            let mut room = Items::new();
            let x = room.room(step * bytes);
            let of_patch = |(dim, &step): (&Dim, &usize)| Dim { out: step as isize, ..*dim };
            let kept = dims.iter().zip(&steps).map(of_patch).filter(|dim| dim.len > 1).collect();
            let outputs = dims.iter().map(|dim| dim.len).product();
            let problem = Problem { kept: merge(kept), outputs, out_offset: 0, ..self.problem.clone() };
            let work = Work { problem: &problem, base: at, threads: 1, ..*self };
            if let Some(scatter) = apart {
                let kept = Output::at_address(x.cast::<MaybeUninit<u8>>(), step, bytes);
                let keep = |values: *const Value, n: usize, number: usize| {
                    // SAFETY: the engine passes `n` results, each of the patch once, and `at` checks the places.
                    unsafe { copy_run(values.cast(), kept.at(number as isize, n), n * bytes) };
                };
                let work = Work { storing: Some(Storing::Apart(&keep)), ..work };
                // SAFETY: the caller vouches for the elements; `keep` takes all results of the patch.
                unsafe { work.run_as_it_lies(&Output::at_address(std::ptr::dangling_mut(), step, 0)) };
                // The fastest axis, and those that go on among all results.
                let (mut n, mut axes) = (1, patches.order.as_slice());
                while let Some((&i, others)) = axes.split_first()
                    && self.problem.kept[i].out == n as isize
                {
                    (n, axes) = (n * dims[i].len, others);
                    if dims[i].len < self.problem.kept[i].len {
                        break;
                    }
                }
                let of = |&i: &usize| Dim { x: (steps[i] * bytes) as isize, mask: 0, ..dims[i] };
                let rest: Vec<Dim> = axes.iter().rev().map(of).collect();
                let mut walk = Walk::new(&rest, At { x: x.cast_const().cast(), mask: std::ptr::null() }, 0);
                for _ in 0..step / n {
                    scatter(walk.at().x.cast(), n, (place + walk.out()) as usize);
                    walk.advance();
                }
                return;
            }
            // SAFETY: the caller vouches for the elements and the places; there is room for the results of the patch,
            // all of which are written before they are moved. Patches have disjoint outputs.
            unsafe {
                work.run_as_it_lies(&Output::at_address(x.cast(), step, bytes));
                self.spread(&patches, &dims, &steps, x, out, place);
            }
        });
        true
    }

    /// Moves the results of a patch, which are `steps` apart, to their places from number `place` on.
    ///
    /// # Safety
    /// The results are written, and no other task writes the places.
    unsafe fn spread(
        &self,
        patches: &Patches,
        dims: &[Dim],
        steps: &[usize],
        x: *const Item,
        out: &Output<Value>,
        place: isize,
    ) {
        let last: isize = dims.iter().map(|dim| (dim.len as isize - 1) * dim.out).sum();
        let (first, _) = (out.at(place, 1), out.at(place + last, 1));
        let run: usize = patches.order[..patches.both].iter().map(|&i| dims[i].len).product();
        // What lies side by side on both sides is one element.
        let item = run * out.size();
        let (row, near) = (patches.order[patches.both], &patches.order[patches.both + 1..patches.near]);
        let (far, others) = patches.order[patches.near..].split_first().expect("an axis of results side by side");
        // Axes that go on on both sides are one.
        let (mut n, mut goes_on) = (dims[*far].len, 0);
        for &i in others {
            let is_next = dims[i].out == dims[*far].out * n as isize && steps[i] == steps[*far] * n;
            if !is_next {
                break;
            }
            (n, goes_on) = (n * dims[i].len, goes_on + 1);
        }
        let size = out.size();
        let of = |&i: &usize| Dim { x: (steps[i] * size) as isize, mask: 0, ..dims[i] };
        let rest: Vec<Dim> = near.iter().chain(&others[goes_on..]).map(of).collect();
        let at = At { x: x.cast(), mask: std::ptr::null() };
        let mut walk = Walk::new(&rest, at, 0);
        let whole = self.numbers;
        let rows = Rows { n, columns: dims[row].len, step: steps[*far] / run, bytes: item, whole };
        let pitch = dims[row].out as usize / run;
        for _ in 0..rest.iter().map(|dim| dim.len).product::<usize>() {
            let to = first.wrapping_byte_offset(walk.out() * size as isize);
            // SAFETY: the caller vouches for the results and the places, the first and the last of which are in bounds.
            unsafe { take_apart(walk.at().x.cast::<Value>(), rows, to, pitch) };
            walk.advance();
        }
    }
}

/// Results that are left free after a long row of `len` of them, so that rows do not compete for one cache set: the
/// next row begins an odd number of cache lines later.
fn pad(len: usize, both: usize, dims: &[Dim], bytes: usize) -> usize {
    let run: usize = dims[dims.len() - both..].iter().map(|dim| dim.len).product();
    let line = LINE_BYTES.div_ceil(run * bytes) * run;
    let lines = len.div_ceil(line) | 1;
    if lines < LONG_ROW { 0 } else { lines * line - len }
}
