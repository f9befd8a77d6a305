//! `Simt` as NVIDIA hardware: each method is one instruction.
//!
//! What synchronises lanes is a convergent intrinsic of LLVM, which no optimiser moves or duplicates across a branch.
//! Shared memory and atomics are inline PTX, which says space and order (rustc drops `AcqRel` here). A generic address
//! of global memory is its global address, so `.global` instructions take pointers as they are.

use crate::access::{add, or, read, write};
use crate::pod::{Atom, AtomKind, Pack, Pod, Word};
use crate::pointer::{Global, Shared};
use crate::round;
use crate::{Dim, Order, Rows, Simt, Sums, warpgroup};
use core::arch::{asm, nvptx};
use core::mem::{MaybeUninit, transmute_copy};

#[allow(improper_ctypes)]
unsafe extern "C" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
    safe fn lane_id() -> u32;
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    fn bar_warp_sync(mask: u32);
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
    fn shfl_bfly(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
    fn shfl_down(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.up.i32"]
    fn shfl_up(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    fn shfl_idx(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    fn vote_ballot(mask: u32, vote: bool) -> u32;
    #[link_name = "llvm.nvvm.vote.any.sync"]
    fn vote_any(mask: u32, vote: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.all.sync"]
    fn vote_all(mask: u32, vote: bool) -> bool;
}

/// One instruction whose result, in a register of the class `$of`, follows from its operands.
macro_rules! pure {
    ($text:literal, $of:ident $($operands:tt)*) => {{
        let r;
        // SAFETY: arithmetic on registers.
        unsafe { asm!($text, r = out($of) r $($operands)*, options(pure, nomem, nostack)) };
        r
    }};
}

/// A one in each byte.
const ONES: u32 = 0x0101_0101;

/// The thread that runs this code.
pub struct Hardware;

#[inline(always)]
fn element<T>(array: Shared<T>, index: u32) -> u32 {
    array.address().wrapping_add(index.wrapping_mul(size_of::<T>() as u32))
}

impl Simt for Hardware {
    const NAME: &'static str = "NVIDIA GPU";

    #[inline(always)]
    fn thread(&self) -> Dim {
        // SAFETY: reads special registers.
        unsafe { Dim { x: nvptx::_thread_idx_x() as u32, y: nvptx::_thread_idx_y() as u32 } }
    }
    #[inline(always)]
    fn block(&self) -> Dim {
        // SAFETY: reads special registers.
        unsafe { Dim { x: nvptx::_block_idx_x() as u32, y: nvptx::_block_idx_y() as u32 } }
    }
    #[inline(always)]
    fn block_dim(&self) -> Dim {
        // SAFETY: reads special registers.
        unsafe { Dim { x: nvptx::_block_dim_x() as u32, y: nvptx::_block_dim_y() as u32 } }
    }
    #[inline(always)]
    fn grid_dim(&self) -> Dim {
        // SAFETY: reads special registers.
        unsafe { Dim { x: nvptx::_grid_dim_x() as u32, y: nvptx::_grid_dim_y() as u32 } }
    }
    #[inline(always)]
    fn lane(&self) -> u32 {
        lane_id()
    }

    #[inline(always)]
    fn barrier(&self) {
        // SAFETY: that every thread reaches it is the kernel's property, checked in the emulator.
        unsafe { nvptx::_syncthreads() }
    }
    #[inline(always)]
    fn warp_barrier(&self, mask: u32) {
        // SAFETY: as for `barrier`.
        unsafe { bar_warp_sync(mask) }
    }
    #[inline(always)]
    fn shuffle_xor<T: Word>(&self, mask: u32, value: T, xor: u32) -> T {
        // SAFETY: that the lanes of `mask` are here is the kernel's property, checked in the emulator.
        value.through(|word| unsafe { shfl_bfly(mask, word, xor, 31) })
    }
    #[inline(always)]
    fn shuffle_down<T: Word>(&self, mask: u32, value: T, delta: u32) -> T {
        // SAFETY: as for `shuffle_xor`.
        value.through(|word| unsafe { shfl_down(mask, word, delta, 31) })
    }
    #[inline(always)]
    fn shuffle_up<T: Word>(&self, mask: u32, value: T, delta: u32) -> T {
        // SAFETY: as for `shuffle_xor`.
        value.through(|word| unsafe { shfl_up(mask, word, delta, 0) })
    }
    #[inline(always)]
    fn shuffle_idx<T: Word>(&self, mask: u32, value: T, source: u32) -> T {
        // SAFETY: as for `shuffle_xor`.
        value.through(|word| unsafe { shfl_idx(mask, word, source, 31) })
    }
    #[inline(always)]
    fn ballot(&self, mask: u32, vote: bool) -> u32 {
        // SAFETY: as for `shuffle_xor`.
        unsafe { vote_ballot(mask, vote) }
    }
    #[inline(always)]
    fn any(&self, mask: u32, vote: bool) -> bool {
        // SAFETY: as for `shuffle_xor`.
        unsafe { vote_any(mask, vote) }
    }
    #[inline(always)]
    fn all(&self, mask: u32, vote: bool) -> bool {
        // SAFETY: as for `shuffle_xor`.
        unsafe { vote_all(mask, vote) }
    }

    #[inline(always)]
    fn shared<T: Pod, const N: usize, const ID: u32>(&self, _: &'static str) -> Shared<T> {
        let address: u32;
        // SAFETY: declares an array in the kernel's scope and takes its address; touches no memory.
        unsafe {
            asm!(
                ".shared .align 16 .b8 shared_{id}[{bytes}];",
                "mov.u32 {address}, shared_{id};",
                id = const ID, bytes = const N * size_of::<T>(), address = out(reg32) address,
            )
        };
        Shared::from_address(address)
    }
    #[inline(always)]
    fn room<T: Pod, const N: usize>(&self, _: &'static str) -> Shared<T> {
        let address: u32;
        // SAFETY: takes the address of an array that `crates/ptx` declares for the module; touches no memory.
        unsafe {
            asm!("mov.u32 {address}, room_{bytes};", bytes = const N * size_of::<T>(), address = out(reg32) address)
        };
        Shared::from_address(address)
    }
    #[inline(always)]
    fn room_of<T: Pod>(&self, _: &'static str, _: u32) -> Shared<T> {
        // As above; the launch says how large it is.
        Shared::from_address(pure!("mov.u32 {r}, room_0;", reg32))
    }
    #[inline(always)]
    fn get<T: Pod>(&self, array: Shared<T>, index: u32) -> T {
        read!("ld.shared", T, element(array, index), reg32)
    }
    #[inline(always)]
    fn put<T: Pod>(&self, array: Shared<T>, index: u32, value: T) {
        write!("st.shared", value, T, element(array, index), reg32)
    }

    #[inline(always)]
    fn load<T: Pod>(&self, array: Global<T>, index: usize) -> T {
        // SAFETY: by the promise of `Global::from_raw`.
        unsafe { *array.as_ptr().add(index) }
    }
    #[inline(always)]
    fn load_stream<T: Pod>(&self, array: Global<T>, index: usize) -> T {
        read!("ld.global.L1::no_allocate", T, array.as_ptr().wrapping_add(index), reg64)
    }
    #[inline(always)]
    fn load_volatile<T: Pod>(&self, array: Global<T>, index: usize) -> T {
        read!("ld.relaxed.gpu.global", T, array.as_ptr().wrapping_add(index), reg64)
    }
    #[inline(always)]
    fn store<T: Pod>(&self, array: Global<T>, index: usize, value: T) {
        // SAFETY: by the promise of `Global::from_raw`.
        unsafe { *array.as_ptr().add(index) = value }
    }
    #[inline(always)]
    fn store_stream<T: Pod>(&self, array: Global<T>, index: usize, value: T) {
        write!("st.global.cs", value, T, array.as_ptr().wrapping_add(index), reg64)
    }
    #[inline(always)]
    fn store_volatile<T: Pod>(&self, array: Global<T>, index: usize, value: T) {
        write!("st.relaxed.gpu.global", value, T, array.as_ptr().wrapping_add(index), reg64)
    }

    #[inline(always)]
    fn atomic_add<T: Atom>(&self, array: Global<T>, index: usize, value: T, order: Order) -> T {
        let address = array.as_ptr().wrapping_add(index);
        match order {
            Order::Relaxed => add!("atom.relaxed.gpu.global", value, T, address, reg64),
            Order::AcqRel => add!("atom.acq_rel.gpu.global", value, T, address, reg64),
        }
    }
    #[inline(always)]
    fn atomic_add_shared<T: Atom>(&self, array: Shared<T>, index: u32, value: T, order: Order) -> T {
        let address = element(array, index);
        match order {
            Order::Relaxed => add!("atom.relaxed.cta.shared", value, T, address, reg32),
            Order::AcqRel => add!("atom.acq_rel.cta.shared", value, T, address, reg32),
        }
    }
    #[inline(always)]
    fn atomic_or(&self, array: Global<u32>, index: usize, bits: u32, order: Order) -> u32 {
        let address = array.as_ptr().wrapping_add(index);
        match order {
            Order::Relaxed => or!("atom.relaxed.gpu.global", bits, address, reg64),
            Order::AcqRel => or!("atom.acq_rel.gpu.global", bits, address, reg64),
        }
    }
    #[inline(always)]
    fn atomic_or_shared(&self, array: Shared<u32>, index: u32, bits: u32, order: Order) -> u32 {
        let address = element(array, index);
        match order {
            Order::Relaxed => or!("atom.relaxed.cta.shared", bits, address, reg32),
            Order::AcqRel => or!("atom.acq_rel.cta.shared", bits, address, reg32),
        }
    }

    #[inline(always)]
    fn multiply_halves(&self, [a, b]: [u32; 2], column: u32, [c, d, e, f]: [f32; 4]) -> [f32; 4] {
        let (w, x, y, z): (f32, f32, f32, f32);
        // SAFETY: arithmetic on registers; the emulator checks that all lanes are here. Not `pure`: it stays here.
        unsafe {
            asm!(
                "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {{{w}, {x}, {y}, {z}}}, {{{a}, {b}}}, {{{column}}}, \
                 {{{c}, {d}, {e}, {f}}};",
                w = out(reg32) w, x = out(reg32) x, y = out(reg32) y, z = out(reg32) z,
                a = in(reg32) a, b = in(reg32) b,
                column = in(reg32) column, c = in(reg32) c, d = in(reg32) d, e = in(reg32) e, f = in(reg32) f,
                options(nomem, nostack)
            )
        };
        [w, x, y, z]
    }
    #[inline(always)]
    fn copy(&self, to: Shared<Pack<u32, 4>>, index: u32, from: Global<Pack<u32, 4>>, place: usize) {
        warpgroup::copy(element(to, index), from.as_ptr().wrapping_add(place));
    }
    #[inline(always)]
    fn copied(&self) {
        warpgroup::copied();
    }
    #[inline(always)]
    fn end_copies(&self) {
        warpgroup::end_copies();
    }
    #[inline(always)]
    fn copied_but<const LEFT: u32>(&self) {
        warpgroup::copied_but::<LEFT>();
    }
    #[inline(always)]
    fn publish(&self) {
        warpgroup::publish();
    }
    #[inline(always)]
    fn multiply_shared<const FIRST: bool>(&self, rows: &Rows, columns: Shared<u32>, sums: Sums) -> Sums {
        warpgroup::multiply::<FIRST>(rows, columns.address(), sums)
    }
    #[inline(always)]
    fn fma_f32(&self, a: f32, b: f32, c: f32) -> f32 {
        pure!("fma.rn.f32 {r}, {a}, {b}, {c};", reg32, a = in(reg32) a, b = in(reg32) b, c = in(reg32) c)
    }
    #[inline(always)]
    fn fma_saturated(&self, a: f32, b: f32, c: f32) -> f32 {
        pure!("fma.rn.sat.f32 {r}, {a}, {b}, {c};", reg32, a = in(reg32) a, b = in(reg32) b, c = in(reg32) c)
    }
    #[inline(always)]
    fn fma_f64(&self, a: f64, b: f64, c: f64) -> f64 {
        pure!("fma.rn.f64 {r}, {a}, {b}, {c};", reg64, a = in(reg64) a, b = in(reg64) b, c = in(reg64) c)
    }
    #[inline(always)]
    fn lesser(&self, a: f32, b: f32) -> f32 {
        pure!("min.f32 {r}, {a}, {b};", reg32, a = in(reg32) a, b = in(reg32) b)
    }
    #[inline(always)]
    fn greater(&self, a: f32, b: f32) -> f32 {
        pure!("max.f32 {r}, {a}, {b};", reg32, a = in(reg32) a, b = in(reg32) b)
    }
    #[inline(always)]
    fn f16_to_f32(&self, bits: u16) -> f32 {
        pure!("cvt.f32.f16 {r}, {h};", reg32, h = in(reg16) bits)
    }
    #[inline(always)]
    fn f32_to_f16(&self, value: f32) -> u16 {
        pure!("cvt.rn.f16.f32 {r}, {v};", reg16, v = in(reg32) value)
    }
    #[inline(always)]
    fn f32_to_f16_two(&self, values: [f32; 2]) -> u32 {
        round::f16_two(values)
    }
    #[inline(always)]
    fn f32_to_bf16_two(&self, values: [f32; 2]) -> u32 {
        round::bf16_two(values)
    }
    #[inline(always)]
    fn add_i8x4(&self, word: u32, acc: u32) -> u32 {
        pure!("dp4a.s32.s32 {r}, {w}, {o}, {a};", reg32, w = in(reg32) word, o = in(reg32) ONES, a = in(reg32) acc)
    }
    #[inline(always)]
    fn add_u8x4(&self, word: u32, acc: u32) -> u32 {
        pure!("dp4a.u32.u32 {r}, {w}, {o}, {a};", reg32, w = in(reg32) word, o = in(reg32) ONES, a = in(reg32) acc)
    }
    #[inline(always)]
    fn add_squares_u8x4(&self, word: u32, acc: u32) -> u32 {
        pure!("dp4a.u32.u32 {r}, {w}, {w}, {acc};", reg32, w = in(reg32) word, acc = in(reg32) acc)
    }
    #[inline(always)]
    fn add_i16x2(&self, word: u32, acc: u32) -> u32 {
        pure!("dp2a.lo.s32.s32 {r}, {w}, {o}, {a};", reg32, w = in(reg32) word, o = in(reg32) ONES, a = in(reg32) acc)
    }
    #[inline(always)]
    fn add_u16x2(&self, word: u32, acc: u32) -> u32 {
        pure!("dp2a.lo.u32.u32 {r}, {w}, {o}, {a};", reg32, w = in(reg32) word, o = in(reg32) ONES, a = in(reg32) acc)
    }
    #[inline(always)]
    fn funnel(&self, low: u32, high: u32, at: u32) -> u32 {
        pure!("shf.r.wrap.b32 {r}, {l}, {h}, {at};", reg32, l = in(reg32) low, h = in(reg32) high, at = in(reg32) at)
    }
    #[inline(always)]
    fn anew(&self, x: u32) -> u32 {
        let r: u32;
        // SAFETY: copies a register. Not `pure`, so that it stays where it is.
        unsafe { asm!("mov.u32 {r}, {x};", r = out(reg32) r, x = in(reg32) x, options(nomem, nostack)) };
        r
    }
    #[inline(always)]
    fn permute(&self, low: u32, high: u32, select: u32) -> u32 {
        pure!("prmt.b32 {r}, {l}, {h}, {s};", reg32, l = in(reg32) low, h = in(reg32) high, s = in(reg32) select)
    }
    #[inline(always)]
    fn opaque(&self, x: u32) -> u32 {
        let r: u32;
        // SAFETY: copies a register.
        unsafe { asm!("mov.u32 {r}, {x};", r = out(reg32) r, x = in(reg32) x, options(pure, nomem, nostack)) };
        r
    }
}
