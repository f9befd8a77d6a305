//! What the library computes of arrays on the host, on a device that is named at run time. The bits do not depend on
//! the device.
//!
//! Every function here takes a [`DeviceName`] first. `auto` is the CPU, which reads its memory faster than a bus brings
//! the same bytes to a GPU (docs/notebook.md has the measurement); k-means alone computes enough per byte for
//! `auto` to choose a GPU.

/// Evaluates `gpu`, with the device opened, where the name is that of a GPU, and else `cpu`. Without the feature `cuda`
/// the expression of the GPU is not compiled, and its name is an error.
#[cfg(feature = "cuda")]
macro_rules! on {
    ($name:expr, cpu: $cpu:expr, gpu: |$device:ident| $gpu:expr $(,)?) => {
        match $crate::on::gpu($name)? {
            Some($device) => $gpu,
            None => $cpu,
        }
    };
}
#[cfg(not(feature = "cuda"))]
macro_rules! on {
    ($name:expr, cpu: $cpu:expr, gpu: |$device:ident| $gpu:expr $(,)?) => {{
        $crate::on::no_gpu($name)?;
        $cpu
    }};
}

mod counts;
mod groups;
mod kmeans;
mod pairs;
mod pool;
mod reduce;
mod rows;
mod segments;

pub use counts::{bincount_on, histogram_on, unique_on};
pub use groups::{GroupLabels, describe_groups_on, group_by_on, group_first_on, group_last_on, group_sizes_on};
pub use kmeans::{kmeans_on, kmeans_watched};
pub use pairs::{cosine_similarity_on, dot_backward_on, dot_on, loss_backward_on, loss_on};
pub use pool::{avg_pool_backward_on, avg_pool_on, max_pool_backward_on, max_pool_on, top_k_on};
pub use reduce::{describe_on, reduce_on};
pub use rows::{batch_norm_on, group_norm_on, layer_norm_on, log_softmax_on, rms_norm_on, softmax_on};
pub use segments::{describe_segments_on, reduce_by_key_on, segmented_on};

use warpfold_array::Error;

use crate::device::DeviceName;

/// The GPU of this name, opened; `None` is the CPU.
#[cfg(feature = "cuda")]
fn gpu(name: DeviceName) -> Result<Option<crate::cuda::Device>, Error> {
    match name {
        DeviceName::Cuda(index) => Ok(Some(crate::cuda::shared(index)?)),
        DeviceName::Auto | DeviceName::Cpu => Ok(None),
    }
}

/// Refuses the name of a GPU, of which this build has none.
#[cfg(not(feature = "cuda"))]
fn no_gpu(name: DeviceName) -> Result<(), Error> {
    match name {
        DeviceName::Cuda(_) => {
            let why = "this build has no GPU support; build with the feature `cuda`, or compute on `cpu`".into();
            Err(Error::Device { name: name.to_string(), why })
        }
        DeviceName::Auto | DeviceName::Cpu => Ok(()),
    }
}

impl DeviceName {
    /// What `auto` stands for, given whether the work is worth bringing host data to a GPU (`pays`): the first GPU if
    /// the work is worth it and a GPU can be opened, and else the CPU. Other names stay.
    ///
    /// ```
    /// use warpfold::DeviceName;
    ///
    /// assert_eq!(DeviceName::Auto.resolve(false), DeviceName::Cpu);
    /// assert_eq!(DeviceName::Cuda(3).resolve(false), DeviceName::Cuda(3));
    /// ```
    pub fn resolve(self, pays: bool) -> DeviceName {
        let first = DeviceName::Cuda(0);
        match self {
            DeviceName::Auto if pays && first.is_there() => first,
            DeviceName::Auto => DeviceName::Cpu,
            named => named,
        }
    }

    /// Whether this device can be opened.
    fn is_there(self) -> bool {
        #[cfg(feature = "cuda")]
        return gpu(self).is_ok();
        #[cfg(not(feature = "cuda"))]
        return no_gpu(self).is_ok();
    }
}

