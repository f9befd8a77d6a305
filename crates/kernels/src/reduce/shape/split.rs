//! How a warp shares the 8 steps of a tile out among rows.

use warpfold_simt::Simt;

/// Steps of a tile: as many 16-byte reads a lane has in flight.
pub const STEPS: usize = 8;

/// How a warp's lanes and steps are shared among short rows.
#[derive(Clone, Copy, Debug)]
pub struct Split {
    /// Lanes to a row, a power of two.
    pub lanes: u32,
    /// Steps to a row: 1, or with all lanes 2 or 4.
    pub steps: u32,
}

impl Split {
    /// Lanes among which the butterfly spreads the rows of 8 steps.
    #[inline(always)]
    pub fn spread(&self) -> u32 {
        self.lanes.min(STEPS as u32)
    }

    /// The pack of its row that a lane takes in step `k`.
    #[inline(always)]
    pub fn pack<S: Simt>(&self, s: &S, k: u32) -> u32 {
        (k & (self.steps - 1)) * 32 + (s.lane() & (self.lanes - 1))
    }
}

/// The first leaves, and one more comes last.
#[inline(always)]
pub fn next<T: Copy, const N: usize>(all: [T; N], last: T) -> [T; N] {
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| if k + 1 < N { all[k + 1] } else { last },
    )
}
