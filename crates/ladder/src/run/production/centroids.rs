//! The last rung of family C: the library's own update of centroids. It ends with means, where the other rungs end with
//! sums.

use super::super::data;
use super::super::emulated::Seen;
use super::super::error::Error;
use super::super::material::{Material, SEED};
use super::super::timed::Timed;
use super::launches::{Shape, at, carry_out};
use crate::plan::Sizes;
use crate::program::Inputs;
use warpfold::core::{self, Fixed};
use warpfold::cuda::kmeans::{CentroidUpdate, scale};
use warpfold::cuda::{Array, Device, Stream};
use warpfold::keys::Axes;
use warpfold_emulator::{Memory, Report};
use warpfold_emulator::{Production, emulate};
use warpfold_gpu::plan::Launch;
use warpfold_gpu::plan::kmeans::Problem;
use warpfold_kernels::kmeans::{Totals, UpdateAt, sort};
use warpfold_simt::Global;

/// The number of multiprocessors that plans for the emulator assume: an H200's.
const MULTIPROCESSORS: u32 = 132;

/// Points `[coordinate][point]`.
fn problem(sizes: Sizes, address: u64) -> Problem {
    Problem {
        dtype: core::DType::F32,
        n: sizes.points as usize,
        dimensions: sizes.coords as usize,
        along: 4,
        across: 4 * sizes.points as isize,
        address,
        clusters: sizes.clusters as usize,
    }
}

/// The launches of the update, and the one that turns sums into means, unless the update's last block does.
fn launches(sizes: Sizes, address: u64, multiprocessors: u32) -> Vec<Launch<UpdateAt>> {
    let problem = problem(sizes, address);
    let mut launches = problem.update(multiprocessors);
    launches.extend((!problem.finishes()).then(|| problem.finish()));
    launches
}

/// The exponents of the units of all sums: those of the whole numbers, which the ladder runs first and whose magnitudes
/// are the greatest.
fn units(sizes: Sizes) -> Vec<i32> {
    let whole = data::whole(sizes.points * u64::from(sizes.coords), SEED);
    let greatest = |row: &[f32]| row.iter().fold(0.0, |most: f32, x| most.max(x.abs()));
    whole.chunks(sizes.points as usize).map(|row| f32::unit(greatest(row))).collect()
}

/// The kernels' names.
pub fn entries(sizes: Sizes) -> Vec<String> {
    launches(sizes, 0, MULTIPROCESSORS).into_iter().map(|launch| launch.entry).collect()
}

/// The launches, for a row.
pub fn shape(sizes: Sizes, device: Option<&Device>) -> Shape {
    let update = launches(sizes, 0, device.map_or(MULTIPROCESSORS, |d| d.properties().multiprocessors));
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

/// Runs it once in the emulator.
///
/// # Errors
/// If the emulator has no such kernel.
pub fn emulated(sizes: Sizes, material: &Material) -> Result<Seen, Error> {
    let (cells, clusters) = ((sizes.clusters * sizes.coords) as usize, sizes.clusters as usize);
    let mut memory = Memory::new();
    let points: Global<u32> = memory.upload("points", &material.words);
    let labels: Global<i32> = memory.upload("labels", &material.labels);
    let units = units(sizes);
    let scales: Vec<f32> = units.iter().map(|&unit| f32::scale(unit)).collect();
    let scales = memory.upload("scales", &scales);
    let units = memory.upload("units", &units);
    let totals = memory.upload("totals", &vec![0u64; Totals::len(clusters, sizes.coords as usize)]);
    let order = memory.alloc::<u32>("order", 2 * sizes.points as usize);
    let cursors = memory.alloc::<u64>("cursors", sort::cursors(clusters));
    let report = memory.upload("report", &[0u64; 3]);
    let (means, counts) = (memory.alloc::<u32>("means", cells), memory.alloc::<u64>("counts", clusters));
    let addresses = UpdateAt {
        points: at(points),
        labels: at(labels),
        scales: at(scales),
        totals: at(totals),
        order: at(order),
        cursors: at(cursors),
        report: at(report),
        means: at(means),
        counts: at(counts),
        units: at(units),
        ..UpdateAt::default()
    };
    let (mut seen, mut faults) = (Report::default(), Vec::new());
    for launch in &launches(sizes, at(points), MULTIPROCESSORS) {
        let params = launch.with(addresses);
        let production = Production { entry: &launch.entry, grid: launch.grid, block: launch.block, params: &params };
        carry_out(emulate(&memory, production), &launch.entry, &mut seen, &mut faults)?;
    }
    let counts = memory.read(counts, clusters).into_iter().map(|n| n as u32).collect();
    Ok(Seen { output: memory.read(means, cells), counts, report: seen, faults })
}
