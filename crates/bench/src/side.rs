//! The sides of a comparison: Warpfold on some device, or a peer.

use crate::case::Case;
use std::fmt;
use warpfold::Values;

/// Takes part in a measurement. Calls come in this order, for one case after the other: `prepare`, then `sample` and
/// `result` as often as wanted, then `release`.
pub trait Side {
    /// Makes the data, and runs the case once or more to warm up.
    ///
    /// # Errors
    /// A message that says why.
    fn prepare(&mut self, case: &Case) -> Result<Prepared, String>;

    /// The time of one call in nanoseconds, after an untimed call unless a call takes long.
    ///
    /// # Errors
    /// A message that says why.
    fn sample(&mut self) -> Result<u64, String>;

    /// Consecutive samples.
    ///
    /// # Errors
    /// A message that says why.
    fn block(&mut self, samples: usize) -> Result<Vec<u64>, String> {
        (0..samples).map(|_| self.sample()).collect()
    }

    /// The time of a plain read of the case's memory after an untimed one, if the side has one.
    ///
    /// # Errors
    /// A message that says why.
    fn read(&mut self) -> Result<Option<Moved>, String> {
        Ok(None)
    }

    /// The time of a plain copy of half of the case's memory after an untimed one, if the side has one.
    ///
    /// # Errors
    /// A message that says why.
    fn copy(&mut self) -> Result<Option<Moved>, String> {
        Ok(None)
    }

    /// Overwrites the result of the last sample, so that an old result is not taken for a new one.
    ///
    /// # Errors
    /// A message that says why.
    fn poison(&mut self) -> Result<(), String>;

    /// Values of the last sample's result.
    ///
    /// # Errors
    /// A message that says why.
    fn result(&mut self, at: &Positions) -> Result<Answer, String>;

    /// The labels that the last sample computed, of an iteration of k-means.
    ///
    /// # Errors
    /// A message that says why.
    fn labels(&mut self) -> Result<Vec<i32>, String>;

    /// The whole result of the last sample, to be compared bit for bit. Only our own sides have one.
    ///
    /// # Errors
    /// A message that says why.
    fn values(&mut self) -> Result<Vec<Values>, String> {
        Err("its bits are not asked for".into())
    }

    /// Frees the memory of the case.
    fn release(&mut self);
}

/// The time that moving a number of bytes took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The time in nanoseconds.
    pub ns: u64,
    /// The bytes read, or read and written.
    pub bytes: u64,
}

/// A side whose calls take longer than this number of nanoseconds makes no untimed call before each sample.
pub const LONG_NS: u64 = 20_000_000;

/// A description of a side.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// The name, such as `cub`.
    pub name: String,
    /// The version of the library.
    pub version: String,
    /// The device that it computes on, as the side reports it.
    pub device: String,
}

/// The outcome of preparing a case.
#[derive(Clone, Debug, PartialEq)]
pub enum Prepared {
    /// The case can be timed.
    Ready {
        /// Calls per sample.
        calls: u64,
        /// Whether inputs come from memory or from a cache, in words.
        cache: String,
    },
    /// The side does not support the case, for this reason.
    Skipped(String),
}

/// A choice of outputs.
#[derive(Clone, Debug, PartialEq)]
pub enum Positions {
    /// All outputs, in order.
    All,
    /// These outputs, as indices in C order of the kept axes.
    Some(Vec<usize>),
}

impl Positions {
    /// The indices among `outputs` outputs.
    pub fn list(&self, outputs: usize) -> Vec<usize> {
        match self {
            Positions::All => (0..outputs).collect(),
            Positions::Some(list) => list.clone(),
        }
    }
}

/// Values of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The dtypes of the values of one output: `f32`, `i64`.
    pub dtypes: Vec<String>,
    /// The number of outputs.
    pub outputs: usize,
    /// The values, [`crate::work::Work::width`] of them for each position.
    pub values: Vec<Number>,
}

/// A value of any dtype, exactly.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// A value of an integer dtype, or a bool.
    Int(i128),
    /// A value of a float dtype.
    Float(f64),
}

impl Number {
    /// The nearest f64.
    pub fn to_f64(self) -> f64 {
        match self {
            Number::Int(n) => n as f64,
            Number::Float(x) => x,
        }
    }

    /// Reads a value from a peer's text.
    pub fn read(text: &str, dtype: &str) -> Option<Number> {
        let is_float = dtype.starts_with('f') || dtype.starts_with("bf");
        match is_float {
            true => text.parse().ok().map(Number::Float),
            false => text.parse().ok().map(Number::Int),
        }
    }
}

/// Compares bits. Integers and floats are never equal.
impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => a == b,
            (Number::Float(a), Number::Float(b)) => a.to_bits() == b.to_bits(),
            _ => false,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Int(n) => write!(f, "{n}"),
            Number::Float(x) => write!(f, "{x:?}"),
        }
    }
}

impl From<warpfold::Scalar> for Number {
    fn from(scalar: warpfold::Scalar) -> Number {
        use warpfold::core::Cast;
        match scalar.to_cast() {
            Cast::Signed(n) => Number::Int(n.into()),
            Cast::Unsigned(n) => Number::Int(n.into()),
            Cast::Float(x) => Number::Float(x),
        }
    }
}
