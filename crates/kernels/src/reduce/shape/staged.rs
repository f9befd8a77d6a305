//! Staged outputs: outputs of so few bytes that a warp takes many, by way of shared memory.
//!
//! Idea: a warp copies up to 4 KiB of memory to shared memory by whole lines, so that no length of rows and no address
//! costs much more than another. Then a lane has an output to itself, or 2 to 32 lanes have stretches of one, and take
//! its elements from there: side by side (short rows), or at equal distances (few columns). Neighbouring lanes have
//! neighbouring outputs. Bottleneck: instructions, by the profiler: 20 to 60 of a warp for its 32 words, where memory
//! leaves time for 20.

use crate::address::array;
use crate::node::publish;
use crate::params::params;
use crate::reduce::call::Call;
use crate::reduce::fold::Parts;
use crate::reduce::shape::map::Divisor;
use crate::reduce::shape::piece::{FEW, Outputs, Stretch, Team, Walk, divide};
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
        /// Outputs side by side in a unit, or pairs of them.
        pub width: Divisor,
        /// Elements of the output from one of these to the next.
        pub beside: i64,
        /// Bytes from one of these to the next.
        pub across: u64,
        /// Lines for which each unit has room, if units are staged one by one, or each turn, if there are several;
        /// otherwise of no matter.
        pub lines: Divisor,
        /// Elements of a turn, if there are several.
        pub run: Divisor,
        /// Turns of an output.
        pub runs: u64,
        /// Bytes from turn to turn.
        pub far: i64,
        /// Elements of an output.
        pub len: u32,
        /// Bytes from element to element.
        pub near: u32,
        /// Bytes of a unit.
        pub bytes: u32,
        /// [`APART`], [`FLAT`], [`LINED`], [`TURNED`], [`WHOLE`], [`TWINS`], [`ODD`], [`NESTED`].
        pub layout: u32,
        /// Units of a tile.
        pub per_tile: u32,
        /// Tiles that a warp takes, one after the other.
        pub turns: u32,
        /// Lanes to an output.
        pub lanes: u32,
        /// Packs of a lane, of words if outputs are taken in pairs: at most 15, and a power of two up to 8 if several
        /// lanes share an output.
        pub packs: u32,
        /// Outputs that the lanes have side by side.
        pub abreast: Divisor,
        /// Tiles of a line; if units are stretches in turns, of all stretches of the line's rows.
        pub tiles: u64,
        /// Tiles of one stretch of these.
        pub within: u64,
        /// Bytes from the input to the end of the array.
        pub end: u64,
        /// Elements of a row, if units are stretches of rows and leave parts for another launch; else none.
        pub row: u64,
        /// Elements from column to column of the row's sequence, if outputs side by side are parts of one row.
        pub beyond: u64,
    }
}

impl<const K: usize> Staged<K> {
    /// Of a stretch that begins `skip` elements into a turn: bytes of the turn that are not staged. A tile of several
    /// units has all of its turns, since units' runs lie side by side.
    #[inline(always)]
    pub(super) fn skipped(&self, skip: u32) -> u32 {
        if self.per_tile == 1 { skip * self.near } else { 0 }
    }
}

/// Units are staged one by one, and not with what is between them.
pub const APART: u32 = 1;
/// Lines are staged without gaps, and lanes read packs word by word: units are dense and do not begin with lines, or
/// pairs meet no more of others in a bank so. Not where elements are not ordinary.
pub const FLAT: u32 = 2;
/// Lanes that share an output take lines as they lie: units are dense and in any order.
pub const LINED: u32 = 4;
/// Outputs have their elements in several turns, each of which has its room in the stage: the tile's units of that
/// turn.
pub const TURNED: u32 = 8;
/// A line has one output or several, and no other begins in it, and tiles have whole lines; results lie side by side,
/// too, and are as narrow as elements: nothing need be staged.
pub const WHOLE: u32 = 16;
/// Outputs side by side are taken in pairs: a word has an element of each.
pub const TWINS: u32 = 32;
/// The last pair of a unit has one output only.
pub const ODD: u32 = 64;
/// All turns of a unit lie in one stretch of memory, and are staged as they lie.
pub const NESTED: u32 = 128;

/// A tile: where its units are, and where their results go.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    /// The address of the first unit.
    pub(super) first: u64,
    /// The place of its first result.
    pub(super) out: i64,
    /// Units.
    pub(super) units: u32,
    /// The number of the first unit, or of the stretch, if units are stretches in turns.
    unit: u64,
    /// Elements of its first turn that precede it.
    pub(super) skip: u32,
}

