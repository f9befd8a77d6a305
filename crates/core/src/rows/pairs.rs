//! Losses of an element and its target, and the cosine of two rows.

use crate::float::Float;
use crate::reducer::Reducer;
use crate::zip::Zip;

/// The loss of an element and its target.
pub trait Loss<F>: Zip<F, F, Item = F> {
    /// The derivative of the loss by the element.
    fn derivative(&self, x: F, y: F) -> F;
    /// Whether [`Loss::plain`] has the loss of these.
    #[inline(always)]
    fn is_plain(&self, _x: F, _y: F) -> bool {
        true
    }
    /// The same bits as the loss, without a branch, so that many are computed at once.
    #[inline(always)]
    fn plain(&self, x: F, y: F) -> F {
        self.zip(x, y)
    }
    /// The same bits as the derivative of these, in fewer operations.
    #[inline(always)]
    fn plain_derivative(&self, x: F, y: F) -> F {
        self.derivative(x, y)
    }
}

/// The product, of which a dot product is the sum.
#[derive(Clone, Copy, Debug)]
pub struct Product;

impl<F: Float> Zip<F, F> for Product {
    type Item = F;
    #[inline(always)]
    fn zip(&self, x: F, y: F) -> F {
        x.mul(y)
    }
}

impl<F: Float> Loss<F> for Product {
    #[inline(always)]
    fn derivative(&self, _x: F, y: F) -> F {
        y
    }
}

/// The square of the difference.
#[derive(Clone, Copy, Debug)]
pub struct Squared;

impl<F: Float> Zip<F, F> for Squared {
    type Item = F;
    #[inline(always)]
    fn zip(&self, x: F, y: F) -> F {
        x.sub(y).square()
    }
}

impl<F: Float> Loss<F> for Squared {
    #[inline(always)]
    fn derivative(&self, x: F, y: F) -> F {
        let difference = x.sub(y);
        difference.add(difference)
    }
}

/// The absolute difference.
#[derive(Clone, Copy, Debug)]
pub struct Distance;

impl<F: Float> Zip<F, F> for Distance {
    type Item = F;
    #[inline(always)]
    fn zip(&self, x: F, y: F) -> F {
        x.sub(y).abs()
    }
}

/// `magnitude` with the sign of `x`; +0.0 of zero, and NaN of NaN.
#[inline(always)]
fn signed<F: Float>(magnitude: F, x: F) -> F {
    let rest = x.add(F::ZERO);
    let negative = if x < F::ZERO { F::ZERO.sub(magnitude) } else { rest };
    if x > F::ZERO { magnitude } else { negative }
}

impl<F: Float> Loss<F> for Distance {
    #[inline(always)]
    fn derivative(&self, x: F, y: F) -> F {
        signed(F::ONE, x.sub(y))
    }
}

/// Half the square of a small difference; of a greater one the tangent of that.
///
/// ```
/// use warpfold_core::{Zip, rows::Huber};
///
/// let loss = Huber { delta: 2.0f64 };
/// assert_eq!([1.0, 2.0, 4.0].map(|x| loss.zip(x, 0.0)), [0.5, 2.0, 6.0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Huber<F> {
    /// The greatest small difference.
    pub delta: F,
}

impl<F: Float> Zip<F, F> for Huber<F> {
    type Item = F;
    #[inline(always)]
    fn zip(&self, x: F, y: F) -> F {
        let distance = x.sub(y).abs();
        let (near, far) = (distance.square().half(), self.delta.mul(distance.sub(self.delta.half())));
        if distance <= self.delta { near } else { far }
    }
}

impl<F: Float> Loss<F> for Huber<F> {
    #[inline(always)]
    fn derivative(&self, x: F, y: F) -> F {
        let difference = x.sub(y);
        let far = signed(self.delta, difference);
        if difference.abs() <= self.delta { difference } else { far }
    }
}

/// The share of an element in the divergence of a distribution `y` from another, of which `x` is the logarithm:
/// y · (ln y - x), and 0 where y is 0.
#[derive(Clone, Copy, Debug)]
pub struct Divergence {
    /// Whether `y` is a logarithm, too.
    pub of_logs: bool,
}

impl<F: Float> Zip<F, F> for Divergence {
    type Item = F;
    #[inline(always)]
    fn zip(&self, x: F, y: F) -> F {
        let (share, log) = if self.of_logs { (y.full_exp(), y) } else { (y, log(y)) };
        let term = share.mul(log.sub(x));
        if share == F::ZERO { F::ZERO } else { term }
    }
}

impl<F: Float> Loss<F> for Divergence {
    #[inline(always)]
    fn is_plain(&self, _x: F, y: F) -> bool {
        if self.of_logs { y.is_ordinary() } else { y == F::ZERO || F::has_ordinary_log(y) }
    }
    #[inline(always)]
    fn plain(&self, x: F, y: F) -> F {
        let (share, log) = if self.of_logs { (y.ordinary_exp(), y) } else { (y, F::ordinary_log(y)) };
        let term = share.mul(log.sub(x));
        if share == F::ZERO { F::ZERO } else { term }
    }
    #[inline(always)]
    fn derivative(&self, _x: F, y: F) -> F {
        F::ZERO.sub(if self.of_logs { y.full_exp() } else { y })
    }
    #[inline(always)]
    fn plain_derivative(&self, _x: F, y: F) -> F {
        F::ZERO.sub(if self.of_logs { y.ordinary_exp() } else { y })
    }
}

