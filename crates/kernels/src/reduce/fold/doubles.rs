//! Sums of double words in the order of the tree: compensated sums, means and norms.
//!
//! Idea: what makes an infinity or a NaN behave costs a fifth of an addition, and the order of two nodes that meet the
//! selects of both. Where all elements are small enough, no sum overflows: then neither is needed, and a square is a
//! product and what a fused multiply-add leaves of it. That is the cheaper tree.

use crate::node::Node;
use crate::reduce::fold::tree::{total, without_nan};
use crate::reduce::fold::{Parts, Tree, no_large, no_plain};
use crate::reduce::out::{Out, half};
use crate::reduce::recipe::{Recipe, flag};
use crate::source::{Bits, Source};
use core::marker::PhantomData;
use warpfold_core::ops::{Compensated, Magnitude, Square, Sum};
use warpfold_core::{Accumulate, Cast, Element, Float, Real, Reducer};
use warpfold_simt::{Pod, Simt};

/// What a double word is made of.
pub trait Word: Element<Float = Self, Mean = Self> + Float<Double: Node> + Node {
    /// Up to here, 2^27 of them do not overflow.
    const MOST: Self;
    /// Neither do their squares, nor parts of these.
    const MOST_SQUARED: Self;
    /// From here on, no part of a square vanishes.
    const LEAST_SQUARED: Self;
}
impl Word for f32 {
    const MOST: f32 = f32::from_bits((127 + 100) << 23);
    const MOST_SQUARED: f32 = f32::from_bits((127 + 50) << 23);
    const LEAST_SQUARED: f32 = f32::from_bits((127 - 51) << 23);
}
impl Word for f64 {
    const MOST: f64 = f64::from_bits((1023 + 900) << 52);
    const MOST_SQUARED: f64 = f64::from_bits((1023 + 400) << 52);
    const LEAST_SQUARED: f64 = f64::from_bits((1023 - 485) << 52);
}

/// Sums and means, or, if `NORM`, the 1-norm and the 2-norm. NaNs are skipped or not.
#[derive(Clone, Copy)]
pub struct Doubles<X, const NORM: bool> {
    skip: bool,
    square: bool,
    kind: PhantomData<X>,
}

impl<X: Source<Value: Word>, const NORM: bool> Doubles<X, NORM> {
    /// Whether a NaN is left out.
    #[inline(always)]
    fn skips(&self, x: X::Value) -> bool {
        self.skip && x.is_nan()
    }

    /// The result, before it is rounded.
    #[inline(always)]
    fn total<S: Simt>(s: &S, recipe: &Recipe, part: <Self as Parts>::Part) -> Cast {
        if NORM {
            return if s.branch(recipe.has(flag::ROOT)) {
                Sum::<X::Value, Square, Compensated>::norm2().finish(part, recipe.count).cast()
            } else {
                Sum::<X::Value, Magnitude, Compensated>::norm1().finish(part, recipe.count).cast()
            };
        }
        total::<S, X::Value, Compensated>(s, recipe, part)
    }
}

impl<X: Source<Value: Word>, const NORM: bool> Parts for Doubles<X, NORM> {
    const NARROW: bool = true;
    type Part = <X::Value as Float>::Double;
    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self { skip: recipe.has(flag::SKIP_NAN), square: recipe.has(flag::SQUARE), kind: PhantomData }
    }
    #[inline(always)]
    fn nothing(&self) -> Self::Part {
        Self::Part::NOTHING
    }
    #[inline(always)]
    fn meet(&self, left: Self::Part, right: Self::Part) -> Self::Part {
        left.add(right)
    }
    #[inline(always)]
    fn narrow<S: Simt>(&self, s: &S, recipe: &Recipe, part: Self::Part) -> u32 {
        half(s, recipe.output, f32::from_cast(Self::total(s, recipe, part))) as u32
    }
    #[inline(always)]
    fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, part: Self::Part, out: Out) {
        out.float::<S, X::Value>(s, recipe.output, Self::total(s, recipe, part));
    }
}