#[cfg(test)]
mod tests {
    use warpfold_array::{ArrayRef, Op, Options, Scalar};
    use warpfold_cpu::keys::{Axes, Bins, Distinct, KMeans, Points, Segments};

    use super::*;

    #[test]
    fn auto_reduces_host_arrays_on_the_cpu() {
        assert_eq!(DeviceName::Auto.resolve(false), DeviceName::Cpu);
        assert!(matches!(DeviceName::Auto.resolve(true), DeviceName::Cpu | DeviceName::Cuda(0)));
        let x = ArrayRef::from_slice(&[3i32, 4], &[2]).unwrap();
        for device in [DeviceName::Auto, DeviceName::Cpu] {
            let sum = reduce_on(device, Op::Sum, x, &Options::default()).unwrap();
            assert_eq!(sum.scalar(), Some(Scalar::I64(7)));
        }
    }

    #[test]
    fn every_computation_on_a_gpu_that_is_not_there_is_an_error_of_the_device() {
        let x = ArrayRef::from_slice(&[3i32, 4], &[2]).unwrap();
        let floats = ArrayRef::from_slice(&[3f32, 4.0], &[2]).unwrap();
        let pair = ArrayRef::from_slice(&[3f32, 4.0], &[1, 2]).unwrap();
        let points = Points::new(floats, Axes::PointsFirst).unwrap();
        let segments = Segments::new(ArrayRef::from_slice(&[0, 2], &[2]).unwrap()).unwrap();
        let (labels, options) = (GroupLabels::new(x), Options::default());
        let device = DeviceName::Cuda(4095);
        let said = [
            reduce_on(device, Op::Sum, x, &options).map(|_| ()),
            describe_on(device, x, &options).map(|_| ()),
            segmented_on(device, Op::Sum, x, &segments, &options).map(|_| ()),
            describe_segments_on(device, x, &segments).map(|_| ()),
            reduce_by_key_on(device, Op::Sum, x, x, &options).map(|_| ()),
            group_by_on(device, Op::Sum, x, &labels, &options).map(|_| ()),
            group_first_on(device, x, &labels).map(|_| ()),
            group_last_on(device, x, &labels).map(|_| ()),
            group_sizes_on(device, &labels).map(|_| ()),
            describe_groups_on(device, x, &labels).map(|_| ()),
            unique_on(device, x, Distinct::default()).map(|_| ()),
            histogram_on(device, x, &Bins::Uniform { bins: 2, range: None }, None).map(|_| ()),
            bincount_on(device, x, None, 0).map(|_| ()),
            kmeans_on(device, &KMeans::new(1), &points, None).map(|_| ()),
            softmax_on(device, floats, &[0], &warpfold_cpu::rows::Softmax::default()).map(|_| ()),
            rms_norm_on(device, floats, &[0], &warpfold_cpu::rows::Norm::default()).map(|_| ()),
            group_norm_on(device, pair, 1, &warpfold_cpu::rows::Norm::default()).map(|_| ()),
            batch_norm_on(device, pair, 1, &warpfold_cpu::rows::BatchNorm::default()).map(|_| ()),
            max_pool_on(device, floats, &warpfold_cpu::pool::Pool::default(), true).map(|_| ()),
            top_k_on(device, floats, 1, 0, true, None).map(|_| ()),
        ];
        for said in said {
            let error = said.expect_err("no such device");
            #[cfg(feature = "cuda")]
            assert!(matches!(error, Error::Cuda(_)), "{error:?}");
            #[cfg(not(feature = "cuda"))]
            assert!(matches!(&error, Error::Device { name, .. } if name == "cuda:4095"), "{error:?}");
            let text = error.to_string();
            assert!(text.contains("cpu") || text.contains("cuda:4095"), "{text}");
        }
    }
}
