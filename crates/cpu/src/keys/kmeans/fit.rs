//! The progress and the result of a [`super::KMeans`].

use warpfold_array::{Array, Error, KeyError, Values};
use warpfold_core::DType;

use super::assign::{Targets, assign, distances};
use super::points::{Coordinate, Points, coordinates, most, wide};

/// A stage of a [`KMeans`](super::KMeans), as reported to its caller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stage {
    /// The first centroids of a run are being chosen. Each takes a read of the points.
    Seeding {
        /// The number of the run, from 0.
        run: usize,
        /// The number of centroids that are chosen already.
        chosen: usize,
    },
    /// An iteration begins.
    Assigning {
        /// The number of the run, from 0.
        run: usize,
        /// The number of the iteration, from 1.
        iteration: usize,
    },
    /// Points have been assigned.
    Assigned(Step),
}

/// An iteration of a [`KMeans`](super::KMeans) whose points have been assigned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The number of the run, from 0.
    pub run: usize,
    /// The number of the iteration, from 1.
    pub iteration: usize,
    /// The inertia before this iteration moves the centroids.
    pub inertia: f64,
}

/// Clusters that were found.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// \[cluster\]\[coordinate\], f64 for f64 points and f32 for all others.
    pub centroids: Array,
    /// The mean of all points, \[coordinate\], in the dtype of the centroids: labels are computed about it.
    pub centre: Array,
    /// The cluster of each point: that of the nearest centroid; of a tie, the first.
    pub labels: Vec<i32>,
    /// The sum of squares of the distances from each point to its centroid.
    pub inertia: f64,
    /// Iterations of the run that was chosen.
    pub iterations: usize,
    /// Whether the run converged, rather than stopped at the limit of iterations.
    pub converged: bool,
    /// The number of the run that was chosen, from 0.
    pub run: usize,
}

impl Fit {
    /// The nearest centroid of each point; of a tie, the first.
    ///
    /// # Errors
    /// Points of another number of coordinates or computed in another dtype; [`KeyError::NotFinite`];
    /// [`KeyError::TooFar`].
    pub fn predict(&self, points: &Points<'_>) -> Result<Vec<i32>, Error> {
        fn labels<F: Coordinate>(points: &Points<'_>, centroids: &Array, centre: &Array) -> Result<Vec<u32>, Error> {
            let (centroids, centre) = (coordinates::<F>(centroids), coordinates::<F>(centre));
            points.scale()?.reaches(most::<F>(), &wide(&[&centroids[..], &centre].concat()))?;
            Ok(assign(points, &Targets::new(&centroids, &centre)).0)
        }
        self.fits(points)?;
        let labels = match points.computed() {
            DType::F64 => labels::<f64>(points, &self.centroids, &self.centre),
            _ => labels::<f32>(points, &self.centroids, &self.centre),
        }?;
        Ok(labels.into_iter().map(|label| label as i32).collect())
    }

    /// The distance from each point to each centroid, as \[point\]\[cluster\] in the dtype of the centroids.
    ///
    /// # Errors
    /// As [`Fit::predict`].
    pub fn transform(&self, points: &Points<'_>) -> Result<Array, Error> {
        fn all<F: Coordinate>(points: &Points<'_>, centroids: &Array) -> Result<Values, Error> {
            points.scale()?;
            let centroids = coordinates::<F>(centroids);
            let mut to = vec![F::ZERO; points.n * (centroids.len() / points.dimensions)];
            distances(points, &centroids, &mut to, |_, square| square.sqrt());
            Ok(F::wrap(to))
        }
        self.fits(points)?;
        let values = match points.computed() {
            DType::F64 => all::<f64>(points, &self.centroids),
            _ => all::<f32>(points, &self.centroids),
        }?;
        Ok(Array { shape: vec![points.n, self.centroids.shape[0]], values })
    }

    /// Checks that points have the coordinates of the centroids, and are computed in their dtype.
    #[doc(hidden)]
    pub fn fits(&self, points: &Points<'_>) -> Result<(), KeyError> {
        let (d, dtype) = (self.centroids.shape[1], self.centroids.dtype());
        if points.dimensions != d || points.computed() != dtype {
            let (has, as_) = (points.dimensions, points.computed());
            let why = format!("the centroids have {d} coordinates of {dtype}, the points {has} of {as_}");
            return Err(KeyError::Clusters { why });
        }
        Ok(())
    }
}
