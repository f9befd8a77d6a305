//! Typed addresses. Kernels do no pointer arithmetic beyond an index; the memory behind an address is the `Simt`'s
//! business.

use core::marker::PhantomData;

/// An array in global memory.
#[repr(transparent)]
#[derive(Debug)]
pub struct Global<T>(*mut T);

impl<T> Clone for Global<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Global<T> {}
// SAFETY: a `Global` is an address. Only a `Simt` turns it into an access: on hardware under the promise of `from_raw`,
// in the emulator it is a number that is looked up and never dereferenced.
unsafe impl<T> Send for Global<T> {}
// SAFETY: as for `Send`.
unsafe impl<T> Sync for Global<T> {}

impl<T> Global<T> {
    /// Names the array at `address`.
    ///
    /// # Safety
    /// On hardware: the kernel that receives it accesses only elements that are allocated, initialised where it reads,
    /// and free of data races. (The emulator is how that is established; there any address is safe.)
    #[inline(always)]
    pub const unsafe fn from_raw(address: *mut T) -> Self {
        Global(address)
    }
    /// The address.
    #[inline(always)]
    pub fn as_ptr(self) -> *mut T {
        self.0
    }
    /// The array from element `count` on.
    #[inline(always)]
    pub fn offset(self, count: usize) -> Self {
        Global(self.0.wrapping_add(count))
    }
    /// The same address, seen as an array of `U`.
    #[inline(always)]
    pub fn cast<U>(self) -> Global<U> {
        Global(self.0.cast())
    }
}

/// An array in the block's shared memory.
#[repr(transparent)]
#[derive(Debug)]
pub struct Shared<T> {
    address: u32,
    element: PhantomData<fn(T) -> T>,
}

impl<T> Clone for Shared<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Shared<T> {}

impl<T> Shared<T> {
    /// The array at an address of the shared window, which only a `Simt` knows.
    #[inline(always)]
    pub const fn from_address(address: u32) -> Self {
        Shared { address, element: PhantomData }
    }
    /// The address in the shared window.
    #[inline(always)]
    pub const fn address(self) -> u32 {
        self.address
    }
    /// The array from element `count` on.
    #[inline(always)]
    pub const fn offset(self, count: u32) -> Self {
        Self::from_address(self.address.wrapping_add(count.wrapping_mul(size_of::<T>() as u32)))
    }
    /// The same address, seen as an array of `U`.
    #[inline(always)]
    pub const fn cast<U>(self) -> Shared<U> {
        Shared::from_address(self.address)
    }
}
