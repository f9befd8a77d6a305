//! The typed API: the dtype is a Rust type, and so is the result's.

use warpfold_core::{DType, Element, Live, Reducer};

use crate::{Error, Op, Ord, Precision};
use warpfold_array::ArrayRef;
use warpfold_array::Options;
use warpfold_array::problem::{Problem, normalize_axes, result_shape};
use warpfold_array::request::base;
use warpfold_array::{Scalar, Tensor, Value};
use warpfold_cpu::engine::{self, Job};
use warpfold_cpu::kernel::{Item, Kernel, Tree};
use warpfold_cpu::keys::{Groups, Segments};
use warpfold_cpu::load::{Copied, CopiedOptional, Load};
use warpfold_cpu::{on_threads, reduce, reduce_slice};

/// Something that holds an array of one element type: slices, vectors, and (feature `ndarray`) ndarray's arrays and views.
pub trait View {
    /// The element.
    type Elem: Value;
    /// Where the elements are.
    ///
    /// # Errors
    /// [`Error::RankTooHigh`] beyond [`crate::MAX_RANK`] axes.
    fn view(&self) -> Result<ArrayRef<'_>, Error>;
}

impl<T: Value> View for [T] {
    type Elem = T;
    fn view(&self) -> Result<ArrayRef<'_>, Error> {
        Ok(ArrayRef::flat(self))
    }
}

impl<T: Value> View for Vec<T> {
    type Elem = T;
    fn view(&self) -> Result<ArrayRef<'_>, Error> {
        Ok(ArrayRef::flat(self))
    }
}

impl<T: Value, const N: usize> View for [T; N] {
    type Elem = T;
    fn view(&self) -> Result<ArrayRef<'_>, Error> {
        Ok(ArrayRef::flat(self))
    }
}

impl<V: View + ?Sized> View for &V {
    type Elem = V::Elem;
    fn view(&self) -> Result<ArrayRef<'_>, Error> {
        (**self).view()
    }
}

#[cfg(feature = "ndarray")]
impl<T, S, D> View for ndarray::ArrayBase<S, D, T>
where
    T: Value,
    S: ndarray::Data<Elem = T>,
    D: ndarray::Dimension,
{
    type Elem = T;
    fn view(&self) -> Result<ArrayRef<'_>, Error> {
        if self.ndim() > crate::MAX_RANK {
            return Err(Error::RankTooHigh { rank: self.ndim() });
        }
        let mut strides = [0; crate::MAX_RANK];
        for (to, &from) in strides.iter_mut().zip(self.strides()) {
            *to = from * size_of::<T>() as isize;
        }
        // SAFETY: an ndarray's elements are readable along its shape and strides while it is borrowed.
        unsafe { ArrayRef::from_raw(self.as_ptr().cast(), T::DTYPE, self.shape(), &strides[..self.ndim()]) }
    }
}

/// A reduction of `array` about to be configured: axes and options, then the op.
///
/// ```
/// # #[cfg(feature = "ndarray")] {
/// use ndarray::array;
///
/// let x = array![[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
/// let means = warpfold::over(&x).axis(0).mean()?;
/// assert_eq!(means.data, [2.5, 3.5, 4.5]);
/// let norms = warpfold::over(&x).axis(-1).keepdims().compensated().norm(warpfold::Ord::Two)?;
/// assert_eq!(norms.shape, [2, 1]);
/// let some = warpfold::over(&x).mask(&array![true, false, true]).sum()?;
/// assert_eq!(some.item(), Some(14.0));
/// # }
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn over<V: View + ?Sized>(array: &V) -> Over<'_, V> {
    Over { array, options: Options::default(), keys: Keys::None, error: None }
}

/// See [`over`].
#[derive(Clone)]
#[must_use = "call an op, such as sum()"]
pub struct Over<'a, V: View + ?Sized> {
    array: &'a V,
    options: Options<'a>,
    keys: Keys<'a>,
    error: Option<Error>,
}

/// What the first axis is cut by.
#[derive(Clone)]
enum Keys<'a> {
    None,
    Segments(Segments),
    Groups(&'a Groups),
}

/// The dtype of a sum of `T`s.
type SumOf<V> = <<V as View>::Elem as Element>::Sum;
/// The dtype of a mean of `T`s.
type MeanOf<V> = <<V as View>::Elem as Element>::Mean;

