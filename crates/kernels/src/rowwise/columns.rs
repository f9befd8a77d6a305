//! The gradients of weights and biases: sums over rows of the gradients times the normalised elements, and of the
//! gradients.
//!
//! Idea: a lane has 16 bytes of columns of 16 rows, whose terms it adds as the tree over rows has them; lanes, warps
//! and, in launches of their own, blocks follow. Rows' norms were noted by an earlier launch.
//! Bottleneck: memory, one read of both arrays.

use super::norm::{Rms, norm};
use super::norm_gradient::NormGradients;
use super::number::{MOST, numbers};
use super::read::from_memory;
use super::spread::Spread;
use super::{Rowwise, WARPS};
use crate::address::array;
use crate::node::{Node, exchange, fetch, get, publish, put};
use crate::reduce::shape::piece::divide;
use crate::source::{Bits, Source};
use warpfold_core::{Accumulate, Element, Float};
use warpfold_simt::{ALL, Shared, Simt};

/// Rows of a lane.
pub const ROWS: u64 = 16;
/// Rows that a lane reads at once.
const STEPS: usize = 4;
/// Parts that a block joins: 32 to a thread.
pub const JOINED: u64 = WARPS as u64 * 32;
/// Words of shared memory: both sums of 8 columns for each thread.
const ROOM: usize = WARPS as usize * 32 * MOST * 2;

/// The sums of a lane's columns: of products, and, if there are two, of gradients.
pub(super) type Sums<F, const SUMS: usize> = [[F; MOST]; SUMS];

#[inline(always)]
pub(super) fn added<F: Float, const SUMS: usize>(left: Sums<F, SUMS>, right: Sums<F, SUMS>) -> Sums<F, SUMS> {
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |sum| {
            warpfold_simt::array::from_fn(
                #[inline(always)]
                |i| left[sum][i].add(right[sum][i]),
            )
        },
    )
}

/// The node of those of the block's warps at a place.
#[inline(always)]
fn over_warps<S: Simt, F: Element<Float = F> + Float + Node>(s: &S, shared: Shared<u32>, slots: u32, place: u32) -> F {
    let (mut nodes, mut warp) = ([F::NOTHING; WARPS as usize], 0);
    while warp < WARPS {
        nodes[warp as usize] = get(s, shared, slots, warp * (slots / WARPS) + place, F::NOTHING);
        warp += 1;
    }
    let mut each = 1;
    while each < WARPS as usize {
        let mut i = 0;
        while i < WARPS as usize {
            nodes[i] = nodes[i].add(nodes[i + each]);
            i += 2 * each;
        }
        each *= 2;
    }
    // NaN is the canonical one.
    F::from_float(nodes[0])
}

/// The sums over rows `row` to `row + 3` of a lane's columns from `from` on.
#[inline(always)]
fn four<S, X, const SUMS: usize>(
    s: &S,
    call: &Rowwise,
    spread: Spread<STEPS>,
    row: u64,
    from: u64,
) -> Sums<X::Value, SUMS>
where
    S: Simt,
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    let most = (32 * X::Bits::PER) as u64;
    let left = call.rows.saturating_sub(row);
    if !s.branch(s.any(ALL, left > 0)) {
        return [[X::Value::NOTHING; MOST]; SUMS];
    }
    let base = call.place::<X::Bits>(row, from, most);
    let place = |k: u32| call.next_place::<X::Bits>(base, call.moves(row, k), k, left);
    let packs = call.packs::<S, _, NormGradients<X, Rms, 1>, _, false, STEPS>(
        s,
        [X::Bits::ZERO; 2],
        spread,
        [false; 2],
        from_memory(s),
        place,
    );
    let mut terms: [Sums<X::Value, SUMS>; STEPS] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| {
            let mut sums = [[X::Value::NOTHING; MOST]; SUMS];
            if s.branch(packs.valid(k as u32) > 0) {
                let zero = X::Value::ZERO;
                let row = norm(fetch(s, array(call.at.norms), row as usize + k, (zero, zero)));
                let (x, gradients) = (numbers::<S, X>(s, packs.w[0][k]), numbers::<S, X>(s, packs.w[1][k]));
                let mut i = 0;
                while i < X::Bits::PER as usize {
                    sums[0][i] = gradients[i].mul(row.normalised(x[i]));
                    i += 1;
                }
                if SUMS == 2 {
                    sums[SUMS - 1] = gradients;
                }
            }
            sums
        },
    );
    let mut each = 1;
    while each < STEPS {
        let mut k = 0;
        while k < STEPS {
            terms[k] = added(terms[k], terms[k + each]);
            k += 2 * each;
        }
        each *= 2;
    }
    terms[0]
}

