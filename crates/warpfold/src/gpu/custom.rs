//! The kernels of a reducer of one's own, in the emulator.

use warpfold_kernels::custom::{Exported, Node, from_slice};
use warpfold_emulator::{Memory, Report};
use warpfold_kernels::Production;
use warpfold_simt::Global;

use super::{COUNTERS, GpuPlan, Limits, STATUS};
use crate::Error;
use crate::elements::Layout;
use crate::typed::Tensor;

/// A small GPU, so that small problems take several blocks.
const LIMITS: Limits = Limits { multiprocessors: 1, bandwidth: 1e12 };

/// What the emulator made of a reduction.
#[derive(Clone, Debug)]
pub struct Emulated<T> {
    /// The results.
    pub results: Tensor<T>,
    /// Each kernel launched, and what was counted.
    pub launches: Vec<(String, Report)>,
}

/// As [`crate::reduce_elements`], but by the kernels that a GPU would run, in the emulator: every access is checked, and races
/// are found. It takes a thousand times as long.
///
/// # Errors
/// As [`crate::reduce_elements`]; and [`Error::Emulator`] with all that is wrong with a kernel.
pub fn emulate_elements<R: Exported>(
    reducer: R,
    data: &[R::Item],
    shape: &[usize],
    axes: Option<&[isize]>,
) -> Result<Emulated<R::Output>, Error> {
    let layout = Layout::dense(shape, size_of::<R::Item>())?;
    layout.has(data.len())?;
    let reduced = layout.reduce(axes)?;
    let problem = &reduced.problem;
    if problem.outputs == 0 || problem.count == 0 {
        // No kernel is launched.
        let results = crate::reduce_elements(reducer, data, shape, axes)?;
        return Ok(Emulated { results, launches: Vec::new() });
    }
    let plan = GpuPlan::custom(reducer, problem, &LIMITS);
    let mut memory = Memory::new();
    let mut input = Vec::new();
    for item in data {
        let _ = item.map(|_, word| {
            input.push(word);
            word
        });
    }
    let words = <R::Output as Node>::WORDS as usize;
    let input: Global<u32> = memory.upload("input", &input);
    let output: Global<u32> = memory.alloc("output", problem.outputs * words);
    let workspace: Global<u8> = memory.alloc("workspace", plan.workspace);
    memory.write(workspace, &vec![0u8; COUNTERS]);
    let at = |address: u64, offset: isize| address.wrapping_add_signed(offset as i64);
    let first = [
        at(input.as_ptr().addr() as u64, problem.x_offset),
        0,
        at(output.as_ptr().addr() as u64, problem.out_offset * 4 * words as isize),
        workspace.as_ptr().addr() as u64,
    ];
    let mut launches = Vec::new();
    for launch in &plan.launches {
        let mut params = launch.params.clone();
        params[..first.len()].copy_from_slice(&first);
        let production = Production { entry: &launch.entry, grid: launch.grid, block: launch.block, params: &params };
        let report = match R::emulate(&memory, production) {
            Some(Ok(report)) => report,
            Some(Err(faults)) => return Err(Error::Emulator { why: faults.to_string() }),
            None => return Err(Error::Emulator { why: format!("there is no kernel `{}`", launch.entry) }),
        };
        launches.push((launch.entry.clone(), report));
    }
    let counters = memory.read(workspace.cast::<u32>(), COUNTERS / 4);
    if let Some(i) = counters.iter().position(|&c| c != 0) {
        let what = if i == STATUS { "an output has no value".into() } else { format!("counter {i} is not zero again") };
        return Err(Error::Emulator { why: format!("{}: {what}", plan.launches[0].entry) });
    }
    let data = memory.read(output, problem.outputs * words).chunks(words.max(1)).map(from_slice).collect();
    Ok(Emulated { results: Tensor { shape: reduced.shape, data }, launches })
}
