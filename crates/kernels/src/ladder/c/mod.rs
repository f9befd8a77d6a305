//! Family C: the centroid update of k-means, rung by rung.

pub mod c1;
pub mod c2;
pub mod c3;
pub mod c4;
pub mod c5;
pub mod c6;
pub mod c7;

use warpfold_simt::Global;

/// The most clusters.
pub const MAX_CLUSTERS: u32 = 32;
/// The most clusters times coordinates.
pub const MAX_CELLS: u32 = 2048;
/// Points that a thread of c5 to c7 takes.
pub const POINTS_PER_THREAD: u32 = 16;

/// What every kernel of the family works on.
#[derive(Clone, Copy)]
pub struct Centroids {
    /// `[coordinate][point]`.
    pub points: Global<f32>,
    /// The cluster of each point, from 0 to `clusters - 1`.
    pub labels: Global<i32>,
    /// `[cluster][coordinate]`, zero before.
    pub sums: Global<f32>,
    /// `[cluster]`, zero before.
    pub counts: Global<u32>,
    /// Points.
    pub n: usize,
    /// Clusters, at most [`MAX_CLUSTERS`].
    pub clusters: u32,
    /// Coordinates; with the clusters, at most [`MAX_CELLS`].
    pub coords: u32,
}

impl Centroids {
    /// Where coordinate `a` of point `i` is.
    #[inline(always)]
    pub fn point(&self, a: u32, i: usize) -> usize {
        a as usize * self.n + i
    }
    /// Where coordinate `a` of cluster `c` is.
    #[inline(always)]
    pub fn sum(&self, c: u32, a: u32) -> usize {
        (c * self.coords + a) as usize
    }
}
