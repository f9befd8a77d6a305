//! The first centroids: random points, or random points far from each other.

use std::borrow::Cow;
use std::collections::HashMap;

use super::assign::distances;
use super::points::{Coordinate, Finite, Points};
use crate::parallel;
use warpfold_array::KeyError;

/// Points whose weights have a sum of their own.
const BLOCK: usize = 1 << 14;

/// Random numbers: the i-th is a function of the seed, the run and i.
pub(super) struct Draws {
    key: u64,
    drawn: u64,
}

/// The finaliser of splitmix64: 64 bits to 64 bits, one to one.
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl Draws {
    /// The random numbers of a run.
    pub fn new(seed: u64, run: u64) -> Self {
        Self { key: mix(seed).wrapping_add(mix(run.wrapping_add(0x9e37_79b9_7f4a_7c15))), drawn: 0 }
    }

    fn next(&mut self) -> u64 {
        self.drawn += 1;
        mix(self.key.wrapping_add(self.drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// A number below `n`: the high word of the product.
    pub fn below(&mut self, n: u64) -> u64 {
        ((self.next() as u128 * n as u128) >> 64) as u64
    }
}

/// Different random points, all with one probability, as \[cluster\]\[coordinate\].
pub(super) fn random<F: Coordinate>(points: &Points<'_>, clusters: usize, draws: &mut Draws) -> Vec<F> {
    // A shuffle of the first places of a list of all points. Only entries that have moved are stored.
    let mut moved: HashMap<u64, u64> = HashMap::new();
    let mut centroids = Vec::with_capacity(clusters * points.dimensions);
    for at in 0..clusters as u64 {
        let from = at + draws.below(points.n as u64 - at);
        let here = moved.get(&at).copied().unwrap_or(at);
        let chosen = moved.insert(from, here).unwrap_or(from);
        centroids.extend(points.one::<F>(chosen as usize));
    }
    centroids
}

/// Different points, each drawn with its weight among those that are left; if these have none, the first of them.
pub(super) fn weighted<F: Coordinate>(
    points: &Points<'_>,
    clusters: usize,
    draws: &mut Draws,
    weights: &[u32],
) -> Vec<F> {
    let mut left: Vec<Option<u32>> = weights.iter().copied().map(Some).collect();
    let mut centroids = Vec::with_capacity(clusters * points.dimensions);
    for _ in 0..clusters {
        let total: u64 = left.iter().flatten().map(|&w| w as u64).sum();
        let chosen = if total == 0 {
            left.iter().position(Option::is_some)
        } else {
            pick(left.iter().map(|w| w.map_or(0, u64::from)), draws.below(total))
        };
        let chosen = chosen.expect("there are as many points as clusters");
        left[chosen] = None;
        centroids.extend(points.one::<F>(chosen));
    }
    centroids
}

/// The place of the first weight with which the running sum exceeds a number.
fn pick(weights: impl Iterator<Item = u64>, mut left: u64) -> Option<usize> {
    weights.into_iter().position(|weight| {
        let here = left < weight;
        left -= if here { 0 } else { weight };
        here
    })
}

/// k-means++: the weight of a point is the square of its distance to the nearest point chosen before, as a whole number
/// of units of 2^-30 of the greatest such square. If all squares are zero, all points have one probability. Points that
/// have weights are drawn by squares times weights, at first and if all squares are zero by weights. `tell` is called
/// with the number of points chosen.
pub(super) fn plus_plus<F: Coordinate>(
    points: &Points<'_>,
    clusters: usize,
    draws: &mut Draws,
    weights: Option<&[u32]>,
    tell: &mut dyn FnMut(usize),
) -> Result<Vec<F>, KeyError> {
    let any = |draws: &mut Draws| match weights {
        None => draws.below(points.n as u64) as usize,
        Some(weights) => {
            let all = weights.iter().map(|&w| w as u64);
            pick(all.clone(), draws.below(all.sum())).expect("it is below the total")
        }
    };
    let mut centroids: Vec<F> = points.one(any(draws));
    let mut nearest = vec![F::from_f64(f64::INFINITY); points.n];
    for chosen in 1..clusters {
        tell(chosen);
        let latest = &centroids[centroids.len() - points.dimensions..];
        distances(points, latest, &mut nearest, |before, now| if now < before { now } else { before });
        let squares = match weights {
            None => Cow::Borrowed(&nearest[..]),
            Some(weights) => {
                let part = |(x, &w): (&F, &u32)| x.mul(F::from_f64(w as f64 * 0.5f64.powi(31)));
                Cow::Owned(nearest.iter().zip(weights).map(part).collect())
            }
        };
        let blocks: Vec<&[F]> = squares.chunks(BLOCK).collect();
        let greater = |a, b| if a < b { b } else { a };
        let of_blocks = parallel::map(blocks.len(), |i| blocks[i].iter().copied().fold(F::ZERO, greater));
        let greatest = of_blocks.into_iter().fold(F::ZERO, greater);
        if !greatest.finite() {
            return Err(KeyError::TooFar);
        }
        let scale = F::scale(F::unit(greatest));
        let weight = |x: &F| F::weight(x.quantize(scale));
        let of_blocks: Vec<u64> = parallel::map(blocks.len(), |i| blocks[i].iter().map(weight).sum());
        let total: u64 = of_blocks.iter().sum();
        let chosen = if total == 0 {
            any(draws)
        } else {
            let mut left = draws.below(total);
            let reaches = |weight: u64, left: &mut u64| {
                let here = *left < weight;
                *left -= if here { 0 } else { weight };
                here
            };
            let block = of_blocks.iter().position(|&weight| reaches(weight, &mut left)).expect("it is below the total");
            let within = squares[block * BLOCK..].iter().position(|x| reaches(weight(x), &mut left));
            block * BLOCK + within.expect("it is below the block's")
        };
        centroids.extend(points.one::<F>(chosen));
    }
    Ok(centroids)
}
