//! Sums, sums of squares and moments at once. An element is widened once for all of them, and paired with its neighbour
//! once. Each quantity of a level has an array of its own, so that all are vectorised.

use std::mem::MaybeUninit;

use warpfold_core::ops::{Deviation, Moments};
use warpfold_core::{DType, Float};

use crate::halves::Wide;
use crate::high::fold_high;
use crate::policy::{AHEAD, BLOCK, PANEL};
use crate::simd::{Simd, array, inlined, prefetch};
use crate::tree::{GROUP, PIECE, tree_levels};

/// Neighbouring nodes of a level.
#[derive(Clone, Copy)]
pub struct Trees<F, const N: usize> {
    /// Sums.
    pub sum: [F; N],
    /// Sums of squares.
    pub norm: [F; N],
    /// Means.
    pub mean: [F; N],
    /// Sums of squared deviations.
    pub m2: [F; N],
}

/// Nodes of [`GROUP`] elements under a [`PIECE`].
const NODES: usize = PIECE / GROUP;

impl<F: Float, const N: usize> Trees<F, N> {
    const ZERO: Self = Self { sum: [F::ZERO; N], norm: [F::ZERO; N], mean: [F::ZERO; N], m2: [F::ZERO; N] };

    /// The nodes of pairs of finite elements.
    #[inline(always)]
    fn of_pairs<const M: usize>(x: &[F; M]) -> Self {
        const { assert!(M == 2 * N) };
        let mut nodes = Self::ZERO;
        for i in 0..N {
            nodes.set(i, One::of_pair(x[2 * i], x[2 * i + 1]));
        }
        nodes
    }

    /// One level up, from nodes of `weight` elements.
    #[inline(always)]
    fn above<const M: usize>(below: &Trees<F, M>, weight: u64) -> Self {
        const { assert!(M == 2 * N) };
        let half = F::from_count(weight).half();
        let mut nodes = Self::ZERO;
        for i in 0..N {
            nodes.set(i, One::of_halves(below.get(2 * i), below.get(2 * i + 1), half));
        }
        nodes
    }

    /// `right[i] = self[i] ⊕ right[i]`, of nodes of `m` and of `n` elements.
    #[inline(always)]
    fn merge(&self, m: u64, right: &mut Self, n: u64) {
        if m == n {
            let half = F::from_count(m).half();
            for i in 0..N {
                right.set(i, One::of_halves(self.get(i), right.get(i), half));
            }
            return;
        }
        let share = F::from_count(n).div(F::from_count(m).add(F::from_count(n)));
        let weight = F::from_count(m).mul(share);
        for i in 0..N {
            right.set(i, One::of_two(self.get(i), right.get(i), share, weight));
        }
    }

    /// Node number `i`.
    #[inline(always)]
    pub(super) fn get(&self, i: usize) -> One<F> {
        One { sum: self.sum[i], norm: self.norm[i], moments: Moments { mean: self.mean[i], m2: self.m2[i] } }
    }

    #[inline(always)]
    fn set(&mut self, i: usize, node: One<F>) {
        (self.sum[i], self.norm[i], self.mean[i], self.m2[i]) =
            (node.sum, node.norm, node.moments.mean, node.moments.m2);
    }

    /// Replaces the nodes from number `at` on.
    #[inline(always)]
    fn put<const M: usize>(&mut self, at: usize, nodes: &Trees<F, M>) {
        for i in 0..M {
            self.set(at + i, nodes.get(i));
        }
    }
}

/// A node of each tree.
#[derive(Clone, Copy)]
pub struct One<F> {
    pub sum: F,
    pub norm: F,
    pub moments: Moments<F>,
}

impl<F: Float> One<F> {
    #[inline(always)]
    fn alone(self) -> Trees<F, 1> {
        let mut node = Trees::ZERO;
        node.set(0, self);
        node
    }

    #[inline(always)]
    fn of(x: F) -> Self {
        Self { sum: x, norm: x.square(), moments: Moments { mean: x, m2: x.sub(x) } }
    }

    #[inline(always)]
    fn of_pair(a: F, b: F) -> Self {
        Self { sum: a.add(b), norm: a.square().add(b.square()), moments: Moments::of_finite(a, b) }
    }

    /// The node above two of as many elements each, `half` of which is given.
    #[inline(always)]
    fn of_halves(a: Self, b: Self, half: F) -> Self {
        let d = b.moments.mean.sub(a.moments.mean);
        Self::of_difference(a, b, d, d.half(), half)
    }

    /// The node above two of any elements. `share` is the right one's share of them, and `weight` that share of the
    /// left one's.
    #[inline(always)]
    fn of_two(a: Self, b: Self, share: F, weight: F) -> Self {
        let d = b.moments.mean.sub(a.moments.mean);
        Self::of_difference(a, b, d, d.mul(share), weight)
    }

