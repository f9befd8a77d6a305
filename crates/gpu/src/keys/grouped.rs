//! Reductions of groups on a GPU: values in the order of their labels, and then segments.

use super::groups::{Groups, clear_status, copy_said, problem};
use super::sorter::Sorter;
use super::splitter::{Parted, Splitter, segments};
use super::{check_groups, check_labels, check_values, view};
use crate::array::Array;
use crate::buffer::Buffer;
use crate::device::Device;
use crate::launch::Ready;
use crate::options::Options;
use crate::origin::Origin;
use crate::plan::sort::{Carried, Problem};
use crate::plan::split;
use crate::reduce::layout::Layout;
use crate::segments::rows;
use crate::segments::segmented::Segmented;
use crate::stream::Stream;
use crate::view::ArrayView;
use std::sync::Arc;
use warpfold_array::Scalar;
use warpfold_array::{CudaError, Error, Op};
use warpfold_core::DType;
use warpfold_kernels::group::offsets::{OffsetsAt, PlacesAt};

/// A reduction of groups of values of one dtype and length on one GPU: planned, its kernels loaded, its memory
/// allocated.
///
/// As [`warpfold_cpu::keys::group_by`], with the same bits. A run sorts the labels and moves the values along, or for
/// arg ops their positions. It has memory of its own for what is under way: use it on one stream at a time.
pub struct Grouped {
    labels: Layout,
    n: usize,
    way: Way,
    reduction: InOrder,
}

/// How values come into the order of labels.
enum Way {
    /// Labels are sorted with them, or with their positions.
    Sort { sorter: Sorter, offsets: Buffer<u32>, launch: Ready<OffsetsAt> },
    /// They are parted by digits of labels. Of a sum there may be nodes in their place: segments, too.
    Split(Splitter, Option<Box<Segmented>>),
}

impl Grouped {
    /// Plans a reduction of values like these by labels like these into so many groups, and loads its kernels. `fill`
    /// is given for groups of no elements where the reduction has no result for that (min, max, minmax, argmin,
    /// argmax); without it they are an error.
    ///
    /// # Errors
    /// What [`warpfold_cpu::keys::group_by`] refuses; [`warpfold_array::KeyError::TooMany`] from 2^30 labels on;
    /// [`CudaError::Keys`] of labels that do not lie side by side, and an error of rows whose axes are not one;
    /// [`CudaError::NoKernel`] of options that only the CPU takes (masks, casts); what the driver says.
    pub fn new(
        device: &Device,
        op: Op,
        labels: &ArrayView<'_>,
        values: &ArrayView<'_>,
        groups: usize,
        options: &Options<'_>,
        fill: Option<Scalar>,
    ) -> Result<Grouped, Error> {
        check_labels(labels)?;
        check_groups(groups)?;
        let n = labels.shape()[0];
        check_values(n, values)?;
        let by_positions = is_arg(op) || !rows::steps(values).is_some_and(|steps| rows::is_list(&steps));
        let carried = match by_positions {
            true => Carried::Positions,
            false => Carried::Values { size: values.dtype().size() },
        };
        let problem = problem(labels.dtype(), n, groups, carried, device);
        let reduction = InOrder::new(device, &problem, (groups, labels.dtype()), op, values, options, fill)?;
        let (spec, empty) = &reduction.segmented.asked;
        let parts = split::Problem {
            dtype: labels.dtype(),
            n,
            groups,
            multiprocessors: device.multiprocessors(),
            shared_bytes: device.properties().shared_bytes,
        };
        let way = if carried == (Carried::Values { size: 4 }) && parts.is_good(spec, empty.as_ref()) {
            let splitter = Splitter::new(device, &parts, spec, empty.as_ref())?;
            let nodes = parts.has_nodes(spec).then(|| segments(device, &parts, values.dtype(), options));
            Way::Split(splitter, nodes.transpose()?.map(Box::new))
        } else {
            Way::Sort {
                sorter: Sorter::new(device, problem)?,
                offsets: Buffer::new(device, groups + 1)?,
                launch: device.ready(&problem.offsets(groups))?,
            }
        };
        Ok(Grouped { labels: Layout::of(labels.layout()), n, way, reduction })
    }

