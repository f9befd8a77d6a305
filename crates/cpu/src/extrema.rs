//! Extrema.
//!
//! Three integer instructions for each float find the least and the greatest of a block. As integers, positive floats
//! are ordered as signed numbers are. Negative floats are ordered as unsigned numbers are, in reverse. Every NaN lies
//! beyond an infinity.

use std::mem::MaybeUninit;

use warpfold_core::ops::Extremum;
use warpfold_core::{Cast, Element, Key, Reducer};

use super::free::lanes_block;
use super::kernel::Kernel;
use super::panel::Panel;
use super::periods::fold_periods;
use super::policy::{AHEAD_LIGHT, FEW_DENSE_COLUMNS, FEW_ROWS, SHORT_BYTES};
use super::running::{Running, run};
use super::simd::{fold_lanes, inlined, prefetch, vectors};

/// The kernel of minimum and maximum.
#[derive(Clone)]
pub struct Peak<T: Element>(pub Extremum<T>);

impl<T: Element> Running for Peak<T> {
    type Item = T;
    type Node = T::Key;

    const LIGHT: bool = true;

    #[inline(always)]
    fn tile<'a, const W: usize>(&self, rows: impl Iterator<Item = &'a [T; W]>, nodes: &mut [T::Key; W]) {
        let mut best = *nodes;
        for row in rows {
            for i in 0..W {
                best[i] = best[i].max(self.0.lift(row[i], 0));
            }
        }
        *nodes = best;
    }
}

impl<T: Element> Kernel for Peak<T> {
    type R = Extremum<T>;

    const FREE: bool = true;

    const RUNS: bool = true;

    const ROWS: usize = FEW_ROWS;

    const DENSE: bool = true;

    const LONG: bool = true;

    const ENDS: bool = true;

    /// Nothing beats a NaN, or the greatest number that there is.
    fn is_final(&self, &key: &T::Key) -> bool {
        key == T::Key::MAX
    }

    fn reducer(&self) -> &Self::R {
        &self.0
    }

    fn apart(len: usize) -> bool {
        len * size_of::<T>() < SHORT_BYTES && !len.is_power_of_two()
    }

    fn block(&self, x: &[T], start: u64) -> T::Key {
        vectors(
            #[inline(always)]
            || {
                let best = best(
                    x,
                    #[inline(always)]
                    |x| self.0.lift(x, start),
                );
                best.unwrap_or_else(
                    #[inline(always)]
                    || lanes_block(&self.0, x, start),
                )
            },
        )
    }

    unsafe fn panel(&self, panel: Panel<'_, T>, out: &mut [MaybeUninit<T::Key>]) {
        out.fill(MaybeUninit::new(T::Key::MIN));
        // SAFETY: the caller vouches for an element of each node in every row; all nodes have just been written.
        unsafe { self.panel_after(panel.rows, panel.start, out.assume_init_mut()) };
    }

    unsafe fn panel_after(&self, rows: &[*const T], _start: u64, nodes: &mut [T::Key]) {
        vectors(
            #[inline(always)]
            // SAFETY: the caller vouches for an element of each node in every row.
            || unsafe { run(self, rows, nodes) },
        );
    }

    fn dense_after(&self, x: &[T], start: u64, nodes: &mut [T::Key]) {
        let mut room = [const { MaybeUninit::uninit() }; FEW_DENSE_COLUMNS];
        let room = &mut room[..nodes.len()];
        self.dense(x, start, room);
        // SAFETY: `dense` writes a node for each column, and there are as many columns as nodes.
        for (node, key) in nodes.iter_mut().zip(unsafe { room.assume_init_ref() }) {
            *node = (*node).max(*key);
        }
    }

    #[inline(never)]
    fn dense(&self, x: &[T], start: u64, out: &mut [MaybeUninit<T::Key>]) {
        vectors(
            #[inline(always)]
            || {
                greatest(
                    x,
                    #[inline(always)]
                    |x| self.0.lift(x, start),
                    out,
                );
            },
        );
    }
}

