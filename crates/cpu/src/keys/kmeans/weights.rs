//! Weights of points, as whole numbers: sums of them, and of coordinates times them, do not depend on an order.

use warpfold_array::KeyError;
use warpfold_core::Fixed;

use super::points::{Coordinate, Points, Scale, TILE};
use crate::parallel;

/// The most bits of a weight, less one.
const BITS: i32 = 30;
/// The fewest points of a task.
const PART: usize = 1 << 14;

/// Weights that are finite and not negative, of which one at least is positive.
pub struct Weights<'a> {
    given: &'a [f64],
    /// The weights in units of 2^-30 of the greatest power of two that is not above the greatest weight: at most 2^31.
    units: Vec<u32>,
}

impl<'a> Weights<'a> {
    /// The weights of `n` points.
    pub fn new(given: &'a [f64], n: usize) -> Result<Self, KeyError> {
        let bad = |why: String| Err(KeyError::Clusters { why });
        if given.len() != n {
            return bad(format!("{} weights for {n} points: give one for each", given.len()));
        }
        if let Some(at) = given.iter().position(|w| !w.is_finite() || *w < 0.0) {
            return bad(format!("weight {at} is {}: weights must be finite and not negative", given[at]));
        }
        let greatest = given.iter().fold(0.0, |a: f64, &b| a.max(b));
        if greatest == 0.0 {
            return bad("all weights are zero".into());
        }
        let scale = <f64 as Fixed>::scale(<f64 as Fixed>::unit(greatest) + 61 - BITS);
        Ok(Self { given, units: given.iter().map(|w| (w * scale).round_ties_even() as u32).collect() })
    }

    /// The weights as whole numbers.
    pub fn units(&self) -> &[u32] {
        &self.units
    }

    /// Squares of distances times weights.
    pub fn times<F: Coordinate>(&self, squares: &[F]) -> Vec<f64> {
        squares.iter().zip(self.given).map(|(square, w)| square.to_f64() * w).collect()
    }

    /// Takes points without weight out of a search for the greatest square.
    pub fn leave_out<F: Coordinate>(&self, squares: &mut [F]) {
        let all = squares.iter_mut().zip(&self.units);
        all.filter(|(_, w)| **w == 0).for_each(|(square, _)| *square = F::from_f64(-1.0));
    }

    /// The weighted means of clusters; `None` of those without weight.
    pub fn means<F: Coordinate>(
        &self,
        points: &Points<'_>,
        labels: &[u32],
        clusters: usize,
        scale: &Scale,
    ) -> Vec<Option<Vec<F>>> {
        let (d, tiles) = (points.dimensions, points.n.div_ceil(TILE));
        let scales: Vec<F> = scale.units.iter().map(|&unit| F::scale(unit)).collect();
        let parts = (points.n / PART.max(4 * clusters)).clamp(1, parallel::threads());
        let empty = || (vec![0i128; clusters * d], vec![0u64; clusters]);
        let part = |part: usize| {
            let (mut totals, mut weights) = empty();
            let mut room = Vec::new();
            for tile in tiles * part / parts..tiles * (part + 1) / parts {
                parallel::look();
                let (from, len) = (tile * TILE, TILE.min(points.n - tile * TILE));
                let x = points.read::<F>(from, len, TILE, &mut room);
                for (point, &label) in labels[from..from + len].iter().enumerate() {
                    let (cluster, weight) = (label as usize, self.units[from + point]);
                    weights[cluster] += weight as u64;
                    let totals = &mut totals[cluster * d..(cluster + 1) * d];
                    for ((total, x), &scale) in totals.iter_mut().zip(x.chunks_exact(TILE)).zip(&scales) {
                        *total += x[point].units(scale) as i128 * weight as i128;
                    }
                }
            }
            (totals, weights)
        };
        let (totals, weights) = parallel::map(parts, part).into_iter().fold(empty(), |mut a, b| {
            a.0.iter_mut().zip(b.0).for_each(|(a, b)| *a += b);
            a.1.iter_mut().zip(b.1).for_each(|(a, b)| *a += b);
            a
        });
        let mean = |(totals, &weight): (&[i128], &u64)| {
            let all = totals.iter().zip(&scale.units);
            (weight > 0).then(|| all.map(|(&total, &unit)| quotient(total, weight, unit)).collect())
        };
        totals.chunks_exact(d).zip(&weights).map(mean).collect()
    }
}

/// `total / weight` in units of 2^`unit`, rounded to nearest even.
fn quotient<F: Coordinate>(total: i128, weight: u64, unit: i32) -> F {
    let magnitude = total.unsigned_abs();
    if magnitude == 0 {
        return F::ZERO;
    }
    // 128 bits over at most 63: a quotient of 65 or more, of which 64 are kept.
    let shift = magnitude.leading_zeros();
    let (long, rest) = ((magnitude << shift) / weight as u128, (magnitude << shift) % weight as u128);
    let drop = 64 - long.leading_zeros() as i32;
    let cut = rest != 0 || long & ((1 << drop) - 1) != 0;
    let mean = F::rounded((long >> drop) as u64 | cut as u64, unit - shift as i32 + drop);
    if total < 0 { F::ZERO.sub(mean) } else { mean }
}

#[cfg(test)]
mod tests {
    use super::{Coordinate, quotient};
    use warpfold_core::Fixed;

    #[test]
    fn quotients_are_those_of_means() {
        fn agree<F: Coordinate>(total: i64, count: u64, unit: i32, plain: F) {
            for factor in [1, 3, 1 << 20] {
                let found: F = quotient(total as i128 * factor as i128, count * factor, unit);
                assert_eq!(found.to_f64().to_bits(), plain.to_f64().to_bits(), "{total} / {count}, {unit}");
            }
        }
        let mut x = 1u64;
        for _ in 0..50_000 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (total, count) = ((x as i64) >> (x % 40), 1 + (x >> 44));
            let unit = (x >> 9) as i32 % 90;
            agree(total, count, unit, f32::mean(total, count, unit));
            agree(total, count, unit - 500, f64::mean(total as i128, count, unit - 500));
        }
    }
}
