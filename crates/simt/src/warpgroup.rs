//! Products of matrices by four warps, as Hopper has them (`wgmma`), and copies to shared memory beside other work.

use crate::pod::Pack;
use crate::{Rows, Sums};
use core::arch::asm;

/// What [`Simt::copy`](crate::Simt::copy) says: a read and a write, in whose place GPUs from sm_80 on are given the
/// instruction behind it.
#[inline(always)]
pub fn copy(to: u32, from: *mut Pack<u32, 4>) {
    // SAFETY: as for `put` and `load`.
    unsafe {
        asm!(
            "{{ .reg .b32 a, b, c, d; ld.global.v4.b32 {{a, b, c, d}}, [{from}]; \
             st.shared.v4.b32 [{to}], {{a, b, c, d}}; }} // cp.async.cg.shared.global [{to}], [{from}], 16;",
            to = in(reg32) to,
            from = in(reg64) from,
        )
    };
}

/// What [`Simt::copied`](crate::Simt::copied) says.
#[inline(always)]
pub fn copied() {
    // SAFETY: waits for what `copy` began.
    unsafe { asm!("bar.warp.sync 0xffffffff; // cp.async.wait_all;") };
}

/// What [`Simt::end_copies`](crate::Simt::end_copies) says; nothing, where copies are at once.
#[inline(always)]
pub fn end_copies() {
    // SAFETY: orders copies.
    unsafe { asm!("bar.warp.sync 0xffffffff; // cp.async.commit_group;") };
}

/// What [`Simt::copied_but`](crate::Simt::copied_but) says.
#[inline(always)]
pub fn copied_but<const LEFT: u32>() {
    // SAFETY: waits for what `copy` began.
    unsafe { asm!("bar.warp.sync 0xffffffff; // cp.async.wait_group {left};", left = const LEFT) };
}

/// What [`Simt::publish`](crate::Simt::publish) says.
#[inline(always)]
pub fn publish() {
    // SAFETY: orders accesses; `ptxas` knows it from sm_90 on.
    unsafe { asm!("fence.proxy.async.shared::cta;") };
}

/// A description of columns in shared memory, as the instruction takes it: in units of 16 bytes, where they begin, how
/// far it is from eight rows to the next eight, and from eight columns to the next eight.
#[inline(always)]
fn describe(address: u32) -> u64 {
    const ROWS: u64 = 128;
    const COLUMNS: u64 = 8;
    u64::from(address >> 4 & 0x3fff) | ROWS << 16 | COLUMNS << 32
}

/// One instruction: 16 of the rows' columns, with names, begin `$at` after the first.
macro_rules! step {
    ($more:literal, $at:literal, $a:literal, $b:literal, $c:literal, $d:literal) => {
        concat!(
            "add.s64 at, {columns}, ",
            $at,
            ";",
            "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {{",
            "{s0}, {s1}, {s2}, {s3}, {s4}, {s5}, {s6}, {s7}, {s8}, {s9}, {s10}, {s11}, {s12}, ",
            "{s13}, {s14}, {s15}, {s16}, {s17}, {s18}, {s19}, {s20}, {s21}, {s22}, {s23}, {s24}, {s25}, ",
            "{s26}, {s27}, {s28}, {s29}, {s30}, {s31}, {s32}, {s33}, {s34}, {s35}, {s36}, {s37}, {s38}, ",
            "{s39}, {s40}, {s41}, {s42}, {s43}, {s44}, {s45}, {s46}, {s47}, {s48}, {s49}, {s50}, {s51}, ",
            "{s52}, {s53}, {s54}, {s55}, {s56}, {s57}, {s58}, {s59}, {s60}, {s61}, {s62}, {s63}",
            "}}, {{{",
            $a,
            "}, {",
            $b,
            "}, {",
            $c,
            "}, {",
            $d,
            "}}}, at, ",
            $more,
            ", 1, 1, 0;",
        )
    };
}

/// All steps in one block, with the wait at its end, so that the sums lie still in between. The first begins with zero
/// or with the sums, as a predicate says: `more` is true.
macro_rules! product {
    ($first:literal, $kind:ident, $rows:ident, $columns:ident, $sums:ident) => {
        product! { $first, $kind, $rows, $columns, $sums;
            s0 0, s1 1, s2 2, s3 3, s4 4, s5 5, s6 6, s7 7, s8 8, s9 9, s10 10, s11 11,
            s12 12, s13 13, s14 14, s15 15, s16 16, s17 17, s18 18, s19 19, s20 20, s21 21, s22 22, s23 23,
            s24 24, s25 25, s26 26, s27 27, s28 28, s29 29, s30 30, s31 31, s32 32, s33 33, s34 34, s35 35,
            s36 36, s37 37, s38 38, s39 39, s40 40, s41 41, s42 42, s43 43, s44 44, s45 45, s46 46, s47 47,
            s48 48, s49 49, s50 50, s51 51, s52 52, s53 53, s54 54, s55 55, s56 56, s57 57, s58 58, s59 59,
            s60 60, s61 61, s62 62, s63 63
        }
    };
    ($first:literal, $kind:ident, $rows:ident, $columns:ident, $sums:ident; $($sum:ident $at:literal),*) => {
        asm!(
            "{{ .reg .pred zero, more; .reg .b64 at;",
            "setp.ne.b32 zero, {nothing}, 0;",
            "setp.eq.b32 more, {nothing}, 0;",
            "wgmma.fence.sync.aligned;",
            step!($first, 0, "a0", "b0", "c0", "d0"),
            step!("more", 256, "a1", "b1", "c1", "d1"),
            step!("more", 512, "a2", "b2", "c2", "d2"),
            step!("more", 768, "a3", "b3", "c3", "d3"),
            "wgmma.commit_group.sync.aligned;",
            "wgmma.wait_group.sync.aligned 0; }}",
            columns = in(reg64) $columns, nothing = in(reg32) 0,
            a0 = in(reg32) $rows[0][0], b0 = in(reg32) $rows[0][1], c0 = in(reg32) $rows[0][2],
            d0 = in(reg32) $rows[0][3],
            a1 = in(reg32) $rows[1][0], b1 = in(reg32) $rows[1][1], c1 = in(reg32) $rows[1][2],
            d1 = in(reg32) $rows[1][3],
            a2 = in(reg32) $rows[2][0], b2 = in(reg32) $rows[2][1], c2 = in(reg32) $rows[2][2],
            d2 = in(reg32) $rows[2][3],
            a3 = in(reg32) $rows[3][0], b3 = in(reg32) $rows[3][1], c3 = in(reg32) $rows[3][2],
            d3 = in(reg32) $rows[3][3],
            $($sum = $kind(reg32) $sums[$at],)*
        )
    };
}

/// What [`Simt::multiply_shared`](crate::Simt::multiply_shared) says.
#[inline(always)]
pub fn multiply<const FIRST: bool>(rows: &Rows, columns: u32, sums: Sums) -> Sums {
    let (columns, mut s) = (describe(columns), sums);
    // SAFETY: reads shared memory that other threads have published, as the emulator checks; writes registers.
    unsafe {
        if FIRST {
            product! { "zero", out, rows, columns, s }
        } else {
            product! { "more", inout, rows, columns, s }
        }
    }
    s
}
