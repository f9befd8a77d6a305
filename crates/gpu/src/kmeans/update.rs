//! The update step: means of the points of each label.

use super::{Axes, Scale, computed, expect, means, problem, scale};
use crate::array::Array;
use crate::buffer::Buffer;
use crate::device::Device;
use crate::launch::Ready;
use crate::plan::kmeans::Problem;
use crate::reduce::layout::Layout;
use crate::stream::Stream;
use crate::view::ArrayView;
use warpfold_array::{CudaError, Error};
use warpfold_core::DType;
use warpfold_cpu::keys::Centroids;
use warpfold_kernels::kmeans::{BAD, UpdateAt, sort};

/// The update of points of one dtype, shape and layout: planned, its kernels loaded, its memory allocated.
///
/// A run reads the points once and costs the host the driver's calls and no more. It has memory of its own for what is
/// under way: use it on one stream at a time.
pub struct CentroidUpdate {
    pub(crate) device: Device,
    points: Layout,
    /// The address of the points, modulo 16.
    place: u64,
    pub(crate) problem: Problem,
    launches: Vec<Ready<UpdateAt>>,
    finish: Ready<UpdateAt>,
    /// Numbers as points are computed in.
    pub(crate) scales: Buffer<u8>,
    units: Buffer<i32>,
    pub(crate) totals: Buffer<u64>,
    order: Buffer<u64>,
    cursors: Buffer<u64>,
    pub(crate) report: Buffer<u64>,
    /// Whether totals are zero, as they are between runs unless one has failed.
    pub(crate) clean: bool,
}

impl CentroidUpdate {
    /// Plans updates of points like these into so many clusters. The scale is that of the points ([`super::scale`]), or
    /// of more points that include them; those with greater magnitudes have no means.
    ///
    /// # Errors
    /// What [`warpfold_cpu::keys::Points::new`] refuses, a scale for other points, or what the driver says.
    pub fn new(
        stream: &Stream,
        points: &ArrayView<'_>,
        axes: Axes,
        clusters: usize,
        scale: &Scale,
    ) -> Result<CentroidUpdate, Error> {
        let problem = problem(points, axes, clusters)?;
        scale.suits(&warpfold_cpu::keys::Points::new(*points.layout(), axes)?)?;
        points.is_on(stream, "points")?;
        let device = stream.device();
        let planned = problem.update(device.multiprocessors());
        let sorted = problem.is_sorted();
        let zero = |len: usize| vec![0u64; len];
        Ok(CentroidUpdate {
            points: Layout::of(points.layout()),
            place: points.address() % 16,
            launches: device.all_ready(&planned)?,
            finish: device.ready(&problem.finish())?,
            scales: Buffer::upload(stream, scale.factors().as_bytes())?,
            units: Buffer::upload(stream, scale.units())?,
            totals: Buffer::upload(stream, &zero(problem.totals()))?,
            order: Buffer::new(&device, if sorted { problem.n } else { 0 })?,
            cursors: Buffer::new(&device, if sorted { sort::cursors(clusters) } else { 0 })?,
            report: Buffer::upload(stream, &zero(3))?,
            clean: true,
            device,
            problem,
        })
    }

    /// Room for the means of a run.
    ///
    /// # Errors
    /// If the memory does not suffice.
    pub fn means(&self) -> Result<Array, Error> {
        means(&self.device, &self.problem)
    }

    /// Room for the counts of a run.
    ///
    /// # Errors
    /// If the memory does not suffice.
    pub fn counts(&self) -> Result<Array, Error> {
        Array::new(&self.device, DType::I64, &[self.problem.clusters])
    }

    /// The kernels that a run launches, in order.
    pub fn kernels(&self) -> Vec<&str> {
        let finish = (!self.problem.finishes()).then_some(&self.finish);
        self.launches.iter().chain(finish).map(Ready::entry).collect()
    }

