//! Describing: every element that a lane reads goes up the tree, and is looked at for extremes and NaNs.
//!
//! Idea: the tree's nodes travel as any others do; what needs no order stays in a lane's registers until its work is
//! done, and then meets once. In rows a lane folds stretches of 128 bytes, and an extreme remembers its stretch, in
//! which a warp then looks for the element. Bottleneck: arithmetic, 16 to 17 instructions for an element of a row.

use crate::address::array;
use crate::node::Node;
use crate::reduce::fold::key::Key;
use crate::reduce::fold::{Described, Description, End, Ends, Parts, Passing, Seen, Share, Totals, Tree};
use crate::reduce::recipe::Recipe;
use crate::reduce::shape::hands::Hands;
use crate::reduce::shape::panel::{self, Lines, Panel, Pitch, Strip};
use crate::reduce::shape::piece::{
    self, Dense, Gather, Piece, Row, Stretch, Tile, Walk, share, upwards, valid, walk_part,
};
use crate::reduce::shape::split::{STEPS, next};
use crate::reduce::shape::stack::{Lanes, Own};
use crate::reduce::shape::warp::{self, Combine, Join};
use crate::source::{Bits, Source};
use core::marker::PhantomData;
use warpfold_core::{Accumulate, Element};
use warpfold_simt::{ALL, Simt};

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
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Share + Node>,
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

    /// Looks at a tile that the row ends in, of which pack `first` is this lane's first. Gives its packs back. Places
    /// are those of stretches.
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
                *seen = self.look(s, *seen, &w[0], per, |_| (first + 32 * k) / STEPS as u32);
            }
            w = next(w, w[0]);
            k += 1;
        }
        // The pack that the row ends in is the last of its lane.
        let left = tile.valid - whole * per;
        if s.branch(left > 0 && lane == whole & 31) {
            let last = warp::picked(w, whole >> 5);
            *seen = self.look(s, *seen, &last, left, |_| (first - lane + whole) / STEPS as u32);
        }
        w
    }
}

impl<X, Q: Gather> Piece for Both<X, false, Q>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Share + Node>,
{
    type Fold = Described<X>;
    type Reduced = Q;
    const PER: u32 = X::Bits::PER;
    const TOGETHER: bool = true;

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
        let hands = Hands::of(s);
        let mut stack = Lanes::new(totals.lift(s, X::Bits::ZERO));
        let mut rest = totals.nothing();
        let (mut passing, mut seen) = (Passing::default(), self.0.unseen());
        let mut t = 0;
        while s.again(t < tiles && (tile + t) as u64 * (whole as u64) < row.len) {
            let here = Tile::of::<X::Bits, Q>(row, tile + t);
            let w = Q::read::<S, X::Bits>(s, row, &here);
            if s.branch(here.valid < whole) {
                let w = self.end(s, &mut seen, &here, w, (tile + t) * 256 + s.lane());
                rest = hands.end(s, totals, w, here.valid);
                break;
            }
            let node = self.0.stretch(s, &mut passing, hands.change(s, w), t);
            stack.push(s, totals, t, whole, warp::lanes(s, node, Join(totals), STEPS as u32 * per));
            t += 1;
        }
        let total = stack.close(s, totals, t, whole, rest);
        if s.branch(t > 0) {
            seen = seen.meet(self.0.passed(s, passing, |t| (tile + t) * 32 + s.lane()));
        }
        let mut bit = 1;
        while s.again(bit < 32) {
            seen = warp::across(s, Meet(PhantomData), seen, bit, 1);
            bit <<= 1;
        }
        self.0.whole(total, seen)
    }

    /// Places are those of stretches until here.
    #[inline(always)]
    fn settle<S: Simt>(
        &self,
        s: &S,
        row: &Row<Q>,
        mut part: Description<X::Value, X::Key>,
    ) -> Description<X::Value, X::Key> {
        let each = STEPS as u32 * X::Bits::PER;
        part.seen = part.seen.map(|_, word| s.shuffle_idx(ALL, word, 0));
        let find = |stretch: u64, key: X::Key, least: bool| {
            let first = stretch * each as u64;
            let (mut e, mut hits, valid) = (s.lane(), 0, valid(row.len, first, each));
            while s.again(hits == 0 && e - s.lane() < each) {
                let mut hit = false;
                if s.branch(e < valid) {
                    let at = row.find::<X::Bits>(first + e as u64).0;
                    hit = self.0.found(s.load(array(at), 0), key, least);
                }
                hits = s.ballot(ALL, hit);
                e += 32;
            }
            first + (e - s.lane() - 32 + hits.trailing_zeros()) as u64
        };
        part.seen.least.at = find(part.seen.least.at, part.seen.least.key, true);
        part.seen.greatest.at = find(part.seen.greatest.at, part.seen.greatest.key, false);
        part
    }
}

