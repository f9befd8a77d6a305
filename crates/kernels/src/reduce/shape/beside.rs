//! Few outputs side by side, whose rows follow one another without a gap: 2, 4 or 8 columns.
//!
//! Idea: all rows are one sequence, which is read like a row of one output ([`rows`]). A lane's 128 bytes that lie
//! side by side (`hands`) have whole rows, so it folds each column alone. Then lanes exchange columns: at each level
//! a lane keeps half of them and gets the other lane's nodes of these, until it has one. Bottleneck: memory. (Lanes
//! that take rows of 16 bytes abreast, as in `narrow_`, have 13 instructions for an element of sums of 4 columns of 2
//! bytes, and 77 for variances of 2 columns of 4.)

use crate::node::{Node, select};
use crate::params::params;
use crate::reduce::call::Call;
use crate::reduce::fold::{Parts, Tree};
use crate::reduce::out::Out;
use crate::reduce::recipe::Recipe;
use crate::reduce::shape::hands::{Hands, lanes_before};
use crate::reduce::shape::piece::{Dense, Gather, Piece, Row, Tile, share};
use crate::reduce::shape::rows::{self, Rows};
use crate::reduce::shape::split::{STEPS, next};
use crate::reduce::shape::stack::Lanes;
use crate::reduce::shape::warp::{self, Join, Meet};
use crate::source::Bits;
use warpfold_simt::{ALL, Simt};

params! {
    /// How the elements of a row of several columns follow one another.
    pub struct Beside {
        /// As in [`Dense`].
        pub end: u64,
        /// Columns: 2, 4 or 8.
        pub wide: u64,
        /// Elements from column to column in the output.
        pub out: i64,
    }
}

/// Columns of parts of so many words, at most.
pub const fn most(words: u32) -> u64 {
    match words {
        0..=2 => 8,
        3..=4 => 4,
        _ => 2,
    }
}

/// Columns of a fold, at most.
pub const fn most_of<F: Parts>() -> usize {
    most(F::Part::WORDS) as usize
}

/// See the module. There is room for `W` columns, or twice or four times as many as there are.
#[inline(always)]
pub fn kernel<S: Simt, F: Tree, const K: usize, const W: usize>(s: &S, call: &Call<Rows<K, Beside>>) {
    rows::kernel::<S, Columns<F, W>, K>(s, call);
}

/// Up to `W` columns at once.
#[derive(Clone, Copy)]
struct Columns<F, const W: usize>(F);

impl<F: Parts, const W: usize> Parts for Columns<F, W> {
    type Part = [F::Part; W];
    const SWAPS: bool = F::SWAPS;
    #[inline(always)]
    fn meet(&self, left: Self::Part, right: Self::Part) -> Self::Part {
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |j| self.0.meet(left[j], right[j]),
        )
    }
    #[inline(always)]
    fn nothing(&self) -> Self::Part {
        [self.0.nothing(); W]
    }
    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self(F::new(recipe))
    }
    /// Of the first column.
    #[inline(always)]
    fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, part: Self::Part, out: Out) {
        self.0.finish(s, recipe, part[0], out);
    }
}

impl<F: Tree, const W: usize> Columns<F, W> {
    /// The node of column `j` of `wide` over a lane's packs.
    #[inline(always)]
    fn column<S: Simt>(s: &S, f: &F, w: &[[u32; 4]; STEPS], wide: usize, j: usize) -> F::Node {
        let per = F::Bits::PER as usize;
        let bits = |row: usize| F::Bits::nth(&w[(row * wide + j) / per], (row * wide + j) % per);
        let (mut under, mut node, mut k) = ([f.neutral(); 5], f.neutral(), 0);
        while k < STEPS * per / wide / 2 {
            node = f.pair(s, bits(2 * k), bits(2 * k + 1));
            let mut d = 0;
            while k >> d & 1 == 1 {
                node = f.join(under[d], node, 2 << d);
                d += 1;
            }
            under[d] = node;
            k += 1;
        }
        node
    }

    /// The nodes of all columns over a lane's packs; there is one place here for each width, which is known in it.
    #[inline(always)]
    fn columns<S: Simt>(s: &S, f: &F, w: &[[u32; 4]; STEPS], wide: u32) -> [F::Node; W] {
        let of = |wide: usize| {
            warpfold_simt::array::from_fn(
                #[inline(always)]
                |j| if j < wide { Self::column(s, f, w, wide, j) } else { f.neutral() },
            )
        };
        if W >= 4 && s.branch(wide == 4) {
            of(4)
        } else if W >= 8 && s.branch(wide == 8) {
            of(8)
        } else {
            of(2)
        }
    }

