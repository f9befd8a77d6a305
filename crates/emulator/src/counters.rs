//! What a profiler would count.

use super::fault::Site;
use core::ops::AddAssign;

/// Sums over the warps of a launch. A *request* is one warp executing one instruction once, for the lanes active then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests of every kind below: a measure of the instructions that matter here.
    pub requests: u64,
    /// Lanes active in those requests.
    pub active_lanes: u64,
    /// Block barriers, per block.
    pub barriers: u64,
    /// Warp barriers, per warp.
    pub warp_barriers: u64,
    /// Branches marked by `branch` and `again`.
    pub branches: u64,
    /// Those of them that sent the active lanes of a warp both ways.
    pub divergent: u64,
    /// Shared-memory reads, writes and atomics.
    pub shared_requests: u64,
    /// The passes that they took.
    pub shared_wavefronts: u64,
    /// The passes that they would have taken without conflicts.
    pub shared_ideal: u64,
    /// Requests by the degree of their worst bank: `[1]` conflict-free, `[2]` two-way, up to 32.
    pub conflicts: Conflicts,
    /// Global reads, writes and atomics.
    pub global_requests: u64,
    /// The 32-byte sectors that they touched.
    pub global_sectors: u64,
    /// The bytes that lanes asked for.
    pub global_bytes: u64,
    /// Shuffles, per warp.
    pub shuffles: u64,
    /// Votes, per warp.
    pub votes: u64,
    /// Atomic additions, per lane.
    pub atomics: u64,
    /// Atomic requests, per warp; each takes at least one pass.
    pub atomic_requests: u64,
    /// The passes that they took: lanes of one request on one address go one after the other.
    pub atomic_passes: u64,
    /// The most lanes of one request on one address.
    pub contention: u64,
}

/// Requests by bank-conflict degree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflicts(pub [u64; 33]);

impl Default for Conflicts {
    fn default() -> Self {
        Conflicts([0; 33])
    }
}

impl Conflicts {
    /// The worst degree that occurred.
    pub fn worst(&self) -> usize {
        self.0.iter().rposition(|&n| n > 0).unwrap_or(0)
    }
    /// Requests that had any conflict.
    pub fn total(&self) -> u64 {
        self.0[2..].iter().sum()
    }
}

impl Counters {
    /// The share of branches that did not diverge, as profilers define it; 1 if there were none.
    pub fn branch_efficiency(&self) -> f64 {
        ratio(self.branches - self.divergent, self.branches, 1.0)
    }
    /// Mean active lanes per request, of 32.
    pub fn mean_active_lanes(&self) -> f64 {
        ratio(self.active_lanes, self.requests, 0.0)
    }
    /// Mean sectors per global request: 4 is ideal for 4-byte elements.
    pub fn sectors_per_request(&self) -> f64 {
        ratio(self.global_sectors, self.global_requests, 0.0)
    }
    /// Asked bytes over moved bytes.
    pub fn sector_efficiency(&self) -> f64 {
        ratio(self.global_bytes, self.global_sectors * 32, 1.0)
    }
}

fn ratio(a: u64, b: u64, none: f64) -> f64 {
    if b == 0 { none } else { a as f64 / b as f64 }
}

impl AddAssign<&Counters> for Counters {
    fn add_assign(&mut self, o: &Counters) {
        self.requests += o.requests;
        self.active_lanes += o.active_lanes;
        self.barriers += o.barriers;
        self.warp_barriers += o.warp_barriers;
        self.branches += o.branches;
        self.divergent += o.divergent;
        self.shared_requests += o.shared_requests;
        self.shared_wavefronts += o.shared_wavefronts;
        self.shared_ideal += o.shared_ideal;
        for (a, b) in self.conflicts.0.iter_mut().zip(o.conflicts.0) {
            *a += b;
        }
        self.global_requests += o.global_requests;
        self.global_sectors += o.global_sectors;
        self.global_bytes += o.global_bytes;
        self.shuffles += o.shuffles;
        self.votes += o.votes;
        self.atomics += o.atomics;
        self.atomic_requests += o.atomic_requests;
        self.atomic_passes += o.atomic_passes;
        self.contention = self.contention.max(o.contention);
    }
}

/// One line of the kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Where.
    pub site: Site,
    /// What happened there.
    pub counters: Counters,
    /// The same, by how often a warp had been there before: entry `i` sums the `i`-th visits of all warps (the
    /// iterations of the loop around the line). Visits beyond the first [`Line::STEPS`] are in `counters` only.
    pub steps: Vec<Counters>,
}

impl Line {
    /// How many visits are kept apart.
    pub const STEPS: usize = 16;
}

/// What a launch did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The launches in it: 1, or more when reports were added up.
    pub launches: u64,
    /// Blocks run.
    pub blocks: u64,
    /// Threads run.
    pub threads: u64,
    /// Bytes of shared memory per block, the most of any launch.
    pub shared_bytes: u64,
    /// Everything.
    pub total: Counters,
    /// Everything, by line, in the order of the source.
    pub lines: Vec<Line>,
}

impl Report {
    /// Block barriers that each block ran through, on average.
    pub fn barriers_per_block(&self) -> f64 {
        ratio(self.total.barriers, self.blocks, 0.0)
    }

    /// Adds another launch, as for a rung that needs two.
    pub fn add(&mut self, other: &Report) {
        self.launches += other.launches;
        self.blocks += other.blocks;
        self.threads += other.threads;
        self.shared_bytes = self.shared_bytes.max(other.shared_bytes);
        self.total += &other.total;
        for line in &other.lines {
            self.add_line(line);
        }
    }

    fn add_line(&mut self, line: &Line) {
        match self.lines.binary_search_by_key(&line.site, |l| l.site) {
            Ok(i) => {
                let mine = &mut self.lines[i];
                mine.counters += &line.counters;
                mine.steps.resize(mine.steps.len().max(line.steps.len()), Counters::default());
                for (a, b) in mine.steps.iter_mut().zip(&line.steps) {
                    *a += b;
                }
            }
            Err(i) => self.lines.insert(i, line.clone()),
        }
    }
}
