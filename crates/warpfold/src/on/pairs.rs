//! Losses, dot products and cosines.

use warpfold_array::{Array, ArrayRef, Error};
use warpfold_cpu::rows::{self, Loss, LossReduction, Pairs};

use crate::device::DeviceName;

/// The operations as functions: a row has the documentation, the function here, that of the CPU, that of a GPU and the
/// arguments before and after both arrays.
macro_rules! operations {
    ($(
        $(#[$doc:meta])*
        $name:ident = $cpu:ident, $gpu:ident($($before:ident: $b:ty),*; $($after:ident: $a:ty),*);
    )*) => {$(
        $(#[$doc])*
        pub fn $name(
            device: DeviceName,
            $($before: $b,)*
            x: ArrayRef<'_>,
            y: ArrayRef<'_>,
            $($after: $a,)*
            options: &Pairs<'_>,
        ) -> Result<Array, Error> {
            on!(
                device,
                cpu: rows::$cpu($($before,)* x, y, $($after,)* options),
                gpu: |gpu| crate::cuda::rows::$gpu($($before,)* x, y, $($after,)* options, &gpu),
            )
        }
    )*};
}

operations! {
    /// The loss of elements `x` and targets `y`, as [`rows::loss`], of host arrays on the device named.
    /// [`DeviceName::Auto`] is the CPU.
    ///
    /// ```
    /// use warpfold::rows::{Loss, LossReduction, Pairs};
    /// use warpfold::{ArrayRef, DeviceName, loss_on};
    ///
    /// let (x, y) = (ArrayRef::flat(&[1.0f32, 4.0]), ArrayRef::flat(&[1.0f32, 2.0]));
    /// let of = loss_on(DeviceName::Auto, Loss::Mse, x, y, LossReduction::Mean, &Pairs::default())?;
    /// assert_eq!(of.into_vec::<f32>().unwrap(), [2.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`rows::loss`]; and if the device is not there, or fails.
    loss_on = loss, loss_host(of: Loss; by: LossReduction);
    /// The gradient of the elements `x` of a [`loss_on`], as [`rows::loss_backward`].
    ///
    /// # Errors
    /// As [`rows::loss_backward`]; and if the device is not there, or fails.
    loss_backward_on = loss_backward, loss_backward_host(of: Loss; by: LossReduction);
    /// The sums of the products of two arrays, as [`rows::dot`]. [`DeviceName::Auto`] is the CPU.
    ///
    /// # Errors
    /// As [`loss_on`].
    dot_on = dot, dot_host(;);
    /// The gradient of the first array of a [`dot_on`], as [`rows::dot_backward`].
    ///
    /// # Errors
    /// As [`loss_backward_on`].
    dot_backward_on = dot_backward, dot_backward_host(;);
    /// The cosines of the angles between rows, as [`rows::cosine_similarity`]. [`DeviceName::Auto`] is the CPU.
    ///
    /// # Errors
    /// As [`loss_on`].
    cosine_similarity_on = cosine_similarity, cosine_similarity_host(; epsilon: f64);
}
