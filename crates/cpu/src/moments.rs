//! The variance of floats. Means and sums of squared deviations are in two arrays, so that both are vectorised.

use std::mem::MaybeUninit;

use warpfold_core::ops::{Deviation, Moments, Plain};
use warpfold_core::{Accumulate, DType, Float, Real, Reducer};

use super::halves::{Wide, finish_rounded, fold_staggered_wide, fold_widened};
use super::kernel::{Kernel, any_rows};
use super::panel::{Panel, TILE, fold_columns_at_level, fold_tile};
use super::policy::{AHEAD, BLOCK, SHORT};
use super::simd::{Simd, array, prefetch, vectorize_256, vectors_at_level};
use super::staggered::Staggered;
use super::tree::{Level, Ragged, climb, few, tree_levels};

/// The variance of floats, and of integers as floats.
#[derive(Clone)]
pub struct Spread<T>(pub Deviation<T, Plain>);

impl<T: Wide> Kernel for Spread<T> {
    type R = Deviation<T, Plain>;

    /// The end of a block is a few nodes of unequal lengths. 128 MiB, two threads of a busy EPYC with AVX-512, CPU time
    /// of each, ms of rows as blocks, and as columns: var of bf16 (220029, 305) along axis 1 21.4, 12.4; (66000, 1000)
    /// 12.5, 11.8; of f32 (80000, 400) 9.3, 7.2; (66000, 508) 7.4, 7.5; (52000, 640) 6.6, 7.5; of f64 (64000, 262) 5.5,
    /// 7.1.
    const SHORT: usize = 16 * SHORT / size_of::<T>();

    /// Of a power of two of elements, level by level, so few that each level is short, or so many that a row is a
    /// block. CPU time as above, ms of levels or blocks, and as columns: std of bf16 (8388608, 8) 16.1, 10.5; (2097152,
    /// 32) 17.4, 10.5; (524288, 128) 9.7, 12.5; (262144, 256) 9.7, 11.9; of f16 (4194304, 16) 16.5, 10.9; (524288, 128)
    /// 13.7, 12.0; of f32 (8388608, 4) 9.4, 9.9; (4194304, 8) 9.1, 6.8; (524288, 64) 7.8, 7.1; (262144, 128) 7.5, 8.0;
    /// (131072, 256) 18.3, 12.4; of f64 (524288, 32) 9.0, 6.2; (262144, 64) 11.4, 6.9; (131072, 128) 8.7, 8.1.
    fn apart(len: usize) -> bool {
        let most = if size_of::<T>() == 2 { MOST_IN_PIECE } else { Self::SHORT };
        len < Self::SHORT && (!len.is_power_of_two() || (LEAF..=most).contains(&len))
    }

    fn reducer(&self) -> &Self::R {
        &self.0
    }

    fn block(&self, x: &[T], start: u64) -> Moments<T::Float> {
        vectors_at_level(
            #[inline(always)]
            |level| spread(level, &self.0, x, start),
        )
    }

    fn rows(&self, x: &[T], len: usize, out: &mut [MaybeUninit<Moments<T::Float>>]) {
        if len == 1 || len > MOST_IN_PIECE || !len.is_power_of_two() {
            return any_rows(self, x, len, out);
        }
        vectors_at_level(
            #[inline(always)]
            |level| match size_of::<T::Float>() {
                4 => rows_of_pieces::<T, 256, 128, 64, 32>(level, self, x, len, out),
                _ => rows_of_pieces::<T, 128, 64, 32, 16>(level, self, x, len, out),
            },
        );
    }

    fn finish(&self, nodes: &[Moments<T::Float>], count: u64, out: &mut [MaybeUninit<T::Mean>]) {
        let reducer = Deviation::<T::Float>::new(self.0.ddof, self.0.root);
        let divisor = count as f64 - self.0.ddof;
        // To multiply by the inverse of a power of two is as exact as to divide, and takes less.
        let inverse = (divisor >= 1.0 && (divisor as u64).is_power_of_two() && divisor.fract() == 0.0)
            .then(|| T::Float::from_f64(1.0 / divisor));
        let by_one = Deviation::<T::Float>::new(0.0, self.0.root);
        vectorize_256(
            #[inline(always)]
            || match inverse {
                Some(inverse) => finish_rounded(
                    nodes,
                    out,
                    #[inline(always)]
                    |node| by_one.finish(Moments { m2: node.m2.mul(inverse), ..node }, 1),
                ),
                None => finish_rounded(
                    nodes,
                    out,
                    #[inline(always)]
                    |node| reducer.finish(node, count),
                ),
            },
        );
    }

