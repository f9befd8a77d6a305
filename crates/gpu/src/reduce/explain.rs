//! What a GPU would do: a plain value, printable, made without a GPU.

use crate::plan::{GpuPlan, Launch, Limits};
use crate::runtime::Properties;
use crate::view::ArrayView;
use std::fmt;
use std::time::Duration;
use warpfold_array::ArrayRef;
use warpfold_array::request::Request;
use warpfold_array::{Error, Op, Options};
use warpfold_cpu::Plan;
use warpfold_kernels::reduce::call::CallAt;

/// What predictions assume where there is no GPU to ask: an H200, and a plain read of its memory as measured.
const H200: Limits = Limits { multiprocessors: 132, bandwidth: 4.6e12, aligned: false, shared_bytes: 227 << 10 };

/// A launch from start to end, beside the reading: the least that a sum takes on an H200.
const LAUNCH: Duration = Duration::from_nanos(3_500);

/// Launches that are shown of a plan in pieces.
const SHOWN: usize = 4;

/// The decisions about one reduction on a GPU. `Display` is what `warpfold explain --device cuda` prints.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// What is computed; of how, only what holds on every device.
    pub plan: Plan,
    /// The GPU, or that there is none.
    pub device: String,
    /// Its multiprocessors.
    pub multiprocessors: u32,
    /// Kernels, in order. None: no kernel computes this, or there is nothing to compute.
    pub launches: Vec<Launched>,
    /// Bytes of workspace.
    pub workspace: usize,
    /// Bytes read and written.
    pub bytes: u64,
    /// From bytes and bandwidth, and what launches cost; of an array that is in the GPU's memory.
    pub predicted: Duration,
}

/// A kernel, its grid and block, and its launch struct without addresses.
pub type Launched = Launch<CallAt>;

/// What a GPU would do about an array with this dtype, shape and layout; for an H200 if `gpu` names none. The array is
/// not read, and there need be no GPU.
///
/// ```
/// use warpfold_array::{ArrayRef, Op, Options};
///
/// let x = ArrayRef::from_slice(&[1.0f32, 2.0, 3.0], &[3])?;
/// let explanation = warpfold_gpu::explain(Op::Sum, x, &Options::default(), None)?;
/// assert!(explanation.device.contains("H200"));
/// # Ok::<(), warpfold_array::Error>(())
/// ```
///
/// # Errors
/// What [`warpfold_cpu::reduce`] refuses, but for what the data decide.
pub fn explain(
    op: Op,
    array: ArrayRef<'_>,
    options: &Options<'_>,
    gpu: Option<&Properties>,
) -> Result<Explanation, Error> {
    let request = Request::new(op, &array, options)?;
    let limits = Limits { aligned: true, ..gpu.map_or(H200, Properties::limits) };
    let device = match gpu {
        Some(gpu) => format!("cuda:{}, {}", gpu.index, gpu.name),
        None => "an H200, since no GPU is here to ask".into(),
    };
    let Request { spec, problem, axes, .. } = &request;
    let plan = Plan::new(spec, problem, &array, axes, options, 1);
    let is_empty = problem.count == 0 || problem.outputs == 0;
    let gpu_plan = match is_empty {
        true => GpuPlan { launches: Vec::new(), workspace: 0, bytes: 0 },
        false => GpuPlan::new(spec, problem, &limits),
    };
    let workspace = gpu_plan.workspace;
    let launches = gpu_plan.launches;
    let read = Duration::from_secs_f64(gpu_plan.bytes as f64 / limits.bandwidth);
    Ok(Explanation {
        plan,
        device,
        multiprocessors: limits.multiprocessors,
        predicted: read + LAUNCH * launches.len() as u32,
        launches,
        workspace,
        bytes: gpu_plan.bytes,
    })
}

