//! What becomes of the terms of two arrays: sums, means, cosines.

use crate::node::{Node, select};
use crate::reduce::fold::{Parts, Sums};
use crate::reduce::out::Out;
use crate::reduce::recipe::Recipe;
use crate::reduce::shape::split::next;
use crate::rowwise::number::{MOST, numbers};
use crate::source::{Bits, Source};
use crate::zip::term::{COSTLY, with_cheap, with_costly};
use core::marker::PhantomData;
use warpfold_core::rows::{Cosine, Dots, Loss};
use warpfold_core::{Accumulate, Element, Float, Real, Reducer, Zip};
use warpfold_simt::{ALL, Simt};

/// Where [`Recipe::flags`] has the kind of a loss.
pub const KIND: u32 = 16;

/// Steps of a tile whose packs a lane has at a time.
pub const TURN: usize = 4;

/// A fold of pairs of elements.
pub trait Pairs: Parts {
    /// An element of either array.
    type Source: Source<Value: Float + Node>;
    /// The part over the packs of both arrays of each of some steps, which are read as they are needed.
    fn whole<S: Simt>(&self, s: &S, read: impl Fn(usize) -> [[u32; 4]; 2]) -> [Self::Part; TURN];
    /// The part over the first `valid` elements of two packs.
    fn some<S: Simt>(&self, s: &S, packs: [[u32; 4]; 2], valid: u32) -> Self::Part;
}

/// The part over the first `valid` elements of two packs; over all of them, if that is not asked.
#[inline(always)]
fn pack<S, X, F>(
    s: &S,
    fold: &F,
    packs: [[u32; 4]; 2],
    valid: Option<u32>,
    term: impl Fn(X::Value, X::Value) -> F::Part,
) -> F::Part
where
    S: Simt,
    X: Source<Value: Float + Node>,
    F: Parts,
{
    let [x, y] = packs.map(
        #[inline(always)]
        |pack| numbers::<S, X>(s, pack),
    );
    let one = |k: usize| {
        let part = term(x[k], y[k]);
        match valid {
            None => part,
            Some(valid) => select((k as u32) < valid, part, fold.nothing()),
        }
    };
    let two = |k: usize| fold.meet(one(2 * k), one(2 * k + 1));
    let four = |k: usize| fold.meet(two(2 * k), two(2 * k + 1));
    match X::Bits::PER as usize {
        2 => two(0),
        4 => four(0),
        MOST => fold.meet(four(0), four(1)),
        _ => one(0),
    }
}

/// The part over two packs, of at most four elements of each at a time: more would need more registers than there are.
#[inline(always)]
fn by_four<S, X, F>(s: &S, fold: &F, packs: [[u32; 4]; 2], term: impl Fn(X::Value, X::Value) -> F::Part) -> F::Part
where
    S: Simt,
    X: Source<Value: Float + Node>,
    F: Parts,
{
    if X::Bits::PER < MOST as u32 {
        return pack::<S, X, F>(s, fold, packs, None, term);
    }
    let (mut part, mut packs, mut k) = (fold.nothing(), packs, 0);
    while s.again(s.any(ALL, k < 2)) {
        let [x, y] = packs.map(
            #[inline(always)]
            |pack| numbers::<S, X>(s, pack),
        );
        let two = |k: usize| fold.meet(term(x[k], y[k]), term(x[k + 1], y[k + 1]));
        let four = fold.meet(two(0), two(2));
        // Before the first there is nothing, which changes nothing.
        part = fold.meet(part, four);
        packs = packs.map(
            #[inline(always)]
            |[a, b, c, d]| [c, d, a, b],
        );
        k += 1;
    }
    part
}

/// Whether the losses of all elements of two packs are plain.
#[inline(always)]
pub fn all_plain<X>(term: &impl Loss<X::Value>, x: &[X::Value; MOST], y: &[X::Value; MOST]) -> bool
where
    X: Source<Value: Float>,
{
    let (mut all, mut k) = (true, 0);
    while k < X::Bits::PER as usize {
        all &= term.is_plain(x[k], y[k]);
        k += 1;
    }
    all
}

/// The sum or the mean of a loss.
#[derive(Clone, Copy)]
pub struct Losses<X: Source> {
    kind: u32,
    number: X::Value,
    sums: Sums<X>,
}

