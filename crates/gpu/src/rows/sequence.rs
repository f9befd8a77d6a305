//! The launches of an operation on rows: copies of what lies otherwise than kernels read it, the operation, and perhaps
//! a copy of the results to where they belong.

use warpfold_array::CudaError;
use warpfold_core::DType;
use warpfold_kernels::reduce::workspace::COUNTERS;
use warpfold_kernels::rowwise::RowwiseAt;
use warpfold_kernels::rowwise::arrange::ArrangeAt;

use crate::device::Device;
use crate::launch::Ready;
use crate::plan::rowwise::{Factor, RowLayout, RowOperation, arrange, room};
use crate::plan::{Launch, Limits};
use crate::stream::Stream;

/// Where something is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    X,
    Second,
    Mask,
    Weight,
    Bias,
    Out,
    /// So many bytes into the workspace.
    Room(usize),
}

/// The addresses of one run.
#[derive(Clone, Copy)]
pub struct Addresses {
    pub x: u64,
    pub second: u64,
    pub mask: u64,
    pub weight: u64,
    pub bias: u64,
    pub out: u64,
    pub workspace: u64,
}

impl Addresses {
    fn of(&self, place: Place) -> u64 {
        match place {
            Place::X => self.x,
            Place::Second => self.second,
            Place::Mask => self.mask,
            Place::Weight => self.weight,
            Place::Bias => self.bias,
            Place::Out => self.out,
            Place::Room(at) => self.workspace + at as u64,
        }
    }
}

