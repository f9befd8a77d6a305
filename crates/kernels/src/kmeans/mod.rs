//! k-means: sums of the points of each cluster, the nearest centroid of each point, means.
//!
//! Sums are whole numbers (core's `Fixed`), so they may be added in any order, also by atomics, and have the bits of
//! the CPU. A point is never added to memory by itself: points are brought into the order of their labels first
//! ([`tile`] in shared memory, [`sort`] in global memory), so that a lane adds up a run of one label in registers
//! ([`stretch`], [`run`]).
//!
//! Labels are found by tensor cores where these are certain ([`nearest`], [`hopper`]), and else by the scores that
//! define them ([`mod@assign`]).

pub mod assign;
pub mod column;
pub mod direct;
pub mod distance;
pub mod doubt;
pub mod finish;
pub mod hopper;
pub mod image;
pub mod limbs;
pub mod nearest;
pub mod number;
pub mod points;
pub mod run;
pub mod score;
pub mod sort;
pub mod stretch;
pub mod table;
pub mod tile;
pub mod twice;
pub mod two;

use crate::params::params;
use warpfold_simt::{Global, Simt};

params! {
    #[derive(Default)]
    /// Where points and labels are, and where sums and means go.
    pub struct UpdateAt {
        /// The first coordinate of the first point.
        pub points: u64,
        /// `i32` of each point.
        pub labels: u64,
        /// A number (`f32` or `f64`, as points are computed in) of each coordinate: one over its unit.
        pub scales: u64,
        /// What [`Totals`] says.
        pub totals: u64,
        /// Two `u32` of each point, for [`sort`] alone: the points in the order of their labels, and their ranks.
        pub order: u64,
        /// `u64` of each cluster, and one before them, for [`sort`] alone: where each cluster begins in that order.
        pub cursors: u64,
        /// Three `u64`: [`EMPTY`], [`BAD`], [`CHANGED`].
        pub report: u64,
        /// Where means go: numbers, \[cluster\]\[coordinate\].
        pub means: u64,
        /// Where the numbers of points of each cluster go, as `i64`; or 0.
        pub counts: u64,
        /// `i32` of each coordinate: the exponent of its unit.
        pub units: u64,
        /// Means of before, which a cluster without points keeps; or 0: it has NaN.
        pub before: u64,
        /// Where the squares of the moves go, as `f64` \[cluster\]\[coordinate\]; only with `before`.
        pub moves: u64,
    }

    /// Points to add up by their labels: the launch struct of the update's kernels.
    pub struct Update at UpdateAt {
        /// Points.
        pub n: u64,
        /// Bytes from one point to the next.
        pub along: u64,
        /// Bytes from one coordinate to the next.
        pub across: u64,
        /// Coordinates of a point.
        pub dimensions: u32,
        /// Clusters.
        pub clusters: u32,
        /// Words of a cluster's sums in [`Totals`].
        pub sums: u32,
        /// Reads of a lane that a point takes, in one slice.
        pub reads: u32,
        /// Slices of the coordinates: a block has one of them.
        pub slices: u32,
        /// Lanes that share a point, as a power of two: at most 5.
        pub abreast: u32,
        /// Tiles that a block takes, for [`tile`] and [`mod@column`] alone.
        pub tiles: u32,
        /// Points of a stretch, for [`sort`] alone.
        pub stretch: u32,
        /// Whether the last block makes means of the totals.
        pub finishes: u32,
        /// To fill a word.
        pub unused: u32,
    }

    #[derive(Default)]
    /// Where points and centroids are, and where labels go.
    pub struct AssignAt {
        /// The first coordinate of the first point.
        pub points: u64,
        /// `i32` of each point: its label of before, and then its label.
        pub labels: u64,
        /// `f32` of each coordinate: one over its unit; for [`nearest`] alone.
        pub scales: u64,
        /// A number of each cluster: half of the square of its centroid about the centre. For [`nearest`], centroids in
        /// f16 follow.
        pub halves: u64,
        /// What [`Unsure`] says, for kernels that list points; or 0.
        pub unsure: u64,
        /// Numbers \[cluster\]\[coordinate\].
        pub centroids: u64,
        /// A number of each coordinate: labels are found about this point.
        pub centre: u64,
        /// As [`UpdateAt::report`].
        pub report: u64,
    }

    /// Points to label by their nearest centroids: the launch struct of the kernels that find labels.
    pub struct Assign at AssignAt {
        /// Points.
        pub n: u64,
        /// Bytes from one point to the next.
        pub along: u64,
        /// Bytes from one coordinate to the next.
        pub across: u64,
        /// Coordinates of a point.
        pub dimensions: u32,
        /// Clusters.
        pub clusters: u32,
        /// Coordinates with padding, for [`nearest`] alone.
        pub padded: u32,
        /// Whether coordinates of a point are read 16 bytes at a time.
        pub wide: u32,
        /// Clusters of the [`image`], with padding; or 0: there is none.
        pub image: u32,
        /// [`hopper::ROOM`], as a number that the compiler does not know: it would shift, which takes longer.
        pub room: u32,
    }

    #[derive(Default)]
    /// Where labelled points and their centroids are, and where distances go.
    pub struct DistanceAt {
        /// The first coordinate of the first point.
        pub points: u64,
        /// `i32` of each point.
        pub labels: u64,
        /// Numbers \[cluster\]\[coordinate\].
        pub centroids: u64,
        /// A number of each point.
        pub distances: u64,
    }

    /// Points whose distances to their centroids are wanted.
    pub struct Distance at DistanceAt {
        /// Points.
        pub n: u64,
        /// Bytes from one point to the next.
        pub along: u64,
        /// Bytes from one coordinate to the next.
        pub across: u64,
        /// Coordinates of a point.
        pub dimensions: u32,
        /// Clusters.
        pub clusters: u32,
    }
}

