//! Staged outputs: outputs of so few bytes that a warp takes many, by way of shared memory.
//!
//! Idea: a warp copies up to 4 KiB of memory to shared memory by whole lines, so that no length of rows and no address
//! costs much more than another. Then a lane has an output to itself, or 2 to 32 lanes have stretches of one, and take
//! its elements from there: side by side (short rows), or at equal distances (few columns). Neighbouring lanes have
//! neighbouring outputs. Bottleneck: integer instructions, by their count; of f32 rows of 64, memory.

use crate::address::array;
use crate::node::publish;
use crate::params::params;
use crate::reduce::call::Call;
use crate::reduce::fold::Parts;
use crate::reduce::shape::map::Divisor;
use crate::reduce::shape::piece::{Outputs, Stretch, Walk, divide, share};
use crate::reduce::shape::split::{STEPS, next};
use crate::reduce::shape::stage::{BLOCK, Source, Stage};
use crate::source::Bits;
use warpfold_simt::{ALL, Simt};

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
        /// Outputs side by side in a unit.
        pub width: Divisor,
        /// Elements of the output from one of these to the next.
        pub beside: i64,
        /// Lines for which each unit has room, if units are staged one by one; otherwise of no matter.
        pub lines: Divisor,
        /// Elements of an output.
        pub len: u32,
        /// Bytes from element to element.
        pub near: u32,
        /// Bytes of a unit.
        pub bytes: u32,
        /// Whether units are staged one by one, and not with what is between them.
        pub apart: u32,
        /// Units of a tile.
        pub per_tile: u32,
        /// Tiles that a warp takes, one after the other.
        pub turns: u32,
        /// Lanes to an output, a power of two.
        pub lanes: u32,
        /// Packs of a lane: at most 15, and a power of two up to 8 if several lanes share an output.
        pub packs: u32,
        /// Tiles of a line.
        pub tiles: u64,
        /// Bytes from the input to the end of the array.
        pub end: u64,
        /// Elements of a row, if units are stretches of rows and leave parts for another launch; else none.
        pub row: u64,
        /// Elements from column to column of the row's sequence, if outputs side by side are parts of one row.
        pub beyond: u64,
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
    /// The number of the first unit.
    unit: u64,
}

impl Tile {
    #[inline(always)]
    fn new<S: Simt, const K: usize>(s: &S, call: &Call<Staged<K>>, number: u64) -> Self {
        let shape = &call.shape;
        let (mut tile, mut first, mut out) = (number, call.at.input, 0);
        if s.branch(shape.outputs.total > 1) {
            let (outer, within) = divide(number, shape.tiles);
            let at = shape.outputs.at(outer);
            (tile, first, out) = (within, first.wrapping_add(at.x as u64), at.out);
        }
        let unit = tile * shape.per_tile as u64;
        Self {
            first: first.wrapping_add((unit as i64 * shape.pitch) as u64),
            out: out + unit as i64 * shape.out,
            units: (shape.units - unit).min(shape.per_tile as u64) as u32,
            unit,
        }
    }

    /// What it has of memory.
    #[inline(always)]
    fn source<const K: usize>(&self, call: &Call<Staged<K>>) -> Source {
        let shape = &call.shape;
        let end = call.at.input.wrapping_add(shape.end);
        let Staged { pitch, mut bytes, lines, .. } = *shape;
        if shape.row > 0 {
            // The last unit of a row may have fewer elements.
            let len = shape.len as u64;
            bytes -= ((self.unit + self.units as u64) * len).saturating_sub(shape.row) as u32 * shape.near;
        }
        if shape.apart != 0 {
            Source { first: self.first, step: pitch, segments: self.units, bytes, lines, end }
        } else {
            let bytes = (self.units - 1) * pitch as u32 + bytes;
            Source { first: self.first, step: 0, segments: 1, bytes, lines, end }
        }
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
            singles(s, &walk, call, &tile);
        } else {
            let source = tile.source(call);
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
    let (first, pitch, width) = (tile.first as u32, shape.pitch as u32, shape.width.by as u32);
    let dense = shape.near == W::Bits::SIZE;
    let total = tile.units * width;
    // Lanes side by side have outputs side by side.
    let abreast = share(32, shape.lanes);
    let own = s.lane() & (abreast - 1);
    let mine = share(s.lane(), abreast) * shape.packs * W::PER;
    let mut o = own;
    while s.again(o - own < total) {
        let there = o < total;
        let at = if there { o } else { 0 };
        let (unit, column) = if s.branch(width == 1) { (at, 0) } else { shape.width.divide_small(at) };
        // Where the output's first element is in shared memory.
        let base = if s.branch(shape.apart != 0) {
            16 * unit * shape.lines.by as u32 + (first.wrapping_add(unit.wrapping_mul(pitch)) & 15)
        } else {
            (first & 15) + unit * pitch + column * W::Bits::SIZE
        };
        // Elements of the row before this unit.
        let before = || (tile.unit + unit as u64) * shape.len as u64;
        let mut len = shape.len;
        if s.branch(shape.row > 0) {
            len = (shape.row - before()).min(len as u64) as u32;
        }
        let count = (len.max(mine) - mine).min(shape.packs * W::PER);
        let stretch = Stretch { first: mine, count: if there { count } else { 0 }, packs: shape.packs };
        let read = |k: u32| {
            let from = mine + k * W::PER;
            if s.branch(dense) {
                return stage.pack::<S, W::Bits>(s, base + from * W::Bits::SIZE);
            }
            stage.gather::<S, W::Bits>(
                s,
                #[inline(always)]
                |e| base + (from + e).min(len - 1) * shape.near,
            )
        };
        let mut part = walk.walk(s, stretch, ordinary, read);
        if s.branch(shape.lanes > 1) {
            part = walk.together(s, part, abreast);
        }
        if s.branch(there && mine == 0) {
            let out = tile.out + unit as i64 * shape.out + column as i64 * shape.beside;
            if s.branch(shape.row > 0) {
                let before = before() + column as u64 * shape.beyond;
                publish(s, call.partials(), out as usize, walk.fold().moved(part, before));
            } else {
                walk.fold().finish(s, &call.recipe, part, call.out(out));
            }
        }
        o += abreast;
    }
}

/// Elements of a lane that are finished together: more would be more code, fewer more moves.
const GROUP: u32 = 2;

/// The outputs of a tile, of one element each: a reduction of nothing.
#[inline(always)]
fn singles<S: Simt, W: Walk, const K: usize>(s: &S, walk: &W, call: &Call<Staged<K>>, tile: &Tile) {
    let shape = &call.shape;
    let mut o = s.lane();
    while s.again(o - s.lane() < tile.units) {
        let mut bits: [W::Bits; STEPS] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| {
                let number = (o + 32 * k as u32).min(tile.units - 1);
                s.load(array(tile.first.wrapping_add((number as i64 * shape.pitch) as u64)), 0)
            },
        );
        let (mut k, steps) = (0, s.opaque(STEPS as u32));
        while s.again(k < steps) {
            let mut j = 0;
            while j < GROUP {
                let number = o + 32 * (k + j);
                if s.branch(number < tile.units) {
                    let out = call.out(tile.out + number as i64 * shape.out);
                    walk.fold().finish(s, &call.recipe, walk.alone(s, bits[j as usize]), out);
                }
                j += 1;
            }
            k += GROUP;
            bits = next(next(bits, bits[0]), bits[0]);
        }
        o += 32 * STEPS as u32;
    }
}
