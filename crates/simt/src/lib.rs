//! What one GPU thread can do.
//!
//! A kernel is a function generic over [`Simt`]. The same source becomes PTX (`hardware`, nvptx64 only) and runs in the
//! emulator, which checks every access and counts what a profiler would count.

#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch, stdarch_nvptx, link_llvm_intrinsics))]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]

#[cfg(target_arch = "nvptx64")]
mod access;
pub mod array;
mod convert;
mod halves;
#[cfg(target_arch = "nvptx64")]
pub mod hardware;
mod pod;
mod pointer;
#[cfg(target_arch = "nvptx64")]
mod round;
mod share;
#[cfg(target_arch = "nvptx64")]
mod warpgroup;

pub use convert::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
pub use pod::{Atom, AtomKind, Pack, Pod, Word};
pub use pointer::{Global, Shared};
pub use share::{MOST_COUNTED, share_f32, share_f64};

/// The member mask that names all 32 lanes of a warp.
pub const ALL: u32 = u32::MAX;

/// A pair of extents or indices. Grids and blocks here have at most two dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dim {
    /// Along x, the fastest.
    pub x: u32,
    /// Along y.
    pub y: u32,
}

impl Dim {
    /// The number of points in a grid of these extents.
    pub const fn count(self) -> u64 {
        self.x as u64 * self.y as u64
    }
}

impl core::fmt::Display for Dim {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "({}, {})", self.x, self.y)
    }
}

impl From<u32> for Dim {
    fn from(x: u32) -> Dim {
        Dim { x, y: 1 }
    }
}

/// What a lane has of the first matrix of [`Simt::multiply_shared`].
pub type Rows = [[u32; 4]; 4];
/// What a lane has of its sums.
pub type Sums = [f32; 64];

/// How an atomic orders the other accesses around it. Scope is the whole device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Atomic, and nothing more.
    Relaxed,
    /// What came before it is published; what other threads published through the same address becomes visible.
    AcqRel,
}

/// One GPU thread.
///
/// Two hooks tell the emulator how a warp runs, and cost nothing on hardware: [`branch`](Simt::branch) around the
/// condition of an `if`, [`again`](Simt::again) around the condition of a loop. Both return their argument.
///
/// Every method that touches memory or other threads is `#[track_caller]`: faults and counters name the kernel's line.
pub trait Simt {
    /// What runs the kernel, for people.
    const NAME: &'static str;

    /// This thread's index in its block.
    fn thread(&self) -> Dim;
    /// The block's index in the grid.
    fn block(&self) -> Dim;
    /// Threads per block.
    fn block_dim(&self) -> Dim;
    /// Blocks per grid.
    fn grid_dim(&self) -> Dim;
    /// This thread's index in its warp.
    fn lane(&self) -> u32;
    /// This thread's index along x.
    #[inline(always)]
    fn thread_x(&self) -> u32 {
        self.thread().x
    }
    /// The block's index along x.
    #[inline(always)]
    fn block_x(&self) -> u32 {
        self.block().x
    }
    /// Threads per block along x.
    #[inline(always)]
    fn block_dim_x(&self) -> u32 {
        self.block_dim().x
    }
    /// Blocks per grid along x.
    #[inline(always)]
    fn grid_dim_x(&self) -> u32 {
        self.grid_dim().x
    }
    /// The index of this thread's warp in its block.
    #[inline(always)]
    fn warp(&self) -> u32 {
        let t = self.thread();
        (t.y * self.block_dim().x + t.x) / 32
    }

    /// Marks the condition of an `if`.
    #[track_caller]
    #[inline(always)]
    fn branch(&self, condition: bool) -> bool {
        condition
    }
    /// Marks the condition of a loop: `while s.again(i < n)`. A `break` needs no mark.
    #[track_caller]
    #[inline(always)]
    fn again(&self, condition: bool) -> bool {
        condition
    }

    /// Waits for every thread of the block, and orders memory among them.
    #[track_caller]
    fn barrier(&self);
    /// Waits for the lanes in `mask`, and orders memory among them.
    #[track_caller]
    fn warp_barrier(&self, mask: u32);

