//! Few columns of an order-free reducer, in dense rows. Elements a whole number of rows apart belong to one column. A
//! period is some whole rows and some whole vectors long. It has a lane for each element, and lane i combines element i
//! of every period. At the end, the lanes of one column are combined.

use std::mem::MaybeUninit;

use super::policy::{AHEAD, BLOCK};
use super::simd::prefetch;

/// Elements of a piece: one vector of bytes, several vectors of wider elements.
const PIECE: usize = 64;

/// The nodes of the `out.len()` columns of a power of two of dense rows, at most `BLOCK` elements. Elements are lifted
/// and joined to their lanes, at most `BLOCK / PIECE` to a lane. Then lanes are widened, and those of a column joined.
#[inline(always)]
pub(super) fn fold_periods<T: Copy, A: Copy, B: Copy>(
    x: &[T],
    lift: impl Fn(T) -> A,
    join: impl Fn(A, A) -> A,
    widen: impl Fn(A) -> B,
    join_wide: impl Fn(B, B) -> B,
    out: &mut [MaybeUninit<B>],
) {
    let width = out.len();
    debug_assert!(x.len() <= BLOCK && (x.len() / width).is_power_of_two());
    let period = width << (PIECE.ilog2().saturating_sub(width.trailing_zeros()));
    let mut wide = [const { MaybeUninit::uninit() }; BLOCK];
    let mut rest = if period == PIECE && x.len() >= PIECE {
        // All lanes stay in registers.
        let (first, pieces) = x.as_chunks::<PIECE>().0.split_first().expect("a piece");
        let mut lanes = first.map(&lift);
        for piece in pieces {
            prefetch(piece.as_ptr().wrapping_byte_add(AHEAD), PIECE);
            for i in 0..PIECE {
                lanes[i] = join(lanes[i], lift(piece[i]));
            }
        }
        for (wide, lane) in wide.iter_mut().zip(lanes) {
            wide.write(widen(lane));
        }
        PIECE
    } else {
        let period = period.min(x.len());
        let mut lanes = [const { MaybeUninit::uninit() }; BLOCK];
        let lanes = &mut lanes[..period];
        let (first, periods) = x.split_at(period);
        for (lane, &x) in lanes.iter_mut().zip(first) {
            lane.write(lift(x));
        }
        // SAFETY: `first` has `period` elements, each of which has just been lifted to its lane.
        let lanes = unsafe { lanes.assume_init_mut() };
        for x in periods.chunks_exact(period) {
            let ((pieces, last), (lanes, last_lanes)) = (x.as_chunks::<PIECE>(), lanes.as_chunks_mut::<PIECE>());
            for (piece, lanes) in pieces.iter().zip(lanes) {
                prefetch(piece.as_ptr().wrapping_byte_add(AHEAD), PIECE);
                for i in 0..PIECE {
                    lanes[i] = join(lanes[i], lift(piece[i]));
                }
            }
            for (lane, &x) in last_lanes.iter_mut().zip(last) {
                *lane = join(*lane, lift(x));
            }
        }
        for (wide, &lane) in wide.iter_mut().zip(&*lanes) {
            wide.write(widen(lane));
        }
        period
    };
    // SAFETY: `rest` is the number of lanes, and the widened node of each is written.
    let wide = unsafe { wide[..rest].assume_init_mut() };
    while rest > width {
        rest /= 2;
        let (left, right) = wide[..2 * rest].split_at_mut(rest);
        for (left, &right) in left.iter_mut().zip(&*right) {
            *left = join_wide(*left, right);
        }
    }
    for (out, &node) in out.iter_mut().zip(&*wide) {
        out.write(node);
    }
}
