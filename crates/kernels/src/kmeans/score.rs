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
use crate::block::each;
use crate::kmeans::{Assign, Unsure, assign};
use crate::source::{Bits, Source, words};
use warpfold_core::Real;
use warpfold_simt::{ALL, Global, Pack, Shared, Simt};

/// Clusters that are compared at once.
pub const TOGETHER: u32 = 8;
/// Coordinates, with padding, that there are kernels for.
pub const PADDED: [usize; 5] = [8, 16, 32, 64, 128];
/// Steps of a product at most, of eight coordinates each.
const STEPS: usize = 16;

/// The square of a length, in the unit, from which on f16 might overflow.
pub const FAR: f32 = (1 << 30) as f32;
/// More than any score, of a cluster that is not there; finite also with a number in its lowest bits.
const NOWHERE: f32 = 3e38;

/// Points of a warp.
pub const fn points(fine: bool) -> u32 {
    if fine { 16 } else { 32 }
}

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

/// Neighbouring coordinates of a lane.
const fn piece(padded: usize) -> usize {
    if padded < 32 { padded / 4 } else { 8 }
}

/// Those that it reads at once.
const fn wide<T: Source>(padded: usize) -> usize {
    let (piece, most) = (piece(padded), T::Bits::PER as usize);
    if piece < most { piece } else { most }
}

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
fn unit<S: Simt>(s: &S, call: &Assign) -> f32 {
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

/// Half of the square of each centroid about the centre, and the centroids in f16, as lanes read them: \[eight
/// clusters\]\[piece\]\[lane\]\[coordinate of a piece\]; after all of them, what these lack, likewise. A block for each
/// eight.
#[inline(always)]
pub fn centroids<S: Simt>(s: &S, call: &Assign) {
    let (centroids, centre): (Global<f32>, Global<f32>) = (array(call.at.centroids), array(call.at.centre));
    let to: Global<u32> = array(rough(call.at.halves, call.clusters));
    let (padded, first, unit) = (call.padded, s.block_x() * TOGETHER, unit(s, call));
    if s.branch(first == 0) {
        Unsure::of(call, 0).clear(s);
        Unsure::of(call, 1).clear(s);
    }
    assign::half::<S, f32>(s, call, first, TOGETHER);
    each(s, s.thread_x(), TOGETHER * padded / 2, |i| {
        let (cluster, j) = place(padded, i);
        let two = [j, j + 1].map(
            #[inline(always)]
            |j| {
                if s.branch(first + cluster < call.clusters && j < call.dimensions) {
                    let at = (first + cluster) as usize * call.dimensions as usize + j as usize;
                    (s.load(centroids, at) - s.load(centre, j as usize)) * unit
                } else {
                    0.0
                }
            },
        );
        let at = first * padded / 2 + i;
        let all = call.clusters.next_multiple_of(TOGETHER) * padded / 2;
        let high = s.f32_to_f16_two(two);
        s.store(to, at as usize, high);
        s.store(to, (all + at) as usize, lacks(s, two, high));
    });
}

/// Which of eight centroids a pair of coordinates is of, and the first of the two, by its place.
#[inline(always)]
pub fn place(padded: u32, pair: u32) -> (u32, u32) {
    // The logarithm of a piece's coordinates, so that nothing is divided by a number that could be zero.
    let piece = if padded < 32 { (padded / 4).trailing_zeros() } else { 3 };
    let (place, own) = ((2 * pair) >> (piece & 3), (2 * pair) & ((1 << (piece & 3)) - 1));
    (place / 4 % 8, ((place / 32 * 4 + place % 4) << (piece & 3)) + own)
}

/// What two numbers as f16 lack.
#[inline(always)]
fn lacks<S: Simt>(s: &S, x: [f32; 2], halves: u32) -> u32 {
    let [low, high] = [halves as u16, (halves >> 16) as u16].map(|half| s.f16_to_f32(half));
    s.f32_to_f16_two([x[0] - low, x[1] - high])
}

/// Points of at most `D` coordinates. Four lanes share the points `lane / 4 + 8k`, `k` from 0 to 3, or `FINE`, to 1.
pub struct Points<const D: usize, const FINE: bool> {
    /// \[step\]\[point\], fine ones followed by what they lack; the first `D / 8` steps are there.
    rough: [[u32; 4]; STEPS],
    /// The squares of their lengths, of what this lane has.
    pub squares: [f32; 4],
}

impl<const D: usize, const FINE: bool> Points<D, FINE> {
    /// Reads those at these addresses, of which fine ones are two.
    #[inline(always)]
    pub fn read<S: Simt, T: Source<Value = f32>>(
        s: &S,
        call: &Assign,
        bound: &Bound,
        centre: Shared<f32>,
        at: [u64; 4],
    ) -> Self {
        let (piece, wide) = (const { piece(D) }, const { wide::<T>(D) });
        let own = const { points(FINE) as usize / 8 };
        let mut points = Self { rough: [[0; 4]; STEPS], squares: [0.0; 4] };
        for p in 0..D / 4 / piece {
            let from = (p as u32 * 4 + s.lane() % 4) * piece as u32;
            // All reads are under way before the first is used.
            let mut x = [[0.0; 8]; 4];
            if s.branch(call.wide != 0) {
                for (x, at) in x.iter_mut().zip(at).take(own) {
                    packs::<S, T, D>(s, call, at, from, x);
                }
            } else {
                for (x, at) in x.iter_mut().zip(at).take(own) {
                    ones::<S, T, D>(s, call, at, from, x);
                }
            }
            let (mut about, mut units) = ([0.0; 8], [0.0; 8]);
            for i in 0..piece {
                about[i] = s.get(centre, from + i as u32);
                // What is read in place of coordinates that are not there does not count.
                units[i] = if from + ((i / wide * wide) as u32) < call.dimensions { -bound.unit } else { 0.0 };
            }
            #[expect(clippy::needless_range_loop, reason = "several arrays are walked at once")]
            for k in 0..own {
                for i in 0..piece {
                    // Rounded once, since the unit is a power of two.
                    x[k][i] = s.fma_f32(units[i], x[k][i], about[i]);
                    points.squares[k] = s.fma_f32(x[k][i], x[k][i], points.squares[k]);
                }
                for i in 0..piece / 2 {
                    let two = [x[k][2 * i], x[k][2 * i + 1]];
                    let high = s.f32_to_f16_two(two);
                    points.rough[p * piece / 2 + i][k] = high;
                    if FINE {
                        points.rough[p * piece / 2 + i][k + 2] = lacks(s, two, high);
                    }
                }
            }
        }
        points
    }
}

/// A lane's neighbouring coordinates of a point, from number `from`, several at a time; where there are none, the first
/// ones again: a choice is cheaper than a branch.
#[inline(always)]
fn packs<S: Simt, T: Source<Value = f32>, const D: usize>(
    s: &S,
    call: &Assign,
    point: u64,
    from: u32,
    x: &mut [f32; 8],
) {
    let wide = const { wide::<T>(D) };
    for i in 0..const { piece(D) } / wide {
        let j = from + (i * wide) as u32;
        let j = if j < call.dimensions { j } else { 0 };
        let words = words(s, array(point + (j * T::Bits::SIZE) as u64), wide as u32 * T::Bits::SIZE);
        for w in 0..wide {
            x[i * wide + w] = T::value(s, T::Bits::nth(&words, w));
        }
    }
}

/// The same one at a time; those that are not there stay zero.
#[inline(always)]
fn ones<S: Simt, T: Source<Value = f32>, const D: usize>(
    s: &S,
    call: &Assign,
    point: u64,
    from: u32,
    x: &mut [f32; 8],
) {
    for (x, j) in x.iter_mut().zip(from..).take(const { piece(D) }) {
        if s.branch(j < call.dimensions) {
            *x = T::value(s, s.load(array(point + j as u64 * call.across), 0));
        }
    }
}

/// The scores of two tiles of 16 points each, or `FINE` of one, by the eight clusters that have number `at` in
/// `centroids` (as [`fn@centroids`] has left them) and `halves` (two of them twice, as sums begin with them). A lane
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