/// The greatest key of each column of a power of two of dense rows.
#[inline(always)]
pub(super) fn greatest<T: Element>(x: &[T], key: impl Fn(T) -> T::Key, out: &mut [MaybeUninit<T::Key>]) {
    fold_periods(x, key, T::Key::max, std::convert::identity, T::Key::max, out);
}

/// The greatest key in a block. `key` is monotonic in numbers, rising or falling. `None` if the block is short, or has
/// a NaN to which `key` does not give `K::MAX`. Then the caller must compare the keys of all elements.
#[inline(always)]
pub(super) fn best<T: Element>(x: &[T], key: impl Fn(T) -> T::Key + Copy) -> Option<T::Key> {
    // There are enough lanes to hide the latency of an instruction, and so few that they stay in registers.
    match (size_of::<T>(), T::DTYPE.is_float()) {
        (1, _) => best_in::<T, 256>(x, key),
        (2, false) => best_in::<T, 128>(x, key),
        (_, false) => best_in::<T, 64>(x, key),
        (4 | 8, true) if skips_nan(key) => best_number::<T, 32>(x, key),
        _ => {
            let (least, greatest) = ends(x)?;
            if least.is_nan() {
                return Some(key(least)).filter(|&nan| nan == T::Key::MAX);
            }
            Some(key(greatest).max(key(least)))
        }
    }
}

#[inline(always)]
fn best_in<T: Element, const N: usize>(x: &[T], key: impl Fn(T) -> T::Key + Copy) -> Option<T::Key> {
    // The last piece may overlap the one before. To see an element twice changes no extremum.
    let last = x.last_chunk::<N>()?;
    let mut lanes = [T::Key::MIN; N];
    for piece in x.as_chunks::<N>().0 {
        raise(&mut lanes, piece, key);
    }
    raise(&mut lanes, last, key);
    Some(fold_lanes(lanes, T::Key::max))
}

/// Whether no key is below that of NaN.
#[inline(always)]
pub(super) fn skips_nan<T: Element>(key: impl Fn(T) -> T::Key) -> bool {
    key(T::from_key(T::Key::MAX)) == T::Key::MIN
}

/// The greatest key in a block of floats, of which NaNs have the least. `None` if the block is short.
///
/// Two selects for each float leave out NaNs. They do not tell zeros of both signs apart, so if the extremum is a zero,
/// the block is searched for the one whose key is greater. (One thread of a Xeon with AVX-512, ps an element in the
/// cache, a tenth of them NaN: 41 of f32, 76 of f64.)
#[inline(always)]
fn best_number<T: Element, const N: usize>(x: &[T], key: impl Fn(T) -> T::Key + Copy) -> Option<T::Key> {
    // As in `best_in`.
    let last = x.last_chunk::<N>()?;
    let number = inlined(
        #[inline(always)]
        |x| T::from_cast(Cast::Float(x)),
    );
    let (low, high) = (number(f64::NEG_INFINITY).float(), number(f64::INFINITY).float());
    let (mut least, mut greatest) = ([high; N], [low; N]);
    for piece in x.as_chunks::<N>().0 {
        prefetch(piece.as_ptr().wrapping_byte_add(AHEAD_LIGHT), N);
        widen_numbers(piece, &mut least, &mut greatest);
    }
    widen_numbers(last, &mut least, &mut greatest);
    let low = fold_lanes(
        least,
        #[inline(always)]
        |a, b| if b < a { b } else { a },
    );
    let high = fold_lanes(
        greatest,
        #[inline(always)]
        |a, b| if b > a { b } else { a },
    );
    if low > high {
        return Some(T::Key::MIN);
    }
    let (low, high) = (T::from_float(low), T::from_float(high));
    let end = if key(high) >= key(low) { high } else { low };
    if end.truthy() {
        return Some(key(end));
    }
    let (plus, minus) = (number(0.0), number(-0.0));
    let (first, second) = if key(plus) >= key(minus) { (plus, minus) } else { (minus, plus) };
    let found = x.iter().fold(
        false,
        #[inline(always)]
        |found, x| found | (x.bits() == first.bits()),
    );
    Some(key(if found { first } else { second }))
}

