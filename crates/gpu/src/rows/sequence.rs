//! The launches of an operation on rows: copies of what lies otherwise than kernels read it, the operation, and perhaps
//! a copy of the results to where they belong.

use std::mem::offset_of;

use warpfold_array::CudaError;
use warpfold_core::DType;
use warpfold_kernels::reduce::any::AXES;
use warpfold_kernels::reduce::shape::piece::{Kept, Outputs};
use warpfold_kernels::reduce::workspace::COUNTERS;
use warpfold_kernels::rowwise::RowwiseAt;
use warpfold_kernels::rowwise::arrange::{Arrange, ArrangeAt};

use crate::device::Device;
use crate::launch::Ready;
use crate::plan::row_layout::RowLayout;
use crate::plan::rowsums::RowSums;
use crate::plan::rowwise::{Factor, RowOperation, arrange, in_c_order, padded, room};
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
    Targets,
    Scales,
    Out,
    /// Where nothing is.
    Nowhere,
    /// What follows from rows.
    Noted,
    /// The gradient of the weights, or of the biases.
    Sums(usize),
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
    /// Of cross-entropy: the classes of rows, and the gradients of their losses.
    pub targets: u64,
    pub scales: u64,
    /// The gradient of all losses for which the results are there already; zero: they are not.
    pub used: u64,
    /// The results; zero: none are wanted.
    pub out: u64,
    /// What follows from rows, noted by an earlier run, or for a later one.
    pub noted: u64,
    /// The losses of rows, and their logsumexp.
    pub losses: u64,
    pub logs: u64,
    /// The gradients of weights and biases.
    pub sums: [u64; 2],
    pub workspace: u64,
}

impl Place {
    /// So many bytes after a place in the workspace.
    fn after(self, bytes: usize) -> Self {
        if let Place::Room(at) = self { Place::Room(at + bytes) } else { self }
    }
}

