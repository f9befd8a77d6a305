//! Parts from the workspace, reduced by one block: by the last block of a launch, or by a kernel of their own.

use super::piece::Outputs;
use super::stack::Lanes;
use super::warp::{eight_parts, meet_across, meet_lanes};
use crate::kernels::fold::Parts;
use crate::kernels::node::{fetch, get, put};
use crate::kernels::recipe::{COUNTERS, Call, Out, array, flag};
use crate::simt::{Global, Shared, Simt};

/// Words of shared memory for one node of each of 32 warps.
pub const SLOTS: usize = 32 * 16;

/// The part of the block's warps, in their order; warp 0 gets it. There is a barrier in it.
#[inline(always)]
pub fn meet_warps<S: Simt, F: Parts>(s: &S, f: &F, slots: Shared<u32>, part: F::Part) -> F::Part {
    let (warps, lane) = (s.block_dim_x() / 32, s.lane());
    if s.branch(lane == 0) {
        put(s, slots, 32, s.warp(), part);
    }
    s.barrier();
    let mut part = f.nothing();
    if s.branch(s.warp() == 0) {
        if s.branch(lane < warps) {
            part = get(s, slots, 32, lane, part);
        }
        part = meet_lanes(s, f, part, 32);
    }
    part
}

/// The part of `count` parts from number `first`; warp 0 gets it.
#[inline(always)]
pub fn reduce<S: Simt, F: Parts>(
    s: &S,
    f: &F,
    slots: Shared<u32>,
    parts: Global<u32>,
    first: usize,
    count: u64,
) -> F::Part {
    let (warps, lane) = ((s.block_dim_x() / 32) as u64, s.lane() as u64);
    let mut steps = 1;
    while s.again(warps * 32 * steps < count) {
        steps *= 2;
    }
    let mut stack = Lanes::new(f.nothing());
    let mut g = 0;
    while s.again(g < steps) {
        let eight: [F::Part; 8] = core::array::from_fn(
            #[inline(always)]
            |j| {
                let i = (s.warp() as u64 * steps + g + j as u64) * 32 + lane;
                if s.branch(g + (j as u64) < steps && i < count) {
                    fetch(s, parts, first + i as usize, f.nothing())
                } else {
                    f.nothing()
                }
            },
        );
        let mut eight = eight;
        let (mut bit, lanes) = (1, s.opaque(32));
        while s.again(bit < lanes) {
            eight = core::array::from_fn(#[inline(always)] |j| meet_across(s, f, eight[j], bit));
            bit <<= 1;
        }
        let part = eight_parts(f, eight);
        stack.push_part(s, f, g as u32 / 8, part);
        g += 8;
    }
    let part = stack.close_parts(s, f, steps.div_ceil(8) as u32);
    s.barrier();
    meet_warps(s, f, slots, part)
}

/// The workspace's parts.
#[inline(always)]
pub fn of<G>(call: &Call<G>) -> Global<u32> {
    array(call.workspace + COUNTERS as u64)
}

/// The parts that one kernel leaves for another.
#[inline(always)]
pub fn left<G>(call: &Call<G>) -> Global<u32> {
    of(call).offset(call.left as usize)
}

/// Where output `index` goes.
#[inline(always)]
pub fn out<G>(call: &Call<G>, index: i64) -> Out {
    Out { output: array(call.output), counters: array(call.workspace), index: index as usize }
}

/// Parts that another kernel left, so many to each output.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Left<const K: usize> {
    /// Where the results go.
    pub outputs: Outputs<K>,
    /// Parts to each output.
    pub count: u64,
}

/// One block to each output.
#[inline(always)]
pub fn kernel<S: Simt, F: Parts, const K: usize>(s: &S, call: &Call<Left<K>>) {
    let slots = s.shared::<u32, SLOTS, 0>("slots");
    let f = F::new(&call.recipe);
    let row = s.block_x() as u64;
    let count = call.shape.count;
    let part = reduce(s, &f, slots, left(call), (row * count) as usize, count);
    if s.branch(s.thread_x() == 0) {
        let recipe = crate::kernels::recipe::Recipe { flags: call.recipe.flags & !flag::PARTS, ..call.recipe };
        f.finish(s, &recipe, part, out(call, call.shape.outputs.at(row).out));
    }
}
