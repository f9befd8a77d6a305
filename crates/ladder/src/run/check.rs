//! The comparator of results with exact sums.

use crate::plan::{Buffer, Plan, Sizes};

/// Half the spacing of f32 at 1.
const UNIT: f64 = 1.0 / (1u64 << 24) as f64;

/// The exact sum of floats.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Exact {
    /// The sum; exact in f64 for the numbers of [`super::data`].
    pub sum: f64,
    /// Σ|x|.
    pub size: f64,
}

impl Exact {
    /// The exact sum of these numbers.
    pub fn of(x: impl IntoIterator<Item = f32>) -> Exact {
        x.into_iter()
            .fold(Exact::default(), |e, x| Exact { sum: e.sum + f64::from(x), size: e.size + f64::from(x.abs()) })
    }

    /// The bound on the error of a sum in which no element goes through more than `depth` additions. Each addition
    /// rounds by at most half a unit, relative to a partial sum that Σ|x| bounds.
    pub fn tolerance(&self, depth: u64) -> f64 {
        let relative = depth as f64 * UNIT;
        relative / (1.0 - relative) * self.size
    }

    /// The error of `actual`, or what is wrong with it.
    ///
    /// # Errors
    /// If it is further off than the tolerance for `depth`. A NaN is, and so is everything if the tolerance is not
    /// finite.
    pub fn check(&self, actual: f32, depth: u64) -> Result<f64, String> {
        let (error, tolerance) = ((f64::from(actual) - self.sum).abs(), self.tolerance(depth));
        // Not `error > tolerance`: a NaN must fail.
        if error <= tolerance && (0.0..f64::INFINITY).contains(&tolerance) {
            return Ok(error);
        }
        Err(format!("{actual:e} is not {:e}: off by {error:.3e}, at most {tolerance:.3e} is rounding", self.sum))
    }
}

/// The greatest number of additions that an element of a reduction goes through: in each launch those within a thread,
/// those of the tree, and the atomics.
pub fn depth(plan: &Plan, n: u64, is_atomic: bool) -> u64 {
    let mut left = n;
    let mut depth = 0;
    for launch in plan.launches() {
        let (grid, block) = (u64::from(launch.grid), u64::from(launch.block));
        depth += left.div_ceil(grid * block) + 11 + u64::from(is_atomic) * grid;
        left = grid;
    }
    depth.max(1)
}

/// The same for a centroid update: the points of a block one after the other, then the blocks.
pub fn depth_centroids(plan: &Plan) -> u64 {
    plan.launches().map(|l| 16 + u64::from(l.block) + u64::from(l.grid)).max().unwrap_or(1)
}

/// The expected result of an input.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Integers: exactly this sum.
    Integer(i32),
    /// Whole floats: exactly this sum.
    Whole(f32),
    /// Floats: this sum, within rounding errors.
    Float(Exact),
    /// The result must still be all ones, as it was before the run.
    Untouched,
    /// Centroids.
    Cells {
        /// `[cluster][coordinate]`.
        sums: Vec<Exact>,
        /// The number of points per cluster.
        counts: Vec<u32>,
        /// Whether sums must be exact.
        is_whole: bool,
    },
}

impl Answer {
    /// The expected sum of integers.
    pub fn integers(x: &[i32]) -> Answer {
        Answer::Integer(x.iter().map(|&x| i64::from(x)).sum::<i64>() as i32)
    }

    /// The expected centroids of points `[coordinate][point]`.
    pub fn cells(points: &[f32], labels: &[i32], sizes: Sizes, is_whole: bool) -> Answer {
        let (n, coords) = (sizes.points as usize, sizes.coords as usize);
        let mut counts = vec![0; sizes.clusters as usize];
        labels.iter().for_each(|&l| counts[l as usize] += 1);
        let mut sums = vec![Exact::default(); sizes.clusters as usize * coords];
        for (a, row) in points.chunks(n.max(1)).enumerate() {
            for (&x, &label) in row.iter().zip(labels) {
                let cell = &mut sums[label as usize * coords + a];
                *cell = Exact { sum: cell.sum + f64::from(x), size: cell.size + f64::from(x.abs()) };
            }
        }
        Answer::Cells { sums, counts, is_whole }
    }

