//! Keyed cases on the CPU. A call takes arrays of elements and of offsets or labels, and returns arrays. The scale of
//! points is found before the call, as it is for many iterations.

use crate::case::{Case, SEED};
use crate::exact::kmeans::centroids;
use crate::keyed::{fill, numbers, step};
use crate::keys::{Keys, labels};
use crate::work::Work;
use warpfold::keys::{Axes, Fit, Scale, centroid_update_with};
use warpfold::{Array, ArrayRef, Distinct, Options, Points, Segments, Values, group_by, unique};

/// The offsets or labels of a case, and everything else that its calls need.
pub enum Keyed {
    Segments { offsets: Vec<i64> },
    Groups { labels: Vec<i32> },
    Unique,
    Update { labels: Vec<i32>, scale: Scale },
    Iterate { fit: Box<Fit>, scale: Scale },
}

/// The result of a call.
pub enum Found {
    One(Array),
    /// The result of an iteration of k-means.
    Step {
        labels: Vec<i32>,
        means: Array,
    },
}

impl Keyed {
    /// Prepares a keyed case on its elements.
    pub fn new(case: &Case, array: ArrayRef<'_>) -> Result<Keyed, warpfold::Error> {
        let n = case.shape[0];
        Ok(match (case.work, case.keys) {
            (Work::Unique, _) | (_, None) => Keyed::Unique,
            (_, Some(Keys::Segments(lengths))) => Keyed::Segments { offsets: lengths.offsets(n, SEED) },
            (_, Some(Keys::Groups(groups))) => Keyed::Groups { labels: labels(n, groups, SEED) },
            (Work::Iterate, Some(Keys::Clusters(clusters, _))) => {
                let scale = Points::new(array, Axes::PointsFirst)?.scale()?;
                let d = case.dimensions();
                let centroids = Array { shape: vec![clusters, d], values: numbers(case, &centroids(case)) };
                let centre = Array { shape: vec![d], values: numbers(case, &vec![0.0; d]) };
                let fit = Fit {
                    centroids,
                    centre,
                    labels: Vec::new(),
                    inertia: 0.0,
                    iterations: 0,
                    converged: false,
                    run: 0,
                };
                Keyed::Iterate { fit: Box::new(fit), scale }
            }
            (_, Some(Keys::Clusters(clusters, _))) => {
                let scale = Points::new(array, Axes::PointsFirst)?.scale()?;
                Keyed::Update { labels: labels(n, clusters, SEED), scale }
            }
        })
    }

    /// Runs one call.
    pub fn call(&self, case: &Case, array: ArrayRef<'_>) -> Result<Found, warpfold::Error> {
        let threads = Options { threads: case.threads, ..Options::default() };
        let (op, known) = (if let Work::Op(op) = case.work { op } else { warpfold::Op::Sum }, case.labels());
        let points = || Points::new(array, Axes::PointsFirst);
        let clusters = known.unwrap_or(1);
        Ok(match self {
            Keyed::Segments { offsets } => {
                let segments = Segments::new(ArrayRef::from_slice(offsets, &[offsets.len()])?)?;
                Found::One(segments.fill(fill()).reduce(op, array, &threads)?)
            }
            Keyed::Groups { labels } => {
                let labels = ArrayRef::from_slice(labels, &[labels.len()])?;
                Found::One(group_by(op, labels, array, known, &threads)?)
            }
            Keyed::Unique => Found::One(unique(array, Distinct::default())?.values),
            Keyed::Update { labels, scale } => {
                let labels = ArrayRef::from_slice(labels, &[labels.len()])?;
                Found::One(centroid_update_with(&points()?, labels, clusters, scale)?.means)
            }
            Keyed::Iterate { fit, scale } => {
                let (points, n) = (points()?, case.shape[0]);
                let labels = fit.predict(&points)?;
                let found = centroid_update_with(&points, ArrayRef::from_slice(&labels, &[n])?, clusters, scale)?;
                let means = or_as_before(found.means, &found.counts, &fit.centroids);
                Found::Step { labels, means }
            }
        })
    }
}

impl Found {
    /// All values in one list; for an iteration the labels followed by the means, as f32.
    pub fn values(&self) -> Values {
        match self {
            Found::One(array) => array.values.clone(),
            Found::Step { labels, means } => step(labels, &means.values),
        }
    }
}

/// A cluster without points keeps its centroid, as on a GPU.
fn or_as_before(means: Array, counts: &[i64], before: &Array) -> Array {
    let d = means.values.len() / counts.len().max(1);
    let is_empty = |i: usize| counts[i / d] == 0;
    let values = match (means.values, &before.values) {
        (Values::F32(means), Values::F32(before)) => Values::F32(
            means.iter().zip(before).enumerate().map(|(i, (&x, &b))| if is_empty(i) { b } else { x }).collect(),
        ),
        (Values::F64(means), Values::F64(before)) => Values::F64(
            means.iter().zip(before).enumerate().map(|(i, (&x, &b))| if is_empty(i) { b } else { x }).collect(),
        ),
        (means, _) => means,
    };
    Array { values, ..means }
}