/// Widens the bounds of each lane to its element, unless that is NaN.
#[inline(always)]
pub(super) fn widen_numbers<T: Element, const N: usize>(
    piece: &[T; N],
    least: &mut [T::Float; N],
    greatest: &mut [T::Float; N],
) {
    for i in 0..N {
        let x = piece[i].float();
        least[i] = if x < least[i] { x } else { least[i] };
        greatest[i] = if x > greatest[i] { x } else { greatest[i] };
    }
}

/// The least and the greatest element of a block: two NaNs if it has one, `None` if it is short.
#[inline(always)]
pub(super) fn ends<T: Element>(x: &[T]) -> Option<(T, T)> {
    match (size_of::<T>(), T::DTYPE.is_float()) {
        (1, _) => ends_in::<T, 256>(x),
        (2, _) => ends_in::<T, 128>(x),
        (8, true) => ends_in::<T, 32>(x),
        _ => ends_in::<T, 64>(x),
    }
}

#[inline(always)]
pub(super) fn ends_in<T: Element, const N: usize>(x: &[T]) -> Option<(T, T)> {
    // As in `best_in`.
    let last = x.last_chunk::<N>()?;
    let pieces = x.as_chunks::<N>().0;
    if !T::DTYPE.is_float() {
        let (mut least, mut greatest) = ([T::Key::MAX; N], [T::Key::MIN; N]);
        for at in (0..pieces.len() * N).step_by(N).chain([x.len() - N]) {
            let piece = x[at..].first_chunk::<N>().expect("a piece");
            for i in 0..N {
                least[i] = least[i].min(piece[i].key());
                greatest[i] = greatest[i].max(piece[i].key());
            }
        }
        let (least, greatest) = (fold_lanes(least, T::Key::min), fold_lanes(greatest, T::Key::max));
        return Some((T::of_bits(least), T::of_bits(greatest)));
    }
    let mut ends = Ends::new();
    for piece in pieces {
        prefetch(piece.as_ptr().wrapping_byte_add(AHEAD_LIGHT), N);
        ends.widen(piece);
    }
    ends.widen(last);
    let signed = fold_lanes(ends.signed, T::Key::max);
    let (high, low) = (fold_lanes(ends.high, T::Key::max_unsigned), fold_lanes(ends.low, T::Key::min_unsigned));
    // The greatest number is the positive one of greatest bits, or, if all are negative, the negative one of least
    // bits. The least number is the negative one of greatest bits, or, if all are positive, the positive one of least
    // bits.
    if T::of_bits(signed).is_nan() || T::of_bits(high).is_nan() {
        let nan = T::from_key(T::Key::MAX);
        return Some((nan, nan));
    }
    let greatest = if signed >= T::Key::ZERO { signed } else { low };
    let least = if high < T::Key::ZERO { high } else { low };
    Some((T::of_bits(least), T::of_bits(greatest)))
}

/// Raises each lane to the key of its element.
#[inline(always)]
pub(super) fn raise<T: Element, const N: usize>(lanes: &mut [T::Key; N], piece: &[T; N], key: impl Fn(T) -> T::Key) {
    for i in 0..N {
        lanes[i] = lanes[i].max(key(piece[i]));
    }
}

/// The extrema of each lane's bits.
pub(super) struct Ends<K, const N: usize> {
    /// The greatest, signed.
    pub(super) signed: [K; N],
    /// The greatest, unsigned.
    pub(super) high: [K; N],
    /// The least, unsigned.
    pub(super) low: [K; N],
}

impl<K: Key, const N: usize> Ends<K, N> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self { signed: [K::MIN; N], high: [K::ZERO; N], low: [K::ONES; N] }
    }

    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "several arrays are indexed alike, and the vectoriser sees it")]
    pub(super) fn widen<T: Element<Key = K>>(&mut self, piece: &[T; N]) {
        for i in 0..N {
            let bits = piece[i].bits();
            self.signed[i] = self.signed[i].max(bits);
            self.high[i] = self.high[i].max_unsigned(bits);
            self.low[i] = self.low[i].min_unsigned(bits);
        }
    }
}
