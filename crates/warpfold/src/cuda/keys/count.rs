//! How often each label occurs, or the sum of its weights, on a GPU.

use super::{Groups, count_groups, group_by};
use crate::Op;
use crate::cuda::{Array, ArrayView, Device, Options, Stream};
use crate::keys::KeyError;
use crate::layout::ArrayRef;

/// How often each label occurs, or the sum of its `weights`, as [`crate::bincount`]: -1 is not counted, and there are at least `least` bins. Waits
/// until it is done.
///
/// # Errors
/// As [`Groups::new`] and [`super::Grouped::new`]; weights of another shape than labels.
pub fn bincount(
    labels: ArrayView<'_>,
    weights: Option<ArrayView<'_>>,
    least: usize,
    stream: &Stream,
) -> Result<Array, crate::Error> {
    let bins = count_groups(labels, stream)?.max(least);
    match weights {
        None => Groups::new(labels, Some(bins), stream)?.counts(stream),
        Some(weights) if weights.shape() != labels.shape() => {
            Err(KeyError::LabelsLength { labels: labels.shape()[0], shape: weights.shape().to_vec() }.into())
        }
        Some(weights) => group_by(Op::Sum, labels, weights, Some(bins), &Options::default(), stream),
    }
}

/// The same of host arrays.
///
/// # Errors
/// As [`bincount`].
pub fn bincount_host(
    labels: ArrayRef<'_>,
    weights: Option<ArrayRef<'_>>,
    least: usize,
    device: &Device,
) -> Result<crate::Array, crate::Error> {
    let stream = Stream::new(device)?;
    let by = Array::upload(&stream, labels)?;
    let weights = weights.map(|weights| Array::upload(&stream, weights)).transpose()?;
    bincount(by.view(), weights.as_ref().map(Array::view), least, &stream)?.download(&stream)
}
