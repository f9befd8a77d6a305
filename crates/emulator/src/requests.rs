//! Which lanes executed an instruction together.
//!
//! Lanes of a warp run one after the other here, so their accesses must be put together again. Two lanes belong to one
//! request if they are at the same line, in the same iterations of the same loops (as marked by `again`), for the same
//! time since the last block barrier. That is a warp whose lanes reconverge after every `if` and every loop, which is
//! what hardware does with structured code. A loop without the mark is matched visit by visit.

use super::counters::{Counters, Line};
use core::panic::Location;
use rustc_hash::FxHashMap;
use std::num::NonZeroU32;

/// What the lanes did together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Branch,
    Shared,
    SharedAtomic,
    Global,
    GlobalAtomic,
}

struct Group {
    site: &'static Location<'static>,
    context: u64,
    class: Class,
    size: u32,
    mask: u32,
    taken: u32,
    addresses: [u64; 32],
    /// Its number among the visits of all lines: in `Requests::visited`.
    visits: u32,
    /// The visit of the same line in the same iterations before it: its number in `Requests::groups`, plus 1.
    before: u32,
    /// The one after it: its number.
    next: Option<NonZeroU32>,
    /// What a lane joined after this one: the last lane that did.
    then: u32,
}

/// The visits of a line in the same iterations of loops: numbers in `Requests::groups`.
struct Visits {
    first: u32,
    /// Of each lane, its last one, plus 1.
    last: [u32; 32],
}

/// The requests of one warp since the last block barrier.
#[derive(Default)]
pub(super) struct Requests {
    groups: Vec<Group>,
    visited: Vec<Visits>,
    /// Of a line in iterations, its number in `visited`.
    index: FxHashMap<(usize, u64), u32>,
    visits: FxHashMap<usize, u32>,
    /// Of each lane, what it last joined, plus 1.
    joined: [u32; 32],
}

/// The marked loops that a lane is in.
#[derive(Default)]
pub(super) struct Loops {
    stack: Vec<(usize, u64)>,
    pub(super) context: u64,
}

impl Loops {
    /// Forgets all, as for another block.
    pub(super) fn clear(&mut self) {
        self.stack.clear();
        self.context = 0;
    }

    /// Takes note of a loop's condition.
    pub(super) fn again(&mut self, site: &'static Location<'static>, condition: bool) {
        let site = core::ptr::from_ref(site).addr();
        // A loop that was left by `break` is still above its surrounding loop.
        match self.stack.iter().rposition(|&(s, _)| s == site) {
            Some(i) => self.stack.truncate(i + 1),
            None => self.stack.push((site, 0)),
        }
        if condition {
            self.stack.last_mut().expect("just found or pushed").1 += 1;
        } else {
            self.stack.pop();
        }
        self.context = self.stack.iter().fold(0, |h, &(s, i)| {
            (h.rotate_left(5) ^ (s as u64) ^ i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0x2545_f491_4f6c_dd1d)
        });
    }
}

/// One lane's part in a request.
pub(super) struct Part {
    pub(super) site: &'static Location<'static>,
    pub(super) context: u64,
    pub(super) class: Class,
    pub(super) lane: u32,
    pub(super) address: u64,
    pub(super) size: u32,
    pub(super) taken: bool,
}

impl Requests {
    pub(super) fn join(&mut self, part: Part) {
        let lane = part.lane as usize;
        let i = self.guess(&part).unwrap_or_else(|| self.find(&part));
        if let Some(last) = self.joined[lane].checked_sub(1) {
            self.groups[last as usize].then = i;
        }
        self.joined[lane] = i + 1;
        let group = &mut self.groups[i as usize];
        self.visited[group.visits as usize].last[lane] = i + 1;
        group.mask |= 1 << part.lane;
        group.taken |= u32::from(part.taken) << part.lane;
        group.addresses[lane] = part.address;
    }

    /// What the lane before this one joined next, if this one does, too: most lanes do the same.
    fn guess(&self, part: &Part) -> Option<u32> {
        let last = self.joined[part.lane as usize].checked_sub(1);
        let i = last.map_or(0, |last| self.groups[last as usize].then);
        let group = self.groups.get(i as usize)?;
        let is_in = |group: &Group| group.mask >> part.lane & 1 == 1;
        let is_first_without = || {
            let before = group.before.checked_sub(1).map(|before| &self.groups[before as usize]);
            !is_in(group) && before.is_none_or(is_in)
        };
        let is_same = core::ptr::eq(group.site, part.site) && group.context == part.context;
        (is_same && is_first_without()).then_some(i)
    }

