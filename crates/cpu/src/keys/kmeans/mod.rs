//! k-means: points in clusters, each about its mean.
//!
//! Centroids, labels and inertia are functions of the points alone, bit for bit: not of threads, layout, or how the
//! points are split. `docs/numerics.md` defines them.

mod assign;
mod fit;
mod points;
mod seed;
mod update;
mod weights;

use warpfold_core::ops::Sum;
use warpfold_core::{DType, tree};

use self::assign::Targets;
pub use self::points::Coordinate;
use self::seed::Draws;
use self::update::Sums;
use self::weights::Weights;
use crate::reduction::{on_threads, reduce};
use warpfold_array::Array;
use warpfold_array::ArrayRef;
use warpfold_array::KeyError;
use warpfold_array::Options;
use warpfold_array::{Error, Op};

pub use fit::{Fit, Stage, Step};
use points::coordinates;
pub use points::{Axes, Points, Scale, most, wide};
pub use update::{Centroids, centroid_update, centroid_update_with};

/// The first centroids.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Init {
    /// Random points (k-means++). The probability of a point is proportional to the square of its distance to the
    /// nearest point chosen before.
    #[default]
    PlusPlus,
    /// Different random points.
    Random,
    /// The given centroids, as \[cluster\]\[coordinate\].
    Given(Array),
}

/// The centroid of a cluster that has lost all its points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EmptyCluster {
    /// The centroid moves to the point that is farthest from its own centroid; of a tie, the first. The centroid of a
    /// second such cluster moves to the next farthest point, and so on.
    #[default]
    Farthest,
    /// The centroid stays.
    Keep,
}

/// Lloyd's k-means: assign each point to the nearest centroid, move each centroid to the mean of its points, repeat.
///
/// ```
/// use warpfold::keys::Axes;
/// use warpfold::{ArrayRef, KMeans, Points};
///
/// let x = [0.0f32, 0.1, 9.0, 9.2, 0.2, 9.1];
/// let points = Points::new(ArrayRef::from_slice(&x, &[6])?, Axes::PointsFirst)?;
/// let fit = KMeans::new(2).fit(&points)?;
/// assert_eq!(fit.labels[0], fit.labels[4]);
/// assert_ne!(fit.labels[0], fit.labels[2]);
/// assert!((fit.inertia - 0.04).abs() < 1e-6);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct KMeans {
    /// The number of clusters.
    pub clusters: usize,
    /// The first centroids.
    pub init: Init,
    /// The most iterations. Default 300.
    pub iterations: usize,
    /// A run converges when the sum of squares of all centroids' moves is at most this times the mean variance of the
    /// coordinates, or when no label changes. Default 1e-4.
    pub tolerance: f64,
    /// The seed of the random numbers. Default 0.
    pub seed: u64,
    /// The number of runs with different first centroids. The result is the run of least inertia; of a tie, the first.
    /// Default 1. Given centroids have one run.
    pub runs: usize,
    /// The centroids of empty clusters.
    pub empty: EmptyCluster,
    /// The number of threads; `None`: as many as rayon's current pool has.
    pub threads: Option<usize>,
}

impl KMeans {
    /// `clusters` clusters, and defaults.
    pub fn new(clusters: usize) -> Self {
        Self {
            clusters,
            init: Init::default(),
            iterations: 300,
            tolerance: 1e-4,
            seed: 0,
            runs: 1,
            empty: EmptyCluster::default(),
            threads: None,
        }
    }

    /// Finds clusters.
    ///
    /// # Errors
    /// [`KeyError::Clusters`]: fewer points than clusters, no clusters, iterations or runs, a bad tolerance, given
    /// centroids that do not fit; [`KeyError::NotFinite`] of the first point with a NaN or an infinity;
    /// [`KeyError::TooFar`] if the square of a distance might overflow: above 1/8 of the greatest number, for the
    /// greatest magnitudes of all coordinates.
    pub fn fit(&self, points: &Points<'_>) -> Result<Fit, Error> {
        self.fit_with(points, &mut |_| ())
    }

    /// [`KMeans::fit`] that calls `progress` after each iteration's assignment.
    ///
    /// # Errors
    /// As [`KMeans::fit`].
    pub fn fit_with(&self, points: &Points<'_>, progress: &mut (dyn FnMut(Step) + Send)) -> Result<Fit, Error> {
        self.fit_told(points, &mut |stage| {
            if let Stage::Assigned(step) = stage {
                progress(step);
            }
        })
    }

    /// [`KMeans::fit`] that calls `tell` with every stage.
    ///
    /// # Errors
    /// As [`KMeans::fit`].
    pub fn fit_told(&self, points: &Points<'_>, tell: &mut (dyn FnMut(Stage) + Send)) -> Result<Fit, Error> {
        self.check(points)?;
        self.fit_by(points, None, tell)
    }

