//! The address map: where the elements of a reduced sequence lie.
//!
//! Idea: the tree does not care where elements lie, only in which order they come. Reduced axes that are not one axis
//! in memory are *runs* of elements at equal distances, at equal distances themselves, and these again. A division by
//! a number that the host knows is a multiplication, so each lane finds its elements by itself.

use crate::params::params;

params! {
    #[derive(Default)]
    /// Divides by a number that is known beforehand, with a multiplication (Granlund and Montgomery, *Division by
    /// invariant integers using multiplication*, 1994).
    pub struct Divisor {
        /// The number, at least 1.
        pub by: u64,
        /// The low 64 bits of a factor of 65 bits, of which the highest is set.
        pub factor: u64,
        /// The logarithm of the number, rounded up.
        pub shift: u64,
    }

    #[derive(Default)]
    /// Where the elements of up to three reduced axes lie, from the first.
    pub struct Map {
        /// Elements of a run: the innermost axis.
        pub run: Divisor,
        /// Bytes from element to element of a run.
        pub near: i64,
        /// Bytes from run to run.
        pub far: i64,
        /// Runs of a turn: the axis in the middle.
        pub turn: Divisor,
        /// Bytes from turn to turn.
        pub beyond: i64,
        /// How many axes there are: 1, 2 or 3.
        pub axes: u64,
    }
}

impl Divisor {
    /// Divides by `by`, at least 1.
    #[must_use]
    pub const fn new(by: u64) -> Self {
        let shift = (u64::BITS - (by - 1).leading_zeros()) as u64;
        // Below 2^64, since 2^shift - by is less than by.
        let factor = ((((1u128 << shift) - by as u128) << 64) / by as u128) as u64;
        Self { by, factor: factor.wrapping_add(1), shift }
    }

    /// Quotient and remainder of a number below 2^63.
    #[inline(always)]
    #[must_use]
    pub fn divide(&self, n: u64) -> (u64, u64) {
        let high = ((n as u128 * self.factor as u128) >> 64) as u64;
        let quotient = (high + n) >> self.shift;
        (quotient, n - quotient * self.by)
    }

    /// The same of numbers below 2^31; so is `by`.
    #[inline(always)]
    #[must_use]
    pub fn divide_small(&self, n: u32) -> (u32, u32) {
        // The high half of the factor is that of a division of 32 bits.
        let factor = ((self.factor.wrapping_sub(1) >> 32) as u32).wrapping_add(1);
        let high = ((n as u64 * factor as u64) >> 32) as u32;
        let quotient = (high + n) >> self.shift as u32;
        (quotient, n - quotient * self.by as u32)
    }
}

impl Map {
    /// One run, of elements `near` bytes apart.
    #[must_use]
    pub const fn one(near: i64) -> Self {
        Self { run: Divisor::new(1), near, far: 0, turn: Divisor::new(1), beyond: 0, axes: 1 }
    }

    /// Bytes from the first element to element `i`, and how many elements of its run there are from it on: no fewer
    /// than all, if there is one run.
    #[inline(always)]
    #[must_use]
    pub fn find(&self, i: u64) -> (i64, u64) {
        if self.axes <= 1 {
            return (i as i64 * self.near, u64::MAX);
        }
        let (run, inside) = self.run.divide(i);
        (self.run_at(run) + inside as i64 * self.near, self.run.by - inside)
    }

    /// Bytes from the first run to run number `run`, where there are several.
    #[inline(always)]
    #[must_use]
    pub fn run_at(&self, run: u64) -> i64 {
        if self.axes <= 2 {
            return run as i64 * self.far;
        }
        let (turn, run) = self.turn.divide(run);
        run as i64 * self.far + turn as i64 * self.beyond
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_is_exact() {
        let edges = |d: u64| [1, 2, 3, 1 << 31, (1 << 62) - 1, (1 << 63) / d].map(|k| k.wrapping_mul(d));
        for d in (1..=300).chain([641, 12_544, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, (1 << 62) + 1, (1 << 63) - 1]) {
            let divisor = Divisor::new(d);
            for n in edges(d).into_iter().flat_map(|n| [n.wrapping_sub(1), n, n.wrapping_add(1)]).chain(0..1000) {
                let n = n & ((1 << 63) - 1);
                assert_eq!(divisor.divide(n), (n / d, n % d), "{n} / {d}");
                if n < 1 << 31 && d < 1 << 31 {
                    assert_eq!(divisor.divide_small(n as u32), ((n / d) as u32, (n % d) as u32), "{n} / {d}");
                }
            }
        }
    }

    #[test]
    fn three_axes_are_walked_in_order() {
        let (lens, strides) = ([3u64, 5, 7], [1000i64, -64, 4]);
        let (run, turn) = (Divisor::new(lens[2]), Divisor::new(lens[1]));
        let map = Map { run, near: strides[2], far: strides[1], turn, beyond: strides[0], axes: 3 };
        let mut i = 0;
        for a in 0..lens[0] as i64 {
            for b in 0..lens[1] as i64 {
                for c in 0..lens[2] as i64 {
                    let at = a * strides[0] + b * strides[1] + c * strides[2];
                    assert_eq!(map.find(i), (at, lens[2] - c as u64));
                    i += 1;
                }
            }
        }
    }
}
