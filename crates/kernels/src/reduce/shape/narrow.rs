//! Results of 1 or 2 bytes side by side, several to a lane: written by lines, wherever these begin.

use crate::address::array;
use crate::reduce::shape::piece::joined;
use warpfold_simt::{ALL, Pack, Simt};

/// Writes the first `columns` of a lane's results of `size` bytes, by whole lines, wherever they begin: neighbouring
/// lanes have neighbouring results, and a line that begins in one's and ends in the next one's is for that to write.
/// All lanes call it, and say twice `C` if they have more.
#[inline(always)]
pub fn write<S: Simt, const C: usize>(s: &S, to: u64, results: [u32; C], size: u32, columns: u32) {
    let (line, per) = (size * C as u32, 4 / size as usize);
    let words: [u32; 4] = warpfold_simt::array::from_fn(
        #[inline(always)]
        |i| {
            let (mut word, mut j) = (0, 0);
            while j < per && i * per + j < C {
                word |= (results[i * per + j] & (u32::MAX >> (32 - 8 * size))) << (8 * size as usize * j);
                j += 1;
            }
            word
        },
    );
    let [a, b, c, d] = words;
    let over = to as u32 & (line - 1);
    // Results that belong to the line that begins before them.
    let own = (line - over) / size;
    let (mut w, mut whole, mut follows) = (words, columns >= own, false);
    if s.branch(over > 0) {
        let [p, q, r, t] = words.map(
            #[inline(always)]
            |word| s.shuffle_idx(ALL, word, s.lane().max(1) - 1),
        );
        w = match line {
            16 => joined::<u8>([p, q, r, t], words, 16 - over),
            8 => joined::<u8>([p, q, a, b], [0; 4], 8 - over),
            _ => joined::<u8>([p, a, c, d], [0; 4], 4 - over),
        };
        whole &= s.lane() > 0;
        follows = s.lane() < 31 && columns >= C as u32 + own;
    }
    if s.branch(whole) {
        let to = array(to - over as u64);
        match line {
            16 => s.store(to, 0, Pack(w)),
            8 => s.store(to.cast(), 0, (w[1] as u64) << 32 | w[0] as u64),
            _ => s.store(to.cast(), 0, w[0]),
        }
    }
    if s.branch(!whole || (over > 0 && !follows)) {
        let mut j = 0;
        while j < C {
            let alone = if (j as u32) < own { !whole } else { !follows };
            if s.branch(alone && (j as u32) < columns) {
                store(s, to + j as u64 * size as u64, results[j], size);
            }
            j += 1;
        }
    }
}

/// Writes one result.
#[inline(always)]
pub fn store<S: Simt>(s: &S, to: u64, result: u32, size: u32) {
    if size == 2 { s.store(array(to), 0, result as u16) } else { s.store(array(to), 0, result as u8) }
}