/// As [`explain`], of an array in a GPU's memory.
///
/// # Errors
/// As [`explain`].
pub fn explain_view(
    op: Op,
    array: ArrayView<'_>,
    options: &Options<'_>,
    gpu: Option<&Properties>,
) -> Result<Explanation, Error> {
    explain(op, *array.layout(), options, gpu)
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.what(f)?;
        let problem = &self.plan.problem;
        for (i, Launched { entry, grid, block, .. }) in self.launches.iter().enumerate().take(SHOWN) {
            let label = if i == 0 { "kernel " } else { "then   " };
            writeln!(f, "  {label}  {entry}, {grid} block(s) of {block} threads")?;
        }
        if self.launches.len() > SHOWN {
            writeln!(f, "  then     {} more, of what else is copied and reduced", self.launches.len() - SHOWN)?;
        }
        if self.launches.is_empty() {
            let is_empty = problem.count == 0 || problem.outputs == 0;
            let why = if is_empty { "nothing to launch" } else { "no kernel computes this: use --device cpu" };
            writeln!(f, "  kernel   none, {why}")?;
        }
        writeln!(f, "  device   {}, {} multiprocessors", self.device, self.multiprocessors)?;
        writeln!(f, "  memory   {} B of workspace", self.workspace)?;
        writeln!(f, "  bytes    {} read and written", self.bytes)?;
        write!(f, "  time     {} predicted, with the array in the GPU's memory", Time(self.predicted))
    }
}

/// In microseconds, or milliseconds if it is long.
struct Time(Duration);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs_f64() {
            s if s < 1e-3 => write!(f, "{:.1} µs", s * 1e6),
            s => write!(f, "{:.2} ms", s * 1e3),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_explained_without_a_gpu() {
        let x = vec![0f32; 1 << 12];
        let x = ArrayRef::from_slice(&x, &[64, 64]).unwrap();
        let options = Options { axes: Some(vec![1]), ..Options::default() };
        let text = explain(Op::Sum, x, &options, None).unwrap().to_string();
        for words in
            ["sum of f32 [64, 64] over axes [1]", "64 outputs of 64", "kernel", "H200", "132", "bytes", "predicted"]
        {
            assert!(text.contains(words), "{words} is not in:\n{text}");
        }
        assert!(!text.contains("thread(s)"), "{text}");
        // The first axis lies side by side, and the last is reduced fastest.
        let x = vec![0f32; 3000 * 7000];
        // SAFETY: the strides reach these elements.
        let x =
            unsafe { ArrayRef::from_raw(x.as_ptr().cast(), warpfold_core::DType::F32, &[7000, 3000], &[4, 28_000]) };
        let x = x.unwrap();
        let text = explain(Op::Var, x, &Options::default(), None).unwrap().to_string();
        assert!(text.contains("abreast_var_f32") && text.contains("then     rows_var_f32"), "{text}");
        // Tiles of two lines would be too many.
        let y = vec![0u16; 4096 * 32 * 64 * 2];
        let (shape, strides) = ([4096, 32, 64, 2], [128, 128 << 12, 2, 4096 << 12]);
        // SAFETY: the strides reach these elements.
        let few = unsafe { ArrayRef::from_raw(y.as_ptr().cast(), warpfold_core::DType::F16, &shape, &strides) };
        let text = explain(Op::Std, few.unwrap(), &Options::default(), None).unwrap().to_string();
        assert!(!text.contains("tiled_") && text.contains("rows_var_f16"), "{text}");
        // Eight elements of the last axis are a subtree, and its part of a product has one word.
        let text = explain(Op::Prod, x, &Options::default(), None).unwrap().to_string();
        assert!(text.contains("columns_prod_f32") && text.contains("then     rows_prod_f32"), "{text}");
        // Products are not reduced by tiles: where no axis has subtrees, a copy comes first.
        // SAFETY: fewer elements of the same array.
        let odd = unsafe { ArrayRef::from_raw(x.base().cast(), x.dtype(), &[7000, 2999], &[4, 28_000]) };
        let text = explain(Op::Prod, odd.unwrap(), &Options::default(), None).unwrap().to_string();
        assert!(text.contains("transpose_b4") && text.contains("rows_prod_f32"), "{text}");
        let none = ArrayRef::from_slice(&[0f32; 0], &[0]).unwrap();
        let text = explain(Op::Sum, none, &Options::default(), None).unwrap().to_string();
        assert!(text.contains("nothing to launch"), "{text}");
    }
}
