//! The 8 steps of a tile.

/// Steps of a tile: as many 16-byte reads a lane has in flight.
pub const STEPS: usize = 8;

/// The first leaves, and one more comes last.
#[inline(always)]
pub fn next<T: Copy, const N: usize>(all: [T; N], last: T) -> [T; N] {
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| if k + 1 < N { all[k + 1] } else { last },
    )
}
