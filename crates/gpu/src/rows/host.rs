//! Operations on rows of arrays in the host's memory.

use warpfold_array::{ArrayRef, Error};
use warpfold_cpu::rows as cpu;

use super::once::{layer_norm, log_softmax, rms_norm, softmax};
use super::options::{Norm, Softmax};
use crate::array::Array;
use crate::device::Device;
use crate::stream::Stream;

/// The operations as functions of arrays in the host's memory: a row has the documentation and the name of each, the
/// function of arrays on the device, its options, and these from the CPU's, but for one that these have not.
macro_rules! operations {
    ($(
        $(#[$doc:meta])*
        $name:ident = $on:ident, $options:ident { $([$array:ident])* $($field:ident),* $(; $none:ident)? };
    )*) => {$(
        $(#[$doc])*
        pub fn $name(
            x: ArrayRef<'_>,
            axes: &[isize],
            options: &cpu::$options<'_>,
            device: &Device,
        ) -> Result<warpfold_array::Array, Error> {
            let stream = Stream::new(device)?;
            let x = Array::upload(&stream, x)?;
            $(let $array = options.$array.map(|array| Array::upload(&stream, array)).transpose()?;)*
            let options = $options {
                $($array: $array.as_ref().map(Array::view),)*
                $($field: options.$field,)*
                $($none: None)?
            };
            $on(x.view(), axes, &options, &stream)?.download(&stream)
        }
    )*};
}

operations! {
    /// The softmax over some axes: as [`cpu::softmax`], on a GPU.
    ///
    /// # Errors
    /// As [`cpu::softmax`]; what the driver says.
    softmax_host = softmax, Softmax { [mask] scale };
    /// The logarithm of the softmax: as [`cpu::log_softmax`], on a GPU.
    ///
    /// # Errors
    /// As [`cpu::log_softmax`]; what the driver says.
    log_softmax_host = log_softmax, Softmax { [mask] scale };
    /// Each row over the root of its mean square: as [`cpu::rms_norm`], on a GPU.
    ///
    /// # Errors
    /// As [`cpu::rms_norm`]; what the driver says.
    rms_norm_host = rms_norm, Norm { [weight] [bias] weight_offset, epsilon; noted };
    /// Each row less its mean, over its deviation: as [`cpu::layer_norm`], on a GPU.
    ///
    /// # Errors
    /// As [`cpu::layer_norm`]; what the driver says.
    layer_norm_host = layer_norm, Norm { [weight] [bias] weight_offset, epsilon; noted };
}
