//! What was wrong with keys, and what to do about it.

use warpfold_core::DType;

/// What was wrong with offsets, labels, bins or points, and what to do about it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Labels or offsets that are no integers.
    #[error("{what} must be integers, these are {dtype}: cast them first")]
    NotIntegers {
        /// Labels or offsets.
        what: &'static str,
        /// The dtype of the labels or offsets.
        dtype: DType,
    },
    /// Offsets without exactly one axis, or without entries.
    #[error(
        "offsets must have one axis and at least one entry (one more than there are segments), these have shape \
         {shape:?}"
    )]
    OffsetsShape {
        /// The shape of the offsets.
        shape: Vec<usize>,
    },
    /// Segments that would end before they begin.
    #[error("offsets must not decrease, but entry {at} is {after} after {before}: sort them")]
    OffsetsDecrease {
        /// The index of the first offset that is less than the offset before it.
        at: usize,
        /// The offset before it.
        before: u64,
        /// The offset at that index.
        after: u64,
    },
    /// An offset outside of the axis.
    #[error("offset {offset} (entry {at}) is out of range: there are {len} elements along axis 0, give 0 to {len}")]
    OffsetOutOfRange {
        /// The index of the offset.
        at: usize,
        /// The offset.
        offset: i128,
        /// The length of axis 0 of the values.
        len: usize,
    },
    /// An offset that is negative, or greater than `usize::MAX`.
    #[error("offset {offset} (entry {at}) is no place along an axis: offsets count elements, give 0 or more")]
    OffsetNegative {
        /// The index of the offset.
        at: usize,
        /// The offset.
        offset: i128,
    },
    /// Offsets on a GPU that decrease, or go beyond the values.
    #[error(
        "offsets on the device decrease, or go beyond the {len} elements along axis 0: download them, and `Segments` \
         names the first that does"
    )]
    BadOffsets {
        /// The length of axis 0 of the values.
        len: usize,
    },
    /// Labels without exactly one axis.
    #[error("labels and keys must have one axis, these have shape {shape:?}: flatten them")]
    LabelsShape {
        /// The shape of the labels.
        shape: Vec<usize>,
    },
    /// A label of no group.
    #[error("label {label} (entry {at}) is out of range: give {}-1 for what belongs to no group", range(*groups))]
    LabelOutOfRange {
        /// The index of the first such label.
        at: usize,
        /// The label.
        label: i128,
        /// The number of groups, or the greatest number that is supported.
        groups: usize,
    },
    /// Another number of labels than the length of axis 0 of the values.
    #[error("there are {labels} labels for values of shape {shape:?}: give one for each index of axis 0")]
    LabelsLength {
        /// The number of labels.
        labels: usize,
        /// The shape of the values.
        shape: Vec<usize>,
    },
    /// Weights of another shape than the elements or labels.
    #[error("the weights have shape {weights:?}, what they weigh has {array:?}: give one weight for each element")]
    WeightsShape {
        /// The shape of the weights.
        weights: Vec<usize>,
        /// The shape of the elements or labels.
        array: Vec<usize>,
    },
    /// More of something than is supported.
    #[error("{n} {what} are too many: at most {most} are supported; {}", fewer(what, *most))]
    TooMany {
        /// Labels, groups, keys, elements, weights or points.
        what: &'static str,
        /// Their number.
        n: usize,
        /// The greatest number that is supported.
        most: usize,
    },
    /// Values without an axis.
    #[error("the values are one element without an axis: give at least one axis, which is reduced")]
    NoAxis,
    /// Axes or `keepdims` in the options.
    #[error("reductions by key reduce axis 0 of the values, and put the keys there: leave out axes and keepdims")]
    Axes,
    /// Bad bins.
    #[error("bins: {why}")]
    Bins {
        /// The cause, and what to do.
        why: String,
    },
    /// An array that does not hold points.
    #[error("points: {why}")]
    Points {
        /// The cause, and what to do.
        why: String,
    },
    /// A point with a NaN or an infinity.
    #[error("point {point} is not finite: coordinate {coordinate} is {value}; leave such points out")]
    NotFinite {
        /// The index of the first such point.
        point: usize,
        /// The index of its first coordinate that is not finite.
        coordinate: usize,
        /// The value of the coordinate.
        value: f64,
    },
    /// Points between which squared distances may overflow.
    #[error(
        "points are so far from the origin or apart that the square of a distance overflows: scale them down, or cast \
         them to f64"
    )]
    TooFar,
    /// Bad settings of k-means.
    #[error("k-means: {why}")]
    Clusters {
        /// The cause, and what to do.
        why: String,
    },
    /// A segment or group without a result: no elements, or only NaN, and no identity.
    #[error(
        "{op} of {what} {index} finds {why} (values of dtype {dtype}), and has no result for that: give one with \
         fill{}",
        hint(op)
    )]
    Empty {
        /// The reduction.
        op: &'static str,
        /// The dtype of the values.
        dtype: DType,
        /// Segment or group.
        what: &'static str,
        /// The index of the first such segment or group.
        index: usize,
        /// No elements, or only NaN, which is skipped.
        why: &'static str,
    },
    /// [`KeyError::Empty`] on a GPU, which does not report the index.
    #[error(
        "{op} of a {what} finds {why} (values of dtype {dtype}), and has no result for that: give one with \
         fill{}",
        hint(op)
    )]
    SomeEmpty {
        /// The reduction.
        op: &'static str,
        /// The dtype of the values.
        dtype: DType,
        /// Segment, group or run.
        what: &'static str,
        /// No elements, or only NaN, which is skipped.
        why: &'static str,
    },
}

fn range(groups: usize) -> String {
    if groups == 0 { "nothing but ".into() } else { format!("0 to {}, or ", groups - 1) }
}

/// What to do about too many of something.
fn fewer(what: &str, most: usize) -> &'static str {
    match what {
        "groups" => "number the groups without gaps, or label some of them -1 and reduce those in another call",
        _ if (most as u64) < u64::from(u32::MAX) => "split them over several calls, or compute on `cpu`",
        _ => "split them over several calls",
    }
}

fn hint(op: &str) -> &'static str {
    match op {
        "min" | "max" => ", or an initial value",
        _ => "",
    }
}
