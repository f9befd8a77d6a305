//! The 13 dtypes, by name and by family.

use core::fmt;
use core::str::FromStr;

/// The type of an array's elements, known at run time.
///
/// The names are the short ones (`f32`, `i8`, `bool`); parsing also takes NumPy's (`float32`, `f4`, `<f4`). A number
/// counts bits in the short names and bytes in NumPy's: `i8` alone has 8 bits, `<i8` 8 bytes.
///
/// ```
/// use warpfold_core::DType;
///
/// assert_eq!("float32".parse(), Ok(DType::F32));
/// assert_eq!((DType::F32.name(), DType::F32.size()), ("f32", 4));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[allow(missing_docs)]
pub enum DType {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    BF16,
    F32,
    F64,
}

/// What family a [`DType`] belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// `bool`
    Bool,
    /// `i8`, `i16`, `i32`, `i64`
    Signed,
    /// `u8`, `u16`, `u32`, `u64`
    Unsigned,
    /// `f16`, `bf16`, `f32`, `f64`
    Float,
}

impl DType {
    /// Every dtype, in the order of the enum.
    pub const ALL: [DType; 13] = [
        DType::Bool,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
    ];

    /// Bytes per element.
    #[inline]
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::I8 | DType::U8 => 1,
            DType::I16 | DType::U16 | DType::F16 | DType::BF16 => 2,
            DType::I32 | DType::U32 | DType::F32 => 4,
            DType::I64 | DType::U64 | DType::F64 => 8,
        }
    }

    /// The family of this dtype.
    #[inline]
    pub const fn kind(self) -> Kind {
        match self {
            DType::Bool => Kind::Bool,
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => Kind::Signed,
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => Kind::Unsigned,
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 => Kind::Float,
        }
    }

    /// Whether this is one of the four floating-point dtypes.
    #[inline]
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), Kind::Float)
    }

    /// NumPy's code: a letter and a number of bytes, such as `f4`. A number alone, without a byte order before it, is
    /// read as bits where that is a name, too.
    pub fn from_code(code: &str) -> Option<Self> {
        Some(match code {
            "?" | "b1" => DType::Bool,
            "i1" => DType::I8,
            "i2" => DType::I16,
            "i4" => DType::I32,
            "i8" => DType::I64,
            "u1" => DType::U8,
            "u2" => DType::U16,
            "u4" => DType::U32,
            "u8" => DType::U64,
            "f2" => DType::F16,
            "f4" => DType::F32,
            "f8" => DType::F64,
            _ => return None,
        })
    }

    /// The short name: `f32`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::I8 => "i8",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::U32 => "u32",
            DType::U64 => "u64",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F32 => "f32",
            DType::F64 => "f64",
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A dtype name that Warpfold does not know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownDType;

impl fmt::Display for UnknownDType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown dtype; known are")?;
        for (i, d) in DType::ALL.iter().enumerate() {
            write!(f, "{}{d}", if i == 0 { " " } else { ", " })?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownDType {}

impl FromStr for DType {
    type Err = UnknownDType;

    fn from_str(s: &str) -> Result<Self, UnknownDType> {
        // The mark of this machine's byte order, or of none, makes the rest NumPy's.
        let native = if cfg!(target_endian = "little") { '<' } else { '>' };
        if let Some(code) = s.strip_prefix([native, '=', '|']) {
            return Self::from_code(code).ok_or(UnknownDType);
        }
        let long = match s {
            "bool_" => "bool",
            "int8" => "i8",
            "int16" => "i16",
            "int32" => "i32",
            "int64" | "int" => "i64",
            "uint8" => "u8",
            "uint16" => "u16",
            "uint32" => "u32",
            "uint64" => "u64",
            "float16" | "half" => "f16",
            "bfloat16" => "bf16",
            "float32" | "single" => "f32",
            "float64" | "double" | "float" => "f64",
            other => other,
        };
        let known = DType::ALL.into_iter().find(|d| d.name() == long);
        known.or_else(|| Self::from_code(s)).ok_or(UnknownDType)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_count_bits_and_numpys_codes_bytes() {
        for dtype in DType::ALL {
            assert_eq!(dtype.name().parse(), Ok(dtype));
        }
        let codes =
            [("f4", DType::F32), ("f2", DType::F16), ("f8", DType::F64), ("i4", DType::I32), ("?", DType::Bool)];
        for (code, dtype) in codes.into_iter().chain([("u2", DType::U16), ("i1", DType::I8), ("float32", DType::F32)]) {
            assert_eq!(code.parse(), Ok(dtype), "{code}");
        }
        for (name, dtype) in
            [("i8", DType::I8), ("=i8", DType::I64), ("u8", DType::U8), ("=u8", DType::U64), ("|u1", DType::U8)]
        {
            assert_eq!(name.parse(), Ok(dtype), "{name}");
        }
        for wrong in ["", "f", "f3", "=f32", "c8", "=", "i16x", "<", "=i", "F4"] {
            assert_eq!(wrong.parse::<DType>(), Err(UnknownDType), "{wrong}");
        }
    }
}
