//! How rows that a block holds whole share blocks.

use warpfold_kernels::rowwise::{QUARTERS, WARPS};

/// Warps of a block of rows, if that leaves no more lanes idle. Not measured.
const FEW_WARPS: u32 = 3;
/// What a quarter of a warp's chunk costs, in parts small enough to be shared by rows: any multiple of 1 to 8.
const ROW_COST: u32 = 840;

/// How rows share a block, each of which has some quarters of a warp's chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Together {
    /// Rows of a block.
    pub rows: u32,
    /// Warps of a block.
    pub warps: u32,
    /// Lanes that have a row's nodes, as a power of two.
    pub lanes: u32,
}

impl Together {
    /// The fewest rows of which few quarters of a block's warps are left over, and whose warps are enough.
    pub fn of(quarters: u32) -> Self {
        let lanes = quarters.next_power_of_two().ilog2();
        let most = (32 >> lanes).min(WARPS * QUARTERS / quarters);
        let warps = |rows: u32| (rows * quarters).div_ceil(QUARTERS);
        // Quarters that are left over, for each row; few blocks of two warps or less fit a multiprocessor.
        let cost = |rows: u32| (warps(rows) * QUARTERS * ROW_COST / rows, warps(rows) < FEW_WARPS, rows);
        let rows = (1..=most).min_by_key(|&rows| cost(rows)).unwrap_or(1);
        Self { rows, warps: warps(rows), lanes }
    }

    /// What a number of quarters is multiplied by to be divided by those of a row: 2^16 over these, rounded up.
    pub fn inverse(quarters: u32) -> u32 {
        (1u32 << 16).div_ceil(quarters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_quarters_of_a_blocks_warps_are_left_over() {
        for quarters in 3..=WARPS * QUARTERS {
            let Together { rows, warps, lanes } = Together::of(quarters);
            let inverse = Together::inverse(quarters);
            assert!(
                (0..2 * QUARTERS * WARPS).all(|number| (number * inverse) >> 16 == number / quarters),
                "{quarters}"
            );
            assert!(quarters <= 1 << lanes && rows << lanes <= 32 && warps <= WARPS, "{quarters}");
            let idle = warps * QUARTERS - rows * quarters;
            assert!(6 * idle < warps * QUARTERS, "{idle} of {warps} warps: {rows} rows of {quarters}");
        }
        let of = |quarters| {
            let Together { rows, warps, .. } = Together::of(quarters);
            (rows, warps)
        };
        assert_eq!([3, 6, 12, 16].map(of), [(4, 3), (2, 3), (1, 3), (1, 4)]);
    }
}
