//! Exponentials in the order of the tree, and the cheaper tree of ordinary ones.

use crate::node::Node;
use crate::reduce::fold::{Parts, Tree, no_large, no_plain};
use crate::reduce::out::{Out, half};
use crate::reduce::recipe::{Recipe, code, flag};
use crate::source::{Bits, Source};
use core::marker::PhantomData;
use warpfold_core::ops::{BRIEF_LOG_ERROR, Exponential, LogSumExp, Powers, Precision, SumExp, brief_log};
use warpfold_core::{Accumulate, Cast, DType, Element, Float, Reducer};
use warpfold_simt::Simt;

/// `log(sum(exp(x)))`. The exponentials are added in the precision `P`.
#[derive(Clone, Copy)]
pub struct LogSumExps<X, P> {
    skip: bool,
    kind: PhantomData<(X, P)>,
}

impl<X, P> LogSumExps<X, P>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
    P: Precision<X::Value, Real: Node>,
{
    /// The logarithm of a part that becomes a result of 16 bits: a brief one, unless its error could be seen.
    #[inline(always)]
    fn half<S: Simt>(s: &S, recipe: &Recipe, part: Powers<X::Value, P::Real>) -> u16 {
        let number = |x: X::Value| f32::from_cast(x.cast());
        let sum = number(P::round(part.sum));
        if size_of::<X::Value>() == 4
            && s.branch(number(part.scale) == 0.0 && (f32::MIN_POSITIVE..=f32::MAX).contains(&sum))
        {
            let log = brief_log(sum);
            let off = BRIEF_LOG_ERROR * log.abs();
            let (low, high) = (half(s, recipe.output, log - off), half(s, recipe.output, log + off));
            if s.branch(low == high) {
                return low;
            }
        }
        half(s, recipe.output, number(LogSumExp::<X::Value, P>::new().finish(part, recipe.count)))
    }
}

impl<X, P> Parts for LogSumExps<X, P>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
    P: Precision<X::Value, Real: Node>,
{
    const NARROW: bool = true;
    const LINES: bool = false;
    type Part = Powers<X::Value, P::Real>;
    // Of double words it is not proven.
    const SWAPS: bool = size_of::<P::Real>() == size_of::<X::Value>();
    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self { skip: recipe.has(flag::SKIP_NAN), kind: PhantomData }
    }
    #[inline(always)]
    fn nothing(&self) -> Self::Part {
        Powers { scale: X::Value::NO_TERM, sum: P::Real::ZERO }
    }
    #[inline(always)]
    fn meet(&self, left: Self::Part, right: Self::Part) -> Self::Part {
        LogSumExp::<X::Value, P>::new().combine(left, right)
    }
    #[inline(always)]
    fn narrow<S: Simt>(&self, s: &S, recipe: &Recipe, part: Self::Part) -> u32 {
        Self::half(s, recipe, part) as u32
    }
    #[inline(always)]
    fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, part: Self::Part, out: Out) {
        // Only of elements of 2 bytes there are such results.
        if size_of::<X::Bits>() == 2 && s.branch(recipe.output != code(DType::F32)) {
            return s.store(out.output.cast(), out.index, Self::half(s, recipe, part));
        }
        out.float::<S, X::Value>(s, recipe.output, LogSumExp::<X::Value, P>::new().finish(part, recipe.count).cast());
    }
}

