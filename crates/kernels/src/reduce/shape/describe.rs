//! Describing: every element that a lane reads goes up the tree, and is looked at for extremes and NaNs.
//!
//! Idea: the tree's nodes travel as any others do; what needs no order stays in a lane's registers until its work is
//! done, and then meets once. An extreme remembers its pack of 16 bytes, and the end looks which of the pack's elements
//! it was. Bottleneck: arithmetic, about twenty instructions an element.

use crate::address::array;
use crate::node::Node;
use crate::reduce::fold::key::Key;
use crate::reduce::fold::{Described, Description, End, Ends, Parts, Seen, Totals, Tree};
use crate::reduce::recipe::Recipe;
use crate::reduce::shape::panel::{self, Lines, Panel, Strip};
use crate::reduce::shape::piece::{
    self, Dense, Gather, Piece, Row, Stretch, Tile, Walk, share, upwards, valid, walk_part,
};
use crate::reduce::shape::split::{STEPS, next};
use crate::reduce::shape::stack::{Lanes, Own};
use crate::reduce::shape::warp::{self, Combine, Join};
use crate::source::{Bits, Source};
use core::marker::PhantomData;
use warpfold_core::{Accumulate, Element, Float};
use warpfold_simt::Simt;

/// What lanes have seen meets.
#[derive(Clone, Copy)]
struct Meet<K>(PhantomData<K>);

impl<K: Key> Combine for Meet<K> {
    type Node = Seen<K, u32>;
    const COMMUTES: bool = true;
    #[inline(always)]
    fn combine(self, left: Self::Node, right: Self::Node, _each: u32) -> Self::Node {
        left.meet(right)
    }
}

/// The tree and all that needs no order, over the same elements. `NARROW` as in [`panel::Ordered`].
#[derive(Clone, Copy)]
pub struct Both<X: Source, const NARROW: bool, W = Dense>(Described<X>, PhantomData<W>);

impl<X, const NARROW: bool, W> Both<X, NARROW, W>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    /// Looks at the first `valid` elements of 16 bytes.
    #[inline(always)]
    fn look<S: Simt>(
        &self,
        s: &S,
        seen: Seen<X::Key, u32>,
        w: &[u32; 4],
        valid: u32,
        place: impl Fn(usize) -> u32,
    ) -> Seen<X::Key, u32> {
        // Numbers that the tree has made of them are not kept for this.
        let w: [u32; 4] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| s.opaque(w[i]),
        );
        let (first, nth) = (X::Bits::nth(&w, 0), |k: usize| X::Bits::nth(&w, k));
        let bits = |k: usize| if (k as u32) < valid { nth(k) } else { first };
        self.0.take(s, seen, X::Bits::PER as usize, valid, bits, place)
    }

    /// Looks at the packs of a tile, of which pack `first` is this lane's first, and makes their nodes. A pack has a
    /// NaN where the sum of squares is one.
    #[inline(always)]
    fn packs<S: Simt, Q: Gather>(
        &self,
        s: &S,
        seen: &mut Seen<X::Key, u32>,
        row: &Row<Q>,
        w: &[[u32; 4]; STEPS],
        first: u32,
    ) -> [<Totals<X> as Tree>::Node; STEPS] {
        let (totals, per) = (&self.0.totals, X::Bits::PER);
        let zero = X::Value::ZERO;
        let mut ends = Ends { least: zero, first, greatest: zero, last: first };
        let (mut nans, mut k) = (0, 0);
        while k < STEPS {
            // Numbers that the tree will make of them are not kept for it.
            let own: [u32; 4] = warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| s.opaque(w[k][i]),
            );
            let here = Ends::of::<S, X>(s, &own, first + 32 * k as u32);
            ends = if k % 2 == 0 { here } else { ends.then::<S, X>(s, here) };
            k += 1;
            // A branch now and then, so that the compiler does not have all packs in hand at once.
            if k % 2 == 0 {
                *seen = self.0.take_ends(s, *seen, ends, [&w[k - 2], &w[k - 1]]);
            }
        }
        let nodes: [_; STEPS] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| {
                let node = totals.pack(s, &w[k]);
                nans |= (X::is_nan(node.squares) as u32) << k;
                node
            },
        );
        // Rarely needed, so it is kept short, and reads again.
        while s.again(nans != 0) {
            let p = first + 32 * nans.trailing_zeros();
            let (mut e, mut count) = (0, 0);
            while s.again(e < per) {
                let at = row.find::<X::Bits>(p as u64 * per as u64 + e as u64).0;
                count += X::value(s, s.load(array(at), 0)).is_nan() as u32;
                e += 1;
            }
            *seen = self.0.take_nans(*seen, count, p);
            nans &= nans - 1;
        }
        nodes
    }

    /// Looks at a tile that the row ends in, of which pack `first` is this lane's first. Gives its packs back.
    #[inline(always)]
    fn end<S: Simt>(
        &self,
        s: &S,
        seen: &mut Seen<X::Key, u32>,
        tile: &Tile,
        mut w: [[u32; 4]; STEPS],
        first: u32,
    ) -> [[u32; 4]; STEPS] {
        let (per, lane) = (X::Bits::PER, s.lane());
        let whole = tile.whole::<X::Bits>();
        // Once for each warp, so it is kept short: the steps take turns, until the first is the first again.
        let (mut k, steps) = (0, s.opaque(STEPS as u32));
        while s.again(k < steps) {
            if s.branch(32 * k + lane < whole) {
                *seen = self.look(s, *seen, &w[0], per, |_| first + 32 * k);
            }
            w = next(w, w[0]);
            k += 1;
        }
        // The pack that the row ends in is the last of its lane.
        let left = tile.valid - whole * per;
        if s.branch(left > 0 && lane == whole & 31) {
            let last = warp::picked(w, whole >> 5);
            *seen = self.look(s, *seen, &last, left, |_| first - lane + whole);
        }
        w
    }
}

