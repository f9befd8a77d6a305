//! Conversion between dtypes, by way of a number that every dtype fits into.

/// A number on its way from one dtype to another: wide enough for every dtype's every value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Cast {
    /// A signed integer.
    Signed(i64),
    /// An unsigned integer, or a bool as 0 or 1.
    Unsigned(u64),
    /// A float.
    Float(f64),
}
impl Cast {
    /// An integer, exactly; a float towards zero.
    #[inline(always)]
    pub fn to_integer(self) -> i128 {
        match self {
            Cast::Signed(v) => v as i128,
            Cast::Unsigned(v) => v as i128,
            Cast::Float(v) => v as i128,
        }
    }
}