    unsafe fn panel(&self, panel: Panel<'_, T>, out: &mut [MaybeUninit<Moments<T::Float>>]) {
        // SAFETY: the caller vouches for a group's share of `out` in every row.
        unsafe {
            fold_columns_at_level::<true, _, _>(
                panel,
                out,
                #[inline(always)]
                |level, rows, at, out| self.fold_tile(level, rows, at, out),
            );
        }
    }

    const STAGGERED: bool = true;

    unsafe fn staggered(&self, rows: Staggered<'_, T>, out: &mut [MaybeUninit<Moments<T::Float>>]) {
        let of_floats = Deviation::<T::Float>::new(self.0.ddof, self.0.root);
        // SAFETY: the caller vouches for the elements of every row.
        unsafe { fold_staggered_wide(&of_floats, rows, out) };
    }
}

impl<T: Wide> Spread<T> {
    /// The nodes of a tile of columns.
    #[inline(always)]
    fn fold_tile(
        &self,
        level: Simd,
        rows: &[&[T; TILE]],
        start: u64,
        out: &mut [MaybeUninit<Moments<T::Float>>; TILE],
    ) {
        if T::DTYPE == DType::F16 {
            fold_widened(level, &Deviation::<T::Float>::new(self.0.ddof, self.0.root), rows, start, out);
        } else {
            fold_tile::<true, _, _>(&self.0, rows, start, out);
        }
    }
}

/// Elements under each node that a piece leaves.
const LEAF: usize = 8;

/// The tree over a block, in pieces of 1024 bytes. (Short blocks have levels of their own, since those of a whole block
/// take longer to begin than a short block takes.)
#[inline(always)]
fn spread<T: Wide>(level: Simd, reducer: &Deviation<T>, x: &[T], start: u64) -> Moments<T::Float> {
    const LEAVES: usize = BLOCK / LEAF;
    const FEW: usize = LEAVES / 8;
    match (size_of::<T::Float>(), x.len()) {
        (4, ..=MOST_OF_FEW) => spread_pieces::<T, 256, 128, 64, 32, FEW>(level, reducer, x, start),
        (4, _) => spread_pieces::<T, 256, 128, 64, 32, LEAVES>(level, reducer, x, start),
        (_, ..=MOST_OF_FEW) => spread_pieces::<T, 128, 64, 32, 16, FEW>(level, reducer, x, start),
        _ => spread_pieces::<T, 128, 64, 32, 16, LEAVES>(level, reducer, x, start),
    }
}

/// The elements of a short block.
const MOST_OF_FEW: usize = BLOCK / 8;

