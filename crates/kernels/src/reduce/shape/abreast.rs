//! Columns of many rows, one after the other in the order of the tree, though neighbours in memory are columns.
//!
//! Idea: lanes take columns that lie side by side and walk down them abreast, so a row is read by whole lines and
//! nothing need change hands. Only, whole subtrees begin in other rows in each column. So rows meet in pairs as they
//! come, and a lane whose pairs begin in odd rows is one row behind: it takes the first of a pair from what it kept of
//! the pair before. Of pairs of pairs likewise, and so on: two selects an element give every lane its own subtrees. A
//! lane goes on to the next column until its last subtree ends, and leaves the part of each for another launch. Parts
//! of a column follow one another: a warp writes them by whole sectors, by way of shared memory. (Each by itself, they
//! cost as much as three times as many sectors that are read.) Bottleneck: memory, if there are as many columns as
//! lanes.

use crate::address::array;
use crate::node::{Node, publish, put, select};
use crate::params::params;
use crate::reduce::call::Call;
use crate::reduce::fold::Tree;
use crate::reduce::recipe::{Recipe, code};
use crate::reduce::shape::map::Divisor;
use crate::reduce::shape::piece::{Ordered, PACKS, Stretch, Team, Walk};
use crate::reduce::shape::split::STEPS;
use crate::reduce::shape::tiled::Axes;
use crate::source::Bits;
use core::marker::PhantomData;
use warpfold_core::DType;
use warpfold_simt::{ALL, Global, Pack, Shared, Simt};

/// Rows of a tile, with those of the next columns that are read on.
pub const ROWS: usize = 1056;
/// Pairs of a subtree, at most.
const PAIRS: usize = 16;
/// Words of parts that a lane has room for.
const OWN: u32 = 32;
/// Words from one of these to the next in shared memory: lanes are in different banks as they write, and as they read.
const PITCH: u32 = 33;
/// Words of shared memory for the parts of 8 warps.
const ROOM: usize = (8 * OWN * PITCH) as usize;

params! {
    /// Columns, and how they are cut into tiles of some rows.
    pub struct Abreast[; const K] {
        /// The axes of columns outside runs, kept or reduced.
        pub outer: Axes<K>,
        /// The axes of an output's columns.
        pub across: Axes<K>,
        /// The axes of rows.
        pub down: Axes<K>,
        /// Columns of an output.
        pub columns: u64,
        /// Rows of a column.
        pub rows: u64,
        /// Bytes and columns from an output's first column to the run's first.
        pub start: [i64; 2],
        /// Columns of a run: those side by side in memory.
        pub run: u64,
        /// Columns of the inner one of a run's two axes.
        pub low: Divisor,
        /// Columns of an output from place to place of the inner axis, and of the outer one.
        pub numbers: [i64; 2],
        /// The same in the output, in parts.
        pub outs: [i64; 2],
        /// Blocks side by side.
        pub beside: Divisor,
        /// Blocks one below the other.
        pub below: Divisor,
        /// Columns that a warp has of a tile.
        pub wide: Divisor,
        /// Rows of a tile.
        pub fresh: u32,
        /// Tiles of a warp, one below the other, if runs are short: then rows have one axis. Otherwise one.
        pub tiles: u32,
        /// Rows that subtrees go on for below the tile, or in the next column, at most.
        pub beyond: u32,
        /// Bytes of an element.
        pub size: u32,
    }
}

/// A lane's rows of a column.
struct Lane {
    /// Whether it has any.
    is_there: bool,
    /// Elements of the output before the first.
    before: u64,
    /// How many rows there are in the tile.
    own: u32,
    /// What is added to a row's place in the table: of the column, and of the next one.
    at: [u64; 2],
    /// The first row of the table that is the next column's.
    turn: u32,
    /// The last row that may be read.
    last: u32,
    /// The output's place among parts.
    out: i64,
}

/// Parts of a lane that follow one another, until its warp writes them: whole sectors, as far as can be.
struct Left<F: Tree> {
    /// The room of the warp's lanes.
    room: Shared<u32>,
    /// Where parts are.
    parts: Global<u32>,
    /// The place of the first of these among them.
    place: u64,
    /// How many there are, and which of them are any.
    count: u32,
    are: u32,
    kind: PhantomData<F>,
}

