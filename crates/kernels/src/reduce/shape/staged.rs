//! Staged outputs: outputs of so few bytes that a warp takes many, by way of shared memory.
//!
//! Idea: a warp copies up to 4 KiB of memory to shared memory by whole lines, so that no length of rows and no address
//! costs more than another. Then a lane has an output to itself, or 2 to 32 lanes have stretches of one, and take its
//! elements from there: side by side (short rows), or at equal distances (few columns, few rows of columns). Neighbouring
//! lanes have neighbouring outputs. Bottleneck: memory; of elements of a byte, and of outputs of a few bytes, the
//! instructions that find and finish them.

use crate::address::array;
use crate::params::params;
use crate::reduce::call::Call;
use crate::reduce::fold::Parts;
use crate::reduce::shape::map::Divisor;
use crate::reduce::shape::piece::{Outputs, Stretch, Walk, divide, share};
use crate::reduce::shape::split::{STEPS, next};
use crate::reduce::shape::stage::{BLOCK, Source, Stage};
use crate::source::Bits;
use warpfold_simt::{ALL, Simt};

/// How a tile lies in memory, by [`Staged::segments`].
pub mod segments {
    /// All units side by side, or nearly so.
    pub const ONE: u64 = 0;
    /// Each unit by itself.
    pub const UNITS: u64 = 1;
    /// The rows of one unit, each by itself.
    pub const ROWS: u64 = 2;
}

params! {
    /// Outputs in *units*: stretches of memory that have all elements of one output, or of several side by side.
    pub struct Staged[; const K] {
        /// The kept axes outside the units.
        pub outputs: Outputs<K>,
        /// Units in a line, which follow one another at equal distances.
        pub units: u64,
        /// Bytes from unit to unit.
        pub pitch: i64,
        /// Elements from unit to unit in the output.
        pub out: i64,
        /// Outputs side by side in a unit, at most.
        pub width: Divisor,
        /// Outputs side by side in all units of a line, if a line is one matrix: the last unit has what is left of them.
        pub all: u64,
        /// Elements from output to output in a unit.
        pub beside: i64,
        /// Bytes from element to element.
        pub near: i64,
        /// How a tile lies in memory: see [`segments`].
        pub segments: u64,
        /// Lines for which each of several segments has room.
        pub lines: Divisor,
        /// Elements of an output.
        pub len: u32,
        /// Bytes of a unit.
        pub bytes: u32,
        /// Units of a tile.
        pub per_tile: u32,
        /// Tiles that a warp takes, one after the other.
        pub turns: u32,
        /// Lanes to an output, a power of two.
        pub lanes: u32,
        /// Packs of a lane, at most 8.
        pub packs: u32,
        /// Tiles of a line.
        pub tiles: u64,
        /// Bytes from the input to the end of the array.
        pub end: u64,
    }
}

/// A tile: where its units are, and where their results go.
#[derive(Clone, Copy)]
struct Tile {
    /// The address of the first unit.
    first: u64,
    /// The place of its first result.
    out: i64,
    /// Units.
    units: u32,
    /// Outputs of each.
    width: u32,
}

impl Tile {
    #[inline(always)]
    fn new<S: Simt, const K: usize>(s: &S, call: &Call<Staged<K>>, number: u64) -> Self {
        let shape = &call.shape;
        let (outer, number) = if s.branch(shape.outputs.total > 1) { divide(number, shape.tiles) } else { (0, number) };
        let at = shape.outputs.at(outer);
        let unit = number * shape.per_tile as u64;
        Self {
            first: call.at.input.wrapping_add((at.x + unit as i64 * shape.pitch) as u64),
            out: at.out + unit as i64 * shape.out,
            units: (shape.units - unit).min(shape.per_tile as u64) as u32,
            width: (shape.all - unit * shape.width.by).min(shape.width.by) as u32,
        }
    }

    /// What it has of memory.
    #[inline(always)]
    fn source<B: Bits, const K: usize>(&self, call: &Call<Staged<K>>) -> Source {
        let shape = &call.shape;
        let (step, segments, bytes) = match shape.segments {
            segments::UNITS => (shape.pitch, self.units, shape.bytes),
            segments::ROWS => (shape.near, shape.len, self.width * B::SIZE),
            _ => (0, 1, (self.units - 1) * shape.pitch as u32 + shape.bytes),
        };
        let end = call.at.input.wrapping_add(shape.end);
        Source { first: self.first, step, segments, bytes, lines: shape.lines, end }
    }

    /// The unit of output `o`, and the output's number in it.
    #[inline(always)]
    fn unit<S: Simt>(&self, s: &S, width: &Divisor, o: u32) -> (u32, u32) {
        if s.branch(width.by == 1) {
            (o, 0)
        } else if s.branch(self.units == 1) {
            (0, o)
        } else {
            width.divide_small(o)
        }
    }
}

/// Where elements are in shared memory: after each step, a segment may begin anywhere in its first line.
#[derive(Clone, Copy)]
struct Steps {
    /// Bytes of a step.
    step: u32,
    /// Bytes of a step in memory.
    memory: u32,
    /// 15 if each step begins a segment, else 0.
    mask: u32,
}

impl Steps {
    #[inline(always)]
    fn new(memory: u32, begins: bool, lines: u32) -> Self {
        if begins { Self { step: 16 * lines, memory, mask: 15 } } else { Self { step: memory, memory, mask: 0 } }
    }

