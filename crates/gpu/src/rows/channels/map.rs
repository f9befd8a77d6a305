//! A norm of channels that is prepared once and run many times.

use warpfold_array::{CudaError, Error, RowError};
use warpfold_core::DType;
use warpfold_kernels::block::THREADS;

use super::plan::{GRADIENT, MOST, Plan, X};
use super::steps::{Addresses, Steps};
use crate::array::Array;
use crate::device::Device;
use crate::plan::channels::ChannelShape;
use crate::plan::zip::wide;
use crate::reduce::layout::Layout;
use crate::rows::check::Asked;
use crate::rows::options::{BatchNorm, Norm};
use crate::stream::Stream;
use crate::view::ArrayView;

/// Bytes of a line.
const LINE: u64 = 16;

/// What they are.
const NAMES: [&str; 6] = ["array", "gradient", "weights", "biases", "means", "variances"];

/// The arrays of a norm of channels beside its elements.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChannelArrays<'a> {
    /// The gradient of the norm, of an operation that takes one.
    pub gradient: Option<ArrayView<'a>>,
    /// Of [`Norm`] or [`BatchNorm`].
    pub weight: Option<ArrayView<'a>>,
    /// The same.
    pub bias: Option<ArrayView<'a>>,
    /// Means and variances: of [`BatchNorm`] those that are given or noted, of [`Norm`] both halves of what was noted.
    pub statistics: Option<(ArrayView<'a>, ArrayView<'a>)>,
}

/// Addresses of memory for results that somebody else has allocated, each in C order; zero: it is not wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChannelAddresses {
    /// The norm, or the gradient of the elements: like the elements.
    pub x: u64,
    /// The mean of each channel, or of each group of each sample: f64 if the elements are, and else f32.
    pub mean: u64,
    /// The variance, likewise.
    pub variance: u64,
    /// The gradient of the weights: like the weights.
    pub weight: u64,
    /// The gradient of the biases: like the biases.
    pub bias: u64,
}

/// A norm of channels, or its gradients, of arrays of one dtype, shape and layout on one GPU: planned, its kernels
/// loaded.
///
/// A run costs the host the driver's calls and no more. Any number of threads can run it, on any streams.
pub struct ChannelMap {
    device: Device,
    dtype: DType,
    shape: Vec<usize>,
    channels: usize,
    groups: Option<usize>,
    layouts: [Option<Layout>; 6],
    is_gradient: bool,
    /// The other ones are for arrays that do not begin with lines of 16 bytes.
    steps: Steps,
    unaligned: Option<Steps>,
}

impl ChannelMap {
    /// Plans [`group_norm`](super::group_norm) of arrays like `x`, or its gradients from gradients like the one given,
    /// with weights and biases like those of the options, and loads its kernels.
    ///
    /// # Errors
    /// As [`group_norm`](super::group_norm) and [`group_norm_backward`](super::group_norm_backward).
    pub fn group_norm(
        device: &Device,
        x: &ArrayView<'_>,
        gradient: Option<&ArrayView<'_>>,
        groups: usize,
        options: &Norm<'_>,
    ) -> Result<ChannelMap, Error> {
        let op = if gradient.is_some() { "group_norm_backward" } else { "group_norm" };
        Asked::new(op, x, &[0, 1])?;
        let (samples, channels) = (x.shape()[0], x.shape()[1]);
        if groups == 0 || !channels.is_multiple_of(groups) {
            return Err(RowError::Groups { op, channels, groups }.into());
        }
        let shape = ChannelShape { samples, channels, run: counted(op, &x.shape()[2..])?, groups: Some(groups) };
        let &Norm { weight, bias, weight_offset, epsilon, noted } = options;
        let noted = noted.filter(|_| gradient.is_some());
        noted.iter().try_for_each(|noted| Asked::noted_of_groups(op, x, noted, [samples, groups]))?;
        let (mean, variance) = noted.map(|noted| halves(&noted)).transpose()?.unzip();
        let arrays = [Some(x), gradient, weight.as_ref(), bias.as_ref(), mean.as_ref(), variance.as_ref()];
        Self::new(op, device, Plan { shape, arrays, offset: weight_offset, epsilon, lined: true, constant: false })
    }

    /// The same of [`batch_norm`](super::batch_norm).
    ///
    /// # Errors
    /// As [`batch_norm`](super::batch_norm) and [`batch_norm_backward`](super::batch_norm_backward).
    pub fn batch_norm(
        device: &Device,
        x: &ArrayView<'_>,
        gradient: Option<&ArrayView<'_>>,
        axis: isize,
        options: &BatchNorm<'_>,
    ) -> Result<ChannelMap, Error> {
        let op = if gradient.is_some() { "batch_norm_backward" } else { "batch_norm" };
        let axis = Asked::new(op, x, &[axis])?.axes[0];
        let [samples, run] = [&x.shape()[..axis], &x.shape()[axis + 1..]].map(|axes| counted(op, axes));
        let shape = ChannelShape { samples: samples?, channels: x.shape()[axis], run: run?, groups: None };
        let &BatchNorm { weight, bias, statistics, epsilon, noted } = options;
        let noted = noted.filter(|_| gradient.is_some() && statistics.is_none());
        noted.iter().try_for_each(|(mean, variance)| Asked::noted_of_channels(x, [mean, variance]))?;
        let (mean, variance) = statistics.or(noted).unzip();
        let arrays = [Some(x), gradient, weight.as_ref(), bias.as_ref(), mean.as_ref(), variance.as_ref()];
        let constant = statistics.is_some();
        Self::new(op, device, Plan { shape, arrays, offset: 0.0, epsilon, lined: true, constant })
    }

