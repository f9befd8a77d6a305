//! k-means of points on a GPU, as `keys.rs` has what is by key. First centroids are drawn on the host, and distances to
//! all centroids are computed there: the points are copied to it once.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use warpfold::cuda::kmeans::{self, CentroidUpdate};
use warpfold::cuda::{self, Array, ArrayView, Groups, Stream};
use warpfold::keys::{Axes, Fit};
use warpfold::{DType, Error, KMeans, KeyError, Op};

use super::keys::Together;
use crate::pool::{self, How};

/// Points lie along the first axis.
const AXES: Axes = Axes::PointsFirst;

impl<'py> Together<'py, 1> {
    /// Finds clusters. `watch` is told of every stage; of the inertia of each iteration only if `inertias` is true.
    pub fn fit(
        &self,
        kmeans: &KMeans,
        inertias: bool,
        mut watch: impl FnMut(How<'_>, warpfold::keys::Stage) + Send,
    ) -> PyResult<Fit> {
        let (stream, [points]) = (self.stream()?, self.views()?);
        pool::run(self.py(), usize::MAX, |how| {
            let found = kmeans::fit_watched(&stream, kmeans, points, AXES, inertias, &mut |stage: _| watch(how, stage));
            if found.is_err() {
                // The error that is known is the one to report.
                let _ = stream.synchronize();
            }
            found
        })
    }

    /// The label of each point by the clusters that were found.
    pub fn predict(&self, fit: &Fit) -> PyResult<Bound<'py, PyAny>> {
        let [points] = self.views()?;
        self.result(|stream| kmeans::predict(stream, fit, points, AXES))
    }

    /// The distance from each point to each centroid.
    pub fn transform(&self, fit: &Fit) -> PyResult<Bound<'py, PyAny>> {
        let [points] = self.views()?;
        self.result(|stream| kmeans::transform(stream, fit, points, AXES))
    }

    /// A copy of the array in the host's memory.
    pub fn on_host(&self) -> PyResult<warpfold::Array> {
        let [array] = self.views()?;
        // A sum over no axis is a copy.
        let copy = cuda::Options { axes: Some(vec![]), ..cuda::Options::default() };
        self.done(|stream| cuda::reduce(Op::Sum, array, &copy, stream)?.download(stream))
    }
}

impl<'py> Together<'py, 2> {
    /// The means and the sizes of clusters of points, whose labels the second array has.
    pub fn centroid_update(&self, clusters: usize) -> PyResult<Bound<'py, PyAny>> {
        let [points, labels] = self.views()?;
        let found = self.done(|stream| {
            let axes = AXES;
            let labels = labels_of(labels, points.shape(), clusters, stream)?;
            let scale = kmeans::scale(stream, points, axes)?;
            let mut update = CentroidUpdate::new(stream, &points, axes, clusters, &scale)?;
            let (mut means, mut counts) = (update.means()?, update.counts()?);
            update.run(stream, points, labels.view(), &mut means, &mut counts)?;
            update.check(stream)?;
            Ok([means, counts])
        })?;
        let both = found.map(|array| self.arrays[0].lend(array));
        Ok(PyTuple::new(self.py(), both.into_iter().collect::<PyResult<Vec<_>>>()?)?.into_any())
    }
}

/// Labels as i32, if there is one for each point, and all of them are -1 or below the number of clusters.
fn labels_of(labels: ArrayView<'_>, points: &[usize], clusters: usize, stream: &Stream) -> Result<Array, Error> {
    let &[n] = labels.shape() else {
        return Err(KeyError::LabelsShape { shape: labels.shape().to_vec() }.into());
    };
    if labels.dtype().is_float() {
        return Err(KeyError::NotIntegers { what: "labels", dtype: labels.dtype() }.into());
    }
    if points.first().is_some_and(|&points| points != n) {
        return Err(KeyError::LabelsLength { labels: n, shape: points.to_vec() }.into());
    }
    if n > 0 {
        let both = cuda::reduce(Op::MinMax, labels, &cuda::Options::default(), stream)?.download(stream)?.values;
        if both.get(0).to_f64() < -1.0 || both.get(1).to_f64() >= clusters as f64 {
            // The sort finds the first label that is out of range.
            Groups::new(labels, Some(clusters), stream)?.check(stream)?;
        }
    }
    // A sum over no axis is a copy, in the dtype that is asked for.
    let copy = cuda::Options { axes: Some(vec![]), dtype: Some(DType::I32), ..cuda::Options::default() };
    cuda::reduce(Op::Sum, labels, &copy, stream)
}
