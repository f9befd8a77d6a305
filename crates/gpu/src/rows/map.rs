//! An operation on rows that is prepared once and run many times.

use warpfold_array::{CudaError, Error};
use warpfold_core::DType;
use warpfold_kernels::rowwise::arrange::ArrangeAt;
use warpfold_kernels::rowwise::{RowwiseAt, THREADS};

use super::check::Asked;
use super::options::{NormGradients, RowLosses};
use super::sequence::{Addresses, Arrays, Sequence};
use crate::array::Array;
use crate::device::Device;
use crate::launch::Ready;
use crate::plan::rowwise::RowOperation;
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
    /// Of [`Softmax`](super::Softmax).
    pub mask: Option<ArrayView<'a>>,
    /// Of [`Norm`](super::Norm).
    pub weight: Option<ArrayView<'a>>,
    /// Of [`Norm`](super::Norm).
    pub bias: Option<ArrayView<'a>>,
    /// The gradient, of an operation that takes one.
    pub gradient: Option<ArrayView<'a>>,
    /// The classes of rows, of cross-entropy.
    pub targets: Option<ArrayView<'a>>,
    /// Of [`CrossEntropy`](super::CrossEntropy).
    pub scales: Option<ArrayView<'a>>,
    /// Of [`CrossEntropy`](super::CrossEntropy), too, and of the gradients of a [`Norm`](super::Norm).
    pub noted: Option<ArrayView<'a>>,
}

/// Addresses of memory for results that somebody else has allocated, each in C order; zero: it is not wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowAddresses {
    /// The result, or the gradient of the elements: like the elements.
    pub x: u64,
    /// The gradient of the weights: like the weights.
    pub weight: u64,
    /// The gradient of the biases: like the biases.
    pub bias: u64,
    /// The losses of rows: a number for each, of f32, or f64 of f64.
    pub losses: u64,
    /// The logsumexp of rows, the same.
    pub logsumexp: u64,
    /// What follows from rows, two numbers for each, for [`RowArrays::noted`] of a later run.
    pub noted: u64,
    /// Of cross-entropy the gradient of all losses, a number as these are, with which an earlier run has written `x`:
    /// if [`RowArrays::scales`] has the same number, this run leaves `x` as it is, unless results are put in order at
    /// the end (of axes before the last). The host knows neither number.
    pub used: u64,
}

impl<'a> RowArrays<'a> {
    /// Each, and what it is.
    fn each(&self) -> [(&'static str, Option<ArrayView<'a>>); 7] {
        [
            ("mask", self.mask),
            ("weights", self.weight),
            ("biases", self.bias),
            ("gradient", self.gradient),
            ("targets", self.targets),
            ("gradients of losses", self.scales),
            ("noted", self.noted),
        ]
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
    arrays: [Option<Layout>; 7],
    /// The axes that are no row's: the shape of what has an element for each row.
    batch: Vec<usize>,
    /// None of no elements. The other one is for weights or biases that do not begin with lines of 16 bytes, and, of
    /// gradients, for any arrays that do not.
    sequences: Option<(Loaded, Option<Loaded>)>,
}

impl RowMap {
    /// Plans an operation, and loads its kernels.
    ///
    /// # Errors
    /// If there are too many rows; what the driver says.
    pub(super) fn new(
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
        let is_asked = given.weight.is_some() || given.bias.is_some();
        let plan = |aligned: bool| {
            let arrays = Arrays {
                dtype: x.dtype(),
                shape: &shape,
                axes: &asked.axes,
                x: x.strides(),
                second: second.as_ref().map(|(dtype, steps)| (*dtype, &steps[..])),
                mask: asked.mask.as_deref(),
                targets: given.targets.as_ref().map(ArrayView::strides),
                scales: given.scales.as_ref().map(|scales| (scales.dtype(), op.scaled.then(|| scales.strides()))),
                sums: op.noted_by.is_some() && is_asked,
                factors: [0, 1].map(|i| factors[i].as_ref().map(|(dtype, steps)| (*dtype, &steps[..]))),
                aligned,
            };
            let plan = Sequence::plan(op, &arrays, &device.limits());
            let why = format!("rows of an array of shape {shape:?} need more blocks than a grid has");
            let too_many = CudaError::Launch { entry: asked.op.into(), grid: u32::MAX, block: THREADS, why };
            plan.ok_or(too_many)?.load(device)
        };
        let sequences = match x.shape().contains(&0) {
            true => None,
            false => Some((plan(true)?, is_asked.then(|| plan(false)).transpose()?)),
        };
        let batch = asked.batch(&shape);
        let x = (x.dtype(), Layout::of(x.layout()));
        Ok(RowMap { device: device.clone(), dtype: x.0, shape, x: x.1, arrays, batch, sequences })
    }