impl<F: Tree> Left<F> {
    const WORDS: u32 = F::Part::WORDS;
    /// Parts of a lane.
    const MOST: u32 = OWN / Self::WORDS;

    #[inline(always)]
    fn new<S: Simt, const K: usize>(s: &S, call: &Call<Abreast<K>>, lane: &Lane, len: u32) -> Self {
        let room = s.shared::<u32, ROOM, 1>("parts").offset(s.warp() * OWN * PITCH);
        let place = lane.out as u64 + (lane.before >> len.trailing_zeros());
        Self { room, parts: call.partials(), place, count: 0, are: 0, kind: PhantomData }
    }

    /// The next part, which counts if it `is` one.
    #[inline(always)]
    fn push<S: Simt>(&mut self, s: &S, part: F::Part, is: bool) {
        put(s, self.room, PITCH, self.count * Self::WORDS * PITCH + s.lane(), part);
        self.are |= (is as u32) << self.count;
        self.count += 1;
        if s.branch(self.count == Self::MOST) {
            self.flush(s);
        }
    }

    /// Writes what there is: lanes side by side write the words of one lane after the other.
    #[inline(always)]
    fn flush<S: Simt>(&mut self, s: &S) {
        s.warp_barrier(ALL);
        let k = s.lane();
        let (mut of, all) = (0, s.opaque(32));
        while s.again(of < all) {
            let [low, high] = [self.place as u32, (self.place >> 32) as u32].map(|word| s.shuffle_idx(ALL, word, of));
            let are = s.shuffle_idx(ALL, self.are, of);
            if s.branch(k < Self::MOST * Self::WORDS && are >> (k / Self::WORDS) & 1 != 0) {
                let first = ((high as u64) << 32 | low as u64) * Self::WORDS as u64;
                s.store(self.parts, (first + k as u64) as usize, s.get(self.room, k * PITCH + of));
            }
            of += 1;
        }
        s.warp_barrier(ALL);
        self.place += self.count as u64;
        (self.count, self.are) = (0, 0);
    }
}

/// What is kept of the pair before: an element, and nodes.
struct Kept<F: Tree> {
    element: F::Bits,
    nodes: [F::Node; 4],
}

/// See the module.
#[inline(always)]
pub fn kernel<S: Simt, F: Tree, const K: usize>(s: &S, call: &Call<Abreast<K>>) {
    let (shape, f, len) = (&call.shape, F::new(&call.recipe), PACKS * F::Bits::PER);
    let (rest, beside) = shape.beside.divide_small(s.block_x());
    let (outer, below) = shape.below.divide_small(rest);
    let table = s.shared::<u64, ROWS, 0>("where rows are");
    let first = below as u64 * shape.fresh as u64;
    let mut t = s.thread_x();
    while s.again(t < shape.fresh + len) {
        s.put(table, t, shape.place(first, t as u64));
        t += s.block_dim_x();
    }
    let lane = Lane::new(s, call, len, [outer, beside, below]);
    s.barrier();

    let all = shape.columns * shape.rows;
    let start = lane.before as u32 & (len - 1);
    let mut left = Left::<F>::new(s, call, &lane, len);
    let mut kept = Kept::<F> { element: F::Bits::ZERO, nodes: [f.neutral(); 4] };
    let most = if shape.tiles > 1 { shape.fresh } else { lane.own };
    let (mut chunk, chunks) = (0, (most + shape.beyond).div_ceil(len));
    let read = |chunk: u32| {
        let end = (chunk + 1) * len;
        if s.branch(s.all(ALL, end <= lane.turn && end <= lane.last + 1)) {
            lane.read::<S, F::Bits, K, false, STEPS>(s, call, table, chunk * len)
        } else {
            lane.read::<S, F::Bits, K, true, STEPS>(s, call, table, chunk * len)
        }
    };
    let mut next = read(0);
    while s.again(chunk < chunks) {
        // The next rows are on their way while these are joined.
        let w = next;
        if s.branch(chunk + 1 < chunks) {
            next = read(chunk + 1);
        }
        let w = widened::<S, F::Bits, STEPS>(s, &call.recipe, shape.size, w);
        let (f, w) = f.whole(s, w);
        let node = kept.subtree(s, &f, &w, start);
        // The subtree's first row in the tile, which is before it if that of the first chunk began above.
        let row = (chunk * len).wrapping_sub(start);
        let number = lane.before.wrapping_add(row as i32 as i64 as u64);
        left.push(s, f.part(node, len), lane.is_there && row < lane.own && number + len as u64 <= all);
        chunk += 1;
    }
    left.flush(s);
    // The last of an output, if that is no whole subtree.
    let tail = all as u32 & (len - 1);
    let row = (all - tail as u64).wrapping_sub(lane.before);
    let has_tail = lane.is_there && tail > 0 && row < lane.own as u64;
    if s.branch(s.any(ALL, has_tail)) {
        let (count, row) = if has_tail { (tail, row as u32) } else { (0, 0) };
        let stretch = Stretch { first: 0, count, packs: s.opaque(PACKS), team: Team::ALONE };
        let read = |k: u32, _: bool| {
            let pack = lane.read::<S, F::Bits, K, true, 1>(s, call, table, row + k * F::Bits::PER);
            widened::<S, F::Bits, 1>(s, &call.recipe, shape.size, pack)[0]
        };
        let part = Ordered::<F>(f, PhantomData).walk(s, stretch, false, read);
        if s.branch(has_tail) {
            let place = lane.out as u64 + (all >> len.trailing_zeros());
            publish(s, call.partials(), place as usize, f.moved(part, all - tail as u64));
        }
    }
}

