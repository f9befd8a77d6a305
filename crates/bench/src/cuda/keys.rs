//! Keyed cases on a GPU: planned and loaded before the first call, with offsets or labels on the device.

use crate::case::{Case, SEED};
use crate::exact::kmeans::centroids;
use crate::keyed::{fill, numbers, step};
use crate::keys::{Keys, labels};
use crate::work::Work;
use warpfold::cuda::kmeans::{CentroidUpdate, Lloyd, scale};
use warpfold::cuda::{Array, ArrayView, Finder, Grouped, Options, Segmented, Stream, Unique, Wanted};
use warpfold::keys::Axes;
use warpfold::{ArrayRef, DType, Error, Values};

/// The value of every byte of a result before a checked run.
pub const POISON: u8 = 0xa5;

/// Loaded kernels, with room for results.
pub enum Keyed {
    Segments {
        reduction: Box<Segmented>,
        offsets: Array,
        out: Array,
    },
    Groups {
        reduction: Box<Grouped>,
        labels: Vec<Array>,
        out: Array,
    },
    /// `found` holds the result of the last run after the first request for it.
    Unique {
        finder: Box<Finder>,
        out: Option<Unique>,
        found: Option<Values>,
    },
    Update {
        update: Box<CentroidUpdate>,
        labels: Vec<Array>,
        means: Array,
        counts: Array,
    },
    Iterate {
        lloyd: Box<Lloyd>,
        centroids: Array,
        labels: Vec<Array>,
        means: Array,
    },
}

impl Keyed {
    /// Prepares a keyed case; `None` for other cases. Calls read `copies` copies of `view` in turn; each copy has its
    /// own copy of the labels.
    pub fn new(stream: &Stream, case: &Case, view: &ArrayView<'_>, copies: usize) -> Result<Option<Keyed>, Error> {
        let (device, n, d) = (stream.device(), case.shape[0], case.dimensions());
        let copies_of = |host: &[i32]| {
            let copy = |_| Array::upload(stream, ArrayRef::from_slice(host, &[n])?);
            (0..copies).map(copy).collect::<Result<Vec<_>, Error>>()
        };
        Ok(match (case.work, case.keys) {
            (Work::Unique, _) => {
                let finder = Box::new(Finder::new(&device, view, Wanted::default())?);
                Some(Keyed::Unique { out: Some(finder.output()?), finder, found: None })
            }
            (Work::Op(op), Some(Keys::Groups(groups))) => {
                let labels = copies_of(&labels(n, groups, SEED))?;
                let (by, options) = (labels[0].view(), Options::default());
                let reduction = Box::new(Grouped::new(&device, op, &by, view, groups, &options, None)?);
                let out = reduction.output()?;
                Some(Keyed::Groups { reduction, labels, out })
            }
            (Work::Op(op), Some(Keys::Segments(lengths))) => {
                let offsets = lengths.offsets(n, SEED);
                let offsets = Array::upload(stream, ArrayRef::from_slice(&offsets, &[offsets.len()])?)?;
                let (cuts, options) = (offsets.view(), Options::default());
                let reduction = Box::new(Segmented::new(&device, op, view, &cuts, &options, Some(fill()))?);
                let out = reduction.output()?;
                Some(Keyed::Segments { reduction, offsets, out })
            }
            (Work::Update, Some(Keys::Clusters(clusters, _))) => {
                let found = scale(stream, *view, Axes::PointsFirst)?;
                let update = CentroidUpdate::new(stream, view, Axes::PointsFirst, clusters, &found)?;
                let labels = copies_of(&labels(n, clusters, SEED))?;
                let (means, counts) = (update.means()?, update.counts()?);
                Some(Keyed::Update { update: Box::new(update), labels, means, counts })
            }
            (Work::Iterate, Some(Keys::Clusters(clusters, _))) => {
                let found = scale(stream, *view, Axes::PointsFirst)?;
                let lloyd = Lloyd::new(stream, view, Axes::PointsFirst, clusters, &found, &vec![0.0; d])?;
                let (first, shape) = (centroids(case), [clusters, d]);
                let centroids = match numbers(case, &first) {
                    Values::F64(first) => Array::upload(stream, ArrayRef::from_slice(&first, &shape)?)?,
                    Values::F32(first) => Array::upload(stream, ArrayRef::from_slice(&first, &shape)?)?,
                    _ => Array::upload(stream, ArrayRef::from_slice(&first, &shape)?)?,
                };
                let room = |_| Array::new(&device, DType::I32, &[n]);
                let labels = (0..copies).map(room).collect::<Result<_, _>>()?;
                let means = Array::new(&device, centroids.dtype(), &shape)?;
                Some(Keyed::Iterate { lloyd: Box::new(lloyd), centroids, labels, means })
            }
            _ => None,
        })
    }

    /// Queues one call on the input copy `turn`.
    pub fn run(&mut self, stream: &Stream, view: ArrayView<'_>, turn: usize) -> Result<(), Error> {
        match self {
            Keyed::Segments { reduction, offsets, out } => reduction.run(stream, view, offsets.view(), out),
            Keyed::Groups { reduction, labels, out } => reduction.run(stream, labels[turn].view(), view, out),
            Keyed::Unique { finder, out, found } => {
                let room = match out.take() {
                    Some(room) => room,
                    None => finder.output()?,
                };
                *found = None;
                finder.run(stream, view, out.insert(room))
            }
            Keyed::Update { update, labels, means, counts } => {
                update.run(stream, view, labels[turn].view(), means, counts)
            }
            Keyed::Iterate { lloyd, centroids, labels, means } => {
                lloyd.iterate(stream, view, centroids, &mut labels[turn], means)
            }
        }
    }

    /// The values of the last call, which read the copy `turn`, in one list as [`step`] makes it.
    pub fn values(&mut self, stream: &Stream, turn: usize) -> Result<Values, Error> {
        Ok(match self {
            Keyed::Segments { out, .. } | Keyed::Groups { out, .. } => out.download(stream)?.values,
            Keyed::Unique { out, found, .. } => {
                if let Some(room) = out.take() {
                    *found = Some(room.trim(stream)?.values.download(stream)?.values);
                }
                found.clone().unwrap_or(Values::F32(Vec::new()))
            }
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
    /// For an iteration of k-means, the labels of the copy `turn`.
    pub fn labels(&self, stream: &Stream, turn: usize) -> Result<Option<Vec<i32>>, Error> {
        match self {
            Keyed::Iterate { labels, .. } => Ok(labels[turn].download(stream)?.into_vec::<i32>()),
            _ => Ok(None),
        }
    }

    /// Overwrites results with nonsense.
    pub fn poison(&mut self, stream: &Stream) -> Result<(), Error> {
        let arrays: Vec<&mut Array> = match self {
            Keyed::Segments { out, .. } | Keyed::Groups { out, .. } => vec![out],
            Keyed::Unique { out, .. } => out.iter_mut().map(|out| &mut out.values).collect(),
            Keyed::Update { means, counts, .. } => vec![means, counts],
            Keyed::Iterate { labels, means, .. } => labels.iter_mut().chain([means]).collect(),
        };
        arrays.into_iter().try_for_each(|array| array.fill(stream, POISON))?;
        Ok(())
    }
}
