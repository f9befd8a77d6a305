//! Results: arrays and scalars of any dtype.

use std::fmt;

use half::{bf16, f16};
use warpfold_core::ops::Place;
use warpfold_core::{Cast, DType, Element, with_dtype};

/// The elements of a result, in C order.
///
/// ```
/// use warpfold_array::{Scalar, Values};
/// use warpfold_core::DType;
///
/// let values = Values::F64(vec![1.5, -2.0]).cast(DType::I8);
/// assert_eq!(values, Values::I8(vec![1, -2]));
/// assert_eq!(values.get(1), Scalar::I8(-2));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Values {
    Bool(Vec<bool>),
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F16(Vec<f16>),
    BF16(Vec<bf16>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// One element of any dtype.
///
/// ```
/// use warpfold_array::Scalar;
/// use warpfold_core::DType;
///
/// let x = Scalar::F32(0.1);
/// assert_eq!((x.dtype(), x.to_string()), (DType::F32, "0.1".into()));
/// assert_eq!(x.bits(), (0x3dcc_cccd, 8));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Scalar {
    Bool(bool),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    F16(f16),
    BF16(bf16),
    F32(f32),
    F64(f64),
}

/// Evaluates an expression with the value of any variant: `each!(Values, self, v => v.len())`.
#[doc(hidden)]
#[macro_export]
macro_rules! each {
    ($enum:ident, $value:expr, $v:ident => $body:expr) => {
        match $value {
            $enum::Bool($v) => $body,
            $enum::I8($v) => $body,
            $enum::I16($v) => $body,
            $enum::I32($v) => $body,
            $enum::I64($v) => $body,
            $enum::U8($v) => $body,
            $enum::U16($v) => $body,
            $enum::U32($v) => $body,
            $enum::U64($v) => $body,
            $enum::F16($v) => $body,
            $enum::BF16($v) => $body,
            $enum::F32($v) => $body,
            $enum::F64($v) => $body,
        }
    };
}

/// An element that [`Values`] can hold and give back.
pub trait Value: Element {
    /// Wraps the elements of an array.
    fn wrap(values: Vec<Self>) -> Values;
    /// The elements, if the dtype is this one.
    fn unwrap(values: Values) -> Option<Vec<Self>>;
    /// Wraps one element.
    fn scalar(self) -> Scalar;
    /// The element, if the dtype is this one.
    fn of(scalar: Scalar) -> Option<Self>;
}

macro_rules! value {
    ($($t:ty, $v:ident);*) => {$(impl Value for $t {
        fn wrap(values: Vec<Self>) -> Values {
            Values::$v(values)
        }
        fn unwrap(values: Values) -> Option<Vec<Self>> {
            match values {
                Values::$v(values) => Some(values),
                _ => None,
            }
        }
        fn scalar(self) -> Scalar {
            Scalar::$v(self)
        }
        fn of(scalar: Scalar) -> Option<Self> {
            match scalar {
                Scalar::$v(x) => Some(x),
                _ => None,
            }
        }
    })*};
}
value!(bool, Bool; i8, I8; i16, I16; i32, I32; i64, I64; u8, U8; u16, U16; u32, U32; u64, U64; f16, F16; bf16, BF16;
    f32, F32; f64, F64);