impl<X, Q: Gather> Piece for Both<X, false, Q>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    type Fold = Described<X>;
    type Reduced = Q;
    const PER: u32 = X::Bits::PER;

    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self(Described::new(recipe), PhantomData)
    }

    #[inline(always)]
    fn fold(&self) -> &Self::Fold {
        &self.0
    }

    #[inline(always)]
    fn run<S: Simt>(&self, s: &S, row: &Row<Q>, tile: u32, tiles: u32) -> Description<X::Value, X::Key> {
        let (totals, per) = (&self.0.totals, X::Bits::PER);
        let whole = 256 * per;
        let mut stack = Lanes::new(totals.lift(s, X::Bits::ZERO));
        let mut rest = totals.nothing();
        let mut seen = self.0.unseen();
        let mut t = 0;
        while s.again(t < tiles && (tile + t) as u64 * (whole as u64) < row.len) {
            let here = Tile::of::<X::Bits, Q>(row, tile + t);
            let w = Q::read::<S, X::Bits>(s, row, &here);
            let p = (tile + t) * 256 + s.lane();
            if s.branch(here.valid < whole) {
                let w = self.end(s, &mut seen, &here, w, p);
                rest = piece::Ordered::<_, Q>(*totals, PhantomData).end(s, &here, &w);
                break;
            }
            let nodes = self.packs(s, &mut seen, row, &w, p);
            stack.push(s, totals, t, whole, warp::tile(s, nodes, Join(totals), per));
            t += 1;
        }
        let total = stack.close(s, totals, t, whole, rest);
        let mut bit = 1;
        while s.again(bit < 32) {
            seen = warp::across(s, Meet(PhantomData), seen, bit, 1);
            bit <<= 1;
        }
        self.0.whole(total, seen)
    }

    #[inline(always)]
    fn settle<S: Simt>(
        &self,
        s: &S,
        row: &Row<Q>,
        mut part: Description<X::Value, X::Key>,
    ) -> Description<X::Value, X::Key> {
        let find = |p: u64, key: X::Key, least: bool| {
            let first = p * X::Bits::PER as u64;
            let (mut e, valid) = (0, valid(row.len, first, X::Bits::PER));
            let at = |e: u32| array(row.find::<X::Bits>(first + e as u64).0);
            while s.again(e + 1 < valid && !self.0.found(s.load(at(e), 0), key, least)) {
                e += 1;
            }
            first + e as u64
        };
        part.seen.least.at = find(part.seen.least.at, part.seen.least.key, true);
        part.seen.greatest.at = find(part.seen.greatest.at, part.seen.greatest.key, false);
        part
    }
}

impl<X> Both<X, false>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    /// What was seen in a stretch, with the places of elements instead of those of packs, and NaNs, if there are `any`.
    #[inline(always)]
    fn settled<S: Simt>(
        &self,
        s: &S,
        mut seen: Seen<X::Key, u32>,
        any: bool,
        stretch: Stretch,
        read: impl Fn(u32, bool) -> [u32; 4],
        valid: impl Fn(u32) -> u32,
    ) -> Seen<X::Key, u32> {
        let per = X::Bits::PER;
        // Rarely needed, so it is kept short.
        let mut k = if any { 0 } else { stretch.count };
        while s.again(k * per < stretch.count) {
            let (mut w, mut e, mut count, all) = (read(k, false), 0, 0, valid(k));
            while s.again(e < all) {
                count += X::value(s, X::Bits::nth(&w, 0)).is_nan() as u32;
                w = piece::followed(w, X::Bits::ZERO);
                e += 1;
            }
            seen = if count > 0 { self.0.take_nans(seen, count, k) } else { seen };
            k += 1;
        }
        // One copy of the search: of the least, then of the greatest.
        let (mut ends, mut i) = ([seen.least, seen.greatest], 0);
        while s.again(i < 2) {
            let (w, all) = (read(ends[0].at, false), valid(ends[0].at));
            let (mut e, mut at) = (per, 0);
            while e > 0 {
                e -= 1;
                at = if e < all && self.0.found(X::Bits::nth(&w, e as usize), ends[0].key, i == 0) { e } else { at };
            }
            ends = [ends[1], End { key: ends[0].key, at: stretch.first + ends[0].at * per + at }];
            i += 1;
        }
        Seen { nans: seen.nans, least: ends[0], greatest: ends[1] }
    }
}

