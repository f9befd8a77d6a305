//! Axes that the host knows, so that a place along each is found without a division.

use crate::params::params;
use crate::reduce::shape::map::Divisor;
use crate::reduce::shape::piece::At;

params! {
    #[derive(Default)]
    /// An axis: its length, and its steps in bytes, in columns of an output, and in parts of the results.
    pub struct Axis {
        /// Its length.
        pub len: Divisor,
        /// In the input.
        pub x: i64,
        /// In the columns of an output.
        pub number: i64,
        /// In the parts.
        pub out: i64,
    }

    /// Axes, the innermost first.
    pub struct Axes[; const K] {
        /// How many.
        pub count: u64,
        /// Each.
        pub axis: [Axis; K],
    }
}

impl<const K: usize> Axes<K> {
    /// Where place `i` is; the mask is the number of the column.
    #[inline(always)]
    pub fn at(&self, i: u64) -> At {
        let (mut at, mut rest, mut k) = (At { x: 0, mask: 0, out: 0 }, i, 0);
        while k < K {
            let axis = self.axis[k];
            // The last axis has what is left.
            if self.count > k as u64 {
                let (next, own) = if self.count == k as u64 + 1 { (0, rest) } else { axis.len.divide(rest) };
                at.x += own as i64 * axis.x;
                at.mask += own as i64 * axis.number;
                at.out += own as i64 * axis.out;
                rest = next;
            }
            k += 1;
        }
        at
    }
}
