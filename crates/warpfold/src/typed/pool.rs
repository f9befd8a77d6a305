//! Pooling and `top_k` of typed arrays. Gradients and indices are in [`warpfold_cpu::pool`].

use warpfold_array::{Error, Tensor};
use warpfold_core::Element;
use warpfold_cpu::pool::{self, Pool};
use warpfold_cpu::select;

use super::rows::tensor;
use super::view::{View, viewed};

/// The greatest element of each window over the last axes: see [`pool::max_pool`], which also gives indices.
///
/// ```
/// use warpfold::pool::Pool;
///
/// let options = Pool { kernel_size: &[2], stride: &[1], ..Pool::default() };
/// assert_eq!(warpfold::max_pool(&[1.0f32, 5.0, 3.0, 2.0], &options)?.data, [5.0, 5.0, 3.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// [`warpfold_array::PoolError`] of windows that do not fit; [`Error::Memory`].
pub fn max_pool<V>(array: &V, options: &Pool<'_>) -> Result<Tensor<V::Elem>, Error>
where
    V: View<Elem: Element<Mean = V::Elem>> + ?Sized,
{
    Ok(tensor(pool::max_pool(viewed(array)?, options, false)?.values))
}

/// The mean of each window over the last axes: see [`pool::avg_pool`].
///
/// ```
/// use warpfold::pool::Pool;
///
/// let options = Pool { kernel_size: &[2], stride: &[1], ..Pool::default() };
/// assert_eq!(warpfold::avg_pool(&[1.0f32, 5.0, 3.0, 2.0], &options)?.data, [3.0, 4.0, 2.5]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`max_pool`].
pub fn avg_pool<V>(array: &V, options: &Pool<'_>) -> Result<Tensor<V::Elem>, Error>
where
    V: View<Elem: Element<Mean = V::Elem>> + ?Sized,
{
    Ok(tensor(pool::avg_pool(viewed(array)?, options)?))
}

/// The `k` greatest elements along an axis, the greatest first, and their indices: see [`select::top_k`], which also
/// finds the least.
///
/// ```
/// let (values, indices) = warpfold::top_k(&[3u8, 9, 4, 9], 3, 0)?;
/// assert_eq!((values.data, indices.data), (vec![9, 9, 4], vec![1, 3, 2]));
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// A bad axis; [`warpfold_array::PoolError::K`]; [`Error::Memory`].
pub fn top_k<V: View + ?Sized>(array: &V, k: usize, axis: isize) -> Result<(Tensor<V::Elem>, Tensor<i64>), Error> {
    let found = select::top_k(viewed(array)?, k, axis, true, None)?;
    Ok((tensor(found.values), tensor(found.indices)))
}
