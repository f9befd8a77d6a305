//! Cases by key on a GPU: planned and loaded before the first call, with offsets or labels on the device.

use crate::case::{Case, SEED};
use crate::cpu_keys::{centroids, fill, step};
use crate::keys::{Keys, labels};
use crate::work::Work;
use warpfold::cuda::kmeans::{CentroidUpdate, Lloyd, scale};
use warpfold::cuda::{Array, ArrayView, Options, Segmented, Stream};
use warpfold::keys::Axes;
use warpfold::{ArrayRef, DType, Error, Values};

/// Loaded kernels, with room for results.
pub enum Keyed {
    Segments { reduction: Box<Segmented>, offsets: Array, out: Array },
    Update { update: Box<CentroidUpdate>, labels: Vec<Array>, means: Array, counts: Array },
    Iterate { lloyd: Box<Lloyd>, centroids: Array, labels: Vec<Array>, means: Array },
}

/// Why there is no kernel for a case by keys. Groups and distinct values go here until there are some.
pub fn missing(case: &Case) -> Option<String> {
    match (case.work, case.keys) {
        (Work::Unique, _) | (_, Some(Keys::Groups(_))) => {
            Some(format!("{} by key is not on a GPU yet", case.work.name()))
        }
        _ => None,
    }
}

impl Keyed {
    /// Of a case by keys that is not [`missing`]; calls will read `copies` copies of `view` in turn, which have copies of the labels.
    pub fn new(stream: &Stream, case: &Case, view: &ArrayView<'_>, copies: usize) -> Result<Option<Keyed>, Error> {
        let (device, n, d) = (stream.device(), case.shape[0], case.dimensions());
        Ok(match (case.work, case.keys) {
            (Work::Op(op), Some(Keys::Segments(lengths))) => {
                let offsets = lengths.offsets(n, SEED);
                let offsets = Array::upload(stream, ArrayRef::from_slice(&offsets, &[offsets.len()])?)?;
                let (cuts, options) = (offsets.view(), Options::default());
                let reduction = Box::new(Segmented::new(&device, op, view, &cuts, &options, Some(fill()))?);
                let out = reduction.output()?;
                Some(Keyed::Segments { reduction, offsets, out })
            }
            (Work::Update, Some(Keys::Clusters(clusters))) => {
                let found = scale(stream, *view, Axes::PointsFirst)?;
                let update = CentroidUpdate::new(stream, view, Axes::PointsFirst, clusters, &found)?;
                let host = labels(n, clusters, SEED);
                let copy = |_| Array::upload(stream, ArrayRef::from_slice(&host, &[n])?);
                let labels = (0..copies).map(copy).collect::<Result<_, _>>()?;
                let (means, counts) = (update.means()?, update.counts()?);
                Some(Keyed::Update { update: Box::new(update), labels, means, counts })
            }
            (Work::Iterate, Some(Keys::Clusters(clusters))) => {
                let found = scale(stream, *view, Axes::PointsFirst)?;
                let lloyd = Lloyd::new(stream, view, Axes::PointsFirst, clusters, &found, &vec![0.0; d])?;
                let first = centroids(case);
                let centroids = Array::upload(stream, ArrayRef::from_slice(&first, &[clusters, d])?)?;
                let room = |_| Array::new(&device, DType::I32, &[n]);
                let labels = (0..copies).map(room).collect::<Result<_, _>>()?;
                let means = Array::new(&device, DType::F32, &[clusters, d])?;
                Some(Keyed::Iterate { lloyd: Box::new(lloyd), centroids, labels, means })
            }
            _ => None,
        })
    }

    /// Queues one call, which reads the copy whose turn it is.
    pub fn run(&mut self, stream: &Stream, view: ArrayView<'_>, turn: usize) -> Result<(), Error> {
        match self {
            Keyed::Segments { reduction, offsets, out } => reduction.run(stream, view, offsets.view(), out),
            Keyed::Update { update, labels, means, counts } => {
                update.run(stream, view, labels[turn].view(), means, counts)
            }
            Keyed::Iterate { lloyd, centroids, labels, means } => {
                lloyd.iterate(stream, view, centroids, &mut labels[turn], means)
            }
        }
    }

    /// The values that the last call left, which read the copy `turn`: as [`crate::cpu_keys::Found::values`].
    pub fn values(&mut self, stream: &Stream, turn: usize) -> Result<Values, Error> {
        Ok(match self {
            Keyed::Segments { out, .. } => out.download(stream)?.values,
            Keyed::Update { update, means, .. } => {
                update.check(stream)?;
                means.download(stream)?.values
            }
            Keyed::Iterate { labels, means, .. } => {
                let labels = labels[turn].download(stream)?.into_vec::<i32>().unwrap_or_default();
                step(&labels, &means.download(stream)?.values)
            }
        })
    }
}
