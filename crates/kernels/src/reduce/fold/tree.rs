//! Reductions in the order of the tree: the reducers are core's, so a node here has the bits of a node on the CPU.

use crate::node::{Counted, Node, select};
use crate::reduce::fold::Share;
use crate::reduce::fold::moments::{counted_moments, halves};
use crate::reduce::fold::{Parts, Tree, no_plain};
use crate::reduce::out::{Out, half};
use crate::reduce::recipe::{Recipe, flag};
use crate::source::{Bits, Source};
use core::marker::PhantomData;
use warpfold_core::ops::{Deviation, Magnitude, Moments, Plain, Precision, Product, Square, Sum, Value};
use warpfold_core::{Accumulate, Cast, Element, Float, Real, Reducer};
use warpfold_simt::{Pod, Simt};

/// The bits of the initial value, if there is one.
#[inline(always)]
pub fn initial<F: Float + Element>(recipe: &Recipe) -> Option<F> {
    let value = F::from_cast(Cast::Float(f64::from_bits(recipe.initial[0])));
    recipe.has(flag::INITIAL).then_some(value)
}

/// Elements with others, of these bits, in the place of NaN.
#[inline(always)]
pub(super) fn without_nan<S: Simt, X: Source, const N: usize>(s: &S, w: [[u32; 4]; N], blank: u64) -> [[u32; 4]; N] {
    let size = X::Bits::SIZE as usize;
    // Loops: closures in closures are not inlined everywhere.
    let (mut without, mut n) = (w, 0);
    while n < 4 * N {
        let (row, i) = (&w[n / 4], n % 4);
        let is_nan = |k: usize| X::value(s, X::Bits::nth(row, k)).is_nan();
        without[n / 4][i] = if size >= 4 {
            let words = size / 4;
            if is_nan(i / words) { (blank >> (32 * (i % words))) as u32 } else { row[i] }
        } else {
            let low = if is_nan(2 * i) { blank as u32 } else { row[i] & 0xffff };
            let high = if is_nan(2 * i + 1) { (blank as u32) << 16 } else { row[i] & 0xffff_0000 };
            low | high
        };
        n += 1;
    }
    without
}

/// Sums and means, NaNs skipped or not.
#[derive(Clone, Copy)]
pub struct Sums<X> {
    skip: bool,
    kind: PhantomData<X>,
}

impl<X> Sums<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    /// The addend of an element.
    #[inline(always)]
    fn term<S: Simt>(&self, s: &S, bits: X::Bits) -> X::Value {
        let x = X::value(s, bits);
        if self.skip && x.is_nan() { X::Value::NOTHING } else { x }
    }
}

impl<X> Parts for Sums<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    const NARROW: bool = true;
    type Part = X::Value;
    const SWAPS: bool = true;
    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self { skip: recipe.has(flag::SKIP_NAN), kind: PhantomData }
    }
    #[inline(always)]
    fn nothing(&self) -> X::Value {
        X::Value::NOTHING
    }
    #[inline(always)]
    fn meet(&self, left: X::Value, right: X::Value) -> X::Value {
        left.add(right)
    }
    #[inline(always)]
    fn narrow<S: Simt>(&self, s: &S, recipe: &Recipe, part: X::Value) -> u32 {
        half(s, recipe.output, f32::from_cast(total::<S, X::Value, Plain>(s, recipe, part))) as u32
    }
    #[inline(always)]
    fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, part: X::Value, out: Out) {
        out.float::<S, X::Value>(s, recipe.output, total::<S, X::Value, Plain>(s, recipe, part));
    }
}

/// The sum or the mean, before it is rounded.
#[inline(always)]
pub(super) fn total<S, F, P>(s: &S, recipe: &Recipe, part: P::Real) -> Cast
where
    S: Simt,
    F: Element<Float = F, Mean = F> + Float,
    P: Precision<F>,
{
    let initial = initial(recipe);
    if s.branch(recipe.has(flag::MEAN)) {
        // Anew, so that sums do not divide as well.
        let count = recipe.count >> 32 << 32 | s.anew(recipe.count as u32) as u64;
        return Sum::<F, Value, P>::mean().initial(initial).finish(part, count).cast();
    }
    Sum::<F, Value, P>::total().initial(initial).finish(part, recipe.count).cast()
}

