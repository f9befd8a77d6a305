//! One measurement: a reduction, the array that it reads, and how it is timed.

use crate::data::{Generator, Kind};
use crate::layout::Layout;
use crate::work::Work;
use serde::{Deserialize, Serialize};
use std::fmt;
use warpfold::{ArrayRef, DType, Op, Options, Precision};

/// What a sample is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// One of many calls, one after the other: device time on a GPU, wall-clock time on a CPU.
    Call,
    /// Wall-clock time from the call until its result is on the host.
    Latency,
    /// Wall-clock time from a shape and a dtype until the first result is on the host: planning, the driver compiling the
    /// kernel, one call. The GPU was open before.
    First,
}

/// One measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What is computed.
    pub work: Work,
    /// Of the elements.
    pub dtype: DType,
    /// Of the array.
    pub shape: Vec<usize>,
    /// Reduced, ascending.
    pub axes: Vec<usize>,
    /// Of the elements in memory.
    pub layout: Layout,
    /// Of sums.
    pub precision: Precision,
    /// Whether NaNs are left out; then there are some.
    pub skip_nan: bool,
    /// How it is timed.
    pub measure: Measure,
    /// On the CPU; `None`: all.
    pub threads: Option<usize>,
}

/// What every side is told of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// `sum`, …, or `describe`.
    pub op: String,
    /// `f32`.
    pub dtype: String,
    /// Of the array.
    pub shape: Vec<usize>,
    /// Reduced.
    pub axes: Vec<usize>,
    /// `c`, `f`, `offset:N` or `pitch:N`.
    pub layout: String,
    /// From the first element to the first of all, and of each axis, in elements.
    pub offset: usize,
    /// Of each axis, in elements.
    pub strides: Vec<usize>,
    /// Elements in memory, padding and offset included.
    pub room: usize,
    /// `tree` or `compensated`.
    pub precision: String,
    /// Whether NaNs are left out.
    pub skip_nan: bool,
    /// `call`, `latency` or `first`.
    pub measure: Measure,
    /// How many threads.
    pub threads: usize,
    /// Of the data.
    pub kind: Kind,
    /// Of the data.
    pub seed: u32,
}

impl Case {
    /// Elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Outputs; each of [`Work::width`] values.
    pub fn outputs(&self) -> usize {
        self.kept().map(|axis| self.shape[axis]).product()
    }

    /// Elements per output.
    pub fn count(&self) -> usize {
        self.axes.iter().map(|&axis| self.shape[axis]).product()
    }

