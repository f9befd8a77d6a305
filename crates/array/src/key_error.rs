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
        /// Theirs.
        dtype: DType,
    },
    /// Offsets that are no list, or an empty one.
    #[error(
        "offsets must have one axis and at least one entry (one more than there are segments), these have shape \
         {shape:?}"
    )]
    OffsetsShape {
        /// Theirs.
        shape: Vec<usize>,
    },
    /// Segments that would end before they begin.
    #[error("offsets must not decrease, but entry {at} is {after} after {before}: sort them")]
    OffsetsDecrease {
        /// The entry that is less than the one before it.
        at: usize,
        /// The one before it.
        before: u64,
        /// The entry.
        after: u64,
    },
    /// An offset outside of the axis.
    #[error("offset {offset} (entry {at}) is out of range: there are {len} elements along axis 0, give 0 to {len}")]
    OffsetOutOfRange {
        /// Which entry.
        at: usize,
        /// What it is.
        offset: i128,
        /// Of axis 0 of the values.
        len: usize,
    },
    /// An offset that is negative, or more than there is room for in an address space.
    #[error("offset {offset} (entry {at}) is no place along an axis: offsets count elements, give 0 or more")]
    OffsetNegative {
        /// Which entry.
        at: usize,
        /// What it is.
        offset: i128,
    },
    /// Offsets on a GPU that decrease, or go beyond the values.
    #[error(
        "offsets on the device decrease, or go beyond the {len} elements along axis 0: download them, and `Segments` \
         names the first that does"
    )]
    BadOffsets {
        /// Of axis 0 of the values.
        len: usize,
    },
    /// Labels that are no list.
    #[error("labels must have one axis, these have shape {shape:?}: flatten them")]
    LabelsShape {
        /// Theirs.
        shape: Vec<usize>,
    },
    /// A label of no group.
    #[error("label {label} (entry {at}) is out of range: give {}-1 for what belongs to no group", range(*groups))]
    LabelOutOfRange {
        /// The first such entry.
        at: usize,
        /// What it is.
        label: i128,
        /// How many groups there are, or can be.
        groups: usize,
    },
    /// Labels and values disagree.
    #[error("there are {labels} labels for values of shape {shape:?}: give one for each index of axis 0")]
    LabelsLength {
        /// How many.
        labels: usize,
        /// Of the values.
        shape: Vec<usize>,
    },
    /// Weights and elements disagree.
    #[error("the weights have shape {weights:?}, what they weigh has {array:?}: give one weight for each element")]
    WeightsShape {
        /// Of the weights.
        weights: Vec<usize>,
        /// Of the elements or labels.
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
    /// Options that name axes.
    #[error("reductions by key reduce axis 0 of the values, and put the keys there: leave out axes and keepdims")]
    Axes,
    /// Bins that cannot be.
    #[error("bins: {why}")]
    Bins {
        /// And what to do.
        why: String,
    },
    /// An array that is no list of points.
    #[error("points: {why}")]
    Points {
        /// And what to do.
        why: String,
    },
    /// A point with a NaN or an infinity.
    #[error("point {point} is not finite: coordinate {coordinate} is {value}; leave such points out")]
    NotFinite {
        /// The first such one.
        point: usize,
        /// The first of its coordinates that is not finite.
        coordinate: usize,
        /// What it is.
        value: f64,
    },
    /// Points between which squared distances may overflow.
    #[error(
        "points are so far from the origin or apart that the square of a distance overflows: scale them down, or cast \
         them to f64"
    )]
    TooFar,
    /// Clusters that cannot be found.
    #[error("k-means: {why}")]
    Clusters {
        /// And what to do.
        why: String,
    },
    /// Nothing to reduce, and no identity.
    #[error(
        "{op} of {what} {index} finds {why} (values of dtype {dtype}), and has no result for that: give one with \
         fill{}",
        hint(op)
    )]
    Empty {
        /// The reduction.
        op: &'static str,
        /// Of the values.
        dtype: DType,
        /// Segment or group.
        what: &'static str,
        /// The first such one.
        index: usize,
        /// No elements, or only NaN, which is skipped.
        why: &'static str,
    },
    /// The same on a GPU, which does not say where.
    #[error(
        "{op} of a {what} finds {why} (values of dtype {dtype}), and has no result for that: give one with \
         fill{}",
        hint(op)
    )]
    SomeEmpty {
        /// The reduction.
        op: &'static str,
        /// Of the values.
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
