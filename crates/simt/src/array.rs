//! Arrays by a function of the index.

/// `[f(0), f(1), …]`, as [`core::array::from_fn`], which it is on a GPU. Elsewhere it is a loop: the four functions of
/// `core` were a fifth of what the compiler had to do for emulated kernels.
#[inline(always)]
pub fn from_fn<T, const N: usize>(f: impl FnMut(usize) -> T) -> [T; N] {
    #[cfg(target_arch = "nvptx64")]
    return core::array::from_fn(f);
    #[cfg(not(target_arch = "nvptx64"))]
    filled(f)
}

#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
fn filled<T, const N: usize>(mut f: impl FnMut(usize) -> T) -> [T; N] {
    // If `f` panics, what it has returned so far is not dropped.
    let mut room = [const { core::mem::MaybeUninit::uninit() }; N];
    let mut i = 0;
    while i < N {
        room[i].write(f(i));
        i += 1;
    }
    // SAFETY: arrays of both types have one layout, and each element was written.
    unsafe { (&raw const room).cast::<[T; N]>().read() }
}
