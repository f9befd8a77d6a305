//! Integers of any dtype and layout, read a block at a time.

use warpfold_core::{DType, Element, Kind};

use crate::gather::Gather;
use crate::load::Loaded;
use crate::policy::BLOCK;
use warpfold_array::ArrayRef;
use warpfold_array::KeyError;

/// A list of integers somewhere in memory: labels or offsets.
#[derive(Clone, Copy)]
pub(super) struct Integers<'a> {
    array: ArrayRef<'a>,
    gather: Gather<i64>,
    stride: isize,
}

impl<'a> Integers<'a> {
    /// The integers of an array with one axis; bools are 0 and 1.
    pub fn new(array: ArrayRef<'a>, what: &'static str) -> Result<Self, KeyError> {
        let dtype = array.dtype();
        if dtype.kind() == Kind::Float {
            return Err(KeyError::NotIntegers { what, dtype });
        }
        let gather = i64::gather(dtype, array.is_swapped(), DType::I64);
        let stride = array.strides().first().copied().unwrap_or(0);
        Ok(Self { array, gather, stride })
    }

    pub fn len(&self) -> usize {
        self.array.len()
    }

    /// All integers as a slice, if memory has them contiguous, aligned and in this type.
    pub fn as_slice<T: Element>(&self) -> Option<&'a [T]> {
        self.array.as_slice()
    }

    /// The entries `from..from + n`, read to `room`. Entries of u64 beyond the range of i64 wrap, and are negative.
    pub fn read<'r>(&self, from: usize, n: usize, room: &'r mut Vec<i64>) -> &'r [i64] {
        assert!(from.checked_add(n).is_some_and(|end| end <= self.len()), "entries of the list");
        room.clear();
        room.reserve(n);
        // SAFETY: an ArrayRef's elements are readable, and entries up to `from + n` are some of them, as asserted;
        // there is room for `n`, all of which the gather writes.
        unsafe {
            let first = self.array.base().wrapping_offset(self.stride * from as isize);
            (self.gather)(first, self.stride, n, room.as_mut_ptr());
            room.set_len(n);
        }
        room
    }

    /// The value of an entry that was read. It undoes the wrapping of u64.
    pub fn exact(&self, entry: i64) -> i128 {
        if self.array.dtype() == DType::U64 { entry as u64 as i128 } else { entry as i128 }
    }

    /// Calls `each` with blocks of entries, in order, and the position of the block's first entry.
    pub fn blocks<E>(&self, mut each: impl FnMut(usize, &[i64]) -> Result<(), E>) -> Result<(), E> {
        let mut room = Vec::new();
        for from in (0..self.len()).step_by(BLOCK) {
            each(from, self.read(from, BLOCK.min(self.len() - from), &mut room))?;
        }
        Ok(())
    }
}
