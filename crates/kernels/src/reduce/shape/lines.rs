//! Outputs of which a line of 16 bytes has several, side by side, and whose results are as narrow as elements.
//!
//! Idea: nothing is staged. A lane reads whole lines, and of each it writes all results at once. Where results are
//! wider, neighbouring lanes must have neighbouring outputs, or writing takes longer than staging. Bottleneck: memory;
//! of outputs of two elements, instructions.

use crate::address::array;
use crate::reduce::call::Call;
use crate::reduce::fold::Parts;
use crate::reduce::shape::piece::{FEW, Walk};
use crate::reduce::shape::split::{STEPS, next};
use crate::reduce::shape::staged::{Staged, Tile, WHOLE};
use crate::source::{Bits, words};
use warpfold_simt::{ALL, Simt};

/// Lines of a lane that are finished together: more would be more code, fewer more moves.
const GROUP: u32 = 2;

/// Outputs of a line, at most.
const MOST: usize = 8;

impl Tile {
    /// Whether its outputs are taken in this way.
    #[inline(always)]
    pub(super) fn is_whole<S: Simt, W: Walk, const K: usize>(&self, s: &S, call: &Call<Staged<K>>) -> bool {
        let size = W::Bits::SIZE as u64;
        // Results of a line begin at multiples of their bytes.
        let results = 16u32.wrapping_shr(call.shape.len.trailing_zeros());
        let at = call.at.output.wrapping_add((self.out * size as i64) as u64);
        let aligned = (self.first & 15) as u32 | at as u32 & results.wrapping_sub(1) == 0;
        W::HAS_FEW && W::Fold::LINES && size <= 2 && s.branch(call.shape.layout & WHOLE != 0 && aligned)
    }

    /// Its outputs, of 2, 4 or 8 elements each.
    #[inline(always)]
    pub(super) fn whole<S: Simt, W: Walk, const K: usize>(&self, s: &S, walk: &W, call: &Call<Staged<K>>) {
        let shift = 4 - (call.shape.len * W::Bits::SIZE).trailing_zeros();
        let lines = self.units >> shift;
        let (base, last, lane) = (array::<u8>(self.first), 16 * lines - 16, s.lane());
        let (mut w, mut from, mut k) = ([[0; 4]; STEPS], 16 * lane, 0);
        while k < STEPS {
            if s.branch(32 * (k as u32) < lines) {
                w[k] = words(s, base.offset(from.min(last) as usize), 16);
            }
            from = s.opaque(from + 512);
            k += 1;
        }
        let (walk, mut w, ordinary) = walk.ready(s, w);
        let ordinary = s.all(ALL, ordinary);
        let mut line = lane;
        while s.again(line - lane < lines) {
            let mut j = 0;
            while j < GROUP {
                if s.branch(line < lines) {
                    of_line(s, &walk, call, &w[j as usize], self.out + ((line as i64) << shift), ordinary);
                }
                line += 32;
                j += 1;
            }
            w = next(next(w, w[0]), w[0]);
        }
    }
}

/// The outputs of a line, the first of which is number `out`. Of each length there is code of its own, in which nothing
/// depends on it.
#[inline(always)]
fn of_line<S: Simt, W: Walk, const K: usize>(
    s: &S,
    walk: &W,
    call: &Call<Staged<K>>,
    line: &[u32; 4],
    out: i64,
    ordinary: bool,
) {
    let to = array::<u8>(call.at.output.wrapping_add((out * W::Bits::SIZE as i64) as u64));
    if s.branch(call.shape.len == 2) {
        let [a, b] = results::<S, W, K, 2>(s, walk, call, line, ordinary);
        s.store(to.cast(), 0, (b as u64) << 32 | a as u64);
    } else if s.branch(call.shape.len == 4) {
        s.store(to.cast(), 0, results::<S, W, K, 4>(s, walk, call, line, ordinary)[0]);
    } else {
        s.store(to.cast(), 0, results::<S, W, K, 8>(s, walk, call, line, ordinary)[0] as u16);
    }
}

/// The results of a line's outputs of `LEN` elements each, side by side in words.
#[inline(always)]
fn results<S: Simt, W: Walk, const K: usize, const LEN: usize>(
    s: &S,
    walk: &W,
    call: &Call<Staged<K>>,
    line: &[u32; 4],
    ordinary: bool,
) -> [u32; 2] {
    let (bits, per) = (8 * W::Bits::SIZE as usize, 4 / W::Bits::SIZE as usize);
    let (mut words, mut j) = ([0; 2], 0);
    while (j + 1) * LEN <= W::PER as usize && j < MOST && j < 2 * per {
        let (mut e, mut i) = ([W::Bits::ZERO; FEW as usize], 0);
        while i < LEN {
            e[i] = W::Bits::nth(line, j * LEN + i);
            i += 1;
        }
        let part = walk.few(s, &e, LEN as u32, ordinary);
        let result = walk.fold().narrow(s, &call.recipe, part) & (u32::MAX >> (32 - bits));
        words[j / per] |= result << (bits * (j % per));
        j += 1;
    }
    words
}
