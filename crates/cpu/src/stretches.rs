//! The greatest key of a block, and the stretch in which the key is first.
//!
//! Each lane keeps its greatest key, and the number of the stretch where the key was first. Lanes are joined once, at
//! the end of the block; the caller then searches one stretch, which is in L2.

use warpfold_core::ops::Arg;
use warpfold_core::{Cast, Element, Key};

use super::extrema::{Ends, best, raise, skips_nan, widen_numbers};
use super::policy::AHEAD_LIGHT;
use super::simd::{fold_lanes, inlined, prefetch};

/// Bytes of a stretch.
const STRETCH: usize = 1 << 13;

/// The most stretches, whose numbers fit [`Key::from_small`].
const MOST: usize = 1 << 7;

/// Stretches after which the search may end at a key that nothing beats.
const LOOK: usize = 1 << 3;

/// The most elements of a block.
pub(super) const fn most<T>() -> usize {
    MOST * STRETCH / size_of::<T>()
}

/// Whether so many elements are not cut into stretches.
pub(super) const fn is_short<T>(len: usize) -> bool {
    len * size_of::<T>() <= 2 * STRETCH
}

/// The greatest key of elements that are one stretch.
#[inline(always)]
pub(super) fn greatest_of_few<T: Element>(arg: &Arg<T>, x: &[T]) -> T::Key {
    let best = best(
        x,
        #[inline(always)]
        |x| arg.key(x),
    );
    best.unwrap_or_else(
        #[inline(always)]
        || x.iter().fold(T::Key::MIN, |best, &x| best.max(arg.key(x))),
    )
}

/// The greatest key of a block, and the place from which on to search: that of the first stretch that has the key.
/// Blocks of a few stretches are one, and a zero or a NaN is searched for from the first place.
#[inline(always)]
pub(super) fn first_stretch<T: Element>(arg: &Arg<T>, x: &[T]) -> (T::Key, usize) {
    if is_short::<T>(x.len()) {
        return (greatest_of_few(arg, x), 0);
    }
    let key = inlined(
        #[inline(always)]
        |x: f64| arg.key(T::from_cast(Cast::Float(x))),
    );
    // As many lanes as in `best`.
    let up = key(1.0) > key(0.0);
    match (
        size_of::<T>(),
        T::DTYPE.is_float()
            && !skips_nan(
                #[inline(always)]
                |x| arg.key(x),
            ),
    ) {
        (2, true) if up => by_bits::<T, true, 128>(arg, x),
        (2, true) => by_bits::<T, false, 128>(arg, x),
        (4, true) if up => by_bits::<T, true, 64>(arg, x),
        (4, true) => by_bits::<T, false, 64>(arg, x),
        (8, true) if up => by_bits::<T, true, 32>(arg, x),
        (8, true) => by_bits::<T, false, 32>(arg, x),
        (1, _) => by_lanes::<T, 256>(arg, x),
        (2, _) => by_lanes::<T, 128>(arg, x),
        (8, _) if T::DTYPE.is_float() => by_lanes::<T, 32>(arg, x),
        _ => by_lanes::<T, 64>(arg, x),
    }
}

#[inline(always)]
fn by_lanes<T: Element, const N: usize>(arg: &Arg<T>, x: &[T]) -> (T::Key, usize) {
    let each = STRETCH / size_of::<T>();
    let mut found = Found::<T::Key, N>::new();
    for (number, stretch) in x.chunks(each).enumerate() {
        let pieces = stretch.as_chunks::<N>().0;
        if !pieces.is_empty() {
            found.raise(keys_of(arg, pieces), number);
        }
        if number % LOOK == LOOK - 1 && fold_lanes(found.keys, T::Key::max) == T::Key::MAX {
            break;
        }
    }
    // The last piece may overlap the one before. What the stretch before has, too, has that stretch's number.
    let last = x.last_chunk::<N>().expect("a block has stretches");
    found.raise(keys_of(arg, std::slice::from_ref(last)), (x.len() - 1) / each);
    let key = fold_lanes(found.keys, T::Key::max);
    (key, found.first(key) * each)
}