impl<const K: usize> Abreast<K> {
    /// The table's place of row `t` of a tile: bytes from the column's first row, or if one axis has rows, the tile's.
    #[inline(always)]
    fn place(&self, first: u64, t: u64) -> u64 {
        let row = if self.down.count == 1 {
            t
        } else if first + t < self.rows {
            first + t
        } else {
            (first + t - self.rows).min(self.rows - 1)
        };
        self.down.at(row).x as u64
    }
}

impl Lane {
    #[inline(always)]
    fn new<S: Simt, const K: usize>(
        s: &S,
        call: &Call<Abreast<K>>,
        len: u32,
        [outer, beside, below]: [u32; 3],
    ) -> Self {
        let shape = &call.shape;
        let (mut tile, mut column, mut is_there) = (below, 32 * (beside * (s.block_dim_x() / 32) + s.warp()), true);
        if s.branch(shape.tiles > 1) {
            let (own, c) = shape.wide.divide_small(s.lane());
            tile = (below * (s.block_dim_x() / 32) + s.warp()) * shape.tiles + own;
            (column, is_there) = (c, own < shape.tiles);
        } else {
            column += s.lane();
        }
        let mut first = tile as u64 * shape.fresh as u64;
        is_there &= (column as u64) < shape.run && first < shape.rows;
        // A lane without a column reads others.
        if !is_there {
            (column, first) = (0, if shape.tiles > 1 { 0 } else { first });
        }
        let at = shape.outer.at(outer as u64);
        let (high, low) = shape.low.divide_small(column);
        let along = |steps: [i64; 2]| low as i64 * steps[0] + high as i64 * steps[1];
        let number = (at.mask + shape.start[1] + along(shape.numbers)) as u64;
        let has_next = number + 1 < shape.columns;
        let own = (shape.rows - first).min(shape.fresh as u64) as u32;
        let turn = (shape.rows - first).min((shape.fresh + len) as u64) as u32;
        let here = call.at.input.wrapping_add((at.x + shape.start[0]) as u64) + column as u64 * shape.size as u64;
        let next = shape.across.at(if has_next { number + 1 } else { number }).x;
        let next = here.wrapping_add(next.wrapping_sub(shape.across.at(number).x) as u64);
        let step = shape.down.axis[0].x;
        let (down, over) = if shape.down.count == 1 {
            (first as i64 * step, (first as i64 - shape.rows as i64) * step)
        } else {
            (0, 0)
        };
        Self {
            is_there,
            before: number * shape.rows + first,
            own,
            at: [here.wrapping_add(down as u64), next.wrapping_add(over as u64)],
            turn,
            last: if has_next { own + len - 1 } else { (own + len - 1).min(turn - 1) },
            out: at.out + along(shape.outs),
        }
    }

