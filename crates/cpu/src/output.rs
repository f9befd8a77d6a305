//! Results, written by several tasks.

use std::mem::MaybeUninit;

/// The output, written by several tasks, each place once.
pub struct Output<T> {
    first: *mut T,
    len: usize,
    /// Bytes of a place.
    size: usize,
}

// SAFETY: tasks write disjoint places.
unsafe impl<T: Send> Sync for Output<T> {}

impl<T> Output<T> {
    /// The places of `room`, which outlive it.
    pub fn new(room: &mut [MaybeUninit<T>]) -> Self {
        Self { first: room.as_mut_ptr().cast(), len: room.len(), size: size_of::<T>() }
    }

    /// The places of `room`, of values of any type, which outlive it.
    pub fn large<U>(room: &mut [MaybeUninit<U>]) -> Self {
        large_pages(room);
        Self::at_address(room.as_mut_ptr().cast(), room.len(), size_of::<U>())
    }

    /// `len` places of `size` bytes.
    pub fn at_address(first: *mut T, len: usize, size: usize) -> Self {
        Self { first, len, size }
    }

    /// # Safety
    /// Nobody else writes the place.
    pub unsafe fn write(&self, index: isize, value: T) {
        // SAFETY: in bounds; the caller's.
        unsafe { self.at(index, 1).write(value) };
    }

    /// Where `n` places from an index on are.
    #[inline]
    pub fn at(&self, index: isize, n: usize) -> *mut T {
        assert!((index as usize).checked_add(n).is_some_and(|end| end <= self.len));
        self.first.wrapping_byte_add(index as usize * self.size)
    }
}

/// Asks for large pages under a large result: it is written once, and small pages cost more than the writes.
pub fn large_pages<T>(memory: &mut [MaybeUninit<T>]) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 2 << 20;
        let start = memory.as_mut_ptr().addr().next_multiple_of(PAGE);
        let end = (memory.as_mut_ptr().addr() + size_of_val(memory)) / PAGE * PAGE;
        if end > start + PAGE {
            // SAFETY: whole pages of memory of ours; advice changes no contents. If it fails, nothing is lost but
            // speed.
            unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}
