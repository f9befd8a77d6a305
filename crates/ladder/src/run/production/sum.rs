//! The last rung of family A: the library's own sum.

use super::super::case::Load;
use super::super::error::Error;
use super::super::timed::Timed;
use super::launches::Shape;
use crate::program::Inputs;
use warpfold::cuda::{self, Array, Device, Explanation, Options, Reduction, Stream};
use warpfold::{ArrayRef, DType, Op, Order};
use warpfold_kernels::ladder;

/// The dtype of elements and result: the ladder adds integers in 32 bits.
fn dtype(load: Load) -> DType {
    match load.dtype() {
        ladder::DType::F32 => DType::F32,
        ladder::DType::I32 => DType::I32,
    }
}

/// The library's plan for a workload.
fn explain(load: Load, device: Option<&Device>) -> Result<Explanation, Error> {
    // A plan reads no element, so that these zeros take no memory.
    let zeros = vec![0u8; 4 * load.n() as usize];
    let array = ArrayRef::from_bytes(&zeros, dtype(load), &[load.n() as usize], Order::C, false);
    let options = warpfold::Options { dtype: Some(dtype(load)), ..Default::default() };
    Ok(cuda::explain(Op::Sum, array?, &options, device.map(Device::properties))?)
}

/// The number of additions that an element goes through: the depth of the tree.
pub fn depth(load: Load) -> u64 {
    u64::from(load.n().max(1).ilog2()) + 2
}

/// The kernels' names.
///
/// # Errors
/// If the library has no plan.
pub fn entries(load: Load) -> Result<Vec<String>, Error> {
    Ok(explain(load, None)?.launches.into_iter().map(|launch| launch.entry).collect())
}

/// The launches, for a row.
pub fn shape(load: Load, device: Option<&Device>) -> Result<Shape, Error> {
    let plan = explain(load, device)?;
    let block = plan.launches.first().map_or(0, |launch| launch.block);
    Ok(Shape { block, bytes: plan.bytes, launches: plan.launches.len() as u32 })
}

/// The library's reduction on a GPU, loaded.
pub struct Loaded {
    reduction: Reduction,
    out: Array,
    dtype: DType,
}

impl Loaded {
    /// For inputs like these.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn new(device: &Device, load: Load, inputs: &Inputs) -> Result<Loaded, Error> {
        let dtype = dtype(load);
        let options = Options { dtype: Some(dtype), ..Options::default() };
        let reduction = Reduction::new(device, Op::Sum, &inputs.view(dtype)?, &options)?;
        let out = reduction.output()?;
        Ok(Loaded { reduction, out, dtype })
    }
}

impl Timed for Loaded {
    fn reset(&mut self, stream: &Stream, _: &Inputs) -> Result<(), Error> {
        Ok(self.out.fill(stream, 0xff)?)
    }

    fn run(&mut self, stream: &Stream, inputs: &Inputs) -> Result<(), Error> {
        Ok(self.reduction.run(stream, inputs.view(self.dtype)?, None, &mut self.out)?)
    }

    fn read(&self, stream: &Stream) -> Result<(Vec<u32>, Vec<u32>), Error> {
        let result = self.out.download(stream)?;
        Ok((vec![result.values.get(0).bits().0 as u32], Vec::new()))
    }
}
