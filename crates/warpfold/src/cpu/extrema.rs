//! Extrema, and where they are.
//!
//! Of floats, three integer instructions per element find both ends of a block: as integers, positive floats are ordered
//! like signed numbers, negative ones the other way round like unsigned ones, and every NaN lies beyond an infinity. A place
//! is searched for afterwards, and only in a block that beats those before it.

use std::mem::MaybeUninit;

use warpfold_core::ops::{Arg, ArgNode, Extremum};
use warpfold_core::{Element, Key, Reducer};

use super::dense::fold_dense;
use super::free::lanes_block;
use super::kernel::Kernel;
use super::panel::fold_short_rows;
use super::policy::{FEW_DENSE_COLUMNS, PANEL};
use super::simd::vectorize;

/// The least or the greatest of floats.
#[derive(Clone)]
pub struct Peak<T: Element>(pub Extremum<T>);

impl<T: Element> Kernel for Peak<T> {
    type R = Extremum<T>;

    fn reducer(&self) -> &Self::R {
        &self.0
    }

    fn block(&self, x: &[T], start: u64) -> T::Key {
        vectorize(
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
}

/// The greatest key in a block, where `key` is monotonic (either way) in numbers and gives a NaN the key `K::MAX`, or
/// another. `None` in the latter case, if there is a NaN, and for short blocks: then each element must be looked at.
#[inline(always)]
fn best<T: Element>(x: &[T], key: impl Fn(T) -> T::Key + Copy) -> Option<T::Key> {
    // Lanes enough to hide the latency of an instruction, few enough that they stay in registers.
    match (size_of::<T>(), T::DTYPE.is_float()) {
        (1, _) => best_in::<T, 256>(x, key),
        (2, _) => best_in::<T, 128>(x, key),
        (8, true) => best_in::<T, 32>(x, key),
        _ => best_in::<T, 64>(x, key),
    }
}

#[inline(always)]
fn best_in<T: Element, const N: usize>(x: &[T], key: impl Fn(T) -> T::Key + Copy) -> Option<T::Key> {
    // The last lanes may see an element twice, which changes no extremum.
    let last = x.last_chunk::<N>()?;
    let pieces = x.as_chunks::<N>().0;
    if !T::DTYPE.is_float() {
        let mut lanes = [T::Key::MIN; N];
        for piece in pieces {
            raise(&mut lanes, piece, key);
        }
        raise(&mut lanes, last, key);
        return Some(lanes.iter().fold(T::Key::MIN, |a, &b| a.max(b)));
    }
    let mut ends = Ends { signed: [T::Key::MIN; N], high: [T::Key::ZERO; N], low: [T::Key::ONES; N] };
    for piece in pieces {
        ends.widen(piece);
    }
    ends.widen(last);
    let signed = ends.signed.iter().fold(T::Key::MIN, |a, &b| a.max(b));
    let high = ends.high.iter().fold(T::Key::ZERO, |a, &b| a.max_unsigned(b));
    let low = ends.low.iter().fold(T::Key::ONES, |a, &b| a.min_unsigned(b));
    // The last positive number, or else the first negative one; and the other way round.
    let greatest = if signed >= T::Key::ZERO { signed } else { low };
    let least = if high < T::Key::ZERO { high } else { low };
    if T::of_bits(signed).is_nan() || T::of_bits(high).is_nan() {
        return Some(key(T::from_key(T::Key::MAX))).filter(|&nan| nan == T::Key::MAX);
    }
    Some(key(T::of_bits(greatest)).max(key(T::of_bits(least))))
}

/// The greatest key of each lane.
#[inline(always)]
fn raise<T: Element, const N: usize>(lanes: &mut [T::Key; N], piece: &[T; N], key: impl Fn(T) -> T::Key) {
    for i in 0..N {
        lanes[i] = lanes[i].max(key(piece[i]));
    }
}

/// The ends of each lane's bits.
struct Ends<K, const N: usize> {
    /// The greatest, signed.
    signed: [K; N],
    /// The greatest, unsigned.
    high: [K; N],
    /// The least, unsigned.
    low: [K; N],
}

impl<K: Key, const N: usize> Ends<K, N> {
    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "several arrays are indexed alike, and the vectoriser sees it")]
    fn widen<T: Element<Key = K>>(&mut self, piece: &[T; N]) {
        for i in 0..N {
            let bits = piece[i].bits();
            self.signed[i] = self.signed[i].max(bits);
            self.high[i] = self.high[i].max_unsigned(bits);
            self.low[i] = self.low[i].min_unsigned(bits);
        }
    }
}

/// Where an extremum is.
#[derive(Clone)]
pub struct ArgScan<T: Element>(pub Arg<T>);

