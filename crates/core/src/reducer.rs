//! The contract of a reduction: identity, lift, combine, finish.

use crate::dtype::DType;

/// What an element of a dtype, converted to the type of nodes, adds to a sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Addend {
    /// Itself.
    Value(DType),
    /// Its absolute value.
    Magnitude(DType),
    /// Its square, rounded.
    Square(DType),
}

/// A reduction: lift each element, combine neighbours up the tree, finish.
///
/// `combine` must be associative in the mathematical sense; it need not commute, since left and right operands
/// keep their places. Implement this trait and the whole library works with it: threads, axes, streams, masks.
///
/// ```
/// use warpfold_core::{tree, Reducer};
///
/// /// The value of a polynomial at 2, given its coefficients, the highest first.
/// #[derive(Clone)]
/// struct Horner;
///
/// impl Reducer for Horner {
///     type Item = f64;
///     type Acc = (f64, f64); // value, and 2 to the number of coefficients
///     type Output = f64;
///     fn lift(&self, coefficient: f64, _index: u64) -> (f64, f64) {
///         (coefficient, 2.0)
///     }
///     fn combine(&self, a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
///         (a.0 * b.1 + b.0, a.1 * b.1)
///     }
///     fn finish(&self, acc: (f64, f64), _count: u64) -> f64 {
///         acc.0
///     }
/// }
///
/// assert_eq!(tree::reduce(&Horner, [1.0, 0.0, 3.0]), Some(7.0)); // x² + 3 at 2
/// ```
pub trait Reducer: Clone + Send + Sync {
    /// An element of the input.
    type Item: Copy + Send + Sync;
    /// A node of the tree.
    type Acc: Copy + Send + Sync;
    /// The result.
    type Output;

    /// Whether `lift` depends on the index. If it does not, set this to false: some layouts are then reduced faster.
    const INDEXED: bool = true;

    /// Whether a sequence may be continued by nodes of no elements without a change of its result. Set this only if
    /// there is an [identity](Reducer::identity), and [`Reducer::combine_counted`] ignores the counts. Sequences whose
    /// length is no power of two are then reduced faster.
    const PADDED: bool = false;

    /// Whether vectors may add nodes: nodes are `f32` or `f64`, and [`Reducer::combine`] adds them and does nothing
    /// else.
    const BY_VECTORS: bool = false;

    /// What [`Reducer::lift`] makes of an element, if it is one of these. Only asked of reducers with
    /// [`Reducer::BY_VECTORS`], whose vectors then lift elements, too.
    #[inline(always)]
    fn addend(&self) -> Option<Addend> {
        None
    }

    /// Whether such a sum leaves NaNs out: each adds -0.0.
    #[inline(always)]
    fn skips_nan(&self) -> bool {
        false
    }

    /// The node of an empty sequence, if there is one. Combined with any node, on either side, it must give back that
    /// node's bits; for a floating-point sum that is -0.0.
    fn identity(&self) -> Option<Self::Acc> {
        None
    }

    /// The node of one element; `index` is its place in the sequence.
    fn lift(&self, item: Self::Item, index: u64) -> Self::Acc;

    /// The node above two neighbouring elements; `index` is that of the left one. An implementation of its own must
    /// give the bits of lifting and combining both, in fewer operations.
    #[inline(always)]
    fn lift_pair(&self, left: Self::Item, right: Self::Item, index: u64) -> Self::Acc {
        self.combine_counted(self.lift(left, index), 1, self.lift(right, index + 1), 1)
    }

    /// The node above two neighbours.
    fn combine(&self, left: Self::Acc, right: Self::Acc) -> Self::Acc;

    /// Like [`Reducer::combine`], for reducers that must know how many elements each node covers (the variance).
    #[inline(always)]
    fn combine_counted(&self, left: Self::Acc, n_left: u64, right: Self::Acc, n_right: u64) -> Self::Acc {
        let _ = (n_left, n_right);
        self.combine(left, right)
    }

    /// The result of `count` elements.
    fn finish(&self, acc: Self::Acc, count: u64) -> Self::Output;

    /// The result of no elements: that of the identity, if there is one.
    fn finish_empty(&self) -> Option<Self::Output> {
        self.identity().map(|acc| self.finish(acc, 0))
    }
}

/// A reducer with absent elements: masked out, or NaN and skipped. An absent element keeps its position in the tree. A
/// node counts the present elements under it.
///
/// ```
/// use warpfold_core::{Live, ops::Sum, tree};
///
/// let mean = Live(Sum::<f32>::mean());
/// assert_eq!(tree::reduce(&mean, [Some(1.0), None, Some(2.0)]), Some(Some(1.5)));
/// ```
#[derive(Clone, Debug)]
pub struct Live<R>(pub R);

impl<R: Reducer> Reducer for Live<R> {
    type Item = Option<R::Item>;
    type Acc = Option<(R::Acc, u64)>;
    type Output = Option<R::Output>;

    const INDEXED: bool = R::INDEXED;

    fn identity(&self) -> Option<Self::Acc> {
        Some(None)
    }

    #[inline(always)]
    fn lift(&self, item: Option<R::Item>, index: u64) -> Self::Acc {
        item.map(|x| (self.0.lift(x, index), 1))
    }

    #[inline(always)]
    fn combine(&self, left: Self::Acc, right: Self::Acc) -> Self::Acc {
        match (left, right) {
            (Some((a, m)), Some((b, n))) => Some((self.0.combine_counted(a, m, b, n), m + n)),
            (a, None) => a,
            (None, b) => b,
        }
    }

    fn finish(&self, acc: Self::Acc, _count: u64) -> Option<R::Output> {
        match acc {
            Some((acc, count)) => Some(self.0.finish(acc, count)),
            None => self.0.finish_empty(),
        }
    }
}