impl<X> Walk for Both<X, false>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    type Bits = X::Bits;
    const HAS_FEW: bool = false;

    #[inline(always)]
    fn walk<S: Simt>(
        &self,
        s: &S,
        stretch: Stretch,
        _ordinary: bool,
        read: impl Fn(u32, bool) -> [u32; 4],
    ) -> Description<X::Value, X::Key> {
        let (per, mut seen) = (X::Bits::PER, self.0.unseen());
        let valid = |k: u32| (stretch.count - k * per).min(per);
        // Of several packs, extremes are looked for in the end. Two elements are looked at as quickly.
        let late = per > 2 && stretch.packs > 1;
        let total = walk_part(
            s,
            &self.0.totals,
            stretch,
            #[inline(always)]
            |k, whole| {
                let w = read(k, whole);
                let valid = if whole { per } else { valid(k) };
                seen = if per > 2 && s.branch(late) {
                    let known = if whole { w } else { piece::repeated::<X::Bits>(s, &w, valid) };
                    self.0.take_ends(s, seen, Ends::of::<S, X>(s, &known, k), [&known])
                } else {
                    self.look(s, seen, &w, valid, |e| stretch.first + k * per + e as u32)
                };
                w
            },
        );
        if per > 2 && s.branch(late && stretch.count > 0) {
            seen = self.settled(s, seen, total.squares.is_nan(), stretch, read, valid);
        }
        upwards(s, warp::Meet(&self.0), self.0.whole(total, seen), stretch.team)
    }

    #[inline(always)]
    fn alone<S: Simt>(&self, s: &S, bits: X::Bits) -> Description<X::Value, X::Key> {
        let totals = &self.0.totals;
        let seen = self.0.take(s, self.0.unseen(), 1, 1, |_| bits, |_| 0);
        self.0.whole(totals.part(totals.lift(s, bits), 1), seen)
    }
}

impl<X, const NARROW: bool, L: Lines, const C: usize> Panel<C> for Both<X, NARROW, L>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    type Fold = Described<X>;
    type Reduced = L;
    const UNITS: bool = !L::SEVERAL && !NARROW;
    const TEAMS: bool = !L::SEVERAL && !NARROW;

    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self(Described::new(recipe), PhantomData)
    }

    #[inline(always)]
    fn fold(&self) -> &Self::Fold {
        &self.0
    }

    #[inline(always)]
    fn at_once(reduced: &L, address: u64) -> bool {
        reduced.aligned() && address.is_multiple_of(C as u64 * X::Bits::SIZE as u64)
    }

    #[inline(always)]
    fn run<S: Simt>(
        &self,
        s: &S,
        strip: &Strip<L>,
        own: Own,
        first: u64,
        tiles: u32,
    ) -> [Description<X::Value, X::Key>; C] {
        let totals = &self.0.totals;
        let tree = panel::Ordered::<Totals<X>, NARROW, L>(*totals, PhantomData);
        let lanes = if NARROW { strip.lanes } else { 32 };
        let abreast = share(32, lanes);
        let mine = first + share(s.lane(), lanes) as u64;
        let each = STEPS as u32 * abreast;
        let mut seen = [self.0.unseen(); C];
        let mut t = 0;
        while s.again(t < tiles && first + ((t + 1) * each) as u64 <= strip.rows) {
            let row = mine + (t * each) as u64;
            let tile = panel::Tile { row, step: abreast };
            let bits: [[X::Bits; C]; STEPS] = panel::load(s, strip, tile, false);
            seen = warpfold_simt::array::from_fn(
                #[inline(always)]
                |j| self.0.take(s, seen[j], STEPS, STEPS as u32, |k| bits[k][j], |k| row as u32 + k as u32 * abreast),
            );
            let nodes: [_; C] = panel::Ordered::<Totals<X>, NARROW, L>::tiles(s, totals, &bits, lanes);
            own.push(s, totals, t, each, nodes);
            t += 1;
        }
        let mut rest = [totals.nothing(); C];
        if s.branch(t < tiles && first + ((t * each) as u64) < strip.rows) {
            let mut row = mine + (t * each) as u64;
            rest = tree.ragged(s, strip, row, lanes);
            while s.again(row < strip.rows) {
                let [bits]: [[X::Bits; C]; 1] = panel::load(s, strip, panel::Tile { row, step: 0 }, false);
                seen = warpfold_simt::array::from_fn(
                    #[inline(always)]
                    |j| self.0.take(s, seen[j], 1, 1, |_| bits[j], |_| row as u32),
                );
                row += abreast as u64;
            }
        }
        let mut bit = lanes;
        while s.again(bit < 32) {
            seen = warpfold_simt::array::from_fn(
                #[inline(always)]
                |j| warp::across(s, Meet(PhantomData), seen[j], bit, 1),
            );
            bit *= 2;
        }
        let parts = own.close(s, totals, t, each, rest);
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |j| self.0.whole(parts[j], seen[j]),
        )
    }
}