impl<X, P> Tree for LogSumExps<X, P>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
    P: Precision<X::Value, Real: Node>,
{
    type Bits = X::Bits;
    type Node = Self::Part;
    const COMMUTES: bool = Self::SWAPS;
    const NEUTRAL: bool = true;
    #[inline(always)]
    fn neutral(&self) -> Self::Node {
        self.nothing()
    }
    #[inline(always)]
    fn lift<S: Simt>(&self, s: &S, bits: X::Bits) -> Self::Node {
        let x = X::value(s, bits);
        let x = if self.skip && x.is_nan() { X::Value::from_cast(Cast::Float(f64::NEG_INFINITY)) } else { x };
        LogSumExp::<X::Value, P>::new().lift(x, 0)
    }
    #[inline(always)]
    fn join(&self, left: Self::Node, right: Self::Node, _each: u32) -> Self::Node {
        LogSumExp::<X::Value, P>::new().combine(left, right)
    }
    #[inline(always)]
    fn part(&self, node: Self::Node, _count: u32) -> Self::Part {
        node
    }
    no_large!();
    type Plain = SumExps<X, P>;
    const HAS_PLAIN: bool = true;
    #[inline(always)]
    fn plain(&self) -> SumExps<X, P> {
        SumExps(PhantomData)
    }
    #[inline(always)]
    fn is_ordinary<S: Simt>(&self, s: &S, bits: X::Bits) -> bool {
        X::value(s, bits).is_ordinary()
    }
    #[inline(always)]
    fn are_ordinary<S: Simt, const N: usize>(&self, s: &S, packs: &[[u32; 4]; N]) -> bool {
        let (mut all, mut high, mut k) = (true, 0, 0);
        while k < N {
            let mut i = 0;
            while i < 4 {
                high |= beyond(X::DTYPE, packs[k][i]);
                i += 1;
            }
            let mut e = 0;
            while size_of::<X::Bits>() != 2 && e < X::Bits::PER as usize {
                all &= self.is_ordinary(s, X::Bits::nth(&packs[k], e));
                e += 1;
            }
            k += 1;
        }
        if size_of::<X::Bits>() == 2 { high & 0x8000_8000 == 0 } else { all }
    }
    #[inline(always)]
    fn raise(&self, sum: P::Real) -> Self::Node {
        SumExp::<X::Value>::raise(sum)
    }
}

/// The highest bits of the halves of a word: whether elements of 16 bits there are not ordinary.
#[inline(always)]
fn beyond(dtype: DType, word: u32) -> u32 {
    // The bits of 29, which is beyond what is ordinary.
    let limit = if matches!(dtype, DType::BF16) { 0x41e8 } else { 0x4f40 };
    (word & 0x7fff_7fff) + (0x8000 - limit) * 0x1_0001
}

/// `sum(exp(x))` of ordinary elements: inside [`LogSumExps`], never alone.
#[derive(Clone, Copy)]
pub struct SumExps<X, P>(PhantomData<(X, P)>);

impl<X, P> Parts for SumExps<X, P>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
    P: Precision<X::Value, Real: Node>,
{
    type Part = P::Real;
    const SWAPS: bool = true;
    #[inline(always)]
    fn new(_recipe: &Recipe) -> Self {
        Self(PhantomData)
    }
    #[inline(always)]
    fn nothing(&self) -> P::Real {
        P::Real::ZERO
    }
    #[inline(always)]
    fn meet(&self, left: P::Real, right: P::Real) -> P::Real {
        P::add_finite(left, right)
    }
    #[inline(always)]
    fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, part: P::Real, out: Out) {
        out.number(s, recipe.output, P::round(part).cast());
    }
}

impl<X, P> Tree for SumExps<X, P>
where
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
    P: Precision<X::Value, Real: Node>,
{
    type Bits = X::Bits;
    type Node = P::Real;
    const COMMUTES: bool = true;
    const NEUTRAL: bool = true;
    no_plain!();
    #[inline(always)]
    fn neutral(&self) -> P::Real {
        self.nothing()
    }
    #[inline(always)]
    fn lift<S: Simt>(&self, s: &S, bits: X::Bits) -> P::Real {
        P::widen(X::value(s, bits).ordinary_exp_of(X::DTYPE))
    }
    #[inline(always)]
    fn pair<S: Simt>(&self, s: &S, left: X::Bits, right: X::Bits) -> P::Real {
        let exp = |bits: X::Bits| X::value(s, bits).ordinary_exp_of(X::DTYPE);
        P::pair_finite(exp(left), exp(right))
    }
    #[inline(always)]
    fn join(&self, left: P::Real, right: P::Real, _each: u32) -> P::Real {
        self.meet(left, right)
    }
    #[inline(always)]
    fn part(&self, node: P::Real, _count: u32) -> P::Real {
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold_core::{bf16, f16};

    #[test]
    fn elements_of_16_bits_are_ordinary_in_words_as_they_are_alone() {
        for bits in 0..=u16::MAX {
            let both = [bf16::from_bits(bits).to_f32(), f16::from_bits(bits).to_f32()];
            for (dtype, x) in [DType::BF16, DType::F16].into_iter().zip(both) {
                let [low, high] = [bits as u32, (bits as u32) << 16].map(|word| beyond(dtype, word) & 0x8000_8000);
                assert_eq!([low == 0, high == 0], [x.is_ordinary(); 2], "{dtype:?} {x:e}");
            }
        }
    }
}
