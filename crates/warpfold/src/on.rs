//! Reductions of host arrays on a device that is named at run time.

use warpfold_array::{Array, ArrayRef, Error, Op, Options};
use warpfold_cpu::Description;
use warpfold_cpu::keys::{Fit, KMeans, Points, Stage, Step};

use crate::DeviceName;

/// Multiply-adds of distances from which on `auto` is a GPU: a core does 10 to 30 in a nanosecond, and opening a GPU takes 0.4 s.
const WORTH_A_GPU: f64 = (1u64 << 37) as f64;
/// Iterations that are reckoned with for that, if so many are allowed.
const USUAL: usize = 20;

/// Reduces a host array on the device named. [`DeviceName::Auto`] is the CPU: it reads its memory faster than a bus brings the same bytes
/// to a GPU (docs/benchmarking.md has the measurement). The bits do not depend on it.
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
    match device {
        #[cfg(feature = "cuda")]
        DeviceName::Cuda(index) => crate::cuda::reduce_host(op, array, options, &crate::cuda::shared(index)?),
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
    match device {
        #[cfg(feature = "cuda")]
        DeviceName::Cuda(index) => crate::cuda::describe_host(array, options, &crate::cuda::shared(index)?),
        #[cfg(not(feature = "cuda"))]
        DeviceName::Cuda(_) => Err(without_gpus(device)),
        _ => crate::describe(array, options),
    }
}

/// Finds clusters of points on the host ([`KMeans::fit`]) on the device named: `auto` is the first GPU for much arithmetic, and the CPU for little, or where there is none.
/// The bits do not depend on it. On a GPU, telling `progress` of inertias takes a further read of the points for each iteration.
///
/// ```
/// use warpfold::keys::Axes;
/// use warpfold::{ArrayRef, DeviceName, KMeans, Points, kmeans_on};
///
/// let x = [0.0f32, 0.1, 9.0, 9.2];
/// let points = Points::new(ArrayRef::from_slice(&x, &[4])?, Axes::PointsFirst)?;
/// let fit = kmeans_on(DeviceName::Auto, &KMeans::new(2), &points, None)?;
/// assert_eq!(fit.labels[0], fit.labels[1]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`KMeans::fit`]; and if the device is not there, or fails.
pub fn kmeans_on(
    device: DeviceName,
    kmeans: &KMeans,
    points: &Points<'_>,
    progress: Option<&mut (dyn FnMut(Step) + Send)>,
) -> Result<Fit, Error> {
    let (inertias, mut progress) = (progress.is_some(), progress);
    let mut tell = |stage: Stage| {
        if let (Stage::Assigned(step), Some(progress)) = (stage, &mut progress) {
            progress(step);
        }
    };
    kmeans_watched(device, kmeans, points, inertias, &mut tell)
}

/// The same, telling `tell` of every stage. Without `inertias` a GPU tells of no [`Stage::Assigned`], and reads the points less.
///
/// # Errors
/// As [`kmeans_on`].
pub fn kmeans_watched(
    device: DeviceName,
    kmeans: &KMeans,
    points: &Points<'_>,
    inertias: bool,
    tell: &mut (dyn FnMut(Stage) + Send),
) -> Result<Fit, Error> {
    let rounds = kmeans.iterations.min(USUAL).saturating_mul(kmeans.starts());
    let work = rounds as f64 * points.len() as f64 * (points.dimensions() * kmeans.clusters) as f64;
    match device.resolve(work >= WORTH_A_GPU) {
        #[cfg(feature = "cuda")]
        DeviceName::Cuda(index) => {
            use crate::cuda::{kmeans::fit_told, shared};
            match fit_told(&shared(index)?, kmeans, points, inertias, tell) {
                Err(Error::Cuda(why)) if device == DeviceName::Auto && why.is_unavailable() => {
                    kmeans.fit_told(points, tell)
                }
                said => said,
            }
        }
        #[cfg(not(feature = "cuda"))]
        DeviceName::Cuda(_) => {
            let _ = inertias;
            Err(without_gpus(device))
        }
        _ => kmeans.fit_told(points, tell),
    }
}

#[cfg(not(feature = "cuda"))]
pub(crate) fn without_gpus(device: DeviceName) -> Error {
    let why = "this build has no GPU support; build with the feature `cuda`, or compute on `cpu`".into();
    Error::Device { name: device.to_string(), why }
}

impl DeviceName {
    /// What `auto` is for work on host data that is worth bringing to a GPU, or is not: the first GPU if it is and there is one, and else
    /// the CPU. A GPU that cannot be opened is none.
    pub fn resolve(self, pays: bool) -> DeviceName {
        match self {
            #[cfg(feature = "cuda")]
            DeviceName::Auto if pays && crate::cuda::shared(0).is_ok() => DeviceName::Cuda(0),
            DeviceName::Auto => {
                let _ = pays;
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
    fn auto_reduces_host_arrays_on_the_cpu() {
        assert_eq!(DeviceName::Auto.resolve(false), DeviceName::Cpu);
        assert!(matches!(DeviceName::Auto.resolve(true), DeviceName::Cpu | DeviceName::Cuda(0)));
        assert_eq!(DeviceName::Cuda(3).resolve(false), DeviceName::Cuda(3));
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