    /// The dtype of the result, which is that of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The shape of the result, which is that of the elements.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The kernels that a run launches, in order, if all arrays begin with lines of 16 bytes.
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
    /// Of the gradients of a norm it is that of the elements.
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
        self.takes(stream, out, "output", (self.dtype, &self.shape))?;
        // SAFETY: `out` has the dtype and the shape of the result, and stays until the device is done with it.
        unsafe { self.run_at(stream, x, arrays, out.address()) }?;
        out.set_origin(None);
        Ok(())
    }

    /// Queues one run of a norm that also notes, in an array of [`RowMap::shape_of_noted`] and
    /// [`RowMap::dtype_of_losses`], what its gradients need to know of rows.
    ///
    /// # Errors
    /// As [`RowMap::run`].
    pub fn run_noted(
        &self,
        stream: &Stream,
        x: ArrayView<'_>,
        arrays: &RowArrays<'_>,
        [out, noted]: [&mut Array; 2],
    ) -> Result<(), CudaError> {
        self.takes(stream, out, "output", (self.dtype, &self.shape))?;
        self.takes(stream, noted, "noted", (self.dtype_of_losses(), &self.shape_of_noted()))?;
        let at = RowAddresses { x: out.address(), noted: noted.address(), ..RowAddresses::default() };
        // SAFETY: the arrays have the dtypes and shapes of the results, and stay until the device is done with them.
        unsafe { self.run_into(stream, x, arrays, &at) }?;
        [out, noted].into_iter().for_each(|array| array.set_origin(None));
        Ok(())
    }

    /// Queues one run of the gradients of a norm, also of weights and biases, as far as there are such.
    ///
    /// # Errors
    /// As [`RowMap::run`]; arrays for gradients of which there are none.
    pub fn run_gradients(
        &self,
        stream: &Stream,
        x: ArrayView<'_>,
        arrays: &RowArrays<'_>,
        out: &mut NormGradients,
    ) -> Result<(), CudaError> {
        self.takes(stream, &out.x, "output", (self.dtype, &self.shape))?;
        for (what, of, gradient) in [("weights", arrays.weight, &out.weight), ("biases", arrays.bias, &out.bias)] {
            if let Some(gradient) = gradient {
                let absent =
                    || CudaError::Layout { what, found: "absent".into(), expected: "as their gradient".into() };
                let of = of.ok_or_else(absent)?;
                self.takes(stream, gradient, what, (of.dtype(), of.shape()))?;
            }
        }
        let [weight, bias] = [&out.weight, &out.bias].map(|array| array.as_ref().map_or(0, Array::address));
        let at = RowAddresses { x: out.x.address(), weight, bias, ..RowAddresses::default() };
        // SAFETY: the arrays have the dtypes and shapes of the results, and stay until the device is done with them.
        unsafe { self.run_into(stream, x, arrays, &at) }?;
        for array in [Some(&mut out.x), out.weight.as_mut(), out.bias.as_mut()].into_iter().flatten() {
            array.set_origin(None);
        }
        Ok(())
    }

    /// Queues one run of cross-entropy.
    ///
    /// # Errors
    /// As [`RowMap::run`].
    pub fn run_losses(
        &self,
        stream: &Stream,
        logits: ArrayView<'_>,
        arrays: &RowArrays<'_>,
        out: &mut RowLosses,
    ) -> Result<(), CudaError> {
        let wide = (self.dtype_of_losses(), &self.batch[..]);
        self.takes(stream, &out.losses, "losses", wide)?;
        self.takes(stream, &out.logsumexp, "logsumexp", wide)?;
        if let Some(gradient) = &out.gradient {
            self.takes(stream, gradient, "output", (self.dtype, &self.shape))?;
        }
        if let Some(noted) = &out.noted {
            self.takes(stream, noted, "noted", (self.dtype_of_losses(), &self.shape_of_noted()))?;
        }
        let noted = out.noted.as_ref().map_or(0, Array::address);
        let x = out.gradient.as_ref().map_or(0, Array::address);
        let (losses, logsumexp) = (out.losses.address(), out.logsumexp.address());
        // SAFETY: the arrays have the dtypes and shapes of the results, and stay until the device is done with them.
        unsafe {
            self.run_into(
                stream,
                logits,
                arrays,
                &RowAddresses { x, losses, logsumexp, noted, ..RowAddresses::default() },
            )
        }?;
        let rows = [Some(&mut out.losses), Some(&mut out.logsumexp), out.gradient.as_mut(), out.noted.as_mut()];
        rows.into_iter().flatten().for_each(|array| array.set_origin(None));
        Ok(())
    }

