//! Sums over the rows that a lane goes through, of each of its columns.
//!
//! Idea: the tree over rows is a counter. What a step adds waits in shared memory for its neighbour of the same height,
//! is joined with it, and waits one level higher. A lane has places of its own, so nothing needs a barrier.

use super::Rowwise;
use super::columns::Sums;
use super::factor::number;
use super::number::words;
use crate::address::array;
use crate::node::{Node, publish};
use crate::source::{Bits, Source};
use warpfold_core::{Accumulate, Element, Float};
use warpfold_simt::{Pack, Shared, Simt};

/// What a lane needs to add up its columns.
pub(super) struct Waiting<'a> {
    pub call: &'a Rowwise,
    /// Room for the sums of each level, of each thread, by four words of all threads.
    pub shared: Shared<Pack<u32, 4>>,
    /// Threads of the block.
    pub threads: u32,
    /// The number of the part that is left of the rows.
    pub part: u64,
    /// Steps that were taken, of `call.turns`.
    pub step: u32,
}

impl Waiting<'_> {
    /// The sums of a step from a column on, number `set` of several such: joined with what waits for them, and kept, or
    /// left as a part.
    #[inline(always)]
    pub fn meet<S, X, const SUMS: usize>(
        &self,
        s: &S,
        mut sums: Sums<X::Value, SUMS>,
        [set, sets]: [u32; 2],
        column: u64,
    ) where
        S: Simt,
        X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
    {
        // Numbers of four words, and how many of these a sum has.
        let (per, each) = (X::Bits::PER, 4 / X::Value::WORDS);
        let packs = per / each;
        let slot =
            |level: u32, pack: u32| ((level * sets + set) * SUMS as u32 * packs + pack) * self.threads + s.thread_x();
        let (mut level, mut rest) = (0, self.step);
        while s.again(rest & 1 != 0) {
            let mut pack = 0;
            while pack < SUMS as u32 * packs {
                let (waits, mut i) = (s.get(self.shared, slot(level, pack)).0, 0);
                while i < each {
                    let place = &mut sums[(pack / packs) as usize][(pack % packs * each + i) as usize];
                    *place = number::<X::Value>(waits, i as usize).add(*place);
                    i += 1;
                }
                pack += 1;
            }
            (level, rest) = (level + 1, rest >> 1);
        }
        if s.branch(self.step as u64 + 1 < self.call.turns) {
            let mut pack = 0;
            while pack < SUMS as u32 * packs {
                let (mut waits, mut i) = ([0; 4], 0);
                while i < each {
                    let own = words(sums[(pack / packs) as usize][(pack % packs * each + i) as usize]);
                    let mut word = 0;
                    while word < X::Value::WORDS {
                        waits[(i * X::Value::WORDS + word) as usize] = own[word as usize];
                        word += 1;
                    }
                    i += 1;
                }
                s.put(self.shared, slot(level, pack), Pack(waits));
                pack += 1;
            }
            return;
        }
        let mut j = 0;
        while j < SUMS as u32 * per {
            let column = column + (j % per) as u64;
            if s.branch(self.part < self.call.parts && column < self.call.len) {
                let at = (self.part * SUMS as u64 + (j / per) as u64) * self.call.len + column;
                // NaN is the canonical one.
                let sum = X::Value::from_float(sums[(j / per) as usize][(j % per) as usize]);
                publish(s, array(self.call.at.parts), (self.call.to + at) as usize, sum);
            }
            j += 1;
        }
    }
}
