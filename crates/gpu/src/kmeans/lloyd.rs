//! Iterations of k-means: labels by centroids, and means by labels.

use super::{Axes, CentroidUpdate, Scale, computed, expect};
use crate::array::Array;
use crate::buffer::Buffer;
use crate::launch::Ready;
use crate::options::Options;
use crate::reduce::reduction::Reduction;
use crate::stream::Stream;
use crate::view::ArrayView;
use warpfold_array::{ArrayRef, CudaError, Error, KeyError, Op, Order, Values};
use warpfold_core::DType;
use warpfold_cpu::keys::kmeans::Coordinate;
use warpfold_kernels::kmeans::{AssignAt, CHANGED, DistanceAt, EMPTY, UpdateAt};

/// Iterations over points of one dtype, shape and layout: planned, kernels loaded, memory allocated.
///
/// An iteration reads the points twice, for labels and for means. Up to 128 coordinates, tensor cores find the labels,
/// but for those of points that are nearly as near to another centroid: these are found by exact scores, so that labels
/// are the CPU's. Use it on one stream at a time.
pub struct Lloyd {
    pub(crate) update: CentroidUpdate,
    assign: Vec<Ready<AssignAt>>,
    distances: Ready<DistanceAt>,
    centre: Array,
    /// What labels are found by, and points that are not sure of theirs on the way.
    by: Buffer<u8>,
    unsure: Buffer<u32>,
    /// The square of the distance of each point.
    squares: Array,
    inertia: Reduction,
    /// The squares of the moves of the centroids.
    moves: Array,
    shift: Reduction,
}

/// What an iteration has done.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Done {
    /// The sum of the squares of the centroids' moves.
    pub shift: f64,
    /// Clusters without points.
    pub empty: u64,
    /// Whether a label has changed.
    pub changed: bool,
}

impl Lloyd {
    /// Plans iterations over points like these. `centre` has a number for each coordinate, rounded to what points are
    /// computed in; labels are computed about it. Of points whose centre is not their mean, labels are as exact as the
    /// distance to it lets them be.
    ///
    /// # Errors
    /// As [`CentroidUpdate::new`]; a centre of another shape.
    pub fn new(
        stream: &Stream,
        points: &ArrayView<'_>,
        axes: Axes,
        clusters: usize,
        scale: &Scale,
        centre: &[f64],
    ) -> Result<Lloyd, Error> {
        let update = CentroidUpdate::new(stream, points, axes, clusters, scale)?;
        let (device, problem) = (stream.device(), update.problem);
        let dtype = computed(&problem);
        if centre.len() != problem.dimensions {
            let why = format!("the centre has {} coordinates, the points {}", centre.len(), problem.dimensions);
            return Err(CudaError::Clusters { why }.into());
        }
        let assign = problem.assign(device.multiprocessors(), device.capability());
        let centre = Values::F64(centre.to_vec()).cast(dtype);
        let centre = ArrayRef::from_bytes(centre.as_bytes(), dtype, &[problem.dimensions], Order::C, false)?;
        let squares = Array::new(&device, dtype, &[problem.n])?;
        let moves = Array::new(&device, DType::F64, &[clusters * problem.dimensions])?;
        let wide = Options { dtype: Some(DType::F64), ..Options::default() };
        Ok(Lloyd {
            assign: device.all_ready(&assign)?,
            distances: device.ready(&problem.distances())?,
            centre: Array::upload(stream, centre)?,
            by: Buffer::new(&device, problem.centroids())?,
            unsure: Buffer::new(&device, problem.unsure())?,
            inertia: Reduction::new(&device, Op::Sum, &squares.view(), &wide)?,
            squares,
            shift: Reduction::new(&device, Op::Sum, &moves.view(), &Options::default())?,
            moves,
            update,
        })
    }

    /// The kernels that an iteration launches, in order.
    pub fn kernels(&self) -> Vec<&str> {
        self.assign.iter().map(Ready::entry).chain(self.update.kernels()).collect()
    }

    /// Queues one iteration: the labels (i32) of the points by `centroids` (\[cluster\]\[coordinate\], in the dtype of
    /// the means), and the means of those labels. A cluster without points keeps its centroid.
    ///
    /// # Errors
    /// If an array or the stream is not like that which it was prepared for, or the driver refuses.
    pub fn iterate(
        &mut self,
        stream: &Stream,
        points: ArrayView<'_>,
        centroids: &Array,
        labels: &mut Array,
        means: &mut Array,
    ) -> Result<(), Error> {
        self.check(stream, &points, centroids, labels)?;
        self.update.room(stream, means)?;
        self.update.begin(stream)?;
        let at = UpdateAt {
            points: points.address(),
            labels: labels.address(),
            means: means.address(),
            before: centroids.address(),
            moves: self.moves.address(),
            ..UpdateAt::default()
        };
        // SAFETY: the arrays are like those that were planned for, as was just seen, and borrowed or kept until the
        // device is done with them.
        unsafe {
            self.queue_assign(stream, &points, centroids, labels)?;
            self.update.queue(stream, at)?;
        }
        self.update.clean = true;
        Ok(())
    }

