//! Reductions of host arrays on a device that is named at run time.

use crate::describe::Description;
use crate::layout::ArrayRef;
use crate::values::Array;
use crate::{DeviceName, Error, Op, Options};

/// A host array of fewer bytes is reduced on the CPU unless a GPU is named. Opening a GPU and loading a kernel takes a
/// process a few tenths of a second; two cores read as many bytes in that time, and what is not in the GPU's memory still
/// has to be brought there.
#[cfg(feature = "cuda")]
const WORTH_A_GPU: usize = 8 << 30;

/// Reduces a host array on the device named. [`DeviceName::Auto`] is a GPU if there is one and the array is large enough that
/// bringing it there can pay, and else the CPU. The bits do not depend on it.
///
/// ```
/// use warpfold::{ArrayRef, DeviceName, Op, Options, reduce_on};
///
/// let x = ArrayRef::from_slice(&[1.0f32, 2.0, 3.0], &[3])?;
/// let sum = reduce_on(DeviceName::Auto, Op::Sum, x, &Options::default())?;
/// assert_eq!(sum.into_vec::<f32>().unwrap(), [6.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`crate::reduce`]; and if the device is not there, or fails.
pub fn reduce_on(device: DeviceName, op: Op, array: ArrayRef<'_>, options: &Options<'_>) -> Result<Array, Error> {
    match device.resolve(array.bytes()) {
        #[cfg(feature = "cuda")]
        DeviceName::Cuda(index) => {
            let gpu = crate::cuda::Device::shared(index)?;
            match crate::cuda::reduce_host(op, array, options, &gpu) {
                Err(Error::Cuda(why)) if device == DeviceName::Auto && why.is_unavailable() => {
                    crate::reduce(op, array, options)
                }
                said => said,
            }
        }
        #[cfg(not(feature = "cuda"))]
        DeviceName::Cuda(_) => Err(without_gpus(device)),
        _ => crate::reduce(op, array, options),
    }
}

/// The statistics of a host array, on the device named, as [`reduce_on`].
///
/// # Errors
/// As [`crate::describe()`]; and if the device is not there, or fails.
pub fn describe_on(device: DeviceName, array: ArrayRef<'_>, options: &Options<'_>) -> Result<Description, Error> {
    match device.resolve(array.bytes()) {
        #[cfg(feature = "cuda")]
        DeviceName::Cuda(index) => {
            let gpu = crate::cuda::Device::shared(index)?;
            match crate::cuda::describe_host(array, options, &gpu) {
                Err(Error::Cuda(why)) if device == DeviceName::Auto && why.is_unavailable() => {
                    crate::describe(array, options)
                }
                said => said,
            }
        }
        #[cfg(not(feature = "cuda"))]
        DeviceName::Cuda(_) => Err(without_gpus(device)),
        _ => crate::describe(array, options),
    }
}

#[cfg(not(feature = "cuda"))]
pub(crate) fn without_gpus(device: DeviceName) -> Error {
    let why = "this build has no GPU support; build with the feature `cuda`, or compute on `cpu`".into();
    Error::Device { name: device.to_string(), why }
}

impl DeviceName {
    /// Which one `auto` is for a host array of so many bytes. A GPU that cannot be opened is none.
    pub fn resolve(self, bytes: usize) -> DeviceName {
        match self {
            #[cfg(feature = "cuda")]
            DeviceName::Auto if bytes >= WORTH_A_GPU && crate::cuda::Device::shared(0).is_ok() => DeviceName::Cuda(0),
            DeviceName::Auto => {
                let _ = bytes;
                DeviceName::Cpu
            }
            named => named,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scalar;

    #[test]
    fn auto_computes_small_arrays_on_the_cpu() {
        assert_eq!(DeviceName::Auto.resolve(1 << 20), DeviceName::Cpu);
        assert_eq!(DeviceName::Cuda(3).resolve(1), DeviceName::Cuda(3));
        let x = ArrayRef::from_slice(&[3i32, 4], &[2]).unwrap();
        for device in [DeviceName::Auto, DeviceName::Cpu] {
            let sum = reduce_on(device, Op::Sum, x, &Options::default()).unwrap();
            assert_eq!(sum.scalar(), Some(Scalar::I64(7)));
            let all = describe_on(device, x, &Options::default()).unwrap();
            assert_eq!(all.get("max").unwrap().get(0), Scalar::I32(4));
        }
    }

    #[cfg(feature = "cuda")]
    #[test]
    fn a_gpu_that_is_named_and_not_there_is_an_error() {
        let x = ArrayRef::from_slice(&[3i32, 4], &[2]).unwrap();
        let device = DeviceName::Cuda(4095);
        for said in [
            reduce_on(device, Op::Sum, x, &Options::default()).map(|_| ()),
            describe_on(device, x, &Options::default()).map(|_| ()),
        ] {
            let text = said.expect_err("no such device").to_string();
            assert!(text.contains("cpu") || text.contains("cuda:4095"), "{text}");
        }
    }
}
