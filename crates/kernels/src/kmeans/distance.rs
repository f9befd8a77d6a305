//! The square of each point's distance to its centroid: the library's tree over the squares of the differences, in the
//! order of the coordinates. A lane has a point; eight coordinates are a subtree in registers, and these meet as a
//! binary counter carries.

use crate::address::array;
use crate::block::THREADS;
use crate::kmeans::Distance;
use crate::kmeans::number::Number;
use crate::source::Source;
use warpfold_simt::{Global, Simt};

/// Coordinates of a subtree.
const PANEL: u32 = 8;
/// Levels above it: so many coordinates are supported.
const LEVELS: usize = 13;
/// Coordinates at most.
pub const MOST: usize = (PANEL as usize) << LEVELS;

/// Writes a number for each point, of those with a cluster.
#[inline(always)]
pub fn kernel<S: Simt, T: Source<Value = F>, F: Number>(s: &S, call: &Distance) {
    let point = s.block_x() as u64 * THREADS as u64 + s.thread_x() as u64;
    if !s.branch(point < call.n) {
        return;
    }
    let label: u32 = s.load(array(call.at.labels), point as usize);
    if !s.branch(label < call.clusters) {
        return;
    }
    let centroids: Global<F> = array(call.at.centroids);
    let centroid = centroids.offset(label as usize * call.dimensions as usize);
    let term = |j: u32| {
        let bits = s.load(array(call.at.points + point * call.along + j as u64 * call.across), 0);
        let d = T::value(s, bits).sub(s.load(centroid, j as usize));
        d.mul(d)
    };
    let four = |j: u32| term(j).add(term(j + 1)).add(term(j + 2).add(term(j + 3)));
    let panels = call.dimensions / PANEL;
    let mut nodes = [F::ZERO; LEVELS];
    let mut panel = 0;
    while s.again(panel < panels) {
        let mut node = four(panel * PANEL).add(four(panel * PANEL + 4));
        let mut carries = true;
        for (level, kept) in nodes.iter_mut().enumerate() {
            let joins = panel >> level & 1 == 1;
            let sum = kept.add(node);
            *kept = if carries && !joins { node } else { *kept };
            node = if carries && joins { sum } else { node };
            carries &= joins;
        }
        panel += 1;
    }
    // What is left of a panel, the smallest subtree last.
    let (mut tail, mut some) = (F::ZERO, false);
    let mut before = |node: F| {
        tail = if some { node.add(tail) } else { node };
        some = true;
    };
    let mut at = call.dimensions;
    if s.branch(at & 1 != 0) {
        at -= 1;
        before(term(at));
    }
    if s.branch(at & 2 != 0) {
        at -= 2;
        before(term(at).add(term(at + 1)));
    }
    if s.branch(at & 4 != 0) {
        at -= 4;
        before(four(at));
    }
    for (level, node) in nodes.into_iter().enumerate() {
        if s.branch(panels >> level & 1 == 1) {
            before(node);
        }
    }
    s.store(array(call.at.distances), point as usize, tail);
}
