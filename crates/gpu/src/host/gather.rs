//! The elements of a host array as one dense sequence, any part of it at a time: what is copied to a device.

use std::marker::PhantomData;

use warpfold_array::problem::{At, Dim, Walk, merge};
use warpfold_array::{ArrayRef, MAX_RANK};
use warpfold_cpu::parallel;

/// Bytes that one thread copies at a time.
const PIECE: usize = 256 << 10;

/// A dense sequence of a host array's elements, in this machine's byte order.
pub(crate) struct Gather<'a> {
    base: At,
    outer: Vec<Dim>,
    inner: Dim,
    size: usize,
    swapped: bool,
    len: usize,
    life: PhantomData<ArrayRef<'a>>,
}

/// Where a host array's elements are once they have been copied to a device in the order in which they lie in memory:
/// the same array with other strides.
pub(crate) struct Placement {
    /// In bytes; 0 where the host's is.
    pub strides: [isize; MAX_RANK],
    /// From the start of the sequence to the element with all indices 0, in bytes.
    pub first: usize,
    /// The axes that are copied, the one with the largest step first.
    order: Vec<usize>,
}

impl Placement {
    /// Of an array in any layout. An axis along which all elements are one is copied once.
    pub fn of(array: &ArrayRef<'_>) -> Placement {
        let (shape, strides) = (array.shape(), array.strides());
        let mut order: Vec<usize> = (0..shape.len()).filter(|&a| shape[a] != 1 && strides[a] != 0).collect();
        order.sort_by_key(|&a| std::cmp::Reverse(strides[a].unsigned_abs()));
        let mut placement = Placement { strides: [0; MAX_RANK], first: 0, order };
        let mut step = array.dtype().size();
        for &axis in placement.order.iter().rev() {
            let len = shape[axis].max(1);
            placement.strides[axis] = step as isize * strides[axis].signum();
            if strides[axis] < 0 {
                placement.first += step * (len - 1);
            }
            step *= len;
        }
        placement
    }
}