    /// The reduction.
    pub fn op(&self) -> Op {
        self.reduction.segmented.op()
    }

    /// The dtype of the result.
    pub fn dtype(&self) -> DType {
        self.reduction.segmented.dtype()
    }

    /// The shape of the result: the groups, the other axes of the values, and 2 for minmax.
    pub fn shape(&self) -> &[usize] {
        self.reduction.segmented.shape()
    }

    /// The kernels that a run launches, in order.
    pub fn kernels(&self) -> Vec<&str> {
        let mut all: Vec<&str> = match &self.way {
            Way::Sort { sorter, launch, .. } => sorter.kernels().chain([launch.entry()]).collect(),
            Way::Split(splitter, _) => splitter.kernels().collect(),
        };
        match &self.way {
            Way::Split(_, Some(nodes)) => all.extend(nodes.kernels()),
            _ => all.extend(self.reduction.kernels()),
        }
        all
    }

    /// Room for a result.
    ///
    /// # Errors
    /// If the memory does not suffice.
    pub fn output(&self) -> Result<Array, Error> {
        self.reduction.segmented.output()
    }

    /// The values in the order of labels, as the last run has sorted them; their positions (u32) if positions were
    /// sorted instead. The first `len` of them: those of no group are last, or were left out.
    #[doc(hidden)]
    pub fn moved(&self, len: usize) -> ArrayView<'_> {
        let device = self.reduction.device.properties().index;
        let dtype = if self.reduction.by_positions { DType::U32 } else { self.reduction.origin.dtype };
        let address = match &self.way {
            Way::Sort { sorter, .. } => sorter.sorted().1,
            Way::Split(splitter, _) => splitter.parted().values,
        };
        // SAFETY: there is room for as many, of that dtype, which is borrowed.
        let moved = unsafe { view(device, address, dtype, len.min(self.n)) };
        moved.expect("a list at the start of a buffer")
    }

    /// Queues one run. The result is in `out` when the stream gets there; `out` must not be in use by another stream.
    ///
    /// # Errors
    /// If an array or the stream is not like that which this was prepared for, or the driver refuses. Labels of no
    /// group ([`warpfold_array::KeyError::LabelOutOfRange`]) and groups without a result are errors of
    /// [`Array::download`].
    pub fn run(
        &mut self,
        stream: &Stream,
        labels: ArrayView<'_>,
        values: ArrayView<'_>,
        out: &mut Array,
    ) -> Result<(), Error> {
        self.reduction.is_ready(stream, &values, out)?;
        labels.is_on(stream, "labels")?;
        self.labels.check("labels", &labels)?;
        // After the word for the status there are 12 bytes.
        let said = out.status_address() + 4;
        match &mut self.way {
            Way::Sort { sorter, offsets, launch } => {
                let carry = if self.reduction.by_positions { 0 } else { values.address() };
                let offsets = offsets.address();
                // SAFETY: labels and values are like those that were planned for, as was just seen, and lent until the
                // device is done with them.
                unsafe {
                    sorter.queue(stream, labels.address(), carry)?;
                    launch.queue(stream, OffsetsAt { labels: sorter.sorted().0, offsets })?;
                }
                self.reduction.run(stream, &values, [sorter.sorted().1, 0], offsets, out)?;
                // SAFETY: the words are the array's, which stays until the device is done with it.
                Ok(unsafe { sorter.copy_said(stream, said) }?)
            }
            Way::Split(splitter, nodes) => {
                // SAFETY: as above; there is a result for each group.
                unsafe { splitter.queue(stream, [labels.address(), values.address()], said, out.address()) }?;
                let Parted { values: moved, offsets, only } = splitter.parted();
                let Some(nodes) = nodes else {
                    return self.reduction.run(stream, &values, [moved, only], offsets, out);
                };
                let (device, dtype) = (values.device(), self.reduction.origin.dtype);
                // SAFETY: as many nodes and offsets, written by what is queued before; they stay until the device is
                // done with them.
                let (x, cuts) = unsafe {
                    let cuts = view(device, offsets, DType::U32, self.reduction.groups + 1)?;
                    (view(device, moved, dtype, splitter.nodes())?, cuts)
                };
                nodes.run_at(stream, x, [0; 2], cuts, out)?;
                out.set_origin(Some(self.reduction.origin.clone()));
                Ok(())
            }
        }
    }
}