    /// Bytes to the end of step `k`, in memory from address `first` on.
    #[inline(always)]
    fn at(&self, first: u32, k: u32) -> u32 {
        k * self.step + ((first.wrapping_add(k.wrapping_mul(self.memory))) & self.mask)
    }
}

/// See the module.
#[inline(always)]
pub fn kernel<S: Simt, W: Walk, const K: usize>(s: &S, call: &Call<Staged<K>>) {
    let walk = W::new(&call.recipe);
    let shape = &call.shape;
    let stage = Stage::new(s.shared::<u32, BLOCK, 0>("stage"), s.warp());
    let warp = s.block_x() as u64 * (s.block_dim_x() / 32) as u64 + s.warp() as u64;
    let (mut number, mut t) = (warp * shape.turns as u64, 0);
    while s.again(t < shape.turns && number < shape.outputs.total * shape.tiles) {
        let tile = Tile::new(s, call, number);
        if s.branch(shape.len == 1) {
            single(s, &walk, call, &tile);
        } else {
            let source = tile.source::<W::Bits, K>(call);
            let (walk, lines, ordinary) = walk.ready(s, source.read::<S, W::Bits>(s));
            let ordinary = s.all(ALL, ordinary);
            stage.keep(s, lines, source.count());
            s.warp_barrier(ALL);
            outputs(s, &walk, call, &tile, stage, ordinary);
            s.warp_barrier(ALL);
        }
        number += 1;
        t += 1;
    }
}

/// The outputs of a tile that is staged.
#[inline(always)]
fn outputs<S: Simt, W: Walk, const K: usize>(
    s: &S,
    walk: &W,
    call: &Call<Staged<K>>,
    tile: &Tile,
    stage: Stage,
    ordinary: bool,
) {
    let shape = &call.shape;
    let first = tile.first as u32;
    let (by_unit, by_row) = (shape.segments == segments::UNITS, shape.segments == segments::ROWS);
    let lines = shape.lines.by as u32;
    let units = Steps::new(shape.pitch as u32, by_unit, lines);
    let elements = Steps::new(shape.near as u32, by_row, lines);
    let shift = if by_unit || by_row { 0 } else { first & 15 };
    let dense = shape.near == W::Bits::SIZE as i64 && !by_row;
    let total = tile.units * tile.width;
    // Lanes side by side have outputs side by side.
    let abreast = share(32, shape.lanes);
    let own = s.lane() & (abreast - 1);
    let mine = share(s.lane(), abreast) * shape.packs * W::PER;
    let count = (shape.len.max(mine) - mine).min(shape.packs * W::PER);
    let mut o = own;
    while s.again(o - own < total) {
        let there = o < total;
        let (unit, column) = tile.unit(s, &shape.width, if there { o } else { 0 });
        let base = shift + units.at(first, unit) + column * W::Bits::SIZE;
        let stretch = Stretch { first: mine, count: if there { count } else { 0 }, packs: shape.packs };
        let read = |k: u32| {
            let from = mine + k * W::PER;
            if s.branch(dense) {
                return stage.pack::<S, W::Bits>(s, base + from * W::Bits::SIZE);
            }
            stage.gather::<S, W::Bits>(
                s,
                #[inline(always)]
                |e| base + elements.at(first, (from + e).min(shape.len - 1)),
            )
        };
        let mut part = walk.walk(s, stretch, ordinary, read);
        if s.branch(shape.lanes > 1) {
            part = walk.together(s, part, abreast);
        }
        if s.branch(there && mine == 0) {
            let out = tile.out + unit as i64 * shape.out + column as i64 * shape.beside;
            walk.fold().finish(s, &call.recipe, part, call.out(out));
        }
        o += abreast;
    }
}

/// The outputs of a tile, of one element each: a reduction of nothing.
#[inline(always)]
fn single<S: Simt, W: Walk, const K: usize>(s: &S, walk: &W, call: &Call<Staged<K>>, tile: &Tile) {
    let shape = &call.shape;
    let total = tile.units * tile.width;
    let place = |o: u32| {
        let (unit, column) = tile.unit(s, &shape.width, o);
        let from = (unit as i64 * shape.pitch) as u64 + (column * W::Bits::SIZE) as u64;
        (tile.first.wrapping_add(from), tile.out + unit as i64 * shape.out + column as i64 * shape.beside)
    };
    let mut o = 0;
    while s.again(o < total) {
        // One copy of what finds an element.
        let (mut at, mut k, steps) = ([0u64; STEPS], 0, s.opaque(STEPS as u32));
        while s.again(k < steps) {
            at = next(at, place((o + 32 * k + s.lane()).min(total - 1)).0);
            k += 1;
        }
        let mut bits: [W::Bits; STEPS] = at.map(
            #[inline(always)]
            |at| s.load(array(at), 0),
        );
        k = 0;
        while s.again(k < steps) {
            let own = o + 32 * k + s.lane();
            if s.branch(own < total) {
                walk.fold().finish(s, &call.recipe, walk.single(s, bits[0]), call.out(place(own).1));
            }
            bits = next(bits, bits[0]);
            k += 1;
        }
        o += 32 * STEPS as u32;
    }
}