    /// [`KMeans::fit_told`] of points that have weights: a centroid is the weighted mean of its points, the inertia is
    /// the weighted sum of squares, and first centroids are drawn with the weights. A point of weight 2 counts as two
    /// points; one of weight 0 has a label, and no influence but on the coordinates' units.
    ///
    /// ```
    /// use warpfold::keys::Axes;
    /// use warpfold::{ArrayRef, KMeans, Points};
    ///
    /// let x = [0.0f32, 4.0];
    /// let points = Points::new(ArrayRef::from_slice(&x, &[2])?, Axes::PointsFirst)?;
    /// let fit = KMeans::new(1).fit_weighted(&points, &[3.0, 1.0], &mut |_| ())?;
    /// assert_eq!((fit.centroids.into_vec::<f32>().unwrap(), fit.inertia), (vec![1.0], 12.0));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`KMeans::fit`]; [`KeyError::Clusters`] for another number of weights than points, a weight that is negative
    /// or not finite, and weights that are all zero.
    pub fn fit_weighted(
        &self,
        points: &Points<'_>,
        weights: &[f64],
        tell: &mut (dyn FnMut(Stage) + Send),
    ) -> Result<Fit, Error> {
        self.check(points)?;
        self.fit_by(points, Some(&Weights::new(weights, points.n)?), tell)
    }

    fn fit_by(
        &self,
        points: &Points<'_>,
        weights: Option<&Weights<'_>>,
        tell: &mut (dyn FnMut(Stage) + Send),
    ) -> Result<Fit, Error> {
        on_threads(self.threads, |_| match points.computed() {
            DType::F64 => self.best_run::<f64>(points, weights, tell),
            _ => self.best_run::<f32>(points, weights, tell),
        })?
    }

    /// Checks that the settings suit these points.
    ///
    /// # Errors
    /// As [`KMeans::fit`], except for errors that depend on coordinates.
    pub fn check(&self, points: &Points<'_>) -> Result<(), KeyError> {
        let bad = |why: String| Err(KeyError::Clusters { why });
        if self.clusters == 0 || self.clusters > i32::MAX as usize {
            return bad(format!("give a number of clusters from 1 to {}, not {}", i32::MAX, self.clusters));
        }
        if points.n < self.clusters {
            return bad(format!("{} points cannot be {} clusters: give fewer", points.n, self.clusters));
        }
        if self.iterations == 0 || self.runs == 0 {
            return bad("give at least one iteration and one run".into());
        }
        if self.tolerance.is_nan() || self.tolerance < 0.0 {
            return bad(format!("the tolerance must be 0 or more, not {}", self.tolerance));
        }
        match &self.init {
            Init::Given(given) if given.shape != [self.clusters, points.dimensions] => bad(format!(
                "the first centroids have shape {:?}, it must be [{}, {}]",
                given.shape, self.clusters, points.dimensions
            )),
            Init::Given(given) if (0..given.values.len()).any(|i| !given.values.get(i).to_f64().is_finite()) => {
                bad("the first centroids must be finite".into())
            }
            _ => Ok(()),
        }
    }

    /// The given centroids; none if they are to be chosen.
    pub fn given<F: Coordinate>(&self) -> Vec<F> {
        match &self.init {
            Init::Given(given) => coordinates(given),
            _ => Vec::new(),
        }
    }

    /// The number of runs: one if the first centroids are given.
    pub fn starts(&self) -> usize {
        if matches!(self.init, Init::Given(_)) { 1 } else { self.runs }
    }

    fn best_run<F: Coordinate>(
        &self,
        points: &Points<'_>,
        weights: Option<&Weights<'_>>,
        tell: &mut (dyn FnMut(Stage) + Send),
    ) -> Result<Fit, Error> {
        let scale = points.scale()?;
        scale.reaches(most::<F>(), &wide(&self.given::<F>()))?;
        let all = Sums::<F>::of(points, &vec![0; points.n], 1, &scale);
        let centre = all.mean(0, &scale).expect("at least one point");
        let enough = self.tolerance * mean_variance::<F>(points)?;
        let mut best: Option<Fit> = None;
        for run in 0..self.starts() {
            let first = first::<F>(self, points, run, weights.map(Weights::units), tell)?;
            let lloyd = Lloyd { settings: self, points, weights, scale: &scale, centre: &centre, enough, run };
            let fit = lloyd.run(first, tell)?;
            if best.as_ref().is_none_or(|best| fit.inertia < best.inertia) {
                best = Some(fit);
            }
        }
        Ok(best.expect("at least one run"))
    }
}

/// The first centroids of a run, of points with these weights, if there are any.
pub fn first<F: Coordinate>(
    settings: &KMeans,
    points: &Points<'_>,
    run: usize,
    weights: Option<&[u32]>,
    tell: &mut dyn FnMut(Stage),
) -> Result<Vec<F>, KeyError> {
    let draws = &mut Draws::new(settings.seed, run as u64);
    match (&settings.init, weights) {
        (Init::PlusPlus, _) => {
            let tell = &mut |chosen| tell(Stage::Seeding { run, chosen });
            seed::plus_plus(points, settings.clusters, draws, weights, tell)
        }
        (Init::Random, None) => Ok(seed::random(points, settings.clusters, draws)),
        (Init::Random, Some(weights)) => Ok(seed::weighted(points, settings.clusters, draws, weights)),
        (Init::Given(given), _) => Ok(coordinates::<F>(given)),
    }
}