impl Groups {
    /// Plans reductions of values like these. `fill` is given for groups without elements where the reduction has no
    /// result for that; without it they are an error of the download. Arg ops give positions in `values`.
    ///
    /// # Errors
    /// As [`Grouped::new`].
    pub fn prepare(
        &self,
        op: Op,
        values: &ArrayView<'_>,
        options: &Options<'_>,
        fill: Option<Scalar>,
    ) -> Result<GroupReduction<'_>, Error> {
        GroupReduction::new(self, op, values, options, fill)
    }

    /// Reduces each group of values, as [`Groups::prepare`] says. Waits until it is done, as memory is freed then.
    ///
    /// # Errors
    /// As [`Grouped::new`].
    pub fn reduce(
        &self,
        op: Op,
        values: ArrayView<'_>,
        options: &Options<'_>,
        fill: Option<Scalar>,
        stream: &Stream,
    ) -> Result<Array, Error> {
        let mut reduction = self.prepare(op, &values, options, fill)?;
        let mut out = reduction.output()?;
        reduction.run(stream, values, &mut out)?;
        Ok(out)
    }
}

/// A reduction of values of one dtype and length by [`Groups`]: planned, its kernels loaded, its memory allocated.
///
/// It has memory of its own for what is under way: use it on one stream at a time.
pub struct GroupReduction<'a> {
    groups: &'a Groups,
    reduction: InOrder,
}

impl<'a> GroupReduction<'a> {
    pub(crate) fn new(
        groups: &'a Groups,
        op: Op,
        values: &ArrayView<'_>,
        options: &Options<'_>,
        fill: Option<Scalar>,
    ) -> Result<Self, Error> {
        let (device, k) = (&groups.device, groups.len());
        check_values(groups.labels(), values)?;
        let problem = problem(groups.dtype(), groups.labels(), k, Carried::Positions, device);
        let reduction = InOrder::new(device, &problem, (k, groups.dtype()), op, values, options, fill)?;
        Ok(GroupReduction { groups, reduction })
    }

    /// Room for a result.
    ///
    /// # Errors
    /// If the memory does not suffice.
    pub fn output(&self) -> Result<Array, Error> {
        self.reduction.segmented.output()
    }

    /// The kernels that a run launches, in order.
    pub fn kernels(&self) -> Vec<&str> {
        self.reduction.kernels().collect()
    }

    /// Queues one run, as [`Grouped::run`].
    ///
    /// # Errors
    /// As [`Grouped::run`].
    pub fn run(&mut self, stream: &Stream, values: ArrayView<'_>, out: &mut Array) -> Result<(), Error> {
        self.reduction.is_ready(stream, &values, out)?;
        let (positions, offsets) = (self.groups.positions().address(), self.groups.offsets().address());
        self.reduction.run(stream, &values, [positions, 0], offsets, out)?;
        // SAFETY: the array stays until the device is done with it, as a buffer's drop promises.
        Ok(unsafe { copy_said(&self.groups.said, stream, out) }?)
    }
}

/// The reduction of values whose labels are sorted.
struct InOrder {
    device: Device,
    values: Layout,
    groups: usize,
    /// Whether the sort has moved positions along with the labels, and not the values.
    by_positions: bool,
    segmented: Segmented,
    /// Of arg ops: replaces ranks within groups by positions.
    places: Option<Ready<PlacesAt>>,
    origin: Arc<Origin>,
}