    /// Axes that stay.
    pub fn kept(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.shape.len()).filter(|axis| !self.axes.contains(axis))
    }

    /// Bytes of the array's elements.
    pub fn input_bytes(&self) -> u64 {
        self.elements() as u64 * self.dtype.size() as u64
    }

    /// Bytes read and written, each once.
    pub fn bytes(&self) -> u64 {
        self.input_bytes() + self.outputs() as u64 * self.work.result_bytes(self.dtype) as u64
    }

    /// Of each axis, in elements, without padding.
    pub fn dense_strides(&self) -> Vec<usize> {
        let mut strides = vec![0; self.shape.len()];
        let mut stride = 1;
        let order: Vec<usize> = match self.layout {
            Layout::F => (0..self.shape.len()).collect(),
            _ => (0..self.shape.len()).rev().collect(),
        };
        for axis in order {
            strides[axis] = stride;
            stride *= self.shape[axis];
        }
        strides
    }

    /// Of each axis, in elements, as they lie in memory.
    pub fn strides(&self) -> Vec<usize> {
        let mut strides = self.dense_strides();
        if let (Layout::Pitch(pitch), Some(&row)) = (self.layout, self.shape.last()) {
            let last = strides.len() - 1;
            strides[..last].iter_mut().for_each(|s| *s = *s / row * pitch);
        }
        strides
    }

    /// Elements before the first.
    pub fn offset(&self) -> usize {
        if let Layout::Offset(n) = self.layout { n } else { 0 }
    }

    /// Elements in memory, padding and offset included.
    pub fn room(&self) -> usize {
        match (self.layout, self.shape.last()) {
            (Layout::Pitch(pitch), Some(&row)) => self.elements() / row * pitch,
            _ => self.elements() + self.offset(),
        }
    }

    /// The data.
    pub fn generator(&self) -> Generator {
        let kind = match self.work {
            Work::Op(Op::Any) => Kind::Rare,
            Work::Op(Op::All) => Kind::Common,
            _ if self.skip_nan => Kind::Nan,
            _ => Kind::Values,
        };
        Generator { dtype: self.dtype, kind, seed: 1 }
    }

    /// What decides about the memory.
    pub fn memory(&self) -> MemoryKey {
        let row = *self.shape.last().unwrap_or(&1);
        let pitch = if let Layout::Pitch(pitch) = self.layout { Some((row, pitch)) } else { None };
        MemoryKey { generator: self.generator(), offset: self.offset(), room: self.room(), pitch }
    }

    /// What every side is told.
    pub fn told(&self) -> Told {
        let generator = self.generator();
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        Told {
            op: self.work.name().into(),
            dtype: self.dtype.name().into(),
            shape: self.shape.clone(),
            axes: self.axes.clone(),
            layout: self.layout.to_string(),
            offset: self.offset(),
            strides: self.strides(),
            room: self.room(),
            precision: precision_name(self.precision).into(),
            skip_nan: self.skip_nan,
            measure: self.measure,
            threads: self.threads.unwrap_or_else(all),
            kind: generator.kind,
            seed: generator.seed,
        }
    }

    /// Whether it can be run.
    ///
    /// # Errors
    /// What is wrong, and what to do about it.
    pub fn check(&self) -> Result<(), Fault> {
        let fault = |field, why: String| Err(Fault { field, why });
        let shown = tuple(&self.shape);
        if self.shape.is_empty() || self.shape.contains(&0) {
            return fault(Field::Shape, format!("shape {shown} has no elements: give lengths of 1 or more"));
        }
        if let Some(axis) = self.axes.iter().find(|&&axis| axis >= self.shape.len()) {
            let last = self.shape.len() - 1;
            return fault(Field::Axes, format!("axis {axis} is not one of shape {shown}: give 0 to {last}"));
        }
        if self.axes.is_empty() || self.axes.windows(2).any(|pair| pair[0] >= pair[1]) {
            return fault(Field::Axes, "give axes in ascending order, each once, at least one".into());
        }
        let row = *self.shape.last().unwrap_or(&1);
        if let Layout::Pitch(pitch) = self.layout
            && pitch < row
        {
            let why = format!("pitch:{pitch} is less than a row of shape {shown}: give {row} or more");
            return fault(Field::Layout, why);
        }
        let bytes = self.shape.iter().try_fold(self.dtype.size(), |n, &d| n.checked_mul(d));
        if bytes.is_none_or(|bytes| bytes > 1 << 40) {
            let why = format!("shape {shown} of {} has more than 2^40 bytes: take fewer elements", self.dtype);
            return fault(Field::Shape, why);
        }
        self.explain().or_else(|why| fault(Field::Op, why))
    }

    /// What the library says, without any data.
    fn explain(&self) -> Result<(), String> {
        let Work::Op(op) = self.work else {
            let is_plain = !self.skip_nan && self.precision == Precision::Tree;
            return if is_plain { Ok(()) } else { Err("describe takes neither skip_nan nor precision".into()) };
        };
        let (byte, strides) = ([0u8; 16], vec![0; self.shape.len()]);
        // SAFETY: with strides of zero every element is the first one, which the 16 bytes hold.
        let array = unsafe { ArrayRef::from_raw(byte.as_ptr(), self.dtype, &self.shape, &strides) };
        array.and_then(|array| warpfold::explain(op, array, &self.options())).map(drop).map_err(|e| e.to_string())
    }

    /// As the library takes them.
    pub fn options(&self) -> Options<'static> {
        Options {
            axes: Some(self.axes.iter().map(|&axis| axis as isize).collect()),
            precision: self.precision,
            skip_nan: self.skip_nan,
            threads: self.threads,
            ..Options::default()
        }
    }
}