impl Tile {
    #[inline(always)]
    fn new<S: Simt, const K: usize>(s: &S, call: &Call<Staged<K>>, number: u64, turns: bool) -> Self {
        let shape = &call.shape;
        let (mut tile, mut first, mut out) = (number, call.at.input, 0);
        if s.branch(shape.outputs.total > 1) {
            let (outer, within) = divide(number, shape.tiles);
            let at = shape.outputs.at(outer);
            (tile, first, out) = (within, first.wrapping_add(at.x as u64), at.out);
        }
        let turned = turns && shape.row > 0 && shape.layout & TURNED != 0;
        let (mut stretch, mut skip) = (0, 0);
        if s.branch(turned) {
            (stretch, tile) = divide(tile, shape.within);
            let (turn, inside) = shape.run.divide(stretch * shape.len as u64);
            skip = inside as u32;
            first = first.wrapping_add((turn as i64 * shape.far) as u64) + shape.skipped(skip) as u64;
            out += stretch as i64;
        }
        let unit = tile * shape.per_tile as u64;
        Self {
            first: first.wrapping_add((unit as i64 * shape.pitch) as u64),
            out: out + unit as i64 * shape.out,
            units: (shape.units - unit).min(shape.per_tile as u64) as u32,
            unit: if turned { stretch } else { unit },
            skip,
        }
    }

    /// Elements of the row before unit `unit`, or before its stretch.
    #[inline(always)]
    pub(super) fn before<const K: usize>(&self, shape: &Staged<K>, unit: u32, turned: bool) -> u64 {
        (self.unit + if turned { 0 } else { unit as u64 }) * shape.len as u64
    }

    /// Whether each output's elements lie side by side and begin with a line.
    #[inline(always)]
    fn lined<B: Bits, const K: usize>(&self, shape: &Staged<K>) -> bool {
        shape.near == B::SIZE && shape.width.by == 1 && (self.first as u32 | shape.pitch as u32) & 15 == 0
    }

    /// Output `o` of the tile: its unit and column, and where its first element is in shared memory.
    #[inline(always)]
    pub(super) fn output<S: Simt, const K: usize>(&self, s: &S, shape: &Staged<K>, o: u32) -> [u32; 3] {
        let (unit, column) = shape.width.divide_small(o);
        let at = (self.first as u32 & 15).wrapping_add(unit.wrapping_mul(shape.pitch as u32));
        let at = at + column * shape.across as u32;
        let base = if s.branch(shape.layout & APART != 0) { 16 * unit * shape.lines.by as u32 + (at & 15) } else { at };
        [unit, column, base]
    }

    /// What it has of memory.
    #[inline(always)]
    fn source<const K: usize>(&self, call: &Call<Staged<K>>, turned: bool) -> Source {
        let shape = &call.shape;
        let end = call.at.input.wrapping_add(shape.end);
        let Staged { pitch, mut bytes, lines, .. } = *shape;
        let (mut segments, mut before, mut less) = (if turned { shape.runs as u32 } else { 1 }, 0, 0);
        if turned && shape.row > 0 {
            let len = (shape.row - self.before(shape, 0, true)).min(shape.len as u64) as u32;
            segments = shape.run.divide_small(self.skip + len - 1).0 + 1;
            (before, less) = self.cut(shape);
        } else if shape.row > 0 {
            // The last unit of a row may have fewer elements.
            let len = shape.len as u64;
            bytes -= ((self.unit + self.units as u64) * len).saturating_sub(shape.row) as u32 * shape.near;
        }
        if shape.layout & APART != 0 {
            return Source { first: self.first, step: pitch, segments: self.units, bytes, before, less, lines, end };
        }
        let bytes = (self.units - 1) * pitch as u32 + bytes;
        Source { first: self.first, step: shape.far, segments, bytes, before, less, lines, end }
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
        let tile = Tile::new(s, call, number, W::TURNS);
        if tile.is_whole::<S, W, K>(s, call) {
            tile.whole(s, &walk, call);
        } else if s.branch(shape.len == 1) {
            singles(s, &walk, call, &tile);
        } else {
            let turned = W::TURNS && shape.layout & TURNED != 0;
            let source = tile.source(call, turned);
            let (walk, lines, ordinary) = walk.ready(s, source.read::<S, W::Bits>(s));
            let ordinary = s.all(ALL, ordinary);
            let few = W::HAS_FEW && shape.len <= FEW && shape.lanes == 1 && shape.row == 0;
            let lined = !turned && tile.lined::<W::Bits, K>(shape);
            let flat = if few { !lined } else { shape.layout & FLAT != 0 && ordinary };
            let twins = W::TWINS && shape.layout & TWINS != 0;
            stage.keep(s, lines, source.count(), flat, twins && !flat);
            s.warp_barrier(ALL);
            if W::TWINS && s.branch(twins) {
                tile.twins(s, &walk, call, stage, flat);
            } else if s.branch(few) {
                short(s, &walk, call, &tile, stage, [ordinary, lined]);
            } else {
                outputs(s, &walk, call, &tile, stage, [ordinary, flat]);
            }
            s.warp_barrier(ALL);
        }
        number += 1;
        t += 1;
    }
}

