//! Reductions of segments on a GPU.

use crate::array::Array;
use crate::device::Device;
use crate::launch::Ready;
use crate::options::Options;
use crate::origin::Origin;
use crate::plan::{Cut, GpuPlan, reads_offsets};
use crate::reduce::layout::Layout;
use crate::scratch::{StatusTo, queue_status};
use crate::segments::rows::{self, Apart};
use crate::stream::Stream;
use crate::view::ArrayView;
use std::sync::Arc;
use warpfold_array::ArrayRef;
use warpfold_array::KeyError;
use warpfold_array::request::{Request, Spec};
use warpfold_array::{CudaError, Error, Op};
use warpfold_array::{Scalar, Values};
use warpfold_core::DType;
use warpfold_cpu::keys::{Segments, filled};
use warpfold_cpu::reduce;
use warpfold_kernels::segment::call::SegmentsAt;

/// A reduction of segments of arrays of one dtype and length, by one number of offsets, on one GPU: planned, its
/// kernels loaded.
///
/// As [`warpfold_cpu::keys::Segments`], with the same bits: segment `i` has the values from `offsets[i]` up to
/// `offsets[i + 1]`. Offsets lie side by side, and are i32, u32, i64 or u64. Kernels check offsets while they use them,
/// and read nothing outside of the values; what is wrong with them is an error of [`Array::download`]. Values that are
/// a list, side by side, are read as they lie. Rows, and a list with steps, are copied into columns first, in memory
/// that the stream keeps.
pub struct Segmented {
    device: Device,
    op: Op,
    values: Layout,
    offsets: Layout,
    dtype: DType,
    shape: Vec<usize>,
    /// What is asked, and the result of no elements, if they do.
    pub(crate) asked: (Spec, Option<Values>),
    launches: Vec<Ready<SegmentsAt>>,
    apart: Option<Apart>,
    workspace: usize,
    origin: Arc<Origin>,
}

impl Segmented {
    /// Plans a reduction of values and offsets like these, and loads its kernels. `fill` is given for segments of no
    /// elements where the reduction has no result for that (min, max, minmax, argmin, argmax); without it they are an
    /// error.
    ///
    /// # Errors
    /// What [`warpfold_cpu::keys::Segments::reduce`] refuses; rows whose axes are not one, offsets that do not lie side
    /// by side, or of other dtypes; [`CudaError::NoKernel`] of options that only the CPU takes (masks, casts), or what
    /// the driver says.
    pub fn new(
        device: &Device,
        op: Op,
        values: &ArrayView<'_>,
        offsets: &ArrayView<'_>,
        options: &Options<'_>,
        fill: Option<Scalar>,
    ) -> Result<Segmented, Error> {
        Self::planned(device, op, values, offsets, options, fill, false)
    }