    /// The nodes over all lanes, of those of each lane's packs, which are `rows` rows; every lane gets them.
    #[inline(always)]
    fn gathered<S: Simt>(s: &S, f: &F, mut nodes: [F::Node; W], wide: u32, rows: u32) -> [F::Node; W] {
        let join = Join(f);
        let (mut half, mut bit, mut each) = (W / 2, 1, rows);
        while half > 0 {
            if s.branch(wide > half as u32) {
                let mut j = 0;
                while j < half {
                    [nodes[j]] = warp::fold(s, join, [nodes[2 * j], nodes[2 * j + 1]], bit, each);
                    j += 1;
                }
                (bit, each) = (2 * bit, 2 * each);
            }
            half /= 2;
        }
        let mut node = nodes[0];
        while s.again(bit < 32) {
            node = warp::across(s, join, node, bit, each);
            (bit, each) = (2 * bit, 2 * each);
        }
        Self::spread(s, node)
    }

    /// What lanes have of columns, of which the lowest bits of their numbers say one.
    #[inline(always)]
    fn spread<S: Simt, N: Node>(s: &S, node: N) -> [N; W] {
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |j| {
                node.map(
                    #[inline(always)]
                    |_, word| s.shuffle_idx(ALL, word, j as u32),
                )
            },
        )
    }

    /// The parts over the first `valid` elements of a tile, whole rows, but not all.
    #[inline(always)]
    fn end<S: Simt>(s: &S, f: &F, hands: Hands, w: [[u32; 4]; STEPS], valid: u32, wide: u32) -> [F::Part; W] {
        let (lane, each) = (s.lane(), STEPS as u32 * F::Bits::PER);
        let w = hands.change(s, w);
        let (whole, left) = (valid / each, valid % each);
        // Lanes have elements of the last rows, in turns of whole rows; those of a column meet.
        let (mut rest, mut first) = (f.nothing(), 0);
        while s.again(first < left) {
            let e = first + lane;
            let bits = if s.branch(e < left) { hands.element(s, whole, e) } else { F::Bits::ZERO };
            let mut part = select(e < left, f.part(f.lift(s, bits), 1), f.nothing());
            let mut bit = wide;
            while s.again(bit < 32) {
                part = warp::across(s, Meet(f), part, bit, 1);
                bit *= 2;
            }
            rest = f.meet_near(rest, part);
            first += 32;
        }
        let mut parts = Self::spread(s, rest);
        // What whole lanes have; the columns take turns.
        let (mut nodes, rows) = (Self::columns(s, f, &w, wide), share(each, wide));
        let (mut j, all) = (0, s.opaque(W as u32));
        while s.again(j < all) {
            parts = next(parts, lanes_before(s, f, parts[0], nodes[0], rows, whole));
            nodes = next(nodes, nodes[0]);
            j += 1;
        }
        parts
    }
}

impl<F: Tree, const W: usize> Piece for Columns<F, W> {
    type Fold = Self;
    type Reduced = Beside;
    const PER: u32 = F::Bits::PER;

    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self(F::new(recipe))
    }

    #[inline(always)]
    fn fold(&self) -> &Self {
        self
    }

    #[inline(always)]
    fn run<S: Simt>(&self, s: &S, row: &Row<Beside>, tile: u32, tiles: u32) -> [F::Part; W] {
        let Row { input, x, mask, len, reduced } = *row;
        let row = Row { input, x, mask, len, reduced: Dense { end: reduced.end } };
        let (whole, wide) = (256 * F::Bits::PER, reduced.wide as u32);
        let rows = share(whole, wide);
        let hands = Hands::of(s);
        let mut stack = Lanes::new([F::Node::zero(); W]);
        let mut rest = [self.0.nothing(); W];
        let mut t = 0;
        while s.again(t < tiles && (tile + t) as u64 * (whole as u64) < row.len) {
            let here = Tile::of::<F::Bits, Dense>(&row, tile + t);
            let (f, w) = self.0.whole(s, Dense::read::<S, F::Bits>(s, &row, &here));
            if s.branch(here.valid < whole) {
                rest = Self::end(s, &f, hands, w, here.valid, wide);
                break;
            }
            let w = hands.change(s, w);
            let nodes = Self::columns(s, &f, &w, wide);
            stack.insert(
                s,
                t,
                Self::gathered(s, &f, nodes, wide, share(rows, 32)),
                #[inline(always)]
                |left, right, d| {
                    warpfold_simt::array::from_fn(
                        #[inline(always)]
                        |j| f.join(left[j], right[j], rows << d),
                    )
                },
            );
            t += 1;
        }
        stack.close_by(
            s,
            t,
            rest,
            #[inline(always)]
            |nodes, d, parts| {
                warpfold_simt::array::from_fn(
                    #[inline(always)]
                    |j| self.0.meet(self.0.part(nodes[j], rows << d), parts[j]),
                )
            },
        )
    }

    #[inline(always)]
    fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, row: &Row<Beside>, part: [F::Part; W], out: Out) {
        // So much code is kept short: the columns take turns.
        let (mut part, mut j) = (part, 0);
        while s.again(j < row.reduced.wide) {
            let index = out.index.wrapping_add((j as i64 * row.reduced.out) as usize);
            self.0.finish(s, recipe, part[0], Out { index, ..out });
            part = next(part, part[0]);
            j += 1;
        }
    }
}
