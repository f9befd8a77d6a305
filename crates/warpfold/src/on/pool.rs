//! Pooling and `top_k`. They are computed on the CPU for now.

use warpfold_array::{Array, ArrayRef, Error};
use warpfold_cpu::pool::{self, MaxPool, Pool};
use warpfold_cpu::select::{self, TopK};

use crate::device::DeviceName;

/// The operations as functions: a row has the documentation, the function here, that of the CPU and its arguments.
macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident = $module:ident::$cpu:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        $(#[$doc])*
        pub fn $name(device: DeviceName, $($argument: $type),*) -> Result<$result, Error> {
            on!(
                device,
                cpu: $module::$cpu($($argument),*),
                gpu: |_gpu| Err(on_the_cpu(device, stringify!($cpu))),
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
    /// As [`pool::max_pool`]; [`Error::Device`] of a GPU.
    max_pool_on = pool::max_pool(x: ArrayRef<'_>, options: &Pool<'_>, indices: bool) -> MaxPool;
    /// The gradient of the elements before [`max_pool_on`], as [`pool::max_pool_backward`].
    ///
    /// # Errors
    /// As [`pool::max_pool_backward`]; [`Error::Device`] of a GPU.
    max_pool_backward_on = pool::max_pool_backward(
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
    /// As [`pool::avg_pool`]; [`Error::Device`] of a GPU.
    avg_pool_on = pool::avg_pool(x: ArrayRef<'_>, options: &Pool<'_>) -> Array;
    /// The gradient of the elements before [`avg_pool_on`], as [`pool::avg_pool_backward`].
    ///
    /// # Errors
    /// As [`pool::avg_pool_backward`]; [`Error::Device`] of a GPU.
    avg_pool_backward_on = pool::avg_pool_backward(
        gradient: ArrayRef<'_>, size: &[usize], options: &Pool<'_>
    ) -> Array;
    /// The greatest or the least elements along an axis, as [`select::top_k`], of a host array. [`DeviceName::Auto`] is
    /// the CPU.
    ///
    /// # Errors
    /// As [`select::top_k`]; [`Error::Device`] of a GPU.
    top_k_on = select::top_k(
        x: ArrayRef<'_>, k: usize, axis: isize, largest: bool, threads: Option<usize>
    ) -> TopK;
}

/// The error of a GPU, which has no kernels of these operations.
#[cfg(feature = "cuda")]
fn on_the_cpu(device: DeviceName, op: &str) -> Error {
    Error::Device { name: device.to_string(), why: format!("{op} is computed on the CPU for now: give `cpu`") }
}