impl<'a, V: View + ?Sized> Over<'a, V> {
    /// Reduces this axis (from the end if negative), and others named before.
    pub fn axis(mut self, axis: isize) -> Self {
        self.options.axes.get_or_insert_default().push(axis);
        self
    }

    /// Reduces these axes; without a call of this or [`Over::axis`], all.
    pub fn axes(mut self, axes: &[isize]) -> Self {
        self.options.axes = Some(axes.to_vec());
        self
    }

    /// Reduced axes stay, with length 1.
    pub fn keepdims(mut self) -> Self {
        self.options.keepdims = true;
        self
    }

    /// Leaves NaNs out.
    pub fn skip_nan(mut self) -> Self {
        self.options.skip_nan = true;
        self
    }

    /// Double words instead of plain floats: see [`Precision::Compensated`].
    pub fn compensated(mut self) -> Self {
        self.options.precision = Precision::Compensated;
        self
    }

    /// Only where `mask`, broadcast to the array's shape, is true.
    pub fn mask<M: View<Elem = bool> + ?Sized>(mut self, mask: &'a M) -> Self {
        match mask.view() {
            Ok(mask) => self.options.mask = Some(mask),
            Err(error) => self.error = Some(error),
        }
        self
    }

    /// One more element on the left: sum, prod, min, max.
    pub fn initial(mut self, x: V::Elem) -> Self {
        self.options.initial = Some(x.scalar());
        self
    }

    /// Subtracted from the count in the divisor of var and std: 1 for a sample. Default 0.
    pub fn ddof(mut self, ddof: f64) -> Self {
        self.options.ddof = Some(ddof);
        self
    }

    /// On this many threads instead of all of rayon's current pool.
    pub fn threads(mut self, threads: usize) -> Self {
        self.options.threads = Some(threads);
        self
    }

