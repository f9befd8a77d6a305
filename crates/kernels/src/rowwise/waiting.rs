//! Sums over the rows that a lane goes through, of each of its columns.
//!
//! Idea: the tree over rows is a counter. What a step adds waits in shared memory for its neighbour of the same height,
//! is joined with it, and waits one level higher. A lane has places of its own, so nothing needs a barrier.

use super::Rowwise;
use super::columns::Sums;
use crate::address::array;
use crate::node::{Node, get, publish, put};
use crate::source::{Bits, Source};
use warpfold_core::{Accumulate, Element, Float};
use warpfold_simt::{Shared, Simt};

/// What a lane needs to add up its columns.
pub(super) struct Waiting<'a> {
    pub call: &'a Rowwise,
    /// Room for `slots` numbers.
    pub shared: Shared<u32>,
    pub slots: u32,
    /// Threads of the block.
    pub threads: u32,
    /// The number of the part that is left of the rows.
    pub part: u64,
    /// The lane's first column.
    pub column: u64,
    /// Steps that were taken, of `call.turns`.
    pub step: u32,
}

impl Waiting<'_> {
    /// The sums of a step: joined with what waits for them, and kept, or left as a part.
    #[inline(always)]
    pub fn meet<S, X, const SUMS: usize>(&self, s: &S, mut sums: Sums<X::Value, SUMS>)
    where
        S: Simt,
        X: Source<Value: Element<Float = X::Value, Mean = X::Value> + Float + Node>,
    {
        let (per, width, thread) = (X::Bits::PER, SUMS as u32 * X::Bits::PER, s.thread_x());
        let slot = |level: u32, j: u32| (level * width + j) * self.threads + thread;
        let (mut level, mut rest) = (0, self.step);
        while s.again(rest & 1 != 0) {
            let mut j = 0;
            while j < width {
                let place = &mut sums[(j / per) as usize][(j % per) as usize];
                *place = get(s, self.shared, self.slots, slot(level, j), *place).add(*place);
                j += 1;
            }
            (level, rest) = (level + 1, rest >> 1);
        }
        if s.branch(self.step as u64 + 1 < self.call.turns) {
            let mut j = 0;
            while j < width {
                put(s, self.shared, self.slots, slot(level, j), sums[(j / per) as usize][(j % per) as usize]);
                j += 1;
            }
            return;
        }
        let mut j = 0;
        while j < width {
            let column = self.column + (j % per) as u64;
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