impl Values {
    /// The dtype.
    pub fn dtype(&self) -> DType {
        fn of<T: Element>(_: &[T]) -> DType {
            T::DTYPE
        }
        each!(Values, self, v => of(v))
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        each!(Values, self, v => v.len())
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One element.
    ///
    /// # Panics
    /// If `index` is not below the length.
    pub fn get(&self, index: usize) -> Scalar {
        each!(Values, self, v => v[index].scalar())
    }

    /// Every element rounded to another dtype.
    pub fn cast(self, dtype: DType) -> Values {
        if self.dtype() == dtype {
            return self;
        }
        // One pass for each pair of dtypes; where they have the same size, `collect` reuses the allocation.
        fn to<T: Element, U: Value>(values: Vec<T>) -> Values {
            U::wrap(values.into_iter().map(|x| U::from_cast(x.cast())).collect())
        }
        each!(Values, self, v => with_dtype!(dtype, U => to::<_, U>(v)))
    }

    /// The elements of arrays of one dtype, one after the other.
    ///
    /// # Panics
    /// If there is no array, or two of them have different dtypes.
    pub fn concat(arrays: Vec<Values>) -> Values {
        fn all<T: Value>(arrays: Vec<Values>) -> Values {
            let mut all = Vec::with_capacity(arrays.iter().map(Values::len).sum());
            arrays.into_iter().for_each(|array| all.append(&mut T::unwrap(array).expect("one dtype")));
            T::wrap(all)
        }
        with_dtype!(arrays[0].dtype(), T => all::<T>(arrays))
    }

    /// The elements in memory, in this machine's byte order.
    pub fn as_bytes(&self) -> &[u8] {
        each!(Values, self, v => {
            // SAFETY: the bytes are those of the vector, and every element type consists of bytes without padding.
            unsafe { std::slice::from_raw_parts(v.as_ptr().cast(), std::mem::size_of_val(v.as_slice())) }
        })
    }
}

impl Scalar {
    /// The dtype.
    pub fn dtype(self) -> DType {
        fn of<T: Element>(_: T) -> DType {
            T::DTYPE
        }
        each!(Scalar, self, v => of(v))
    }

    /// The first half of a conversion to another dtype.
    pub fn to_cast(self) -> Cast {
        each!(Scalar, self, v => v.cast())
    }

    /// As `f64`; integers beyond 2^53 are rounded.
    pub fn to_f64(self) -> f64 {
        match self.to_cast() {
            Cast::Signed(v) => v as f64,
            Cast::Unsigned(v) => v as f64,
            Cast::Float(v) => v,
        }
    }

    /// The bit pattern, and how many hexadecimal digits it has.
    pub fn bits(self) -> (u64, usize) {
        let bits = match self {
            Scalar::Bool(v) => v as u64,
            Scalar::I8(v) => v as u8 as u64,
            Scalar::I16(v) => v as u16 as u64,
            Scalar::I32(v) => v as u32 as u64,
            Scalar::I64(v) => v as u64,
            Scalar::U8(v) => v as u64,
            Scalar::U16(v) => v as u64,
            Scalar::U32(v) => v as u64,
            Scalar::U64(v) => v,
            Scalar::F16(v) => v.to_bits() as u64,
            Scalar::BF16(v) => v.to_bits() as u64,
            Scalar::F32(v) => v.to_bits() as u64,
            Scalar::F64(v) => v.to_bits(),
        };
        (bits, 2 * self.dtype().size())
    }
}

/// The shortest decimal that reads back as the same value of this dtype.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Scalar::F32(v) => float(f, v.abs() as f64, v),
            Scalar::F64(v) => float(f, v.abs(), v),
            Scalar::F16(v) => half(f, v.to_f32(), |x| f16::from_f32(x).to_bits() == v.to_bits()),
            Scalar::BF16(v) => half(f, v.to_f32(), |x| bf16::from_f32(x).to_bits() == v.to_bits()),
            ref other => each!(Scalar, other, v => write!(f, "{v}")),
        }
    }
}

/// Plain notation for magnitudes that a person reads easily, scientific beyond; NumPy's spelling of NaN and infinities.
fn float<T: fmt::Display + fmt::LowerExp>(f: &mut fmt::Formatter<'_>, magnitude: f64, v: T) -> fmt::Result {
    if magnitude.is_nan() {
        f.write_str("nan")
    } else if magnitude != 0.0 && magnitude.is_finite() && !(1e-4..1e16).contains(&magnitude) {
        write!(f, "{v:e}")
    } else {
        write!(f, "{v}")
    }
}

/// The fewest significant digits that round to the same 16 bits.
fn half(f: &mut fmt::Formatter<'_>, v: f32, same: impl Fn(f32) -> bool) -> fmt::Result {
    let shortest = (0..9).find_map(|digits| format!("{v:.digits$e}").parse::<f32>().ok().filter(|&x| same(x)));
    let shortest = shortest.unwrap_or(v);
    float(f, shortest.abs() as f64, shortest)
}

/// An owned result: shape and values.
///
/// ```
/// use warpfold_array::{Array, Values};
///
/// let sums = Array { shape: vec![2], values: Values::I64(vec![3, 7]) };
/// assert_eq!(sums.scalar(), None);
/// assert_eq!(sums.into_vec::<i64>(), Some(vec![3, 7]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The length of each axis.
    pub shape: Vec<usize>,
    /// The elements, in C order.
    pub values: Values,
}

