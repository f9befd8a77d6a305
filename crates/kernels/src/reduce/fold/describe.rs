//! What `describe` says of floats, in one read: totals go up the tree; extremes, their places and NaNs are counted in
//! any order.

use crate::node::{Counted, Node, fields};
use crate::reduce::fold::ends::Ends;
use crate::reduce::fold::key::Key;
use crate::reduce::fold::keys::Keys;
use crate::reduce::fold::{Deviations, Norms, Parts, Share, Sums, Tree, no_plain};
use crate::reduce::out::Out;
use crate::reduce::recipe::{Recipe, code, flag};
use crate::source::{Bits, Source};
use core::ops::Add;
use warpfold_core::ops::Moments;
use warpfold_core::{Accumulate, DType, Element};
use warpfold_simt::{Pod, Simt};

/// The sum, the sum of squares and the moments. `M` is [`Moments`], or these and a count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Total<R, M> {
    /// Of the elements.
    pub sum: R,
    /// Of their squares.
    pub squares: R,
    /// For the standard deviation.
    pub moments: M,
}

/// An extreme: the greatest key, and the first place of an element that equals it. `P` is an index, or a number of
/// packs, or of stretches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct End<K, P> {
    /// -0.0 is below +0.0.
    pub key: K,
    /// -0.0 equals +0.0.
    pub at: P,
}

/// What needs no order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen<K, P> {
    /// NaNs.
    pub nans: P,
    /// Of keys with all bits flipped.
    pub least: End<K, P>,
    /// Of keys.
    pub greatest: End<K, P>,
}

/// All of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Description<R, K> {
    /// In the order of the tree.
    pub total: Total<R, Counted<Moments<R>>>,
    /// In any order.
    pub seen: Seen<K, u64>,
}

fields! {
    [R, M] Total<R, M> { sum: R, squares: R, moments: M }
    [K, P] End<K, P> { key: K, at: P }
    [K, P] Seen<K, P> { nans: P, least: End<K, P>, greatest: End<K, P> }
    [R, K] Description<R, K> { total: Total<R, Counted<Moments<R>>>, seen: Seen<K, u64> }
}

/// The key that is compared for a place: the two zeros have the keys -1 and 0, flipped or not.
#[inline(always)]
fn merged<K: Key>(key: K) -> K {
    if key == K::cut(-1) { K::cut(0) } else { key }
}

impl<K: Key, P: Copy + Ord> End<K, P> {
    /// Takes what comes later.
    #[inline(always)]
    fn take(self, key: K, at: P) -> Self {
        Self { key: self.key.max(key), at: if key > merged(self.key) { at } else { self.at } }
    }

    /// Takes what comes from anywhere.
    #[inline(always)]
    fn meet(self, other: Self) -> Self {
        let (own, key) = (merged(self.key), merged(other.key));
        let better = key > own || (key == own && other.at < self.at);
        Self { key: self.key.max(other.key), at: if better { other.at } else { self.at } }
    }
}

impl<K: Key, P: Copy + Ord + Add<Output = P>> Seen<K, P> {
    /// Of two ranges.
    #[inline(always)]
    pub fn meet(self, other: Self) -> Self {
        Self {
            nans: self.nans + other.nans,
            least: self.least.meet(other.least),
            greatest: self.greatest.meet(other.greatest),
        }
    }
}

/// The part of `describe` that has an order.
#[derive(Clone, Copy)]
pub struct Totals<X> {
    sums: Sums<X>,
    norms: Norms<X>,
    deviations: Deviations<X>,
}

/// Reads floats as they are, whatever else a recipe says.
#[inline(always)]
fn plain<X: Source>(flags: u32) -> Recipe {
    let dtype = code(X::DTYPE);
    Recipe { count: 0, ddof: 0.0, initial: [0; 2], flags, input: dtype, output: dtype, through: dtype }
}

impl<X> Parts for Totals<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Share + Node>,
{
    type Part = Total<X::Value, Counted<Moments<X::Value>>>;
    #[inline(always)]
    fn new(_recipe: &Recipe) -> Self {
        let recipe = plain::<X>(flag::SQUARE);
        Self { sums: Sums::new(&recipe), norms: Norms::new(&recipe), deviations: Deviations::new(&recipe) }
    }
    #[inline(always)]
    fn nothing(&self) -> Self::Part {
        Total { sum: self.sums.nothing(), squares: self.norms.nothing(), moments: self.deviations.nothing() }
    }
    #[inline(always)]
    fn meet(&self, left: Self::Part, right: Self::Part) -> Self::Part {
        Total {
            sum: self.sums.meet(left.sum, right.sum),
            squares: self.norms.meet(left.squares, right.squares),
            moments: self.deviations.meet(left.moments, right.moments),
        }
    }
    #[inline(always)]
    fn meet_near(&self, left: Self::Part, right: Self::Part) -> Self::Part {
        Total { moments: self.deviations.meet_near(left.moments, right.moments), ..self.meet(left, right) }
    }
    /// Mean, standard deviation, sum and 2-norm, one array of outputs after the other.
    #[inline(always)]
    fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, part: Self::Part, out: Out) {
        let step = recipe.initial[0] as usize * X::Bits::SIZE as usize;
        let stat = |k: usize| Out { output: out.output.offset(k * step), ..out };
        let told = |flags: u32| Recipe { count: recipe.count, ..plain::<X>(flags) };
        self.sums.finish(s, &told(flag::MEAN), part.sum, stat(0));
        self.deviations.finish(s, &told(flag::ROOT), part.moments, stat(1));
        self.sums.finish(s, &told(0), part.sum, stat(2));
        self.norms.finish(s, &told(flag::ROOT | flag::SQUARE), part.squares, stat(3));
    }
}

