//! The last rung of family C: the library's own update of centroids. It ends with means, where the other rungs end with
//! sums.

use super::super::error::Error;
use super::super::timed::Timed;
use super::launches::Shape;
use crate::plan::Sizes;
use crate::program::Inputs;
use warpfold::core;
use warpfold::cuda::kmeans::{CentroidUpdate, scale};
use warpfold::cuda::{Array, Device, Stream};
use warpfold::keys::Axes;
use warpfold_gpu::plan::Launch;
use warpfold_gpu::plan::kmeans::Problem;
use warpfold_kernels::kmeans::UpdateAt;

/// The number of multiprocessors of the emulated device: an H200's.
pub const MULTIPROCESSORS: u32 = 132;

/// Points `[coordinate][point]`.
fn problem(sizes: Sizes) -> Problem {
    Problem {
        dtype: core::DType::F32,
        n: sizes.points as usize,
        dimensions: sizes.coords as usize,
        along: 4,
        across: 4 * sizes.points as isize,
        address: 0,
        clusters: sizes.clusters as usize,
    }
}

/// The launches of the update, and the one that turns sums into means, unless the update's last block does.
fn launches(sizes: Sizes, multiprocessors: u32) -> Vec<Launch<UpdateAt>> {
    let problem = problem(sizes);
    let mut launches = problem.update(multiprocessors);
    launches.extend((!problem.finishes()).then(|| problem.finish()));
    launches
}

/// The kernels' names.
pub fn entries(sizes: Sizes) -> Vec<String> {
    launches(sizes, MULTIPROCESSORS).into_iter().map(|launch| launch.entry).collect()
}

/// The kernels' names of what finds the scale of points beforehand.
///
/// # Errors
/// If the library has no plan.
#[cfg(test)]
pub fn scale_entries(sizes: Sizes) -> Result<Vec<String>, Error> {
    use warpfold::{ArrayRef, DType, Op, Options, Ord, Order};
    let shape = [sizes.coords as usize, sizes.points as usize];
    let zeros = vec![0u8; 4 * shape[0] * shape[1]];
    let points = ArrayRef::from_bytes(&zeros, DType::F32, &shape, Order::C, false)?;
    let options = Options { axes: Some(vec![1]), ord: Some(Ord::Inf), ..Options::default() };
    let plan = warpfold::cuda::explain(Op::Norm, points, &options, None)?;
    Ok(plan.launches.into_iter().map(|launch| launch.entry).collect())
}

/// The launches, for a row.
pub fn shape(sizes: Sizes, device: Option<&Device>) -> Shape {
    let update = launches(sizes, device.map_or(MULTIPROCESSORS, |d| d.properties().multiprocessors));
    let bytes = sizes.points * (u64::from(sizes.coords) + 1) * 4;
    Shape { block: update.first().map_or(0, |launch| launch.block), bytes, launches: update.len() as u32 }
}

/// The library's update on a GPU, loaded.
pub struct Loaded {
    update: CentroidUpdate,
    coords: usize,
    means: Array,
    counts: Array,
}

impl Loaded {
    /// For points like these, none of which may have greater coordinates.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn new(stream: &Stream, sizes: Sizes, inputs: &Inputs) -> Result<Loaded, Error> {
        let coords = sizes.coords as usize;
        let points = inputs.points(coords)?;
        let found = scale(stream, points, Axes::CoordinatesFirst)?;
        let clusters = sizes.clusters as usize;
        let update = CentroidUpdate::new(stream, &points, Axes::CoordinatesFirst, clusters, &found)?;
        let (means, counts) = (update.means()?, update.counts()?);
        Ok(Loaded { update, coords, means, counts })
    }
}

impl Timed for Loaded {
    fn reset(&mut self, stream: &Stream, _: &Inputs) -> Result<(), Error> {
        self.means.fill(stream, 0xff)?;
        Ok(self.counts.fill(stream, 0xff)?)
    }

    fn run(&mut self, stream: &Stream, inputs: &Inputs) -> Result<(), Error> {
        let (points, labels) = (inputs.points(self.coords)?, inputs.labels()?);
        Ok(self.update.run(stream, points, labels, &mut self.means, &mut self.counts)?)
    }

    fn read(&self, stream: &Stream) -> Result<(Vec<u32>, Vec<u32>), Error> {
        let means = self.means.download(stream)?.into_vec::<f32>().unwrap_or_default();
        let counts = self.counts.download(stream)?.into_vec::<i64>().unwrap_or_default();
        Ok((means.into_iter().map(f32::to_bits).collect(), counts.into_iter().map(|n| n as u32).collect()))
    }
}
