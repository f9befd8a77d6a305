//! From memory to the elements of reducers of one's own: loops that the caller's crate compiles, which convert nothing.

use warpfold_array::problem::{At, Dim};
use warpfold_core::{Cast, DType, Element};

use super::load::Load;

/// Elements of a type that need not be a dtype, as memory holds them.
pub struct Copied;

impl<T: Copy> Load<T> for Copied {
    fn direct(&self) -> bool {
        true
    }

    unsafe fn gather(&self, at: At, dim: &Dim, n: usize, to: *mut T) {
        for i in 0..n {
            // SAFETY: element i is one of the `n` that the caller vouches for.
            unsafe { to.add(i).write(at.x.wrapping_offset(dim.x * i as isize).cast::<T>().read_unaligned()) };
        }
    }
}

/// Elements of a dtype, in this machine's byte order.
pub struct Typed;

/// [`Typed`], some of them masked out.
pub struct TypedOptional;

/// An element at any alignment. Of a bool, any byte but 0 is true.
///
/// # Safety
/// The bytes of an element are readable at `x`.
#[inline(always)]
unsafe fn read<T: Element>(x: *const u8) -> T {
    match T::DTYPE {
        // SAFETY: the caller vouches for the byte.
        DType::Bool => T::from_cast(Cast::Unsigned(unsafe { *x }.into())),
        // SAFETY: the caller vouches for the bytes, and any bytes are a number.
        _ => unsafe { x.cast::<T>().read_unaligned() },
    }
}

impl<T: Element> Load<T> for Typed {
    fn direct(&self) -> bool {
        T::DTYPE != DType::Bool
    }

    unsafe fn gather(&self, at: At, dim: &Dim, n: usize, to: *mut T) {
        for i in 0..n {
            // SAFETY: element i is one of the `n` that the caller vouches for.
            unsafe { to.add(i).write(read(at.x.wrapping_offset(dim.x * i as isize))) };
        }
    }
}

impl<T: Element> Load<Option<T>> for TypedOptional {
    fn direct(&self) -> bool {
        false
    }

    unsafe fn gather(&self, at: At, dim: &Dim, n: usize, to: *mut Option<T>) {
        for i in 0..n {
            let at = at.step(dim, i);
            // SAFETY: element i is one of the `n` that the caller vouches for, as is its mask.
            unsafe { to.add(i).write((*at.mask != 0).then(|| read(at.x))) };
        }
    }
}
