//! Two arrays in front of a reduction: the second lies where a mask would, and the load makes an item of an element of
//! each. So any kernel reduces them, along any axes, whatever the layout of either.

use std::mem::MaybeUninit;

use warpfold_array::problem::{At, Dim, Problem};
use warpfold_array::{ArrayRef, Error, RowError};
use warpfold_core::{Reducer, Zip};

use crate::copied::Copied;
use crate::engine::{self, Job, Out};
use crate::gather::Gather;
use crate::kernel::Kernel;
use crate::load::Load;
use crate::simd::vectorize;

/// An array, and how its elements come out of memory.
pub type Source<'a, T> = (ArrayRef<'a>, Gather<T>);

/// How items are made of many elements of each array.
pub trait Zips<L, R>: Send + Sync {
    /// The item of two elements.
    type Item: Copy + Send + Sync;
    /// Calls `write` with the number of each pair, and its item: inlined, since it has the instructions of its caller.
    fn each(&self, left: &[L], right: &[R], write: impl FnMut(usize, Self::Item));
}

/// One by one.
pub struct Any<Z>(pub Z);

impl<L: Copy, R: Copy, Z: Zip<L, R>> Zips<L, R> for Any<Z> {
    type Item = Z::Item;

    #[inline(always)]
    fn each(&self, left: &[L], right: &[R], mut write: impl FnMut(usize, Z::Item)) {
        for (i, (left, right)) in left.iter().zip(right).enumerate() {
            write(i, self.0.zip(*left, *right));
        }
    }
}

/// The items of two arrays.
struct Zipping<Z, L, R> {
    zip: Z,
    left: Gather<L>,
    right: Gather<R>,
}

impl<L: Copy, R: Copy, Z: Zips<L, R>> Load<Z::Item> for Zipping<Z, L, R> {
    fn direct(&self) -> bool {
        false
    }

    unsafe fn gather(&self, at: At, dim: &Dim, n: usize, to: *mut Z::Item) {
        const PIECE: usize = 256;
        let mut left = [const { MaybeUninit::<L>::uninit() }; PIECE];
        let mut right = [const { MaybeUninit::<R>::uninit() }; PIECE];
        let zip = &self.zip;
        for from in (0..n).step_by(PIECE) {
            let (len, here) = (PIECE.min(n - from), at.step(dim, from));
            // SAFETY: these `len` elements of either array are among the `n` that the caller vouches for; each gather
            // writes `len` elements of its tile, which are then read. There is room for `n` items.
            unsafe {
                (self.left)(here.x, dim.x, len, left.as_mut_ptr().cast());
                (self.right)(here.mask, dim.mask, len, right.as_mut_ptr().cast());
                let (left, right) = (left[..len].assume_init_ref(), right[..len].assume_init_ref());
                let to = to.add(from);
                vectorize(
                    #[inline(always)]
                    move || {
                        zip.each(
                            left,
                            right,
                            #[inline(always)]
                            |i, item| to.add(i).write(item),
                        );
                    },
                );
            }
        }
    }
}

/// A [`Gather`] of elements as memory holds them.
pub fn as_they_are<T: Copy>() -> Gather<T> {
    unsafe fn gather<T: Copy>(x: *const u8, stride: isize, n: usize, to: *mut T) {
        let dim = Dim { len: n, x: stride, mask: 0, out: 0 };
        // SAFETY: the caller vouches for `n` elements, `stride` bytes apart, and room for them.
        unsafe { Load::<T>::gather(&Copied, At { x, mask: std::ptr::null() }, &dim, n, to) }
    }
    gather::<T>
}

/// Reduces what `zip` makes of the elements of two arrays of one shape, along axes (sorted, each once): the results in
/// C order of the other axes.
///
/// # Errors
/// [`RowError::Shape`]; [`Error::CustomEmpty`] if there are no elements to reduce and no identity.
///
/// # Safety
/// Each gather reads elements of the array's dtype and byte order.
pub unsafe fn reduce<L: Copy, R: Copy, Z: Zips<L, R>, K: Kernel>(
    op: &'static str,
    (left, right): (Source<'_, L>, Source<'_, R>),
    axes: &[usize],
    zip: Z,
    kernel: &K,
    threads: usize,
) -> Result<Vec<Out<K>>, Error>
where
    K::R: Reducer<Item = Z::Item, Output: Send>,
{
    let ((x, left), (y, right)) = (left, right);
    if x.shape() != y.shape() {
        let (expected, found) = (x.shape().to_vec(), y.shape().to_vec());
        return Err(RowError::Shape { op, what: "the elements of the second array", expected, found }.into());
    }
    let problem = Problem::new(&x, axes, Some(&y))?;
    let base = At { x: x.base(), mask: y.base() }.offset(problem.x_offset, problem.mask_offset);
    let load = Zipping { zip, left, right };
    let job = Job { kernel, load: &load, problem: &problem, base, threads, progress: None };
    // SAFETY: elements of an ArrayRef are readable, and the problem reaches no others of either array; the caller
    // vouches for the gathers.
    let results = unsafe { engine::run(&job) };
    results.ok_or_else(|| Error::CustomEmpty { shape: x.shape().to_vec(), axes: axes.to_vec() })
}
