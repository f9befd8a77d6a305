//! The mean of each window, and its gradient.

use super::number::Number;
use super::stack::Stack;
use super::walk::{Own, walk};
use super::{FIXED, PADDED, Pool};
use warpfold_core::pool::gathered;
use warpfold_simt::Simt;

/// What the sum of a window is divided by, from its elements, and those with padding.
#[inline(always)]
fn divisor<S: Simt, F: Number>(s: &S, call: &Pool, windows: [u32; 3]) -> F {
    if s.branch(call.divides == FIXED) {
        return F::from_f64(call.divisor);
    }
    let [z, y, x] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| {
            let along = &call.axis[i];
            (if call.divides == PADDED { along.padded(windows[i]) } else { along.elements(windows[i]).count }) as u64
        },
    );
    F::from_count(z * y * x)
}

/// Means, of `P` planes to a thread, with `L` levels above those of eight elements.
#[inline(always)]
pub fn average<S: Simt, F: Number, const P: usize, const L: usize>(s: &S, call: &Pool) {
    let Some(own) = Own::<P>::of(s, call) else { return };
    let spans = warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| call.axis[i].elements(own.at[i]),
    );
    let (mut stack, mut n) = (Stack::<F, P, L>::empty(), 0);
    walk(
        s,
        call,
        spans,
        #[inline(always)]
        |_, _| true,
        #[inline(always)]
        |_, by| {
            let leaf = F::read(s, call.dtype, own.sources.map(|at| at.wrapping_add(by as u64)));
            stack.push(s, n, leaf);
            n += 1;
        },
    );
    let (sums, divisor) = (stack.close(n), divisor::<S, F>(s, call, own.at));
    let mut k = 0;
    while k < P {
        if s.branch((k as u32) < own.planes) {
            sums[k].div(divisor).write(s, call.dtype, call.at.output, own.result(call, k));
        }
        k += 1;
    }
}

/// The gradient of the elements, from that of the means.
#[inline(always)]
pub fn backward<S: Simt, F: Number, const P: usize, const L: usize>(s: &S, call: &Pool) {
    let Some(own) = Own::<P>::of(s, call) else { return };
    let spans = warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| call.axis[i].windows(own.at[i]),
    );
    let (mut stack, mut n) = (Stack::<F, P, L>::empty(), 0);
    walk(
        s,
        call,
        spans,
        #[inline(always)]
        |_, _| true,
        #[inline(always)]
        |windows, by| {
            let gradients: [F; P] = F::read(s, call.dtype, own.sources.map(|at| at.wrapping_add(by as u64)));
            let divisor = divisor::<S, F>(s, call, windows);
            stack.push(s, n, gradients.map(|gradient| gradient.div(divisor)));
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
