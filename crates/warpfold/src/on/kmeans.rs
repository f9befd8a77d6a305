//! k-means.

use warpfold_array::Error;
use warpfold_cpu::keys::{Fit, KMeans, Points, Stage, Step};

use crate::device::DeviceName;

/// Multiply-adds of distances from which on `auto` is a GPU: a core does 10 to 30 in a nanosecond, and opening a GPU
/// takes 0.4 s.
const WORTH_A_GPU: f64 = (1u64 << 37) as f64;
/// The number of iterations that this estimate assumes, if the settings allow as many.
const USUAL: usize = 20;

/// Finds clusters of host points on the device named, as [`KMeans::fit`]. [`DeviceName::Auto`] is the first GPU if
/// there is much arithmetic, and the CPU if there is little, or no GPU. On a GPU, the inertias that `progress` is told
/// take one more read of the points per iteration.
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

/// As [`kmeans_on`], but `tell` is told of every stage. Without `inertias` a GPU tells of no [`Stage::Assigned`], and
/// reads the points less often.
///
/// ```
/// use warpfold::keys::{Axes, Stage};
/// use warpfold::{ArrayRef, DeviceName, KMeans, Points, kmeans_watched};
///
/// let x = [0.0f32, 0.1, 9.0, 9.2];
/// let points = Points::new(ArrayRef::from_slice(&x, &[4])?, Axes::PointsFirst)?;
/// let mut assignments = 0;
/// let mut tell = |stage: Stage| assignments += i32::from(matches!(stage, Stage::Assigning { .. }));
/// kmeans_watched(DeviceName::Cpu, &KMeans::new(2), &points, true, &mut tell)?;
/// assert!(assignments > 0);
/// # Ok::<(), warpfold::Error>(())
/// ```
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
    on!(
        device.resolve(work >= WORTH_A_GPU),
        cpu: {
            // The CPU tells of inertias whether or not they are asked for.
            let _ = inertias;
            kmeans.fit_told(points, tell)
        },
        gpu: |gpu| match crate::cuda::kmeans::fit_told(&gpu, kmeans, points, inertias, tell) {
            Err(Error::Cuda(why)) if device == DeviceName::Auto && why.is_unavailable() => {
                kmeans.fit_told(points, tell)
            }
            said => said,
        },
    )
}
