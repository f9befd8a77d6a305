//! Scores by tensor cores: rough ones, and how rough they are.
//!
//! A warp has 32 points, and compares them with eight centroids at a time. Both are rounded to f16, in a unit that
//! keeps them far from overflowing; products are added up in f32 by `mma.m16n8k8`. *Fine* ones have two f16 for each
//! number, the second for what the first lacks, and three products of these; and a warp has 16 points. Of each point
//! the least score and the next are kept. If these are further apart than twice what a score can be off ([`Bound`]),
//! the first is that of the nearest centroid; if not, an exact kernel settles it.
//!
//! Which coordinates meet in which step of a product does not matter: a lane has up to eight neighbouring ones at a
//! time, of points and of centroids.

use crate::address::array;
use crate::kmeans::Assign;
use crate::kmeans::points::{Points, piece};
use warpfold_core::Real;
use warpfold_simt::{ALL, Global, Pack, Shared, Simt};

/// Clusters that are compared at once.
pub const TOGETHER: u32 = 8;
/// Coordinates, with padding, that there are kernels for.
pub const PADDED: [usize; 5] = [8, 16, 32, 64, 128];

/// The square of a length, in the unit, from which on f16 might overflow.
pub const FAR: f32 = (1 << 30) as f32;
/// More than any score, of a cluster that is not there; finite also with a number in its lowest bits.
const NOWHERE: f32 = 3e38;

/// Whether scores are made twice ([`twice`](crate::kmeans::twice)): where coordinates are few, comparing takes longer
/// than products.
pub const fn is_twice(padded: usize, fine: bool) -> bool {
    padded <= 16 && !fine
}

/// Clusters that fit shared memory at once.
pub const fn chunk(padded: usize, fine: bool) -> u32 {
    (ROOM / padded) as u32 / if fine { 2 } else { 1 }
}

/// Clusters times padded coordinates that do.
pub const ROOM: usize = 8192;

/// The unit, and how far scores may be off.
#[derive(Clone, Copy)]
pub struct Bound {
    /// A power of two, by which points and centroids are multiplied.
    pub unit: f32,
    /// The bits of a score in which its cluster's number is, among those that a lane sees of a chunk.
    pub(super) numbers: u32,
    /// Twice what scores are off, whatever the point.
    pub(super) apart: f32,
    /// The square of what is to be added to that for a point of length 1.
    pub(super) longer: f32,
    /// What is added to all scores, so that few are negative.
    lift: f32,
}

/// The unit: coordinates are below 2^10 in it, and lengths below 2^14, if they are no greater than those that the scale
/// was made for.
#[inline(always)]
pub(super) fn unit<S: Simt>(s: &S, call: &Assign) -> f32 {
    let scales: Global<f32> = array(call.at.scales);
    // One over the unit of a coordinate, of which 2^30 are no less than any.
    let (mut least, mut j) = (f32::INFINITY, s.lane());
    while s.again(j < call.dimensions) {
        least = least.min(s.load(scales, j as usize));
        j += 32;
    }
    for by in [1, 2, 4, 8, 16] {
        least = least.min(s.shuffle_xor(ALL, least, by));
    }
    least * (1.0 / (1 << 22) as f32)
}

impl Bound {
    /// By the halves of squares of all centroids.
    ///
    /// Let X and C be the lengths of the point and of the longest centroid in the unit, and D the coordinates with
    /// padding. A score is off by no more than
    ///
    /// - X·C·(2⁻¹⁰ + 2⁻²²), by f16's 11 bits of both (fine ones 3·2⁻²²), and (X + C)·2⁻²⁵·√D where they are subnormal;
    /// - (C²/2 + X·C)·D·2⁻²³ in a tensor core (fine ones three times that), if it loses 2⁻²⁰ of what it adds for every
    ///   eight products (it loses less), and D·2⁻²⁴ in the chain of fused multiply-adds that defines it;
    /// - (C²/2 + X·C)·2⁻²³ times the greatest number in the lowest bits, where there is one.
    ///
    /// The factors here are a little larger. What is lifted counts like C²/2.
    #[inline(always)]
    pub fn new<S: Simt, const D: usize, const FINE: bool>(s: &S, call: &Assign, half: impl Fn(u32) -> f32) -> Self {
        let (mut most, mut cluster) = (0.0f32, s.lane());
        while s.again(cluster < call.clusters) {
            most = most.max(half(cluster));
            cluster += 32;
        }
        for by in [1, 2, 4, 8, 16] {
            most = most.max(s.shuffle_xor(ALL, most, by));
        }
        let unit = unit(s, call);
        let power = |n: u32| (1 << n) as f32;
        let square = 2.0 * most * unit * unit;
        // A lane sees two of eight.
        let seen = call.clusters.min(const { chunk(D, FINE) }).next_multiple_of(TOGETHER) / 4;
        let numbers = if is_twice(D, FINE) { 0 } else { seen.next_power_of_two() - 1 };
        let lift = if is_twice(D, FINE) { 16.0 * square } else { 0.0 };
        let steps = D as f32 / power(21) + numbers as f32 / power(23);
        // √D·2⁻²⁵ is below 2⁻²¹; what it is with C goes by 1 + C², with X by 1 + C.
        let apart = (square + 2.0 * lift) * steps + (1.0 + square) / power(20);
        let off = if FINE { 1.0 / power(20) } else { 1.0 / power(10) + 1.0 / power(20) } + steps;
        let longer = 4.1 * (square * off * off + 1.0 / (power(19) * power(18)));
        // Of a centroid that is too far, nothing is known.
        let longer = if square < FAR { longer } else { f32::INFINITY };
        Self { unit, numbers, apart, longer, lift }
    }

