//! What to launch for two arrays: losses and their gradients, dot products, cosines.

use warpfold_array::problem::{Dim, Problem, merge};
use warpfold_core::{DType, Real};
use warpfold_cpu::rows::Loss;
use warpfold_kernels::block::THREADS;
use warpfold_kernels::reduce::any::AXES;
use warpfold_kernels::reduce::facts::Facts;
use warpfold_kernels::reduce::recipe::{Recipe, code, flag};
use warpfold_kernels::reduce::shape::piece::{Dense, Kept, Outputs};
use warpfold_kernels::reduce::table::KEPT;
use warpfold_kernels::reduce::workspace::COUNTERS;
use warpfold_kernels::zip::each::{Each, EachAt, NUMBER, ONE, OWN};
use warpfold_kernels::zip::fold::KIND;
use warpfold_kernels::zip::term::{BINARY, DISTANCE, DIVERGENCE, DIVERGENCE_OF_LOGS, HUBER, PRODUCT, SQUARED};

use super::choose::Fold;
use super::limits::Limits;
use super::planner::Planner;
use super::{GpuPlan, Launch};

/// Rows of fewer bytes become terms first: a warp would have too little of them.
const ROW_BYTES: usize = 1024;

/// Threads for each multiprocessor, at most: those of many blocks, each of which takes several packs.
const THREADS_EACH: u64 = 16 * 2048;

/// What becomes of pairs of elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Term {
    /// The loss of an element and its target.
    Loss(Loss),
    /// The product.
    Product,
    /// The cosine of rows; a norm below this counts as this.
    Cosine(f64),
}

impl Term {
    /// As kernels are told it: the kind, and a number.
    fn kind(self) -> (u32, f64) {
        match self {
            Self::Loss(Loss::Mse) => (SQUARED, 0.0),
            Self::Loss(Loss::L1) => (DISTANCE, 0.0),
            Self::Loss(Loss::Huber { delta }) => (HUBER, delta),
            Self::Loss(Loss::KlDiv { log_target: false }) => (DIVERGENCE, 0.0),
            Self::Loss(Loss::KlDiv { log_target: true }) => (DIVERGENCE_OF_LOGS, 0.0),
            Self::Loss(Loss::BceWithLogits) => (BINARY, 0.0),
            Self::Product => (PRODUCT, 0.0),
            Self::Cosine(epsilon) => (PRODUCT, epsilon),
        }
    }
}

/// What arithmetic is done in, of elements of a dtype.
#[must_use]
pub fn wide(dtype: DType) -> DType {
    if dtype == DType::F64 { DType::F64 } else { DType::F32 }
}

/// A count as a number of what arithmetic is done in.
#[must_use]
pub fn number(dtype: DType, count: usize) -> f64 {
    if dtype == DType::F64 { f64::from_count(count as u64) } else { f32::from_count(count as u64).into() }
}

/// A reduction of two arrays, whose elements are of one dtype.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zipping {
    /// What becomes of pairs of elements.
    pub term: Term,
    /// Whether the result is a mean.
    pub mean: bool,
    /// Of the elements.
    pub dtype: DType,
    /// Of the result.
    pub result: DType,
}

impl Zipping {
    /// The launches for rows of both arrays, which lie where array and mask of the problem do. None, if elements do not
    /// lie side by side in either, or rows are short and terms are the better way.
    #[must_use]
    pub fn rows(&self, problem: &Problem, limits: &Limits) -> Option<GpuPlan> {
        let Problem { kept, reduced, count, outputs, size, .. } = problem;
        // Of nothing that is reduced, the row of a result has one element.
        let one = Dim { len: 1, x: *size as isize, mask: *size as isize, out: 0 };
        let row = match reduced[..] {
            [] => one,
            [row] => row,
            _ => return None,
        };
        let is_cosine = matches!(self.term, Term::Cosine(_));
        let is_short = count * size < ROW_BYTES && !is_cosine;
        if [row.x, row.mask] != [*size as isize; 2] || kept.len() > KEPT || is_short {
            return None;
        }
        let (kind, number) = self.term.kind();
        let words = if is_cosine { 3 } else { 1 } * size.div_ceil(4);
        let name = format!("{}_{}", if is_cosine { "cosine" } else { "loss" }, self.dtype);
        let facts = Facts::of_rows(words);
        let dtype = code(self.result);
        let recipe = Recipe {
            count: *count as u64,
            ddof: 0.0,
            initial: [number.to_bits(), 0],
            flags: kind << KIND | if self.mean { flag::MEAN } else { 0 },
            input: code(self.dtype),
            output: dtype,
            through: dtype,
        };
        let mut planner = Planner::of(Fold { name, facts, narrow: false, lines: false }, recipe, problem, limits);
        let launch = planner.long("zip", kept, *count as u64, Dense { end: planner.end() }, false)?;
        let bytes = (outputs * (2 * count + 1) * size) as u64;
        Some(GpuPlan { launches: vec![launch], workspace: COUNTERS + 4 * planner.words, bytes })
    }
}