impl<X> Tree for Sums<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    type Bits = X::Bits;
    type Node = X::Value;
    const COMMUTES: bool = true;
    const NEUTRAL: bool = true;
    const TWINS: bool = X::Bits::SIZE == 2;
    no_plain!();
    #[inline(always)]
    fn neutral(&self) -> Self::Node {
        self.nothing()
    }
    #[inline(always)]
    fn blank(&self) -> Option<X::Bits> {
        // The bits of -0.0.
        Some(X::Bits::from_bits(1 << (8 * X::Bits::SIZE - 1)))
    }
    #[inline(always)]
    fn whole<S: Simt, const N: usize>(&self, s: &S, w: [[u32; 4]; N]) -> (Self, [[u32; 4]; N]) {
        // -0.0 changes no sum.
        let w = if s.branch(self.skip) { without_nan::<S, X, N>(s, w, 1 << (8 * X::Bits::SIZE - 1)) } else { w };
        (Self { skip: false, ..*self }, w)
    }
    #[inline(always)]
    fn lift<S: Simt>(&self, s: &S, bits: X::Bits) -> X::Value {
        self.term(s, bits)
    }
    #[inline(always)]
    fn join(&self, left: X::Value, right: X::Value, _each: u32) -> X::Value {
        left.add(right)
    }
    #[inline(always)]
    fn part(&self, node: X::Value, _count: u32) -> X::Value {
        node
    }
}

/// Sums of magnitudes or of squares: the 1-norm and the 2-norm.
#[derive(Clone, Copy)]
pub struct Norms<X> {
    skip: bool,
    square: bool,
    kind: PhantomData<X>,
}

impl<X> Parts for Norms<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    const NARROW: bool = true;
    type Part = X::Value;
    const SWAPS: bool = true;
    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self { skip: recipe.has(flag::SKIP_NAN), square: recipe.has(flag::SQUARE), kind: PhantomData }
    }
    #[inline(always)]
    fn nothing(&self) -> X::Value {
        X::Value::NOTHING
    }
    #[inline(always)]
    fn meet(&self, left: X::Value, right: X::Value) -> X::Value {
        left.add(right)
    }
    #[inline(always)]
    fn narrow<S: Simt>(&self, s: &S, recipe: &Recipe, part: X::Value) -> u32 {
        half(s, recipe.output, f32::from_cast(Self::total(recipe, part))) as u32
    }
    #[inline(always)]
    fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, part: X::Value, out: Out) {
        out.float::<S, X::Value>(s, recipe.output, Self::total(recipe, part));
    }
}

impl<X> Norms<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    /// The result, before it is rounded.
    #[inline(always)]
    fn total(recipe: &Recipe, part: X::Value) -> Cast {
        if recipe.has(flag::ROOT) {
            Sum::<X::Value, Square>::norm2().finish(part, recipe.count).cast()
        } else {
            Sum::<X::Value, Magnitude>::norm1().finish(part, recipe.count).cast()
        }
    }
}

impl<X> Tree for Norms<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    type Bits = X::Bits;
    type Node = X::Value;
    const COMMUTES: bool = true;
    const NEUTRAL: bool = true;
    no_plain!();
    #[inline(always)]
    fn neutral(&self) -> Self::Node {
        self.nothing()
    }
    #[inline(always)]
    fn whole<S: Simt, const N: usize>(&self, s: &S, w: [[u32; 4]; N]) -> (Self, [[u32; 4]; N]) {
        // Zero changes no sum of magnitudes, which are not negative.
        let w = if s.branch(self.skip) { without_nan::<S, X, N>(s, w, 0) } else { w };
        (Self { skip: false, ..*self }, w)
    }
    #[inline(always)]
    fn blank(&self) -> Option<X::Bits> {
        Some(X::Bits::ZERO)
    }
    #[inline(always)]
    fn lift<S: Simt>(&self, s: &S, bits: X::Bits) -> X::Value {
        let x = X::value(s, bits);
        let magnitude = x.abs();
        let square = magnitude.square();
        let term = if self.square { square } else { magnitude };
        if self.skip && x.is_nan() { X::Value::NOTHING } else { term }
    }
    #[inline(always)]
    fn join(&self, left: X::Value, right: X::Value, _each: u32) -> X::Value {
        left.add(right)
    }
    #[inline(always)]
    fn part(&self, node: X::Value, _count: u32) -> X::Value {
        node
    }
}