    /// The visit that a lane joins.
    fn find(&mut self, part: &Part) -> u32 {
        let key = (core::ptr::from_ref(part.site).addr(), part.context);
        let (groups, visited) = (&mut self.groups, &mut self.visited);
        let fresh = |groups: &mut Vec<Group>, visits: u32, before: u32| {
            groups.push(Group {
                site: part.site,
                context: part.context,
                class: part.class,
                size: part.size,
                mask: 0,
                taken: 0,
                addresses: [0; 32],
                visits,
                before,
                next: None,
                then: 0,
            });
            groups.len() as u32 - 1
        };
        let number = *self.index.entry(key).or_insert_with(|| {
            let number = visited.len() as u32;
            visited.push(Visits { first: fresh(groups, number, 0), last: [0; 32] });
            number
        });
        let visits = &visited[number as usize];
        // A lane joins the visits in their order, so the one after its last is the first that it is not in.
        let Some(last) = visits.last[part.lane as usize].checked_sub(1) else { return visits.first };
        match groups[last as usize].next {
            Some(next) => next.get(),
            None => {
                let i = fresh(groups, number, last + 1);
                groups[last as usize].next = NonZeroU32::new(i);
                i
            }
        }
    }

    /// Forgets all, as for another block.
    pub(super) fn clear(&mut self) {
        self.forget();
        self.visits.clear();
    }

    fn forget(&mut self) {
        self.groups.clear();
        self.visited.clear();
        self.index.clear();
        self.joined = [0; 32];
    }

    /// Counts what has gathered.
    pub(super) fn flush(&mut self, table: &mut Table) {
        for group in &self.groups {
            let visit = self.visits.entry(core::ptr::from_ref(group.site).addr()).or_default();
            table.add(group.site, Some(*visit), &group.count());
            *visit += 1;
        }
        self.forget();
    }
}

impl Group {
    fn count(&self) -> Counters {
        let active = u64::from(self.mask.count_ones());
        let mut c = Counters { requests: 1, active_lanes: active, ..Counters::default() };
        match self.class {
            Class::Branch => {
                c.branches = 1;
                c.divergent = u64::from(self.taken != 0 && self.taken != self.mask);
            }
            Class::Shared | Class::SharedAtomic => {
                let (wavefronts, ideal) = self.wavefronts();
                c.shared_requests = 1;
                (c.shared_wavefronts, c.shared_ideal) = (wavefronts, ideal);
                c.conflicts.0[(wavefronts.div_ceil(ideal) as usize).min(32)] = 1;
            }
            Class::Global | Class::GlobalAtomic => {
                c.global_requests = 1;
                c.global_bytes = active * u64::from(self.size);
                c.global_sectors = distinct(self.active().map(|a| a / 32)) as u64;
            }
        }
        if matches!(self.class, Class::SharedAtomic | Class::GlobalAtomic) {
            let worst = self.active().map(|a| self.active().filter(|&b| b == a).count()).max().unwrap_or(0);
            c.atomics = active;
            c.atomic_requests = 1;
            c.atomic_passes = worst as u64;
            c.contention = worst as u64;
        }
        c
    }

    fn active(&self) -> impl Iterator<Item = u64> + '_ {
        (0..32).filter(|l| self.mask >> l & 1 == 1).map(|l| self.addresses[l as usize])
    }

    /// Passes over 32 banks of 4 bytes, and passes without conflicts. Lanes that read one word share it. An 8-byte
    /// request goes as two halves of the warp, a 16-byte request as four quarters.
    fn wavefronts(&self) -> (u64, u64) {
        let words = self.size.div_ceil(4) as usize;
        let lanes = 32 / words;
        let (mut total, mut ideal) = (0, 0);
        for part in 0..words {
            let mut banks = [0u32; 32];
            let mut seen = [0u64; 32];
            let mut count = 0;
            for lane in part * lanes..(part + 1) * lanes {
                if self.mask >> lane & 1 == 0 {
                    continue;
                }
                for word in (0..words as u64).map(|w| self.addresses[lane] / 4 + w) {
                    if !seen[..count].contains(&word) {
                        seen[count] = word;
                        count += 1;
                        banks[word as usize % 32] += 1;
                    }
                }
            }
            total += u64::from(banks.into_iter().max().unwrap_or(0));
            ideal += u64::from(count > 0);
        }
        (total, ideal)
    }
}

fn distinct(keys: impl Iterator<Item = u64>) -> usize {
    let (mut seen, mut count) = ([0u64; 32], 0);
    for key in keys {
        if !seen[..count].contains(&key) {
            seen[count] = key;
            count += 1;
        }
    }
    count
}

/// Counters by line, while a launch runs.
#[derive(Default)]
pub(super) struct Table {
    lines: FxHashMap<usize, Line>,
}

impl Table {
    /// Adds to a line, and to its step if the visit has a number.
    pub(super) fn add(&mut self, site: &'static Location<'static>, visit: Option<u32>, counters: &Counters) {
        let line = self.lines.entry(core::ptr::from_ref(site).addr()).or_insert_with(|| Line {
            site: site.into(),
            counters: Counters::default(),
            steps: Vec::new(),
        });
        line.counters += counters;
        if let Some(visit) = visit.map(|v| v as usize).filter(|&v| v < Line::STEPS) {
            if line.steps.len() <= visit {
                line.steps.resize(visit + 1, Counters::default());
            }
            line.steps[visit] += counters;
        }
    }

    pub(super) fn into_lines(self) -> Vec<Line> {
        let mut lines: Vec<Line> = self.lines.into_values().collect();
        lines.sort_by_key(|l| l.site);
        lines
    }
}