/// The outputs of a tile that is staged. Whether elements are all ordinary, and whether there are no gaps between
/// lines.
#[inline(always)]
fn outputs<S: Simt, W: Walk, const K: usize>(
    s: &S,
    walk: &W,
    call: &Call<Staged<K>>,
    tile: &Tile,
    stage: Stage,
    [ordinary, flat]: [bool; 2],
) {
    let shape = &call.shape;
    let turned = W::TURNS && shape.layout & TURNED != 0;
    let dense = shape.near == W::Bits::SIZE && !turned;
    let total = tile.units * shape.width.by as u32;
    // Lanes side by side have outputs side by side.
    let (abreast, (number, own)) = (shape.abreast.by as u32, shape.abreast.divide_small(s.lane()));
    let team = Team { own: number, lanes: shape.lanes, apart: abreast };
    let mine = number * shape.packs * W::PER;
    let mut o = own;
    while s.again(o - own < total) {
        let there = o < total;
        let [unit, column, base] = tile.output(s, shape, if there { o } else { 0 });
        let mut len = shape.len;
        if s.branch(shape.row > 0) {
            len = (shape.row - tile.before(shape, unit, turned)).min(len as u64) as u32;
        }
        let count = (len.max(mine) - mine).min(shape.packs * W::PER);
        let stretch = Stretch { first: mine, count: if there { count } else { 0 }, packs: shape.packs, team };
        let part = if W::FREE && s.branch(shape.layout & LINED != 0) {
            let bytes = if there { [base & 15, len * W::Bits::SIZE] } else { [0; 2] };
            let read = |q, shift| stage.pack::<S, W::Bits>(s, (base >> 4) + q, shift);
            walk.lines(s, bytes, team, read)
        } else if s.branch(flat && dense) {
            let own = base + mine * W::Bits::SIZE;
            walk.walk(s, stretch, true, |k, _| stage.flat_pack::<S, W::Bits>(s, own + 16 * k))
        } else {
            let read = |k: u32, _: bool| {
                if s.branch(dense) {
                    return stage.pack::<S, W::Bits>(s, (base >> 4) + mine / W::PER + k, base & 15);
                }
                let from = mine + k * W::PER;
                if s.branch(turned) {
                    return tile.pack::<S, W, K>(s, shape, stage, base, [from, len].map(|i| i + tile.skip));
                }
                stage.gather::<S, W::Bits>(
                    s,
                    #[inline(always)]
                    |e| base + (from + e).min(len - 1) * shape.near,
                )
            };
            walk.walk(s, stretch, ordinary, read)
        };
        if s.branch(there && mine == 0) {
            let out = tile.out + unit as i64 * shape.out + column as i64 * shape.beside;
            if s.branch(shape.row > 0) {
                let before = tile.before(shape, unit, turned) + column as u64 * shape.beyond;
                publish(s, call.partials(), out as usize, walk.fold().moved(part, before));
            } else {
                walk.fold().finish(s, &call.recipe, part, call.out(out));
            }
        }
        o += abreast;
    }
}

/// The outputs of a tile that is staged, of at most [`FEW`] elements each, if a lane has one to itself. Whether
/// elements are all ordinary, and whether outputs begin with lines: otherwise there are no gaps between lines.
#[inline(always)]
fn short<S: Simt, W: Walk, const K: usize>(
    s: &S,
    walk: &W,
    call: &Call<Staged<K>>,
    tile: &Tile,
    stage: Stage,
    [ordinary, lined]: [bool; 2],
) {
    let shape = &call.shape;
    let total = tile.units * shape.width.by as u32;
    let len = s.opaque(shape.len);
    let mut o = s.lane();
    while s.again(o < total) {
        let [unit, column, base] = tile.output(s, shape, o);
        let mut e = [W::Bits::ZERO; FEW as usize];
        if s.branch(lined) {
            let mut k = 0;
            while k < FEW && (k == 0 || s.branch(k < len)) {
                let line = stage.line(s, (base >> 4) + k / W::PER);
                let mut i = 0;
                while i < W::PER && k + i < FEW {
                    e[(k + i) as usize] = W::Bits::nth(&line, i as usize);
                    i += 1;
                }
                k += W::PER;
            }
        } else if W::TURNS && s.branch(shape.layout & TURNED != 0) {
            // So much code is kept short: elements come in at the end, until the first is the first.
            let (mut k, all) = (0, s.opaque(FEW));
            while s.again(k < all) {
                let (turn, inside) = shape.run.divide_small(k.min(len - 1));
                e = next(e, stage.flat(s, tile.place(shape, base, turn, inside)));
                k += 1;
            }
        } else {
            let mut k = 0;
            while k < FEW && (k < 2 || s.branch(k < len)) {
                e[k as usize] = stage.flat(s, base + k * shape.near);
                k += 1;
            }
        }
        let out = tile.out + unit as i64 * shape.out + column as i64 * shape.beside;
        walk.fold().finish(s, &call.recipe, walk.few(s, &e, len, ordinary), call.out(out));
        o += 32;
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
