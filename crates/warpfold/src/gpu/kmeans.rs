//! Points as the device crate plans k-means for them.

use warpfold_gpu::plan::kmeans::Problem;

use crate::keys::Points;

/// Points, the first of which is at this address of a device's memory.
pub fn problem(points: &Points<'_>, address: u64, clusters: usize) -> Problem {
    let [along, across] = points.steps();
    let (dtype, n, dimensions) = (points.array().dtype(), points.len(), points.dimensions());
    Problem { dtype, n, dimensions, along, across, address, clusters }
}