/// Elements that are searched at a time: their places are small numbers ([`Key::from_small`]).
const SEARCH: usize = 64;

/// The first place of this key, or `K::MAX`.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "the vectoriser sees it")]
fn place<T: Element, const W: usize>(arg: &Arg<T>, x: &[T; W], key: T::Key) -> T::Key {
    let mut place = T::Key::MAX;
    for i in 0..W {
        let here = if arg.key(x[i]) == key { T::Key::from_small(i as u8) } else { T::Key::MAX };
        place = place.min(here);
    }
    place
}

/// The first element with this key, which is there.
#[inline(always)]
fn find<T: Element>(arg: &Arg<T>, x: &[T], key: T::Key) -> usize {
    let mut before = 0;
    let mut rest = x;
    while let Some((piece, after)) = rest.split_first_chunk::<SEARCH>() {
        let place = place(arg, piece, key);
        if place != T::Key::MAX {
            return before + place.to_small() as usize;
        }
        before += SEARCH;
        rest = after;
    }
    before + rest.iter().position(|&x| arg.key(x) == key).expect("it is there")
}

#[inline(always)]
fn scan<T: Element>(arg: &Arg<T>, x: &[T], start: u64, left: Option<ArgNode<T::Key>>) -> ArgNode<T::Key> {
    let best = best(
        x,
        #[inline(always)]
        |x| arg.key(x),
    );
    let best = best.unwrap_or_else(
        #[inline(always)]
        || x.iter().fold(T::Key::MIN, |best, &x| best.max(arg.key(x))),
    );
    match left {
        Some(left) if left.key >= best => left,
        _ => ArgNode { key: best, index: start + find(arg, x, best) as u64 },
    }
}

/// Rows of at most `W` elements, each of which fits the registers.
#[inline(always)]
fn short_rows<T: Element, const W: usize>(arg: &Arg<T>, x: &[T], len: usize, out: &mut Vec<ArgNode<T::Key>>) {
    const { assert!(W <= SEARCH) };
    out.reserve(x.len() / len);
    for row in x.chunks_exact(len) {
        let mut padded;
        let row = match row.first_chunk::<W>() {
            Some(row) => row,
            None => {
                // With copies of the first element, which come after it.
                padded = [row[0]; W];
                padded[..len].copy_from_slice(row);
                &padded
            }
        };
        let key = row.iter().fold(T::Key::MIN, |best, &x| best.max(arg.key(x)));
        out.push(ArgNode { key, index: place(arg, row, key).to_small() as u64 });
    }
}

impl<T: Element> Kernel for ArgScan<T> {
    type R = Arg<T>;

    const RUNS: bool = true;

    fn reducer(&self) -> &Self::R {
        &self.0
    }

    fn block(&self, x: &[T], start: u64) -> ArgNode<T::Key> {
        self.block_after(None, x, start)
    }

    fn block_after(&self, left: Option<ArgNode<T::Key>>, x: &[T], start: u64) -> ArgNode<T::Key> {
        vectorize(
            #[inline(always)]
            || scan(&self.0, x, start, left),
        )
    }

    fn rows(&self, x: &[T], len: usize, out: &mut Vec<ArgNode<T::Key>>) {
        if len <= PANEL {
            return fold_short_rows(self, x, len, out);
        }
        vectorize(
            #[inline(always)]
            || match len {
                ..=16 => short_rows::<T, 16>(&self.0, x, len, out),
                17..=32 => short_rows::<T, 32>(&self.0, x, len, out),
                33..=64 => short_rows::<T, 64>(&self.0, x, len, out),
                _ => {
                    for row in x.chunks_exact(len) {
                        out.push(scan(&self.0, row, 0, None));
                    }
                }
            },
        );
    }

    unsafe fn panel(&self, rows: &[*const T], start: u64, out: &mut [MaybeUninit<ArgNode<T::Key>>]) {
        vectorize(
            #[inline(always)]
            // SAFETY: the caller's.
            || unsafe { columns(&self.0, rows, start, false, out) },
        );
    }

    unsafe fn panel_after(&self, rows: &[*const T], start: u64, nodes: &mut [ArgNode<T::Key>]) {
        // SAFETY: nodes that are written may be seen as nodes that need not be, if none is unwritten.
        let nodes = unsafe { &mut *(std::ptr::from_mut(nodes) as *mut [MaybeUninit<ArgNode<T::Key>>]) };
        vectorize(
            #[inline(always)]
            // SAFETY: the caller's.
            || unsafe { columns(&self.0, rows, start, true, nodes) },
        );
    }

