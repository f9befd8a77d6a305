//! From how often a digit occurs to where it begins, at each place. One block.
//!
//! It also says at which places keys differ, and which special element of all blocks is the first.

use crate::block::scan;
use crate::block::{THREADS, WARPS};
use crate::sort::key::{kind, read};
use crate::sort::state::{BLOCKS, FIRST, State, of_special};
use crate::sort::{RADIX, Sort};
use warpfold_simt::{ALL, Simt};

/// The only one.
#[inline(always)]
pub fn kernel<S: Simt>(s: &S, call: &Sort) {
    let warps = s.shared::<u32, { WARPS as usize }, 0>("sums of warps");
    let found = s.shared::<u32, { WARPS as usize }, 1>("specials of warps");
    let (tid, state) = (s.thread_x(), State::at(call.at.state));
    // Bits of places at which this thread's digit is that of all keys.
    let (mut same, mut place) = (0, 0);
    while s.again(place < call.places) {
        let slot = state.count(place, tid & (RADIX - 1));
        let many = s.load(state.words(), slot);
        let (before, _) = scan(s, warps, many);
        s.store(state.words(), slot, before);
        same |= (many as u64 == call.n) as u32 * (1 << place);
        place += 1;
        s.barrier();
    }
    let mut special = 0;
    let mut block = tid;
    while s.again(block < BLOCKS as u32) {
        special = special.max(s.load(state.words(), state.special(block)));
        block += THREADS;
    }
    for by in [1, 2, 4, 8, 16] {
        same |= s.shuffle_xor(ALL, same, by);
        special = special.max(s.shuffle_xor(ALL, special, by));
    }
    if s.branch(s.lane() == 0) {
        s.put(warps, s.warp(), same);
        s.put(found, s.warp(), special);
    }
    s.barrier();
    if s.branch(tid == 0) {
        for warp in 0..WARPS {
            same |= s.get(warps, warp);
            special = special.max(s.get(found, warp));
        }
        let all = (1 << call.places) - 1;
        state.set_live(s, if call.every != 0 { all } else { all & !same });
        s.store(state.words(), FIRST, special);
        if s.branch(call.elements.kind >= kind::LABEL)
            && let Some((at, _)) = of_special(special)
        {
            let [label] = read::<S, 1>(s, call.at.input, call.elements.size, at as u64, 1, call.n);
            s.store(state.words(), FIRST + 1, label as u32);
            s.store(state.words(), FIRST + 2, (label >> 32) as u32);
        }
    }
}
