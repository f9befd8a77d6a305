//! Means and variances that skip NaN: a node counts the elements under it that are numbers.
//!
//! A NaN leaves its place in the tree empty. A sum takes it as -0.0, which changes nothing. A variance takes it as a
//! node of no elements, and weighs two nodes by their counts, without a branch: the quotient of two counts is computed
//! from an approximate reciprocal, and is the correctly rounded one.

use crate::node::{Counted, Node, fields};
use crate::reduce::fold::moments::counted_moments;
use crate::reduce::fold::{Parts, Share, Tree, no_plain};
use crate::reduce::out::{Out, half};
use crate::reduce::recipe::Recipe;
use crate::source::Source;
use core::marker::PhantomData;
use warpfold_core::ops::{Moments, Sum};
use warpfold_core::{Accumulate, Cast, Element, Float, Real, Reducer};
use warpfold_simt::Simt;

/// The sum of the numbers under a node, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LiveSum<R> {
    sum: R,
    count: u32,
}

/// The moments of the numbers under a node. With none, all is zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LiveMoments<R> {
    moments: Moments<R>,
    /// How many there are: a whole number.
    count: f32,
}

fields! {
    [R] LiveSum<R> { sum: R, count: u32 }
    [R] LiveMoments<R> { moments: Moments<R>, count: f32 }
}

/// Whether it is a number, in one instruction.
#[inline(always)]
fn is_number<F: Float>(x: F) -> bool {
    x.partial_cmp(&x).is_some()
}

/// Means of all elements but NaN.
#[derive(Clone, Copy)]
pub struct LiveMeans<X>(PhantomData<X>);

impl<X> LiveMeans<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    /// The mean, before it is rounded. Of nothing: -0.0 / 0.
    #[inline(always)]
    fn mean(part: Counted<X::Value>) -> Cast {
        Sum::<X::Value>::mean().finish(part.acc, part.count).cast()
    }
}

impl<X> Parts for LiveMeans<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    type Part = Counted<X::Value>;
    const NARROW: bool = true;
    // One by one in lines: these have none.
    const LINES: bool = false;
    const SWAPS: bool = true;
    #[inline(always)]
    fn new(_recipe: &Recipe) -> Self {
        Self(PhantomData)
    }
    #[inline(always)]
    fn nothing(&self) -> Self::Part {
        Counted { acc: X::Value::NOTHING, count: 0 }
    }
    #[inline(always)]
    fn meet(&self, left: Self::Part, right: Self::Part) -> Self::Part {
        Counted { acc: left.acc.add(right.acc), count: left.count + right.count }
    }
    #[inline(always)]
    fn narrow<S: Simt>(&self, s: &S, recipe: &Recipe, part: Self::Part) -> u32 {
        half(s, recipe.output, f32::from_cast(Self::mean(part))) as u32
    }
    #[inline(always)]
    fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, part: Self::Part, out: Out) {
        out.float::<S, X::Value>(s, recipe.output, Self::mean(part));
    }
}

impl<X> Tree for LiveMeans<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    type Bits = X::Bits;
    type Node = LiveSum<X::Value>;
    const COMMUTES: bool = true;
    const NEUTRAL: bool = true;
    const COUNTS: bool = true;
    no_plain!();
    #[inline(always)]
    fn neutral(&self) -> Self::Node {
        LiveSum { sum: X::Value::NOTHING, count: 0 }
    }
    #[inline(always)]
    fn lift<S: Simt>(&self, s: &S, bits: X::Bits) -> Self::Node {
        let x = X::value(s, bits);
        LiveSum { sum: if is_number(x) { x } else { X::Value::NOTHING }, count: is_number(x) as u32 }
    }
    #[inline(always)]
    fn join(&self, left: Self::Node, right: Self::Node, _each: u32) -> Self::Node {
        LiveSum { sum: left.sum.add(right.sum), count: left.count + right.count }
    }
    #[inline(always)]
    fn part(&self, node: Self::Node, _count: u32) -> Self::Part {
        Counted { acc: node.sum, count: node.count as u64 }
    }
}

/// Variances and standard deviations of all elements but NaN.
#[derive(Clone, Copy)]
pub struct LiveDeviations<X>(PhantomData<X>);

impl<X> Parts for LiveDeviations<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Share + Node>,
{
    counted_moments!(live);
    type Part = Counted<Moments<X::Value>>;
    #[inline(always)]
    fn new(_recipe: &Recipe) -> Self {
        Self(PhantomData)
    }
}

impl<X> Tree for LiveDeviations<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Share + Node>,
{
    type Bits = X::Bits;
    type Node = LiveMoments<X::Value>;
    const COMMUTES: bool = false;
    const NEUTRAL: bool = true;
    const COUNTS: bool = true;
    no_plain!();
    #[inline(always)]
    fn neutral(&self) -> Self::Node {
        Node::zero()
    }
    #[inline(always)]
    fn lift<S: Simt>(&self, s: &S, bits: X::Bits) -> Self::Node {
        let x = X::value(s, bits);
        let mean = if is_number(x) { x } else { X::Value::ZERO };
        LiveMoments { moments: Moments { mean, m2: mean.sub(mean) }, count: if is_number(x) { 1.0 } else { 0.0 } }
    }
    /// One number alone is taken for both: its difference from itself is zero, or NaN of an infinity.
    #[inline(always)]
    fn pair<S: Simt>(&self, s: &S, left: X::Bits, right: X::Bits) -> Self::Node {
        let (x, y) = (X::value(s, left), X::value(s, right));
        let other = if is_number(y) { y } else { X::Value::ZERO };
        let left = if is_number(x) { x } else { other };
        let right = if is_number(y) { y } else { left };
        let one = |x: X::Value| if is_number(x) { 1.0 } else { 0.0 };
        LiveMoments { moments: Moments::of_two(left, right), count: one(x) + one(y) }
    }
    /// The formula of [`Deviation`](warpfold_core::ops::Deviation). No result depends on the sign of a mean that is
    /// zero, so the mean of a node beside one of no elements may be had by addition.
    #[inline(always)]
    fn join(&self, left: Self::Node, right: Self::Node, _each: u32) -> Self::Node {
        let count = left.count + right.count;
        let share = X::Value::share(right.count, count);
        let weight = X::Value::of_count(left.count).mul(share);
        let d = right.moments.mean.sub(left.moments.mean);
        let (step, more) = (d.mul(share), d.square().mul(weight));
        // Not, if one of them has no elements, or if both have none and their share is NaN.
        let both = weight > X::Value::ZERO;
        let mean = left.moments.mean.add(if both { step } else { right.moments.mean });
        let m2 = left.moments.m2.add(right.moments.m2).add(if both { more } else { X::Value::ZERO });
        LiveMoments { moments: Moments { mean, m2 }, count }
    }
    #[inline(always)]
    fn part(&self, node: Self::Node, _count: u32) -> Self::Part {
        Counted { acc: node.moments, count: node.count as u64 }
    }
}
