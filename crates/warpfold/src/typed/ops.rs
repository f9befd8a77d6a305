//! The built-in ops: a method of [`Over`] and a function of the whole array for each, of one table.

use warpfold_array::{ArrayRef, Error, Op, Options, Scalar, Value};
use warpfold_core::{DType, Element};
use warpfold_cpu::{reduce, reduce_slice};

use super::over::{MeanOf, Over, SumOf, over};
use super::view::{View, viewed};
use warpfold_array::Tensor;

/// The methods and functions of ops without arguments. A row has the documentation of the method, its name, op and
/// result, and then the documentation of the function, which has the same name.
macro_rules! ops {
    ($(
        $(#[$method:meta])* over $name:ident(Op::$op:ident) -> $out:ty $(, where $bound:ty: Value)?;
        $(#[$function:meta])* whole;
    )*) => {
        impl<V: View + ?Sized> Over<'_, V> {$(
            $(#[$method])*
            pub fn $name(self) -> Result<Tensor<$out>, Error>
            $(where $bound: Value)?
            {
                self.run(Op::$op)
            }
        )*}

        $(
            $(#[$function])*
            ///
            /// # Errors
            /// [`Error::RankTooHigh`]; [`Error::Empty`] if there are no elements and no identity.
            pub fn $name<V: View + ?Sized>(array: &V) -> Result<$out, Error>
            $(where $bound: Value)?
            {
                Ok(unwrap(whole(Op::$op, array)?))
            }
        )*
    };
}

ops! {
    /// The sum.
    ///
    /// ```
    /// assert_eq!(warpfold::over(&[1.5f32, 2.0, 3.5]).mask(&[true, false, true]).sum()?.item(), Some(5.0));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Bad axes or mask.
    over sum(Op::Sum) -> SumOf<V>, where SumOf<V>: Value;
    /// The sum of all elements.
    ///
    /// ```
    /// assert_eq!(warpfold::sum(&[1.5f32, 2.0, 3.5])?, 7.0);
    /// assert_eq!(warpfold::sum(&[100u8, 200])?, 300u64);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    whole;
    /// The product.
    ///
    /// ```
    /// assert_eq!(warpfold::over(&[2u8, 3, 4]).initial(10).prod()?.item(), Some(240u64));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Bad axes or mask.
    over prod(Op::Prod) -> SumOf<V>, where SumOf<V>: Value;
    /// The product of all elements.
    ///
    /// ```
    /// assert_eq!(warpfold::prod(&[2i8, -3, 4])?, -24i64);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    whole;
    /// The mean; NaN of no elements.
    ///
    /// ```
    /// assert_eq!(warpfold::over(&[1.0f32, f32::NAN, 2.0]).skip_nan().mean()?.item(), Some(1.5));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Bad axes or mask.
    over mean(Op::Mean) -> MeanOf<V>, where MeanOf<V>: Value;
    /// The mean of all elements.
    ///
    /// ```
    /// assert_eq!(warpfold::mean(&[1u8, 2])?, 1.5);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    whole;
    /// The variance, over the count less [`Over::ddof`].
    ///
    /// ```
    /// assert_eq!(warpfold::over(&[1.0f32, 3.0]).ddof(1.0).var()?.item(), Some(2.0));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Bad axes or mask.
    over var(Op::Var) -> MeanOf<V>, where MeanOf<V>: Value;
    /// The population variance of all elements; for another divisor see [`Over::ddof`].
    ///
    /// ```
    /// assert_eq!(warpfold::var(&[1.0f32, 3.0])?, 1.0);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    whole;
    /// The standard deviation.
    ///
    /// ```
    /// assert_eq!(warpfold::over(&[1.0f32, 5.0, 3.0]).ddof(1.0).std()?.item(), Some(2.0));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Bad axes or mask.
    over std(Op::Std) -> MeanOf<V>, where MeanOf<V>: Value;
    /// The population standard deviation of all elements.
    ///
    /// ```
    /// assert_eq!(warpfold::std(&[1.0f32, 5.0])?, 2.0);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    whole;
    /// The least element.
    ///
    /// ```
    /// assert_eq!(warpfold::over(&[3i8, -1, 2]).segments(&[0, 1, 3]).min()?.data, [3, -1]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Bad axes or mask; nothing to choose from, and no initial value.
    over min(Op::Min) -> V::Elem;
    /// The least element.
    ///
    /// ```
    /// assert_eq!(warpfold::min(&[3i8, -1, 2])?, -1);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    whole;
    /// The greatest element.
    ///
    /// ```
    /// assert_eq!(warpfold::over(&[3i8, -1, 2]).segments(&[0, 1, 3]).max()?.data, [3, 2]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Bad axes or mask; nothing to choose from, and no initial value.
    over max(Op::Max) -> V::Elem;
    /// The greatest element.
    ///
    /// ```
    /// assert_eq!(warpfold::max(&[3i8, -1, 2])?, 3);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    whole;
    /// The index of the least element, in row-major order of the reduced axes: the first of equals, or the first NaN.
    ///
    /// ```
    /// assert_eq!(warpfold::over(&[3.0f32, 1.0, f32::NAN]).argmin()?.item(), Some(2));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Bad axes or mask; nothing to choose from.
    over argmin(Op::ArgMin) -> i64;
    /// The index of the least element in row-major order.
    ///
    /// ```
    /// assert_eq!(warpfold::argmin(&[3, 1, 1])?, 1);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    whole;
    /// The index of the greatest element: see [`Over::argmin`].
    ///
    /// ```
    /// assert_eq!(warpfold::over(&[3.0f32, 9.0, f32::NAN]).skip_nan().argmax()?.item(), Some(1));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Bad axes or mask; nothing to choose from.
    over argmax(Op::ArgMax) -> i64;
    /// The index of the greatest element in row-major order.
    ///
    /// ```
    /// assert_eq!(warpfold::argmax(&[3, 9, 9])?, 1);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    whole;
    /// Whether any element is not zero (NaN is not).
    ///
    /// ```
    /// assert_eq!(warpfold::over(&[0u8, 0, 7]).segments(&[0, 2, 3]).any()?.data, [false, true]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Bad axes or mask.
    over any(Op::Any) -> bool;
    /// Whether any element is not zero.
    ///
    /// ```
    /// assert_eq!(warpfold::any(&[0u8, 0, 7])?, true);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    whole;
    /// Whether all elements are not zero (NaN is not).
    ///
    /// ```
    /// assert_eq!(warpfold::over(&[1u8, 0, 7]).segments(&[0, 2, 3]).all()?.data, [false, true]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Bad axes or mask.
    over all(Op::All) -> bool;
    /// Whether all elements are not zero.
    ///
    /// ```
    /// assert_eq!(warpfold::all(&[1u8, 0, 7])?, false);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    whole;
    /// How many elements are not zero (NaN is not).
    ///
    /// ```
    /// assert_eq!(warpfold::over(&[1u8, 0, 7]).segments(&[0, 2, 3]).count_nonzero()?.data, [1, 1]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Bad axes or mask.
    over count_nonzero(Op::CountNonzero) -> i64;
    /// How many elements are not zero.
    ///
    /// ```
    /// assert_eq!(warpfold::count_nonzero(&[1u8, 0, 7])?, 2);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    whole;
    /// `log(sum(exp(x)))`; minus infinity of no elements.
    ///
    /// ```
    /// assert_eq!(warpfold::over(&[1000.0f64, -1000.0]).logsumexp()?.item(), Some(1000.0));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Bad axes or mask.
    over logsumexp(Op::LogSumExp) -> MeanOf<V>, where MeanOf<V>: Value;
    /// The logarithm of the sum of exponentials of all elements.
    ///
    /// ```
    /// assert_eq!(warpfold::logsumexp(&[0.0f64])?, 0.0);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    whole;
}

impl<V: View + ?Sized> Over<'_, V> {
    /// The least and the greatest, along one more axis at the end.
    ///
    /// ```
    /// assert_eq!(warpfold::over(&[3i8, -1, 2]).minmax()?.data, [-1, 3]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Bad axes or mask; nothing to choose from.
    pub fn minmax(self) -> Result<Tensor<V::Elem>, Error> {
        self.run(Op::MinMax)
    }
}

/// The least and the greatest element.
///
/// ```
/// assert_eq!(warpfold::minmax(&[3i8, -1, 2])?, (-1, 3));
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// [`Error::RankTooHigh`]; [`Error::Empty`] if there are no elements.
pub fn minmax<V: View + ?Sized>(array: &V) -> Result<(V::Elem, V::Elem), Error> {
    let both = over(array).minmax()?;
    Ok((both.data[0], both.data[1]))
}

/// The 2-norm of all elements; for others see [`Over::norm`].
///
/// ```
/// assert_eq!(warpfold::norm(&[3.0f32, -4.0])?, 5.0);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// [`Error::RankTooHigh`]; [`Error::Empty`] if there are no elements and no identity.
pub fn norm<V: View + ?Sized>(array: &V) -> Result<MeanOf<V>, Error>
where
    MeanOf<V>: Value,
{
    Ok(unwrap(whole(Op::Norm, array)?))
}

/// The whole array, reduced to one element.
fn whole<V: View + ?Sized>(op: Op, array: &V) -> Result<Scalar, Error> {
    let view = viewed(array)?;
    match view.as_slice::<V::Elem>() {
        Some(flat) if V::Elem::DTYPE != DType::Bool => reduce_slice(op, ArrayRef::flat(flat), &view),
        _ => Ok(reduce(op, view, &Options::default())?.values.get(0)),
    }
}

fn unwrap<T: Value>(x: Scalar) -> T {
    T::of(x).expect("the op's result has this dtype")
}
