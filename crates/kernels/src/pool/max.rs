//! The greatest element of each window, where it is, and its gradient.

use super::number::Number;
use super::stack::Stack;
use super::walk::{Own, walk};
use super::{PLANES, Pool};
use crate::address::array;
use warpfold_core::Key;
use warpfold_core::pool::{beats, gathered, rank};
use warpfold_simt::Simt;

/// The index of no element.
const NONE: u32 = u32::MAX;

/// The number of an element in its plane.
#[inline(always)]
fn index(call: &Pool, [z, y, x]: [u32; 3]) -> u32 {
    (z * call.axis[1].inputs + y) * call.axis[2].inputs + x
}

/// The greatest elements, and the index of the first of them, if indices are wanted.
#[inline(always)]
pub fn max<S: Simt, F: Number>(s: &S, call: &Pool) {
    let Some(own) = Own::<PLANES>::of(s, call) else { return };
    let spans = warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| call.axis[i].elements(own.at[i]),
    );
    let (mut best, mut first) = ([F::Key::MIN; PLANES], [NONE; PLANES]);
    walk(
        s,
        call,
        spans,
        #[inline(always)]
        |_, _| true,
        #[inline(always)]
        |at, by| {
            let x: [F; PLANES] = F::read(s, call.dtype, own.sources.map(|at| at.wrapping_add(by as u64)));
            let (at, mut k) = (index(call, at), 0);
            while k < PLANES {
                let key = rank(x[k]);
                first[k] = if beats(key, best[k]) { at } else { first[k] };
                best[k] = best[k].max(key);
                k += 1;
            }
        },
    );
    let mut k = 0;
    while k < PLANES {
        if s.branch((k as u32) < own.planes) {
            let (to, key) = (own.result(call, k), best[k]);
            // A window of padding has no element.
            let value = if key == F::Key::MIN { F::from_f64(f64::NEG_INFINITY) } else { F::from_key(key) };
            value.write(s, call.dtype, call.at.output, to);
            if s.branch(call.at.places != 0) {
                let place = if first[k] == NONE { -1 } else { first[k] as i64 };
                s.store(array::<i64>(call.at.places), to as usize, place);
            }
        }
        k += 1;
    }
}

/// The gradient of the elements, from that of the greatest ones, whose indices are there, in C order.
#[inline(always)]
pub fn backward<S: Simt, F: Number, const P: usize, const L: usize>(s: &S, call: &Pool) {
    let Some(own) = Own::<P>::of(s, call) else { return };
    let spans = warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| call.axis[i].windows(own.at[i]),
    );
    let (chosen, [_, rows, columns]) = (index(call, own.at) as i64, [0, 1, 2].map(|i| call.axis[i].outputs as u64));
    let each = call.axis[0].outputs as u64 * rows * columns;
    let (mut stack, mut n) = (Stack::<F, P, L>::empty(), 0);
    walk(
        s,
        call,
        spans,
        #[inline(always)]
        |i, window| call.axis[i].holds(s, window, own.at[i]),
        #[inline(always)]
        |[z, y, x], by| {
            let gradients: [F; P] = F::read(s, call.dtype, own.sources.map(|at| at.wrapping_add(by as u64)));
            let window = (z as u64 * rows + y as u64) * columns + x as u64;
            let leaf = warpfold_simt::array::from_fn(
                #[inline(always)]
                |k| {
                    let plane = own.plane + (k as u32).min(own.planes - 1) as u64;
                    let place = s.load(array::<i64>(call.at.places), (plane * each + window) as usize);
                    if place == chosen { gradients[k] } else { F::NOTHING }
                },
            );
            stack.push(s, n, leaf);
            n += 1;
        },
    );
    let sums = stack.close(n);
    let mut k = 0;
    while k < P {
        if s.branch((k as u32) < own.planes) {
            gathered(sums[k]).write(s, call.dtype, call.at.output, own.result(call, k));
        }
        k += 1;
    }
}