impl<X> Both<X, false>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Share + Node>,
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
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Share + Node>,
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
        // Of several packs, extremes are numbers until the end. Two elements are looked at as quickly.
        let late = per > 2 && stretch.packs > 1;
        let mut ends = Ends { least: X::Value::ZERO, first: 0, greatest: X::Value::ZERO, last: 0 };
        let total = walk_part(
            s,
            &self.0.totals,
            stretch,
            #[inline(always)]
            |k, whole| {
                let w = read(k, whole);
                let valid = if whole { per } else { valid(k) };
                if per > 2 && s.branch(late) {
                    let known = if whole { w } else { piece::repeated::<X::Bits>(s, &w, valid) };
                    let own = Ends::of::<S, X>(s, &known, k);
                    ends = if k == 0 { own } else { ends.then::<S, X>(s, own) };
                } else {
                    seen = self.look(s, seen, &w, valid, |e| stretch.first + k * per + e as u32);
                }
                w
            },
        );
        if per > 2 && s.branch(late && stretch.count > 0) {
            seen = self.0.take_ends(s, seen, ends, |key| {
                // Rarely needed, so it is kept short.
                let (mut any, mut k) = (false, 0);
                while s.again(k * per < stretch.count) {
                    let (mut w, mut e) = (read(k, false), 0);
                    while s.again(e < valid(k)) {
                        any |= self.0.is_key(X::Bits::nth(&w, 0), key);
                        w = piece::followed(w, X::Bits::ZERO);
                        e += 1;
                    }
                    k += 1;
                }
                any
            });
            seen = self.settled(s, seen, total.squares.is_nan(), stretch, read, valid);
        }
        upwards(s, warp::MeetNear(&self.0), self.0.whole(total, seen), stretch.team)
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
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Share + Node>,
{
    type Fold = Described<X>;
    type Reduced = L;
    const UNITS: bool = !L::SEVERAL && !NARROW;
    const TEAMS: bool = !L::SEVERAL && !NARROW;
    const DEALS: bool = !L::SEVERAL && !NARROW;

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

impl<X, const C: usize> panel::Shallow<C> for Both<X, false, Pitch>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Share + Node>,
{
    const SIZE: u32 = X::Bits::SIZE;

    #[inline(always)]
    fn shallow<S: Simt>(&self, s: &S, strip: &Strip<Pitch>) -> [Description<X::Value, X::Key>; C] {
        let (totals, rows) = (&self.0.totals, strip.rows as u32);
        let bits: [[X::Bits; C]; STEPS] = panel::load_first(s, strip, panel::Tile { row: 0, step: 1 }, false);
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |j| {
                let column = |k: usize| bits[k][j];
                let total = panel::Ordered::<_, false>(*totals, PhantomData).at_most_eight(
                    s,
                    warpfold_simt::array::from_fn(column),
                    rows,
                );
                let there = |k: usize| if (k as u32) < rows { column(k) } else { column(0) };
                let seen = self.0.take(s, self.0.unseen(), STEPS, rows, there, |k| k as u32);
                self.0.whole(total, seen)
            },
        )
    }
}
