//! What a kernel is told at run time: addresses, what to make of the total, and the shape.

use crate::params::params;
use warpfold_core::{Cast, DType, Element, bf16, f16};
use warpfold_simt::{Global, Simt};

params! {
    #[derive(Default)]
    /// Where a reduction's arrays are.
    pub struct CallAt {
        /// The first element.
        pub input: u64,
        /// The mask's first element; unused if there is no mask.
        pub mask: u64,
        /// The first output.
        pub output: u64,
        /// Counters, then partials.
        pub workspace: u64,
    }

    /// The launch struct of reductions. `G` says over which elements; `A` are the addresses.
    pub struct Call[G, A = CallAt] at A {
        /// Partials for another launch.
        pub left: Left,
        /// What to compute.
        pub recipe: Recipe,
        /// Over which elements.
        pub shape: G,
    }

    /// Partials that one launch leaves for another, where [`flag::PARTS`] is set.
    pub struct Left {
        /// Words from the end of the counters to the first of them.
        pub from: u64,
        /// How many of them make one result.
        pub within: u64,
        /// Elements under each.
        pub each: u64,
    }
}

/// Addresses with an output and a workspace.
pub trait Results {
    /// The first output.
    fn output(&self) -> u64;
    /// Counters, then partials.
    fn workspace(&self) -> u64;
}

impl Results for CallAt {
    #[inline(always)]
    fn output(&self) -> u64 {
        self.output
    }
    #[inline(always)]
    fn workspace(&self) -> u64 {
        self.workspace
    }
}

impl<G, A: Results> Call<G, A> {
    /// The workspace's partials.
    #[inline(always)]
    pub fn partials(&self) -> Global<u32> {
        array(self.at.workspace() + COUNTERS as u64)
    }

    /// The partials that one launch leaves for another.
    #[inline(always)]
    pub fn left_partials(&self) -> Global<u32> {
        self.partials().offset(self.left.from as usize)
    }

    /// Where output `index` goes.
    #[inline(always)]
    pub fn out(&self, index: i64) -> Out {
        let counters = array(self.at.workspace());
        Out { output: array(self.at.output()), counters, index: index as usize }
    }
}

impl Left {
    /// No partials are left.
    pub const NONE: Self = Self { from: 0, within: 1, each: 0 };
}

params! {
    /// What a fold is told at run time.
    pub struct Recipe {
        /// Elements reduced into each output.
        pub count: u64,
        /// Subtracted from the count in a variance's divisor.
        pub ddof: f64,
        /// One more element on the left: bits of an f64 or an i128, low half first.
        pub initial: [u64; 2],
        /// See [`flag`].
        pub flags: u32,
        /// The dtype in memory, as its place in `DType::ALL`.
        pub input: u32,
        /// The dtype of the output, likewise.
        pub output: u32,
        /// The 16-bit dtype that elements are rounded to first, or the input's own.
        pub through: u32,
    }
}

/// Bits of [`Recipe::flags`].
pub mod flag {
    /// NaNs are left out.
    pub const SKIP_NAN: u32 = 1;
    /// There is an initial value.
    pub const INITIAL: u32 = 1 << 1;
    /// A mean, not a sum.
    pub const MEAN: u32 = 1 << 2;
    /// The square root of the total.
    pub const ROOT: u32 = 1 << 3;
    /// Sum squares, not magnitudes.
    pub const SQUARE: u32 = 1 << 4;
    /// The least, not the greatest.
    pub const LEAST: u32 = 1 << 5;
    /// Integers are unsigned.
    pub const UNSIGNED: u32 = 1 << 6;
    /// Magnitudes are compared.
    pub const MAGNITUDE: u32 = 1 << 7;
    /// There is a mask.
    pub const MASKED: u32 = 1 << 8;
    /// Whether any is true, of a count.
    pub const ANY: u32 = 1 << 9;
    /// Whether all are true, of a count.
    pub const ALL: u32 = 1 << 10;
    /// Parts go to the workspace, for another kernel to reduce.
    pub const PARTS: u32 = 1 << 11;
}

impl Recipe {
    /// Whether a flag is set.
    #[inline(always)]
    pub fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }
}

/// The place of a dtype in `DType::ALL`.
pub const fn code(dtype: DType) -> u32 {
    dtype as u32
}

/// The logarithm of every dtype's bytes, in two bits each.
const SIZES: u32 = {
    let (mut sizes, mut k) = (0, 0);
    while k < DType::ALL.len() {
        sizes |= DType::ALL[k].size().trailing_zeros() << (2 * k);
        k += 1;
    }
    sizes
};