impl<X> Tree for Totals<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Share + Node>,
{
    type Bits = X::Bits;
    type Node = Total<X::Value, Moments<X::Value>>;
    const COMMUTES: bool = false;
    const NEUTRAL: bool = false;
    no_plain!();
    #[inline(always)]
    fn neutral(&self) -> Self::Node {
        Total { sum: self.sums.neutral(), squares: self.norms.neutral(), moments: self.deviations.neutral() }
    }
    #[inline(always)]
    fn lift<S: Simt>(&self, s: &S, bits: X::Bits) -> Self::Node {
        Total {
            sum: self.sums.lift(s, bits),
            squares: self.norms.lift(s, bits),
            moments: self.deviations.lift(s, bits),
        }
    }
    #[inline(always)]
    fn pair<S: Simt>(&self, s: &S, left: X::Bits, right: X::Bits) -> Self::Node {
        Total {
            sum: self.sums.pair(s, left, right),
            squares: self.norms.pair(s, left, right),
            moments: self.deviations.pair(s, left, right),
        }
    }
    #[inline(always)]
    fn join(&self, left: Self::Node, right: Self::Node, each: u32) -> Self::Node {
        Total {
            sum: self.sums.join(left.sum, right.sum, each),
            squares: self.norms.join(left.squares, right.squares, each),
            moments: self.deviations.join(left.moments, right.moments, each),
        }
    }
    #[inline(always)]
    fn join_lanes(&self, high: bool, got: Self::Node, own: Self::Node, each: u32) -> Self::Node {
        Total {
            sum: self.sums.join_lanes(high, got.sum, own.sum, each),
            squares: self.norms.join_lanes(high, got.squares, own.squares, each),
            moments: self.deviations.join_lanes(high, got.moments, own.moments, each),
        }
    }
    #[inline(always)]
    fn part(&self, node: Self::Node, count: u32) -> Self::Part {
        Total { sum: node.sum, squares: node.squares, moments: self.deviations.part(node.moments, count) }
    }
}

/// Everything that `describe` says of floats.
#[derive(Clone, Copy)]
pub struct Described<X: Source> {
    /// What has an order.
    pub totals: Totals<X>,
    least: Keys<X::Bits, X::Key>,
    pub(super) greatest: Keys<X::Bits, X::Key>,
}

impl<X> Described<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Share + Node>,
{
    /// Before the first element.
    #[inline(always)]
    pub fn unseen(&self) -> Seen<X::Key, u32> {
        let none = End { key: X::Key::MIN, at: u32::MAX };
        Seen { nans: 0, least: none, greatest: none }
    }

    /// Takes the first `valid` of `n` elements, whose places ascend; the others are the first again.
    #[inline(always)]
    pub fn take<S: Simt>(
        &self,
        s: &S,
        seen: Seen<X::Key, u32>,
        n: usize,
        valid: u32,
        bits: impl Fn(usize) -> X::Bits,
        place: impl Fn(usize) -> u32,
    ) -> Seen<X::Key, u32> {
        let key = |k: usize| self.greatest.number(bits(k));
        let (mut least, mut greatest) = (key(0), key(0));
        let mut k = 1;
        while k < n {
            (least, greatest) = (least.min(key(k)), greatest.max(key(k)));
            k += 1;
        }
        let number = |k: usize| X::value(s, bits(k));
        let (mut first, mut last) = (place(n - 1), place(n - 1));
        let mut nans = 0;
        let mut k = n;
        if s.branch(self.greatest.beyond(least, greatest)) {
            while k > 0 {
                k -= 1;
                let nan = number(k).is_nan();
                nans += (nan && (k as u32) < valid) as u32;
                first = if nan { place(k) } else { first };
            }
            // A NaN is either extreme.
            last = first;
            (least, greatest) = (self.greatest.nan().flipped(X::Key::cut(-1)), self.greatest.nan());
        } else {
            let of = |key: X::Key| X::value(s, X::Bits::from_bits(self.greatest.bits(key).into()));
            let (lower, upper) = (of(least), of(greatest));
            while k > 0 {
                k -= 1;
                first = if number(k) == lower { place(k) } else { first };
                last = if number(k) == upper { place(k) } else { last };
            }
        }
        Seen {
            nans: seen.nans + nans,
            least: seen.least.take(least.flipped(X::Key::cut(-1)), first),
            greatest: seen.greatest.take(greatest, last),
        }
    }