    #[inline(always)]
    fn of_difference(a: Self, b: Self, d: F, step: F, weight: F) -> Self {
        let m2 = a.moments.m2.add(b.moments.m2).add(d.square().mul(weight));
        let moments = Moments { mean: a.moments.mean.add(step), m2 };
        Self { sum: a.sum.add(b.sum), norm: a.norm.add(b.norm), moments }
    }

    /// Whether no element is infinite or NaN, and no square is infinite. (Sums of squares are not negative, so
    /// infinities among them do not cancel.)
    #[inline(always)]
    pub(super) fn is_finite(&self) -> bool {
        self.moments.m2.sub(self.moments.m2) == F::ZERO
    }
}

/// The right end of a level: nodes that cover fewer elements than the level's whole nodes, and how many.
type Tail<F, const N: usize> = Option<(Trees<F, N>, u64)>;

/// Combines whole nodes of `m` elements with the nodes to their right.
#[inline(always)]
fn prepend<F: Float, const N: usize>(left: &Trees<F, N>, m: u64, tail: &mut Tail<F, N>) {
    match tail {
        Some((right, n)) => {
            left.merge(m, right, *n);
            *n += m;
        }
        None => *tail = Some((*left, m)),
    }
}

/// The trees over a block.
#[inline(always)]
pub(super) fn block<T: Wide>(level: Simd, x: &[T]) -> One<T::Float> {
    let node = match size_of::<T::Float>() {
        4 => block_of::<T, 128, 64, 32, 16, 8>(level, x),
        _ => block_of::<T, 64, 32, 16, 8, 4>(level, x),
    };
    if node.is_finite() { node } else { One { moments: not_finite(x), ..node } }
}

#[cold]
#[inline(never)]
fn not_finite<T: Wide>(x: &[T]) -> Moments<T::Float> {
    tree_levels(&Deviation::<T>::new(0.0, true), x, 0)
}

/// [`block`], `P` elements at a time, which are `P2` pairs, and so on.
#[inline(always)]
fn block_of<T: Wide, const P: usize, const P2: usize, const P4: usize, const P8: usize, const P16: usize>(
    level: Simd,
    x: &[T],
) -> One<T::Float> {
    const { assert!(P == GROUP * P16) };
    let mut chunks = [const { MaybeUninit::<Trees<T::Float, NODES>>::uninit() }; BLOCK / PIECE];
    let mut last = &x[x.len()..];
    for (piece, chunk) in x.chunks(PIECE).zip(&mut chunks) {
        prefetch(piece.as_ptr().wrapping_byte_add(AHEAD), PIECE);
        let nodes = chunk.write(Trees::ZERO);
        let (wide, rest) = piece.as_chunks::<P>();
        for (i, x) in wide.iter().enumerate() {
            nodes.put(i * P16, &low::<_, P, P2, P4, P8, P16>(&T::widen(level, x)));
        }
        let (groups, after) = rest.as_chunks::<GROUP>();
        for (i, x) in groups.iter().enumerate() {
            nodes.put(wide.len() * P16 + i, &low::<_, 16, 8, 4, 2, 1>(&T::widen(level, x)));
        }
        last = after;
    }
    let mut tail = short(level, last);
    let (mut n, mut weight) = (x.len() / GROUP, GROUP as u64);
    while n > NODES {
        let last = n - 1;
        // SAFETY: the level's first `n` nodes are written.
        odd(unsafe { chunks[last / NODES].assume_init_ref() }, n, weight, &mut tail);
        for i in 0..(n / 2).div_ceil(NODES) {
            let right = (2 * i + 1).min(last / NODES);
            // SAFETY: the chunks of the level's first `n` nodes are written.
            let (left, right) = unsafe { (chunks[2 * i].assume_init(), chunks[right].assume_init()) };
            let (left, right) = (Trees::above(&left, weight), Trees::above(&right, weight));
            let nodes = chunks[i].write(Trees::ZERO);
            nodes.put::<{ NODES / 2 }>(0, &left);
            nodes.put::<{ NODES / 2 }>(NODES / 2, &right);
        }
        n /= 2;
        weight *= 2;
    }
    if n > 0 {
        // SAFETY: the level's nodes, at most a chunk, are written.
        top(unsafe { chunks[0].assume_init_ref() }, n, weight, &mut tail);
    }
    tail.expect("a block is not empty").0.get(0)
}

/// The levels above at most [`NODES`] nodes, of which those from number `n` on have no meaning.
#[inline(always)]
fn top<F: Float>(nodes: &Trees<F, NODES>, n: usize, weight: u64, tail: &mut Tail<F, 1>) {
    odd(nodes, n, weight, tail);
    let nodes: Trees<F, 8> = Trees::above(nodes, weight);
    odd(&nodes, n / 2, 2 * weight, tail);
    let nodes: Trees<F, 4> = Trees::above(&nodes, 2 * weight);
    odd(&nodes, n / 4, 4 * weight, tail);
    let nodes: Trees<F, 2> = Trees::above(&nodes, 4 * weight);
    odd(&nodes, n / 8, 8 * weight, tail);
    let nodes: Trees<F, 1> = Trees::above(&nodes, 8 * weight);
    odd(&nodes, n / 16, 16 * weight, tail);
}

