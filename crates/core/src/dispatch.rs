//! From a dtype at run time to a type at compile time.

/// Evaluates an expression with a name for the element type of a dtype.
///
/// The expression is compiled once for each of the 13 types, so it should call a generic function and do no more.
///
/// ```
/// use warpfold_core::{DType, Element, with_dtype};
///
/// fn mean_dtype<T: Element>() -> DType {
///     T::Mean::DTYPE
/// }
/// let dtype: DType = "i16".parse()?;
/// assert_eq!(with_dtype!(dtype, T => mean_dtype::<T>()), DType::F64);
/// assert_eq!(with_dtype!(dtype, T => size_of::<T>()), 2);
/// # Ok::<(), warpfold_core::UnknownDType>(())
/// ```
#[macro_export]
macro_rules! with_dtype {
    ($dtype:expr, $t:ident => $body:expr) => {
        $crate::with_dtype!(@match $dtype, $t, $body;
            Bool bool, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64,
            F16 $crate::f16, BF16 $crate::bf16, F32 f32, F64 f64)
    };
    (@match $dtype:expr, $t:ident, $body:expr; $($variant:ident $element:ty),*) => {
        match $dtype {
            $($crate::DType::$variant => {
                type $t = $element;
                $body
            })*
        }
    };
}