    /// Queues one run: the means (f64 of f64 points, else f32, \[cluster\]\[coordinate\], NaN of no points) and the
    /// numbers of points (i64) of the labels (i32; -1 belongs to none).
    ///
    /// # Errors
    /// If an array or the stream is not like that which it was prepared for, or the driver refuses. Labels of no
    /// cluster are an error of [`CentroidUpdate::check`].
    pub fn run(
        &mut self,
        stream: &Stream,
        points: ArrayView<'_>,
        labels: ArrayView<'_>,
        means: &mut Array,
        counts: &mut Array,
    ) -> Result<(), Error> {
        self.suits(stream, &points)?;
        labels.is_on(stream, "labels")?;
        expect("labels", &labels, DType::I32, &[self.problem.n])?;
        self.room(stream, means)?;
        counts.is_on(stream, "counts")?;
        expect("counts", &counts.view(), DType::I64, &[self.problem.clusters])?;
        self.begin(stream)?;
        // SAFETY: the arrays are like those that were planned for, as was just seen, and borrowed or kept until the
        // device is done with them.
        unsafe {
            let (points, labels) = (points.address(), labels.address());
            let (means, counts) = (means.address(), counts.address());
            self.queue(stream, UpdateAt { points, labels, means, counts, ..UpdateAt::default() })?;
        }
        self.clean = true;
        Ok(())
    }

    /// Waits for the runs so far, and sees whether all labels were those of a cluster, or -1.
    ///
    /// # Errors
    /// If they were not, or what went wrong on the device.
    pub fn check(&mut self, stream: &Stream) -> Result<(), CudaError> {
        let bad = self.report.read(stream)?[BAD];
        self.report.fill(stream, 0)?;
        if bad == 0 { Ok(()) } else { Err(CudaError::BadLabels { bad, clusters: self.problem.clusters }) }
    }

    pub(crate) fn suits(&self, stream: &Stream, points: &ArrayView<'_>) -> Result<(), CudaError> {
        points.is_on(stream, "points")?;
        self.points.check("array of points", points)?;
        if points.address() % 16 == self.place {
            return Ok(());
        }
        let at = |place: u64| format!("at {place} bytes after a multiple of 16");
        Err(CudaError::Layout { what: "array of points", found: at(points.address() % 16), expected: at(self.place) })
    }

    pub(crate) fn room(&self, stream: &Stream, means: &Array) -> Result<(), CudaError> {
        means.is_on(stream, "array of centroids")?;
        let shape = [self.problem.clusters, self.problem.dimensions];
        expect("array of centroids", &means.view(), computed(&self.problem), &shape)
    }

    /// Before anything is added: what a failed run has left goes.
    pub(crate) fn begin(&mut self, stream: &Stream) -> Result<(), CudaError> {
        if !self.clean {
            self.totals.fill(stream, 0)?;
        }
        self.clean = false;
        Ok(())
    }

    /// Queues adding up, and means (and counts, if there is an address for them) of what was added. Clusters without
    /// points keep their means of `before`, if that is an address; the squares of all moves are written then, if there
    /// is one for them. The addresses of what this value has itself need not be given.
    ///
    /// # Safety
    /// At these addresses are points like those that were planned for, and as many labels; the others are 0, or of
    /// arrays of that size. All live until the device is done with them.
    pub(crate) unsafe fn queue(&self, stream: &Stream, at: UpdateAt) -> Result<(), CudaError> {
        let at = UpdateAt {
            scales: self.scales.address(),
            totals: self.totals.address(),
            order: self.order.address(),
            cursors: self.cursors.address(),
            report: self.report.address(),
            units: self.units.address(),
            ..at
        };
        for launch in &self.launches {
            // SAFETY: the caller's; the rest is this value's, as large as the plan says.
            unsafe { launch.queue(stream, at) }?;
        }
        if self.problem.finishes() {
            return Ok(());
        }
        // SAFETY: as of the launches before.
        unsafe { self.finish.queue(stream, at) }
    }
}

/// The means of the points of each label, as [`warpfold_cpu::keys::centroid_update`] has them: two reads of the points.
///
/// # Errors
/// As [`CentroidUpdate::new`], [`scale()`] and [`CentroidUpdate::check`].
pub fn centroid_update(
    stream: &Stream,
    points: ArrayView<'_>,
    axes: Axes,
    labels: ArrayView<'_>,
    clusters: usize,
) -> Result<Centroids, Error> {
    let scale = scale(stream, points, axes)?;
    let mut update = CentroidUpdate::new(stream, &points, axes, clusters, &scale)?;
    let (mut means, mut counts) = (update.means()?, update.counts()?);
    update.run(stream, points, labels, &mut means, &mut counts)?;
    update.check(stream)?;
    let counts = counts.download(stream)?.into_vec::<i64>().unwrap_or_default();
    Ok(Centroids { means: means.download(stream)?, counts })
}