    /// Queues finding the labels of the points, and no means.
    ///
    /// # Errors
    /// As [`Lloyd::iterate`].
    pub fn assign(
        &mut self,
        stream: &Stream,
        points: ArrayView<'_>,
        centroids: &Array,
        labels: &mut Array,
    ) -> Result<(), Error> {
        self.check(stream, &points, centroids, labels)?;
        // SAFETY: as in `iterate`.
        unsafe { self.queue_assign(stream, &points, centroids, labels) }?;
        Ok(())
    }

    /// The sum of the squares of the distances of the points to the centroids of their labels, which are all of a
    /// cluster.
    ///
    /// # Errors
    /// As [`Lloyd::iterate`]; [`KeyError::TooFar`] if it overflows.
    pub fn inertia(
        &mut self,
        stream: &Stream,
        points: ArrayView<'_>,
        centroids: &Array,
        labels: &Array,
    ) -> Result<f64, Error> {
        self.queue_squares(stream, &points, centroids, labels)?;
        let sum = self.inertia.run_to_host(stream, self.squares.view(), None)?.values.get(0).to_f64();
        if sum.is_finite() { Ok(sum) } else { Err(KeyError::TooFar.into()) }
    }

    /// The squares of the distances.
    #[doc(hidden)]
    pub fn squares<F: Coordinate>(
        &mut self,
        stream: &Stream,
        points: ArrayView<'_>,
        centroids: &Array,
        labels: &Array,
    ) -> Result<Vec<F>, Error> {
        self.queue_squares(stream, &points, centroids, labels)?;
        Ok(self.squares.download(stream)?.into_vec::<F>().unwrap_or_default())
    }

    /// Forgets what iterations have done so far.
    #[doc(hidden)]
    pub fn forget(&mut self, stream: &Stream) -> Result<(), CudaError> {
        self.update.report.fill(stream, 0)
    }

    /// Waits for what the iteration since [`Lloyd::forget`] has done.
    #[doc(hidden)]
    pub fn done(&mut self, stream: &Stream) -> Result<Done, Error> {
        let shift = self.shift.run_to_host(stream, self.moves.view(), None)?.values.get(0).to_f64();
        let report = self.update.report.read(stream)?;
        Ok(Done { shift, empty: report[EMPTY], changed: report[CHANGED] != 0 })
    }

    /// Waits for the labels. Returns the number of points whose labels rough scores did not settle, and the number of
    /// those that fine scores did not settle either; `None` if labels are found in one round.
    #[doc(hidden)]
    pub fn unsettled(&self, stream: &Stream) -> Result<Option<[u32; 2]>, CudaError> {
        let lists = self.unsure.read(stream)?;
        // Each list starts with its length, and has room for all points.
        Ok(lists.get(self.update.problem.n + 1).map(|&fine| [lists[0], fine]))
    }

    fn check(&self, stream: &Stream, points: &ArrayView<'_>, centroids: &Array, labels: &Array) -> Result<(), Error> {
        self.update.suits(stream, points)?;
        self.update.room(stream, centroids)?;
        labels.is_on(stream, "labels")?;
        expect("labels", &labels.view(), DType::I32, &[self.update.problem.n])?;
        Ok(())
    }

    fn queue_squares(
        &mut self,
        stream: &Stream,
        points: &ArrayView<'_>,
        centroids: &Array,
        labels: &Array,
    ) -> Result<(), Error> {
        self.check(stream, points, centroids, labels)?;
        let at = DistanceAt {
            points: points.address(),
            labels: labels.address(),
            centroids: centroids.address(),
            distances: self.squares.address(),
        };
        // SAFETY: as in `iterate`; a square for each point has room.
        Ok(unsafe { self.distances.queue(stream, at) }?)
    }

    /// # Safety
    /// The arrays are like those that were planned for, and live until the device is done with them.
    unsafe fn queue_assign(
        &self,
        stream: &Stream,
        points: &ArrayView<'_>,
        centroids: &Array,
        labels: &Array,
    ) -> Result<(), CudaError> {
        let at = AssignAt {
            points: points.address(),
            labels: labels.address(),
            scales: self.update.scales.address(),
            halves: self.by.address(),
            unsure: self.unsure.address(),
            centroids: centroids.address(),
            centre: self.centre.address(),
            report: self.update.report.address(),
        };
        for launch in &self.assign {
            // SAFETY: the caller's; the rest is this value's, as large as the plan says.
            unsafe { launch.queue(stream, at) }?;
        }
        Ok(())
    }
}