    /// A coordinate of the centre in the unit.
    #[inline(always)]
    pub fn centre<S: Simt>(&self, s: &S, call: &Assign, j: u32) -> f32 {
        if s.branch(j < call.dimensions) { self.unit * s.load(array::<f32>(call.at.centre), j as usize) } else { 0.0 }
    }

    /// Half of a square in the square of the unit; not so little that differences of scores could be below 2⁻⁴⁸, as
    /// those of products are.
    #[inline(always)]
    pub fn half(&self, half: f32, is_there: bool) -> f32 {
        const LEAST: f32 = 1.0 / (1 << 24) as f32;
        if is_there { (half * self.unit * self.unit + self.lift).max(LEAST) } else { NOWHERE }
    }

    /// What the least rough score and another one are apart at most if both may be the nearest, by the square of the
    /// point's length.
    #[inline(always)]
    pub fn margin(&self, square: f32) -> f32 {
        self.apart + Real::sqrt(self.longer * square)
    }
}

/// Where centroids in f16 are, after the halves of squares.
#[inline(always)]
pub fn rough(halves: u64, clusters: u32) -> u64 {
    halves + 4 * clusters.next_multiple_of(16) as u64
}

/// Bytes of both.
pub const fn bytes(clusters: usize, padded: usize) -> usize {
    4 * clusters.next_multiple_of(16) + 4 * clusters.next_multiple_of(TOGETHER as usize) * padded
}

/// The scores of two tiles of 16 points each, or `FINE` of one, by the eight clusters that have number `at` in
/// `centroids` (as that kernel has left them) and `halves` (two of them twice, as sums begin with them). A lane
/// has two clusters: those of the point `lane / 4 + 8k` are `scores[k / 2][k % 2 * 2..][..2]`.
#[inline(always)]
pub fn scores<S: Simt, const D: usize, const FINE: bool>(
    s: &S,
    points: &Points<D, FINE>,
    centroids: Shared<u32>,
    halves: Shared<f32>,
    at: u32,
) -> [[f32; 4]; 2] {
    let lane = s.lane();
    let (piece, pieces) = const { (piece(D), (D / 4 / piece(D)) as u32) };
    let both = s.get(halves.cast::<Pack<f32, 4>>(), at * 4 + lane % 4).0;
    let mut scores = [both, if FINE { [0.0; 4] } else { both }];
    for p in 0..pieces {
        let place = (at * pieces + p) * 32 + lane;
        let high = neighbours_of_eight::<S, D>(s, centroids, place);
        let low = match FINE {
            true => neighbours_of_eight::<S, D>(s, centroids.offset(const { ROOM as u32 / 4 }), place),
            false => [0; 4],
        };
        for i in 0..piece / 2 {
            let rows = points.rough[p as usize * piece / 2 + i];
            let (first, second) = ([rows[0], rows[1]], [rows[2], rows[3]]);
            if FINE {
                // Two sums, so that they need not wait for each other.
                scores[0] = s.multiply_halves(first, high[i], scores[0]);
                scores[1] = s.multiply_halves(first, low[i], scores[1]);
                scores[1] = s.multiply_halves(second, high[i], scores[1]);
            } else {
                scores[0] = s.multiply_halves(first, high[i], scores[0]);
                scores[1] = s.multiply_halves(second, high[i], scores[1]);
            }
        }
    }
    if FINE {
        scores[0] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |i| scores[0][i] + scores[1][i],
        );
    }
    scores
}

/// A lane's neighbouring coordinates of one of eight centroids.
#[inline(always)]
fn neighbours_of_eight<S: Simt, const D: usize>(s: &S, centroids: Shared<u32>, place: u32) -> [u32; 4] {
    match const { piece(D) } {
        8 => s.get(centroids.cast::<Pack<u32, 4>>(), place).0,
        4 => {
            let words = s.get(centroids.cast::<u64>(), place);
            [words as u32, (words >> 32) as u32, 0, 0]
        }
        _ => [s.get(centroids, place), 0, 0, 0],
    }
}
