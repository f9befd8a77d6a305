//! Losses, dot products and cosines in one call, and of arrays in the host's memory.

use warpfold_array::{ArrayRef, Error};
use warpfold_cpu::rows::{self as cpu, Loss, LossReduction};

use super::options::Pairs;
use super::zipped::Zipped;
use crate::array::Array;
use crate::device::Device;
use crate::stream::Stream;
use crate::view::ArrayView;

/// The operations as functions: a row has the documentation and the name of each, of arrays on the device and of arrays
/// in the host's memory, and the arguments before and after both arrays.
macro_rules! operations {
    ($(
        $(#[$doc:meta])*
        $name:ident, $host:ident($($before:ident: $b:ty),*; $($after:ident: $a:ty),*);
    )*) => {$(
        $(#[$doc])*
        pub fn $name(
            $($before: $b,)*
            x: ArrayView<'_>,
            y: ArrayView<'_>,
            $($after: $a,)*
            options: &Pairs<'_>,
            stream: &Stream,
        ) -> Result<Array, Error> {
            let zipped = operations!(@ $name, &stream.device(), [&x, &y], options $(, $before)* $(, $after)*)?;
            let mut out = zipped.output()?;
            // Without a use for it, it does not count.
            let gradient = options.gradient.filter(|_| zipped.reads_a_gradient());
            zipped.run(stream, x, y, gradient, &mut out)?;
            Ok(out)
        }

        #[doc = concat!("[`", stringify!($name), "`] of arrays in the host's memory.")]
        ///
        /// # Errors
        #[doc = concat!("As [`", stringify!($name), "`].")]
        pub fn $host(
            $($before: $b,)*
            x: ArrayRef<'_>,
            y: ArrayRef<'_>,
            $($after: $a,)*
            options: &cpu::Pairs<'_>,
            device: &Device,
        ) -> Result<warpfold_array::Array, Error> {
            let stream = Stream::new(device)?;
            let [x, y] = [Array::upload(&stream, x)?, Array::upload(&stream, y)?];
            let gradient = options.gradient.map(|gradient| Array::upload(&stream, gradient)).transpose()?;
            let options = Pairs { axes: options.axes, gradient: gradient.as_ref().map(Array::view) };
            $name($($before,)* x.view(), y.view(), $($after,)* &options, &stream)?.download(&stream)
        }
    )*};
    (@ $name:ident, $device:expr, $arrays:expr, $options:expr) => {
        Zipped::$name($device, $arrays, $options)
    };
    (@ cosine_similarity, $device:expr, $arrays:expr, $options:expr, $epsilon:expr) => {
        Zipped::cosine_similarity($device, $arrays, $epsilon, $options)
    };
    (@ $name:ident, $device:expr, $arrays:expr, $options:expr, $of:expr, $by:expr) => {
        Zipped::$name($device, ($of, $by), $arrays, $options)
    };
}

operations! {
    /// The loss of elements `x` and targets `y`: as [`warpfold_cpu::rows::loss`]. The gradient of the options does not
    /// count. The work is queued.
    ///
    /// # Errors
    /// As [`warpfold_cpu::rows::loss`]; arrays of another device; what the driver says.
    loss, loss_host(of: Loss; by: LossReduction);
    /// The gradient of the elements `x` of a [`loss`]: as [`warpfold_cpu::rows::loss_backward`]. The work is queued.
    ///
    /// # Errors
    /// As [`warpfold_cpu::rows::loss_backward`], and as [`loss`].
    loss_backward, loss_backward_host(of: Loss; by: LossReduction);
    /// The sums of the products of two arrays: as [`warpfold_cpu::rows::dot`]. The work is queued.
    ///
    /// # Errors
    /// As [`loss`].
    dot, dot_host(;);
    /// The gradient of the first array of a [`dot`] product: as [`warpfold_cpu::rows::dot_backward`]. The work is
    /// queued.
    ///
    /// # Errors
    /// As [`loss_backward`].
    dot_backward, dot_backward_host(;);
    /// The cosines of the angles between rows: as [`warpfold_cpu::rows::cosine_similarity`]. The work is queued.
    ///
    /// # Errors
    /// As [`loss`].
    cosine_similarity, cosine_similarity_host(; epsilon: f64);
}