impl Addresses {
    fn of(&self, place: Place) -> u64 {
        match place {
            Place::X => self.x,
            Place::Second => self.second,
            Place::Mask => self.mask,
            Place::Weight => self.weight,
            Place::Bias => self.bias,
            Place::Targets => self.targets,
            Place::Scales => self.scales,
            Place::Out => self.out,
            Place::Nowhere => 0,
            Place::Noted => self.noted,
            Place::Sums(which) => self.sums[which],
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
    /// Of the classes of rows, if there are any, steps in bytes along the axes that are no row's.
    pub targets: Option<&'a [isize]>,
    /// The dtype of the gradients of rows' losses, and their steps; none if all have one gradient.
    pub scales: Option<(DType, Option<&'a [isize]>)>,
    /// Whether the gradients of weights and biases are wanted.
    pub sums: bool,
    /// Dtypes and steps in bytes of weights and biases.
    pub factors: [Option<(DType, &'a [isize])>; 2],
    /// Whether weights and biases begin with lines of 16 bytes, and, of gradients, all other arrays.
    pub aligned: bool,
}

/// A copy; `clear` is how many bytes at its destination are zero first.
struct Copy<L> {
    launch: L,
    from: Place,
    to: Place,
    clear: usize,
}

/// One copy of the sums of weights and of those of biases. The step from the first place to the second is known when it
/// is queued: in elements of so many bytes, as a word of the launch struct.
struct Both<L> {
    copy: Copy<L>,
    size: usize,
    word: usize,
}

impl Both<Launch<ArrangeAt>> {
    /// The copy of twice so many numbers, which lie side by side.
    fn new(from: Place, len: usize, [wide, dtype]: [DType; 2], limits: &Limits) -> Self {
        let step = wide.size() as isize;
        let launch = arrange(&[(2, len as isize * step, 0), (len, step, 1)], [wide, dtype], limits);
        let axis = (len > 1) as usize;
        let before = offset_of!(Arrange, axes) + offset_of!(Outputs<AXES>, axis) + offset_of!(Kept, out);
        let word = (before + axis * size_of::<Kept>()) / size_of::<u64>();
        Both { copy: Copy { launch, from, to: Place::Sums(0), clear: 0 }, size: dtype.size(), word }
    }
}

/// The sequence, planned or (`Ready`) with its kernels loaded.
pub struct Sequence<C = Launch<ArrangeAt>, L = Launch<RowwiseAt>> {
    before: Vec<Copy<C>>,
    /// Launches that have no results, but note the norms of rows.
    noting: Vec<L>,
    launches: Vec<L>,
    /// Input, mask, weights, biases, output, second input, parts, norms, classes, gradients of losses.
    at: [Place; 10],
    after: Option<Copy<C>>,
    /// The sums over rows that the gradients of weights and biases are.
    columns: Vec<L>,
    /// Whether these have the results, too.
    folded: bool,
    /// Their copies to where they are wanted, and one in place of two.
    sums: Vec<Copy<C>>,
    both: Option<Both<C>>,
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
        // No gradient depends on the biases.
        for (i, given) in arrays.factors.iter().enumerate().take(2 - op.noted_by.is_some() as usize) {
            let Some((own, given)) = *given else { continue };
            let lens: Vec<usize> = axes.iter().map(|&axis| shape[axis]).collect();
            let places = in_c_order(&lens, 1);
            let own_axes: Vec<_> = (0..lens.len()).map(|axis| (lens[axis], given[axis], places[axis])).collect();
            let is_dense = own_axes.iter().all(|&(len, x, place)| len == 1 || x == place * size as isize);
            let fills = (layout.len * size).is_multiple_of(16);
            // Others are copied: as elements are, if nothing is lost.
            let (to, kind) = if own == of || of == wide { (of, Factor::Narrow) } else { (wide, Factor::Wide) };
            factors[i] = kind;
            if !(own == of && is_dense && fills && arrays.aligned) {
                let (bytes, from) = (room(layout.len, to), at[2 + i]);
                at[2 + i] = take(bytes);
                // What is read after the last one, if a row's end does not fill a line.
                let clear = if fills { 0 } else { bytes };
                before.push(Copy { launch: arrange(&own_axes, [own, to], limits), from, to: at[2 + i], clear });
            }
        }
        // Results lie in C order, where rows may come first.
        let c_order = in_c_order(shape, 1);
        let in_place = (0..shape.len()).all(|axis| shape[axis] == 1 || c_order[axis] == dense[axis]);
        let after = (!in_place || of != dtype).then(|| {
            let from = take(room(n, of));
            at[4] = from;
            let axes: Vec<_> = (0..shape.len()).map(|a| (shape[a], dense[a] * size as isize, c_order[a])).collect();
            Copy { launch: arrange(&axes, [of, dtype], limits), from, to: Place::Out, clear: 0 }
        });
        let op = RowOperation { factors, dtype: of, ..*op };
        let plan = op.plan(&layout, limits)?;
        let norms = if !plan.before.is_empty() { take(room(2 * layout.rows, wide)) } else { Place::Noted };
        let parts = take(padded(plan.parts));
        let (mut columns, mut sums, mut both, mut folded) = (Vec::new(), Vec::new(), None, false);
        if arrays.sums {
            let limits = &Limits { aligned: arrays.aligned, ..*limits };
            let most = 1 + arrays.factors[1].is_some() as usize;
            let RowSums { launches, bytes, first, folded: at_once } = op.sums(&layout, most, limits)?;
            (columns, folded) = (launches, at_once);
            take(padded(bytes.saturating_sub(plan.parts))); // Where parts of rows were.
            for (which, factor) in arrays.factors.iter().enumerate() {
                let Some((dtype, _)) = *factor else { continue };
                let size = wide.size();
                let from = parts.after((first + which * layout.len) * size);
                let launch = arrange(&[(layout.len, size as isize, 1)], [wide, dtype], limits);
                sums.push(Copy { launch, from, to: Place::Sums(which), clear: 0 });
            }
            if let [Some((weight, _)), Some((bias, _))] = arrays.factors
                && weight == bias
            {
                both = Some(Both::new(parts.after(first * wide.size()), layout.len, [wide, weight], limits));
            }
        }
        let batch: Vec<usize> = (0..shape.len()).filter(|axis| !axes.contains(axis)).map(|axis| shape[axis]).collect();
        let in_order = in_c_order(&batch, 1);
        let mut of_rows = |place: Place, given: &[isize], dtypes: [DType; 2]| {
            let size = dtypes[0].size() as isize;
            let axes: Vec<_> = (0..batch.len()).map(|axis| (batch[axis], given[axis], in_order[axis])).collect();
            if dtypes[0] == dtypes[1] && axes.iter().all(|&(len, step, order)| len == 1 || step == order * size) {
                return place;
            }
            let to = take(room(layout.rows, dtypes[1]));
            before.push(Copy { launch: arrange(&axes, dtypes, limits), from: place, to, clear: 0 });
            to
        };
        let targets = arrays.targets.map_or(Place::Nowhere, |given| of_rows(Place::Targets, given, [DType::I64; 2]));
        let scales = match arrays.scales {
            None => Place::Nowhere,
            Some((own, Some(given))) => of_rows(Place::Scales, given, [own, wide]),
            Some((own, None)) if own == wide => Place::Scales,
            Some((own, None)) => {
                let to = take(room(1, wide));
                before.push(Copy { launch: arrange(&[], [own, wide], limits), from: Place::Scales, to, clear: 0 });
                to
            }
        };
        let [x, mask, weight, bias, out, second] = at;
        let at = [x, mask, weight, bias, out, second, parts, norms, targets, scales];
        let (noting, launches) = (plan.before, plan.launches);
        Some(Self { before, noting, launches, at, after, columns, folded, sums, both, workspace })
    }

    /// Loads the kernels.
    pub fn load(&self, device: &Device) -> Result<Sequence<Ready<ArrangeAt>, Ready<RowwiseAt>>, CudaError> {
        let ready = |copy: &Copy<Launch<ArrangeAt>>| -> Result<_, CudaError> {
            let &Copy { ref launch, from, to, clear } = copy;
            Ok(Copy { launch: device.ready(launch)?, from, to, clear })
        };
        Ok(Sequence {
            before: self.before.iter().map(ready).collect::<Result<_, _>>()?,
            noting: device.all_ready(&self.noting)?,
            launches: device.all_ready(&self.launches)?,
            at: self.at,
            after: self.after.as_ref().map(ready).transpose()?,
            columns: device.all_ready(&self.columns)?,
            folded: self.folded,
            sums: self.sums.iter().map(ready).collect::<Result<_, _>>()?,
            both: match &self.both {
                Some(Both { copy, size, word }) => Some(Both { copy: ready(copy)?, size: *size, word: *word }),
                None => None,
            },
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
    /// The launches of the operation and those of the sums over rows, if these are wanted.
    fn wanted(&self, sums: bool) -> [&[Ready<RowwiseAt>]; 2] {
        match (sums, self.folded) {
            (true, true) => [&[], &self.columns],
            (true, false) => [&self.launches, &self.columns],
            (false, _) => [&self.launches, &[]],
        }
    }

    /// The kernels, in order.
    pub fn kernels(&self) -> Vec<&str> {
        let before = self.before.iter().map(|copy| copy.launch.entry());
        let sums = self.both.as_ref().map_or(&self.sums[..], |both| std::slice::from_ref(&both.copy));
        let after = self.after.iter().chain(sums).map(|copy| copy.launch.entry());
        let [rows, columns] = self.wanted(true);
        let rows = self.noting.iter().chain(rows).chain(columns);
        before.chain(rows.map(Ready::entry)).chain(after).collect()
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
        let [input, mask, weight, bias, output, second, parts, norms, targets, scales] =
            self.at.map(|place| at.of(place));
        let &Addresses { used, losses, logs, .. } = at;
        // What is copied to the results at the end has to be computed in any case.
        let used = if self.after.is_some() { 0 } else { used };
        let at_rows =
            RowwiseAt { input, second, output, weight, bias, mask, targets, scales, used, losses, logs, parts, norms };
        // No results are wanted where there is no room for them.
        let at_rows = RowwiseAt { output: if at.out == 0 { 0 } else { output }, ..at_rows };
        for launch in &self.noting {
            // SAFETY: the caller's.
            unsafe { launch.queue(stream, RowwiseAt { output: 0, ..at_rows }) }?;
        }
        let [rows, columns] = self.wanted(at.sums != [0; 2]);
        for launch in rows.iter().chain(columns) {
            // SAFETY: the caller's.
            unsafe { launch.queue(stream, at_rows) }?;
        }
        if let Some(copy) = self.after.as_ref().filter(|_| at.out != 0) {
            // SAFETY: the caller's.
            unsafe { copy.queue(stream, at) }?;
        }
        if let Some(Both { copy, size, word }) = self.both.as_ref().filter(|_| !at.sums.contains(&0)) {
            let apart = at.sums[1].wrapping_sub(at.sums[0]) as i64 / *size as i64;
            let from = ArrangeAt { input: at.of(copy.from), output: at.of(copy.to) };
            // SAFETY: the caller's. Both places are multiples of an element's size.
            return unsafe { copy.launch.queue_with(stream, from, Some((*word, apart as u64))) };
        }
        for copy in self.sums.iter().filter(|copy| at.of(copy.to) != 0) {
            // SAFETY: the caller's.
            unsafe { copy.queue(stream, at) }?;
        }
        Ok(())
    }
}