    /// Checks the whole of a result, as bits. The first line of an answer's words is what to show.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self, output: &[u32], counts: &[u32], depth: u64) -> Result<String, String> {
        let one = || match *output {
            [bits] => Ok(bits),
            _ => Err(format!("{} results instead of one", output.len())),
        };
        match self {
            Answer::Integer(expected) => match one()? as i32 {
                actual if actual == *expected => Ok("exact".into()),
                actual => Err(format!("{actual} is not {expected}")),
            },
            Answer::Whole(expected) => match f32::from_bits(one()?) {
                actual if actual == *expected => Ok("exact on whole numbers".into()),
                actual => Err(format!("{actual:e} is not {expected:e}, the exact sum of whole numbers")),
            },
            Answer::Float(exact) => exact.check(f32::from_bits(one()?), depth).map(|error| {
                let tolerance = exact.tolerance(depth);
                format!("off by {error:.1e} of at most {tolerance:.1e} ({depth} additions deep × 2^-24 × Σ|x|)")
            }),
            Answer::Untouched => match output.iter().all(|&bits| bits == u32::MAX) {
                true => Ok("has no result".into()),
                false => Err("wrote something".into()),
            },
            Answer::Cells { sums, counts: expected, is_whole } => {
                if counts != expected {
                    return Err(format!("counts {counts:?} are not {expected:?}"));
                }
                if output.len() != sums.len() {
                    return Err(format!("{} sums instead of {}", output.len(), sums.len()));
                }
                let (mut worst, mut allowed) = (0.0, 0.0f64);
                for (i, (&bits, exact)) in output.iter().zip(sums).enumerate() {
                    let actual = f32::from_bits(bits);
                    let said = match is_whole {
                        true if f64::from(actual) == exact.sum => Ok(0.0),
                        true => Err(format!("{actual:e} is not {:e}, the exact sum of whole numbers", exact.sum)),
                        false => exact.check(actual, depth),
                    };
                    let error = said.map_err(|wrong| format!("cell {i}: {wrong}"))?;
                    if error >= worst {
                        (worst, allowed) = (error, exact.tolerance(depth));
                    }
                }
                Ok(match is_whole {
                    true => "counts exact, sums exact on whole numbers".into(),
                    false => {
                        format!("off by {worst:.1e} of at most {allowed:.1e} ({depth} additions deep × 2^-24 × Σ|x|)")
                    }
                })
            }
        }
    }
}

impl Answer {
    /// Checks means, as bits: each is the exact sum's quotient, but for the unit that coordinates were rounded to, and
    /// one rounding. Of no points it is NaN.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check_means(&self, means: &[u32], counts: &[u32]) -> Result<String, String> {
        let Answer::Cells { sums, counts: expected, is_whole } = self else {
            return Err("there are no means of sums".into());
        };
        if counts != expected {
            return Err(format!("counts {counts:?} are not {expected:?}"));
        }
        if means.len() != sums.len() {
            return Err(format!("{} means instead of {}", means.len(), sums.len()));
        }
        // Half of a unit, which is 2^-30 of the greatest magnitude, 4. Whole numbers are multiples of the unit.
        let unit = if *is_whole { 0.0 } else { 0.5f64.powi(29) };
        let width = sums.len() / counts.len().max(1);
        for (i, (&bits, exact)) in means.iter().zip(sums).enumerate() {
            let (mean, count) = (f64::from(f32::from_bits(bits)), counts[i / width]);
            let (want, is_empty) = (exact.sum / f64::from(count), count == 0);
            let near = (mean - want).abs() <= unit + UNIT * want.abs();
            if if is_empty { !mean.is_nan() } else { !near } {
                return Err(format!("cell {i}: {mean:e} is not {want:e}, the mean of {count} points"));
            }
        }
        Ok(match is_whole {
            true => "counts exact, means exact but for one rounding on whole numbers".into(),
            false => "means within 2^-29 and one rounding".into(),
        })
    }
}

/// The buffers of a plan that hold its result, in the order in which [`Answer::check`] takes them.
pub fn results(plan: &Plan) -> impl Iterator<Item = Buffer> + '_ {
    [Buffer::Output, Buffer::Counts].into_iter().filter(|b| plan.buffers.iter().any(|x| x.0 == *b))
}

#[cfg(test)]
mod tests {
    use super::super::data;
    use super::*;

    const N: u64 = 4097;

