//! Lloyd's k-means of points in a GPU's memory, as `KMeans::fit` has it on the CPU.

use super::{Axes, CentroidUpdate, Lloyd, axis, means, problem, scale, seen, to_host};
use crate::array::Array;
use crate::device::Device;
use crate::options::Options;
use crate::stream::Stream;
use crate::view::ArrayView;
use warpfold_array::{ArrayRef, Error};
use warpfold_core::ops::Sum;
use warpfold_core::{DType, tree};
use warpfold_cpu::keys::kmeans::{self, Coordinate};
use warpfold_cpu::keys::{EmptyCluster, Fit, Init, KMeans, Points, Stage, Step};

/// Finds clusters among points in a GPU's memory: centroids, labels and inertia are those of [`KMeans::fit`].
///
/// An iteration copies a few numbers to the host, which say whether it is the last. Random first centroids are drawn on
/// the host, to which the points are copied once; given centroids need no copy. With `progress` each iteration reads
/// the points once more, for the inertia.
///
/// # Errors
/// As [`KMeans::fit`]; what the driver says.
pub fn fit(
    stream: &Stream,
    settings: &KMeans,
    points: ArrayView<'_>,
    axes: Axes,
    progress: Option<&mut dyn FnMut(Step)>,
) -> Result<Fit, Error> {
    let inertias = progress.is_some();
    fit_watched(stream, settings, points, axes, inertias, &mut steps(progress))
}

/// As [`fit`], but `tell` is called with every stage, and with the inertia of each iteration if `inertias` is true.
///
/// # Errors
/// As [`fit`].
pub fn fit_watched(
    stream: &Stream,
    settings: &KMeans,
    points: ArrayView<'_>,
    axes: Axes,
    inertias: bool,
    tell: &mut dyn FnMut(Stage),
) -> Result<Fit, Error> {
    let host = match settings.init {
        Init::Given(_) => None,
        _ => Some(to_host(stream, points)?),
    };
    let host = host.as_ref().map(|host| Points::new(seen(host)?, axes)).transpose()?;
    let job = Job { stream, settings, points, axes, host: host.as_ref(), inertias };
    job.fit(tell)
}

/// Finds clusters, as [`fit`], among points in the host's memory, of any layout, which are copied to the GPU once.
///
/// # Errors
/// As [`fit`].
pub fn fit_host(
    device: &Device,
    settings: &KMeans,
    points: &Points<'_>,
    progress: Option<&mut (dyn FnMut(Step) + Send)>,
) -> Result<Fit, Error> {
    fit_told(device, settings, points, progress.is_some(), &mut steps(progress))
}

/// As [`fit_host`], but `tell` is called with every stage, and with the inertia of each iteration if `inertias` is
/// true.
pub fn fit_told(
    device: &Device,
    settings: &KMeans,
    points: &Points<'_>,
    inertias: bool,
    tell: &mut (dyn FnMut(Stage) + Send),
) -> Result<Fit, Error> {
    let stream = Stream::new(device)?;
    let copy = Array::upload(&stream, points.array())?;
    let (stream, axes) = (&stream, points.axes());
    Job { stream, settings, points: copy.view(), axes, host: Some(points), inertias }.fit(tell)
}

/// Tells `progress` of the steps among the stages.
fn steps<P: FnMut(Step) + ?Sized>(mut progress: Option<&mut P>) -> impl FnMut(Stage) {
    move |stage| {
        if let (Stage::Assigned(step), Some(progress)) = (stage, &mut progress) {
            progress(step);
        }
    }
}

/// Points on a device, and how to fit them.
#[derive(Clone, Copy)]
struct Job<'a> {
    stream: &'a Stream,
    settings: &'a KMeans,
    points: ArrayView<'a>,
    axes: Axes,
    /// The points in the host's memory, if first centroids are drawn among them.
    host: Option<&'a Points<'a>>,
    /// Whether each iteration computes the inertia.
    inertias: bool,
}

