//! The progress and the result of a [`super::KMeans`].

use warpfold_array::Array;

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