/// The tree over a block in pieces of `P` elements, which are `P2` pairs, `P4` fours and `P8` leaves of [`LEAF`], at
/// most `LEAVES` in all. The arithmetic is [`Deviation`]'s for equal halves.
#[inline(always)]
fn spread_pieces<T: Wide, const P: usize, const P2: usize, const P4: usize, const P8: usize, const LEAVES: usize>(
    level: Simd,
    reducer: &Deviation<T>,
    x: &[T],
    start: u64,
) -> Moments<T::Float> {
    const LEAST: usize = 128;
    const { assert!(P >= LEAST && P == LEAF * P8) };
    let (pieces, rest) = x.as_chunks::<P>();
    if let ([piece], []) = (pieces, rest) {
        let node = whole_piece::<T, P, P2, P4, P8>(level, piece);
        return if node.m2.sub(node.m2) == T::Float::ZERO { node } else { not_finite(reducer, x, start) };
    }
    prefetch(rest.as_ptr().wrapping_byte_add(AHEAD), rest.len());
    // Levels take turns in two pairs of arrays, whose first nodes are written.
    let mut arrays = [[const { MaybeUninit::<T::Float>::uninit() }; LEAVES]; 4];
    let [means, m2s, next_means, next_m2s] = &mut arrays;
    let leaves = means.as_chunks_mut::<P8>().0.iter_mut().zip(m2s.as_chunks_mut::<P8>().0);
    for (piece, (means, m2s)) in pieces.iter().zip(leaves) {
        prefetch(piece.as_ptr().wrapping_byte_add(AHEAD), P);
        // The deviation of one element, x - x, is left out. It is 0 for a finite x. For any other x, the root's sum of
        // squares is not finite, which is noticed below.
        let (mean, m2) = pair::<_, P, P2>(&T::widen(level, piece));
        let (mean, m2) = halve::<_, P2, P4>(&mean, &m2, 2);
        let (mean, m2) = halve::<_, P4, P8>(&mean, &m2, 4);
        *means = array!(P8, i => MaybeUninit::new(mean[i]));
        *m2s = array!(P8, i => MaybeUninit::new(m2[i]));
    }
    let mut from = (&mut means[..], &mut m2s[..]);
    let mut to = (&mut next_means[..], &mut next_m2s[..]);
    let (mut nodes, mut weight) = (pieces.len() * P8, LEAF);
    while weight < P {
        // SAFETY: the level's first `nodes` nodes are written, by the loop above or by the last turn of this one.
        let (means, m2s) = unsafe { (from.0[..nodes].assume_init_ref(), from.1[..nodes].assume_init_ref()) };
        nodes /= 2;
        level_up(weight, nodes, (means, m2s), (to.0, to.1));
        weight *= 2;
        std::mem::swap(&mut from, &mut to);
    }
    let mut a: Level<Moments<T::Float>, { BLOCK / LEAST }> = [const { MaybeUninit::uninit() }; BLOCK / LEAST];
    let mut b: Level<Moments<T::Float>, { BLOCK / LEAST / 2 }> = [const { MaybeUninit::uninit() }; BLOCK / LEAST / 2];
    for ((node, mean), m2) in a[..nodes].iter_mut().zip(&*from.0).zip(&*from.1) {
        // SAFETY: the level's first `nodes` nodes are written.
        node.write(unsafe { Moments { mean: mean.assume_init(), m2: m2.assume_init() } });
    }
    let mut ragged = Ragged { tail: None };
    if !rest.is_empty() {
        let at = start + (nodes * P) as u64;
        let node = match rest.len() {
            WORTH.. => part_of_piece::<T, P, P2, P4, P8>(level, reducer, rest, at),
            _ => of_few(reducer, rest, at),
        };
        ragged.prepend(reducer, node, rest.len() as u64);
    }
    // SAFETY: the first `nodes` of `a` are written, one for each piece.
    unsafe { climb(reducer, &mut a, &mut b, nodes, P as u64, &mut ragged) };
    let node = ragged.tail.expect("a block is not empty").0;
    if node.m2.sub(node.m2) == T::Float::ZERO { node } else { not_finite(reducer, x, start) }
}

/// The node of a piece of finite elements. Every level has a length that the compiler knows.
#[inline(always)]
fn whole_piece<T: Wide, const P: usize, const P2: usize, const P4: usize, const P8: usize>(
    level: Simd,
    piece: &[T; P],
) -> Moments<T::Float> {
    let (mean, m2) = pair::<_, P, P2>(&T::widen(level, piece));
    let (mean, m2) = halve::<_, P2, P4>(&mean, &m2, 2);
    let (mean, m2) = halve::<_, P4, P8>(&mean, &m2, 4);
    let (mut weight, known) = (LEAF as u64, "a piece has 16 or 32 leaves");
    let (mean, m2) = match (mean.first_chunk::<32>(), m2.first_chunk::<32>()) {
        (Some(mean), Some(m2)) => {
            weight *= 2;
            halve::<_, 32, 16>(mean, m2, weight / 2)
        }
        _ => (*mean.first_chunk().expect(known), *m2.first_chunk().expect(known)),
    };
    let (mean, m2) = halve::<_, 16, 8>(&mean, &m2, weight);
    let (mean, m2) = halve::<_, 8, 4>(&mean, &m2, 2 * weight);
    let (mean, m2) = halve::<_, 4, 2>(&mean, &m2, 4 * weight);
    let ([mean], [m2]) = halve::<_, 2, 1>(&mean, &m2, 8 * weight);
    Moments { mean, m2 }
}

