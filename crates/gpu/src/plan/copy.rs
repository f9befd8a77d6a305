//! The launch that copies elements by tiles: along which axes a tile is read, and along which it is written.

use warpfold_kernels::reduce::any::AXES;
use warpfold_kernels::reduce::call::CallAt;
use warpfold_kernels::reduce::transpose::{Axis, FAR, NEAR, SIDE, Side, Transpose, tile};

use super::launch::Launch;
use super::limits::Limits;
use super::policy::TRANSPOSE_SPREAD;

/// Threads of a block that copies.
const THREADS: u32 = 256;

/// What a tile costs beside its elements, in elements: what is computed once for each tile, of about 130 instructions,
/// where an element has about 20.
const TILE_COST: usize = 1500;

/// An axis of what is copied: its length, and bytes from one element to the next in the input and in the copy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Way {
    pub len: usize,
    pub from: isize,
    pub to: usize,
}

/// A side of the tiles in the making.
struct Taken {
    side: Side,
    elements: usize,
    axes: Vec<usize>,
    is_cut: bool,
}

impl Taken {
    fn new() -> Self {
        let one = Axis { len: 1, from: 0, to: 0 };
        let side = Side { places: 1, inner: 1, len: 1, stretch: 1, stretches: one, ..Side::default() };
        Self { side, elements: 1, axes: Vec::new(), is_cut: false }
    }

    /// Whether the side can have one more axis, and stays below `most` elements.
    fn has_room(&self, most: usize) -> bool {
        !self.is_cut && self.axes.len() < SIDE && 2 * self.elements <= most
    }

    /// Takes one more axis, whole or in stretches, so that the side has at most one of these numbers of elements: that
    /// whose stretches cost the least, each `cost` of the side's elements. The first is best.
    fn take(&mut self, number: usize, axis: Way, most: impl Iterator<Item = usize>, cost: impl Fn(usize) -> usize) {
        let stretch = |most: usize| (most / self.elements).clamp(1, axis.len);
        let all = |stretch: usize| axis.len.div_ceil(stretch) * cost(self.elements * stretch);
        let stretch = most.map(stretch).min_by_key(|&stretch| all(stretch)).unwrap_or(1);
        let whole = Axis { len: axis.len as u64, from: axis.from as i64, to: axis.to as u64 };
        self.side.axis[self.axes.len()] = whole;
        self.axes.push(number);
        let count = axis.len.div_ceil(stretch);
        self.is_cut = count > 1;
        self.side.axes += 1;
        self.side.inner = self.elements as u64;
        (self.side.len, self.side.stretch) = (axis.len as u64, stretch as u64);
        let (from, to) = (axis.from as i64 * stretch as i64, (axis.to * stretch) as u64);
        self.side.stretches = Axis { len: count as u64, from, to };
        self.elements *= stretch;
        self.side.places = self.elements as u64;
    }
}

/// The same axes in pairs of elements, if these lie side by side in the input and in the copy, and all of them begin
/// with multiples of a pair.
fn in_pairs(axes: &[Way], size: usize, from: isize, to: usize) -> Option<Vec<Way>> {
    let (last, outer) = axes.split_last()?;
    let pair = 2 * size;
    let is_even = |axis: &Way| axis.from % pair as isize == 0 && axis.to.is_multiple_of(pair);
    let beside = last.from == size as isize && last.to == size && last.len.is_multiple_of(2);
    let fits = pair <= 8 && from % pair as isize == 0 && to.is_multiple_of(pair) && outer.iter().all(is_even);
    let pairs = Way { len: last.len / 2, from: pair as isize, to: pair };
    (beside && fits).then(|| [outer, &[pairs]].concat())
}

/// As [`copy`], from an array that begins with a line of 16 bytes, if `limits` say so, to where a line begins: of
/// larger elements, which need fewer instructions, where some lie side by side.
pub(super) fn copy_lines(axes: &[Way], size: usize, from: isize, to: usize, limits: &Limits) -> Launch<CallAt> {
    match in_pairs(axes, size, from, to).filter(|_| limits.aligned) {
        Some(pairs) => copy_lines(&pairs, 2 * size, from, to, limits),
        None => copy(axes, size, from, to, limits),
    }
}

/// The launch that copies elements, the innermost axis last. `from` and `to` say where the first is.
pub(super) fn copy(axes: &[Way], size: usize, from: isize, to: usize, limits: &Limits) -> Launch<CallAt> {
    let mut by_source: Vec<usize> = (0..axes.len()).collect();
    by_source.sort_by_key(|&i| axes[i].from.unsigned_abs());
    // A sector is 32 bytes, and a line 128.
    let line = 128 / size;
    let is_last = |i: usize| i + 1 == axes.len();
    let near_side = |line: usize| {
        let mut near = Taken::new();
        // The copy's innermost axis is on the far side. If its elements lie side by side in the input, too, but too few
        // for a line, the near side has what shares lines with them.
        let short = by_source.iter().skip_while(|&&i| is_last(i) && axes[i].len < line);
        for &i in short.take_while(|&&i| !is_last(i)) {
            if !near.has_room(line) {
                break;
            }
            let most = [line, 2 * line, 4 * line].into_iter().filter(|&most| most <= NEAR);
            // Threads that are left over do not read.
            near.take(i, axes[i], most, |elements| THREADS as usize / (THREADS as usize / elements));
        }
        near
    };
    let far_side = |near: &Taken| {
        let mut far = Taken::new();
        let room = 1 << (tile(size) / near.elements).min(FAR).ilog2();
        for i in (0..axes.len()).rev().filter(|i| !near.axes.contains(i)) {
            if !far.has_room(room) {
                break;
            }
            let most = [room, room / 2, room / 4].into_iter().filter(|&most| most >= 32.min(room));
            far.take(i, axes[i], most, |elements| elements.next_power_of_two() * near.elements + TILE_COST);
        }
        far
    };
    let mut near = near_side(line);
    let mut far = far_side(&near);
    // A far side of few elements leaves room for more of the near one.
    let more = (tile(size) / far.elements.next_power_of_two()).min(NEAR);
    if !far.is_cut && near.is_cut && 2 * near.elements <= more {
        near = near_side(more);
        far = far_side(&near);
    }
    far.side.places = far.elements.next_power_of_two() as u64;
    let mut call = Transpose {
        at: CallAt::default(),
        from: from as i64,
        to: to as u64,
        near: near.side,
        far: far.side,
        axes: 0,
        axis: [Axis::default(); AXES],
        tiles: near.side.stretches.len * far.side.stretches.len,
    };
    for &i in by_source.iter().filter(|i| !near.axes.contains(i) && !far.axes.contains(i)) {
        let axis = Axis { len: axes[i].len as u64, from: axes[i].from as i64, to: axes[i].to as u64 };
        call.axis[call.axes as usize] = axis;
        call.axes += 1;
        call.tiles *= axis.len;
    }
    let grid = call.tiles.min(limits.multiprocessors as u64 * TRANSPOSE_SPREAD);
    Launch::new(format!("transpose_b{size}"), grid as u32, THREADS, &call)
}