    /// The elements of `N` packs of rows from row `t` on, those of 16 bits in a word each: of this column, or, if it
    /// `TURNS`, of the next.
    #[inline(always)]
    fn read<S: Simt, B: Bits, const K: usize, const TURNS: bool, const N: usize>(
        &self,
        s: &S,
        call: &Call<Abreast<K>>,
        table: Shared<u64>,
        t: u32,
    ) -> [[u32; 4]; N] {
        let first = |k: usize| t + k as u32 * B::PER;
        if B::SIZE == 4 && s.branch(call.shape.size == 2) {
            return warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| self.rows::<S, u16, TURNS>(s, table, first(k), 4).map(|x| x as u32),
            );
        }
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| {
                if B::SIZE == 8 {
                    let [a, b, ..] = self.rows::<S, u64, TURNS>(s, table, first(k), 2);
                    return [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32];
                }
                self.rows::<S, u32, TURNS>(s, table, first(k), 4)
            },
        )
    }

    /// `count` rows from row `t` on.
    #[inline(always)]
    fn rows<S: Simt, T: Bits, const TURNS: bool>(&self, s: &S, table: Shared<u64>, t: u32, count: usize) -> [T; 4] {
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| {
                if i >= count {
                    return T::ZERO;
                }
                let place = if TURNS {
                    let t = (t + i as u32).min(self.last);
                    self.at[(t >= self.turn) as usize].wrapping_add(s.get(table, t))
                } else {
                    // Two places at once.
                    self.at[0].wrapping_add(s.get(table.cast::<Pack<u64, 2>>(), (t + i as u32) / 2).0[i % 2])
                };
                s.load_stream(array(place), 0)
            },
        )
    }
}

/// Elements as f32, if they have 16 bits.
#[inline(always)]
fn widened<S: Simt, B: Bits, const N: usize>(s: &S, recipe: &Recipe, size: u32, w: [[u32; 4]; N]) -> [[u32; 4]; N] {
    if B::SIZE != 4 || s.branch(size != 2) {
        return w;
    }
    if s.branch(recipe.input == code(DType::BF16)) {
        return w.map(|pack| pack.map(|x| x << 16));
    }
    w.map(
        #[inline(always)]
        |pack| pack.map(|x| s.f16_to_f32(x as u16).to_bits()),
    )
}

impl<F: Tree> Kept<F> {
    /// The node of the lane's subtree, of which `start` elements came before these.
    #[inline(always)]
    fn subtree<S: Simt>(&mut self, s: &S, f: &F, w: &[[u32; 4]; STEPS], start: u32) -> F::Node {
        let per = F::Bits::PER as usize;
        let pairs = STEPS * per / 2;
        let (kept, behind) = (self.element, start & 1 != 0);
        let element = |i: usize| F::Bits::nth(&w[i / per], i % per);
        let nodes: [F::Node; PAIRS] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |q| {
                if q >= pairs {
                    return f.neutral();
                }
                let before = if q == 0 { kept } else { element(2 * q - 1) };
                let left = select(behind, before, element(2 * q));
                f.pair(s, left, select(behind, element(2 * q), element(2 * q + 1)))
            },
        );
        self.element = element(2 * pairs - 1);
        let nodes = self.joined(f, nodes, pairs, 1, start);
        let nodes = self.joined(f, nodes, pairs / 2, 2, start);
        let nodes = self.joined(f, nodes, pairs / 4, 3, start);
        if pairs < PAIRS { nodes[0] } else { self.joined(f, nodes, 2, 4, start)[0] }
    }

    /// The nodes above the first `count`, which have as many elements as this level says.
    #[inline(always)]
    fn joined(&mut self, f: &F, own: [F::Node; PAIRS], count: usize, level: usize, start: u32) -> [F::Node; PAIRS] {
        let (kept, behind) = (self.nodes[level - 1], start >> level & 1 != 0);
        self.nodes[level - 1] = own[count - 1];
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |q| {
                if 2 * q >= count {
                    return f.neutral();
                }
                let before = if q == 0 { kept } else { own[2 * q - 1] };
                let left = select(behind, before, own[2 * q]);
                f.join(left, select(behind, own[2 * q], own[2 * q + 1]), 1 << level)
            },
        )
    }
}
