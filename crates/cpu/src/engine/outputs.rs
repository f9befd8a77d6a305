//! Lanes of a transposed array that has many small outputs. 128 MiB, two threads of a busy EPYC with AVX-512, CPU time
//! of each, ms of spans of transposed tiles, and of columns: mean of bf16 (20867, 402, 8) over axes 1 and 2, of memory
//! order 2, 0, 1, 16.1, 9.2.

use warpfold_array::problem::{Dim, Walk};

use super::Work;
use super::strip::Strip;
use crate::loops::Value;
use crate::output::Output;
use crate::policy::CHUNK;

impl Work<'_> {
    /// The lanes of one output after the other, each of which is a subtree: all are columns, whose nodes follow one
    /// another.
    ///
    /// # Safety
    /// Every element is readable, and `out` has a place for each output. Lanes are a power of two of elements long.
    pub(super) unsafe fn lanes_of_outputs(&self, lane: Dim, inner: &[Dim], out: &Output<Value>) {
        let (outputs, count) = (self.problem.outputs, self.problem.count);
        let depth = inner.iter().map(|dim| dim.len).product::<usize>();
        let group = (CHUNK / count).clamp(1, outputs.div_ceil(8 * self.threads));
        self.quiet_tasks(outputs.div_ceil(group), &|task| {
            let some = group.min(outputs - task * group);
            let mut walk = Walk::new(&self.problem.kept, self.base, task * group);
            for _ in 0..some {
                let base = walk.at();
                let strip = Strip { axes: inner, order: None, base, first_row: 0, rows: depth, width: lane.len };
                // SAFETY: the strip is all elements of an output, which the caller vouches for; it has a node of each
                // lane. No other task writes this output.
                unsafe {
                    let mut nodes = self.strip(&lane, &strip);
                    self.kernel.root(nodes.first_mut(), lane.len, depth as u64, depth as u64);
                    self.finish(out, walk.out(), nodes.first(), 1, count);
                }
                walk.advance();
            }
        });
    }
}
