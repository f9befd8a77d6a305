//! What labels need beside a sort: offsets and places of groups, the ends of groups, bins, and rows as columns.
//!
//! - [`offsets`]: of sorted labels, where each group begins; and from places in groups to positions.
//! - [`ends`]: the first or the last element, or row, of each group.
//! - [`bins`]: how many elements are in each bin, between edges or of each label.
//! - [`turn`]: rows as columns, so that kernels for segments read them.

pub mod bins;
pub mod ends;
pub mod offsets;
pub mod table;
pub mod turn;

/// Quotient and remainder, of a divisor that is never zero: nothing here can panic.
#[inline(always)]
fn divide(a: u64, b: u64) -> (u64, u64) {
    if a <= u32::MAX as u64 && b <= u32::MAX as u64 {
        let (a, b) = (a as u32, b as u32);
        return (a.checked_div(b).unwrap_or(0) as u64, a.checked_rem(b).unwrap_or(0) as u64);
    }
    (a.checked_div(b).unwrap_or(0), a.checked_rem(b).unwrap_or(0))
}
