//! What a thread reads at once: a pack of elements, and one of their gradients.

use super::{Channels, NORM};
use crate::address::array;
use crate::source::words;
use warpfold_simt::Simt;

/// The words of two packs that have the same number.
#[derive(Clone, Copy)]
pub struct Words {
    /// Of elements.
    pub x: [u32; 4],
    /// Of their gradients.
    pub gradient: [u32; 4],
}

/// Those of pack number `i`. Without a gradient it is the elements.
#[inline(always)]
pub fn read<S: Simt>(s: &S, call: &Channels, i: u64) -> Words {
    let of = |first: u64| words(s, array(first + 16 * i), 16);
    let x = of(call.at.x);
    Words { x, gradient: if s.branch(call.kind == NORM) { x } else { of(call.at.gradient) } }
}