impl Job<'_> {
    fn fit(self, tell: &mut dyn FnMut(Stage)) -> Result<Fit, Error> {
        match self.points.dtype() {
            DType::F64 => self.best_run::<f64>(tell),
            _ => self.best_run::<f32>(tell),
        }
    }

    fn best_run<F: Coordinate>(self, tell: &mut dyn FnMut(Stage)) -> Result<Fit, Error> {
        let Job { stream, settings, points, axes, host, inertias } = self;
        settings.check(&Points::new(*points.layout(), axes)?)?;
        let clusters = settings.clusters;
        let shape = problem(&points, axes, clusters)?;
        let scale = scale(stream, points, axes)?;
        let given = settings.given::<F>();
        scale.reaches(kmeans::most::<F>(), &kmeans::wide(&given))?;
        let device = stream.device();
        let mut labels = Array::new(&device, DType::I32, &[shape.n])?;
        let centre = {
            let mut all = CentroidUpdate::new(stream, &points, axes, 1, &scale)?;
            let (mut mean, mut count) = (all.means()?, all.counts()?);
            labels.fill(stream, 0)?;
            all.run(stream, points, labels.view(), &mut mean, &mut count)?;
            mean.download(stream)?.into_vec::<F>().unwrap_or_default()
        };
        let enough = settings.tolerance * mean_variance(stream, points, axes, F::DTYPE)?;
        let mut lloyd = Lloyd::new(stream, &points, axes, clusters, &scale, &kmeans::wide(&centre))?;
        let mut next = means(&device, &shape)?;
        let mut best: Option<Fit> = None;
        for run in 0..settings.starts() {
            let first = match host {
                Some(host) if given.is_empty() => kmeans::first::<F>(settings, host, run, None, tell)?,
                _ => given.clone(),
            };
            let of = [clusters, shape.dimensions];
            let mut current = Array::upload(stream, ArrayRef::from_slice(&first, &of)?)?;
            // A label that no point has, so that the first iteration changes all labels.
            labels.fill(stream, 0xff)?;
            let (mut iterations, mut converged, mut settled) = (0, false, false);
            while iterations < settings.iterations && !converged {
                iterations += 1;
                tell(Stage::Assigning { run, iteration: iterations });
                lloyd.forget(stream)?;
                lloyd.iterate(stream, points, &current, &mut labels, &mut next)?;
                let mut done = lloyd.done(stream)?;
                if inertias {
                    let inertia = lloyd.inertia(stream, points, &current, &labels)?;
                    tell(Stage::Assigned(Step { run, iteration: iterations, inertia }));
                }
                settled = !done.changed;
                if settled {
                    converged = true;
                    break;
                }
                if done.empty > 0 && settings.empty == EmptyCluster::Farthest {
                    let squares = lloyd.squares::<F>(stream, points, &current, &labels)?;
                    (next, done.shift) = farthest(stream, points, axes, [&current, &next], &labels, squares)?;
                }
                std::mem::swap(&mut current, &mut next);
                converged = done.shift <= enough;
            }
            if !settled {
                lloyd.assign(stream, points, &current, &mut labels)?;
            }
            let inertia = lloyd.inertia(stream, points, &current, &labels)?;
            if best.as_ref().is_none_or(|best| inertia < best.inertia) {
                let labels = labels.download(stream)?.into_vec::<i32>().unwrap_or_default();
                let centre = warpfold_array::Array { shape: vec![shape.dimensions], values: F::wrap(centre.clone()) };
                let centroids = current.download(stream)?;
                best = Some(Fit { centroids, centre, labels, inertia, iterations, converged, run });
            }
        }
        Ok(best.expect("at least one run"))
    }
}

/// Means in which clusters without points have moved to the farthest points, and the sum of the squares of all moves.
fn farthest<F: Coordinate>(
    stream: &Stream,
    points: ArrayView<'_>,
    axes: Axes,
    [before, after]: [&Array; 2],
    labels: &Array,
    mut squares: Vec<F>,
) -> Result<(Array, f64), Error> {
    let numbers = |array: &Array| Ok::<_, Error>(array.download(stream)?.into_vec::<F>().unwrap_or_default());
    let (before, mut moved, shape) = (numbers(before)?, numbers(after)?, after.shape().to_vec());
    let mut counts = vec![0u64; shape[0]];
    let labels = labels.download(stream)?.into_vec::<i32>().unwrap_or_default();
    labels.iter().for_each(|&label| counts[label as usize] += 1);
    for (cluster, _) in counts.iter().enumerate().filter(|(_, count)| **count == 0) {
        let far = kmeans::farthest(&mut squares);
        let axis = axis(&points, axes) as usize;
        let one = to_host(stream, points.slice(axis, far..far + 1)?)?;
        let one = (0..shape[1]).map(|i| F::from_f64(one.values.get(i).to_f64()));
        moved[cluster * shape[1]..][..shape[1]].iter_mut().zip(one).for_each(|(to, x)| *to = x);
    }
    let moves = moved.iter().zip(&before).map(|(a, b)| (a.to_f64() - b.to_f64()).powi(2));
    let shift = tree::reduce(&Sum::<f64>::total(), moves).expect("a coordinate");
    Ok((Array::upload(stream, ArrayRef::from_slice(&moved, &shape)?)?, shift))
}

/// The mean over the coordinates of their variances, added in order in f64.
fn mean_variance(stream: &Stream, points: ArrayView<'_>, axes: Axes, dtype: DType) -> Result<f64, Error> {
    let options = Options { axes: Some(vec![axis(&points, axes)]), dtype: Some(dtype), ..Options::default() };
    let of = crate::reduce::once::reduce(warpfold_array::Op::Var, points, &options, stream)?.download(stream)?.values;
    Ok((0..of.len()).map(|i| of.get(i).to_f64()).sum::<f64>() / of.len() as f64)
}