/// The natural logarithm; NaN of negative numbers.
#[inline(always)]
fn log<F: Float>(x: F) -> F {
    if F::has_ordinary_log(x) { F::ordinary_log(x) } else { F::log(F::ZERO, x) }
}

/// The cross-entropy of a target between 0 and 1 and the logistic function of a logit.
///
/// ```
/// use warpfold_core::{Zip, rows::BinaryEntropy};
///
/// assert_eq!(BinaryEntropy.zip(0.0f64, 1.0), 2f64.ln());
/// assert_eq!(BinaryEntropy.zip(1000.0f64, 1.0), 0.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BinaryEntropy;

impl<F: Float> Zip<F, F> for BinaryEntropy {
    type Item = F;
    #[inline(always)]
    fn zip(&self, x: F, y: F) -> F {
        Self::of(x, y, F::ZERO.sub(x.abs()).full_exp())
    }
}

impl BinaryEntropy {
    /// The loss, from the exponential of -|x|.
    #[inline(always)]
    fn of<F: Float>(x: F, y: F, small: F) -> F {
        // The greater of x and 0; NaN of NaN.
        let most = if x < F::ZERO { F::ZERO } else { x };
        // The logarithm of 1 + small, with what the rounding of that sum left out.
        let sum = F::ONE.add(small);
        let rest = small.sub(sum.sub(F::ONE));
        let log = F::ordinary_log(sum).add(rest.rest_over(sum));
        most.sub(x.mul(y)).add(log)
    }

    /// Its derivative, from the exponential of -|x|.
    #[inline(always)]
    fn derivative_of<F: Float>(x: F, y: F, small: F) -> F {
        let (ones, zeros) = if x < F::ZERO { (small, F::ONE) } else { (F::ONE, small) };
        F::ONE.sub(y).mul(ones).sub(y.mul(zeros)).div(F::ONE.add(small))
    }
}

impl<F: Float> Loss<F> for BinaryEntropy {
    #[inline(always)]
    fn is_plain(&self, x: F, _y: F) -> bool {
        x.is_ordinary()
    }
    #[inline(always)]
    fn plain(&self, x: F, y: F) -> F {
        Self::of(x, y, F::ZERO.sub(x.abs()).ordinary_exp())
    }
    #[inline(always)]
    fn derivative(&self, x: F, y: F) -> F {
        Self::derivative_of(x, y, F::ZERO.sub(x.abs()).full_exp())
    }
    #[inline(always)]
    fn plain_derivative(&self, x: F, y: F) -> F {
        Self::derivative_of(x, y, F::ZERO.sub(x.abs()).ordinary_exp())
    }
}

/// The dot product of two rows, and the sums of the squares of each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dots<F> {
    /// Of the products.
    pub dot: F,
    /// Of the first row's squares.
    pub x: F,
    /// Of the second row's.
    pub y: F,
}

/// The cosine of the angle between two rows, as a reducer of their pairs. A norm below `epsilon` counts as `epsilon`.
///
/// ```
/// use warpfold_core::{rows::Cosine, tree};
///
/// assert_eq!(tree::reduce(&Cosine { epsilon: 1e-8 }, [(3.0f32, 6.0), (4.0, 8.0)]), Some(1.0));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Cosine<F> {
    /// The least norm.
    pub epsilon: F,
}

impl<F: Float> Cosine<F> {
    /// The product of the norms.
    #[inline(always)]
    fn norms(&self, of: Dots<F>) -> F {
        let norm = |squares: F| {
            let root = squares.sqrt();
            if root < self.epsilon { self.epsilon } else { root }
        };
        norm(of.x).mul(norm(of.y))
    }

    /// The gradient of the elements of the first row: the factors of the second row's element and of the first's.
    #[inline(always)]
    pub fn gradient(&self, of: Dots<F>, scale: F) -> (F, F) {
        let norms = self.norms(of);
        // A norm that counts as epsilon does not change.
        let own = if of.x.sqrt() < self.epsilon { F::ZERO } else { of.dot.div(norms).div(of.x).mul(scale) };
        (scale.div(norms), own)
    }
}

impl<F: Float> Reducer for Cosine<F> {
    type Item = (F, F);
    type Acc = Dots<F>;
    type Output = F;

    const INDEXED: bool = false;

    fn identity(&self) -> Option<Dots<F>> {
        Some(Dots { dot: F::NOTHING, x: F::NOTHING, y: F::NOTHING })
    }

    #[inline(always)]
    fn lift(&self, (x, y): (F, F), _index: u64) -> Dots<F> {
        Dots { dot: x.mul(y), x: x.square(), y: y.square() }
    }

    #[inline(always)]
    fn combine(&self, left: Dots<F>, right: Dots<F>) -> Dots<F> {
        Dots { dot: left.dot.add(right.dot), x: left.x.add(right.x), y: left.y.add(right.y) }
    }

    #[inline(always)]
    fn finish(&self, of: Dots<F>, _count: u64) -> F {
        of.dot.div(self.norms(of))
    }

    fn finish_empty(&self) -> Option<F> {
        Some(F::ZERO)
    }
}