    /// As [`Segmented::new`]. With `by_positions` the values are read in an order given by positions.
    pub(crate) fn planned(
        device: &Device,
        op: Op,
        values: &ArrayView<'_>,
        offsets: &ArrayView<'_>,
        options: &Options<'_>,
        fill: Option<Scalar>,
        by_positions: bool,
    ) -> Result<Segmented, Error> {
        check(op, values, offsets, options)?;
        let no = |option, why| Err(Error::Unsupported { op, dtype: values.dtype(), option, why });
        let is_arg = matches!(op, Op::ArgMin | Op::ArgMax);
        if is_arg && options.skip_nan && fill.is_some() {
            return no("a fill beside skipped NaNs on a GPU", "fill NaNs in first, or compute on `cpu`");
        }
        let layouts = warpfold_array::Options {
            axes: Some(vec![0]),
            ..options.with_layout(options.mask.map(|mask| *mask.layout()))
        };
        let Request { spec, .. } = Request::new(op, values.layout(), &layouts)?;
        let (segments, dtype, pair) = (offsets.shape()[0] - 1, spec.result(), if op == Op::MinMax { 2 } else { 1 });
        let Some(steps) = rows::steps(values) else {
            return no("segments of rows whose axes do not follow one another on a GPU", "copy them into C order");
        };
        let nothing = ArrayRef::from_bytes(&[], values.dtype(), &[0], warpfold_array::Order::C, false)?;
        let empty = match reduce(op, nothing, &warpfold_array::Options { mask: None, ..layouts.clone() }) {
            Ok(found) => Some(found.values),
            Err(_) => fill.map(|fill| filled(Values::F64(Vec::new()).cast(dtype), &[0], pair, fill)),
        };
        let is_apart = (by_positions || !rows::is_list(&steps)) && steps.columns > 0;
        let cut = match is_apart {
            true => Cut {
                segments: (segments + 1) * steps.columns - 1,
                len: steps.pitch() * steps.columns,
                offsets: DType::U64,
                empty: empty.as_ref(),
            },
            false => Cut { segments, len: steps.rows, offsets: offsets.dtype(), empty: empty.as_ref() },
        };
        let plan = GpuPlan::segments(&spec, cut, &device.limits());
        let plan = plan.ok_or(CudaError::NoKernel { op, dtype: values.dtype() })?;
        let launches = match segments * steps.columns {
            0 => Vec::new(),
            _ => device.all_ready(&plan.launches)?,
        };
        let apart = || Apart::new(device, &steps, segments, offsets.dtype(), (dtype, pair), plan.workspace);
        let apart = (is_apart && segments > 0).then(apart).transpose()?;
        let others = values.shape()[1..].iter().copied();
        let shape = [segments].into_iter().chain(others).chain((pair == 2).then_some(2)).collect();
        let origin = Arc::new(Origin::of_parts(op, values.dtype(), values.shape(), "segment"));
        let (device, workspace) = (device.clone(), apart.as_ref().map_or(plan.workspace, |apart| apart.workspace));
        let (values, offsets) = (Layout::of(values.layout()), Layout::of(offsets.layout()));
        let asked = (spec, empty);
        Ok(Segmented { device, op, values, offsets, dtype, shape, asked, launches, apart, workspace, origin })
    }

    /// The reduction.
    pub fn op(&self) -> Op {
        self.op
    }