/// The logarithm of the bytes of a dtype.
#[inline(always)]
pub fn log_size(dtype: u32) -> u32 {
    SIZES >> (2 * dtype) & 3
}

/// Bytes of counters at the start of a workspace.
pub const COUNTERS: usize = 1 << 20;
/// The counter that is set if an output has no value: byte 0 if there was nothing, byte 1 if there was only NaN, byte 2 if segments'
/// offsets decrease or go beyond the elements.
pub const STATUS: usize = COUNTERS / 4 - 1;

/// Why there is no value: the byte of [`STATUS`] that is set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hole {
    /// No element was left.
    Empty,
    /// Only NaN.
    AllNan,
}

/// Where an output goes.
#[derive(Clone, Copy)]
pub struct Out {
    /// The first output.
    pub output: Global<u8>,
    /// Counters.
    pub counters: Global<u32>,
    /// Which output, counted in elements of the output's dtype.
    pub index: usize,
}

impl Out {
    /// Writes a number that `A` has as `dtype`: as f64 if that is `A`, as f32 or one of 16 bits otherwise.
    #[inline(always)]
    pub fn float<S: Simt, A: Element>(&self, s: &S, dtype: u32, x: Cast) {
        let at = self.index;
        if A::DTYPE == DType::F64 {
            return s.store(self.output.cast(), at, f64::from_cast(x));
        }
        let x = f32::from_cast(x);
        if dtype == code(DType::F32) {
            s.store(self.output.cast(), at, x);
        } else {
            s.store(self.output.cast(), at, half(s, dtype, x));
        }
    }

    /// Writes a number as `dtype`.
    #[inline(always)]
    pub fn number<S: Simt>(&self, s: &S, dtype: u32, x: Cast) {
        let at = self.index;
        match dtype {
            _ if dtype == code(DType::F32) => s.store(self.output.cast(), at, f32::from_cast(x)),
            _ if dtype == code(DType::F64) => s.store(self.output.cast(), at, f64::from_cast(x)),
            _ if dtype == code(DType::F16) => s.store(self.output.cast(), at, f16::from_cast(x).to_bits()),
            _ if dtype == code(DType::BF16) => s.store(self.output.cast(), at, bf16::from_cast(x).to_bits()),
            _ => self.integer(s, dtype, i64::from_cast(x) as u64),
        }
    }

    /// Writes the low bytes of an integer, as many as `dtype` has.
    #[inline(always)]
    pub fn integer<S: Simt>(&self, s: &S, dtype: u32, bits: u64) {
        let (at, size) = (self.index, SIZES >> (2 * dtype));
        let bits = if dtype == code(DType::Bool) { (bits != 0) as u64 } else { bits };
        // Bit by bit: of a comparison with each size the compiler would make a table of jumps.
        if size & 2 != 0 {
            if size & 1 != 0 {
                s.store(self.output.cast(), at, bits);
            } else {
                s.store(self.output.cast(), at, bits as u32);
            }
        } else if size & 1 != 0 {
            s.store(self.output.cast(), at, bits as u16);
        } else {
            s.store(self.output, at, bits as u8);
        }
    }

    /// Says that there is no value. Each reason has a byte of its own, so that who comes last does not matter.
    #[inline(always)]
    pub fn hole<S: Simt>(&self, s: &S, why: Hole) {
        s.store_volatile(self.counters.cast::<u8>(), 4 * STATUS + why as usize, 1);
    }
}

/// The bits of a number as f16, if that is `dtype`, or as bf16.
#[inline(always)]
pub fn half<S: Simt>(s: &S, dtype: u32, x: f32) -> u16 {
    if dtype == code(DType::F16) {
        if x.is_nan() { f16::NAN.to_bits() } else { s.f32_to_f16(x) }
    } else if x.is_nan() {
        bf16::NAN.to_bits()
    } else {
        s.f32_to_bf16(x)
    }
}

/// An address of which the compiler does not see how it came about: else it would take sums with it apart, and do anew for each what
/// is the same for all.
#[inline(always)]
pub fn fixed<S: Simt>(s: &S, address: u64) -> u64 {
    (s.opaque((address >> 32) as u32) as u64) << 32 | s.opaque(address as u32) as u64
}

/// The address of an array.
#[inline(always)]
pub fn array<T>(address: u64) -> Global<T> {
    // SAFETY: kernels' entries promise what `Global::from_raw` asks for; the emulator checks it.
    unsafe { Global::from_raw(core::ptr::without_provenance_mut(address as usize)) }
}
