//! Searches for the first place of a key.

use warpfold_core::ops::Arg;
use warpfold_core::{Cast, Element, Key};

use super::simd::fold_lanes;

/// Elements that are searched at a time. Their places fit [`Key::from_small`].
pub(super) const SEARCH: usize = 64;

/// Pieces of [`SEARCH`] elements that are looked through before their lanes are joined.
const PIECES: usize = 4;

/// Elements that are searched at a time where there are fewer.
pub(super) const SOME: usize = 16;

/// The first place of a key, or `K::MAX` if no element has the key.
#[inline(always)]
pub(super) fn place<T: Element, const W: usize>(arg: &Arg<T>, x: &[T; W], key: T::Key) -> T::Key {
    let mut places = [T::Key::MAX; W];
    for i in 0..W {
        places[i] = if arg.key(x[i]) == key { T::Key::from_small(i as u8) } else { T::Key::MAX };
    }
    fold_lanes(places, T::Key::min)
}

/// The number of elements before those that are searched one piece at a time, some pieces at once.
#[inline(always)]
fn pieces_before<T: Element>(x: &[T], has: impl Fn(T) -> bool) -> usize {
    let mut before = 0;
    for pieces in x.as_chunks::<{ PIECES * SEARCH }>().0 {
        let mut found = [T::Key::ZERO; SEARCH];
        for piece in pieces.as_chunks::<SEARCH>().0 {
            for i in 0..SEARCH {
                found[i] = if has(piece[i]) { T::Key::ONES } else { found[i] };
            }
        }
        if fold_lanes(found, T::Key::max_unsigned) != T::Key::ZERO {
            break;
        }
        before += PIECES * SEARCH;
    }
    before
}

/// The first place of a key, which some element must have.
#[inline(always)]
pub(super) fn find<T: Element>(arg: &Arg<T>, x: &[T], key: T::Key) -> usize {
    let up = arg.key(T::from_cast(Cast::Float(1.0))) > arg.key(T::from_cast(Cast::Float(0.0)));
    let number = T::from_key(if up { key } else { key ^ T::Key::ONES });
    // Only elements of the same bits are the same number, if it is neither zero nor NaN. Keys cost more.
    let mut before = if arg.key(number) == key && number.truthy() && !number.is_nan() {
        pieces_before(
            x,
            #[inline(always)]
            |x| x.bits() == number.bits(),
        )
    } else {
        pieces_before(
            x,
            #[inline(always)]
            |x| arg.key(x) == key,
        )
    };
    while let Some(piece) = x[before..].first_chunk::<SEARCH>() {
        let place = place(arg, piece, key);
        if place != T::Key::MAX {
            return before + place.to_small() as usize;
        }
        before += SEARCH;
    }
    while let Some(piece) = x[before..].first_chunk::<SOME>() {
        let place = place(arg, piece, key);
        if place != T::Key::MAX {
            return before + place.to_small() as usize;
        }
        before += SOME;
    }
    // The last piece may overlap the one before, which does not have the key.
    if let Some(piece) = x.last_chunk::<SOME>() {
        return x.len() - SOME + place(arg, piece, key).to_small() as usize;
    }
    x.iter().position(|&x| arg.key(x) == key).expect("it is there")
}

/// The first place of a key that nothing beats, if a whole piece has it.
#[inline(always)]
pub(super) fn first_final<T: Element>(arg: &Arg<T>, x: &[T]) -> Option<usize> {
    x.as_chunks::<SOME>().0.iter().enumerate().find_map(
        #[inline(always)]
        |(i, piece)| {
            let mut found = 0u32;
            for (j, &x) in piece.iter().enumerate() {
                found |= u32::from(arg.key(x) == T::Key::MAX) << j;
            }
            (found != 0).then(|| i * SOME + found.trailing_zeros() as usize)
        },
    )
}
