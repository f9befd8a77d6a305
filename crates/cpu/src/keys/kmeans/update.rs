//! The update step: the mean of each cluster's points, in fixed point.

use warpfold_core::{Accumulate, DType};

use super::super::labels::Labels;
use super::points::{Coordinate, Points, Scale, TILE};
use crate::parallel;
use warpfold_array::Array;
use warpfold_array::ArrayRef;
use warpfold_array::Error;
use warpfold_array::KeyError;

/// The fewest points of a task.
const PART: usize = 1 << 14;

/// The means of clusters, and their sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Centroids {
    /// \[cluster\]\[coordinate\], f64 for f64 points and f32 for all others. The mean of a cluster without points is
    /// NaN.
    pub means: Array,
    /// The number of points of each cluster.
    pub counts: Vec<i64>,
}

/// The mean of the points of each label below `clusters`. Points of label -1 belong to no cluster.
///
/// The sums are exact: each coordinate is rounded to a whole number of units of 2^-30 (f64: 2^-61) of the greatest
/// magnitude that this coordinate has in any point. Units are added as integers, so the order of addition does not
/// matter. The quotient of a sum and the count is rounded once.
///
/// ```
/// use warpfold::keys::Axes;
/// use warpfold::{ArrayRef, Points, centroid_update};
///
/// let x = [0.0f32, 1.0, 2.0, 5.0, 10.0, 10.0];
/// let points = Points::new(ArrayRef::from_slice(&x, &[3, 2])?, Axes::PointsFirst)?;
/// let labels = ArrayRef::from_slice(&[0i32, 0, 1], &[3])?;
/// let found = centroid_update(&points, labels, 2)?;
/// assert_eq!(found.means.into_vec::<f32>().unwrap(), [1.0, 3.0, 10.0, 10.0]);
/// assert_eq!(found.counts, [2, 1]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// Bad labels, as [`crate::Groups::new`], or another number of them than points; [`KeyError::NotFinite`] of the first
/// point with a NaN or an infinity.
pub fn centroid_update(points: &Points<'_>, labels: ArrayRef<'_>, clusters: usize) -> Result<Centroids, Error> {
    centroid_update_with(points, labels, clusters, &points.scale()?)
}

/// [`centroid_update`] by a scale that is known already ([`Points::scale`]), so that points are read once instead of
/// twice.
///
/// ```
/// use warpfold::keys::{Axes, centroid_update_with};
/// use warpfold::{ArrayRef, Points};
///
/// let x = [1.0f32, 3.0, 10.0];
/// let points = Points::new(ArrayRef::from_slice(&x, &[3])?, Axes::PointsFirst)?;
/// let scale = points.scale()?;
/// let labels = ArrayRef::from_slice(&[0i32, 0, 1], &[3])?;
/// let found = centroid_update_with(&points, labels, 2, &scale)?;
/// assert_eq!(found.means.into_vec::<f32>().unwrap(), [2.0, 10.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// The means are those of [`centroid_update`] if the scale is that of these points. The scale may be that of more
/// points, which include these. If a point has a greater magnitude than the scale's, the results are wrong.
///
/// # Errors
/// As [`centroid_update`]; and [`KeyError::Points`] if the scale is for another number of coordinates, or dtype. Points
/// that are not finite were an error when the scale was made.
pub fn centroid_update_with(
    points: &Points<'_>,
    labels: ArrayRef<'_>,
    clusters: usize,
    scale: &Scale,
) -> Result<Centroids, Error> {
    let labels = Labels::new(labels, Some(clusters))?.to_vec();
    if labels.len() != points.n {
        let shape = vec![points.n, points.dimensions];
        return Err(KeyError::LabelsLength { labels: labels.len(), shape }.into());
    }
    scale.suits(points)?;
    Ok(match points.computed() {
        DType::F64 => means::<f64>(points, &labels, clusters, scale),
        _ => means::<f32>(points, &labels, clusters, scale),
    })
}

fn means<F: Coordinate>(points: &Points<'_>, labels: &[u32], clusters: usize, scale: &Scale) -> Centroids {
    let sums = Sums::of(points, labels, clusters, scale);
    let means = (0..clusters).flat_map(|cluster| sums.mean(cluster, scale).unwrap_or_else(|| sums.nothing())).collect();
    let means = Array { shape: vec![clusters, points.dimensions], values: F::wrap(means) };
    Centroids { means, counts: sums.counts.iter().map(|&n| n as i64).collect() }
}

/// The sums of clusters, in units.
pub(super) struct Sums<F: Coordinate> {
    dimensions: usize,
    /// \[cluster\]\[coordinate\]
    totals: Vec<F::Total>,
    /// Points of each cluster.
    pub counts: Vec<u64>,
}

impl<F: Coordinate> Sums<F> {
    /// The sums of points by label. Labels that are not below `clusters` are left out.
    pub fn of(points: &Points<'_>, labels: &[u32], clusters: usize, scale: &Scale) -> Self {
        let scales: Vec<F> = scale.units.iter().map(|&unit| F::scale(unit)).collect();
        let tiles = points.n.div_ceil(TILE);
        let parts = (points.n / PART.max(4 * clusters)).clamp(1, parallel::threads());
        let part = |part: usize| {
            let mut sums = Self::new(clusters, points.dimensions);
            let mut room = Vec::new();
            for tile in tiles * part / parts..tiles * (part + 1) / parts {
                parallel::look();
                let (from, len) = (tile * TILE, TILE.min(points.n - tile * TILE));
                sums.add(points.read(from, len, TILE, &mut room), &labels[from..from + len], &scales);
            }
            sums
        };
        parallel::map(parts, part).into_iter().reduce(Self::join).expect("a part")
    }

    fn new(clusters: usize, dimensions: usize) -> Self {
        Self { dimensions, totals: vec![Accumulate::ZERO; clusters * dimensions], counts: vec![0; clusters] }
    }

    /// Adds points, which are given as \[coordinate\]\[`TILE`\].
    fn add(&mut self, x: &[F], labels: &[u32], scales: &[F]) {
        let clusters = self.counts.len();
        for (point, &label) in labels.iter().enumerate().filter(|(_, label)| (**label as usize) < clusters) {
            let cluster = label as usize;
            self.counts[cluster] += 1;
            let totals = &mut self.totals[cluster * self.dimensions..(cluster + 1) * self.dimensions];
            for ((total, x), &scale) in totals.iter_mut().zip(x.chunks_exact(TILE)).zip(scales) {
                *total = F::plus(*total, x[point].quantize(scale));
            }
        }
    }

    fn join(mut self, other: Self) -> Self {
        self.totals.iter_mut().zip(other.totals).for_each(|(a, b)| *a = a.add(b));
        self.counts.iter_mut().zip(other.counts).for_each(|(a, b)| *a += b);
        self
    }

    /// The mean of each cluster; `None` for those without points.
    pub fn means(&self, scale: &Scale) -> Vec<Option<Vec<F>>> {
        (0..self.counts.len()).map(|cluster| self.mean(cluster, scale)).collect()
    }

    /// The mean of a cluster; `None` if it has no points.
    pub fn mean(&self, cluster: usize, scale: &Scale) -> Option<Vec<F>> {
        let count = self.counts[cluster];
        let totals = &self.totals[cluster * self.dimensions..(cluster + 1) * self.dimensions];
        (count > 0)
            .then(|| totals.iter().zip(&scale.units).map(|(&total, &unit)| F::mean(total, count, unit)).collect())
    }

    fn nothing(&self) -> Vec<F> {
        vec![F::from_f64(f64::NAN); self.dimensions]
    }
}