/// The arrays of an operation on rows, of which there are elements.
pub struct Arrays<'a> {
    pub dtype: DType,
    pub shape: &'a [usize],
    /// The axes of a row, sorted.
    pub axes: &'a [usize],
    /// Steps in bytes.
    pub x: &'a [isize],
    /// The dtype of the second array, if there is one, and its steps in bytes.
    pub second: Option<(DType, &'a [isize])>,
    pub mask: Option<&'a [isize]>,
    /// Dtypes and steps in bytes of weights and biases.
    pub factors: [Option<(DType, &'a [isize])>; 2],
    /// Whether weights and biases begin with lines.
    pub aligned: bool,
}

/// A copy; `clear` is how many bytes at its destination are zero first.
struct Copy<L> {
    launch: L,
    from: Place,
    to: Place,
    clear: usize,
}

/// The sequence, planned or (`Ready`) with its kernels loaded.
pub struct Sequence<C = Launch<ArrangeAt>, L = Launch<RowwiseAt>> {
    before: Vec<Copy<C>>,
    launches: Vec<L>,
    /// Input, mask, weights, biases, output, second input, parts.
    at: [Place; 7],
    after: Option<Copy<C>>,
    /// Bytes of the workspace.
    pub workspace: usize,
}

/// The steps of a dense array whose axes lie in this order, in elements.
fn steps(shape: &[usize], order: &[usize]) -> Vec<isize> {
    let (mut steps, mut step) = (vec![0; shape.len()], 1);
    for &axis in order.iter().rev() {
        steps[axis] = step;
        step *= shape[axis] as isize;
    }
    steps
}

impl Sequence {
    /// Plans it; none if there are too many elements.
    pub fn plan(op: &RowOperation, arrays: &Arrays<'_>, limits: &Limits) -> Option<Self> {
        let &Arrays { dtype, shape, axes, .. } = arrays;
        let n = shape.iter().product();
        let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
        // Arrays of two dtypes become numbers first.
        let alike = arrays.second.is_none_or(|(second, _)| second == dtype);
        let of = if alike { dtype } else { wide };
        let mut workspace = COUNTERS;
        let mut take = |bytes: usize| {
            workspace += bytes;
            Place::Room(workspace - bytes)
        };
        let mut before = Vec::new();
        let mut at = [Place::X, Place::Mask, Place::Weight, Place::Bias, Place::Out, Place::Second];
        // Rows come last.
        let order: Vec<usize> = (0..shape.len()).filter(|a| !axes.contains(a)).chain(axes.iter().copied()).collect();
        let dense = steps(shape, &order);
        let mut copied = |before: &mut Vec<_>, place: &mut Place, steps: &[isize], dtypes: [DType; 2]| {
            let axes: Vec<_> = order.iter().map(|&axis| (shape[axis], steps[axis], dense[axis])).collect();
            let (from, to) = (*place, take(room(n, dtypes[1])));
            before.push(Copy { launch: arrange(&axes, dtypes, limits), from, to, clear: 0 });
            *place = to;
        };
        let given = arrays.second.map_or(&[][..], |(_, steps)| steps);
        let mask = arrays.mask.unwrap_or(&[]);
        let size = of.size();
        let as_given = RowLayout::of(shape, [arrays.x, given, mask], axes, size).filter(|_| alike);
        let layout = as_given.or_else(|| {
            let bytes: Vec<isize> = dense.iter().map(|step| step * size as isize).collect();
            copied(&mut before, &mut at[0], arrays.x, [dtype, of]);
            if let Some((dtype, steps)) = arrays.second {
                copied(&mut before, &mut at[5], steps, [dtype, of]);
            }
            let second = if arrays.second.is_some() { &bytes[..] } else { &[] };
            RowLayout::of(shape, [&bytes, second, mask], axes, size).or_else(|| {
                copied(&mut before, &mut at[1], mask, [DType::Bool; 2]);
                RowLayout::of(shape, [&bytes, second, &dense], axes, size)
            })
        })?;
        let mut factors = [Factor::Absent; 2];
        for (i, given) in arrays.factors.iter().enumerate() {
            let Some((own, given)) = *given else { continue };
            let lens: Vec<usize> = axes.iter().map(|&axis| shape[axis]).collect();
            let places = steps(&lens, &(0..lens.len()).collect::<Vec<_>>());
            let own_axes: Vec<_> = (0..lens.len()).map(|axis| (lens[axis], given[axis], places[axis])).collect();
            let is_dense = own_axes.iter().all(|&(len, x, place)| len == 1 || x == place * size as isize);
            let fills = (layout.len * size).is_multiple_of(16);
            factors[i] =
                if own == dtype && is_dense && fills && arrays.aligned { Factor::Narrow } else { Factor::Wide };
            if factors[i] == Factor::Wide {
                let (clear, from) = (room(layout.len, wide), at[2 + i]);
                at[2 + i] = take(clear);
                let launch = arrange(&own_axes, [own, wide], limits);
                before.push(Copy { launch, from, to: at[2 + i], clear });
            }
        }
        // Results lie in C order, where rows may come first.
        let c_order = steps(shape, &(0..shape.len()).collect::<Vec<_>>());
        let in_place = (0..shape.len()).all(|axis| shape[axis] == 1 || c_order[axis] == dense[axis]);
        let after = (!in_place || of != dtype).then(|| {
            let from = take(room(n, of));
            at[4] = from;
            let axes: Vec<_> = (0..shape.len()).map(|a| (shape[a], dense[a] * size as isize, c_order[a])).collect();
            Copy { launch: arrange(&axes, [of, dtype], limits), from, to: Place::Out, clear: 0 }
        });
        let plan = RowOperation { factors, dtype: of, ..*op }.plan(&layout, limits)?;
        let parts = take(plan.parts);
        let [x, mask, weight, bias, out, second] = at;
        let at = [x, mask, weight, bias, out, second, parts];
        Some(Self { before, launches: plan.launches, at, after, workspace })
    }

    /// Loads the kernels.
    pub fn load(&self, device: &Device) -> Result<Sequence<Ready<ArrangeAt>, Ready<RowwiseAt>>, CudaError> {
        let ready = |copy: &Copy<Launch<ArrangeAt>>| -> Result<_, CudaError> {
            let &Copy { ref launch, from, to, clear } = copy;
            Ok(Copy { launch: device.ready(launch)?, from, to, clear })
        };
        Ok(Sequence {
            before: self.before.iter().map(ready).collect::<Result<_, _>>()?,
            launches: device.all_ready(&self.launches)?,
            at: self.at,
            after: self.after.as_ref().map(ready).transpose()?,
            workspace: self.workspace,
        })
    }
}

impl Copy<Ready<ArrangeAt>> {
    /// # Safety
    /// As [`Sequence::queue`].
    unsafe fn queue(&self, stream: &Stream, at: &Addresses) -> Result<(), CudaError> {
        let at = ArrangeAt { input: at.of(self.from), output: at.of(self.to) };
        if self.clear > 0 {
            // SAFETY: as many bytes were planned for there.
            unsafe { stream.fill(at.output, 0, self.clear) }?;
        }
        // SAFETY: the caller's.
        unsafe { self.launch.queue(stream, at) }
    }
}

impl Sequence<Ready<ArrangeAt>, Ready<RowwiseAt>> {
    /// The kernels, in order.
    pub fn kernels(&self) -> Vec<&str> {
        let before = self.before.iter().map(|copy| copy.launch.entry());
        before
            .chain(self.launches.iter().map(Ready::entry))
            .chain(self.after.iter().map(|copy| copy.launch.entry()))
            .collect()
    }

    /// Queues all launches.
    ///
    /// # Safety
    /// The addresses are those of arrays like those that were planned for, and of a workspace of as many bytes; all
    /// stay until the device is done with them, and nothing else touches the output and the workspace meanwhile.
    pub unsafe fn queue(&self, stream: &Stream, at: &Addresses) -> Result<(), CudaError> {
        for copy in &self.before {
            // SAFETY: the caller's.
            unsafe { copy.queue(stream, at) }?;
        }
        let [input, mask, weight, bias, output, second, parts] = self.at.map(|place| at.of(place));
        let at_rows = RowwiseAt { input, second, output, weight, bias, mask, parts };
        for launch in &self.launches {
            // SAFETY: the caller's.
            unsafe { launch.queue(stream, at_rows) }?;
        }
        match &self.after {
            // SAFETY: the caller's.
            Some(copy) => unsafe { copy.queue(stream, at) },
            None => Ok(()),
        }
    }
}