impl Array {
    /// The dtype.
    pub fn dtype(&self) -> DType {
        self.values.dtype()
    }

    /// The only element, if there is just one.
    pub fn scalar(&self) -> Option<Scalar> {
        (self.values.len() == 1).then(|| self.values.get(0))
    }

    /// The elements, if they are `T`s.
    pub fn into_vec<T: Value>(self) -> Option<Vec<T>> {
        T::unwrap(self.values)
    }
}

/// Outputs of a reducer, gathered into [`Values`].
pub trait Collect: Sized + Send {
    /// All outputs.
    fn collect(outputs: Vec<Self>) -> Result<Values, Hole>;
    /// The only output, without an allocation; of a pair, the first.
    fn one(self) -> Result<Scalar, Hole>;
    /// The reason why the output has no value, if it has none.
    fn hole(&self) -> Option<Hole> {
        None
    }
}

/// The reason why an output has no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hole {
    /// No element was reduced into it.
    Empty,
    /// All elements were NaN and skipped.
    AllNan,
}

impl Hole {
    /// The reason in words, for the message of an empty segment or group.
    pub fn of_a_segment(self) -> &'static str {
        match self {
            Hole::Empty => "no elements",
            Hole::AllNan => "only NaN",
        }
    }
}

macro_rules! collect {
    ($($t:ty),*) => {$(
        impl Collect for $t {
            fn collect(outputs: Vec<Self>) -> Result<Values, Hole> {
                Ok(<$t>::wrap(outputs))
            }
            fn one(self) -> Result<Scalar, Hole> {
                Ok(self.scalar())
            }
        }
        impl Collect for ($t, $t) {
            fn collect(outputs: Vec<Self>) -> Result<Values, Hole> {
                Ok(<$t>::wrap(outputs.into_iter().flat_map(|(a, b)| [a, b]).collect()))
            }
            fn one(self) -> Result<Scalar, Hole> {
                Ok(self.0.scalar())
            }
        }
    )*};
}
collect!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64);

/// The sum, mean or product of integers.
impl Collect for Cast {
    fn collect(outputs: Vec<Self>) -> Result<Values, Hole> {
        Ok(match outputs.first() {
            Some(Cast::Float(_)) => Values::F64(outputs.into_iter().map(f64::from_cast).collect()),
            Some(Cast::Unsigned(_)) => Values::U64(outputs.into_iter().map(u64::from_cast).collect()),
            _ => Values::I64(outputs.into_iter().map(i64::from_cast).collect()),
        })
    }
    fn one(self) -> Result<Scalar, Hole> {
        Ok(match self {
            Cast::Signed(v) => Scalar::I64(v),
            Cast::Unsigned(v) => Scalar::U64(v),
            Cast::Float(v) => Scalar::F64(v),
        })
    }
}

/// The index of an arg op.
impl Collect for Place {
    fn collect(outputs: Vec<Self>) -> Result<Values, Hole> {
        // Piece by piece, so that the inner loop has no early exit and vectorises.
        let none = |places: &[Place]| places.iter().fold(false, |none, &place| none | (place == Place::NONE));
        if outputs.chunks(4096).any(none) {
            return Err(Hole::AllNan);
        }
        // `collect` reuses the allocation, because both types are the same 64 bits.
        Ok(Values::I64(outputs.into_iter().map(Place::or_minus_one).collect()))
    }
    fn one(self) -> Result<Scalar, Hole> {
        self.index().map(|i| Scalar::I64(i as i64)).ok_or(Hole::AllNan)
    }
    fn hole(&self) -> Option<Hole> {
        (*self == Place::NONE).then_some(Hole::AllNan)
    }
}

/// The output of a reduction with absent elements.
impl<T: Collect> Collect for Option<T> {
    fn collect(outputs: Vec<Self>) -> Result<Values, Hole> {
        let present: Option<Vec<T>> = outputs.into_iter().collect();
        T::collect(present.ok_or(Hole::Empty)?)
    }
    fn one(self) -> Result<Scalar, Hole> {
        self.ok_or(Hole::Empty)?.one()
    }
    fn hole(&self) -> Option<Hole> {
        self.as_ref().map_or(Some(Hole::Empty), Collect::hole)
    }
}