/// The tree over fewer elements than are worth that.
#[inline(never)]
fn of_few<T: Wide>(reducer: &Deviation<T>, x: &[T], start: u64) -> Moments<T::Float> {
    tree_levels(reducer, x, start)
}

/// The fewest elements that are worth the time of a whole piece.
const WORTH: usize = 32;

/// The tree over fewer elements than a piece has, as in [`spread_pieces`]: of each level of a piece whose other
/// elements are any, the nodes that make up the elements. An infinity or a NaN leaves a root that is not finite.
#[inline(always)]
fn part_of_piece<T: Wide, const P: usize, const P2: usize, const P4: usize, const P8: usize>(
    level: Simd,
    reducer: &Deviation<T>,
    x: &[T],
    start: u64,
) -> Moments<T::Float> {
    let mut piece = [x[0]; P];
    piece[..x.len()].copy_from_slice(x);
    let wide = T::widen(level, &piece);
    let whole = x.len() / LEAF * LEAF;
    let mut ragged = Ragged { tail: None };
    if whole < x.len() {
        let of_floats = Deviation::<T::Float>::new(reducer.ddof, reducer.root);
        let node = few(&of_floats, &wide[whole..x.len()], start + whole as u64);
        ragged.prepend(reducer, node, (x.len() - whole) as u64);
    }
    let (mean, m2) = pair::<_, P, P2>(&wide);
    let (mean, m2) = halve::<_, P2, P4>(&mean, &m2, 2);
    let (mut mean, mut m2) = halve::<_, P4, P8>(&mean, &m2, 4);
    let (mut weight, mut n) = (LEAF, P8);
    while weight <= whole {
        if whole & weight != 0 {
            let i = whole / weight - 1;
            ragged.prepend(reducer, Moments { mean: mean[i], m2: m2[i] }, weight as u64);
        }
        n /= 2;
        raise(weight, n, &mut mean, &mut m2);
        weight *= 2;
    }
    ragged.tail.expect("there are elements").0
}

/// The longest rows that are reduced piece by piece, several in each.
const MOST_IN_PIECE: usize = 64;

/// The nodes of rows of `len` elements, at least 2, piece by piece as in [`spread_pieces`]. Each piece has whole rows.
#[inline(always)]
fn rows_of_pieces<T: Wide, const P: usize, const P2: usize, const P4: usize, const P8: usize>(
    level: Simd,
    kernel: &Spread<T>,
    x: &[T],
    len: usize,
    out: &mut [MaybeUninit<Moments<T::Float>>],
) {
    const { assert!(P >= MOST_IN_PIECE) };
    let (pieces, rest) = x.as_chunks::<P>();
    let (of_pieces, of_rest) = out.split_at_mut(pieces.len() * (P / len));
    for (piece, out) in pieces.iter().zip(of_pieces.chunks_exact_mut(P / len)) {
        prefetch(piece.as_ptr().wrapping_byte_add(AHEAD), P);
        let (mean, m2) = pair::<_, P, P2>(&T::widen(level, piece));
        let finite = if len == 2 {
            write(&mean, &m2, out)
        } else {
            let (mean, m2) = halve::<_, P2, P4>(&mean, &m2, 2);
            if len == 4 {
                write(&mean, &m2, out)
            } else {
                let (mut mean, mut m2) = halve::<_, P4, P8>(&mean, &m2, 4);
                let (mut weight, mut n) = (LEAF, P8);
                while weight < len {
                    n /= 2;
                    raise(weight, n, &mut mean, &mut m2);
                    weight *= 2;
                }
                write(&mean[..n], &m2[..n], out)
            }
        };
        if !finite {
            rows_not_finite(kernel, piece, len, out);
        }
    }
    if !rest.is_empty() {
        any_rows(kernel, rest, len, of_rest);
    }
}

