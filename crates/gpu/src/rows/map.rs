//! An operation on rows that is prepared once and run many times.

use warpfold_array::{CudaError, Error};
use warpfold_core::DType;
use warpfold_kernels::rowwise::arrange::ArrangeAt;
use warpfold_kernels::rowwise::{RowwiseAt, THREADS};

use super::check::Asked;
use super::options::{Norm, Softmax};
use super::sequence::{Addresses, Arrays, Sequence};
use crate::array::Array;
use crate::device::Device;
use crate::launch::Ready;
use crate::plan::rowwise::{Factor, RowOperation};
use crate::reduce::layout::Layout;
use crate::stream::Stream;
use crate::view::ArrayView;

/// A sequence with its kernels loaded.
type Loaded = Sequence<Ready<ArrangeAt>, Ready<RowwiseAt>>;

/// Bytes of a line.
const LINE: u64 = 16;

/// The arrays of an operation on rows beside its elements.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowArrays<'a> {
    /// Of [`Softmax`].
    pub mask: Option<ArrayView<'a>>,
    /// Of [`Norm`].
    pub weight: Option<ArrayView<'a>>,
    /// Of [`Norm`].
    pub bias: Option<ArrayView<'a>>,
    /// The gradient, of an operation that takes one.
    pub gradient: Option<ArrayView<'a>>,
}

impl<'a> RowArrays<'a> {
    /// Each, and what it is.
    fn each(&self) -> [(&'static str, Option<ArrayView<'a>>); 4] {
        [("mask", self.mask), ("weights", self.weight), ("biases", self.bias), ("gradient", self.gradient)]
    }
}

/// An operation on rows of arrays of one dtype, shape and layout on one GPU: planned, its kernels loaded.
///
/// A run costs the host the driver's calls and no more. Any number of threads can run it, on any streams.
pub struct RowMap {
    device: Device,
    dtype: DType,
    shape: Vec<usize>,
    x: Layout,
    arrays: [Option<Layout>; 4],
    /// None of no elements. The other one is for weights or biases that do not begin with lines of 16 bytes.
    sequences: Option<(Loaded, Option<Loaded>)>,
}

