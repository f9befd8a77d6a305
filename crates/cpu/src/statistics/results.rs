//! The statistics of slices, each written for many slices at once: nodes lie slice after slice, and the results of one
//! statistic side by side.

use std::mem::MaybeUninit;

use warpfold_core::{Accumulate, Element, Reducer};

use super::described::Described;
use super::{Describe, Row};
use crate::simd::vectorize_256;

/// Slices whose results are computed before these are rounded.
const SOME: usize = 64;

/// Writes a statistic of slices, which have as many elements each.
pub type Fill<T, V> = fn(&[Row<T>], &mut [MaybeUninit<V>]);

pub fn nan_counts<T: Described>(rows: &[Row<T>], to: &mut [MaybeUninit<i64>]) {
    each(rows, to, |row| row.node.nans as i64);
}

pub fn argmins<T: Described>(rows: &[Row<T>], to: &mut [MaybeUninit<i64>]) {
    each(rows, to, |row| row.node.argmin as i64);
}

pub fn argmaxes<T: Described>(rows: &[Row<T>], to: &mut [MaybeUninit<i64>]) {
    each(rows, to, |row| row.node.argmax as i64);
}

pub fn mins<T: Described>(rows: &[Row<T>], to: &mut [MaybeUninit<T>]) {
    let min = Describe::<T>::new().min;
    each(rows, to, |row| min.finish(row.node.min, count_of(rows)));
}

pub fn maxes<T: Described>(rows: &[Row<T>], to: &mut [MaybeUninit<T>]) {
    let max = Describe::<T>::new().max;
    each(rows, to, |row| max.finish(row.node.max, count_of(rows)));
}

pub fn sums<T: Described>(rows: &[Row<T>], to: &mut [MaybeUninit<T::Sum>]) {
    vectorize_256(
        #[inline(always)]
        || {
            each(
                rows,
                to,
                #[inline(always)]
                |row| T::sum(row.node.sums.total),
            );
        },
    );
}

/// Functions of rows, and of the elements of each slice, whose results are rounded to the dtype of means.
macro_rules! rounded {
    ($($name:ident: |$row:ident, $count:ident| $value:expr;)*) => {$(
        pub fn $name<T: Described>(rows: &[Row<T>], to: &mut [MaybeUninit<T::Mean>]) {
            let $count = count_of(rows);
            rounded(
                rows,
                to,
                #[inline(always)]
                |$row| $value,
            );
        }
    )*};
}

rounded! {
    means: |row, count| T::mean(row.node.sums.total, count);
    stds: |row, count| T::std(row.node.sums.moments, count);
    norms: |row, _count| T::norm(row.node.sums.norm);
}

/// The elements of each slice.
#[inline(always)]
fn count_of<T: Described>(rows: &[Row<T>]) -> u64 {
    rows.first().map_or(0, |row| row.count)
}

#[inline(always)]
fn each<T: Described, V>(rows: &[Row<T>], to: &mut [MaybeUninit<V>], value: impl Fn(&Row<T>) -> V) {
    for (row, to) in rows.iter().zip(to) {
        to.write(value(row));
    }
}

/// Values, rounded in a loop of their own, as [`crate::halves::finish_rounded`] does.
#[inline(always)]
fn rounded<T: Described>(rows: &[Row<T>], to: &mut [MaybeUninit<T::Mean>], value: impl Fn(&Row<T>) -> T::Float) {
    vectorize_256(
        #[inline(always)]
        || {
            let mut values = [T::Float::ZERO; SOME];
            for (rows, to) in rows.chunks(SOME).zip(to.chunks_mut(SOME)) {
                for (row, to) in rows.iter().zip(&mut values) {
                    *to = value(row);
                }
                for (&value, to) in values.iter().zip(to) {
                    to.write(T::Mean::from_float(value));
                }
            }
        },
    );
}
