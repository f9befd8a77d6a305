//! The values that kernels move: plain bits of 1, 2, 4, 8 or 16 bytes.

/// Plain bits.
///
/// # Safety
/// Every bit pattern is a value; there is no padding; the size is a power of two of at most 16 bytes and equals the
/// alignment.
pub unsafe trait Pod: Copy + 'static {
    /// The value's bytes, lowest first.
    #[inline(always)]
    fn to_bits(self) -> u128 {
        let mut bits = 0u128;
        // SAFETY: `Pod` has at most 16 bytes, all initialised; source and destination are distinct locals.
        unsafe {
            core::ptr::copy_nonoverlapping(
                (&raw const self).cast::<u8>(),
                (&raw mut bits).cast::<u8>(),
                size_of::<Self>(),
            )
        };
        bits
    }
    /// The value of these bytes, lowest first.
    #[inline(always)]
    fn from_bits(bits: u128) -> Self {
        const { assert!(size_of::<Self>() <= 16 && size_of::<Self>().is_power_of_two()) };
        // SAFETY: `bits` has at least as many bytes as `Self`, and every bit pattern is a `Self`.
        unsafe { (&raw const bits).cast::<Self>().read_unaligned() }
    }
}

macro_rules! pod {
    ($($t:ty)*) => {$(
        // SAFETY: a primitive number, aligned to its size.
        unsafe impl Pod for $t {}
    )*};
}
pod!(u8 i8 u16 i16 u32 i32 f32 u64 i64 f64);

/// `N` neighbours that travel together in one 16-byte access.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pack<T, const N: usize>(pub [T; N]);

// SAFETY: an array of `Pod` without padding; that it fills exactly its 16 bytes is asserted here at compile time.
unsafe impl<T: Pod, const N: usize> Pod for Pack<T, N> {
    #[inline(always)]
    fn from_bits(bits: u128) -> Self {
        const { assert!(size_of::<T>() * N == 16) };
        // SAFETY: both are 16 bytes, and every bit pattern is a `Self`.
        unsafe { (&raw const bits).cast::<Self>().read_unaligned() }
    }
}

/// What shuffles exchange: one or two words of 32 bits.
pub trait Word: Pod {
    /// Sends each word through `exchange`, lowest first.
    fn through(self, exchange: impl FnMut(u32) -> u32) -> Self;
}

macro_rules! word {
    ($($t:ty: $to:expr, $from:expr;)*) => {$(
        impl Word for $t {
            #[inline(always)]
            fn through(self, mut exchange: impl FnMut(u32) -> u32) -> Self {
                $from(exchange($to(self)))
            }
        }
    )*};
}
word! {
    u32: u32::from, u32::from;
    i32: i32::cast_unsigned, u32::cast_signed;
    f32: f32::to_bits, f32::from_bits;
}

macro_rules! long {
    ($($t:ty: $to:expr, $from:expr;)*) => {$(
        impl Word for $t {
            #[inline(always)]
            fn through(self, mut exchange: impl FnMut(u32) -> u32) -> Self {
                let bits: u64 = $to(self);
                let low = exchange(bits as u32);
                let high = exchange((bits >> 32) as u32);
                $from(u64::from(high) << 32 | u64::from(low))
            }
        }
    )*};
}
long! {
    u64: u64::from, u64::from;
    i64: i64::cast_unsigned, u64::cast_signed;
    f64: f64::to_bits, f64::from_bits;
}

/// Which instruction adds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomKind {
    /// 32-bit integers; signed and unsigned addition are one.
    U32,
    /// 64-bit integers.
    U64,
    /// Single precision.
    F32,
}

/// A value that memory can add atomically.
pub trait Atom: Pod {
    /// Which instruction adds it.
    const KIND: AtomKind;
    /// What that instruction computes: integers wrap.
    fn plus(self, other: Self) -> Self;
}
impl Atom for u32 {
    const KIND: AtomKind = AtomKind::U32;
    #[inline(always)]
    fn plus(self, other: u32) -> u32 {
        self.wrapping_add(other)
    }
}
impl Atom for i32 {
    const KIND: AtomKind = AtomKind::U32;
    #[inline(always)]
    fn plus(self, other: i32) -> i32 {
        self.wrapping_add(other)
    }
}
impl Atom for u64 {
    const KIND: AtomKind = AtomKind::U64;
    #[inline(always)]
    fn plus(self, other: u64) -> u64 {
        self.wrapping_add(other)
    }
}
impl Atom for f32 {
    const KIND: AtomKind = AtomKind::F32;
    #[inline(always)]
    fn plus(self, other: f32) -> f32 {
        self + other
    }
}