    /// The dtype of the result.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The shape of the result: the segments, the other axes of the values, and 2 for minmax.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The kernels that a run launches, in order.
    pub fn kernels(&self) -> Vec<&str> {
        let [before, after] = self.apart.as_ref().map(Apart::kernels).unwrap_or_default();
        before.into_iter().chain(self.launches.iter().map(Ready::entry)).chain(after).collect()
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
    /// If an array or the stream is not like that which this was prepared for, or the driver refuses. Offsets that
    /// decrease or go beyond the values, and segments without a result, are errors of [`Array::download`].
    pub fn run(
        &self,
        stream: &Stream,
        values: ArrayView<'_>,
        offsets: ArrayView<'_>,
        out: &mut Array,
    ) -> Result<(), Error> {
        self.run_at(stream, values, [0; 2], offsets, out)
    }

    /// As [`Segmented::run`], of values in the order of the `u32` positions at the address `positions`; 0 if the values
    /// are read in their own order. Nothing is done if the word at the address `only` is zero; 0: there is no such
    /// word.
    pub(crate) fn run_at(
        &self,
        stream: &Stream,
        values: ArrayView<'_>,
        [positions, only]: [u64; 2],
        offsets: ArrayView<'_>,
        out: &mut Array,
    ) -> Result<(), Error> {
        debug_assert!(positions == 0 || self.apart.is_some() || self.launches.is_empty());
        stream.is_one_of(&self.device)?;
        values.is_on(stream, "array")?;
        offsets.is_on(stream, "offsets")?;
        self.values.check("array", &values)?;
        self.offsets.check("offsets", &offsets)?;
        out.is_on(stream, "output")?;
        out.expect("output", self.dtype, &self.shape)?;
        if self.launches.is_empty() {
            out.set_origin(None);
            return Ok(());
        }
        let mut scratch = stream.scratch();
        let workspace = scratch.workspace(stream, self.workspace)?;
        // SAFETY: the arrays are like those that were planned for; they are borrowed or stay until the device is done
        // with them, as `ArrayView::from_raw` and `Buffer`'s drop promise. Kernels follow no offset beyond the values.
        // The workspace is as large as the plan asks for, its counters are zero, and the lock is held.
        unsafe {
            let (input, offsets, output) = (values.address(), offsets.address(), out.address());
            let given = SegmentsAt { input, offsets, output, workspace, only };
            let apart = self.apart.as_ref().map(|apart| apart.queue(stream, given, positions)).transpose()?;
            let at = apart.unwrap_or(given);
            for launch in &self.launches {
                launch.queue(stream, at)?;
            }
            if let Some(apart) = &self.apart {
                apart.queue_back(stream, at.output, output)?;
            }
        }
        // SAFETY: the workspace is one, and the output has a word for its status.
        unsafe { queue_status(stream, workspace, StatusTo::Device(out.status_address())) }?;
        out.set_origin(Some(self.origin.clone()));
        Ok(())
    }
}

/// Whether values, offsets and options are such as kernels take.
fn check(op: Op, values: &ArrayView<'_>, offsets: &ArrayView<'_>, options: &Options<'_>) -> Result<(), Error> {
    let no = |option, why| Err(Error::Unsupported { op, dtype: values.dtype(), option, why });
    let side_by_side = |x: &ArrayView<'_>| x.shape()[0] < 2 || x.strides()[0] == x.dtype().size() as isize;
    if options.axes.is_some() || options.keepdims {
        return Err(KeyError::Axes.into());
    }
    if values.shape().is_empty() {
        return Err(KeyError::NoAxis.into());
    }
    if offsets.shape().len() != 1 || offsets.shape()[0] == 0 {
        return Err(KeyError::OffsetsShape { shape: offsets.shape().to_vec() }.into());
    }
    if offsets.dtype().is_float() {
        return Err(KeyError::NotIntegers { what: "offsets", dtype: offsets.dtype() }.into());
    }
    if !reads_offsets(offsets.dtype()) {
        return no("offsets of this dtype on a GPU", "give i32, u32, i64 or u64");
    }
    if !side_by_side(offsets) {
        return no("strided offsets on a GPU", "copy the offsets so that they lie side by side");
    }
    Ok(())
}

/// Reduces each segment `offsets[i]..offsets[i + 1]` of values on a GPU. The work is queued, and the result stays
/// there: [`Array::download`] waits for it, and says if offsets decrease or go beyond the values.
///
/// For many reductions of one kind, [`Segmented`] plans and allocates once.
///
/// # Errors
/// As [`Segmented::new`].
pub fn segmented(
    op: Op,
    values: ArrayView<'_>,
    offsets: ArrayView<'_>,
    options: &Options<'_>,
    stream: &Stream,
) -> Result<Array, Error> {
    let reduction = Segmented::new(&stream.device(), op, &values, &offsets, options, None)?;
    let mut out = reduction.output()?;
    reduction.run(stream, values, offsets, &mut out)?;
    Ok(out)
}

/// Reduces segments of a host array on a GPU, with what [`warpfold_cpu::keys::Segments`] says of offsets and of
/// segments without a result.
///
/// # Errors
/// As [`Segmented::new`] and [`warpfold_cpu::keys::Segments::reduce`].
pub fn segmented_host(
    op: Op,
    values: ArrayRef<'_>,
    segments: &Segments,
    options: &warpfold_array::Options<'_>,
    device: &Device,
) -> Result<warpfold_array::Array, Error> {
    segments.fits(&values, options)?;
    if options.mask.is_some() {
        return Err(CudaError::NoKernel { op, dtype: values.dtype() }.into());
    }
    let stream = Stream::new(device)?;
    let offsets: Vec<u64> = segments.offsets().iter().map(|&offset| offset as u64).collect();
    let offsets = Array::upload(&stream, ArrayRef::from_slice(&offsets, &[offsets.len()])?)?;
    let on_device = Array::upload(&stream, values)?;
    let (x, cuts, of) = (on_device.view(), offsets.view(), Options::of(options, None));
    let reduction = Segmented::new(device, op, &x, &cuts, &of, segments.filling())?;
    let mut out = reduction.output()?;
    reduction.run(&stream, x, cuts, &mut out)?;
    match out.download(&stream) {
        // The CPU finds out which segment has no result.
        Err(Error::Key(KeyError::SomeEmpty { .. })) => segments.reduce(op, values, options),
        said => said,
    }
}
