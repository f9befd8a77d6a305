//! Every method of [`Simt`] once, with results that do not depend on timing: hardware and emulator must agree on each
//! word.

use warpfold_simt::{ALL, Global, Order, Pack, Simt, share_f32, share_f64};

/// Threads per block.
pub const BLOCK: u32 = 64;
/// Blocks.
pub const GRID: u32 = 3;
/// Words of input; word `i` is `i * SPREAD`, wrapping.
pub const INPUT: usize = 256;
/// Spreads the input over all bits.
pub const SPREAD: u32 = 0x9e37_79b1;
/// Words that each thread writes.
pub const WORDS: usize = 34;
/// Words of totals, zero before.
pub const TOTALS: usize = 8;

/// `input` has [`INPUT`] words, `totals` [`TOTALS`], `output` [`WORDS`] for each thread.
#[inline(always)]
pub fn kernel<S: Simt>(s: &S, input: Global<u32>, totals: Global<u32>, output: Global<u32>) {
    let (tid, lane) = (s.thread_x(), s.lane());
    let mine = output.offset((s.block_x() * s.block_dim_x() + tid) as usize * WORDS);
    let out = |i: usize, word: u32| s.store(mine, i, word);

    out(0, tid | s.block_x() << 8 | lane << 16 | s.warp() << 24);
    out(1, s.block_dim_x() | s.grid_dim_x() << 16);
    out(2, s.thread().y + s.block().y + 2 * s.block_dim().y + 3 * s.grid_dim().y);

    let word = s.load(input, tid as usize);
    out(3, s.shuffle_xor(ALL, word, 5));
    out(4, s.shuffle_down(ALL, word, 3));
    out(5, s.shuffle_up(ALL, word, 3));
    let long = s.shuffle_xor(ALL, f64::from(word), 1).to_bits();
    out(6, (long as u32 ^ (long >> 32) as u32).wrapping_add(s.shuffle_idx(ALL, word, 7)));
    out(7, s.ballot(ALL, word >> 31 == 1));
    out(8, u32::from(s.any(ALL, lane == 9)) | u32::from(s.all(ALL, lane < 31)) << 1);
    if s.branch(lane < 16) {
        out(9, s.shuffle_xor(0xffff, word as f32, 1).to_bits());
        s.warp_barrier(0xffff);
    } else {
        out(9, 0);
    }

    let bytes = s.shared::<u8, 64, 0>("bytes");
    let halves = s.shared::<u16, 64, 1>("halves");
    let words = s.shared::<u32, 64, 2>("words");
    let longs = s.shared::<u64, 64, 3>("longs");
    let packs = s.shared::<Pack<f32, 4>, 64, 4>("packs");
    s.put(bytes, tid, word as u8);
    s.put(halves, tid, word as u16);
    s.put(words, tid, word);
    s.put(longs, tid, u64::from(word) << 17 | u64::from(tid));
    s.put(packs, tid, Pack([tid as f32, word as f32, -1.5, 0.25]));
    s.barrier();
    let other = 63 - tid;
    out(10, u32::from(s.get(bytes, other)) << 16 | u32::from(s.get(halves, other)));
    out(11, s.get(words, other));
    let long = s.get(longs, other);
    out(12, long as u32 ^ (long >> 32) as u32);
    let Pack([a, b, c, d]) = s.get(packs, other);
    out(13, (a * 3.0 + b + c * 5.0 + d).to_bits());

    let Pack([a, b, c, d]) = s.load_stream(input.cast::<Pack<u32, 4>>(), tid as usize);
    out(14, a ^ b.rotate_left(1) ^ c.rotate_left(2) ^ d.rotate_left(3));
    let Pack(eight) = s.load(input.cast::<Pack<u16, 8>>(), tid as usize);
    out(15, eight.into_iter().fold(0, |sum: u32, x| sum.wrapping_mul(31).wrapping_add(u32::from(x))));
    let long = s.load_volatile(input.cast::<u64>(), tid as usize);
    out(16, long as u32 ^ (long >> 32) as u32);
    out(17, u32::from(s.load_volatile(input.cast::<u8>(), tid as usize)));
    out(18, u32::from(s.load_stream(input.cast::<u16>(), tid as usize)));
    s.store_volatile(mine, 19, word.rotate_left(7));
    s.store_volatile(mine.offset(20).cast::<u64>(), 0, !u64::from(word));

    let (x, y) = (word as f32 / 3.0, tid as f32 + 0.1);
    // A zero of either sign, and a NaN, beside another number.
    let (zero, nan) = (f32::from_bits(word & 1 << 31), f32::from_bits(word | 0x7fc0_0000));
    let zeros = s.lesser(zero, 0.0).to_bits() ^ s.greater(-0.0, zero).to_bits() >> 1;
    let numbers = s.lesser(nan, x).to_bits() ^ s.greater(y, nan).to_bits().rotate_left(8);
    out(22, s.fma_f32(x, y, -x).to_bits() ^ zeros ^ numbers ^ s.greater(x, y).to_bits().rotate_left(16));
    let long = s.fma_f64(f64::from(x), f64::from(y), 1.0 / 3.0).to_bits();
    out(23, long as u32 ^ (long >> 32) as u32);
    out(24, s.f16_to_f32((word & 0x3fff) as u16).to_bits());
    out(25, u32::from(s.f32_to_f16(f32::from_bits(0x3000_0000 + word % 0x1800_0000))));
    out(26, s.bf16_to_f32((word & 0x3fff) as u16).to_bits());
    out(27, u32::from(s.f32_to_bf16(x)));

    let share = share_f64(tid as f32, (tid + 7) as f32).to_bits();
    out(32, share_f32(tid as f32, (tid + 7) as f32).to_bits() ^ share as u32 ^ (share >> 32) as u32);
    out(33, s.add_squares_u8x4(word, tid));

    let counts = s.shared::<u32, 1, 5>("counts");
    let floats = s.shared::<f32, 1, 6>("floats");
    let sums = s.shared::<u64, 1, 7>("sums");
    if s.branch(tid == 0) {
        s.put(counts, 0, 0);
        s.put(floats, 0, 0.0);
        s.put(sums, 0, 0);
    }
    s.barrier();
    let before = s.atomic_add_shared(counts, 0, 1u32, Order::AcqRel);
    out(28, u32::from(before < BLOCK));
    s.atomic_add_shared(floats, 0, 0.5f32, Order::Relaxed);
    s.atomic_add_shared(sums, 0, u64::from(word), Order::Relaxed);
    s.barrier();
    out(29, s.get(counts, 0) ^ s.get(floats, 0).to_bits());
    out(30, s.get(sums, 0) as u32 ^ (s.get(sums, 0) >> 32) as u32);
    let before = s.atomic_add(totals, 0, 1, Order::AcqRel);
    out(31, u32::from(before < BLOCK * GRID));
    s.atomic_add(totals.cast::<i32>(), 1, -3, Order::Relaxed);
    s.atomic_add(totals.cast::<f32>(), 2, 0.25, Order::AcqRel);
    s.atomic_add(totals.offset(4).cast::<u64>(), 0, u64::from(word), Order::AcqRel);
    s.atomic_add(totals.offset(6).cast::<u64>(), 0, u64::from(word), Order::Relaxed);
}
