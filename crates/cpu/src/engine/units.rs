//! Units of a transposed array's lanes: subtrees of a few elements, reduced abreast as they are read.
//!
//! Where a power of two divides the innermost reduced axis, lanes begin and end with units of so many elements. The
//! units of neighbouring lanes lie abreast in memory, so a panel reduces them there, and only their nodes are
//! transposed into index order.
//!
//! 128 MiB in Fortran order, two threads of an EPYC with AVX-512, ms by elements, and by units (a read takes 3.7): sum
//! of f16 (13168, 5096) 21, 10; of bf16 (41995, 799, 2) 27, 18; of f64 (4271, 3928) 9.6, 8.3; of f32 (13168, 2548),
//! whose units have four, 6.7, 8.5.

use warpfold_array::problem::{At, Dim, Problem, Walk};

use super::Work;
use super::nodes::{Items, Nodes};
use super::span::Span;
use crate::loops::Node;
use crate::moves::TILE;
use crate::panel::{Panel, RowList};
use crate::policy::PANEL;
use crate::simd::prefetch;
use crate::transpose::{Rows, take_apart};

/// Rows that are reduced before the next ones are prefetched.
const AT_ONCE: usize = 32;

/// Some lanes of one output, and the part of them that a task reduces.
pub(super) struct Tile<'a> {
    pub base: At,
    pub lane: Dim,
    pub inner: &'a [Dim],
    pub lanes: usize,
    /// The index of the first lane's first element.
    pub first: usize,
    /// Elements of a whole lane.
    pub depth: usize,
    pub from: usize,
    pub to: usize,
}

/// The units of a problem's lanes.
#[derive(Clone, Copy)]
pub(super) struct Units {
    /// Elements of a unit, a power of two, a step of the innermost axis apart.
    pub len: usize,
    /// From element to element.
    step: isize,
    /// Units that follow one another, a step apart.
    groups: Dim,
}

impl Units {
    /// The units of lanes along `lane`, at most a panel; none, if lanes must be read an element at a time.
    pub(super) fn of(work: &Work<'_>, lane: &Dim, inner: &[Dim]) -> Option<Self> {
        let Problem { kept, reduced, size, .. } = work.problem;
        let facts = &work.facts;
        let (last, before) = inner.split_last()?;
        let len = PANEL.min(1 << last.len.trailing_zeros());
        let groups = match before.last() {
            Some(next) if last.len == len => *next,
            _ => Dim { len: last.len / len, x: last.x * len as isize, ..*last },
        };
        let aligned = |dim: &Dim| dim.x.unsigned_abs().is_multiple_of(facts.align) && dim.mask == 0;
        let is_read = work.load.direct() && lane.x == *size as isize && lane.len >= TILE && groups.x > 0;
        // Elements of two bytes are slow to transpose, so that units of two of them gain something.
        let least = if facts.item <= 2 { 2 } else { PANEL };
        // Kernels with a way of their own for dense rows take no groups.
        let takes = !facts.free && !facts.runs && !facts.indexed && !facts.dense && facts.rows == PANEL;
        let pays = takes && len >= least && facts.node <= len * facts.item;
        let fits = work.base.x.addr().is_multiple_of(facts.align) && kept.iter().chain(reduced).all(aligned);
        (is_read && pays && fits).then_some(Self { len, step: last.x, groups })
    }
}

impl Work<'_> {
    /// The span of a tile's lanes, or one for each lane if the tile has a part of them: as `lanes`, by units.
    ///
    /// # Safety
    /// The elements of the tile are readable, and it begins and ends with units.
    pub(super) unsafe fn lanes_in_units(&self, tile: &Tile<'_>, units: &Units) -> Vec<Span> {
        let (node, n) = (self.facts.node, (tile.to - tile.from) / units.len);
        let (lanes, mut abreast, mut room) = (tile.lanes, Nodes::new(node), Items::new());
        // SAFETY: the caller vouches for the elements; there is room for the nodes of all units, which are written
        // before they are read.
        unsafe {
            abreast.write(n * lanes, |to| self.units_abreast(tile, units, to));
            let apart: *mut Node = room.room(n * lanes * node).cast();
            take_apart(abreast.first(), Rows::dense(n, lanes, node, self.facts.number), apart, n);
            let whole = tile.to - tile.from == tile.depth;
            let (spans, each) = if whole { (1, n * lanes) } else { (lanes, n) };
            let mut found = Vec::with_capacity(spans);
            for i in 0..spans {
                let mut span = Span::new(self.kernel, (tile.first + i * tile.depth + tile.from) as u64);
                span.extend_by_nodes(self.kernel, apart.byte_add(i * each * node), each, units.len);
                found.push(span);
            }
            found
        }
    }

    /// Writes the nodes of a tile's units, unit after unit, those of all lanes side by side.
    ///
    /// # Safety
    /// As of [`Work::lanes_in_units`]; there is room for the nodes.
    unsafe fn units_abreast(&self, tile: &Tile<'_>, units: &Units, to: *mut Node) {
        let n = (tile.to - tile.from) / units.len;
        let mut done = 0;
        while done < n {
            let first = tile.from / units.len + done;
            let groups = (units.groups.len - first % units.groups.len).min(n - done).min(AT_ONCE / units.len);
            let At { x, .. } = Walk::new(tile.inner, tile.base, first * units.len).at();
            // Each row is on a page of its own, so the CPU does not load ahead by itself.
            for row in 0..groups * units.len {
                let group = (groups + row / units.len) as isize * units.groups.x;
                let row = x.wrapping_offset(group + (row % units.len) as isize * units.step);
                prefetch(row.cast::<u8>(), tile.lanes * self.facts.item);
            }
            let rows: RowList<_> = (0..units.len).map(|i| x.wrapping_offset(i as isize * units.step).cast()).collect();
            let panel = Panel { rows: rows.as_slice(), start: 0, groups, step: units.groups.x as usize };
            // SAFETY: the caller vouches for the lanes' elements and for the room.
            unsafe { self.kernel.panel(panel, tile.lanes, to.byte_add(done * tile.lanes * self.facts.node)) };
            done += groups;
            self.tell(groups * units.len * tile.lanes);
        }
    }
}