    /// The value of lane `lane ^ xor`. Every lane in `mask` must call it. Shuffles do not order memory. A value of 64
    /// bits takes two.
    #[track_caller]
    fn shuffle_xor<T: Word>(&self, mask: u32, value: T, xor: u32) -> T;
    /// The value of lane `lane + delta`, or its own past the last lane.
    #[track_caller]
    fn shuffle_down<T: Word>(&self, mask: u32, value: T, delta: u32) -> T;
    /// The value of lane `lane - delta`, or its own before the first lane.
    #[track_caller]
    fn shuffle_up<T: Word>(&self, mask: u32, value: T, delta: u32) -> T;
    /// The value of lane `source & 31`.
    #[track_caller]
    fn shuffle_idx<T: Word>(&self, mask: u32, value: T, source: u32) -> T;
    /// One bit per lane of `mask` whose `vote` is true.
    #[track_caller]
    fn ballot(&self, mask: u32, vote: bool) -> u32;
    /// Whether any lane of `mask` votes true.
    #[track_caller]
    fn any(&self, mask: u32, vote: bool) -> bool;
    /// Whether every lane of `mask` votes true.
    #[track_caller]
    fn all(&self, mask: u32, vote: bool) -> bool;

    /// The block's shared array number `ID`, of `N` elements. Every thread that asks for `ID` gets the same array.
    /// On hardware each `ID` may appear at one place of a kernel.
    #[track_caller]
    fn shared<T: Pod, const N: usize, const ID: u32>(&self, name: &'static str) -> Shared<T>;
    /// The block's one large shared array, of `N` elements: more than the 48 KiB that all others have together. The
    /// planner asks how much a device has.
    #[track_caller]
    fn room<T: Pod, const N: usize>(&self, name: &'static str) -> Shared<T>;
    /// The same of as many elements as the launch has brought room for: `count`, the same for all threads.
    #[track_caller]
    fn room_of<T: Pod>(&self, name: &'static str, count: u32) -> Shared<T>;
    /// Reads a shared element.
    #[track_caller]
    fn get<T: Pod>(&self, array: Shared<T>, index: u32) -> T;
    /// Writes a shared element.
    #[track_caller]
    fn put<T: Pod>(&self, array: Shared<T>, index: u32, value: T);

    /// Reads a global element, through the caches.
    #[track_caller]
    fn load<T: Pod>(&self, array: Global<T>, index: usize) -> T;
    /// Reads a global element that will not be read again soon: it need not stay in the first-level cache.
    #[track_caller]
    fn load_stream<T: Pod>(&self, array: Global<T>, index: usize) -> T;
    /// Reads a global element as other threads see it now (relaxed, device scope): never stale, never torn up to 8
    /// bytes.
    #[track_caller]
    fn load_volatile<T: Pod>(&self, array: Global<T>, index: usize) -> T;
    /// Reads a global element as [`load_volatile`](Simt::load_volatile), again and again until it is `ready`: what a
    /// block that has certainly begun will write.
    #[track_caller]
    #[inline(always)]
    fn load_when<T: Pod>(&self, array: Global<T>, index: usize, ready: impl Fn(T) -> bool) -> T {
        loop {
            let x = self.load_volatile(array, index);
            if ready(x) {
                return x;
            }
        }
    }
    /// Writes a global element.
    #[track_caller]
    fn store<T: Pod>(&self, array: Global<T>, index: usize, value: T);
    /// Writes a global element that is not read again soon: what is read again stays in the cache before it.
    #[track_caller]
    #[inline(always)]
    fn store_stream<T: Pod>(&self, array: Global<T>, index: usize, value: T) {
        self.store(array, index, value);
    }
    /// Writes a global element for other threads to see (relaxed, device scope).
    #[track_caller]
    fn store_volatile<T: Pod>(&self, array: Global<T>, index: usize, value: T);

    /// Adds to a global element atomically and returns what it held before.
    #[track_caller]
    fn atomic_add<T: Atom>(&self, array: Global<T>, index: usize, value: T, order: Order) -> T;
    /// Adds to a shared element atomically and returns what it held before.
    #[track_caller]
    fn atomic_add_shared<T: Atom>(&self, array: Shared<T>, index: u32, value: T, order: Order) -> T;
    /// Sets bits of a global word atomically and returns what it held before.
    #[track_caller]
    fn atomic_or(&self, array: Global<u32>, index: usize, bits: u32, order: Order) -> u32;
    /// Sets bits of a shared word atomically and returns what it held before.
    #[track_caller]
    fn atomic_or_shared(&self, array: Shared<u32>, index: u32, bits: u32, order: Order) -> u32;

    /// `a * b + c`, rounded once.
    fn fma_f32(&self, a: f32, b: f32, c: f32) -> f32;
    /// `a * b + c`, rounded once and brought between 0 and 1; 0 if it is no number.
    #[inline(always)]
    fn fma_saturated(&self, a: f32, b: f32, c: f32) -> f32 {
        let x = self.fma_f32(a, b, c);
        if x > 0.0 { x.min(1.0) } else { 0.0 }
    }
    /// `a * b + c`, rounded once.
    fn fma_f64(&self, a: f64, b: f64, c: f64) -> f64;
    /// `sums` plus a product of matrices of f16, 16 by 8 and 8 by 8, by the whole warp. The lane `4i + j` has the
    /// columns `2j` and `2j + 1` of the rows `i` and `i + 8` of the first, both rows `2j` and `2j + 1` of column `i` of
    /// the second, and of the sums those of the rows `i`, `i`, `i + 8`, `i + 8` and the columns `2j`, `2j + 1`, `2j`,
    /// `2j + 1`. Products are exact; what is lost in adding them up differs from GPU to GPU.
    #[track_caller]
    fn multiply_halves(&self, rows: [u32; 2], column: u32, sums: [f32; 4]) -> [f32; 4];

    /// Begins to copy 16 bytes to shared memory, which nobody may touch until this thread has waited for it; others
    /// not until a barrier after that.
    #[track_caller]
    fn copy(&self, to: Shared<Pack<u32, 4>>, index: u32, from: Global<Pack<u32, 4>>, place: usize);
    /// Waits for all copies that this thread has begun.
    #[track_caller]
    fn copied(&self);
    /// Ends a group of copies, which may be empty: those that this thread has begun since it ended the last one.
    fn end_copies(&self);
    /// Waits for all groups of copies that this thread has ended but the last `LEFT` of them: it may read them itself.
    #[track_caller]
    fn copied_but<const LEFT: u32>(&self);
    /// Makes what this thread has written or copied to shared memory visible to
    /// [`multiply_shared`](Simt::multiply_shared), after a barrier.
    #[track_caller]
    fn publish(&self);
    /// `sums`, or nothing if it is the `FIRST`, plus a product of matrices of f16, 64 by 64 and 64 by 128, by four
    /// warps side by side of which the first has a number divisible by four. Each warp has 16 of the rows. The lane
    /// `4i + j` has, of every 16 columns, `2j` and the next of its warp's rows `i` and `i + 8`, then `2j + 8` and the
    /// next of the same. The second matrix is in shared memory, as \[eight rows\]\[column\]\[row of the eight\]. A
    /// lane gets, of every eight columns, `2j` and `2j + 1` of row `i`, and the same of row `i + 8`. Products are
    /// exact; what is lost in adding them up is the GPU's. Only compute capability 9.0 has it.
    #[track_caller]
    fn multiply_shared<const FIRST: bool>(&self, rows: &Rows, columns: Shared<u32>, sums: Sums) -> Sums;

    /// The value of an IEEE half.
    #[inline(always)]
    fn f16_to_f32(&self, bits: u16) -> f32 {
        f16_to_f32(bits)
    }
    /// The nearest IEEE half, ties to even.
    #[inline(always)]
    fn f32_to_f16(&self, value: f32) -> u16 {
        f32_to_f16(value)
    }
    /// The same of two values: the second is the upper half.
    #[inline(always)]
    fn f32_to_f16_two(&self, values: [f32; 2]) -> u32 {
        let [low, high] = values.map(|value| self.f32_to_f16(value));
        low as u32 | (high as u32) << 16
    }
    /// Two numbers as bfloat16, each rounded once, the first in the low half. None is NaN.
    #[inline(always)]
    fn f32_to_bf16_two(&self, values: [f32; 2]) -> u32 {
        let [low, high] = values.map(|value| {
            let bits = value.to_bits();
            bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16
        });
        low | high << 16
    }
    /// The value of a bfloat16.
    #[inline(always)]
    fn bf16_to_f32(&self, bits: u16) -> f32 {
        bf16_to_f32(bits)
    }
    /// The lesser of two numbers: -0.0 of both zeros, and the other one if one is NaN.
    #[inline(always)]
    fn lesser(&self, a: f32, b: f32) -> f32 {
        if a.is_nan() || (!b.is_nan() && b.total_cmp(&a).is_lt()) { b } else { a }
    }
    /// The greater of two numbers: +0.0 of both zeros, and the other one if one is NaN.
    #[inline(always)]
    fn greater(&self, a: f32, b: f32) -> f32 {
        if a.is_nan() || (!b.is_nan() && b.total_cmp(&a).is_gt()) { b } else { a }
    }
    /// The nearest bfloat16, ties to even.
    #[inline(always)]
    fn f32_to_bf16(&self, value: f32) -> u16 {
        f32_to_bf16(value)
    }

    /// `acc` plus the four signed bytes of `word`.
    #[inline(always)]
    fn add_i8x4(&self, word: u32, acc: u32) -> u32 {
        word.to_le_bytes().into_iter().fold(acc, |sum, byte| sum.wrapping_add(byte as i8 as u32))
    }
    /// `acc` plus the four unsigned bytes of `word`.
    #[inline(always)]
    fn add_u8x4(&self, word: u32, acc: u32) -> u32 {
        word.to_le_bytes().into_iter().fold(acc, |sum, byte| sum.wrapping_add(byte as u32))
    }
    /// `acc` plus the two signed halves of `word`.
    #[inline(always)]
    fn add_i16x2(&self, word: u32, acc: u32) -> u32 {
        acc.wrapping_add(word as i16 as u32).wrapping_add((word >> 16) as i16 as u32)
    }
    /// `acc` plus the two unsigned halves of `word`.
    #[inline(always)]
    fn add_u16x2(&self, word: u32, acc: u32) -> u32 {
        acc.wrapping_add(word & 0xffff).wrapping_add(word >> 16)
    }
    /// Of each half, the greater: that of `most`, or the sum modulo 2^16 of those of `word` and `by`. Both halves of
    /// `by` are the same.
    #[inline(always)]
    fn greatest_halves(&self, word: u32, by: u32, most: u32) -> u32 {
        halves::greatest(word, by, most)
    }
    /// The same of the lesser.
    #[inline(always)]
    fn least_halves(&self, word: u32, by: u32, limit: u32) -> u32 {
        halves::least(word, by, limit)
    }
    /// `acc` plus the squares of the four unsigned bytes of `word`.
    #[inline(always)]
    fn add_squares_u8x4(&self, word: u32, acc: u32) -> u32 {
        word.to_le_bytes().into_iter().fold(acc, |sum, byte| sum.wrapping_add(byte as u32 * byte as u32))
    }
    /// The 32 bits from bit `at & 31` of two words.
    #[inline(always)]
    fn funnel(&self, low: u32, high: u32, at: u32) -> u32 {
        ((((high as u64) << 32) | low as u64) >> (at & 31)) as u32
    }
    /// Four of the eight bytes of `high` and `low`, each named by a digit of `select`: 0 to 7 from the lowest, or 8
    /// more for that byte's sign in all bits.
    #[inline(always)]
    fn permute(&self, low: u32, high: u32, select: u32) -> u32 {
        let bytes = (u64::from(high) << 32 | u64::from(low)).to_le_bytes();
        u32::from_le_bytes(core::array::from_fn(|i| {
            let digit = select >> (4 * i) & 15;
            let byte = bytes[digit as usize & 7];
            if digit & 8 == 0 { byte } else { ((byte as i8) >> 7) as u8 }
        }))
    }
    /// The same number, computed anew wherever this stands: what a loop makes of it is not kept in registers for the
    /// next turn.
    #[inline(always)]
    fn anew(&self, x: u32) -> u32 {
        x
    }
    /// The same number, of which the compiler knows nothing: a loop over it stays a loop.
    #[inline(always)]
    fn opaque(&self, x: u32) -> u32 {
        x
    }
}