/// The index of the greatest square; of a tie, the first. The square becomes -1, so that the next call finds another
/// one.
pub fn farthest<F: Coordinate>(squares: &mut [F]) -> usize {
    let far = (0..squares.len()).fold(0, |far, at| if squares[at] > squares[far] { at } else { far });
    squares[far] = F::from_f64(-1.0);
    far
}

/// A run of Lloyd's algorithm.
struct Lloyd<'a, F> {
    settings: &'a KMeans,
    points: &'a Points<'a>,
    weights: Option<&'a Weights<'a>>,
    scale: &'a Scale,
    centre: &'a [F],
    /// The greatest sum of squares of the centroids' moves with which the run has converged.
    enough: f64,
    run: usize,
}

impl<F: Coordinate> Lloyd<'_, F> {
    fn run(&self, first: Vec<F>, tell: &mut (dyn FnMut(Stage) + Send)) -> Result<Fit, Error> {
        let (mut centroids, mut labels, mut inertia) = (first, Vec::new(), 0.0);
        let (mut iterations, mut converged, mut settled) = (0, false, false);
        while iterations < self.settings.iterations && !converged {
            iterations += 1;
            tell(Stage::Assigning { run: self.run, iteration: iterations });
            let (now, distances) = assign::assign(self.points, &Targets::new(&centroids, self.centre));
            inertia = self.inertia(&distances)?;
            tell(Stage::Assigned(Step { run: self.run, iteration: iterations, inertia }));
            settled = now == labels;
            labels = now;
            if settled {
                converged = true;
                break;
            }
            let moved = self.update(&labels, &centroids, distances);
            let squares = moved.iter().zip(&centroids).map(|(a, b)| (a.to_f64() - b.to_f64()).powi(2));
            let shift = tree::reduce(&Sum::<f64>::total(), squares).expect("a coordinate");
            centroids = moved;
            converged = shift <= self.enough;
        }
        if !settled {
            let (now, distances) = assign::assign(self.points, &Targets::new(&centroids, self.centre));
            inertia = self.inertia(&distances)?;
            labels = now;
        }
        Ok(Fit {
            centroids: Array {
                shape: vec![self.settings.clusters, self.points.dimensions],
                values: F::wrap(centroids),
            },
            centre: Array { shape: vec![self.points.dimensions], values: F::wrap(self.centre.to_vec()) },
            labels: labels.into_iter().map(|label| label as i32).collect(),
            inertia,
            iterations,
            converged,
            run: self.run,
        })
    }

    fn inertia(&self, distances: &[F]) -> Result<f64, Error> {
        match self.weights {
            None => sum(distances),
            Some(weights) => sum(&weights.times(distances)),
        }
    }

    /// The new centroids: means of clusters; for clusters without points, as the settings say.
    fn update(&self, labels: &[u32], before: &[F], mut distances: Vec<F>) -> Vec<F> {
        let d = self.points.dimensions;
        let mut means = match self.weights {
            None => Sums::<F>::of(self.points, labels, self.settings.clusters, self.scale).means(self.scale),
            Some(weights) => {
                weights.leave_out(&mut distances);
                weights.means(self.points, labels, self.settings.clusters, self.scale)
            }
        };
        let mut centroids = Vec::with_capacity(before.len());
        for (cluster, before) in before.chunks_exact(d).enumerate() {
            match (means[cluster].take(), self.settings.empty) {
                (Some(mean), _) => centroids.extend(mean),
                (None, EmptyCluster::Keep) => centroids.extend(before),
                (None, EmptyCluster::Farthest) => {
                    centroids.extend(self.points.one::<F>(farthest(&mut distances)));
                }
            }
        }
        centroids
    }
}

/// The tree over squared distances by position, in f64.
fn sum<F: Coordinate>(distances: &[F]) -> Result<f64, Error> {
    let options = Options { dtype: Some(DType::F64), ..Options::default() };
    let sum = reduce(Op::Sum, ArrayRef::flat(distances), &options)?.values.get(0).to_f64();
    if sum.is_finite() { Ok(sum) } else { Err(KeyError::TooFar.into()) }
}

/// The mean over the coordinates of their variances, added in order in f64.
fn mean_variance<F: Coordinate>(points: &Points<'_>) -> Result<f64, Error> {
    let mut sum = 0.0;
    for coordinate in 0..points.dimensions {
        let options = Options { dtype: Some(F::DTYPE), ..Options::default() };
        sum += reduce(Op::Var, points.coordinate(coordinate), &options)?.values.get(0).to_f64();
    }
    Ok(sum / points.dimensions as f64)
}
