//! Losses, dot products and cosines, and their gradients, that are prepared once and run many times.

use warpfold_array::{Error, RowError};
use warpfold_core::DType;
use warpfold_cpu::rows::{self as cpu, Loss, LossReduction};

use super::check::Asked;
use super::options::Pairs;
use super::zip_plan::{Plan, Planned};
use super::zip_work::{Rows, Work};
use crate::array::Array;
use crate::device::Device;
use crate::launch::Ready;
use crate::plan::zip::Term;
use crate::reduce::layout::Layout;
use crate::stream::Stream;
use crate::view::ArrayView;

/// An operation on two arrays of one shape, whose dtypes, shape and layouts are known, on one GPU: planned, its kernels
/// loaded.
///
/// A run costs the host the driver's calls and no more. Any number of threads can run it, on any streams.
pub struct Zipped {
    device: Device,
    dtype: DType,
    /// Of the result.
    shape: Vec<usize>,
    /// Of the elements, the targets, and the gradient of the result.
    layouts: [Option<Layout>; 3],
    work: Work,
}

impl Zipped {
    /// Plans [`loss`](super::loss) of arrays like these, and loads its kernels.
    ///
    /// # Errors
    /// As [`loss`](super::loss).
    pub fn loss(
        device: &Device,
        (loss, by): (Loss, LossReduction),
        [x, y]: [&ArrayView<'_>; 2],
        options: &Pairs<'_>,
    ) -> Result<Zipped, Error> {
        let asked = checked("loss", loss, [x, y], options)?;
        let plan = Plan { device, x, y, axes: asked.axes, term: Term::Loss(loss) };
        let planned = match by {
            LossReduction::None => plan.each(x.shape().to_vec(), None),
            _ => plan.reduced(by == LossReduction::Mean, || {
                let axes = options.axes;
                cpu::loss(loss, *x.layout(), *y.layout(), by, &cpu::Pairs { axes, ..cpu::Pairs::default() })
            }),
        };
        Ok(Self::new(device, [Some(x), Some(y), None], planned?))
    }

    /// The same of [`loss_backward`](super::loss_backward), with a gradient like that of the options.
    ///
    /// # Errors
    /// As [`loss_backward`](super::loss_backward).
    pub fn loss_backward(
        device: &Device,
        (loss, by): (Loss, LossReduction),
        [x, y]: [&ArrayView<'_>; 2],
        options: &Pairs<'_>,
    ) -> Result<Zipped, Error> {
        let asked = checked("loss_backward", loss, [x, y], options)?;
        let plan = Plan { device, x, y, axes: asked.axes.clone(), term: Term::Loss(loss) };
        Ok(Self::new(device, [Some(x), Some(y), options.gradient.as_ref()], plan.gradient(&asked, by, options)?))
    }

    /// The same of [`dot`](super::dot).
    ///
    /// # Errors
    /// As [`dot`](super::dot).
    pub fn dot(device: &Device, [x, y]: [&ArrayView<'_>; 2], options: &Pairs<'_>) -> Result<Zipped, Error> {
        let asked = Asked::pair("dot", [x, y], options.axes)?;
        let planned = Plan { device, x, y, axes: asked.axes, term: Term::Product }.reduced(false, || {
            cpu::dot(*x.layout(), *y.layout(), &cpu::Pairs { axes: options.axes, ..cpu::Pairs::default() })
        });
        Ok(Self::new(device, [Some(x), Some(y), None], planned?))
    }

    /// The same of [`dot_backward`](super::dot_backward), with a gradient like that of the options.
    ///
    /// # Errors
    /// As [`dot_backward`](super::dot_backward).
    pub fn dot_backward(device: &Device, [x, y]: [&ArrayView<'_>; 2], options: &Pairs<'_>) -> Result<Zipped, Error> {
        let asked = Asked::pair("dot_backward", [x, y], options.axes)?;
        let plan = Plan { device, x, y, axes: asked.axes.clone(), term: Term::Product };
        let planned = plan.gradient(&asked, LossReduction::Sum, options)?;
        Ok(Self::new(device, [Some(x), Some(y), options.gradient.as_ref()], planned))
    }

    /// The same of [`cosine_similarity`](super::cosine_similarity).
    ///
    /// # Errors
    /// As [`cosine_similarity`](super::cosine_similarity).
    pub fn cosine_similarity(
        device: &Device,
        [x, y]: [&ArrayView<'_>; 2],
        epsilon: f64,
        options: &Pairs<'_>,
    ) -> Result<Zipped, Error> {
        let asked = Asked::pair("cosine_similarity", [x, y], options.axes)?;
        let planned = Plan { device, x, y, axes: asked.axes, term: Term::Cosine(epsilon) }.reduced(false, || {
            let options = cpu::Pairs { axes: options.axes, ..cpu::Pairs::default() };
            cpu::cosine_similarity(*x.layout(), *y.layout(), epsilon, &options)
        });
        Ok(Self::new(device, [Some(x), Some(y), None], planned?))
    }

    /// What was planned for elements, targets and gradients like these.
    fn new(device: &Device, arrays: [Option<&ArrayView<'_>>; 3], Planned { shape, work }: Planned) -> Self {
        let layouts = arrays.map(|array| array.map(|array| Layout::of(array.layout())));
        let dtype = arrays[0].map_or(DType::F32, ArrayView::dtype);
        Zipped { device: device.clone(), dtype, shape, layouts, work }
    }

    /// The dtype of the result, which is that of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The shape of the result.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Whether a run reads the gradient of the result.
    pub(super) fn reads_a_gradient(&self) -> bool {
        self.layouts[2].is_some()
    }

    /// The kernels that a run launches, in order.
    pub fn kernels(&self) -> Vec<&str> {
        match &self.work {
            Work::Nothing | Work::Empty(_) => Vec::new(),
            Work::Rows(Rows { copies, launches, .. }) => {
                let copies = copies.iter().flatten().map(|(copy, _)| copy.entry());
                copies.chain(launches.iter().map(Ready::entry)).collect()
            }
            Work::Each(each) => vec![each.elements.entry()],
            Work::Terms(terms) => {
                let rounded = terms.rounded.as_ref().map(Ready::entry);
                [terms.each.elements.entry()].into_iter().chain(terms.reduction.kernels()).chain(rounded).collect()
            }
        }
    }

    /// Room for the result, of its dtype and shape.
    ///
    /// # Errors
    /// Of [`Array::new`].
    pub fn output(&self) -> Result<Array, Error> {
        Array::new(&self.device, self.dtype, self.shape())
    }

    /// Queues one run; the gradient is one like that of the options, if there was one. The result is in `out` when the
    /// stream gets there, which must not be in use by another stream.
    ///
    /// # Errors
    /// If an array or the stream is not like that which this was prepared for, or if the driver refuses.
    pub fn run(
        &self,
        stream: &Stream,
        x: ArrayView<'_>,
        y: ArrayView<'_>,
        gradient: Option<ArrayView<'_>>,
        out: &mut Array,
    ) -> Result<(), Error> {
        out.is_on(stream, "output")?;
        out.expect("output", self.dtype, &self.shape)?;
        // SAFETY: the array has the dtype and the shape of the result, and stays until the device is done with it.
        unsafe { self.run_at(stream, x, y, gradient, out.address()) }?;
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
    /// As [`Zipped::run`].
    pub unsafe fn run_at(
        &self,
        stream: &Stream,
        x: ArrayView<'_>,
        y: ArrayView<'_>,
        gradient: Option<ArrayView<'_>>,
        address: u64,
    ) -> Result<(), Error> {
        stream.is_one_of(&self.device)?;
        let given = [Some(&x), Some(&y), gradient.as_ref()];
        for ((what, layout), array) in ["array", "second array", "gradient"].into_iter().zip(&self.layouts).zip(given) {
            Layout::check_both(layout.as_ref(), what, array)?;
            array.into_iter().try_for_each(|array| array.is_on(stream, what))?;
        }
        let at = [x.address(), y.address(), gradient.map_or(0, |gradient| gradient.address())];
        match &self.work {
            Work::Nothing => Ok(()),
            // SAFETY: the caller's room has the bytes of the results.
            Work::Empty(values) => Ok(unsafe { stream.copy(address, values.address(), values.len()) }?),
            // SAFETY: the arrays are like those that were planned for; the caller's room.
            Work::Rows(rows) => Ok(unsafe { rows.queue(stream, [at[0], at[1]], address) }?),
            // SAFETY: as above.
            Work::Each(each) => Ok(unsafe { each.queue(stream, at, address) }?),
            // SAFETY: as above.
            Work::Terms(terms) => unsafe { terms.queue(stream, at, address) },
        }
    }
}

/// Checks the call of a loss.
fn checked(op: &'static str, loss: Loss, arrays: [&ArrayView<'_>; 2], options: &Pairs<'_>) -> Result<Asked, Error> {
    if let Loss::Huber { delta } = loss
        && (delta.is_nan() || delta <= 0.0)
    {
        return Err(RowError::Number { op, what: "delta", value: delta, range: "a positive number" }.into());
    }
    Asked::pair(op, arrays, options.axes)
}