impl<X: Source<Value: Word>, const NORM: bool> Tree for Doubles<X, NORM> {
    type Bits = X::Bits;
    type Node = Self::Part;
    const COMMUTES: bool = false;
    const NEUTRAL: bool = true;
    no_large!();
    #[inline(always)]
    fn neutral(&self) -> Self::Node {
        self.nothing()
    }
    #[inline(always)]
    fn blank(&self) -> Option<X::Bits> {
        // The bits of -0.0.
        if NORM { None } else { Some(X::Bits::from_bits(1 << (8 * X::Bits::SIZE - 1))) }
    }
    #[inline(always)]
    fn whole<S: Simt, const N: usize>(&self, s: &S, w: [[u32; 4]; N]) -> (Self, [[u32; 4]; N]) {
        // -0.0 changes no sum, and zero none of magnitudes, which are not negative.
        let blank = if NORM { 0 } else { 1 << (8 * X::Bits::SIZE - 1) };
        let w = if s.branch(self.skip) { without_nan::<S, X, N>(s, w, blank) } else { w };
        (Self { skip: false, ..*self }, w)
    }
    #[inline(always)]
    fn lift<S: Simt>(&self, s: &S, bits: X::Bits) -> Self::Node {
        let x = X::value(s, bits);
        let node = match NORM {
            false => x.double(),
            true if X::Bits::SIZE == 2 => (if self.square { x.square() } else { x.abs() }).double(),
            true => {
                let square = x.double().square();
                if self.square { square } else { x.abs().double() }
            }
        };
        if self.skips(x) { self.nothing() } else { node }
    }
    #[inline(always)]
    fn pair<S: Simt>(&self, s: &S, left: X::Bits, right: X::Bits) -> Self::Node {
        if NORM {
            return self.lift(s, left).add(self.lift(s, right));
        }
        let term = |bits: X::Bits| {
            let x = X::value(s, bits);
            if self.skips(x) { X::Value::NOTHING } else { x }
        };
        term(left).add_double(term(right))
    }
    #[inline(always)]
    fn join(&self, left: Self::Node, right: Self::Node, _each: u32) -> Self::Node {
        left.add(right)
    }
    #[inline(always)]
    fn part(&self, node: Self::Node, _count: u32) -> Self::Part {
        node
    }
    type Plain = Finite<X, NORM>;
    const HAS_PLAIN: bool = true;
    #[inline(always)]
    fn plain(&self) -> Finite<X, NORM> {
        Finite(*self)
    }
    #[inline(always)]
    fn is_ordinary<S: Simt>(&self, s: &S, bits: X::Bits) -> bool {
        let x = X::value(s, bits);
        let magnitude = x.abs();
        // Without branches: there are many elements to ask.
        let small = if NORM && X::Bits::SIZE > 2 {
            let whole = (magnitude >= X::Value::LEAST_SQUARED) | (magnitude == X::Value::ZERO);
            (magnitude <= X::Value::MOST_SQUARED) & whole
        } else {
            magnitude <= if NORM { X::Value::MOST_SQUARED } else { X::Value::MOST }
        };
        small | self.skips(x)
    }
    #[inline(always)]
    fn raise(&self, node: Self::Node) -> Self::Node {
        node
    }
}

/// Sums of so small elements that none overflows: inside [`Doubles`], never alone.
#[derive(Clone, Copy)]
pub struct Finite<X, const NORM: bool>(Doubles<X, NORM>);

impl<X: Source<Value: Word>, const NORM: bool> Finite<X, NORM> {
    /// What is added, or, of a norm of elements of 16 bits, its terms: their squares are no longer than f32's.
    #[inline(always)]
    fn term<S: Simt>(&self, s: &S, bits: X::Bits) -> X::Value {
        let x = X::value(s, bits);
        let x = if self.0.skips(x) { X::Value::NOTHING } else { x };
        match NORM {
            false => x,
            true if X::Bits::SIZE > 2 => x.abs(),
            true => x.abs().mul(if self.0.square { x.abs() } else { X::Value::ONE }),
        }
    }
}

impl<X: Source<Value: Word>, const NORM: bool> Parts for Finite<X, NORM> {
    type Part = <X::Value as Float>::Double;
    const SWAPS: bool = true;
    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self(Parts::new(recipe))
    }
    #[inline(always)]
    fn nothing(&self) -> Self::Part {
        self.0.nothing()
    }
    #[inline(always)]
    fn meet(&self, left: Self::Part, right: Self::Part) -> Self::Part {
        X::Value::add_finite(left, right)
    }
    #[inline(always)]
    fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, part: Self::Part, out: Out) {
        self.0.finish(s, recipe, part, out);
    }
}

impl<X: Source<Value: Word>, const NORM: bool> Tree for Finite<X, NORM> {
    type Bits = X::Bits;
    type Node = Self::Part;
    const COMMUTES: bool = true;
    const NEUTRAL: bool = true;
    no_plain!();
    #[inline(always)]
    fn neutral(&self) -> Self::Node {
        self.nothing()
    }
    #[inline(always)]
    fn blank(&self) -> Option<X::Bits> {
        self.0.blank()
    }
    #[inline(always)]
    fn lift<S: Simt>(&self, s: &S, bits: X::Bits) -> Self::Node {
        let term = self.term(s, bits);
        if NORM && X::Bits::SIZE > 2 { term.double_power(self.0.square) } else { term.double() }
    }
    #[inline(always)]
    fn pair<S: Simt>(&self, s: &S, left: X::Bits, right: X::Bits) -> Self::Node {
        if NORM && X::Bits::SIZE > 2 {
            return self.meet(self.lift(s, left), self.lift(s, right));
        }
        self.term(s, left).add_double_finite(self.term(s, right))
    }
    #[inline(always)]
    fn join(&self, left: Self::Node, right: Self::Node, _each: u32) -> Self::Node {
        self.meet(left, right)
    }
    #[inline(always)]
    fn part(&self, node: Self::Node, _count: u32) -> Self::Part {
        node
    }
}
