//! Pooling and `top_k`.

use warpfold_array::{Array, ArrayRef, Error};
use warpfold_cpu::pool::{self, MaxPool, Pool};
use warpfold_cpu::select::{self, TopK};

use crate::device::DeviceName;

/// The operations as functions: a row has the documentation, the function here, that of the CPU, that of a GPU and the
/// arguments.
macro_rules! operations {
    ($(
        $(#[$doc:meta])*
        $name:ident = $cpu:ident, $gpu:ident($($argument:ident: $type:ty),*) -> $result:ty;
    )*) => {$(
        $(#[$doc])*
        pub fn $name(device: DeviceName, $($argument: $type),*) -> Result<$result, Error> {
            on!(
                device,
                cpu: pool::$cpu($($argument),*),
                gpu: |gpu| crate::cuda::pool::$gpu($($argument,)* &gpu),
            )
        }
    )*};
}

operations! {
    /// The greatest element of each window, as [`pool::max_pool`], of a host array. [`DeviceName::Auto`] is the CPU.
    ///
    /// ```
    /// use warpfold::{ArrayRef, DeviceName, max_pool_on, pool::Pool};
    ///
    /// let x = ArrayRef::flat(&[1.0f32, 5.0, 5.0, 2.0]);
    /// let found = max_pool_on(DeviceName::Auto, x, &Pool { kernel_size: &[2], ..Pool::default() }, false)?;
    /// assert_eq!(found.values.into_vec::<f32>().unwrap(), [5.0, 5.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`pool::max_pool`]; [`Error::Device`] if it is not there, or fails.
    max_pool_on = max_pool, max_pool_host(x: ArrayRef<'_>, options: &Pool<'_>, indices: bool) -> MaxPool;
    /// The gradient of the elements before [`max_pool_on`], as [`pool::max_pool_backward`]. On a GPU an index beyond
    /// the axes is no error, and has no gradient.
    ///
    /// # Errors
    /// As [`pool::max_pool_backward`]; [`Error::Device`] if it is not there, or fails.
    max_pool_backward_on = max_pool_backward, max_pool_backward_host(
        gradient: ArrayRef<'_>, indices: ArrayRef<'_>, size: &[usize], options: &Pool<'_>
    ) -> Array;
    /// The mean of each window, as [`pool::avg_pool`], of a host array. [`DeviceName::Auto`] is the CPU.
    ///
    /// ```
    /// use warpfold::{ArrayRef, DeviceName, avg_pool_on, pool::Pool};
    ///
    /// let x = ArrayRef::flat(&[1.0f32, 5.0, 5.0, 2.0]);
    /// let y = avg_pool_on(DeviceName::Auto, x, &Pool { kernel_size: &[2], ..Pool::default() })?;
    /// assert_eq!(y.into_vec::<f32>().unwrap(), [3.0, 3.5]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`pool::avg_pool`]; [`Error::Device`] if it is not there, or fails.
    avg_pool_on = avg_pool, avg_pool_host(x: ArrayRef<'_>, options: &Pool<'_>) -> Array;
    /// The gradient of the elements before [`avg_pool_on`], as [`pool::avg_pool_backward`].
    ///
    /// # Errors
    /// As [`pool::avg_pool_backward`]; [`Error::Device`] if it is not there, or fails.
    avg_pool_backward_on = avg_pool_backward, avg_pool_backward_host(
        gradient: ArrayRef<'_>, size: &[usize], options: &Pool<'_>
    ) -> Array;
}

/// The greatest or the least elements along an axis, as [`select::top_k`], of a host array. [`DeviceName::Auto`] is the
/// CPU.
///
/// # Errors
/// As [`select::top_k`]; [`Error::Device`] if it is not there, or fails.
pub fn top_k_on(
    device: DeviceName,
    x: ArrayRef<'_>,
    k: usize,
    axis: isize,
    largest: bool,
    threads: Option<usize>,
) -> Result<TopK, Error> {
    on!(
        device,
        cpu: select::top_k(x, k, axis, largest, threads),
        gpu: |gpu| crate::cuda::select::top_k_host(x, k, axis, largest, &gpu),
    )
}
