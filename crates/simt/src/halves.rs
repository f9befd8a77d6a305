//! Unsigned integers of 16 bits, two in a word.

/// Of each half, the sum, and which of it and the other is taken.
#[cfg(not(target_arch = "nvptx64"))]
fn halves([word, by, other]: [u32; 3], which: impl Fn(u16, u16) -> u16) -> u32 {
    let half = |k: u32| {
        let [word, by, other] = [word, by, other].map(|x| (x >> (16 * k)) as u16);
        u32::from(which(word.wrapping_add(by), other)) << (16 * k)
    };
    half(0) | half(1)
}

/// See [`crate::Simt::greatest_halves`].
#[cfg(not(target_arch = "nvptx64"))]
pub fn greatest(word: u32, by: u32, most: u32) -> u32 {
    halves([word, by, most], u16::max)
}

/// See [`crate::Simt::least_halves`].
#[cfg(not(target_arch = "nvptx64"))]
pub fn least(word: u32, by: u32, limit: u32) -> u32 {
    halves([word, by, limit], u16::min)
}

/// On hardware. The library looks for these lines, and has two instructions in the place of each on GPUs that have
/// them: see `upgrade.rs` of the kernels. Both halves of what is added are the same.
#[cfg(target_arch = "nvptx64")]
macro_rules! halves {
    ($name:ident, $which:literal) => {
        #[inline(always)]
        pub fn $name(word: u32, by: u32, other: u32) -> u32 {
            let r: u32;
            // SAFETY: arithmetic on registers.
            unsafe {
                core::arch::asm!(
                    concat!(
                        "{{ .reg .b32 word, by, other, low; mov.b32 word, {word}; mov.b32 by, {by}; ",
                        "mov.b32 other, {other}; and.b32 by, by, 0xffff0000; mad.lo.u32 low, word, 65536, by; ",
                        "add.u32 word, word, by; shl.b32 by, other, 16; ",
                        $which, ".u32 low, low, by; ", $which, ".u32 word, word, other; ",
                        "prmt.b32 {r}, low, word, 0x7632; }}"
                    ),
                    r = out(reg32) r, word = in(reg32) word, by = in(reg32) by, other = in(reg32) other,
                    options(pure, nomem, nostack)
                )
            };
            r
        }
    };
}
#[cfg(target_arch = "nvptx64")]
halves!(greatest, "max");
#[cfg(target_arch = "nvptx64")]
halves!(least, "min");
