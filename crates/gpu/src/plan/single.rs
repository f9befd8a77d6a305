//! Plans of reductions of one element each: what results are of it.

use warpfold_array::problem::Problem;
use warpfold_array::request::Spec;
use warpfold_array::{Op, Ord, Precision};
use warpfold_core::{DType, bf16, f16};
use warpfold_kernels::reduce::call::CallAt;
use warpfold_kernels::reduce::single::{Single, chunk};
use warpfold_kernels::reduce::table::KEPT;

use super::launch::Launch;
use super::planner::Planner;
use super::policy::{SINGLE_BYTES, WARPS};

/// What becomes of an element's bits: those that are kept, the greatest that is not NaN but for the sign, and NaN.
struct Bits {
    keep: u64,
    limit: u64,
    nan: u64,
}

impl Bits {
    /// Of a spec whose result is the element, its magnitude or zero; none, if it is anything else.
    fn of(spec: &Spec) -> Option<Self> {
        let plain = spec.result() == spec.input && !spec.masked && !spec.swapped && !spec.skip_nan;
        if !plain || spec.means > 0 || spec.initial.is_some() || spec.precision != Precision::Tree {
            return None;
        }
        let (infinity, nan) = match spec.input {
            DType::F16 => (f16::INFINITY.to_bits().into(), f16::NAN.to_bits().into()),
            DType::BF16 => (bf16::INFINITY.to_bits().into(), bf16::NAN.to_bits().into()),
            DType::F32 => (f32::INFINITY.to_bits().into(), f32::NAN.to_bits().into()),
            DType::F64 => (f64::INFINITY.to_bits(), f64::NAN.to_bits()),
            // No integer is beyond this.
            _ => (u64::MAX, 0),
        };
        let same = Self { keep: u64::MAX, limit: infinity, nan };
        match spec.op {
            Op::Sum | Op::Mean | Op::Prod | Op::Min | Op::Max => Some(same),
            _ if !spec.input.is_float() => None,
            // The square of an f16 is an f32, and the root of that the magnitude.
            Op::Norm if spec.ord != Ord::Two || spec.input == DType::F16 => {
                Some(Self { keep: !(1 << (8 * spec.input.size() - 1)), ..same })
            }
            // Zero, unless the element is not finite.
            Op::Var | Op::Std if spec.ddof == 0.0 => Some(Self { keep: 0, limit: infinity - 1, nan }),
            _ => None,
        }
    }
}

/// The launch for outputs of one element each; none, if elements and outputs do not both lie side by side, or the
/// result is more than bits of the element.
pub(super) fn single(spec: &Spec, planner: &Planner<'_>) -> Option<Launch<CallAt>> {
    let Problem { kept, size, .. } = planner.problem;
    let Bits { keep, limit, nan } = Bits::of(spec)?;
    let (&row, outer) = kept.split_last()?;
    let beside = row.x == *size as isize && row.out == 1 && row.len * size >= SINGLE_BYTES;
    if !beside || outer.len() > KEPT {
        return None;
    }
    let chunks = row.len.div_ceil(chunk(*size)) as u64;
    let outputs = planner.outputs::<KEPT>(outer);
    let grid = (outputs.total * chunks).div_ceil(WARPS);
    let shape =
        Single { at: CallAt::default(), outputs, len: row.len as u64, chunks, end: planner.end(), keep, limit, nan };
    let grid = u32::try_from(grid).unwrap_or(u32::MAX);
    Some(Launch::new(format!("single_b{size}"), grid, WARPS as u32 * 32, &shape))
}
