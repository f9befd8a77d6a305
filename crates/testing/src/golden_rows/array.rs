//! Arrays that are the same on every machine: bytes, and how elements lie in them.

use crate::golden::random;
use warpfold::cuda::{ArrayView, Buffer, Stream};
use warpfold::{ArrayRef, DType, Error, bf16, f16};

/// How the elements of an array lie. Kernels are chosen by it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Layout {
    /// In C order, from a line of 16 bytes.
    Dense,
    /// In C order, so many elements after a line.
    Offset(usize),
    /// So many elements between one row of the last axis and the next.
    Pitch(usize),
}

/// What an array holds.
#[derive(Clone, Copy, Debug)]
pub enum Fill {
    /// Numbers of about this magnitude.
    Numbers(f64),
    /// The same; in three of four rows also what is special: zeros of both signs and minus infinity, NaN, or infinity
    /// and numbers that are too small or too large for some dtypes. The other row has none, and so has a result.
    Specials(f64),
    /// From 0 to 1, with both.
    Shares,
    /// Truths, most of them true.
    Mask,
    /// Classes below the first number; one of five is the second.
    Classes(i64, i64),
}

/// An array in bytes.
pub struct Placed {
    bytes: Vec<u8>,
    first: usize,
    dtype: DType,
    shape: Vec<usize>,
    /// In bytes.
    strides: Vec<isize>,
}

impl Placed {
    /// The same for the same arguments.
    pub fn new(dtype: DType, shape: &[usize], layout: Layout, fill: Fill, mut seed: u64) -> Self {
        let (first, gap) = match layout {
            Layout::Dense => (0, 0),
            Layout::Offset(first) => (first, 0),
            Layout::Pitch(gap) => (0, gap),
        };
        let width = shape.last().map_or(1, |len| len + gap);
        let mut strides = vec![dtype.size() as isize; shape.len()];
        for axis in (0..shape.len().saturating_sub(1)).rev() {
            let below = if axis + 2 == shape.len() { width } else { shape[axis + 1] };
            strides[axis] = strides[axis + 1] * below as isize;
        }
        let rows: usize = shape.iter().rev().skip(1).product();
        // What lies between rows is filled, too, so that to read it changes a result.
        let n = first + rows * width;
        let mut bytes = Vec::with_capacity(n * dtype.size());
        for i in 0..n {
            put(&mut bytes, dtype, fill.element(i.saturating_sub(first) / width.max(1), random(&mut seed)));
        }
        Self { bytes, first: first * dtype.size(), dtype, shape: shape.to_vec(), strides }
    }

    /// One of the host, whose elements are in C order.
    pub fn of(array: &warpfold::Array) -> Self {
        let (dtype, shape) = (array.dtype(), array.shape.clone());
        let size = dtype.size() as isize;
        let strides = (0..shape.len()).map(|axis| size * shape[axis + 1..].iter().product::<usize>() as isize);
        Self { bytes: array.values.as_bytes().to_vec(), first: 0, dtype, strides: strides.collect(), shape }
    }

    pub fn host(&self) -> ArrayRef<'_> {
        let base = self.bytes[self.first..].as_ptr();
        // SAFETY: the strides reach no further than the bytes.
        unsafe { ArrayRef::from_raw(base, self.dtype, &self.shape, &self.strides) }.expect("a layout")
    }

    /// Its bytes on a device.
    pub fn upload(&self, stream: &Stream) -> Result<Buffer<u8>, Error> {
        Buffer::upload(stream, &self.bytes).map_err(Error::from)
    }

    /// The array in such bytes.
    pub fn view<'a>(&self, there: &'a Buffer<u8>) -> Result<ArrayView<'a>, Error> {
        let address = there.address() + self.first as u64;
        // SAFETY: the strides reach no further than the bytes, which outlive the view.
        unsafe { ArrayView::from_raw(there.device_index(), address, self.dtype, &self.shape, &self.strides) }
    }
}

impl Fill {
    fn element(self, row: usize, r: u64) -> f64 {
        let share = (r >> 20) % 1_000_001;
        match self {
            Fill::Numbers(spread) => (share as f64 * 2e-6 - 1.0) * spread,
            Fill::Specials(spread) => special(row % 4, r).unwrap_or((share as f64 * 2e-6 - 1.0) * spread),
            Fill::Shares => [0.0, 1.0, share as f64 * 1e-6][((r % 16) as usize).min(2)],
            Fill::Mask => f64::from(!r.is_multiple_of(8)),
            Fill::Classes(_, other) if r.is_multiple_of(5) => other as f64,
            Fill::Classes(classes, _) => ((r >> 20) % classes as u64) as f64,
        }
    }
}

/// What is special about an element, if anything is.
fn special(kind: usize, r: u64) -> Option<f64> {
    let place = (r >> 50) as usize;
    match kind {
        1 if r % 16 < 3 => Some([-0.0, 0.0, f64::NEG_INFINITY][place % 3]),
        2 if r.is_multiple_of(64) => Some([f64::NAN, -0.0][place % 2]),
        3 if r.is_multiple_of(64) => Some([f64::INFINITY, 1e-40, -6e4, 3e38][place % 4]),
        _ => None,
    }
}

/// Appends a number in a dtype.
fn put(bytes: &mut Vec<u8>, dtype: DType, x: f64) {
    match dtype {
        DType::F16 => bytes.extend(f16::from_f64(x).to_bits().to_ne_bytes()),
        DType::BF16 => bytes.extend(bf16::from_f64(x).to_bits().to_ne_bytes()),
        DType::F32 => bytes.extend((x as f32).to_ne_bytes()),
        DType::F64 => bytes.extend(x.to_ne_bytes()),
        DType::I64 => bytes.extend((x as i64).to_ne_bytes()),
        DType::Bool => bytes.push((x != 0.0).into()),
        other => panic!("no array of {other}"),
    }
}