/// In a report: clusters without points are added.
pub const EMPTY: usize = 0;
/// In a report: labels of no cluster that are not -1 are added.
pub const BAD: usize = 1;
/// In a report: 1 if a label has changed.
pub const CHANGED: usize = 2;

/// The label of no cluster.
const NONE: u32 = u32::MAX;

/// Quotient and remainder, of a divisor that is never zero: nothing here can panic.
#[inline(always)]
fn divide(a: u32, b: u32) -> (u32, u32) {
    (a.checked_div(b).unwrap_or(0), a.checked_rem(b).unwrap_or(0))
}

/// Writes a label, and says so if it was another one before.
#[inline(always)]
fn store<S: Simt>(s: &S, call: &Assign, at: usize, before: u32, label: u32) {
    if s.branch(before != label) {
        s.store(crate::address::array::<u32>(call.at.labels), at, label);
        s.store_volatile(crate::address::array::<u64>(call.at.report), CHANGED, 1);
    }
}

/// Points whose labels are not sure yet: how many there are, and then their numbers. There are two lists: after rough
/// scores, and after fine ones.
#[derive(Clone, Copy)]
pub struct Unsure(Global<u32>);

impl Unsure {
    /// Words that both take, of so many points.
    pub const fn len(points: usize) -> usize {
        2 * (points + 1)
    }

    /// The one or the other.
    #[inline(always)]
    pub fn of(call: &Assign, which: u64) -> Self {
        Self(crate::address::array(call.at.unsure + 4 * which * (call.n + 1)))
    }

    /// None.
    #[inline(always)]
    pub fn clear<S: Simt>(self, s: &S) {
        if s.branch(s.thread_x() == 0) {
            s.store(self.0, 0, 0);
        }
    }

    /// How many.
    #[inline(always)]
    pub fn count<S: Simt>(self, s: &S) -> u32 {
        s.load(self.0, 0)
    }

    /// Makes room for some more, and says where.
    #[inline(always)]
    pub fn grow<S: Simt>(self, s: &S, by: u32) -> u32 {
        s.atomic_add(self.0, 0, by, warpfold_simt::Order::Relaxed)
    }

    /// The number of one of the points.
    #[inline(always)]
    pub fn get<S: Simt>(self, s: &S, at: u32) -> u32 {
        s.load(self.0, at as usize + 1)
    }

    /// Writes it.
    #[inline(always)]
    pub fn put<S: Simt>(self, s: &S, at: u32, point: u32) {
        s.store(self.0, at as usize + 1, point);
    }
}

/// Sums of clusters, as they are between two kernels: 64-bit words, zero before and after. Where a sum takes two words
/// ([`number`]), there are twice as many coordinates here.
#[derive(Clone, Copy)]
pub struct Totals {
    /// \[cluster\]\[coordinate\], then points of each cluster (and, 32 bits higher, how many of them [`sort::gather`]
    /// has added up), then labels that were of no cluster and not -1, then blocks that are done.
    words: Global<u64>,
    clusters: u32,
    dimensions: u32,
}

impl Totals {
    /// Words that they take.
    pub const fn len(clusters: usize, dimensions: usize) -> usize {
        clusters * dimensions + clusters + 2
    }

    /// At an address.
    #[inline(always)]
    pub fn at(address: u64, clusters: u32, dimensions: u32) -> Self {
        Self { words: crate::address::array(address), clusters, dimensions }
    }

    /// The place of a sum.
    #[inline(always)]
    pub fn sum(&self, cluster: u32, coordinate: u32) -> usize {
        cluster as usize * self.dimensions as usize + coordinate as usize
    }

    /// The place of a count.
    #[inline(always)]
    pub fn count(&self, cluster: u32) -> usize {
        self.clusters as usize * self.dimensions as usize + cluster as usize
    }

    /// Points of a cluster.
    #[inline(always)]
    pub fn many<S: Simt>(&self, s: &S, cluster: u32) -> u64 {
        s.load(self.words, self.count(cluster))
    }

    /// The place of the number of bad labels.
    #[inline(always)]
    pub fn bad(&self) -> usize {
        self.count(self.clusters)
    }

    /// The place of the number of blocks that have added all that is theirs.
    #[inline(always)]
    pub fn done(&self) -> usize {
        self.bad() + 1
    }

    /// Adds to a word.
    #[inline(always)]
    pub fn add<S: Simt>(&self, s: &S, at: usize, x: u64) {
        if s.branch(x != 0) {
            s.atomic_add(self.words, at, x, warpfold_simt::Order::Relaxed);
        }
    }

    /// Reads a word, and leaves zero.
    #[inline(always)]
    pub fn take<S: Simt>(&self, s: &S, at: usize) -> u64 {
        let x = s.load(self.words, at);
        s.store(self.words, at, 0);
        x
    }
}
