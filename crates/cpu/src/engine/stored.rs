//! Elements that are moved as memory holds them, and converted where they lie side by side.
//!
//! Where the elements of a sequence lie apart they are brought together a few at a time, and a conversion of a few
//! elements takes as long as one of many.

use std::mem::MaybeUninit;

use warpfold_array::problem::{At, Dim};

use super::Work;
use super::nodes::Items;
use crate::load::Fetch;
use crate::loops::{Facts, Item};
use crate::moves::{by_size, copy};

/// Sequences of `len` elements, each `pitch` elements after the one before.
pub(super) struct Sequences {
    pub number: usize,
    pub len: usize,
    pub pitch: usize,
}

/// Elements as memory holds them.
pub(super) struct Stored {
    /// Bytes of an element.
    pub bytes: usize,
    /// [`Fetch::numbers`].
    pub numbers: bool,
}

impl Fetch for Stored {
    fn whole(&self) -> bool {
        self.numbers
    }

    fn numbers(&self) -> bool {
        self.numbers
    }

    fn direct(&self) -> bool {
        true
    }

    unsafe fn gather(&self, at: At, dim: &Dim, n: usize, to: *mut Item) {
        let x = |i: usize| at.x.wrapping_offset(dim.x * i as isize);
        // SAFETY: the caller vouches for `n` elements, and for room for as many at `to`.
        unsafe {
            if dim.x == self.bytes as isize {
                let bytes = n * self.bytes;
                return std::ptr::copy_nonoverlapping(at.x.cast::<MaybeUninit<u8>>(), to.cast(), bytes);
            }
            by_size!(self.bytes, T => for i in 0..n {
                to.cast::<T>().add(i).write_unaligned(x(i).cast::<T>().read_unaligned());
            }, else for i in 0..n {
                copy(x(i).cast::<MaybeUninit<u8>>(), to.byte_add(i * self.bytes).cast(), self.bytes);
            });
        }
    }
}

impl Work<'_> {
    /// Brings the elements of sequences to `to`, as the kernel reads them. `bring` does so for the work that it is
    /// given: this one, or one whose elements are those that memory holds. `kept` are the kept axes among those that
    /// `bring` walks along, beside all reduced ones, and `mask` is where the mask of the first element is.
    ///
    /// # Safety
    /// `bring` writes all sequences, and there is room for them at `to`.
    pub(super) unsafe fn brought(
        &self,
        sequences: &Sequences,
        kept: &[Dim],
        mask: *const u8,
        room: &mut Items,
        to: *mut Item,
        bring: &dyn Fn(&Work<'_>, *mut Item),
    ) {
        let Sequences { number, len, pitch } = *sequences;
        let has_one_mask = self.problem.reduced.iter().chain(kept).all(|dim| dim.mask == 0);
        if self.load.direct() || !has_one_mask {
            return bring(self, to);
        }
        let (size, bytes) = (self.facts.item, self.problem.size);
        let stored = Stored { bytes, numbers: self.load.numbers() };
        let work = Work { load: &stored, facts: Facts { item: bytes, align: 1, ..self.facts }, ..*self };
        let x = room.room(number * pitch * bytes);
        bring(&work, x);
        let along = Dim { len, x: bytes as isize, mask: 0, out: 0 };
        let (number, len) = if len == pitch { (1, number * len) } else { (number, len) };
        for i in 0..number {
            let at = At { x: x.wrapping_byte_add(i * pitch * bytes).cast_const().cast(), mask };
            // SAFETY: `bring` has written these elements; the caller vouches for room for them.
            unsafe { self.load.gather(at, &along, len, to.byte_add(i * pitch * size)) };
        }
    }
}
