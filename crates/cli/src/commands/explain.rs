//! `warpfold explain`

use std::io::Write;
use std::ptr::NonNull;

use serde_json::{Value, json};
use warpfold::cuda::{self, Explanation, Launched, Properties};
use warpfold::{ArrayRef, DType, DeviceName, Error, Options, Order, Plan};

use super::{print, threads};
use crate::args::Explain;
use crate::error::Failure;
use crate::lines::{WIDE, wrapped};

/// Prints a plan made without data.
pub fn run(args: &Explain) -> Result<(), Failure> {
    threads::check(args.threads, args.device)?;
    let (shape, dtype) = (&args.shape.0, args.dtype);
    let strides = strides(shape, dtype, args.order.into()).ok_or(Error::ShapeOverflow { shape: shape.clone() })?;
    // SAFETY: no element is read, since the plan depends on the shape and the strides alone.
    let array = unsafe { ArrayRef::from_raw(NonNull::<u64>::dangling().as_ptr().cast(), dtype, shape, &strides)? };
    let options = Options {
        axes: args.axes.list(),
        keepdims: args.axes.keepdims,
        dtype: args.result,
        precision: args.precision.into(),
        skip_nan: args.skip_nan,
        ord: args.ord,
        threads: args.threads.map(usize::from),
        ..Options::default()
    };
    let text = match args.device {
        DeviceName::Cuda(index) => {
            let plan = cuda::explain(args.op, array, &options, gpu(index).map_err(Error::Cuda)?.as_ref())?;
            match (args.ptx, args.json) {
                (true, _) => plan.launches.iter().filter_map(Launched::ptx).collect::<Vec<_>>().join("\n"),
                (_, true) => on_gpu(&plan).to_string(),
                _ => folded(&plan.to_string()),
            }
        }
        _ if args.ptx => {
            return Err(Failure::Usage(
                "--ptx shows a GPU's kernels: give --device cuda, with or without a GPU".into(),
            ));
        }
        _ => {
            let plan = warpfold::explain(args.op, array, &options)?;
            if args.json { on_cpu(&plan).to_string() } else { folded(&plan.to_string()) }
        }
    };
    print(|to| writeln!(to, "{text}"))
}

/// A plan whose lines fit a terminal: long texts behind a label continue indented.
fn folded(plan: &str) -> String {
    let fold = |line: &str| {
        let label = if line.starts_with("  ") { LABEL.min(line.len()) } else { 0 };
        match line.split_at_checked(label) {
            Some((label, rest)) => format!("{label}{}", wrapped(rest, WIDE, label.len(), LABEL)),
            None => line.to_owned(),
        }
    };
    plan.lines().map(fold).collect::<Vec<_>>().join("\n")
}

/// The width of a plan's labels.
const LABEL: usize = 11;

/// The facts that hold on every device.
fn what(plan: &Plan) -> Value {
    json!({
        "op": plan.op.to_string(), "dtype": plan.dtype.to_string(), "shape": plan.shape, "axes": plan.axes,
        "result": { "dtype": plan.result_dtype.to_string(), "shape": plan.result_shape },
        "outputs": plan.problem.outputs, "elements_each": plan.problem.count,
    })
}

fn on_cpu(plan: &Plan) -> Value {
    let mut object = what(plan);
    object["device"] = "cpu".into();
    object["route"] = plan.route.describe().into();
    object["threads"] = plan.threads.into();
    object["simd"] = plan.simd.name().into();
    object["bytes"] = plan.bytes().into();
    object
}

fn on_gpu(plan: &Explanation) -> Value {
    let launch = |l: &Launched| json!({ "kernel": l.entry, "grid": l.grid, "block": l.block, "params": l.words() });
    let mut object = what(&plan.plan);
    object["device"] = plan.device.as_str().into();
    object["multiprocessors"] = plan.multiprocessors.into();
    object["launches"] = plan.launches.iter().map(launch).collect();
    object["workspace_bytes"] = plan.workspace.into();
    object["bytes"] = plan.bytes.into();
    object["predicted_seconds"] = plan.predicted.as_secs_f64().into();
    object
}

/// The GPU of that index; `None` if this machine has no GPU at all.
fn gpu(index: usize) -> Result<Option<Properties>, cuda::Error> {
    let gpus = match cuda::devices() {
        Ok(gpus) => gpus,
        Err(why) if why.is_unavailable() => Vec::new(),
        Err(why) => return Err(why),
    };
    let count = gpus.len();
    match gpus.into_iter().nth(index) {
        None if count > 0 => Err(cuda::Error::NoSuchDevice { index, count }),
        gpu => Ok(gpu),
    }
}

/// The strides of a dense array in bytes; `None` if it exceeds the address space.
fn strides(shape: &[usize], dtype: DType, order: Order) -> Option<Vec<isize>> {
    let mut strides = vec![0; shape.len()];
    let mut step = isize::try_from(dtype.size()).ok()?;
    for i in 0..shape.len() {
        let axis = if order == Order::C { shape.len() - 1 - i } else { i };
        strides[axis] = step;
        step = step.checked_mul(isize::try_from(shape[axis].max(1)).ok()?)?;
    }
    Some(strides)
}
