//! What a reduction will do: a plain value, printable, made without touching the data.

use std::fmt;

use warpfold_core::DType;

use crate::bound::Bound;
use crate::dispatch::Kernels;
use crate::engine::Patches;
use crate::policy::{CHUNK, ONE_THREAD};
use crate::route::{Route, Takes};
use crate::simd::Simd;
use warpfold_array::ArrayRef;
use warpfold_array::problem::{Problem, result_shape};
use warpfold_array::request::Spec;
use warpfold_array::{Op, Options, Precision};

/// The decisions about one reduction. `Display` is what `warpfold explain` prints.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The reduction.
    pub op: Op,
    /// The dtype of the array.
    pub dtype: DType,
    /// The shape of the array.
    pub shape: Vec<usize>,
    /// The axes that are reduced.
    pub axes: Vec<usize>,
    /// The dtype of the result.
    pub result_dtype: DType,
    /// The shape of the result.
    pub result_shape: Vec<usize>,
    /// The dtype that the inner loops read.
    pub kernel_dtype: DType,
    /// Whether elements are copied to tiles first, because of another dtype, the other byte order, or a mask.
    pub staged: bool,
    /// The precision of nodes.
    pub precision: Precision,
    /// The canonical problem; its reduced axes are in the order of memory if any order gives the same result.
    pub problem: Problem,
    /// The way through memory.
    pub route: Route,
    /// The outputs of a patch along each kept axis, if outputs are reduced in patches; each patch goes the way of the
    /// route for as many outputs.
    pub patch: Option<Vec<usize>>,
    /// The number of threads.
    pub threads: usize,
    /// Vector instructions.
    pub simd: Simd,
}

impl Plan {
    /// The plan of a reduction that has been checked, on `threads` threads.
    pub fn new(
        spec: &Spec,
        problem: &Problem,
        array: &ArrayRef<'_>,
        axes: &[usize],
        options: &Options<'_>,
        threads: usize,
    ) -> Self {
        let mut result_shape = result_shape(array.shape(), axes, options.keepdims);
        if spec.op == Op::MinMax {
            result_shape.push(2);
        }
        let facts = |bound: &Bound<'_>| (bound.kernel.facts(), bound.bytes(spec.result()));
        let (facts, bytes) = Kernels(spec).with(facts);
        let (free, staged) = (facts.free, !Kernels(spec).reads_in_place() || spec.masked);
        let sorted = if free { problem.in_memory_order() } else { None };
        let problem = sorted.as_ref().unwrap_or(problem);
        let small = problem.count.saturating_mul(problem.outputs) < ONE_THREAD;
        Self {
            op: spec.op,
            dtype: spec.input,
            shape: array.shape().to_vec(),
            axes: axes.to_vec(),
            result_dtype: spec.result(),
            result_shape,
            kernel_dtype: Kernels(spec).kernel_dtype(),
            staged,
            precision: spec.precision,
            problem: problem.clone(),
            route: Route::of(problem, Takes { free, staggered: facts.staggered && !staged, number: facts.number }),
            patch: Patches::of(problem, bytes, threads).map(|patches| patches.lens),
            threads: if small { 1 } else { threads },
            simd: Simd::current(),
        }
    }

    /// The bytes of the array and of the result.
    pub fn bytes(&self) -> usize {
        let outputs: usize = self.result_shape.iter().product();
        let read = (self.problem.count * self.problem.outputs).saturating_mul(self.dtype.size());
        // An array of no elements may have any number of outputs.
        read.saturating_add(outputs.saturating_mul(self.result_dtype.size()))
    }
}

impl Plan {
    /// What is computed, without regard to how.
    pub fn what(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Plan { problem, .. } = self;
        writeln!(f, "{} of {} {:?} over axes {:?}", self.op, self.dtype, self.shape, self.axes)?;
        writeln!(f, "  result   {} {:?}", self.result_dtype, self.result_shape)?;
        writeln!(f, "  problem  {} outputs of {} elements each", problem.outputs, problem.count)?;
        let dims = |dims: &[warpfold_array::problem::Dim]| {
            let dims: Vec<String> = dims.iter().map(|d| format!("{} step {} B", d.len, d.x)).collect();
            if dims.is_empty() { "none".to_string() } else { dims.join(", ") }
        };
        writeln!(f, "  kept     {}", dims(&problem.kept))?;
        writeln!(f, "  reduced  {}", dims(&problem.reduced))
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Plan { problem, .. } = self;
        self.what(f)?;
        writeln!(f, "  route    {}", self.route.describe())?;
        if let Some(patch) = &self.patch {
            writeln!(f, "  results  patches of {patch:?} outputs, brought into the result's order in the cache")?;
        }
        match self.staged {
            true => writeln!(f, "  loads    {} to {} by tiles in L1", self.dtype, self.kernel_dtype)?,
            false => writeln!(f, "  loads    {} in place", self.dtype)?,
        }
        let precision = match self.precision {
            Precision::Tree => "tree",
            Precision::Compensated => "compensated: the same tree of double words",
        };
        writeln!(f, "  order    {precision}, levels 0 to {}", problem.count.max(1).next_power_of_two().ilog2())?;
        writeln!(f, "  cut      subtrees of at most {CHUNK} elements")?;
        writeln!(f, "  device   cpu, {} thread(s), {}", self.threads, self.simd.name())?;
        write!(f, "  bytes    {} read and written", self.bytes())
    }
}