    fn new(op: &'static str, device: &Device, plan: Plan<'_>) -> Result<ChannelMap, Error> {
        let [Some(x), gradient, others @ ..] = plan.arrays else { unreachable!("there are elements") };
        // What groups have noted was checked.
        let others = if plan.shape.groups.is_some() { [others[0], others[1], None, None] } else { others };
        Asked::channels(op, x, gradient, others, plan.shape.channels)?;
        if plan.shape.elements() > 0 {
            counted(op, x.shape())?;
        }
        let (dtype, channels, is_gradient) = (x.dtype(), plan.shape.channels, gradient.is_some());
        let steps = plan.steps(device)?;
        let other = plan.asks_for_lines(device).then(|| Plan { lined: false, ..plan }.steps(device));
        let unaligned = other.transpose()?;
        let layouts = plan.arrays.map(|array| array.map(|array| Layout::of(array.layout())));
        Ok(Self {
            device: device.clone(),
            dtype,
            shape: x.shape().to_vec(),
            channels,
            groups: plan.shape.groups,
            layouts,
            is_gradient,
            steps,
            unaligned,
        })
    }

    /// The dtype of the norm, and of the gradient of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Its shape, which is that of the elements.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The channels: the length of means and variances.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// The dtype of means and variances that are found.
    pub fn dtype_of_statistics(&self) -> DType {
        wide(self.dtype)
    }

    /// The shape of what group norm notes for its gradients, the means and then the variances of all groups of each
    /// sample; none of batch norm, whose means and variances are results.
    pub fn shape_of_noted(&self) -> Option<[usize; 3]> {
        self.groups.map(|groups| [2, self.shape[0], groups])
    }

    /// The kernels that a run launches, in order, if all results are wanted and all arrays begin with lines of 16
    /// bytes.
    pub fn kernels(&self) -> Vec<&str> {
        self.steps.kernels()
    }

    /// Room for a norm, or for the gradient of the elements.
    ///
    /// # Errors
    /// If the memory does not suffice.
    pub fn output(&self) -> Result<Array, Error> {
        Array::new(&self.device, self.dtype, &self.shape)
    }

    /// Queues one run whose results go to memory that somebody else has allocated, in C order.
    ///
    /// # Safety
    /// At each address that is not zero there is room for the result, aligned to its elements, which nothing else
    /// touches until the stream has written it.
    ///
    /// # Errors
    /// If an array or the stream is not like that which the operation was prepared for, or the driver refuses.
    pub unsafe fn run_into(
        &self,
        stream: &Stream,
        x: ArrayView<'_>,
        arrays: &ChannelArrays<'_>,
        to: &ChannelAddresses,
    ) -> Result<(), CudaError> {
        stream.is_one_of(&self.device)?;
        let &ChannelArrays { gradient, weight, bias, statistics } = arrays;
        let (mean, variance) = statistics.unzip();
        let given = [Some(x), gradient, weight, bias, mean, variance];
        for ((what, array), layout) in NAMES.into_iter().zip(given).zip(&self.layouts) {
            Layout::check_both(layout.as_ref(), what, array.as_ref())?;
            array.iter().try_for_each(|array| array.is_on(stream, what))?;
        }
        let given = given.map(|array| array.map_or(0, |array| array.address()));
        let others = if self.is_gradient { [to.weight, to.bias] } else { [to.mean, to.variance] };
        let at = Addresses { given, results: [to.x, others[0], others[1]] };
        let is_lined = (at.given[X] | at.given[GRADIENT]).is_multiple_of(LINE);
        let steps = self.unaligned.as_ref().filter(|_| !is_lined).unwrap_or(&self.steps);
        // SAFETY: the arrays are like those that were planned for, as was just seen, and stay, as `ArrayView::from_raw`
        // promises; the caller vouches for the room of the results.
        unsafe { steps.queue(stream, &at) }
    }
}

/// The means and the variances of what group norm has noted.
pub(super) fn halves<'a>(noted: &ArrayView<'a>) -> Result<(ArrayView<'a>, ArrayView<'a>), CudaError> {
    Ok((noted.slice(0, 0..1)?, noted.slice(0, 1..2)?))
}

/// The elements of some axes, of arrays that fit into memory. An array that is broadcast, or empty, may have axes that
/// do not.
fn counted(op: &'static str, axes: &[usize]) -> Result<usize, CudaError> {
    let all = axes.iter().try_fold(1usize, |all, &len| all.checked_mul(len)).filter(|&all| all < MOST);
    all.ok_or_else(|| {
        let why = format!("axes of {axes:?} elements are more than a kernel counts");
        CudaError::Launch { entry: op.into(), grid: u32::MAX, block: THREADS, why }
    })
}
