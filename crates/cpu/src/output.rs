//! Memory for results that several tasks write.

use std::mem::MaybeUninit;

/// Places for results, each of which one task writes once.
pub struct Output<T> {
    first: *mut T,
    len: usize,
    /// Bytes of a place.
    size: usize,
}

// SAFETY: `Output` itself dereferences its address in `write` alone, whose callers vouch that no other task writes the
// place.
unsafe impl<T: Send> Sync for Output<T> {}

impl<T> Output<T> {
    /// The places of `room`, which must outlive this value.
    pub fn new(room: &mut [MaybeUninit<T>]) -> Self {
        Self { first: room.as_mut_ptr().cast(), len: room.len(), size: size_of::<T>() }
    }

    /// The places of `room`, which must outlive this value. The type of the values is not kept, only their size.
    pub fn large<U>(room: &mut [MaybeUninit<U>]) -> Self {
        large_pages(room);
        Self::at_address(room.as_mut_ptr().cast(), room.len(), size_of::<U>())
    }

    /// `len` places of `size` bytes.
    pub fn at_address(first: *mut T, len: usize, size: usize) -> Self {
        Self { first, len, size }
    }

    /// The number of places.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes of a place.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Writes a value to a place.
    ///
    /// # Safety
    /// No other task writes the place, and the memory of the places is still there. A place has the size of a `T`.
    pub unsafe fn write(&self, index: isize, value: T) {
        // SAFETY: `at` has checked that the place is in bounds, and the caller vouches that no other task writes it.
        unsafe { self.at(index, 1).write(value) };
    }

    /// The address of `n` places, the first of which is number `index`.
    #[inline]
    pub fn at(&self, index: isize, n: usize) -> *mut T {
        assert!((index as usize).checked_add(n).is_some_and(|end| end <= self.len));
        self.first.wrapping_byte_add(index as usize * self.size)
    }
}

/// Asks for large pages for a large result. The result is written once, and page faults of small pages would cost more
/// than the writes.
pub fn large_pages<T>(memory: &mut [MaybeUninit<T>]) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 2 << 20;
        let start = memory.as_mut_ptr().addr().next_multiple_of(PAGE);
        let end = (memory.as_mut_ptr().addr() + size_of_val(memory)) / PAGE * PAGE;
        if end > start + PAGE {
            // SAFETY: the range is whole pages within `memory`, which is borrowed mutably, and the advice changes no
            // contents. If the call fails, the pages stay small.
            unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}