/// A lane's sums to shared memory, in an order of their own.
#[inline(always)]
fn kept<S: Simt, X: Source<Value: Node>, const SUMS: usize>(
    s: &S,
    shared: Shared<u32>,
    sums: Sums<X::Value, SUMS>,
    place: impl Fn(u32) -> u32,
) {
    let (per, mut k) = (X::Bits::PER, 0);
    while k < SUMS as u32 * per {
        put(s, shared, SUMS as u32 * per * 32 * WARPS, place(k), sums[(k / per) as usize][(k % per) as usize]);
        k += 1;
    }
}

/// The sums over a block's rows, of a stripe of columns.
#[inline(always)]
pub fn columns<S, X, const SUMS: usize>(s: &S, call: &Rowwise)
where
    S: Simt,
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    let shared = s.shared::<u32, ROOM, 0>("sums");
    let (lane, warp, spread) = (s.lane(), s.warp(), Spread::<STEPS>::new(call.lanes, 0));
    // Groups of lanes have rows of their own.
    let groups = 32 >> call.lanes;
    let (block, stripe) = divide(s.block_x() as u64, call.blocks);
    let (per, own) = (X::Bits::PER, s.thread_x());
    let from = stripe * (32 * per) as u64;
    let group = block * (WARPS * groups) as u64 + (warp * groups + (lane >> call.lanes)) as u64;
    // Rows 0 to 3 and 8 to 11 wait for their neighbours, and so do 0 to 7, in shared memory.
    let [mut four_rows, mut sums] = [[[X::Value::NOTHING; MOST]; SUMS]; 2];
    let slots = SUMS as u32 * per * 32 * WARPS;
    let (mut k, all) = (0, s.opaque(ROWS as u32 / STEPS as u32));
    while s.again(k < all) {
        let node = four::<S, X, SUMS>(s, call, spread, group * ROWS + (k * STEPS as u32) as u64, from);
        if s.branch(k & 1 == 0) {
            four_rows = node;
        } else {
            sums = added(four_rows, node);
        }
        if s.branch(k == 1) {
            kept::<S, X, SUMS>(s, shared, sums, |k| k * 32 * WARPS + own);
        }
        k += 1;
    }
    let mut first = sums;
    let mut k = 0;
    while k < SUMS as u32 * per {
        let place = &mut first[(k / per) as usize][(k % per) as usize];
        *place = get(s, shared, slots, k * 32 * WARPS + own, *place);
        k += 1;
    }
    sums = added(first, sums);
    let mut bit = 1 << call.lanes;
    while s.again(bit < 32) {
        sums = added(sums, exchange(s, sums, bit));
        bit <<= 1;
    }
    s.barrier();
    kept::<S, X, SUMS>(s, shared, sums, |k| (warp * SUMS as u32 * per + k) * 32 + lane);
    s.barrier();
    let (mut value, values) = (own, SUMS as u32 * per * 32);
    while s.again(value < values) {
        let node: X::Value = over_warps(s, shared, slots, value);
        let (lane, i, sum) = (value % 32, value / 32 % per, value / 32 / per);
        let column = from + (lane * per + i) as u64;
        if s.branch(lane < spread.lanes() && column < call.len) {
            let at = (block * SUMS as u64 + sum as u64) * call.len + column;
            publish(s, array(call.at.parts), (call.to + at) as usize, node);
        }
        value += WARPS * 32;
    }
}

/// Joins up to [`JOINED`] parts of `under` sums each.
#[inline(always)]
pub fn join<S, X>(s: &S, call: &Rowwise)
where
    S: Simt,
    X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
{
    let shared = s.shared::<u32, ROOM, 0>("sums");
    let (lane, warp, memory) = (s.lane(), s.warp(), array(call.at.parts));
    let (block, stripe) = divide(s.block_x() as u64, call.blocks);
    let (width, column) = (call.under, stripe * 32 + lane as u64);
    let first = block * JOINED + warp as u64 * 32;
    let mut nodes: [X::Value; 32] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| {
            let (part, mut node) = (first + k as u64, X::Value::NOTHING);
            if s.branch(part < call.parts && column < width) {
                node = fetch(s, memory, (call.from + part * width + column) as usize, node);
            }
            node
        },
    );
    let mut each = 1;
    while each < 32 {
        let mut k = 0;
        while k < 32 {
            nodes[k] = nodes[k].add(nodes[k + each]);
            k += 2 * each;
        }
        each *= 2;
    }
    put(s, shared, WARPS * 32, warp * 32 + lane, nodes[0]);
    s.barrier();
    if s.branch(warp == 0 && column < width) {
        let node: X::Value = over_warps(s, shared, WARPS * 32, lane);
        publish(s, memory, (call.to + block * width + column) as usize, node);
    }
}
