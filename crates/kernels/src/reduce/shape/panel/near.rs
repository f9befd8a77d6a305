//! Few columns that are read at once: a lane takes four rows that follow one another, twice.
//!
//! Idea: lanes abreast have neighbouring rows, so with a row each they would exchange what is lowest in the tree, and
//! most of it. Of four rows in sequence a lane has the node alone. Then lanes exchange columns instead of rows: at each
//! level a lane keeps half of its columns and gets the other lane's nodes of these, until it has one; at the end each
//! is given those of all. Sums of 8 columns take 25 exchanges for 64 elements, where rows abreast take 96.

use crate::node::Node;
use crate::reduce::fold::Tree;
use crate::reduce::shape::panel::read::at_once_beside;
use crate::reduce::shape::panel::tile::{FOUR, Tile};
use crate::reduce::shape::panel::{Lines, Ordered, Strip, side_by_side};
use crate::reduce::shape::piece::share;
use crate::reduce::shape::split::STEPS;
use crate::reduce::shape::warp;
use warpfold_simt::{ALL, Simt};

impl<F: Tree, const NARROW: bool, L: Lines> Ordered<F, NARROW, L> {
    /// Whether whole tiles are taken in this way.
    pub(super) const fn is_near<const C: usize>() -> bool {
        NARROW && !L::SEVERAL && !F::COUNTS && C >= 2 && C <= 8
    }

    /// A lane's columns of the 8 rows that it takes of a whole tile, which begins with row `first`; each row is read at
    /// once.
    #[inline(always)]
    pub(super) fn load_near<S: Simt, const C: usize>(
        s: &S,
        strip: &Strip<L>,
        first: u64,
        lanes: u32,
    ) -> [[F::Bits; C]; STEPS] {
        let row = first + (FOUR as u32 * share(s.lane(), lanes)) as u64;
        let beyond = (FOUR as u32 * share(32, lanes)) as u64;
        let [a, b, c, d]: [[F::Bits; C]; FOUR] = at_once_beside(s, strip, Tile { row, step: 1 });
        let [e, f, g, h]: [[F::Bits; C]; FOUR] = at_once_beside(s, strip, Tile { row: row + beyond, step: 1 });
        [a, b, c, d, e, f, g, h]
    }

    /// The nodes over a whole tile, of each column.
    #[inline(always)]
    pub(super) fn near<S: Simt, G: Tree, const C: usize>(
        s: &S,
        f: &G,
        bits: &[[G::Bits; C]; STEPS],
        lanes: u32,
    ) -> [G::Node; C] {
        let nodes = of_halves(
            #[inline(always)]
            |k, j| {
                let pair = |k: usize| f.pair(s, bits[k][j], bits[k + 1][j]);
                f.join(pair(k), pair(k + 2), 2)
            },
        );
        Self::gathered(s, f, nodes, lanes, FOUR as u32)
    }

    /// The same where a lane's row is `short` rows of the array.
    #[inline(always)]
    pub(super) fn near_several<S: Simt, G: Tree, const C: usize>(
        s: &S,
        f: &G,
        bits: &[[G::Bits; C]; STEPS],
        lanes: u32,
        short: u32,
    ) -> [G::Node; C] {
        let nodes = bits.map(
            #[inline(always)]
            |row| {
                row.map(
                    #[inline(always)]
                    |bits| f.lift(s, bits),
                )
            },
        );
        let nodes = side_by_side(s, f, nodes, C as u32 >> short.trailing_zeros());
        let nodes = of_halves(
            #[inline(always)]
            |k, j| {
                let pair = |k: usize| f.join(nodes[k][j], nodes[k + 1][j], short);
                f.join(pair(k), pair(k + 2), 2 * short)
            },
        );
        Self::gathered(s, f, nodes, lanes, FOUR as u32 * short)
    }

    /// The nodes of all lanes' rows, from those of each lane's two stretches of so many elements.
    #[inline(always)]
    fn gathered<S: Simt, G: Tree, const C: usize>(
        s: &S,
        f: &G,
        nodes: [[G::Node; C]; 2],
        lanes: u32,
        each: u32,
    ) -> [G::Node; C] {
        let join = warp::Join(f);
        let (mut bit, mut under) = (lanes, each);
        let mut eight: [G::Node; 8] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| nodes[i / 4][i % 4 % C],
        );
        if C == 8 {
            let all: [G::Node; 16] = warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| nodes[i / 8][i % 8 % C],
            );
            eight = warp::fold(s, join, all, bit, under);
            (bit, under) = (2 * bit, 2 * under);
            if s.branch(bit == 32) {
                return spread(s, halves::<G, 8, 4>(f, eight, under), lanes);
            }
        }
        let mut four: [G::Node; 4] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| nodes[i / 2][i % 2],
        );
        if C >= 4 {
            four = warp::fold(s, join, eight, bit, under);
            (bit, under) = (2 * bit, 2 * under);
            if s.branch(bit == 32) {
                return spread(s, halves::<G, 4, 2>(f, four, under), lanes);
            }
        }
        let two: [G::Node; 2] = warp::fold(s, join, four, bit, under);
        (bit, under) = (2 * bit, 2 * under);
        if s.branch(bit == 32) {
            return spread(s, halves::<G, 2, 1>(f, two, under), lanes);
        }
        // One column: of two lanes each has one of the stretches, until the other lanes have met.
        let stretch = bit;
        let [mut node]: [G::Node; 1] = warp::fold(s, join, two, bit, under);
        (bit, under) = (2 * bit, 2 * under);
        while s.again(bit < 32) {
            node = warp::across(s, join, node, bit, under);
            (bit, under) = (2 * bit, 2 * under);
        }
        spread(s, [warp::across(s, join, node, stretch, under)], lanes)
    }
}

/// The nodes of a lane's two stretches of four rows, of which `node(first row, column)` says one.
#[inline(always)]
fn of_halves<N: Copy, const C: usize>(node: impl Fn(usize, usize) -> N) -> [[N; C]; 2] {
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |half| {
            warpfold_simt::array::from_fn(
                #[inline(always)]
                |j| node(FOUR * half, j),
            )
        },
    )
}

/// The nodes over both stretches, of each of `H` columns.
#[inline(always)]
fn halves<G: Tree, const W: usize, const H: usize>(f: &G, nodes: [G::Node; W], each: u32) -> [G::Node; H] {
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |j| f.join(nodes[j], nodes[H + j], each),
    )
}

/// Each lane's `C` columns, of which it has `H`: the lowest bits of a column's number are those of the lanes that have
/// it, above the `lanes` that are side by side.
#[inline(always)]
fn spread<S: Simt, N: Node, const H: usize, const C: usize>(s: &S, nodes: [N; H], lanes: u32) -> [N; C] {
    let beside = s.lane() & (lanes - 1);
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |j| nodes[j / (C / H)].map(|_, word| s.shuffle_idx(ALL, word, beside + (j % (C / H)) as u32 * lanes)),
    )
}
