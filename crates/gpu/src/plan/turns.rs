//! Which longer rows a block reads in turns, and what it keeps of them in shared memory.

use warpfold_kernels::rowwise::staying::stay_lines;
use warpfold_kernels::rowwise::steps;
use warpfold_kernels::rowwise::turns::{BESIDE, PLACES, turn_lines};

use super::limits::Limits;
use super::rowwise::RowOperation;

/// Operations whose longer rows of 16 bits are read by way of shared memory.
const TURNED: [&str; 4] = ["rms_norm", "layer_norm", "softmax_backward", "log_softmax_backward"];
/// Operations of which what was computed of a turn stays there, of 16 bits too.
const STAYING: [&str; 5] = ["softmax", "softmax_masked", "log_softmax", "log_softmax_masked", "cross_entropy"];
// How many times as long rows take in parts that blocks share as in turns, where they fill the GPU, by the size of
// elements: 16 bits, and more. Parts are read from memory twice, and exponentials computed twice.

/// Of rms norm, and of the gradients of norms (`bench/record/nvidia-h200/2026-11-29/rows-parts.txt`, as those below).
const NORMS_IN_PARTS: [f64; 2] = [1.05; 2];
/// Of layer norm, whose nodes take more instructions: bf16 (499,67221) took 166 us in parts and 111 in turns (f32 not
/// measured; `rows-random-518274903-first.json`, `rows-random-518274903.json`).
const LAYER_NORMS_IN_PARTS: [f64; 2] = [1.45, 1.15];
/// Of the gradients of softmax and its logarithm.
const GRADIENTS_IN_PARTS: [f64; 2] = [1.4, 1.0];
/// Of softmax and its logarithm.
const SOFTMAX_IN_PARTS: [f64; 2] = [1.75, 1.15];
/// Of cross-entropy.
const LOSSES_IN_PARTS: [f64; 2] = [1.85, 1.45];
/// What a row takes that has a multiprocessor to itself, where it takes 1 if others hide what it waits for.
const ALONE: f64 = 1.25;
/// What the last rows of some multiprocessors take at most, when others are done.
const LAST: f64 = 0.5;
/// Blocks of a multiprocessor that share its shared memory, at least.
const ABREAST: u64 = 2;
/// Bytes of it that the system takes for each block.
const RESERVED: u64 = 1 << 10;

impl RowOperation {
    /// Whether each row has a block, which reads it in turns: the multiprocessor that has most rows is done before all
    /// would be done with parts.
    pub(super) fn has_turns(&self, rows: u64, limits: &Limits) -> bool {
        let each = rows as f64 / limits.multiprocessors as f64;
        let in_parts = match self.name {
            "cross_entropy" => LOSSES_IN_PARTS,
            "layer_norm" => LAYER_NORMS_IN_PARTS,
            name if name.contains("norm") => NORMS_IN_PARTS,
            name if name.ends_with("backward") => GRADIENTS_IN_PARTS,
            _ => SOFTMAX_IN_PARTS,
        };
        // Where most are done, the others have the memory to themselves.
        let most = each.ceil().min(each + LAST);
        most.max(ALONE) < in_parts[(self.dtype.size() > 2) as usize] * each
    }

    /// Bytes of a turn.
    pub(super) fn turn_bytes(&self) -> u64 {
        let steps = steps(self.dtype.size()) as u32;
        let arrays = 1 + self.name.ends_with("backward") as u32;
        16 * if STAYING.contains(&self.name) { stay_lines(steps) } else { turn_lines(steps, arrays) } as u64
    }

    /// Turns of a row of so many that have a place in shared memory: where at least two blocks are abreast. One place
    /// at least of what is read there; what stays needs none of its last turn.
    pub(super) fn kept(&self, turns: u64, limits: &Limits) -> u64 {
        let (turned, staying) = (TURNED.contains(&self.name), STAYING.contains(&self.name));
        if self.dtype.size() != 2 || !(turned || staying) {
            return 0;
        }
        let each = (limits.shared_bytes as u64 + RESERVED) / ABREAST;
        let most = (each.saturating_sub(RESERVED + BESIDE as u64) / self.turn_bytes()).min(PLACES as u64);
        if staying {
            return most.min(turns - 1);
        }
        most.clamp(1, turns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold_core::DType;

    /// Places of a row's turns where a block can have so many KiB.
    fn kept(name: &'static str, dtype: DType, turns: u64, kib: u32) -> u64 {
        let op = RowOperation::new(name, 2, dtype);
        op.kept(turns, &Limits { multiprocessors: 132, bandwidth: 4e12, aligned: true, shared_bytes: kib << 10 })
    }

    #[test]
    fn rows_have_turns_where_these_take_less_than_parts() {
        let limits = Limits { multiprocessors: 132, bandwidth: 4e12, aligned: true, shared_bytes: 227 << 10 };
        let of = |name, dtype, rows| RowOperation::new(name, 2, dtype).has_turns(rows, &limits);
        // Of few rows multiprocessors are left over; of 341 some have three, most two.
        let rows = [8, 100, 128, 341, 512];
        assert_eq!(rows.map(|rows| of("softmax", DType::BF16, rows)), [false, true, true, true, true]);
        assert_eq!(rows.map(|rows| of("softmax", DType::F32, rows)), [false, false, false, false, true]);
        assert_eq!(rows.map(|rows| of("cross_entropy", DType::F32, rows)), [false, false, true, true, true]);
        assert_eq!(rows.map(|rows| of("log_softmax_backward", DType::F16, rows)), [false, false, true, true, true]);
        assert_eq!(rows.map(|rows| of("rms_norm_backward", DType::BF16, rows)), [false, false, false, false, true]);
    }

    #[test]
    fn two_blocks_have_room_for_turns() {
        assert_eq!([2, 3, 9].map(|turns| kept("rms_norm", DType::BF16, turns, 227)), [2, 3, 3]);
        assert_eq!(kept("softmax_backward", DType::F16, 4, 227), 3);
        // Smaller GPUs: two turns of one array (8.6), or one (7.5), which two blocks have room for, or one block.
        assert_eq!([99, 64, 48].map(|kib| kept("layer_norm", DType::BF16, 4, kib)), [2, 1, 1]);
        assert_eq!(kept("softmax_backward", DType::BF16, 4, 99), 1);
        // More bytes are read from memory again.
        assert_eq!([kept("softmax", DType::F32, 4, 227), kept("rms_norm", DType::F32, 4, 227)], [0, 0]);
    }

    #[test]
    fn what_was_computed_stays_for_all_turns_but_the_last() {
        assert_eq!([2, 3, 4, 9].map(|turns| kept("softmax", DType::BF16, turns, 227)), [1, 2, 3, 3]);
        assert_eq!([163, 99, 64].map(|kib| kept("cross_entropy", DType::F16, 4, kib)), [2, 1, 0]);
    }
}
