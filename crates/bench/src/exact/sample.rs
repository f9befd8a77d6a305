//! The choice of outputs that are compared.

use crate::case::Case;
use crate::side::Positions;

/// The number of elements that are read for the sampled outputs, unless one output has more.
pub const BUDGET: usize = 1 << 25;
/// The greatest number of sampled outputs.
pub const MOST: usize = 4096;

/// The outputs whose values are compared: the first, the last, and others in between.
pub fn positions(case: &Case) -> Positions {
    let outputs = case.outputs();
    let wanted = (BUDGET / case.count().max(1)).clamp(2, MOST);
    if outputs <= wanted {
        return Positions::All;
    }
    let at = |i: usize| (i as u128 * (outputs - 1) as u128 / (wanted - 1) as u128) as usize;
    Positions::Some((0..wanted).map(at).collect())
}

/// The indices `start..end`, or, if there are more than `most`, `most` of them, the first and the last included.
pub fn spread(start: usize, end: usize, most: usize) -> Vec<usize> {
    let n = end - start;
    if n <= most {
        return (start..end).collect();
    }
    (0..most).map(|i| start + (i as u128 * (n - 1) as u128 / (most - 1) as u128) as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_are_spread_over_all() {
        assert_eq!(spread(5, 8, 10), [5, 6, 7]);
        assert_eq!(spread(0, 1001, 3), [0, 500, 1000]);
    }
}