impl<X> Parts for Losses<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    type Part = X::Value;
    const SWAPS: bool = true;
    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        let number = X::Value::from_f64(f64::from_bits(recipe.initial[0]));
        Self { kind: recipe.flags >> KIND, number, sums: Sums::new(recipe) }
    }
    #[inline(always)]
    fn nothing(&self) -> X::Value {
        self.sums.nothing()
    }
    #[inline(always)]
    fn meet(&self, left: X::Value, right: X::Value) -> X::Value {
        self.sums.meet(left, right)
    }
    #[inline(always)]
    fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, part: X::Value, out: Out) {
        self.sums.finish(s, recipe, part, out);
    }
}

impl<X> Pairs for Losses<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    type Source = X;

    #[inline(always)]
    fn whole<S: Simt>(&self, s: &S, read: impl Fn(usize) -> [[u32; 4]; 2]) -> [X::Value; TURN] {
        if s.branch(self.kind < COSTLY) {
            let packs: [_; TURN] = warpfold_simt::array::from_fn(read);
            return with_cheap!(s, self.kind, self.number, term => warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| pack::<S, X, Self>(s, self, packs[k], None, |x, y| term.zip(x, y)),
            ));
        }
        // One copy of the code.
        let (mut parts, mut k) = ([self.nothing(); TURN], 0);
        while s.again(s.any(ALL, k < TURN)) {
            let packs = read(k);
            let [own, other] = packs.map(
                #[inline(always)]
                |pack| numbers::<S, X>(s, pack),
            );
            let part = with_costly!(s, self.kind, term => {
                if s.branch(s.all(ALL, all_plain::<X>(&term, &own, &other))) {
                    by_four::<S, X, Self>(s, self, packs, |x, y| term.plain(x, y))
                } else {
                    by_four::<S, X, Self>(s, self, packs, |x, y| term.zip(x, y))
                }
            });
            parts = next(parts, part);
            k += 1;
        }
        parts
    }

    #[inline(always)]
    fn some<S: Simt>(&self, s: &S, packs: [[u32; 4]; 2], valid: u32) -> X::Value {
        if s.branch(self.kind < COSTLY) {
            return with_cheap!(s, self.kind, self.number, term => {
                pack::<S, X, Self>(s, self, packs, Some(valid), |x, y| term.zip(x, y))
            });
        }
        with_costly!(s, self.kind, term => {
            pack::<S, X, Self>(s, self, packs, Some(valid), |x, y| term.zip(x, y))
        })
    }
}

/// The cosine of two rows.
#[derive(Clone, Copy)]
pub struct Cosines<X: Source> {
    cosine: Cosine<X::Value>,
    source: PhantomData<X>,
}

impl<X> Parts for Cosines<X>
where
    X: Source<Value: Element + Float + Node>,
{
    type Part = Dots<X::Value>;
    const SWAPS: bool = true;
    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        let epsilon = X::Value::from_f64(f64::from_bits(recipe.initial[0]));
        Self { cosine: Cosine { epsilon }, source: PhantomData }
    }
    #[inline(always)]
    fn nothing(&self) -> Self::Part {
        let nothing = X::Value::NOTHING;
        Dots { dot: nothing, x: nothing, y: nothing }
    }
    #[inline(always)]
    fn meet(&self, left: Self::Part, right: Self::Part) -> Self::Part {
        self.cosine.combine(left, right)
    }
    #[inline(always)]
    fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, part: Self::Part, out: Out) {
        let cosine = self.cosine.finish(part, recipe.count);
        let cosine = if X::is_nan(cosine) { X::Value::from_f64(f64::NAN) } else { cosine };
        out.float::<S, X::Value>(s, recipe.output, cosine.cast());
    }
}

impl<X> Pairs for Cosines<X>
where
    X: Source<Value: Element + Float + Node>,
{
    type Source = X;

    #[inline(always)]
    fn whole<S: Simt>(&self, s: &S, read: impl Fn(usize) -> [[u32; 4]; 2]) -> [Self::Part; TURN] {
        let packs: [_; TURN] = warpfold_simt::array::from_fn(read);
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| pack::<S, X, Self>(s, self, packs[k], None, |x, y| self.cosine.lift((x, y), 0)),
        )
    }

    #[inline(always)]
    fn some<S: Simt>(&self, s: &S, packs: [[u32; 4]; 2], valid: u32) -> Self::Part {
        pack::<S, X, Self>(s, self, packs, Some(valid), |x, y| self.cosine.lift((x, y), 0))
    }
}