    /// Reduces each part `offsets[i]..offsets[i + 1]` of the first axis by itself: see [`Segments`].
    ///
    /// ```
    /// let x = [1.0f32, 2.0, 3.0, 4.0, 5.0];
    /// assert_eq!(warpfold::over(&x).segments(&[0, 2, 5]).sum()?.data, [3.0, 12.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn segments<O: View + ?Sized>(mut self, offsets: &O) -> Self {
        match offsets.view().and_then(Segments::new) {
            Ok(segments) => self.keys = Keys::Segments(segments),
            Err(error) => self.error = Some(error),
        }
        self
    }

    /// Reduces the elements of each group along the first axis: see [`Groups`].
    ///
    /// ```
    /// use warpfold::{Groups, View, over};
    ///
    /// let groups = Groups::new([1u8, 0, 1, 1, 0].view()?, None)?;
    /// assert_eq!(over(&[1.0f32, 2.0, 3.0, 4.0, 5.0]).groups(&groups).max()?.data, [5.0, 4.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn groups(mut self, groups: &'a Groups) -> Self {
        self.keys = Keys::Groups(groups);
        self
    }

    fn run<T: Value>(self, op: Op) -> Result<Tensor<T>, Error> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let values = self.array.view()?;
        let array = match self.keys {
            Keys::None => reduce(op, values, &self.options),
            Keys::Segments(segments) => segments.reduce(op, values, &self.options),
            Keys::Groups(groups) => groups.reduce(op, values, &self.options),
        }?;
        let data = T::unwrap(array.values).expect("the op's result has this dtype");
        Ok(Tensor { shape: array.shape, data })
    }

    /// The sum.
    ///
    /// # Errors
    /// Bad axes or mask.
    pub fn sum(self) -> Result<Tensor<SumOf<V>>, Error>
    where
        SumOf<V>: Value,
    {
        self.run(Op::Sum)
    }

    /// The product.
    ///
    /// # Errors
    /// Bad axes or mask.
    pub fn prod(self) -> Result<Tensor<SumOf<V>>, Error>
    where
        SumOf<V>: Value,
    {
        self.run(Op::Prod)
    }

    /// The mean; NaN of no elements.
    ///
    /// # Errors
    /// Bad axes or mask.
    pub fn mean(self) -> Result<Tensor<MeanOf<V>>, Error>
    where
        MeanOf<V>: Value,
    {
        self.run(Op::Mean)
    }

    /// The variance, over the count less [`Over::ddof`].
    ///
    /// # Errors
    /// Bad axes or mask.
    pub fn var(self) -> Result<Tensor<MeanOf<V>>, Error>
    where
        MeanOf<V>: Value,
    {
        self.run(Op::Var)
    }

    /// The standard deviation.
    ///
    /// # Errors
    /// Bad axes or mask.
    pub fn std(self) -> Result<Tensor<MeanOf<V>>, Error>
    where
        MeanOf<V>: Value,
    {
        self.run(Op::Std)
    }

    /// A vector norm.
    ///
    /// # Errors
    /// Bad axes or mask.
    pub fn norm(mut self, ord: Ord) -> Result<Tensor<MeanOf<V>>, Error>
    where
        MeanOf<V>: Value,
    {
        self.options.ord = Some(ord);
        self.run(Op::Norm)
    }

    /// The least element.
    ///
    /// # Errors
    /// Bad axes or mask; nothing to choose from, and no initial value.
    pub fn min(self) -> Result<Tensor<V::Elem>, Error> {
        self.run(Op::Min)
    }

    /// The greatest element.
    ///
    /// # Errors
    /// Bad axes or mask; nothing to choose from, and no initial value.
    pub fn max(self) -> Result<Tensor<V::Elem>, Error> {
        self.run(Op::Max)
    }

    /// The least and the greatest, along one more axis at the end.
    ///
    /// # Errors
    /// Bad axes or mask; nothing to choose from.
    pub fn minmax(self) -> Result<Tensor<V::Elem>, Error> {
        self.run(Op::MinMax)
    }

    /// The index of the least element, in row-major order of the reduced axes: the first of equals, or the first NaN.
    ///
    /// # Errors
    /// Bad axes or mask; nothing to choose from.
    pub fn argmin(self) -> Result<Tensor<i64>, Error> {
        self.run(Op::ArgMin)
    }

    /// The index of the greatest element: see [`Over::argmin`].
    ///
    /// # Errors
    /// Bad axes or mask; nothing to choose from.
    pub fn argmax(self) -> Result<Tensor<i64>, Error> {
        self.run(Op::ArgMax)
    }

    /// Whether any element is not zero (NaN is not).
    ///
    /// # Errors
    /// Bad axes or mask.
    pub fn any(self) -> Result<Tensor<bool>, Error> {
        self.run(Op::Any)
    }

    /// Whether all elements are not zero (NaN is not).
    ///
    /// # Errors
    /// Bad axes or mask.
    pub fn all(self) -> Result<Tensor<bool>, Error> {
        self.run(Op::All)
    }

    /// How many elements are not zero (NaN is not).
    ///
    /// # Errors
    /// Bad axes or mask.
    pub fn count_nonzero(self) -> Result<Tensor<i64>, Error> {
        self.run(Op::CountNonzero)
    }

    /// `log(sum(exp(x)))`; minus infinity of no elements.
    ///
    /// # Errors
    /// Bad axes or mask.
    pub fn logsumexp(self) -> Result<Tensor<MeanOf<V>>, Error>
    where
        MeanOf<V>: Value,
    {
        self.run(Op::LogSumExp)
    }

    /// A reducer of your own, with the axes, mask and threads of this builder.
    ///
    /// ```
    /// use warpfold::Reducer;
    ///
    /// /// The product of 2×2 matrices, which does not commute.
    /// #[derive(Clone)]
    /// struct Fibonacci;
    ///
    /// impl Reducer for Fibonacci {
    ///     type Item = u64;
    ///     type Acc = [u64; 4];
    ///     type Output = u64;
    ///     fn lift(&self, x: u64, _index: u64) -> [u64; 4] {
    ///         [x, 1, 1, 0]
    ///     }
    ///     fn combine(&self, a: [u64; 4], b: [u64; 4]) -> [u64; 4] {
    ///         [a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]]
    ///     }
    ///     fn finish(&self, m: [u64; 4], _count: u64) -> u64 {
    ///         m[1]
    ///     }
    /// }
    ///
    /// assert_eq!(warpfold::over(&[1u64; 50]).with(Fibonacci)?.item(), Some(12_586_269_025));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Bad axes or mask; nothing to reduce and no identity. Options that only built-in ops have are refused.
    pub fn with<R>(self, reducer: R) -> Result<Tensor<R::Output>, Error>
    where
        R: Reducer<Item = V::Elem, Output: Send>,
    {
        if let Some(error) = self.error {
            return Err(error);
        }
        let array = self.array.view()?;
        let o = &self.options;
        let keyed = !matches!(self.keys, Keys::None);
        let extra = keyed || o.skip_nan || o.initial.is_some() || o.ddof.is_some() || o.precision != Precision::Tree;
        if extra {
            return Err(Error::CustomOption);
        }
        let axes = normalize_axes(o.axes.as_deref(), array.shape().len())?;
        let problem = Problem::new(&array, &axes, o.mask.as_ref())?;
        let empty = || Error::CustomEmpty { shape: array.shape().to_vec(), axes: axes.clone() };
        let data = match o.mask {
            None => custom(&Tree(reducer), &Copied, &array, &problem, o)?.ok_or_else(empty)?,
            Some(_) => {
                let outputs = custom(&Tree(Live(reducer)), &CopiedOptional, &array, &problem, o)?.ok_or_else(empty)?;
                outputs.into_iter().collect::<Option<Vec<_>>>().ok_or_else(empty)?
            }
        };
        Ok(Tensor { shape: result_shape(array.shape(), &axes, o.keepdims), data })
    }
}

