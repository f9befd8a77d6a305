//! Which longer rows a block reads in turns, and what it keeps of them in shared memory.

use std::ops::RangeInclusive;
use warpfold_kernels::rowwise::staying::stay_lines;
use warpfold_kernels::rowwise::turns::{BESIDE, PLACES, turn_lines};

use warpfold_kernels::rowwise::{WARPS, chunk, steps};

use super::limits::Limits;
use super::rowwise::{MOST_TURNS, RowOperation};

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
/// Of the gradients of softmax and its logarithm (f32: `rows-warps.txt` of 2026-11-30).
const GRADIENTS_IN_PARTS: [f64; 2] = [1.4, 1.06];
/// Of softmax and its logarithm.
const SOFTMAX_IN_PARTS: [f64; 2] = [1.75, 1.15];
/// Of cross-entropy.
const LOSSES_IN_PARTS: [f64; 2] = [1.85, 1.45];
/// What a row takes that has a multiprocessor to itself, where it takes 1 if others hide what it waits for.
const ALONE: f64 = 1.25;
/// What the last rows of some multiprocessors take at most, when others are done.
const LAST: f64 = 0.5;
/// Blocks of a multiprocessor that share its shared memory, at least, if they have all warps.
const ABREAST: u64 = 2;
/// What a chunk of a turn takes, by the warps of a block, in thousandths of what it takes with eight: of log_softmax
/// f32 (2005,16691) and bf16 (2670,50257), from four on (`bench/record/nvidia-h200/2026-11-30/rows-warps.txt`).
const COST: [u64; WARPS as usize] = [1050, 1050, 1050, 1050, 1065, 1155, 1080, 1000];
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

    /// Bytes of a turn of a block of so many warps.
    pub(super) fn turn_bytes(&self, warps: u32) -> u64 {
        let (steps, threads) = (steps(self.dtype.size()) as u32, 32 * warps);
        let arrays = 1 + self.name.ends_with("backward") as u32;
        let is_staying = STAYING.contains(&self.name);
        16 * if is_staying { stay_lines(threads, steps) } else { turn_lines(threads, steps, arrays) } as u64
    }

    /// Warps of the blocks of rows of `len` elements, each of which reads one in turns: so many that few are idle in
    /// the last turn, and that what has a place in shared memory is a row. Fewer wait less for one another. Measured:
    /// `bench/record/nvidia-h200/2026-11-30/rows-warps.txt`.
    pub(super) fn turn_warps(&self, len: u64) -> u32 {
        let (size, most) = (self.dtype.size(), WARPS as u64);
        let chunks = len.div_ceil(chunk(size));
        // What all turns of so many warps take: a chunk of each, and more where a multiprocessor then has fewer warps.
        let cost = |warps: u64| chunks.div_ceil(warps) * warps * COST[warps as usize - 1];
        // Of each number of turns the fewest warps.
        let best = |turns: RangeInclusive<u64>| {
            turns.map(|turns| chunks.div_ceil(turns)).filter(|warps| *warps <= most).min_by_key(|warps| cost(*warps))
        };
        let fits = match self.name {
            _ if size > 2 => None,
            "rms_norm" => best(2..=2).or_else(|| best(3..=3)).or_else(|| best(4..=4)),
            name if chunks <= 9 && (STAYING.contains(&name) || name == "layer_norm") => best(3..=3),
            name if chunks <= 16 && STAYING.contains(&name) => Some(4),
            "layer_norm" if chunks < 4 * most => Some(4),
            _ => best(3..=4),
        };
        // Where a row has no place, the least.
        let few = (4..=most).rev().filter(|warps| chunks.div_ceil(*warps) <= MOST_TURNS);
        let fewest = || few.min_by_key(|warps| cost(*warps)).unwrap_or(most);
        fits.unwrap_or_else(fewest) as u32
    }

    /// Turns of a row of so many, by blocks of so many warps, that have a place in shared memory: where at least two
    /// blocks are abreast. One place at least of what is read there; what stays needs none of its last turn.
    pub(super) fn kept(&self, turns: u64, warps: u32, limits: &Limits) -> u64 {
        let (turned, staying) = (TURNED.contains(&self.name), STAYING.contains(&self.name));
        if self.dtype.size() != 2 || !(turned || staying) {
            return 0;
        }
        let each = (limits.shared_bytes as u64 + RESERVED) / (ABREAST * WARPS as u64 / warps as u64);
        let most = (each.saturating_sub(RESERVED + BESIDE as u64) / self.turn_bytes(warps)).min(PLACES as u64);
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
        op.kept(turns, WARPS, &Limits { multiprocessors: 132, bandwidth: 4e12, aligned: true, shared_bytes: kib << 10 })
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
    fn few_warps_are_idle_in_the_last_turn() {
        let of = |name, dtype, chunks: u64| RowOperation::new(name, 2, dtype).turn_warps(1024 * chunks);
        let of_16 = |name| [9, 11, 14, 16, 20, 28, 32, 50].map(|chunks| of(name, DType::BF16, chunks));
        assert_eq!(of_16("softmax"), [3, 4, 4, 4, 5, 7, 8, 5]);
        assert_eq!(of_16("rms_norm"), [5, 6, 7, 8, 7, 7, 8, 5]);
        assert_eq!(of_16("layer_norm"), [3, 4, 4, 4, 4, 4, 8, 5]);
        assert_eq!(of_16("softmax_backward"), [3, 4, 5, 4, 5, 7, 8, 5]);
        assert_eq!([10, 16, 17, 250].map(|chunks| of("softmax", DType::F32, chunks)), [5, 8, 6, 8]);
        // Six warps leave a multiprocessor twelve of sixteen.
        assert_eq!([22, 106, 149].map(|chunks| of("log_softmax", DType::BF16, chunks)), [8, 8, 8]);
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
