//! The places of a block's extrema and NaNs. Each search is compiled once, since few blocks need one.

use warpfold_core::Element;
use warpfold_core::ops::Arg;

use crate::free::count_block;
use crate::simd::{array, fold_lanes, vectors, vectors_256};

/// The number of NaNs, and the place of the first one, or 0.
#[inline(never)]
pub(super) fn nans<T: Element>(x: &[T]) -> (u64, usize) {
    vectors_256(
        #[inline(always)]
        || (count_block(x, |x| x.is_nan()) as u64, x.iter().position(|x| x.is_nan()).unwrap_or(0)),
    )
}

/// The first place of an extremum, which is no NaN.
#[inline(never)]
pub(super) fn find<T: Element>(arg: &Arg<T>, x: &[T], extremum: T) -> usize {
    vectors(
        #[inline(always)]
        || first_place(arg, x, extremum),
    )
}

/// [`find`], with the instructions of a level.
#[inline(always)]
fn first_place<T: Element>(arg: &Arg<T>, x: &[T], extremum: T) -> usize {
    /// Elements that are searched at a time, and then among those.
    const MANY: usize = 128;
    const SOME: usize = 16;
    #[inline(always)]
    fn first<T: Copy>(x: &[T], is: impl Fn(T) -> bool + Copy) -> usize {
        let mut at = before::<T, MANY>(x, is);
        if let Some(last) = x.len().checked_sub(MANY) {
            // The last piece may begin with elements that have been searched.
            at = at.min(last);
            let piece = x[at..].first_chunk::<MANY>().expect("a piece");
            let places: [u8; MANY] = array!(MANY, i => if is(piece[i]) { i as u8 } else { u8::MAX });
            return at + fold_lanes(places, u8::min) as usize;
        }
        at += before::<T, SOME>(&x[at..], is);
        at + x[at..].iter().position(|&x| is(x)).expect("it is there")
    }
    /// Elements before the first piece that has such an element, or before the end.
    #[inline(always)]
    fn before<T: Copy, const N: usize>(x: &[T], is: impl Fn(T) -> bool + Copy) -> usize {
        let mut n = 0;
        while let Some(piece) = x[n..].first_chunk::<N>() {
            if piece.iter().fold(false, |any, &x| any | is(x)) {
                break;
            }
            n += N;
        }
        n
    }
    if T::DTYPE.is_float() && !extremum.truthy() {
        let key = arg.key(extremum);
        return first(
            x,
            #[inline(always)]
            |x| arg.key(x) == key,
        );
    }
    first(
        x,
        #[inline(always)]
        |x| x.bits() == extremum.bits(),
    )
}