/// Terms or derivatives of all pairs of elements.
#[derive(Clone, Copy, Debug)]
pub struct Apart<'a> {
    /// What becomes of pairs of elements.
    pub term: Term,
    /// The lengths of the axes.
    pub shape: &'a [usize],
    /// The steps of elements and targets, in bytes.
    pub steps: [&'a [isize]; 2],
    /// The dtypes of elements and targets.
    pub dtypes: [DType; 2],
    /// Whether results are not rounded.
    pub wide: bool,
    /// The gradient of the result, if results are derivatives.
    pub gradient: Option<Scale<'a>>,
}

/// The gradient of the result, at each element.
#[derive(Clone, Copy, Debug)]
pub enum Scale<'a> {
    /// A number.
    Number(f64),
    /// An array's elements, over a divisor: its dtype, and its steps in bytes.
    Array(DType, &'a [isize], f64),
}

impl Apart<'_> {
    /// The launch: of packs of 16 bytes, or of elements. None, if elements do not lie in packs, or there is none.
    #[must_use]
    pub fn plan(&self, packs: bool, limits: &Limits) -> Option<Launch<EachAt>> {
        let [x, y] = self.steps;
        let (kind, number) = self.term.kind();
        let (of_gradient, steps, divisor) = match self.gradient {
            Some(Scale::Array(dtype, steps, divisor)) => (dtype, steps, divisor),
            Some(Scale::Number(number)) => (DType::F32, &[][..], number),
            None => (DType::F32, &[][..], 1.0),
        };
        let axes = (0..self.shape.len()).filter(|&axis| self.shape[axis] != 1);
        let step = |axis: usize| steps.get(axis).copied().unwrap_or_default();
        let mut dims: Vec<Dim> =
            merge(axes.map(|axis| Dim { len: self.shape[axis], x: x[axis], mask: y[axis], out: step(axis) }).collect());
        let size = self.dtypes[0].size();
        let per = 16 / size;
        let mut gradient = if matches!(self.gradient, Some(Scale::Array(..))) { ONE } else { NUMBER };
        if packs {
            let (run, outer) = dims.split_last_mut()?;
            let beside = [run.x, run.mask] == [size as isize; 2] && self.dtypes[0] == self.dtypes[1];
            let own = gradient == ONE && run.out == size as isize && of_gradient == self.dtypes[0];
            let is_lined = |step: isize| step % 16 == 0;
            let lined = outer.iter().all(|dim| is_lined(dim.x) && is_lined(dim.mask) && (!own || is_lined(dim.out)));
            if !beside || !lined || !run.len.is_multiple_of(per) || (run.out != 0 && !own) {
                return None;
            }
            *run = Dim { len: run.len / per, x: 16, mask: 16, out: if own { 16 } else { 0 } };
            gradient = if own { OWN } else { gradient };
        }
        let mut axis = [Kept::default(); AXES];
        for (to, dim) in axis.iter_mut().zip(dims.iter().rev()) {
            *to = Kept { len: dim.len as u64, x: dim.x as i64, mask: dim.mask as i64, out: dim.out as i64 };
        }
        if dims.is_empty() {
            axis[0].len = 1;
        }
        let total = dims.iter().map(|dim| dim.len as u64).product::<u64>();
        let call = Each {
            at: EachAt::default(),
            axes: Outputs { total, axes: dims.len().max(1) as u64, axis },
            number,
            divisor,
            kind,
            derives: self.gradient.is_some() as u32,
            gradient,
            packs: packs as u32,
            wide: self.wide as u32,
            of_y: code(self.dtypes[1]),
            of_gradient: code(of_gradient),
            rest: 0,
        };
        let most = limits.multiprocessors as u64 * THREADS_EACH / THREADS as u64;
        let grid = total.div_ceil(THREADS as u64).min(most);
        Some(Launch::new(format!("zip_each_{}", self.dtypes[0]), grid as u32, THREADS, &call))
    }
}