impl<'a> Gather<'a> {
    /// All elements in logical order.
    pub fn logical(array: &ArrayRef<'a>) -> Gather<'a> {
        let dims = (0..array.shape().len()).map(|a| (array.shape()[a], array.strides()[a]));
        Self::new(array, dims.collect(), 0)
    }

    /// Each element in memory once, in the order in which they lie there.
    pub fn placed(array: &ArrayRef<'a>, placement: &Placement) -> Gather<'a> {
        let (shape, strides) = (array.shape(), array.strides());
        let back = |&&a: &&usize| strides[a] < 0 && shape[a] > 0;
        let first = placement.order.iter().filter(back).map(|&a| strides[a] * (shape[a] as isize - 1)).sum();
        Self::new(array, placement.order.iter().map(|&a| (shape[a], strides[a].abs())).collect(), first)
    }

    fn new(array: &ArrayRef<'a>, dims: Vec<(usize, isize)>, first: isize) -> Gather<'a> {
        let len = dims.iter().map(|d| d.0).product();
        let dims = dims.into_iter().filter(|d| d.0 != 1).map(|(len, x)| Dim { len, x, mask: 0, out: 0 });
        let mut outer = merge(dims.collect());
        let size = array.dtype().size();
        let inner = outer.pop().unwrap_or(Dim { len: 1, x: size as isize, mask: 0, out: 0 });
        let base = At { x: array.base().wrapping_offset(first), mask: std::ptr::null() };
        Gather { base, outer, inner, size, swapped: array.is_swapped(), len, life: PhantomData }
    }

    /// Of the whole sequence.
    pub fn bytes(&self) -> usize {
        self.len * self.size
    }

    /// Fills `to` with the bytes of the sequence from `from`, both whole elements, on all threads.
    pub fn copy(&self, from: usize, to: &mut [u8]) {
        let is_whole = |bytes: usize| bytes.is_multiple_of(self.size);
        assert!(from + to.len() <= self.bytes() && is_whole(from) && is_whole(to.len()));
        parallel::chunks(to, PIECE, |i, to| self.copy_piece((from + i * PIECE) / self.size, to));
    }

    fn copy_piece(&self, from: usize, mut to: &mut [u8]) {
        let Dim { len, x, .. } = self.inner;
        let mut walk = Walk::new(&self.outer, self.base, from / len.max(1));
        let mut skip = from % len.max(1);
        while !to.is_empty() {
            let n = (len - skip).min(to.len() / self.size);
            let (now, rest) = to.split_at_mut(n * self.size);
            let first = walk.at().step(&self.inner, skip).x;
            // SAFETY: `n` elements from `skip` are within the inner axis, at an index of the outer ones (`copy` has
            // checked the range), so they are elements of the array, readable as `ArrayRef` promises for `'a`.
            unsafe { self.copy_run(first, x, now) };
            (to, skip) = (rest, 0);
            walk.advance();
        }
    }

    /// # Safety
    /// `to` has the bytes of as many elements as are readable from `from`, `step` bytes apart.
    unsafe fn copy_run(&self, from: *const u8, step: isize, to: &mut [u8]) {
        // SAFETY: the caller's.
        unsafe {
            if step == self.size as isize && !self.swapped {
                return std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len());
            }
            match self.size {
                1 => copy_strided::<1>(from, step, self.swapped, to),
                2 => copy_strided::<2>(from, step, self.swapped, to),
                4 => copy_strided::<4>(from, step, self.swapped, to),
                _ => copy_strided::<8>(from, step, self.swapped, to),
            }
        }
    }
}

// SAFETY: addresses that are only read, of memory that is borrowed shared for as long as this lives.
unsafe impl Send for Gather<'_> {}
// SAFETY: threads that share a gather only read at its addresses, of memory that is borrowed shared while it lives.
unsafe impl Sync for Gather<'_> {}

/// # Safety
/// Elements of `N` bytes are readable from `from`, `step` bytes apart, as many as `to` has room for.
unsafe fn copy_strided<const N: usize>(from: *const u8, step: isize, swapped: bool, to: &mut [u8]) {
    let (to, _) = to.as_chunks_mut::<N>();
    for (i, to) in to.iter_mut().enumerate() {
        // SAFETY: the caller's; an array of bytes has no alignment.
        *to = unsafe { from.offset(step * i as isize).cast::<[u8; N]>().read() };
        if swapped {
            to.reverse();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold_array::Order;
    use warpfold_core::DType;

    fn all(gather: &Gather<'_>) -> Vec<u8> {
        let mut bytes = vec![0; gather.bytes()];
        gather.copy(0, &mut bytes);
        bytes
    }

    #[test]
    fn the_logical_order_is_that_of_indices() {
        let x: Vec<u16> = (0..24).collect();
        let bytes: Vec<u8> = x.iter().flat_map(|v| v.to_ne_bytes()).collect();
        let array = ArrayRef::from_bytes(&bytes, DType::U16, &[2, 3, 4], Order::Fortran, false).unwrap();
        let gathered = all(&Gather::logical(&array));
        let mut expected = Vec::new();
        for (i, j, k) in (0..24u16).map(|n| (n / 12, n / 4 % 3, n % 4)) {
            expected.extend((i + 2 * j + 6 * k).to_ne_bytes());
        }
        assert_eq!(gathered, expected);
        let swapped = ArrayRef::from_bytes(&bytes, DType::U16, &[24], Order::C, true).unwrap();
        let swapped = all(&Gather::logical(&swapped));
        assert_eq!(swapped, x.iter().flat_map(|v| v.swap_bytes().to_ne_bytes()).collect::<Vec<_>>());
    }

    #[test]
    fn any_part_is_that_part_of_the_whole() {
        let x: Vec<u32> = (0..1 << 18).collect();
        let base = ArrayRef::from_slice(&x, &[64, 64, 64]).unwrap().permuted(&[2, 0, 1]).stepped(1, -3);
        let gather = Gather::logical(&base);
        let whole = all(&gather);
        for (from, len) in [(0, 4), (4, 400), (1000, 300_000), (300_004, 8)] {
            let from = from % whole.len();
            let mut part = vec![0; len.min(whole.len() - from)];
            gather.copy(from, &mut part);
            assert!(part == whole[from..from + part.len()], "{from} {len}");
        }
    }

    #[test]
    fn placed_elements_are_found_by_the_strides() {
        let x: Vec<u32> = (0..4 * 5 * 6).collect();
        let dense = ArrayRef::from_slice(&x, &[4, 5, 6]).unwrap();
        // SAFETY: a broadcast view of what the slice has.
        let broadcast =
            unsafe { ArrayRef::from_raw(dense.base(), DType::U32, &[3, 5, 6], &[0, 24, 4]) }.expect("a small array");
        let cases =
            [dense, dense.permuted(&[2, 0, 1]), dense.stepped(2, -1).stepped(0, 2), dense.narrow(1, 2, 2), broadcast];
        for array in cases {
            let placement = Placement::of(&array);
            let bytes = all(&Gather::placed(&array, &placement));
            // SAFETY: a view of the bytes just gathered.
            let there = unsafe {
                let strides = &placement.strides[..array.shape().len()];
                ArrayRef::from_raw(bytes.as_ptr().wrapping_add(placement.first), DType::U32, array.shape(), strides)
            };
            let there = there.expect("a small array");
            assert_eq!(all(&Gather::logical(&there)), all(&Gather::logical(&array)), "{array:?}");
        }
    }
}
