//! The candidates in shared memory in order, the greatest first: Batcher's bitonic sort (*Sorting networks and their
//! applications*, 1968).

use super::candidate::Candidate;
use super::team::Team;
use warpfold_simt::{ALL, Simt};

/// Candidates that a warp compares among themselves without waiting for others.
pub const OF_WARP: u32 = 64;

/// Puts the first `count` candidates from `base` on in order. There is room for the next power of two, at least 2. The
/// team has met before, and has met after.
#[inline(always)]
pub fn order<S: Simt, T: Team, C: Candidate>(s: &S, room: C::Room, base: u32, count: u32) {
    let rank = T::rank(s);
    let size = count.max(2).next_power_of_two();
    let mut at = count + rank;
    while s.again(at < size) {
        C::put(s, room, base + at, C::NOTHING);
        at += T::THREADS;
    }
    T::meet(s);
    let mut run = 2;
    while s.again(run <= size) {
        let mut apart = run / 2;
        while s.again(apart > 0) {
            let mut pair = rank;
            while s.again(pair < size / 2) {
                let low = 2 * pair - (pair & (apart - 1));
                let (a, b) = (C::get(s, room, base + low), C::get(s, room, base + low + apart));
                // Every other run is in the opposite order, but for the last one.
                let falls = low & run == 0;
                if s.branch(b.is_above(a) == falls) {
                    C::put(s, room, base + low, b);
                    C::put(s, room, base + low + apart, a);
                }
                pair += T::THREADS;
            }
            // The pairs of a warp are neighbours, and so are the candidates of these, if they are near.
            let next = if apart > 1 { apart / 2 } else { run };
            if s.branch(2 * apart.max(next) > OF_WARP) {
                T::meet(s);
            } else {
                s.warp_barrier(ALL);
            }
            apart /= 2;
        }
        run *= 2;
    }
    T::meet(s);
}