/// The nodes of rows of a piece that has infinities or NaNs, or squares that overflow.
#[cold]
#[inline(never)]
fn rows_not_finite<T: Wide>(kernel: &Spread<T>, x: &[T], len: usize, out: &mut [MaybeUninit<Moments<T::Float>>]) {
    any_rows(kernel, x, len, out);
}

/// Writes nodes. Returns whether all of them are finite.
#[inline(always)]
fn write<F: Float>(means: &[F], m2s: &[F], out: &mut [MaybeUninit<Moments<F>>]) -> bool {
    let (means, m2s) = (&means[..out.len()], &m2s[..out.len()]);
    let mut finite = true;
    for &m2 in m2s {
        finite &= m2.sub(m2) == F::ZERO;
    }
    for (i, out) in out.iter_mut().enumerate() {
        out.write(Moments { mean: means[i], m2: m2s[i] });
    }
    finite
}

/// The tree over a block with infinities or NaNs, or with squares that overflow. The root of such a block is never
/// taken for finite: sums of squares are not negative, so infinities among them do not cancel.
#[cold]
#[inline(never)]
fn not_finite<T: Wide>(reducer: &Deviation<T>, x: &[T], start: u64) -> Moments<T::Float> {
    tree_levels(reducer, x, start)
}

/// One level up: to `n` nodes, from `2 * n` nodes of `weight` elements each.
#[inline(always)]
fn level_up<F: Float>(weight: usize, n: usize, from: (&[F], &[F]), to: (&mut [MaybeUninit<F>], &mut [MaybeUninit<F>])) {
    let half = F::from_count(weight as u64).half();
    let (mean, m2) = (&from.0[..2 * n], &from.1[..2 * n]);
    let (means, m2s) = (&mut to.0[..n], &mut to.1[..n]);
    for i in 0..n {
        let d = mean[2 * i + 1].sub(mean[2 * i]);
        means[i].write(mean[2 * i].add(d.half()));
        m2s[i].write(m2[2 * i].add(m2[2 * i + 1]).add(d.square().mul(half)));
    }
}

/// [`level_up`] in place.
#[inline(always)]
fn raise<F: Float, const N: usize>(weight: usize, n: usize, means: &mut [F; N], m2s: &mut [F; N]) {
    let (left, below) = (*means, *m2s);
    // SAFETY: `MaybeUninit` of a float has the layout of a float, and `level_up` writes floats.
    let (means, m2s) = unsafe { (&mut *(&raw mut *means).cast(), &mut *(&raw mut *m2s).cast()) };
    let (means, m2s): (&mut [MaybeUninit<F>; N], &mut [MaybeUninit<F>; N]) = (means, m2s);
    level_up(weight, n, (&left, &below), (means, m2s));
}

/// The nodes of pairs of finite elements.
#[inline(always)]
fn pair<F: Float, const M: usize, const N: usize>(x: &[F; M]) -> ([F; N], [F; N]) {
    let (mut means, mut m2s) = ([F::ZERO; N], [F::ZERO; N]);
    for i in 0..N {
        Moments { mean: means[i], m2: m2s[i] } = Moments::of_finite(x[2 * i], x[2 * i + 1]);
    }
    (means, m2s)
}

/// One level up, from nodes of `weight` elements.
#[inline(always)]
fn halve<F: Float, const M: usize, const N: usize>(mean: &[F; M], m2: &[F; M], weight: u64) -> ([F; N], [F; N]) {
    let half = F::from_count(weight).half();
    let (mut means, mut m2s) = ([F::ZERO; N], [F::ZERO; N]);
    for i in 0..N {
        let d = mean[2 * i + 1].sub(mean[2 * i]);
        means[i] = mean[2 * i].add(d.half());
        m2s[i] = m2[2 * i].add(m2[2 * i + 1]).add(d.square().mul(half));
    }
    (means, m2s)
}
