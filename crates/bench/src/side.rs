//! Whoever computes: Warpfold on some device, or a peer.

use crate::case::Case;
use std::fmt;
use warpfold::Values;

/// Takes part in a measurement. Calls come in this order, for one case after the other: `prepare`, then `sample` and
/// `result` as often as wanted, then `release`.
pub trait Side {
    /// Makes the data, and runs the case once or more to warm up.
    ///
    /// # Errors
    /// In words.
    fn prepare(&mut self, case: &Case) -> Result<Prepared, String>;

    /// The time of one call, in nanoseconds. A call that nobody times comes before, unless it takes long.
    ///
    /// # Errors
    /// In words.
    fn sample(&mut self) -> Result<u64, String>;

    /// So many samples with nothing between them.
    ///
    /// # Errors
    /// In words.
    fn block(&mut self, samples: usize) -> Result<Vec<u64>, String> {
        (0..samples).map(|_| self.sample()).collect()
    }

    /// A plain read of the case's memory, if the side knows how to do one. One that nobody times comes before.
    ///
    /// # Errors
    /// In words.
    fn read(&mut self) -> Result<Option<Moved>, String> {
        Ok(None)
    }

    /// A plain copy of half of the case's memory, if the side knows how to do one. One that nobody times comes before.
    ///
    /// # Errors
    /// In words.
    fn copy(&mut self) -> Result<Option<Moved>, String> {
        Ok(None)
    }

    /// Overwrites what the last sample computed with nonsense, so that a result of before is not taken for a new one.
    ///
    /// # Errors
    /// In words.
    fn poison(&mut self) -> Result<(), String>;

    /// Values of what the last sample computed.
    ///
    /// # Errors
    /// In words.
    fn result(&mut self, at: &Positions) -> Result<Answer, String>;

    /// The labels that the last sample computed, of an iteration of k-means.
    ///
    /// # Errors
    /// In words.
    fn labels(&mut self) -> Result<Vec<i32>, String>;

    /// All of what the last sample computed, to be compared bit for bit; only ours can.
    ///
    /// # Errors
    /// In words.
    fn values(&mut self) -> Result<Vec<Values>, String> {
        Err("its bits are not asked for".into())
    }

    /// Gives memory back.
    fn release(&mut self);
}

/// What moving so many bytes took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Nanoseconds.
    pub ns: u64,
    /// Read, or read and written.
    pub bytes: u64,
}

/// A side whose call takes longer than so many nanoseconds is not called once more before each sample.
pub const LONG_NS: u64 = 20_000_000;

/// Who a side is.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// `cub`.
    pub name: String,
    /// Of the library.
    pub version: String,
    /// What it computes on, in its own words.
    pub device: String,
}

/// What became of preparations.
#[derive(Clone, Debug, PartialEq)]
pub enum Prepared {
    /// It can be timed.
    Ready {
        /// Calls per sample.
        calls: u64,
        /// Whether inputs come from memory or from a cache, in words.
        cache: String,
    },
    /// The side does not do this case; why.
    Skipped(String),
}

/// Which outputs.
#[derive(Clone, Debug, PartialEq)]
pub enum Positions {
    /// In order.
    All,
    /// In C order of the kept axes.
    Some(Vec<usize>),
}

impl Positions {
    /// Of so many outputs.
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
    /// Of the values: `f32`, `i64`.
    pub dtypes: Vec<String>,
    /// How many outputs there are.
    pub outputs: usize,
    /// As many for each position as the case's work is wide.
    pub values: Vec<Number>,
}

/// A value that is exact whatever its dtype.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// Of an integer dtype, or a bool.
    Int(i128),
    /// Of a float dtype.
    Float(f64),
}

impl Number {
    /// As it is shown.
    pub fn to_f64(self) -> f64 {
        match self {
            Number::Int(n) => n as f64,
            Number::Float(x) => x,
        }
    }

    /// From a peer's text.
    pub fn read(text: &str, dtype: &str) -> Option<Number> {
        let is_float = dtype.starts_with('f') || dtype.starts_with("bf");
        match is_float {
            true => text.parse().ok().map(Number::Float),
            false => text.parse().ok().map(Number::Int),
        }
    }
}

/// By bits; integers and floats differ.
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
