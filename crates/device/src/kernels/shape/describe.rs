//! Describing: every element that a lane reads goes up the tree, and is looked at for extremes and NaNs.
//!
//! Idea: the tree's nodes travel as any others do; what needs no order stays in a lane's registers until its work is done, and
//! then meets once. An extreme remembers its pack of 16 bytes, and the end looks which of the pack's elements it was.
//! Bottleneck: arithmetic, about twenty instructions an element.

use super::panel::{self, Panel, Pitch, Strip};
use super::piece::{self, Dense, Piece, Row, loose, pack, share, valid};
use super::stack::{Lanes, Own};
use super::warp::{self, STEPS};
use crate::kernels::fold::extremum::Key;
use crate::kernels::fold::{Described, Description, Parts, Seen, Total, Totals, Tree};
use crate::kernels::node::{Counted, Node, exchange, select};
use crate::kernels::recipe::Recipe;
use crate::kernels::source::{Bits, Source, words};
use crate::simt::Simt;
use warpfold_core::{Element, Float};

/// What every lane has seen meets along one lane bit; both lanes get it.
#[inline(always)]
fn across<S: Simt, K: Key>(s: &S, seen: Seen<K, u32>, bit: u32) -> Seen<K, u32> {
    seen.meet(exchange(s, seen, bit))
}

/// The same, and each of the two lanes keeps half of the rows.
#[inline(always)]
fn halve<S: Simt, K: Key, const W: usize, const H: usize>(
    s: &S,
    seen: [Seen<K, u32>; W],
    bit: u32,
) -> [Seen<K, u32>; H] {
    let high = s.lane() & bit != 0;
    core::array::from_fn(
        #[inline(always)]
        |j| {
            let (even, odd) = (seen[2 * j], seen[2 * j + 1]);
            select(high, odd, even).meet(exchange(s, select(high, even, odd), bit))
        },
    )
}

/// What is found in a row of known length.
type Found<X> = (<Totals<X> as Tree>::Node, Seen<<X as Source>::Key, u32>);

/// The tree and all that needs no order, over the same elements. `NARROW` as in [`panel::Ordered`].
#[derive(Clone, Copy)]
pub struct Both<X: Source, const NARROW: bool>(Described<X>);

impl<X, const NARROW: bool> Both<X, NARROW>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    #[inline(always)]
    fn pack<S: Simt>(
        &self,
        s: &S,
        seen: Seen<X::Key, u32>,
        w: &[u32; 4],
        place: impl Fn(usize) -> u32,
    ) -> Seen<X::Key, u32> {
        self.0.take(s, seen, X::Bits::PER as usize, |k| X::Bits::nth(w, k), place)
    }

    /// What is in the tile that a row ends in.
    #[inline(always)]
    fn ragged<S: Simt>(&self, s: &S, row: &Row<Dense>, tile: u64, mut seen: Seen<X::Key, u32>) -> Seen<X::Key, u32> {
        let (mut k, steps) = (0, s.opaque(STEPS as u32));
        while s.again(k < steps) {
            let p = tile * 256 + (k * 32 + s.lane()) as u64;
            seen = self.some(s, row, p, seen, |_| p as u32);
            k += 1;
        }
        seen
    }

    /// What there is of a pack.
    #[inline(always)]
    fn some<S: Simt>(
        &self,
        s: &S,
        row: &Row<Dense>,
        p: u64,
        mut seen: Seen<X::Key, u32>,
        place: impl Fn(u32) -> u32,
    ) -> Seen<X::Key, u32> {
        let (at, valid) = (row.pack(p).cast::<X::Bits>(), valid(row.len, p * X::Bits::PER as u64, X::Bits::PER));
        let mut e = 0;
        while s.again(e < valid) {
            let bits = s.load(at, e as usize);
            seen = self.0.take(s, seen, 1, |_| bits, |_| place(e));
            e += 1;
        }
        seen
    }

    /// Rows that fill their lanes: what is left after each exchange is shared out among the lanes of a row, so that lane
    /// `k` of a row has rows `k`, `k + lanes` and so on of the eight.
    #[inline(always)]
    fn filled<S: Simt>(&self, s: &S, w: &[[u32; 4]; STEPS], lanes: u32) -> [Found<X>; STEPS] {
        let (t, per) = (&self.0.totals, X::Bits::PER);
        let p = s.lane() & (lanes - 1);
        let nodes: [<Totals<X> as Tree>::Node; STEPS] = core::array::from_fn(
            #[inline(always)]
            |k| pack(s, t, &w[k]),
        );
        let seen: [Seen<X::Key, u32>; STEPS] = core::array::from_fn(
            #[inline(always)]
            |k| self.pack(s, self.0.unseen(), &w[k], |e| p * per + e as u32),
        );
        if s.branch(lanes == 1) {
            return core::array::from_fn(
                #[inline(always)]
                |k| (nodes[k], seen[k]),
            );
        }
        let (nodes, seen): ([_; 4], [_; 4]) = (warp::fold(s, t, nodes, 1, per), halve(s, seen, 1));
        if s.branch(lanes == 2) {
            return core::array::from_fn(
                #[inline(always)]
                |k| (nodes[k / 2], seen[k / 2]),
            );
        }
        let (nodes, seen): ([_; 2], [_; 2]) = (warp::fold(s, t, nodes, 2, 2 * per), halve(s, seen, 2));
        if s.branch(lanes == 4) {
            return core::array::from_fn(
                #[inline(always)]
                |k| (nodes[k / 4], seen[k / 4]),
            );
        }
        let ([mut node], [mut seen]): ([_; 1], [_; 1]) = (warp::fold(s, t, nodes, 4, 4 * per), halve(s, seen, 4));
        let mut bit = 8;
        while s.again(bit < lanes) {
            node = warp::across(s, t, node, bit, per * bit);
            seen = across(s, seen, bit);
            bit <<= 1;
        }
        [(node, seen); STEPS]
    }
}

