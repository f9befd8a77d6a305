//! Plans of operations on two arrays.

use warpfold_array::problem::Problem;
use warpfold_array::{CudaError, Error, Op};
use warpfold_core::DType;
use warpfold_cpu::rows::LossReduction;

use super::check::Asked;
use super::options::Pairs;
use super::zip_work::{Each, Rows, Terms, Work};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::options::Options;
use crate::plan::rowwise::{arrange, in_c_order, padded};
use crate::plan::zip::{Apart, Scale, Term, Zipping, number, wide};
use crate::reduce::reduction::Reduction;
use crate::stream::Stream;
use crate::view::ArrayView;

/// What is asked for.
pub(super) struct Plan<'a> {
    pub(super) device: &'a Device,
    pub(super) x: &'a ArrayView<'a>,
    pub(super) y: &'a ArrayView<'a>,
    /// The axes that are reduced.
    pub(super) axes: Vec<usize>,
    pub(super) term: Term,
}

/// What was planned.
pub(super) struct Planned {
    /// The shape of the result.
    pub(super) shape: Vec<usize>,
    /// What a run does.
    pub(super) work: Work,
}

impl Plan<'_> {
    /// The shape of what has an element for each row.
    fn batch(&self) -> Vec<usize> {
        let shape = self.x.shape();
        (0..shape.len()).filter(|axis| !self.axes.contains(axis)).map(|axis| shape[axis]).collect()
    }

    /// Every pair of elements by itself.
    fn apart(&self, wide: bool, gradient: Option<Scale<'_>>) -> Result<Each, Error> {
        let apart = Apart {
            term: self.term,
            shape: self.x.shape(),
            steps: [self.x.strides(), self.y.strides()],
            dtypes: [self.x.dtype(), self.y.dtype()],
            wide,
            gradient,
        };
        let [packs, elements] = [true, false].map(|packs| apart.plan(packs, &self.device.limits()));
        let packs = packs.map(|launch| self.device.ready(&launch)).transpose()?;
        Ok(Each { packs, elements: self.device.ready(&elements.expect("elements lie anywhere"))? })
    }

    /// Results of the shape `shape`, one of each pair of elements.
    pub(super) fn each(&self, shape: Vec<usize>, scale: Option<Scale<'_>>) -> Result<Planned, Error> {
        let work = if self.x.shape().contains(&0) { Work::Nothing } else { Work::Each(self.apart(false, scale)?) };
        Ok(Planned { shape, work })
    }

    /// The derivatives by the elements.
    pub(super) fn gradient(&self, asked: &Asked, by: LossReduction, options: &Pairs<'_>) -> Result<Planned, Error> {
        let (shape, dtype) = (self.x.shape(), self.x.dtype());
        let is_none = by == LossReduction::None;
        let of_result = if is_none { shape.to_vec() } else { self.batch() };
        let count: usize = self.axes.iter().map(|&axis| shape[axis]).product();
        let divisor = if by == LossReduction::Mean { number(dtype, count) } else { 1.0 };
        let Some(gradient) = &options.gradient else {
            let scale = if wide(dtype) == DType::F64 { 1.0 / divisor } else { (1.0 / divisor as f32).into() };
            return self.each(shape.to_vec(), Some(Scale::Number(scale)));
        };
        asked.of_result(gradient, &of_result)?;
        let (mut own, mut steps) = (gradient.strides().iter(), vec![0; shape.len()]);
        for (axis, step) in steps.iter_mut().enumerate() {
            if is_none || !self.axes.contains(&axis) {
                *step = *own.next().expect("a step for each axis of the result");
            }
        }
        let scale = Scale::Array(gradient.dtype(), &steps, divisor);
        self.each(shape.to_vec(), Some(scale))
    }

    /// A reduction: to a mean, or to what the term says. `empty` is the result of no elements.
    pub(super) fn reduced(
        &self,
        mean: bool,
        empty: impl FnOnce() -> Result<warpfold_array::Array, Error>,
    ) -> Result<Planned, Error> {
        let (shape, dtype, device) = (self.batch(), self.x.dtype(), self.device);
        let problem = Problem::new(self.x.layout(), &self.axes, Some(self.y.layout()))?;
        let is_cosine = matches!(self.term, Term::Cosine(_));
        let zipping = Zipping { term: self.term, mean, dtype, result: dtype };
        let work = match (problem.outputs, problem.count) {
            (0, _) => Work::Nothing,
            (_, 0) => {
                let (values, stream) = (empty()?.values, Stream::new(device)?);
                Work::Empty(Buffer::upload(&stream, values.as_bytes())?)
            }
            (_, 1) if !is_cosine => Work::Each(self.apart(false, None)?),
            _ => {
                let same = self.y.dtype() == dtype;
                match zipping.rows(&problem, &device.limits()).filter(|_| same) {
                    Some(plan) => Work::Rows(Rows {
                        copies: [None, None],
                        launches: device.all_ready(&plan.launches)?,
                        offsets: [problem.x_offset, problem.mask_offset, problem.out_offset * dtype.size() as isize],
                        workspace: plan.workspace,
                    }),
                    None if is_cosine => Work::Rows(self.copied(&zipping)?),
                    None => Work::Terms(Box::new(self.terms(mean)?)),
                }
            }
        };
        Ok(Planned { shape, work })
    }

    /// Rows of copies of both arrays, in which the reduced axes are the last.
    fn copied(&self, zipping: &Zipping) -> Result<Rows, Error> {
        let shape = self.x.shape();
        let is_reduced = |axis: &usize| self.axes.contains(axis);
        let (reduced, mut order): (Vec<_>, Vec<_>) = (0..shape.len()).partition(is_reduced);
        order.extend(&reduced);
        let lengths: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
        // Elements of two dtypes are what arithmetic is done in.
        let same = self.y.dtype() == zipping.dtype;
        let dtype = if same { zipping.dtype } else { wide(zipping.dtype) };
        let size = dtype.size();
        let steps = in_c_order(&lengths, size as isize);
        let last: Vec<usize> = (shape.len() - reduced.len()..shape.len()).collect();
        let problem = Problem::of(&lengths, &steps, &steps, &last, size);
        let limits = self.device.limits();
        let plan = Zipping { dtype, ..*zipping }.rows(&problem, &limits).ok_or_else(|| CudaError::Launch {
            entry: "zip_cosine".into(),
            grid: u32::MAX,
            block: 0,
            why: format!("rows of an array of shape {shape:?} are more than a kernel counts"),
        })?;
        let mut workspace = padded(plan.workspace);
        let mut copy = |array: &ArrayView<'_>| {
            let to = in_c_order(&lengths, 1);
            let axes: Vec<_> =
                order.iter().zip(to).map(|(&axis, to)| (shape[axis], array.strides()[axis], to)).collect();
            let at = workspace;
            workspace += padded(problem.count * problem.outputs * size);
            Ok::<_, CudaError>((self.device.ready(&arrange(&axes, [array.dtype(), dtype], &limits))?, at))
        };
        let copies = [Some(copy(self.x)?), Some(copy(self.y)?)];
        Ok(Rows { copies, launches: self.device.all_ready(&plan.launches)?, offsets: [0; 3], workspace })
    }

    /// Terms, which are then reduced.
    fn terms(&self, mean: bool) -> Result<Terms, Error> {
        let (shape, dtype, batch) = (self.x.shape(), self.x.dtype(), self.batch());
        let wide = wide(dtype);
        // SAFETY: no kernel is launched on it: only its dtype and its layout count.
        let like = unsafe { ArrayView::dense(self.x.device(), self.x.address() & !15, wide, shape) }?;
        let op = if mean { Op::Mean } else { Op::Sum };
        let axes = self.axes.iter().map(|&axis| axis as isize).collect();
        let reduction = Reduction::new(self.device, op, &like, &Options { axes: Some(axes), ..Options::default() })?;
        let terms = padded(reduction.workspace());
        let results = terms + padded(shape.iter().product::<usize>() * wide.size());
        let count: usize = batch.iter().product();
        let launch =
            (wide != dtype).then(|| arrange(&[(count, wide.size() as isize, 1)], [wide, dtype], &self.device.limits()));
        Ok(Terms {
            each: self.apart(true, None)?,
            view: shape.to_vec(),
            reduction,
            rounded: launch.map(|launch| self.device.ready(&launch)).transpose()?,
            at: [terms, results],
            workspace: results + padded(count * wide.size()),
        })
    }
}