/// Variances and standard deviations.
#[derive(Clone, Copy)]
pub struct Deviations<X>(PhantomData<X>);

impl<X> Parts for Deviations<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Share + Node>,
{
    // Columns of 16 bits have no registers for it: 31 of them took an H200 124 us without, and 148 so.
    const LINES: bool = true;
    type Part = Counted<Moments<X::Value>>;
    #[inline(always)]
    fn new(_recipe: &Recipe) -> Self {
        Self(PhantomData)
    }
    counted_moments!(all);
}

impl<X> Tree for Deviations<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Share + Node>,
{
    type Bits = X::Bits;
    type Node = Moments<X::Value>;
    const COMMUTES: bool = false;
    const NEUTRAL: bool = false;
    const TURNS: bool = true;
    no_plain!();
    #[inline(always)]
    fn neutral(&self) -> Self::Node {
        Moments { mean: X::Value::ZERO, m2: X::Value::ZERO }
    }
    #[inline(always)]
    fn lift<S: Simt>(&self, s: &S, bits: X::Bits) -> Self::Node {
        Deviation::<X::Value>::new(0.0, false).lift(X::value(s, bits), 0)
    }
    #[inline(always)]
    fn pair<S: Simt>(&self, s: &S, left: X::Bits, right: X::Bits) -> Self::Node {
        Moments::of_two(X::value(s, left), X::value(s, right))
    }
    halves!();
    #[inline(always)]
    fn join_lanes(&self, high: bool, got: Self::Node, own: Self::Node, each: u32) -> Self::Node {
        // The sums of squared deviations are added, in either order.
        let left = Moments { mean: select(high, got.mean, own.mean), m2: own.m2 };
        let right = Moments { mean: select(high, own.mean, got.mean), m2: got.m2 };
        self.join(left, right, each)
    }
}

/// Products.
#[derive(Clone, Copy)]
pub struct Products<X> {
    skip: bool,
    kind: PhantomData<X>,
}

impl<X> Parts for Products<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    type Part = X::Value;
    const SWAPS: bool = true;
    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self { skip: recipe.has(flag::SKIP_NAN), kind: PhantomData }
    }
    #[inline(always)]
    fn nothing(&self) -> X::Value {
        X::Value::ONE
    }
    #[inline(always)]
    fn meet(&self, left: X::Value, right: X::Value) -> X::Value {
        left.mul(right)
    }
    #[inline(always)]
    fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, part: X::Value, out: Out) {
        let product = Product::<X::Value>::new(initial(recipe), false).finish(part, recipe.count);
        out.float::<S, X::Value>(s, recipe.output, product.cast());
    }
}

impl<X> Tree for Products<X>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    type Bits = X::Bits;
    type Node = X::Value;
    const COMMUTES: bool = true;
    const NEUTRAL: bool = true;
    no_plain!();
    #[inline(always)]
    fn neutral(&self) -> Self::Node {
        self.nothing()
    }
    #[inline(always)]
    fn lift<S: Simt>(&self, s: &S, bits: X::Bits) -> X::Value {
        let x = X::value(s, bits);
        if self.skip && x.is_nan() { X::Value::ONE } else { x }
    }
    #[inline(always)]
    fn join(&self, left: X::Value, right: X::Value, _each: u32) -> X::Value {
        left.mul(right)
    }
    #[inline(always)]
    fn part(&self, node: X::Value, _count: u32) -> X::Value {
        node
    }
}
