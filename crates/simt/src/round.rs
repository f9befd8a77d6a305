//! Two numbers of f32 that are rounded to 16 bits, on hardware.

use core::arch::asm;

#[inline(always)]
pub fn f16_two([low, high]: [f32; 2]) -> u32 {
    let r: u32;
    // SAFETY: arithmetic on registers. Side by side, `ptxas` makes one instruction of the three.
    unsafe {
        asm!("{{ .reg .b16 low, high; cvt.rn.f16.f32 low, {low}; cvt.rn.f16.f32 high, {high}; \
              mov.b32 {r}, {{low, high}}; }}",
            r = out(reg32) r, low = in(reg32) low, high = in(reg32) high, options(pure, nomem, nostack))
    };
    r
}

/// None of them is NaN. The library looks for this line, and has one instruction in its place on GPUs that round so:
/// see `upgrade.rs` of the kernels.
#[inline(always)]
pub fn bf16_two([low, high]: [f32; 2]) -> u32 {
    let r: u32;
    // SAFETY: arithmetic on registers.
    unsafe {
        asm!("{{ .reg .b32 low, high, odd; mov.b32 low, {low}; mov.b32 high, {high}; \
              shr.u32 odd, low, 16; and.b32 odd, odd, 1; add.u32 low, low, odd; add.u32 low, low, 32767; \
              shr.u32 odd, high, 16; and.b32 odd, odd, 1; add.u32 high, high, odd; add.u32 high, high, 32767; \
              prmt.b32 {r}, low, high, 0x7632; }}",
            r = out(reg32) r, low = in(reg32) low, high = in(reg32) high, options(pure, nomem, nostack))
    };
    r
}