/// Cases of one key have the same memory, byte for byte: it may be kept from one to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryKey {
    generator: Generator,
    offset: usize,
    room: usize,
    /// Length of a row, and from one to the next.
    pitch: Option<(usize, usize)>,
}

/// Why a case cannot be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Which part of it is wrong.
    pub field: Field,
    /// And what to do.
    pub why: String,
}

/// A part of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Field {
    Op,
    Shape,
    Axes,
    Layout,
}

/// In suites and records.
pub fn precision_name(precision: Precision) -> &'static str {
    match precision {
        Precision::Tree => "tree",
        Precision::Compensated => "compensated",
    }
}

/// `(3,4)`, `(3,)`.
pub fn tuple(numbers: &[usize]) -> String {
    let text: Vec<String> = numbers.iter().map(usize::to_string).collect();
    format!("({}{})", text.join(","), if text.len() == 1 { "," } else { "" })
}

/// As `--filter` sees it.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let axes: Vec<String> = self.axes.iter().map(usize::to_string).collect();
        write!(f, "{} {} {} axis {}", self.work.name(), self.dtype, tuple(&self.shape), axes.join(","))?;
        if self.layout != Layout::C {
            write!(f, " {}", self.layout)?;
        }
        if self.precision == Precision::Compensated {
            f.write_str(" compensated")?;
        }
        if self.skip_nan {
            f.write_str(" skip_nan")?;
        }
        match self.measure {
            Measure::Call => {}
            Measure::Latency => f.write_str(" latency")?,
            Measure::First => f.write_str(" first")?,
        }
        match self.threads {
            None => Ok(()),
            Some(1) => f.write_str(" 1 thread"),
            Some(n) => write!(f, " {n} threads"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(shape: &[usize], layout: Layout) -> Case {
        Case {
            work: Work::Op(Op::Sum),
            dtype: DType::F32,
            shape: shape.to_vec(),
            axes: vec![0],
            layout,
            precision: Precision::Tree,
            skip_nan: false,
            measure: Measure::Call,
            threads: None,
        }
    }

    #[test]
    fn layouts_are_strides_in_elements() {
        assert_eq!(case(&[2, 3, 4], Layout::C).strides(), [12, 4, 1]);
        assert_eq!(case(&[2, 3, 4], Layout::F).strides(), [1, 2, 6]);
        assert_eq!(case(&[2, 3, 4], Layout::Pitch(6)).strides(), [18, 6, 1]);
        assert_eq!(case(&[2, 3, 4], Layout::Pitch(6)).room(), 36);
        assert_eq!(case(&[5], Layout::Offset(1)).room(), 6);
    }

    #[test]
    fn bytes_are_those_read_and_written_once() {
        assert_eq!(case(&[2, 3], Layout::C).bytes(), 24 + 12);
        let mut c = case(&[2, 3], Layout::Pitch(5));
        c.work = Work::Describe;
        assert_eq!(c.bytes(), 24 + 3 * (8 + 8 + 16 + 12 + 4));
    }

    #[test]
    fn what_cannot_be_run_is_said_with_a_remedy() {
        let mut c = case(&[2, 3], Layout::Pitch(2));
        assert!(c.check().unwrap_err().why.contains("give 3 or more"));
        c.layout = Layout::C;
        assert_eq!(c.check(), Ok(()));
        c.axes = vec![2];
        assert!(c.check().unwrap_err().why.contains("give 0 to 1"));
        c.axes = vec![0];
        c.work = Work::Describe;
        c.skip_nan = true;
        assert_eq!(c.check().unwrap_err().field, Field::Op);
        assert!("prod".parse::<Work>().is_err() && "sun".parse::<Work>().unwrap_err().contains("`sum`"));
    }
}
