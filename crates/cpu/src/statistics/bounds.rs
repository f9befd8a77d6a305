//! The least and the greatest elements of columns, with their places, in one pass.
//!
//! Eight rows at a time are compared as [`crate::extrema`] compares a block: floats by their bits. A row of the eight
//! is looked up only by the bits of the extremum, so no element is turned into a key.

use warpfold_core::{Element, Key};

use crate::policy::PANEL;
use crate::simd::{array, prefetch};

/// What is prefetched.
#[derive(Clone, Copy)]
pub struct Ahead {
    /// Rows from the row at hand to the row that is prefetched.
    pub rows: usize,
    /// Bytes from these rows to those that are read next.
    pub next: isize,
}

/// The extrema of columns of numbers.
pub struct Bounds<K, const W: usize> {
    /// The keys of the least elements, all bits flipped.
    pub least: [K; W],
    /// The keys of the greatest elements.
    pub greatest: [K; W],
    /// The first row of the least elements.
    pub least_at: [K; W],
    /// The first row of the greatest elements.
    pub greatest_at: [K; W],
}

impl<K: Key, const W: usize> Bounds<K, W> {
    /// The extrema of no rows.
    pub(super) const NONE: Self =
        Self { least: [K::MIN; W], greatest: [K::MIN; W], least_at: [K::ZERO; W], greatest_at: [K::ZERO; W] };

    /// Adds the rows from number `from` on, at most [`PANEL`], and prefetches later ones. The extrema of a column with
    /// a NaN have no meaning.
    #[inline(always)]
    pub(super) fn add<T: Element<Key = K>>(&mut self, rows: &[&[T; W]], from: usize, ahead: Ahead) {
        // The last row may be seen several times, which changes nothing.
        let last = rows.len() - 1;
        let group: [&[T; W]; PANEL] = array!(PANEL, r => rows[(from + r).min(last)]);
        // A tile that is not aligned has a part of one line more.
        let fetch = |row: *const T| {
            prefetch(row, W);
            prefetch(row.wrapping_add(W - 1), 1);
        };
        if ahead.rows > last {
            group.iter().for_each(|row| fetch(row.as_ptr().wrapping_byte_offset(ahead.next)));
        } else {
            for later in from + ahead.rows..from + ahead.rows + PANEL {
                let (row, step) = if later <= last { (later, 0) } else { ((later - last - 1).min(last), ahead.next) };
                fetch(rows[row].as_ptr().wrapping_byte_offset(step));
            }
        }
        self.raise(&group, from);
    }

    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "several rows are indexed alike, and the vectoriser sees it")]
    fn raise<T: Element<Key = K>>(&mut self, rows: &[&[T; W]; PANEL], from: usize) {
        for i in 0..W {
            let x: [K; PANEL] = array!(PANEL, r => rows[r][i].bits());
            let (mut least, mut greatest) = (x[0], x[0]);
            if T::DTYPE.is_float() {
                let (mut signed, mut high, mut low) = (x[0], x[0], x[0]);
                for &x in &x[1..] {
                    signed = signed.max(x);
                    high = high.max_unsigned(x);
                    low = low.min_unsigned(x);
                }
                greatest = if signed >= K::ZERO { signed } else { low };
                least = if high < K::ZERO { high } else { low };
            } else {
                for &x in &x[1..] {
                    least = least.min(x);
                    greatest = greatest.max(x);
                }
            }
            let (mut least_at, mut greatest_at) = (K::ZERO, K::ZERO);
            for row in (0..PANEL).rev() {
                let place = K::from_small((from + row) as u8);
                least_at = if x[row] == least { place } else { least_at };
                greatest_at = if x[row] == greatest { place } else { greatest_at };
            }
            let (least, greatest) = (T::of_bits(least).key() ^ K::ONES, T::of_bits(greatest).key());
            self.least_at[i] = if least > self.least[i] { least_at } else { self.least_at[i] };
            self.greatest_at[i] = if greatest > self.greatest[i] { greatest_at } else { self.greatest_at[i] };
            self.least[i] = least.max(self.least[i]);
            self.greatest[i] = greatest.max(self.greatest[i]);
        }
    }
}