    #[test]
    fn a_sum_passes_and_its_last_bit_may_differ() {
        let exact = Exact::of(data::floats(N, 1));
        let sum = exact.sum as f32;
        assert!(exact.check(sum, 12).is_ok() && exact.check(sum.next_up(), 12).is_ok());
        assert!(Exact::default().check(-0.0, 1).is_ok());
    }

    #[test]
    fn zero_nan_infinity_and_a_dropped_or_doubled_element_fail() {
        let x = data::floats(N, 1);
        let exact = Exact::of(x.iter().copied());
        let far = f64::from(*x.iter().find(|x| x.abs() > 0.5).expect("one of 4097"));
        for wrong in [0.0, f32::NAN, f32::INFINITY, (exact.sum - far) as f32, (exact.sum + far) as f32] {
            assert!(exact.check(wrong, 40).is_err(), "{wrong}");
        }
        assert!(Exact::of([f32::NAN]).check(1.0, 1).is_err());
        assert!(Exact::of([f32::INFINITY]).check(f32::INFINITY, 1).is_err());
        assert!(exact.check(exact.sum as f32, 1 << 25).is_err(), "a bound that says nothing");
    }

    #[test]
    fn any_dropped_or_doubled_element_of_whole_numbers_fails_at_any_length() {
        let n = 1 << 20;
        let x = data::whole(n, 1);
        let sum: f32 = x.iter().sum();
        let answer = Answer::Whole(Exact::of(x.iter().copied()).sum as f32);
        let check = |sum: f32| answer.check(&[sum.to_bits()], &[], 1 << 23);
        assert!(check(sum).is_ok());
        for i in [0, 31, 1 << 19, n as usize - 1] {
            assert!(check(sum - x[i]).is_err() && check(sum + x[i]).is_err(), "element {i}");
        }
        assert!(check(0.0).is_err() && check(f32::NAN).is_err() && check(f32::from_bits(u32::MAX)).is_err());
    }

    #[test]
    fn integers_are_exact_and_wrap() {
        let x = data::integers(1000, 1);
        let sum = x.iter().fold(0, |a: i32, &x| a.wrapping_add(x));
        let answer = Answer::integers(&x);
        assert!(answer.check(&[sum as u32], &[], 1).is_ok());
        for wrong in [0, sum.wrapping_sub(x[7]), sum ^ 1, -1] {
            assert!(answer.check(&[wrong as u32], &[], 1).is_err());
        }
        assert!(answer.check(&[], &[], 1).is_err() && answer.check(&[sum as u32; 2], &[], 1).is_err());
    }

    #[test]
    fn centroids_fail_on_a_count_a_cell_or_a_point() {
        let sizes = Sizes { points: 1000, clusters: 4, coords: 2 };
        let (points, labels) = (data::whole(2000, 1), data::labels(1000, 2, 4));
        let mut sums = [0.0f32; 8];
        let mut counts = [0; 4];
        for i in 0..1000 {
            let c = labels[i] as usize;
            counts[c] += 1;
            (0..2).for_each(|a| sums[c * 2 + a] += points[a * 1000 + i]);
        }
        let bits = |sums: [f32; 8]| sums.map(f32::to_bits);
        for is_whole in [true, false] {
            let answer = Answer::cells(&points, &labels, sizes, is_whole);
            assert!(answer.check(&bits(sums), &counts, 20).is_ok());
            let (mut few, mut off) = (counts, sums);
            few[2] -= 1;
            off[5] += points[0];
            assert!(answer.check(&bits(sums), &few, 20).is_err());
            assert!(answer.check(&bits(off), &counts, 20).is_err());
            let means = |sums: [f32; 8]| -> Vec<u32> {
                sums.iter().enumerate().map(|(i, sum)| (sum / counts[i / 2] as f32).to_bits()).collect()
            };
            assert!(answer.check_means(&means(sums), &counts).is_ok());
            assert!(answer.check_means(&means(sums), &few).is_err());
            assert!(answer.check_means(&means(off), &counts).is_err());
            assert!(answer.check_means(&bits(sums), &counts).is_err() && answer.check_means(&[], &counts).is_err());
            off[5] = f32::NAN;
            assert!(answer.check(&bits(off), &counts, 20).is_err());
            assert!(answer.check_means(&means(off), &counts).is_err());
            assert!(answer.check(&bits([0.0; 8]), &counts, 20).is_err());
            assert!(answer.check(&[], &counts, 20).is_err());
        }
    }
}
