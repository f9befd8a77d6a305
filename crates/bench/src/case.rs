//! One measurement: a reduction, the array that it reads, and how it is timed.

use crate::data::{Generator, Kind};
use crate::keys::{Cloud, Keys};
use crate::layout::Layout;
use crate::work::Work;
use serde::{Deserialize, Serialize};
use std::fmt;
use warpfold::{DType, Op, Options, Precision};

/// What a sample measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// One of many calls, one after the other: device time on a GPU, wall-clock time on a CPU.
    Call,
    /// Wall-clock time from the call until its result is on the host.
    Latency,
    /// One of several calls that are recorded in a CUDA graph, whose launches follow one another.
    Graph,
    /// Wall-clock time from a shape and a dtype until the first result is on the host: planning, the driver compiling
    /// the kernel, one call. The GPU was open before.
    First,
}

impl Measure {
    /// The name in suites.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Call => "call",
            Measure::Latency => "latency",
            Measure::Graph => "graph",
            Measure::First => "first",
        }
    }

    /// Whether a sample is of many calls on inputs in turn, so that the inputs come from memory and not from a cache.
    pub fn is_in_turn(self) -> bool {
        matches!(self, Measure::Call | Measure::Graph)
    }
}

/// One measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What is computed.
    pub work: Work,
    /// The dtype of the elements.
    pub dtype: DType,
    /// The shape of the array.
    pub shape: Vec<usize>,
    /// The reduced axes, ascending.
    pub axes: Vec<usize>,
    /// The layout of the elements in memory.
    pub layout: Layout,
    /// The precision of sums.
    pub precision: Precision,
    /// Whether NaNs are left out. If so, the data contain NaNs.
    pub skip_nan: bool,
    /// How it is timed.
    pub measure: Measure,
    /// The number of threads on the CPU; `None`: all cores.
    pub threads: Option<usize>,
    /// What groups the elements, if not an axis.
    pub keys: Option<Keys>,
    /// The least number of elements in memory for dense layouts, so that cases of different shapes share one
    /// allocation.
    pub least_room: usize,
}

/// The granularity of reads from memory in bytes: a sector of a GPU's second-level cache.
const SECTOR: usize = 32;

/// The seed of all data.
pub const SEED: u32 = 1;

impl Case {
    /// Work on elements of this dtype, without a shape yet: dense, in C order, timed call by call, without options.
    pub fn new(work: Work, dtype: DType) -> Case {
        Case {
            work,
            dtype,
            shape: Vec::new(),
            axes: Vec::new(),
            layout: Layout::C,
            precision: Precision::Tree,
            skip_nan: false,
            measure: Measure::Call,
            threads: None,
            keys: None,
            least_room: 0,
        }
    }

    /// The number of elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// The number of outputs; each has [`Work::width`] values. 0 for `unique`, whose number of outputs depends on the
    /// data.
    pub fn outputs(&self) -> usize {
        let n = self.elements();
        match (self.work, self.keys) {
            (Work::Unique, _) => 0,
            (_, Some(Keys::Segments(lengths))) => lengths.count(n, SEED),
            (_, Some(Keys::Groups(groups))) => groups,
            (Work::Iterate, Some(Keys::Clusters(k, _))) => self.shape[0] + k * self.dimensions(),
            (_, Some(Keys::Clusters(k, _))) => k * self.dimensions(),
            (_, None) => self.kept().map(|axis| self.shape[axis]).product(),
        }
    }

    /// The number of coordinates of a point, for k-means.
    pub fn dimensions(&self) -> usize {
        self.shape.get(1).copied().unwrap_or(1)
    }

    /// The number of labels, for groups and k-means.
    pub fn labels(&self) -> Option<usize> {
        match self.keys {
            Some(Keys::Groups(labels) | Keys::Clusters(labels, _)) => Some(labels),
            _ => None,
        }
    }

    /// The number of elements per output.
    pub fn count(&self) -> usize {
        self.axes.iter().map(|&axis| self.shape[axis]).product()
    }