/// [`first_stretch`] of floats of which the greatest wins if `UP`, and a NaN in any case.
///
/// Extrema of bits cost less than keys. argmax from Python of rows of 100000 in the cache, one thread of a busy EPYC
/// with AVX-512, GB/s of the greatest key of each 32 KiB, all of which are searched for it, and so: f32 49, 54; f64 56,
/// 60. (NumPy: 62, 63. There is no record.) Keys that each stretch made of its extrema took as long as the search.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "several arrays are indexed alike, and the vectoriser sees it")]
fn by_bits<T: Element, const UP: bool, const N: usize>(arg: &Arg<T>, x: &[T]) -> (T::Key, usize) {
    let each = STRETCH / size_of::<T>();
    // The greatest number is that of the greatest bits, signed, if any is positive, and the least that of the greatest
    // bits, unsigned, if any is negative. Otherwise it is that of the least bits, unsigned.
    let (mut far, mut near) = (Found::new(), Found::new());
    // A NaN is beyond an infinity: the greatest bits of either sign show whether there is one.
    let mut other = [T::Key::ZERO; N];
    let last = x.last_chunk::<N>().expect("a block has stretches");
    // The last piece may overlap the one before. What the stretch before has, too, has that stretch's number.
    for (number, stretch) in x.chunks(each).chain([&last[..]]).enumerate() {
        let pieces = stretch.as_chunks::<N>().0;
        if pieces.is_empty() {
            continue;
        }
        let mut ends = Ends::new();
        for piece in pieces {
            prefetch(piece.as_ptr().wrapping_byte_add(AHEAD_LIGHT), N);
            ends.widen(piece);
        }
        for i in 0..N {
            other[i] = match UP {
                true => other[i].max_unsigned(ends.high[i]),
                false => other[i].max(ends.signed[i]),
            };
            ends.high[i] = ends.high[i] ^ T::Key::TOP;
            ends.low[i] = ends.low[i] ^ T::Key::MAX;
        }
        let number = number.min((x.len() - 1) / each);
        far.raise(if UP { ends.signed } else { ends.high }, number);
        near.raise(ends.low, number);
        if number % LOOK == LOOK - 1 && has_nan::<T, UP, N>(&far, other) {
            break;
        }
    }
    if has_nan::<T, UP, N>(&far, other) {
        return (T::Key::MAX, 0);
    }
    let (most, least) = (fold_lanes(far.keys, T::Key::max), fold_lanes(near.keys, T::Key::max));
    let (winner, stretch) = match most >= T::Key::ZERO {
        true => (if UP { most } else { most ^ T::Key::TOP }, far.first(most)),
        false => (least ^ T::Key::MAX, near.first(least)),
    };
    let winner = T::of_bits(winner);
    // Bits tell zeros of both signs apart.
    (arg.key(winner), if winner.truthy() { stretch * each } else { 0 })
}

/// Whether there is a NaN among the floats of the greatest bits: those of `far`, and of the other sign.
#[inline(always)]
fn has_nan<T: Element, const UP: bool, const N: usize>(far: &Found<T::Key, N>, other: [T::Key; N]) -> bool {
    let far = fold_lanes(far.keys, T::Key::max);
    let (far, other) = match UP {
        true => (far, fold_lanes(other, T::Key::max_unsigned)),
        false => (far ^ T::Key::TOP, fold_lanes(other, T::Key::max)),
    };
    T::of_bits(far).is_nan() | T::of_bits(other).is_nan()
}

/// The greatest key of each lane, and the first stretch that has it.
struct Found<K, const N: usize> {
    keys: [K; N],
    places: [K; N],
}