impl<X> Piece for Both<X, false>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    type Fold = Described<X>;
    type Reduced = Dense;
    const TILE: u64 = 256 * X::Bits::PER as u64;

    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self(Described::new(recipe))
    }

    #[inline(always)]
    fn fold(&self) -> &Self::Fold {
        &self.0
    }

    #[inline(always)]
    fn from(reduced: Dense, address: u64) -> Dense {
        reduced.from(address)
    }

    #[inline(always)]
    fn run<S: Simt>(&self, s: &S, row: &Row<Dense>, tile: u64, tiles: u32) -> Description<X::Value, X::Key> {
        let (totals, per, lane) = (&self.0.totals, X::Bits::PER, s.lane());
        let each = <Self as Piece>::TILE;
        let mut stack = Lanes::new(totals.lift(s, X::Bits::ZERO));
        let mut seen = self.0.unseen();
        let mut t = 0;
        while s.again(t < tiles && (tile + t as u64 + 1) * each <= row.len) {
            let p = (tile + t as u64) * 256;
            let base = row.pack(p).offset(lane as usize * 16);
            let w: [[u32; 4]; STEPS] = if s.branch(row.reduced.aligned != 0) {
                core::array::from_fn(
                    #[inline(always)]
                    |k| words(s, base.offset(k * 512), 16),
                )
            } else {
                core::array::from_fn(
                    #[inline(always)]
                    |k| loose::<S, X::Bits>(s, base.offset(k * 512), per),
                )
            };
            let mut k = 0;
            while k < STEPS {
                seen = self.pack(s, seen, &w[k], |_| p as u32 + lane + 32 * k as u32);
                k += 1;
            }
            let nodes = core::array::from_fn(
                #[inline(always)]
                |k| pack(s, totals, &w[k]),
            );
            stack.push(s, totals, t, each as u32, warp::tile(s, totals, nodes, per));
            t += 1;
        }
        let rest = if s.branch(t < tiles && (tile + t as u64) * each < row.len) {
            seen = self.ragged(s, row, tile + t as u64, seen);
            piece::Ordered(*totals).ragged(s, row, tile + t as u64)
        } else {
            totals.nothing()
        };
        let total = stack.close(s, totals, t, each as u32, rest);
        let mut bit = 1;
        while s.again(bit < 32) {
            seen = across(s, seen, bit);
            bit <<= 1;
        }
        self.0.whole(total, seen)
    }

    #[inline(always)]
    fn short<S: Simt>(&self, s: &S, rows: [Row<Dense>; STEPS], lanes: u32) -> [Description<X::Value, X::Key>; STEPS] {
        let per = X::Bits::PER;
        let (p, len) = ((s.lane() & (lanes - 1)) as u64, rows[0].len);
        let found: [Found<X>; STEPS] = if s.branch(len == (lanes * per) as u64) {
            let w: [[u32; 4]; STEPS] = if s.branch(rows[0].reduced.aligned != 0) {
                core::array::from_fn(
                    #[inline(always)]
                    |k| words(s, rows[k].pack(p), 16),
                )
            } else {
                core::array::from_fn(
                    #[inline(always)]
                    |k| loose::<S, X::Bits>(s, rows[k].pack(p), per),
                )
            };
            self.filled(s, &w, lanes)
        } else {
            let totals = piece::Ordered(self.0.totals).short(s, rows, lanes);
            core::array::from_fn(
                #[inline(always)]
                |k| {
                    let mut seen = self.some(s, &rows[k], p, self.0.unseen(), |e| p as u32 * per + e);
                    let mut bit = 1;
                    while s.again(bit < lanes) {
                        seen = across(s, seen, bit);
                        bit <<= 1;
                    }
                    let Total { sum, squares, moments } = totals[k];
                    (Total { sum, squares, moments: moments.acc }, seen)
                },
            )
        };
        core::array::from_fn(
            #[inline(always)]
            |k| {
                let (Total { sum, squares, moments: acc }, seen) = found[k];
                self.0.whole(Total { sum, squares, moments: Counted { acc, count: len } }, seen)
            },
        )
    }

    #[inline(always)]
    fn settle<S: Simt>(
        &self,
        s: &S,
        row: &Row<Dense>,
        mut part: Description<X::Value, X::Key>,
        short: bool,
    ) -> Description<X::Value, X::Key> {
        if short {
            return part;
        }
        let find = |p: u64, key: X::Key, least: bool| {
            let (at, first) = (row.pack(p).cast::<X::Bits>(), p * X::Bits::PER as u64);
            let (mut e, valid) = (0, valid(row.len, first, X::Bits::PER));
            while s.again(e + 1 < valid && !self.0.found(s.load(at, e as usize), key, least)) {
                e += 1;
            }
            first + e as u64
        };
        part.seen.least.at = find(part.seen.least.at, part.seen.least.key, true);
        part.seen.greatest.at = find(part.seen.greatest.at, part.seen.greatest.key, false);
        part
    }
}

