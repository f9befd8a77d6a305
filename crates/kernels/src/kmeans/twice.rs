//! The nearest of many clusters in few coordinates: scores are made twice.
//!
//! Tensor cores make scores faster than they can be compared: to keep the least one, its cluster and the next one takes
//! four instructions for each, at half of the rate. So the first time only the least is kept, by a `min` of whole
//! numbers that takes two scores at once. Then every point has a limit, [`Bound::margin`] above its least score, and
//! scores are made again: a multiply-add that saturates is 1 below the limit and 0 from there on, and another one adds
//! 2²³ and the cluster's number if it is 1, both at the full rate. A sum below 2²⁴ is one cluster's: the nearest one.

use crate::kmeans::score::{Bound, FAR, TOGETHER};
use crate::kmeans::two::swap;
use warpfold_simt::{ALL, Simt};

/// By which a difference of scores is multiplied: those that differ are 2⁻⁴⁸ apart, or more.
const STEEP: f32 = (1u64 << 63) as f32;
/// The bits of 2²³, to which a cluster's number is added.
const ONE: u32 = 0x4b00_0000;

/// The point that a lane answers for, of the 32: four lanes share four.
#[inline(always)]
pub fn own(lane: u32) -> u32 {
    lane / 4 + 8 * (lane % 2 * 2 + lane / 2 % 2)
}

/// Of two points each, a lane keeps one of both and gives the other away, until it has all that is known of its
/// [`own`].
#[inline(always)]
fn meet<S: Simt, const N: usize>(s: &S, x: [[f32; 4]; N], join: impl Fn([f32; N], [f32; N]) -> [f32; N]) -> [f32; N] {
    let mut both = [[0.0; N]; 2];
    let halve = |by: u32, first: [f32; N], second: [f32; N]| {
        let (mut kept, mut other) = ([0.0; N], [0.0; N]);
        for i in 0..N {
            other[i] = swap(s, by, &mut kept[i], [first[i], second[i]]);
        }
        join(kept, other)
    };
    for (k, both) in both.iter_mut().enumerate() {
        *both = halve(1, x.map(|x| x[k]), x.map(|x| x[k + 2]));
    }
    halve(2, both[0], both[1])
}

/// The least score of each point, of the clusters that this lane has seen: its bits, as negative ones need not be in
/// order. Then the limit is too high, and the point not sure.
pub struct Least([i32; 4]);

impl Least {
    /// Before any.
    pub const NONE: Self = Self([i32::MAX; 4]);

    /// Takes the scores by eight clusters.
    #[inline(always)]
    pub fn take(&mut self, scores: [[f32; 4]; 2]) {
        for (k, least) in self.0.iter_mut().enumerate() {
            let [even, odd] = [0, 1].map(|i| scores[k / 2][k % 2 * 2 + i].to_bits() as i32);
            *least = even.min(odd).min(*least);
        }
    }

    /// What scores of clusters that may be the nearest are below.
    #[inline(always)]
    pub fn limits<S: Simt>(self, s: &S, squares: [f32; 4], bound: &Bound) -> Limits {
        let least = self.0.map(|bits| f32::from_bits(bits as u32));
        let [least, square] = meet(
            s,
            [least, squares],
            #[inline(always)]
            |[a, b], [c, d]| [a.min(c), b + d],
        );
        let limit = if square < FAR { (least + bound.margin(square)) * STEEP } else { f32::NAN };
        let limits = warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| s.shuffle_idx(ALL, limit, s.lane() / 4 * 4 + (k / 2 + k % 2 * 2) as u32),
        );
        Limits { limits, found: [0.0; 4] }
    }
}

/// What is below the limits.
pub struct Limits {
    /// Of each point, times [`STEEP`].
    limits: [f32; 4],
    /// The sum of 2²³ and the cluster's number, of those that are below.
    found: [f32; 4],
}

impl Limits {
    /// Takes the scores by eight clusters that begin with number `from`.
    #[inline(always)]
    pub fn take<S: Simt>(&mut self, s: &S, scores: [[f32; 4]; 2], from: u32) {
        let first = ONE + from + s.lane() % 4 * 2;
        for k in 0..4 {
            for i in 0..2 {
                let is_below = s.fma_saturated(scores[k / 2][k % 2 * 2 + i], -STEEP, self.limits[k]);
                self.found[k] = s.fma_f32(is_below, f32::from_bits(first + i as u32), self.found[k]);
            }
        }
    }

    /// The cluster nearest to the lane's [`own`] point, and whether that is certain.
    #[inline(always)]
    pub fn settle<S: Simt>(self, s: &S) -> (u32, bool) {
        let [found] = meet(
            s,
            [self.found],
            #[inline(always)]
            |[a], [b]| [a + b],
        );
        let label = found.to_bits().wrapping_sub(ONE);
        (label, label < 1 << 23)
    }
}

/// Clusters at most, with those that only pad.
pub const MOST: usize = (1 << 23) - TOGETHER as usize;