    /// Takes extremes that were found as numbers, unless one is NaN. What is found beside a NaN is of no importance:
    /// the NaN is an extreme itself, and taken later. In case that one is zero, `has` says whether there is an element
    /// with a key, that of -0.0 or of +0.0.
    #[inline(always)]
    pub fn take_ends<S: Simt>(
        &self,
        s: &S,
        seen: Seen<X::Key, u32>,
        ends: Ends<X::Value>,
        has: impl Fn(X::Key) -> bool,
    ) -> Seen<X::Key, u32> {
        let key = |number: X::Value| self.greatest.number(X::bits(s, number));
        let zero = X::Value::ZERO;
        let (mut least, mut greatest) = (key(ends.least), key(ends.greatest));
        if !X::TELLS_ZEROS && s.branch(ends.least == zero || ends.greatest == zero) {
            let [low, high] = [has(X::Key::cut(-1)), has(X::Key::cut(0))];
            least = if ends.least == zero { X::Key::cut(-(low as i64)) } else { least };
            greatest = if ends.greatest == zero { X::Key::cut(high as i64 - 1) } else { greatest };
        }
        if X::is_nan(ends.least) || X::is_nan(ends.greatest) {
            return seen;
        }
        let least = seen.least.take(least.flipped(X::Key::cut(-1)), ends.first);
        Seen { nans: seen.nans, least, greatest: seen.greatest.take(greatest, ends.last) }
    }

    /// Whether an element has this key.
    #[inline(always)]
    pub fn is_key(&self, bits: X::Bits, key: X::Key) -> bool {
        self.greatest.number(bits) == key
    }

    /// Takes `nans` NaNs, of which the first is at `place`.
    #[inline(always)]
    pub fn take_nans(&self, seen: Seen<X::Key, u32>, nans: u32, place: u32) -> Seen<X::Key, u32> {
        let nan = self.greatest.nan();
        Seen { nans: seen.nans + nans, least: seen.least.take(nan, place), greatest: seen.greatest.take(nan, place) }
    }

    /// Whether these bits are what a place is looked for: of the least, or of the greatest.
    #[inline(always)]
    pub fn found(&self, bits: X::Bits, key: X::Key, least: bool) -> bool {
        let keys = if least { &self.least } else { &self.greatest };
        merged(keys.key(bits)) == merged(key)
    }

    /// With what a lane has seen.
    #[inline(always)]
    pub fn whole(&self, total: <Totals<X> as Parts>::Part, seen: Seen<X::Key, u32>) -> Description<X::Value, X::Key> {
        let end = |end: End<X::Key, u32>| End { key: end.key, at: end.at as u64 };
        let seen = Seen { nans: seen.nans as u64, least: end(seen.least), greatest: end(seen.greatest) };
        Description { total, seen }
    }
}

impl<X> Parts for Described<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Share + Node>,
{
    const PLACES: bool = true;
    type Part = Description<X::Value, X::Key>;
    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self {
            totals: Totals::new(recipe),
            least: Keys::new(&plain::<X>(flag::LEAST), false),
            greatest: Keys::new(&plain::<X>(0), false),
        }
    }
    #[inline(always)]
    fn nothing(&self) -> Self::Part {
        self.whole(self.totals.nothing(), self.unseen())
    }
    #[inline(always)]
    fn meet(&self, left: Self::Part, right: Self::Part) -> Self::Part {
        Description { total: self.totals.meet(left.total, right.total), seen: left.seen.meet(right.seen) }
    }
    #[inline(always)]
    fn meet_near(&self, left: Self::Part, right: Self::Part) -> Self::Part {
        Description { total: self.totals.meet_near(left.total, right.total), seen: left.seen.meet(right.seen) }
    }
    #[inline(always)]
    fn moved(&self, mut part: Self::Part, by: u64) -> Self::Part {
        part.seen.least.at += by;
        part.seen.greatest.at += by;
        part
    }
    /// One array of outputs after the other: NaNs, places of least and greatest, then these, mean, standard deviation,
    /// sum and norm. The recipe's initial value says how many outputs there are, and which is the first.
    #[inline(always)]
    fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, part: Self::Part, out: Out) {
        let outputs = recipe.initial[0] as usize;
        let out = Out { index: out.index.wrapping_add(recipe.initial[1] as usize), ..out };
        let stat = |bytes: u32| Out { output: out.output.offset(bytes as usize * outputs), ..out };
        let (Seen { nans, least, greatest }, size) = (part.seen, X::Bits::SIZE);
        stat(0).integer(s, code(DType::I64), nans);
        stat(8).integer(s, code(DType::I64), least.at);
        stat(16).integer(s, code(DType::I64), greatest.at);
        stat(24).integer(s, code(X::DTYPE), self.least.bits(least.key));
        stat(24 + size).integer(s, code(X::DTYPE), self.greatest.bits(greatest.key));
        self.totals.finish(s, recipe, part.total, stat(24 + 2 * size));
    }
}