    /// The axes that are not reduced.
    pub fn kept(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.shape.len()).filter(|axis| !self.axes.contains(axis))
    }

    /// Bytes of the array's elements.
    pub fn input_bytes(&self) -> u64 {
        self.elements() as u64 * self.dtype.size() as u64
    }

    /// The least number of bytes that must be read (or, for the labels of an iteration, written): elements, or whole
    /// sectors where elements are strided, and offsets of 8 bytes or labels of 4.
    pub fn floor_bytes(&self) -> u64 {
        let keys = match (self.work, self.keys) {
            (Work::Unique, _) | (_, None) => 0,
            (_, Some(Keys::Segments(lengths))) => 8 * (lengths.count(self.elements(), SEED) as u64 + 1),
            (_, Some(_)) => 4 * self.shape[0] as u64,
        };
        let size = self.dtype.size();
        let each = if let Layout::Step(step) = self.layout { (step * size).min(SECTOR.max(size)) } else { size };
        self.elements() as u64 * each as u64 + keys
    }

    /// The number of bytes read and written, each counted once, without the distinct values of `unique`.
    pub fn bytes(&self) -> u64 {
        let read = if self.work == Work::Iterate { self.input_bytes() } else { self.floor_bytes() };
        read + self.outputs() as u64 * self.work.result_bytes(self.dtype) as u64
    }

    /// The part of [`Case::bytes`] that is written.
    pub fn written_bytes(&self) -> u64 {
        self.outputs() as u64 * self.work.result_bytes(self.dtype) as u64
    }

    /// The stride of each axis in elements, without padding.
    pub fn dense_strides(&self) -> Vec<usize> {
        let mut strides = vec![0; self.shape.len()];
        let mut stride = 1;
        let order: Vec<usize> = match self.layout {
            Layout::F => (0..self.shape.len()).collect(),
            Layout::Order(order) => order.axes().rev().collect(),
            _ => (0..self.shape.len()).rev().collect(),
        };
        for axis in order {
            strides[axis] = stride;
            stride *= self.shape[axis];
        }
        strides
    }

    /// The stride of each axis in elements, in memory.
    pub fn strides(&self) -> Vec<usize> {
        let mut strides = self.dense_strides();
        if let (Layout::Pitch(pitch), Some(&row)) = (self.layout, self.shape.last()) {
            let last = strides.len() - 1;
            strides[..last].iter_mut().for_each(|s| *s = *s / row * pitch);
        }
        if let Layout::Step(step) = self.layout {
            strides.iter_mut().for_each(|s| *s *= step);
        }
        strides
    }

    /// The number of elements of memory before the first element.
    pub fn offset(&self) -> usize {
        if let Layout::Offset(n) = self.layout { n } else { 0 }
    }

    /// The number of elements of memory, padding and offset included.
    pub fn room(&self) -> usize {
        match (self.layout, self.shape.last()) {
            (Layout::Pitch(pitch), Some(&row)) => self.elements() / row * pitch,
            (Layout::Step(step), _) => self.elements() * step,
            _ => self.elements().max(self.least_room) + self.offset(),
        }
    }

    /// The generator of the data.
    pub fn generator(&self) -> Generator {
        let kind = match self.work {
            Work::Op(Op::Any) => Kind::Rare,
            Work::Op(Op::All) => Kind::Common,
            _ if self.skip_nan => Kind::Nan,
            Work::Unique if self.keys.is_some() => Kind::Labels,
            Work::Update | Work::Iterate => match self.keys {
                Some(Keys::Clusters(_, Cloud::Clustered)) => Kind::Clustered,
                _ => Kind::Normal,
            },
            _ => Kind::Values,
        };
        // The values do not depend on the keys, so that they are kept from one case to the next.
        let (keys, dimensions) = match kind {
            Kind::Labels => (self.labels().unwrap_or(1), 0),
            Kind::Normal => (0, self.dimensions()),
            Kind::Clustered => (self.labels().unwrap_or(1), self.dimensions()),
            _ => (0, 0),
        };
        Generator { dtype: self.dtype, kind, seed: SEED, keys, dimensions }
    }

    /// Everything that the contents of the memory depend on.
    pub fn memory(&self) -> MemoryKey {
        let row = *self.shape.last().unwrap_or(&1);
        let apart = match self.layout {
            Layout::Pitch(pitch) => Some((row, pitch)),
            Layout::Step(step) => Some((1, step)),
            _ => None,
        };
        MemoryKey { generator: self.generator(), offset: self.offset(), room: self.room(), apart }
    }

    /// Whether elements are grouped by keys instead of an axis.
    pub fn is_keyed(&self) -> bool {
        self.keys.is_some() || self.work == Work::Unique
    }

    /// The options of the library's call.
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

/// Cases of equal key have the same memory contents, byte for byte, so that the memory is kept from one case to the
/// next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryKey {
    generator: Generator,
    offset: usize,
    room: usize,
    /// The length of a row and the distance between rows, where there is padding between rows.
    apart: Option<(usize, usize)>,
}

/// The name of a precision in suites and records.
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

/// The text that `--filter` searches.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let axes: Vec<String> = self.axes.iter().map(usize::to_string).collect();
        write!(f, "{} {} {}", self.work.name(), self.dtype, tuple(&self.shape))?;
        match self.keys {
            Some(keys) => write!(f, " {keys}")?,
            None if self.work == Work::Unique => {}
            None => write!(f, " axis {}", axes.join(","))?,
        }
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
            other => write!(f, " {}", other.name())?,
        }
        match self.threads {
            None => Ok(()),
            Some(1) => f.write_str(" 1 thread"),
            Some(n) => write!(f, " {n} threads"),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::layout::Order;

    pub(crate) fn case(shape: &[usize], layout: Layout) -> Case {
        let case = Case::new(Work::Op(Op::Sum), DType::F32);
        Case { shape: shape.to_vec(), axes: vec![0], layout, ..case }
    }

    #[test]
    fn layouts_are_strides_in_elements() {
        assert_eq!(case(&[2, 3, 4], Layout::C).strides(), [12, 4, 1]);
        assert_eq!(case(&[2, 3, 4], Layout::F).strides(), [1, 2, 6]);
        assert_eq!(case(&[2, 3, 4], Layout::Pitch(6)).strides(), [18, 6, 1]);
        assert_eq!(case(&[2, 3, 4], Layout::Pitch(6)).room(), 36);
        assert_eq!(case(&[5], Layout::Offset(1)).room(), 6);
        assert_eq!(case(&[2, 3, 4], Layout::Step(2)).strides(), [24, 8, 2]);
        assert_eq!(case(&[2, 3, 4], Layout::Step(2)).room(), 48);
        let order = Order::new(&[2, 0, 1]).map(Layout::Order).unwrap();
        assert_eq!(case(&[2, 3, 4], order).strides(), [3, 1, 6]);
    }

    #[test]
    fn elements_that_lie_apart_are_read_with_what_is_between_them() {
        assert_eq!(case(&[100], Layout::Step(2)).floor_bytes(), 800);
        assert_eq!(case(&[100], Layout::Step(100)).floor_bytes(), 3200);
    }

    #[test]
    fn bytes_are_those_read_and_written_once() {
        assert_eq!(case(&[2, 3], Layout::C).bytes(), 24 + 12);
        let mut c = case(&[2, 3], Layout::Pitch(5));
        c.work = Work::Describe;
        assert_eq!(c.bytes(), 24 + 3 * (8 + 8 + 16 + 12 + 4));
    }
}
