//! Runs of equal consecutive keys on a GPU.

use super::sorter::Sorter;
use super::{check, check_values, view};
use crate::array::Array;
use crate::buffer::Buffer;
use crate::device::Device;
use crate::options::Options;
use crate::origin::Origin;
use crate::plan::sort::{Carried, Problem, What};
use crate::segments::segmented::Segmented;
use crate::stream::Stream;
use crate::view::ArrayView;
use std::sync::Arc;
use warpfold_array::ArrayRef;
use warpfold_array::KeyError;
use warpfold_array::Scalar;
use warpfold_array::{CudaError, Error, Op};
use warpfold_core::DType;
use warpfold_kernels::sort::heads::HeadsAt;

/// The runs of equal consecutive keys of a list in a GPU's memory: as [`warpfold_cpu::keys::Runs`]. Of floats, -0.0
/// equals +0.0, and NaN equals NaN.
pub struct Runs {
    /// The first key of each run.
    pub keys: Array,
    offsets: Buffer<u32>,
    len: usize,
}

impl Runs {
    /// The runs of `keys`, of any dtype, which have one axis and lie side by side. Waits for the number of runs.
    ///
    /// # Errors
    /// [`KeyError::LabelsShape`]; [`KeyError::TooMany`] from 2^30 keys on; [`CudaError::Keys`] of keys that do not lie
    /// side by side; what the driver says.
    pub fn new(keys: ArrayView<'_>, stream: &Stream) -> Result<Runs, Error> {
        let &[n] = keys.shape() else {
            return Err(KeyError::LabelsShape { shape: keys.shape().to_vec() }.into());
        };
        check("keys", &keys)?;
        keys.is_on(stream, "keys")?;
        let device = stream.device();
        let (dtype, multiprocessors) = (keys.dtype(), device.multiprocessors());
        let problem = Problem { dtype, n, what: What::Values, carried: Carried::Nothing, multiprocessors };
        let mut sorter = Sorter::unsorted(&device, problem)?;
        let found = Array::new(&device, dtype, &[n])?;
        let mut offsets = Buffer::new(&device, n + 1)?;
        let mut many = Buffer::new(&device, 1)?;
        // SAFETY: nothing is sorted: the state is cleared.
        unsafe { sorter.queue(stream, 0, 0) }?;
        match problem.runs() {
            None => offsets.fill(stream, 0)?,
            Some(launch) => {
                let launch = device.ready(&launch)?;
                let at = HeadsAt {
                    input: keys.address(),
                    state: sorter.state_at(),
                    values: found.address(),
                    starts: offsets.address(),
                    ..HeadsAt::default()
                };
                // SAFETY: as many keys as were planned for, with room for as many runs; all stays until the device is
                // done with it.
                unsafe { launch.queue(stream, at) }?;
            }
        }
        sorter.copy_found(stream, &mut many)?;
        let len = many.read(stream)?[0] as usize;
        Ok(Runs { keys: found.first(len), offsets, len })
    }

    /// The number of runs.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no runs.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The offsets of the runs, as u32: the first element of each run, and the end of the last run.
    pub fn offsets(&self) -> ArrayView<'_> {
        // SAFETY: the buffer has as many, and is borrowed.
        let offsets = unsafe { view(self.offsets.device_index(), self.offsets.address(), DType::U32, self.len + 1) };
        offsets.expect("a list at the start of a buffer")
    }

    /// Queues reducing the values of each run, which have one axis and lie side by side.
    ///
    /// # Errors
    /// As [`Segmented::new`]; another number of values than keys.
    pub fn reduce(
        &self,
        op: Op,
        values: ArrayView<'_>,
        options: &Options<'_>,
        fill: Option<Scalar>,
        stream: &Stream,
    ) -> Result<Array, Error> {
        check_values(self.offsets.len() - 1, &values)?;
        if options.mask.is_some() {
            return Err(CudaError::NoKernel { op, dtype: values.dtype() }.into());
        }
        let offsets = self.offsets();
        let reduction = Segmented::new(&stream.device(), op, &values, &offsets, options, fill)?;
        let mut out = reduction.output()?;
        reduction.run(stream, values, offsets, &mut out)?;
        out.set_origin(Some(Arc::new(Origin::of_parts(op, values.dtype(), values.shape(), "run"))));
        Ok(out)
    }
}

/// Reduces each run of equal consecutive keys on a GPU, as [`warpfold_cpu::keys::reduce_by_key`]: the keys of the runs,
/// and the results. Waits for the number of runs; the reduction itself is queued.
///
/// # Errors
/// As [`Runs::new`] and [`Runs::reduce`].
pub fn reduce_by_key(
    op: Op,
    keys: ArrayView<'_>,
    values: ArrayView<'_>,
    options: &Options<'_>,
    stream: &Stream,
) -> Result<(Array, Array), Error> {
    if let &[n] = keys.shape() {
        check_values(n, &values)?;
    }
    let runs = Runs::new(keys, stream)?;
    let results = runs.reduce(op, values, options, None, stream)?;
    Ok((runs.keys, results))
}

/// Reduces each run of equal consecutive keys of host arrays on a GPU, as [`warpfold_cpu::keys::reduce_by_key`].
///
/// # Errors
/// As [`reduce_by_key`]; a run of only NaN, which is skipped, has the error of the CPU.
pub fn reduce_by_key_host(
    op: Op,
    keys: ArrayRef<'_>,
    values: ArrayRef<'_>,
    options: &warpfold_array::Options<'_>,
    device: &Device,
) -> Result<(warpfold_array::Array, warpfold_array::Array), Error> {
    if options.mask.is_some() {
        return Err(CudaError::NoKernel { op, dtype: values.dtype() }.into());
    }
    let stream = Stream::new(device)?;
    let [by, x] = [Array::upload(&stream, keys)?, Array::upload(&stream, values)?];
    let (found, results) = reduce_by_key(op, by.view(), x.view(), &Options::of(options, None), &stream)?;
    match results.download(&stream) {
        Err(Error::Key(KeyError::SomeEmpty { .. })) => warpfold_cpu::keys::reduce_by_key(op, keys, values, options),
        said => Ok((found.download(&stream)?, said?)),
    }
}
