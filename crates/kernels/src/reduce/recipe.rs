//! What a fold is told at run time: what to make of the total, and what the elements are.

use crate::params::params;
use warpfold_core::DType;

params! {
    /// What a fold is told at run time.
    pub struct Recipe {
        /// Elements reduced into each output.
        pub count: u64,
        /// Subtracted from the count in a variance's divisor.
        pub ddof: f64,
        /// One more element on the left: bits of an f64 or an i128, low half first.
        pub initial: [u64; 2],
        /// See [`flag`].
        pub flags: u32,
        /// The dtype in memory, as its place in `DType::ALL`.
        pub input: u32,
        /// The dtype of the output, likewise.
        pub output: u32,
        /// The 16-bit dtype that elements are rounded to first, or the input's own.
        pub through: u32,
    }
}

/// Bits of [`Recipe::flags`].
pub mod flag {
    /// NaNs are left out.
    pub const SKIP_NAN: u32 = 1;
    /// There is an initial value.
    pub const INITIAL: u32 = 1 << 1;
    /// A mean, not a sum.
    pub const MEAN: u32 = 1 << 2;
    /// The square root of the total.
    pub const ROOT: u32 = 1 << 3;
    /// Sum squares, not magnitudes.
    pub const SQUARE: u32 = 1 << 4;
    /// The least, not the greatest.
    pub const LEAST: u32 = 1 << 5;
    /// Integers are unsigned.
    pub const UNSIGNED: u32 = 1 << 6;
    /// Magnitudes are compared, or added.
    pub const MAGNITUDE: u32 = 1 << 7;
    /// There is a mask.
    pub const MASKED: u32 = 1 << 8;
    /// Whether any is true, of a count.
    pub const ANY: u32 = 1 << 9;
    /// Whether all are true, of a count.
    pub const ALL: u32 = 1 << 10;
    /// Elements of a reducer of a user's own are in two arrays: [`Recipe::output`](super::Recipe::output) says how many
    /// words of each are in the first.
    pub const PAIRED: u32 = 1 << 11;
    /// Of a variance the mean is written, too, as many bytes behind it as the initial value says.
    pub const MEANS: u32 = 1 << 12;
}

impl Recipe {
    /// Whether a flag is set.
    #[inline(always)]
    pub fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }
}

/// The place of a dtype in `DType::ALL`.
pub const fn code(dtype: DType) -> u32 {
    dtype as u32
}

/// The logarithm of every dtype's bytes, in two bits each.
pub(crate) const SIZES: u32 = {
    let (mut sizes, mut k) = (0, 0);
    while k < DType::ALL.len() {
        sizes |= DType::ALL[k].size().trailing_zeros() << (2 * k);
        k += 1;
    }
    sizes
};

/// The logarithm of the bytes of a dtype.
#[inline(always)]
pub fn log_size(dtype: u32) -> u32 {
    SIZES >> (2 * dtype) & 3
}
