//! Device addresses, as launch structs have them, and the arrays there.

use warpfold_simt::{Global, Simt};

/// The same address, but the compiler does not see how it was computed. Otherwise it would take sums with the address
/// apart, and compute their common part anew for each of them.
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
