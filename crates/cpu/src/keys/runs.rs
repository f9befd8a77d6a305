//! Runs: consecutive elements of equal keys.

use warpfold_core::Element;

use super::dense;
use super::rank::key;
use super::segments::Segments;
use crate::parallel;
use warpfold_array::Array;
use warpfold_array::ArrayRef;
use warpfold_array::KeyError;
use warpfold_array::Options;
use warpfold_array::{Error, Op};

/// Keys that a task compares.
const TASK: usize = 1 << 16;

/// Reduces each run of equal consecutive keys: the keys of the runs, and the results.
///
/// ```
/// use warpfold::{ArrayRef, Op, Options, reduce_by_key};
///
/// let keys = ArrayRef::from_slice(&[7u8, 7, 2, 7], &[4])?;
/// let x = ArrayRef::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[4])?;
/// let (keys, sums) = reduce_by_key(Op::Sum, keys, x, &Options::default())?;
/// assert_eq!(keys.into_vec::<u8>().unwrap(), [7, 2, 7]);
/// assert_eq!(sums.into_vec::<f32>().unwrap(), [3.0, 3.0, 4.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`Runs::new`] and [`Segments::reduce`]; another number of values than keys.
pub fn reduce_by_key(
    op: Op,
    keys: ArrayRef<'_>,
    values: ArrayRef<'_>,
    options: &Options<'_>,
) -> Result<(Array, Array), Error> {
    let runs = Runs::new(keys)?;
    match values.shape().first() {
        Some(&n) if n != keys.len() => {
            return Err(KeyError::LabelsLength { labels: keys.len(), shape: values.shape().to_vec() }.into());
        }
        _ => {}
    }
    let results = runs.segments.reduce(op, values, options)?;
    Ok((runs.keys, results))
}

/// The runs of equal consecutive keys of a list of any dtype. Of floats, -0.0 equals +0.0, and NaN equals NaN.
#[derive(Clone, Debug, PartialEq)]
pub struct Runs {
    /// The first key of each run.
    pub keys: Array,
    /// The runs as segments of the keys.
    pub segments: Segments,
}

impl Runs {
    /// The runs of `keys`, which have one axis.
    ///
    /// # Errors
    /// [`KeyError::LabelsShape`], [`KeyError::TooMany`] beyond 2^32 - 1 keys.
    pub fn new(keys: ArrayRef<'_>) -> Result<Self, Error> {
        let &[n] = keys.shape() else { return Err(KeyError::LabelsShape { shape: keys.shape().to_vec() }.into()) };
        if n > u32::MAX as usize {
            return Err(KeyError::TooMany { what: "keys", n, most: u32::MAX as usize }.into());
        }
        let starts = by_dtype!(keys.dtype(), T => starts(&dense::elements::<T>(&keys)));
        let first = dense::values(&dense::Rows::gather(&keys, &starts).array());
        let offsets = starts.iter().map(|&at| at as usize).chain([n]).collect();
        let segments = Segments::checked(offsets, "run", None);
        Ok(Self { keys: Array { shape: vec![starts.len()], values: first }, segments })
    }
}

/// The positions of keys that differ from the key before.
fn starts<T: Element>(keys: &[T]) -> Vec<u32> {
    let parts: Vec<Vec<u32>> = parallel::map(keys.len().div_ceil(TASK), |part| {
        let range = part * TASK..keys.len().min((part + 1) * TASK);
        range.filter(|&i| i == 0 || key(keys[i]) != key(keys[i - 1])).map(|i| i as u32).collect()
    });
    parts.concat()
}
