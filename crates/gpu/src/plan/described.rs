//! What `describe` says of each output.

use warpfold_core::DType;

/// The statistics that [`GpuPlan::describe`](super::GpuPlan::describe) computes, in the order of their arrays; those
/// without a dtype have the elements'.
pub const DESCRIBED: [(&str, Option<DType>); 9] = [
    ("nan_count", Some(DType::I64)),
    ("argmin", Some(DType::I64)),
    ("argmax", Some(DType::I64)),
    ("min", None),
    ("max", None),
    ("mean", None),
    ("std", None),
    ("sum", None),
    ("norm", None),
];

/// Bytes of the statistics of one output.
pub fn described_bytes(dtype: DType) -> usize {
    DESCRIBED.iter().map(|(_, own)| own.unwrap_or(dtype).size()).sum()
}