/// An array of the dtype and shape of `values`, in C order, at an address.
///
/// # Safety
/// As [`view`].
unsafe fn like<'a>(values: &ArrayView<'_>, address: u64) -> Result<ArrayView<'a>, Error> {
    let mut step = values.dtype().size() as isize;
    let mut strides = vec![0; values.shape().len()];
    for (stride, &len) in strides.iter_mut().zip(values.shape()).rev() {
        *stride = step;
        step *= len.max(1) as isize;
    }
    // SAFETY: the caller's.
    unsafe { ArrayView::from_raw(values.device(), address, values.dtype(), values.shape(), &strides) }
}

fn is_arg(op: Op) -> bool {
    matches!(op, Op::ArgMin | Op::ArgMax)
}

impl InOrder {
    fn new(
        device: &Device,
        problem: &Problem,
        groups: (usize, DType),
        op: Op,
        values: &ArrayView<'_>,
        options: &Options<'_>,
        fill: Option<Scalar>,
    ) -> Result<Self, Error> {
        let (dtype, index) = (values.dtype(), device.properties().index);
        if options.mask.is_some() {
            return Err(CudaError::NoKernel { op, dtype }.into());
        }
        let by_positions = problem.carried == Carried::Positions;
        // SAFETY: planning reads nothing, and does not look at addresses.
        let (sorted, offsets) = unsafe { (like(values, 0)?, view(index, 0, DType::U32, groups.0 + 1)?) };
        let sorted = if by_positions { values } else { &sorted };
        let segmented = Segmented::planned(device, op, sorted, &offsets, options, fill, by_positions)?;
        let places = (is_arg(op) && !segmented.shape().contains(&0)).then(|| {
            let columns = segmented.shape()[1..].iter().product();
            device.ready(&problem.places(groups.0, columns))
        });
        let places = places.transpose()?;
        let origin = Origin { groups: Some(groups), ..Origin::of_parts(op, dtype, values.shape(), "group") };
        let values = Layout::of(values.layout());
        let (device, groups, origin) = (device.clone(), groups.0, Arc::new(origin));
        Ok(Self { device, values, groups, by_positions, segmented, places, origin })
    }

    fn kernels(&self) -> impl Iterator<Item = &str> {
        self.segmented.kernels().into_iter().chain(self.places.as_ref().map(Ready::entry))
    }

    /// Whether arrays and the stream are like those that were planned for.
    fn is_ready(&self, stream: &Stream, values: &ArrayView<'_>, out: &Array) -> Result<(), Error> {
        stream.is_one_of(&self.device)?;
        values.is_on(stream, "array")?;
        out.is_on(stream, "output")?;
        self.values.check("array", values)?;
        Ok(out.expect("output", self.segmented.dtype(), self.segmented.shape())?)
    }

    /// Queues the reduction of segments. What labels have carried along, and the offsets, are at these addresses; see
    /// [`Segmented::run_at`] for `only`.
    fn run(
        &self,
        stream: &Stream,
        values: &ArrayView<'_>,
        [carried, only]: [u64; 2],
        offsets: u64,
        out: &mut Array,
    ) -> Result<(), Error> {
        let index = self.device.properties().index;
        // SAFETY: as many values and offsets, written by what is queued before; they stay until the device is done with
        // them.
        let (sorted, cuts) = unsafe { (like(values, carried)?, view(index, offsets, DType::U32, self.groups + 1)?) };
        match self.by_positions {
            true => self.segmented.run_at(stream, *values, [carried, 0], cuts, out)?,
            false => self.segmented.run_at(stream, sorted, [0, only], cuts, out)?,
        }
        if out.is_empty() {
            clear_status(stream, out)?;
        }
        if let Some(places) = &self.places {
            let at = PlacesAt { positions: carried, offsets, output: out.address() };
            // SAFETY: a position for each value, and the results; a place that is not in its group is left alone.
            unsafe { places.queue(stream, at) }?;
        }
        out.set_origin(Some(self.origin.clone()));
        Ok(())
    }
}
