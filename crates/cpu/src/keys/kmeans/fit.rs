//! What a [`super::KMeans`] tells of its work, and what it finds.

use warpfold_array::Array;

/// What a [`KMeans`](super::KMeans) tells of its work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stage {
    /// It chooses the first centroids of a run; each takes a read of the points.
    Seeding {
        /// Which run, from 0.
        run: usize,
        /// How many centroids are chosen.
        chosen: usize,
    },
    /// An iteration begins.
    Assigning {
        /// Which run, from 0.
        run: usize,
        /// Which iteration of it, from 1.
        iteration: usize,
    },
    /// Points have been assigned.
    Assigned(Step),
}

/// How far a [`KMeans`](super::KMeans) is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Which run, from 0.
    pub run: usize,
    /// Which iteration of it, from 1.
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
    /// The cluster of each point: of the nearest centroid, of several the first.
    pub labels: Vec<i32>,
    /// The sum of squares of the distances from each point to its centroid.
    pub inertia: f64,
    /// Iterations of the run that was chosen.
    pub iterations: usize,
    /// Whether it stopped by itself, and not after so many iterations.
    pub converged: bool,
    /// Which run was chosen, from 0.
    pub run: usize,
}