/// The constructors: a row has the documentation and the name of each, the arrays beside the elements, the options, the
/// check of its arguments, and the operation and the arrays that follow from these.
macro_rules! constructors {
    ($(
        $(#[$doc:meta])*
        $name:ident($($array:ident)?), $options:ident: $check:ident, $plan:ident, [$($of:expr),*];
    )*) => {
        impl RowMap {$(
            $(#[$doc])*
            pub fn $name(
                device: &Device,
                x: &ArrayView<'_>,
                $($array: &ArrayView<'_>,)?
                axes: &[isize],
                options: &$options<'_>,
            ) -> Result<RowMap, Error> {
                let asked = Asked::$check(stringify!($name), x, $($array,)? axes, options)?;
                let (op, given) = $plan([$($of),*], x.dtype(), options);
                Self::new(device, x, &asked, &RowArrays { $($array: Some(*$array),)? ..given }, &op)
            }
        )*}
    };
}

constructors! {
    /// Plans [`softmax`](super::softmax) of arrays like `x` with masks like that of the options, and loads its kernels.
    ///
    /// # Errors
    /// As [`softmax`](super::softmax).
    softmax(), Softmax: softmax, exponentials, [("softmax", 2), ("softmax_masked", 2)];
    /// The same of [`log_softmax`](super::log_softmax).
    ///
    /// # Errors
    /// As [`log_softmax`](super::log_softmax).
    log_softmax(), Softmax: softmax, exponentials, [("log_softmax", 2), ("log_softmax_masked", 2)];
    /// The same of [`softmax_backward`](super::softmax_backward), with gradients like the one given.
    ///
    /// # Errors
    /// As [`softmax_backward`](super::softmax_backward).
    softmax_backward(gradient), Softmax: gradient, gradients, [("softmax_backward", 1)];
    /// The same of [`log_softmax_backward`](super::log_softmax_backward).
    ///
    /// # Errors
    /// As [`log_softmax_backward`](super::log_softmax_backward).
    log_softmax_backward(gradient), Softmax: gradient, gradients, [("log_softmax_backward", 1)];
    /// The same of [`rms_norm`](super::rms_norm), with weights and biases like those of the options.
    ///
    /// # Errors
    /// As [`rms_norm`](super::rms_norm).
    rms_norm(), Norm: norm, norm, [("rms_norm", 1)];
    /// The same of [`layer_norm`](super::layer_norm).
    ///
    /// # Errors
    /// As [`layer_norm`](super::layer_norm).
    layer_norm(), Norm: norm, norm, [("layer_norm", 2)];
}

/// An operation's name in the names of kernels, and how many words its nodes of f32 have.
type Named = (&'static str, usize);

/// Softmax or its logarithm, as it is, or scaled and masked.
fn exponentials<'a>(of: [Named; 2], dtype: DType, options: &Softmax<'a>) -> (RowOperation, RowArrays<'a>) {
    let &Softmax { scale, mask } = options;
    let is_plain = scale == 1.0 && mask.is_none();
    let op = RowOperation { masked: mask.is_some(), scale, ..operation(of[!is_plain as usize], dtype) };
    (op, RowArrays { mask, ..RowArrays::default() })
}

/// A gradient of these.
fn gradients<'a>([of]: [Named; 1], dtype: DType, options: &Softmax<'_>) -> (RowOperation, RowArrays<'a>) {
    (RowOperation { scale: options.scale, ..operation(of, dtype) }, RowArrays::default())
}

/// A norm.
fn norm<'a>([of]: [Named; 1], dtype: DType, options: &Norm<'a>) -> (RowOperation, RowArrays<'a>) {
    let &Norm { weight, weight_offset: offset, bias, epsilon } = options;
    (RowOperation { epsilon, offset, ..operation(of, dtype) }, RowArrays { weight, bias, ..RowArrays::default() })
}

impl RowMap {
    fn new(
        device: &Device,
        x: &ArrayView<'_>,
        asked: &Asked,
        given: &RowArrays<'_>,
        op: &RowOperation,
    ) -> Result<RowMap, Error> {
        let shape = x.shape().to_vec();
        let arrays = given.each().map(|(_, array)| array.map(|array| Layout::of(array.layout())));
        let factor = |array: &Option<ArrayView<'_>>| array.map(|array| (array.dtype(), array.strides().to_vec()));
        let (factors, second) = ([factor(&given.weight), factor(&given.bias)], factor(&given.gradient));
        let plan = |aligned: bool| {
            let arrays = Arrays {
                dtype: x.dtype(),
                shape: &shape,
                axes: &asked.axes,
                x: x.strides(),
                second: second.as_ref().map(|(dtype, steps)| (*dtype, &steps[..])),
                mask: asked.mask.as_deref(),
                factors: [0, 1].map(|i| factors[i].as_ref().map(|(dtype, steps)| (*dtype, &steps[..]))),
                aligned,
            };
            let plan = Sequence::plan(op, &arrays, &device.limits());
            let why = format!("rows of an array of shape {shape:?} need more blocks than a grid has");
            let too_many = CudaError::Launch { entry: asked.op.into(), grid: u32::MAX, block: THREADS, why };
            plan.ok_or(too_many)?.load(device)
        };
        let sequences = if x.shape().contains(&0) {
            None
        } else {
            let is_asked = given.weight.is_some() || given.bias.is_some();
            Some((plan(true)?, is_asked.then(|| plan(false)).transpose()?))
        };
        Ok(RowMap { device: device.clone(), dtype: x.dtype(), shape, x: Layout::of(x.layout()), arrays, sequences })
    }

    /// The dtype of the result, which is that of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The shape of the result, which is that of the elements.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The kernels that a run launches, in order, if weights and biases begin with lines of 16 bytes.
    pub fn kernels(&self) -> Vec<&str> {
        self.sequences.iter().flat_map(|(sequence, _)| sequence.kernels()).collect()
    }

    /// Room for a result.
    ///
    /// # Errors
    /// If the memory does not suffice.
    pub fn output(&self) -> Result<Array, Error> {
        Array::new(&self.device, self.dtype, &self.shape)
    }

    /// Queues one run. The result is in `out` when the stream gets there; `out` must not be in use by another stream.
    ///
    /// # Errors
    /// If an array or the stream is not like that which the operation was prepared for, or the driver refuses.
    pub fn run(
        &self,
        stream: &Stream,
        x: ArrayView<'_>,
        arrays: &RowArrays<'_>,
        out: &mut Array,
    ) -> Result<(), CudaError> {
        out.is_on(stream, "output")?;
        out.expect("output", self.dtype, &self.shape)?;
        // SAFETY: `out` has the dtype and the shape of the result, and stays until the device is done with it.
        unsafe { self.run_at(stream, x, arrays, out.address()) }?;
        out.set_origin(None);
        Ok(())
    }

    /// Queues one run whose result goes to memory that somebody else has allocated, in C order.
    ///
    /// # Safety
    /// At `address` there is room for the result, aligned to its elements, which nothing else touches until the stream
    /// has written it.
    ///
    /// # Errors
    /// As [`RowMap::run`].
    pub unsafe fn run_at(
        &self,
        stream: &Stream,
        x: ArrayView<'_>,
        arrays: &RowArrays<'_>,
        address: u64,
    ) -> Result<(), CudaError> {
        stream.is_one_of(&self.device)?;
        x.is_on(stream, "array")?;
        self.x.check("array", &x)?;
        for ((what, array), layout) in arrays.each().into_iter().zip(&self.arrays) {
            match (array, layout) {
                (None, None) => {}
                (Some(array), Some(layout)) => {
                    array.is_on(stream, what)?;
                    layout.check(what, &array)?;
                }
                (array, layout) => {
                    let absent = || "absent".to_owned();
                    let found = array.map_or_else(absent, |array| Layout::of(array.layout()).to_string());
                    let expected = layout.as_ref().map_or_else(absent, Layout::to_string);
                    return Err(CudaError::Layout { what, found, expected });
                }
            }
        }
        let Some((sequence, unaligned)) = &self.sequences else { return Ok(()) };
        let [mask, weight, bias, second] = arrays.each().map(|(_, array)| array.map_or(0, |array| array.address()));
        let is_aligned = (weight | bias).is_multiple_of(LINE);
        let sequence = unaligned.as_ref().filter(|_| !is_aligned).unwrap_or(sequence);
        let mut scratch = stream.scratch();
        let workspace = scratch.workspace(stream, sequence.workspace)?;
        let at = Addresses { x: x.address(), second, mask, weight, bias, out: address, workspace };
        // SAFETY: the arrays are like those that were planned for, as was just seen, and stay, as `ArrayView::from_raw`
        // promises; the caller vouches for the room of the result. The workspace is the stream's, whose lock is held.
        unsafe { sequence.queue(stream, &at) }
    }
}

/// An operation without options.
fn operation((name, words): Named, dtype: DType) -> RowOperation {
    let node = words * dtype.size().div_ceil(4);
    RowOperation {
        name,
        dtype,
        node,
        masked: false,
        scale: 1.0,
        epsilon: 0.0,
        offset: 0.0,
        factors: [Factor::Absent; 2],
    }
}