    fn dense(&self, x: &[T], start: u64, out: &mut [MaybeUninit<ArgNode<T::Key>>]) {
        // No key is less; a column without a greater one has its first element.
        out.fill(MaybeUninit::new(ArgNode { key: T::Key::MIN, index: start }));
        // SAFETY: they are all written.
        self.dense_after(x, start, unsafe { out.assume_init_mut() });
    }

    fn dense_after(&self, x: &[T], start: u64, nodes: &mut [ArgNode<T::Key>]) {
        vectorize(
            #[inline(always)]
            || {
                let (arg, width) = (&self.0, nodes.len());
                let mut room = [MaybeUninit::uninit(); FEW_DENSE_COLUMNS];
                fold_dense(&Keys(arg.clone()), x, 0, &mut room[..width]);
                // SAFETY: they are all written.
                let keys = unsafe { room[..width].assume_init_ref() };
                for (column, (&key, node)) in keys.iter().zip(nodes).enumerate() {
                    if key > node.key {
                        *node = ArgNode { key, index: start + find_in_column(arg, x, width, column, key) };
                    }
                }
            },
        );
    }
}

/// What an arg op compares, without the places.
#[derive(Clone)]
struct Keys<T: Element>(Arg<T>);

impl<T: Element> Reducer for Keys<T> {
    type Item = T;
    type Acc = T::Key;
    type Output = T::Key;

    const INDEXED: bool = false;

    #[inline(always)]
    fn lift(&self, x: T, _index: u64) -> T::Key {
        self.0.key(x)
    }

    #[inline(always)]
    fn combine(&self, left: T::Key, right: T::Key) -> T::Key {
        left.max(right)
    }

    fn finish(&self, acc: T::Key, _count: u64) -> T::Key {
        acc
    }
}

/// The first element with this key in a column of dense rows, where it is.
#[inline(always)]
fn find_in_column<T: Element>(arg: &Arg<T>, x: &[T], width: usize, column: usize, key: T::Key) -> u64 {
    let rows = x[column..].iter().step_by(width);
    rows.map(|&x| arg.key(x)).position(|found| found == key).expect("it is there") as u64
}

/// Columns at a time, whose keys and places are vectors apart.
const TILE: usize = 64;

/// The best of each column, or with `after`, of what `out` holds and each column.
///
/// # Safety
/// Every pointer in `rows` is good for `out.len()` elements; with `after`, all of `out` is written.
#[inline(always)]
unsafe fn columns<T: Element>(
    arg: &Arg<T>,
    rows: &[*const T],
    start: u64,
    after: bool,
    out: &mut [MaybeUninit<ArgNode<T::Key>>],
) {
    let (tiles, last) = out.as_chunks_mut::<TILE>();
    let mut column = 0;
    for out in tiles {
        // SAFETY: the caller's.
        let row = |i: usize| unsafe { &*rows[i].add(column).cast::<[T; TILE]>() };
        // SAFETY: the caller's.
        unsafe { tile(arg, rows.len(), row, start, after, out) };
        column += TILE;
    }
    for (i, out) in last.iter_mut().enumerate() {
        // SAFETY: the caller's.
        let key = |row: usize| unsafe { arg.key(*rows[row].add(column + i)) };
        let (mut best, mut place) = (key(0), 0);
        for row in 1..rows.len() {
            place = if key(row) > best { row } else { place };
            best = best.max(key(row));
        }
        let node = ArgNode { key: best, index: start + place as u64 };
        // SAFETY: with `after`, it is written.
        let left = after.then(|| unsafe { out.assume_init() });
        out.write(left.filter(|left| left.key >= best).unwrap_or(node));
    }
}

/// # Safety
/// With `after`, all of `out` is written.
#[inline(always)]
unsafe fn tile<'a, T: Element>(
    arg: &Arg<T>,
    rows: usize,
    row: impl Fn(usize) -> &'a [T; TILE],
    start: u64,
    after: bool,
    out: &mut [MaybeUninit<ArgNode<T::Key>>; TILE],
) {
    let (mut keys, mut places) = ([T::Key::MIN; TILE], [T::Key::ZERO; TILE]);
    let first = row(0);
    for i in 0..TILE {
        keys[i] = arg.key(first[i]);
    }
    for place in 1..rows {
        let (row, place) = (row(place), T::Key::from_small(place as u8));
        for i in 0..TILE {
            let key = arg.key(row[i]);
            places[i] = if key > keys[i] { place } else { places[i] };
            keys[i] = keys[i].max(key);
        }
    }
    for i in 0..TILE {
        // SAFETY: the caller's.
        let keep = after && unsafe { out[i].assume_init_ref().key } >= keys[i];
        if !keep {
            out[i].write(ArgNode { key: keys[i], index: start + places[i].to_small() as u64 });
        }
    }
}