/// Combines the last node of a level of `n` with the nodes to its right, if its number is odd. `nodes` are the level's
/// last `N`.
#[inline(always)]
fn odd<F: Float, const N: usize>(nodes: &Trees<F, N>, n: usize, weight: u64, tail: &mut Tail<F, 1>) {
    if n % 2 == 1 {
        prepend(&nodes.get((n - 1) % N).alone(), weight, tail);
    }
}

/// The first four levels.
#[inline(always)]
fn low<F: Float, const P: usize, const P2: usize, const P4: usize, const P8: usize, const P16: usize>(
    x: &[F; P],
) -> Trees<F, P16> {
    let pairs: Trees<F, P2> = Trees::of_pairs(x);
    let fours: Trees<F, P4> = Trees::above(&pairs, 2);
    let eights: Trees<F, P8> = Trees::above(&fours, 4);
    Trees::above(&eights, 8)
}

/// The trees over fewer than [`GROUP`] elements.
#[inline(always)]
fn short<T: Wide>(level: Simd, x: &[T]) -> Tail<T::Float, 1> {
    let (mut tail, mut rest) = (None, x);
    if x.len() & 1 != 0
        && let Some((&last, before)) = rest.split_last()
    {
        rest = before;
        prepend(&One::of(last.float()).alone(), 1, &mut tail);
    }
    if x.len() & 2 != 0
        && let Some((before, two)) = rest.split_last_chunk::<2>()
    {
        rest = before;
        prepend(&Trees::of_pairs(&T::widen(level, two)), 2, &mut tail);
    }
    if x.len() & 4 != 0
        && let Some((before, four)) = rest.split_last_chunk::<4>()
    {
        rest = before;
        let pairs: Trees<_, 2> = Trees::of_pairs(&T::widen(level, four));
        prepend(&Trees::above(&pairs, 2), 4, &mut tail);
    }
    if let Some(eight) = rest.first_chunk::<8>() {
        let pairs: Trees<_, 4> = Trees::of_pairs(&T::widen(level, eight));
        let fours: Trees<_, 2> = Trees::above(&pairs, 2);
        prepend(&Trees::above(&fours, 4), 8, &mut tail);
    }
    tail
}

/// The trees over each column of at most [`crate::policy::TALL`] rows. `also` is called with the number of the first of
/// each eight rows, and of the rest, while they are in the cache.
#[inline(always)]
pub(super) fn columns<T: Wide, const W: usize>(
    level: Simd,
    rows: &[&[T; W]],
    mut also: impl FnMut(usize),
) -> Trees<T::Float, W> {
    fold_high(
        rows,
        #[inline(always)]
        |from, rows| {
            if from % PANEL == 0 {
                also(from);
            }
            let known = "1, 2, 4 or 8 rows";
            match rows.len() {
                PANEL => of_rows::<T, PANEL, W>(level, rows.first_chunk().expect(known)),
                4 => of_rows::<T, 4, W>(level, rows.first_chunk().expect(known)),
                2 => of_rows::<T, 2, W>(level, rows.first_chunk().expect(known)),
                _ => of_rows::<T, 1, W>(level, rows.first_chunk().expect(known)),
            }
        },
        #[inline(always)]
        |left, m, right, n| left.merge(m, right, n),
    )
}

/// The trees over each column of 1, 2, 4 or 8 rows.
#[inline(always)]
fn of_rows<T: Wide, const R: usize, const W: usize>(level: Simd, rows: &[&[T; W]; R]) -> Trees<T::Float, W> {
    if T::DTYPE == DType::F16 {
        let wide: [[T::Float; W]; R] = array!(R, r => T::widen(level, rows[r]));
        return fold_rows::<_, R, W>(
            #[inline(always)]
            |row, i| wide[row][i],
        );
    }
    fold_rows::<_, R, W>(
        #[inline(always)]
        |row, i| rows[row][i].float(),
    )
}

#[inline(always)]
fn fold_rows<F: Float, const R: usize, const W: usize>(x: impl Fn(usize, usize) -> F) -> Trees<F, W> {
    let (two, four) = (F::from_count(1), F::from_count(2));
    let mut nodes = Trees::ZERO;
    for i in 0..W {
        let pair = inlined(
            #[inline(always)]
            |row: usize| One::of_pair(x(row, i), x(row + 1, i)),
        );
        let fours = inlined(
            #[inline(always)]
            |row: usize| One::of_halves(pair(row), pair(row + 2), two),
        );
        let node = match R {
            1 => One::of(x(0, i)),
            2 => pair(0),
            4 => fours(0),
            _ => One::of_halves(fours(0), fours(4), four),
        };
        nodes.set(i, node);
    }
    nodes
}