fn custom<K: Kernel, L: Load<Item<K>>>(
    kernel: &K,
    load: &L,
    array: &ArrayRef<'_>,
    problem: &Problem,
    options: &Options<'_>,
) -> Result<Option<Vec<engine::Out<K>>>, Error>
where
    engine::Out<K>: Send,
{
    let base = base(array, options.mask.as_ref(), problem);
    on_threads(options.threads, |threads| {
        // SAFETY: an ArrayRef's elements are readable; the problem reaches no others.
        unsafe { engine::run(&Job { kernel, load, problem, base, threads, progress: options.progress }) }
    })
}

/// The whole array, reduced to one element.
fn whole<V: View + ?Sized>(op: Op, array: &V) -> Result<Scalar, Error> {
    let view = array.view()?;
    match view.as_slice::<V::Elem>() {
        Some(flat) if V::Elem::DTYPE != DType::Bool => reduce_slice(op, ArrayRef::flat(flat), &view),
        _ => Ok(reduce(op, view, &Options::default())?.values.get(0)),
    }
}

fn unwrap<T: Value>(x: Scalar) -> T {
    T::of(x).expect("the op's result has this dtype")
}

macro_rules! whole {
    ($($(#[$doc:meta])* $name:ident, $op:ident, $out:ty $(, $bound:ty)?;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// [`Error::RankTooHigh`]; [`Error::Empty`] if there are no elements and no identity.
        pub fn $name<V: View + ?Sized>(array: &V) -> Result<$out, Error>
        $(where $bound: Value)?
        {
            Ok(unwrap(whole(Op::$op, array)?))
        }
    )*};
}

whole! {
    /// The sum of all elements.
    ///
    /// ```
    /// assert_eq!(warpfold::sum(&[1.5f32, 2.0, 3.5])?, 7.0);
    /// assert_eq!(warpfold::sum(&[100u8, 200])?, 300u64);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    sum, Sum, SumOf<V>, SumOf<V>;
    /// The product of all elements.
    prod, Prod, SumOf<V>, SumOf<V>;
    /// The mean of all elements.
    mean, Mean, MeanOf<V>, MeanOf<V>;
    /// The population variance of all elements; for another divisor see [`Over::ddof`].
    var, Var, MeanOf<V>, MeanOf<V>;
    /// The population standard deviation of all elements.
    std, Std, MeanOf<V>, MeanOf<V>;
    /// The 2-norm of all elements; for others see [`Over::norm`].
    norm, Norm, MeanOf<V>, MeanOf<V>;
    /// The least element.
    min, Min, V::Elem;
    /// The greatest element.
    max, Max, V::Elem;
    /// The index of the least element in row-major order.
    argmin, ArgMin, i64;
    /// The index of the greatest element in row-major order.
    argmax, ArgMax, i64;
    /// Whether any element is not zero.
    any, Any, bool;
    /// Whether all elements are not zero.
    all, All, bool;
    /// How many elements are not zero.
    count_nonzero, CountNonzero, i64;
    /// The logarithm of the sum of exponentials of all elements.
    logsumexp, LogSumExp, MeanOf<V>, MeanOf<V>;
}

/// The least and the greatest element.
///
/// # Errors
/// [`Error::RankTooHigh`]; [`Error::Empty`] if there are no elements.
pub fn minmax<V: View + ?Sized>(array: &V) -> Result<(V::Elem, V::Elem), Error> {
    let both = over(array).minmax()?;
    Ok((both.data[0], both.data[1]))
}
