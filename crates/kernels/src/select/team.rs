//! The threads that choose from a row together: a warp, where rows are short, or a block.

use super::candidate::Candidate;
use super::{MOST, MOST_OF_WARP, OWN};
use crate::block::{THREADS, WARPS};
use warpfold_simt::{ALL, Shared, Simt};

/// Words that say how many candidates there are, and how many fitted.
pub const COUNTERS: u32 = 4;
/// Words that say what has been found.
pub const FOUND: u32 = 3;

/// The words of shared memory in which a team counts.
#[derive(Clone, Copy)]
pub struct Words {
    /// Those of all teams of the block.
    pub of: Shared<u32>,
    /// The first of [`COUNTERS`].
    pub counters: u32,
    /// The first of [`FOUND`].
    pub found: u32,
    /// The first of [`WARPS`], of a block.
    warps: u32,
    /// The first of a word for each thread.
    pub bins: u32,
}

/// A team of threads.
pub trait Team {
    /// Its threads.
    const THREADS: u32;
    /// Bits of a digit, of which there are as many as threads.
    const DIGIT: u32 = Self::THREADS.ilog2();
    /// Candidates that it has room for: twice the most that it chooses.
    const ROOM: u32 = OWN as u32 * Self::THREADS;

    /// The number of this thread in it.
    fn rank<S: Simt>(s: &S) -> u32;
    /// The number of the team in the block.
    fn of_block<S: Simt>(s: &S) -> u32;
    /// The number of the team in the grid.
    fn number<S: Simt>(s: &S) -> u64;
    /// Waits for all its threads, and orders memory among them.
    fn meet<S: Simt>(s: &S);
    /// The sum over the threads before this one, and over all of them.
    fn scan<S: Simt>(s: &S, words: Words, x: u32) -> (u32, u32);
    /// The candidates of all teams of the block.
    fn room<S: Simt, C: Candidate>(s: &S) -> C::Room;
    /// The words of all teams of the block.
    fn words<S: Simt>(s: &S) -> Shared<u32>;

    /// The words of this team.
    #[inline(always)]
    fn own_words<S: Simt>(s: &S) -> Words {
        let counters = Self::of_block(s) * words_of(Self::THREADS) as u32;
        let (found, warps) = (counters + COUNTERS, counters + COUNTERS + FOUND);
        Words { of: Self::words(s), counters, found, warps, bins: warps + WARPS }
    }
}

/// The words of a team.
const fn words_of(threads: u32) -> usize {
    (COUNTERS + FOUND + WARPS + threads) as usize
}

/// A block.
pub enum Block {}

impl Team for Block {
    const THREADS: u32 = THREADS;

    #[inline(always)]
    fn rank<S: Simt>(s: &S) -> u32 {
        s.thread_x()
    }
    #[inline(always)]
    fn of_block<S: Simt>(_: &S) -> u32 {
        0
    }
    #[inline(always)]
    fn number<S: Simt>(s: &S) -> u64 {
        s.block_x() as u64
    }
    #[inline(always)]
    fn meet<S: Simt>(s: &S) {
        s.barrier();
    }
    #[inline(always)]
    fn scan<S: Simt>(s: &S, words: Words, x: u32) -> (u32, u32) {
        let (mut up_to, lane) = (x, s.lane());
        for by in [1, 2, 4, 8, 16] {
            let other = s.shuffle_up(ALL, up_to, by);
            up_to += if lane >= by { other } else { 0 };
        }
        if s.branch(lane == 31) {
            s.put(words.of, words.warps + s.warp(), up_to);
        }
        s.barrier();
        let (mut before, mut all) = (up_to - x, 0);
        for warp in 0..WARPS {
            let sum = s.get(words.of, words.warps + warp);
            before += if warp < s.warp() { sum } else { 0 };
            all += sum;
        }
        (before, all)
    }
    #[inline(always)]
    fn room<S: Simt, C: Candidate>(s: &S) -> C::Room {
        C::room::<S, { 2 * MOST }>(s)
    }
    #[inline(always)]
    fn words<S: Simt>(s: &S) -> Shared<u32> {
        s.shared::<u32, { words_of(THREADS) }, 2>("counters")
    }
}

/// A warp.
pub enum Warp {}

impl Team for Warp {
    const THREADS: u32 = 32;

    #[inline(always)]
    fn rank<S: Simt>(s: &S) -> u32 {
        s.lane()
    }
    #[inline(always)]
    fn of_block<S: Simt>(s: &S) -> u32 {
        s.warp()
    }
    #[inline(always)]
    fn number<S: Simt>(s: &S) -> u64 {
        s.block_x() as u64 * WARPS as u64 + s.warp() as u64
    }
    #[inline(always)]
    fn meet<S: Simt>(s: &S) {
        s.warp_barrier(ALL);
    }
    #[inline(always)]
    fn scan<S: Simt>(s: &S, _: Words, x: u32) -> (u32, u32) {
        let (mut up_to, lane) = (x, s.lane());
        for by in [1, 2, 4, 8, 16] {
            let other = s.shuffle_up(ALL, up_to, by);
            up_to += if lane >= by { other } else { 0 };
        }
        (up_to - x, s.shuffle_idx(ALL, up_to, 31))
    }
    #[inline(always)]
    fn room<S: Simt, C: Candidate>(s: &S) -> C::Room {
        C::room::<S, { 2 * MOST_OF_WARP * WARPS as usize }>(s)
    }
    #[inline(always)]
    fn words<S: Simt>(s: &S) -> Shared<u32> {
        s.shared::<u32, { words_of(32) * WARPS as usize }, 2>("counters")
    }
}

const _: () = assert!(Block::ROOM as usize == 2 * MOST && Warp::ROOM as usize == 2 * MOST_OF_WARP);