impl<K: Key, const N: usize> Found<K, N> {
    #[inline(always)]
    fn new() -> Self {
        Self { keys: [K::MIN; N], places: [K::ZERO; N] }
    }

    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "several arrays are indexed alike, and the vectoriser sees it")]
    fn raise(&mut self, keys: [K; N], stretch: usize) {
        let stretch = K::from_small(stretch as u8);
        for i in 0..N {
            self.places[i] = if keys[i] > self.keys[i] { stretch } else { self.places[i] };
            self.keys[i] = keys[i].max(self.keys[i]);
        }
    }

    /// The first stretch that has a key.
    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "several arrays are indexed alike, and the vectoriser sees it")]
    fn first(&self, key: K) -> usize {
        let mut places = [K::MAX; N];
        for i in 0..N {
            places[i] = if self.keys[i] == key { self.places[i] } else { K::MAX };
        }
        fold_lanes(places, K::min).to_small() as usize
    }
}

/// The greatest key of each lane of some pieces, at least one.
#[inline(always)]
fn keys_of<T: Element, const N: usize>(arg: &Arg<T>, pieces: &[[T; N]]) -> [T::Key; N] {
    let mut keys = [T::Key::MIN; N];
    match (size_of::<T>(), T::DTYPE.is_float()) {
        (4 | 8, true) => {
            let bound = inlined(
                #[inline(always)]
                |x| T::from_cast(Cast::Float(x)).float(),
            );
            let (low, high) = (bound(f64::NEG_INFINITY), bound(f64::INFINITY));
            let (mut least, mut greatest) = ([high; N], [low; N]);
            for piece in pieces {
                prefetch(piece.as_ptr().wrapping_byte_add(AHEAD_LIGHT), N);
                widen_numbers(piece, &mut least, &mut greatest);
            }
            for i in 0..N {
                let ends = arg.key(T::from_float(least[i])).max(arg.key(T::from_float(greatest[i])));
                keys[i] = if least[i] > greatest[i] { T::Key::MIN } else { ends };
            }
        }
        _ => {
            for piece in pieces {
                raise(
                    &mut keys,
                    piece,
                    #[inline(always)]
                    |x| arg.key(x),
                );
            }
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use warpfold_core::ops::Search;
    use warpfold_core::{bf16, f16};

    use super::*;

    /// Numbers of few values, so that there are ties, with what is special among them.
    fn check<T: Element>(number: impl Fn(f64) -> T, special: &[f64]) {
        let mut seed = 1u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        for len in [1, 16, 300, 2049, 5000, 9999, 40_000, most::<T>()] {
            for case in 0..24 {
                let spread = if case % 2 == 0 { 50 } else { 3 };
                let mut x: Vec<T> = (0..len.min(most::<T>())).map(|_| number(random(spread) as f64)).collect();
                for _ in 0..case / 4 {
                    let (at, which) = (random(x.len() as u64) as usize, random(special.len() as u64) as usize);
                    x[at] = number(special[which]);
                }
                for (max, skips) in [(false, false), (false, true), (true, false), (true, true)] {
                    let arg = Arg { search: Search::new(max, skips) };
                    let key = x.iter().map(|&x| arg.key(x)).max().unwrap();
                    let first = x.iter().position(|&x| arg.key(x) == key).unwrap();
                    let (found, at) = first_stretch(&arg, &x);
                    assert_eq!(found, key);
                    let from = x[at..].iter().position(|&x| arg.key(x) == key).map(|place| at + place);
                    assert_eq!(from, Some(first), "{len} {case}: from {at}");
                }
            }
        }
    }

    #[test]
    fn no_place_before_the_stretch_has_the_greatest_key() {
        const FLOATS: [f64; 6] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, -7.0, 90.0];
        check(|x| x as f32, &FLOATS);
        check(|x| x, &FLOATS);
        check(f16::from_f64, &FLOATS);
        check(bf16::from_f64, &FLOATS);
        check(|x| x as i8, &[-128.0, 127.0]);
        check(|x| x as u16, &[65535.0]);
        check(|x| x as i32, &[-2147483648.0, 2147483647.0]);
        check(|x| x as i64, &[-5.0, 1e18]);
    }
}
