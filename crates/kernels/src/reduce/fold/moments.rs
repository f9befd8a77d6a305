//! What the folds of variances have in common: parts are moments and a count.

use crate::node::{Counted, Node, select};
use crate::reduce::fold::Share;
use crate::reduce::out::{Out, half};
use crate::reduce::recipe::{Recipe, flag};
use warpfold_core::ops::{Deviation, Moments};
use warpfold_core::{Cast, Element, Float, Reducer};
use warpfold_simt::Simt;

/// The part of no elements.
#[inline(always)]
pub fn nothing<F: Float>() -> Counted<Moments<F>> {
    Counted { acc: Moments { mean: F::ZERO, m2: F::ZERO }, count: 0 }
}

/// The part of two neighbouring ranges.
#[inline(always)]
pub fn meet<F>(left: Counted<Moments<F>>, right: Counted<Moments<F>>) -> Counted<Moments<F>>
where
    F: Element<Float = F, Mean = F> + Float,
{
    if left.count == 0 {
        right
    } else if right.count == 0 {
        left
    } else {
        let acc = Deviation::<F>::new(0.0, false).combine_counted(left.acc, left.count, right.acc, right.count);
        Counted { acc, count: left.count + right.count }
    }
}

/// The same of fewer than [`MOST_COUNTED`](warpfold_simt::MOST_COUNTED) elements, without a division. Where both have
/// as many, their share is exactly a half.
#[inline(always)]
pub fn meet_near<F>(left: Counted<Moments<F>>, right: Counted<Moments<F>>) -> Counted<Moments<F>>
where
    F: Element<Float = F, Mean = F> + Share + Node,
{
    let (m, n) = (left.count as u32 as f32, right.count as u32 as f32);
    let share = F::share(n, m + n);
    let d = right.acc.mean.sub(left.acc.mean);
    let more = d.square().mul(F::of_count(m).mul(share));
    let acc = Moments { mean: left.acc.mean.add(d.mul(share)), m2: left.acc.m2.add(right.acc.m2).add(more) };
    let both = Counted { acc, count: left.count + right.count };
    select(left.count == 0, right, select(right.count == 0, left, both))
}

/// The variance of `count` elements, or the standard deviation, before it is rounded. That of nothing is NaN, whatever
/// the divisor.
#[inline(always)]
fn total<F>(recipe: &Recipe, acc: Moments<F>, count: u64) -> Cast
where
    F: Element<Float = F, Mean = F> + Float + Node,
{
    let Moments { mean, m2 } = acc;
    let acc = Moments { mean, m2: if count == 0 { F::ZERO.div(F::ZERO) } else { m2 } };
    Deviation::<F>::new(recipe.ddof, recipe.has(flag::ROOT)).finish(acc, count).cast()
}

/// Writes it.
#[inline(always)]
pub fn finish<S: Simt, F>(s: &S, recipe: &Recipe, acc: Moments<F>, count: u64, out: Out)
where
    F: Element<Float = F, Mean = F> + Float + Node,
{
    out.float::<S, F>(s, recipe.output, total(recipe, acc, count));
}

/// The same, and the mean, if that is wanted.
#[inline(always)]
pub fn finish_both<S: Simt, F>(s: &S, recipe: &Recipe, acc: Moments<F>, count: u64, out: Out)
where
    F: Element<Float = F, Mean = F> + Float + Node,
{
    finish(s, recipe, acc, count, out);
    if s.branch(recipe.has(flag::MEANS)) {
        let output = out.output.offset(recipe.initial[0] as usize);
        Out { output, ..out }.float::<S, F>(s, recipe.output, F::from_float(acc.mean).cast());
    }
}

/// The bits of a result of 16 bits.
#[inline(always)]
pub fn narrow<S: Simt, F>(s: &S, recipe: &Recipe, acc: Moments<F>, count: u64) -> u32
where
    F: Element<Float = F, Mean = F> + Float + Node,
{
    half(s, recipe.output, f32::from_cast(total(recipe, acc, count))) as u32
}

/// For [`Parts`](crate::reduce::fold::Parts) of a variance.
macro_rules! counted_moments {
    () => {
        #[inline(always)]
        fn nothing(&self) -> Self::Part {
            $crate::reduce::fold::moments::nothing()
        }
        #[inline(always)]
        fn meet(&self, left: Self::Part, right: Self::Part) -> Self::Part {
            $crate::reduce::fold::moments::meet(left, right)
        }
        #[inline(always)]
        fn meet_near(&self, left: Self::Part, right: Self::Part) -> Self::Part {
            $crate::reduce::fold::moments::meet_near(left, right)
        }
    };
    (all) => {
        $crate::reduce::fold::moments::counted_moments!();
        #[inline(always)]
        fn narrow<S: Simt>(&self, s: &S, recipe: &Recipe, part: Self::Part) -> u32 {
            $crate::reduce::fold::moments::narrow(s, recipe, part.acc, recipe.count)
        }
        #[inline(always)]
        fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, part: Self::Part, out: Out) {
            // Of all elements, and so the same for all outputs.
            $crate::reduce::fold::moments::finish_both(s, recipe, part.acc, recipe.count, out);
        }
    };
    (live) => {
        $crate::reduce::fold::moments::counted_moments!();
        #[inline(always)]
        fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, part: Self::Part, out: Out) {
            $crate::reduce::fold::moments::finish(s, recipe, part.acc, part.count, out);
        }
    };
}
pub(crate) use counted_moments;

/// For a [`Tree`](crate::reduce::fold::Tree) whose nodes are moments of all elements under them.
macro_rules! halves {
    () => {
        #[inline(always)]
        fn join(&self, left: Self::Node, right: Self::Node, each: u32) -> Self::Node {
            Moments::of_halves(left, right, each)
        }
        #[inline(always)]
        fn part(&self, node: Self::Node, count: u32) -> Self::Part {
            Counted { acc: node, count: count as u64 }
        }
    };
}
pub(crate) use halves;