    /// The dtype of the losses of rows.
    pub fn dtype_of_losses(&self) -> DType {
        if self.dtype == DType::F64 { DType::F64 } else { DType::F32 }
    }

    /// The shape of what is noted of rows: two numbers for each.
    pub fn shape_of_noted(&self) -> Vec<usize> {
        [&self.batch[..], &[2]].concat()
    }

    /// The shape of what has an element for each row: that of the elements, but for the axes of a row.
    pub fn batch(&self) -> &[usize] {
        &self.batch
    }

    /// Checks an array for results.
    fn takes(
        &self,
        stream: &Stream,
        out: &Array,
        what: &'static str,
        like: (DType, &[usize]),
    ) -> Result<(), CudaError> {
        out.is_on(stream, what)?;
        out.expect(what, like.0, like.1)
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
        // SAFETY: the caller's.
        unsafe { self.run_into(stream, x, arrays, &RowAddresses { x: address, ..RowAddresses::default() }) }
    }

    /// The same with all results that the operation has.
    ///
    /// # Safety
    /// As [`RowMap::run_at`], of each address that is not zero.
    ///
    /// # Errors
    /// As [`RowMap::run`].
    pub unsafe fn run_into(
        &self,
        stream: &Stream,
        x: ArrayView<'_>,
        arrays: &RowArrays<'_>,
        to: &RowAddresses,
    ) -> Result<(), CudaError> {
        stream.is_one_of(&self.device)?;
        x.is_on(stream, "array")?;
        self.x.check("array", &x)?;
        for ((what, array), layout) in arrays.each().into_iter().zip(&self.arrays) {
            Layout::check_both(layout.as_ref(), what, array.as_ref())?;
            array.iter().try_for_each(|array| array.is_on(stream, what))?;
        }
        let [mask, weight, bias, second, targets, scales, known] =
            arrays.each().map(|(_, array)| array.map_or(0, |array| array.address()));
        let Some((sequence, unaligned)) = &self.sequences else {
            for (factor, to) in [(arrays.weight, to.weight), (arrays.bias, to.bias)] {
                let Some(factor) = factor.filter(|_| to != 0) else { continue };
                let bytes = factor.shape().iter().product::<usize>() * factor.dtype().size();
                // SAFETY: the caller's. The sums of no elements are zero.
                unsafe { stream.fill(to, 0, bytes) }?;
            }
            // Of no classes, no row has one: its loss is NaN, whose bytes are all alike.
            let rows = self.batch.iter().product::<usize>() * self.dtype_of_losses().size();
            for (at, bytes) in [(to.losses, rows), (to.logsumexp, rows), (to.noted, 2 * rows)] {
                if at != 0 && bytes > 0 {
                    // SAFETY: the caller's.
                    unsafe { stream.fill(at, 0xff, bytes) }?;
                }
            }
            return Ok(());
        };
        let (x, all) = (x.address(), if second == 0 { 0 } else { x.address() | second | to.x });
        let is_aligned = (weight | bias | all).is_multiple_of(LINE);
        let sequence = unaligned.as_ref().filter(|_| !is_aligned).unwrap_or(sequence);
        let mut scratch = stream.scratch();
        let workspace = scratch.workspace(stream, sequence.workspace)?;
        let &RowAddresses { x: out, losses, logsumexp: logs, noted, used, .. } = to;
        let noted = if known == 0 { noted } else { known };
        let sums = [to.weight, to.bias];
        let at = Addresses {
            x,
            second,
            mask,
            weight,
            bias,
            targets,
            scales,
            used,
            out,
            noted,
            losses,
            logs,
            sums,
            workspace,
        };
        // SAFETY: the arrays are like those that were planned for, as was just seen, and stay, as `ArrayView::from_raw`
        // promises; the caller vouches for the room of the results. The workspace is the stream's, whose lock is held.
        unsafe { sequence.queue(stream, &at) }
    }
}