impl<X, const NARROW: bool, const C: usize> Panel<C> for Both<X, NARROW>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    type Fold = Described<X>;
    type Reduced = Pitch;

    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self(Described::new(recipe))
    }

    #[inline(always)]
    fn fold(&self) -> &Self::Fold {
        &self.0
    }

    #[inline(always)]
    fn at_once(reduced: &Pitch, address: u64) -> bool {
        reduced.aligned != 0 && address.is_multiple_of(C as u64 * X::Bits::SIZE as u64)
    }

    #[inline(always)]
    fn run<S: Simt>(
        &self,
        s: &S,
        strip: &Strip<Pitch>,
        own: Own,
        first: u64,
        tiles: u32,
    ) -> [Description<X::Value, X::Key>; C] {
        let totals = &self.0.totals;
        let tree = panel::Ordered::<Totals<X>, NARROW>(*totals);
        let lanes = if NARROW { strip.lanes } else { 32 };
        let abreast = share(32, lanes);
        let mine = first + share(s.lane(), lanes) as u64;
        let each = STEPS as u32 * abreast;
        let mut seen = [self.0.unseen(); C];
        let mut t = 0;
        while s.again(t < tiles && first + ((t + 1) * each) as u64 <= strip.rows) {
            let row = mine + (t * each) as u64;
            let bits: [[X::Bits; C]; STEPS] = panel::load(s, strip, row, abreast);
            seen = core::array::from_fn(
                #[inline(always)]
                |j| self.0.take(s, seen[j], STEPS, |k| bits[k][j], |k| row as u32 + k as u32 * abreast),
            );
            let nodes: [_; C] = core::array::from_fn(
                #[inline(always)]
                |j| {
                    let column = core::array::from_fn(
                        #[inline(always)]
                        |k| totals.lift(s, bits[k][j]),
                    );
                    tree.tile(s, column, lanes)
                },
            );
            own.push(s, totals, t, each, nodes);
            t += 1;
        }
        let mut rest = [totals.nothing(); C];
        if s.branch(t < tiles && first + ((t * each) as u64) < strip.rows) {
            let mut row = mine + (t * each) as u64;
            rest = tree.ragged(s, strip, row, lanes);
            while s.again(row < strip.rows) {
                let [bits]: [[X::Bits; C]; 1] = panel::load(s, strip, row, 0);
                seen = core::array::from_fn(
                    #[inline(always)]
                    |j| self.0.take(s, seen[j], 1, |_| bits[j], |_| row as u32),
                );
                row += abreast as u64;
            }
        }
        let mut bit = lanes;
        while s.again(bit < 32) {
            seen = core::array::from_fn(
                #[inline(always)]
                |j| across(s, seen[j], bit),
            );
            bit *= 2;
        }
        let parts = own.close(s, totals, t, each, rest);
        core::array::from_fn(
            #[inline(always)]
            |j| self.0.whole(parts[j], seen[j]),
        )
    }
}
