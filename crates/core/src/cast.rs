//! Conversion between dtypes, by way of a number that every dtype fits into.

/// A number during the conversion from one dtype to another. Every value of every dtype is representable.
///
/// ```
/// use warpfold_core::{Cast, Element};
///
/// assert_eq!(u8::from_cast(300i32.cast()), 44);
/// assert_eq!(u8::from_cast(Cast::Float(300.0)), 255);
/// ```
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
    /// Converts an integer exactly, and rounds a float towards zero.
    #[inline(always)]
    pub fn to_integer(self) -> i128 {
        match self {
            Cast::Signed(v) => v as i128,
            Cast::Unsigned(v) => v as i128,
            Cast::Float(v) => v as i128,
        }
    }
}
