//! Exponentials in the order of the tree, and the cheaper tree of ordinary ones.

use crate::node::Node;
use crate::reduce::fold::{Parts, Tree, no_large, no_plain};
use crate::reduce::out::{Out, half};
use crate::reduce::recipe::{Recipe, flag};
use crate::source::Source;
use core::marker::PhantomData;
use warpfold_core::ops::{Exponential, LogSumExp, Powers, SumExp};
use warpfold_core::{Accumulate, Cast, Element, Float, Reducer};
use warpfold_simt::Simt;

/// `log(sum(exp(x)))`.
#[derive(Clone, Copy)]
pub struct LogSumExps<X> {
    skip: bool,
    kind: PhantomData<X>,
}

impl<X> Parts for LogSumExps<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    const NARROW: bool = true;
    const LINES: bool = false;
    type Part = Powers<X::Value, X::Value>;
    const SWAPS: bool = true;
    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self { skip: recipe.has(flag::SKIP_NAN), kind: PhantomData }
    }
    #[inline(always)]
    fn nothing(&self) -> Self::Part {
        Powers { scale: X::Value::NO_TERM, sum: X::Value::ZERO }
    }
    #[inline(always)]
    fn meet(&self, left: Self::Part, right: Self::Part) -> Self::Part {
        LogSumExp::<X::Value>::new().combine(left, right)
    }
    #[inline(always)]
    fn narrow<S: Simt>(&self, s: &S, recipe: &Recipe, part: Self::Part) -> u32 {
        half(s, recipe.output, f32::from_cast(LogSumExp::<X::Value>::new().finish(part, recipe.count).cast())) as u32
    }
    #[inline(always)]
    fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, part: Self::Part, out: Out) {
        out.float::<S, X::Value>(s, recipe.output, LogSumExp::<X::Value>::new().finish(part, recipe.count).cast());
    }
}

impl<X> Tree for LogSumExps<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    type Bits = X::Bits;
    type Node = Self::Part;
    const COMMUTES: bool = true;
    const NEUTRAL: bool = true;
    #[inline(always)]
    fn neutral(&self) -> Self::Node {
        self.nothing()
    }
    #[inline(always)]
    fn lift<S: Simt>(&self, s: &S, bits: X::Bits) -> Self::Node {
        let x = X::value(s, bits);
        let x = if self.skip && x.is_nan() { X::Value::from_cast(Cast::Float(f64::NEG_INFINITY)) } else { x };
        LogSumExp::<X::Value>::new().lift(x, 0)
    }
    #[inline(always)]
    fn join(&self, left: Self::Node, right: Self::Node, _each: u32) -> Self::Node {
        LogSumExp::<X::Value>::new().combine(left, right)
    }
    #[inline(always)]
    fn part(&self, node: Self::Node, _count: u32) -> Self::Part {
        node
    }
    no_large!();
    type Plain = SumExps<X>;
    const HAS_PLAIN: bool = true;
    #[inline(always)]
    fn plain(&self) -> SumExps<X> {
        SumExps(PhantomData)
    }
    #[inline(always)]
    fn is_ordinary<S: Simt>(&self, s: &S, bits: X::Bits) -> bool {
        X::value(s, bits).is_ordinary()
    }
    #[inline(always)]
    fn raise(&self, sum: X::Value) -> Self::Node {
        SumExp::<X::Value>::raise(sum)
    }
}

/// `sum(exp(x))` of ordinary elements: inside [`LogSumExps`], never alone.
#[derive(Clone, Copy)]
pub struct SumExps<X>(PhantomData<X>);

impl<X> Parts for SumExps<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    type Part = X::Value;
    const SWAPS: bool = true;
    #[inline(always)]
    fn new(_recipe: &Recipe) -> Self {
        Self(PhantomData)
    }
    #[inline(always)]
    fn nothing(&self) -> X::Value {
        X::Value::ZERO
    }
    #[inline(always)]
    fn meet(&self, left: X::Value, right: X::Value) -> X::Value {
        SumExp::<X::Value>::new().combine(left, right)
    }
    #[inline(always)]
    fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, part: X::Value, out: Out) {
        out.number(s, recipe.output, part.cast());
    }
}

impl<X> Tree for SumExps<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    type Bits = X::Bits;
    type Node = X::Value;
    const COMMUTES: bool = true;
    const NEUTRAL: bool = true;
    no_plain!();
    #[inline(always)]
    fn neutral(&self) -> X::Value {
        self.nothing()
    }
    #[inline(always)]
    fn lift<S: Simt>(&self, s: &S, bits: X::Bits) -> X::Value {
        X::value(s, bits).ordinary_exp_of(X::DTYPE)
    }
    #[inline(always)]
    fn join(&self, left: X::Value, right: X::Value, _each: u32) -> X::Value {
        self.meet(left, right)
    }
    #[inline(always)]
    fn part(&self, node: X::Value, _count: u32) -> X::Value {
        node
    }
}
