//! Which packs of 16 bytes of which row a lane has.
//!
//! Idea: a group of lanes has a row, or a chunk of one: pack `p` is in lane `p % lanes`, at step `p / lanes`. A lane
//! has 4 or 8 steps in all, so short rows come several to a lane. The lanes are then the lower bits of a pack's number.
//! Or short rows follow one another in the places of a block, lane by lane, step by step and warp by warp
//! ([`Spread::slots`]), so that few are left over whatever a row's length; then a group of lanes finds each row's node.

use crate::source::Bits;

/// How a warp's packs are shared out, of which a lane has `N`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread<const N: usize> {
    /// Lanes of a group, as a power of two.
    lanes: u32,
    /// Steps of a row, as a power of two.
    deep: u32,
    /// Rows that follow one another, if they do.
    slots: Option<Slots>,
}

/// Words of what follows from a row, at most: of cross-entropy of f64.
pub const KNOWN: u32 = 16;

/// How short rows follow one another in a block's places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slots {
    /// Packs of a row, 4 to 128.
    pub packs: u32,
    /// 2^20 over that, rounded up.
    pub inverse: u32,
    /// Rows of a block, at most as many as it has threads.
    pub rows: u32,
    /// Elements of a row.
    pub len: u32,
    /// Warps of the block, a power of two.
    pub warps: u32,
    /// Threads before the warp.
    pub before: u32,
}

impl Slots {
    /// What a number of a place is multiplied by, for 2^20 times its row's: 2^20 over a row's packs, rounded up.
    #[must_use]
    pub const fn inverse(packs: u32) -> u32 {
        (1u32 << 20).div_ceil(packs)
    }

    /// Bytes of shared memory, beside the packs', for what follows from each row.
    #[inline(always)]
    #[must_use]
    pub const fn beside(self) -> u32 {
        4 * KNOWN * self.rows
    }
}

impl<const N: usize> Spread<N> {
    /// The whole warp has one row.
    pub const WARP: Self = Self { lanes: 5, deep: N.ilog2(), slots: None };

    /// Groups of 2^`lanes` lanes, at most a warp, each of which has 2^`deep` packs of a row, at most `N`.
    #[inline(always)]
    #[must_use]
    pub const fn new(lanes: u32, deep: u32) -> Self {
        Self { lanes, deep, slots: None }
    }

    /// Rows that follow one another. As many lanes of a warp as there are for each find its node, a power of two.
    #[inline(always)]
    #[must_use]
    pub const fn slots(slots: Slots) -> Self {
        let lanes = (slots.rows - 1).leading_zeros() + 4 - slots.warps.leading_zeros();
        Self { lanes: if lanes < 5 { lanes } else { 5 }, deep: 0, slots: Some(slots) }
    }

    /// How rows follow one another, if they do.
    #[inline(always)]
    #[must_use]
    pub const fn in_slots(self) -> Option<Slots> {
        self.slots
    }

    /// Lanes of a group.
    #[inline(always)]
    #[must_use]
    pub const fn lanes(self) -> u32 {
        1 << self.lanes
    }

    /// Steps of a row.
    #[inline(always)]
    #[must_use]
    pub const fn steps(self) -> u32 {
        1 << self.deep
    }

    /// Packs of a row, at most.
    #[inline(always)]
    #[must_use]
    pub const fn packs(self) -> u32 {
        1 << (self.lanes + self.deep)
    }

    /// Rows of a warp, or of a block if they follow one another.
    #[inline(always)]
    #[must_use]
    pub const fn rows(self) -> u32 {
        match self.slots {
            Some(slots) => slots.rows,
            None => (32 * N as u32) >> (self.lanes + self.deep),
        }
    }

    /// A lane's number in its group.
    #[inline(always)]
    #[must_use]
    pub const fn own(self, lane: u32) -> u32 {
        lane & (self.lanes() - 1)
    }

    /// The lane of a lane's group with this number.
    #[inline(always)]
    #[must_use]
    pub const fn lane(self, lane: u32, own: u32) -> u32 {
        (lane & !(self.lanes() - 1)) | (own & (self.lanes() - 1))
    }

    /// The step among those of its row.
    #[inline(always)]
    #[must_use]
    pub const fn step(self, k: u32) -> u32 {
        k & (self.steps() - 1)
    }

    /// The number of a lane's pack at step `k` in its row.
    #[inline(always)]
    #[must_use]
    pub const fn pack(self, k: u32, lane: u32) -> u32 {
        match self.slots {
            Some(slots) => self.slot(slots, k, lane) - self.row(k, lane) * slots.packs,
            None => (self.step(k) << self.lanes) + self.own(lane),
        }
    }

    /// The same in packs of so many elements or bytes each: added up so that steps differ by a constant.
    #[inline(always)]
    #[must_use]
    pub const fn pack_at(self, k: u32, lane: u32, each: u32) -> u64 {
        if self.slots.is_some() {
            return (self.pack(k, lane) * each) as u64;
        }
        (((self.step(k) * each) as u64) << self.lanes) + self.own(lane) as u64 * each as u64
    }

    /// The number of a place among the block's.
    #[inline(always)]
    #[must_use]
    pub const fn slot(self, slots: Slots, k: u32, lane: u32) -> u32 {
        N as u32 * slots.before + 32 * k + lane
    }

    /// The number of its row among the warp's, or the block's. Places that are left over have one that is not among
    /// them.
    #[inline(always)]
    #[must_use]
    pub const fn row(self, k: u32, lane: u32) -> u32 {
        match self.slots {
            Some(slots) => (self.slot(slots, k, lane) * slots.inverse) >> 20,
            None => self.further(k, lane) + self.first(lane),
        }
    }

    /// The number of the row from which the places of a lane's other rows follow.
    #[inline(always)]
    #[must_use]
    pub const fn first(self, lane: u32) -> u32 {
        if self.slots.is_some() { 0 } else { lane >> self.lanes }
    }

    /// By how many rows that of step `k` is further than that one.
    #[inline(always)]
    #[must_use]
    pub const fn further(self, k: u32, lane: u32) -> u32 {
        if self.slots.is_some() { self.row(k, lane) } else { (k >> self.deep) << (5 - self.lanes) }
    }

    /// The number of the row whose node the lane finds.
    #[inline(always)]
    #[must_use]
    pub const fn found(self, lane: u32) -> u32 {
        match self.slots {
            Some(slots) => (slots.before + lane) >> self.lanes,
            None => self.row(lane % N as u32, lane),
        }
    }

    /// The number of the row from which step `k` has what follows: places that are left over have what the first row
    /// has, as good as any.
    #[inline(always)]
    #[must_use]
    pub const fn known(self, k: u32, lane: u32) -> u32 {
        let row = self.row(k, lane);
        if row < self.rows() { row } else { 0 }
    }

    /// Whether the lane is the first of those that find the same node.
    #[inline(always)]
    #[must_use]
    pub const fn is_first(self, lane: u32) -> bool {
        let step = lane % N as u32;
        if self.slots.is_some() { self.own(lane) == 0 } else { self.own(lane) == step && self.step(step) == 0 }
    }
}

/// A lane's packs of one array or of two, and where the row of each step is.
#[derive(Clone, Copy)]
pub struct Packs<P, const N: usize> {
    /// How they are shared out.
    pub spread: Spread<N>,
    /// Those of each array.
    pub w: [[[u32; 4]; N]; 2],
    /// The row of a step.
    pub place: P,
    /// Whether it is known that all of them are there, and whole.
    pub whole: bool,
}

impl<P, const N: usize> Packs<P, N> {
    /// For each step the packs of both arrays.
    #[inline(always)]
    pub fn both(&self) -> [[[u32; 4]; 2]; N] {
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| [self.w[0][k], self.w[1][k]],
        )
    }
}

impl<P: Fn(u32) -> Place, const N: usize> Packs<P, N> {
    /// Elements that the row of step `k` has.
    #[inline(always)]
    pub fn valid(&self, k: u32) -> u32 {
        (self.place)(k).valid
    }

    /// Where a lane's pack at step `k` is, of `per` elements.
    #[inline(always)]
    pub fn at(&self, k: u32, lane: u32, per: u32) -> At {
        (self.place)(k).at(self.spread, k, lane, per)
    }
}

/// A row, or the chunk of one that a warp has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// The address of its first element.
    pub input: u64,
    /// The address of its first element in the second array.
    pub second: u64,
    /// The address of its first result.
    pub output: u64,
    /// The address of the row's first element in the mask.
    pub mask: u64,
    /// The number of its first element in the row.
    pub first: u64,
    /// What the row has no elements for: a row that begins behind a warp's first step has a place before its first
    /// element, which is then at a number below zero.
    pub before: u32,
    /// Elements from there on; none, if there is no such row.
    pub valid: u32,
}

impl Place {
    /// A row of `valid` elements somewhere.
    #[inline(always)]
    #[must_use]
    pub const fn of(valid: u32) -> Self {
        Self { input: 0, second: 0, output: 0, mask: 0, first: 0, before: 0, valid }
    }

    /// The same of the second array.
    #[inline(always)]
    #[must_use]
    pub fn of_second(self) -> Self {
        Self { input: self.second, ..self }
    }

    /// A place that begins so many elements before this one, if there is such a row.
    #[inline(always)]
    #[must_use]
    pub fn moved<B: Bits>(self, elements: u32) -> Self {
        let bytes = (elements * B::SIZE) as u64;
        Self {
            input: self.input.wrapping_sub(bytes),
            second: self.second.wrapping_sub(bytes),
            output: self.output.wrapping_sub(bytes),
            mask: self.mask,
            first: self.first.wrapping_sub(elements as u64),
            before: if self.valid > 0 { elements } else { 0 },
            valid: if self.valid > 0 { self.valid + elements } else { 0 },
        }
    }

    /// The `most` elements that come so many elements later.
    #[inline(always)]
    #[must_use]
    pub fn onward<B: Bits>(self, elements: u32, most: u32) -> Self {
        let bytes = (elements * B::SIZE) as u64;
        Self {
            input: self.input.wrapping_add(bytes),
            second: self.second.wrapping_add(bytes),
            output: self.output.wrapping_add(bytes),
            mask: self.mask,
            first: self.first.wrapping_add(elements as u64),
            before: if elements == 0 { self.before } else { 0 },
            valid: self.valid.saturating_sub(elements).min(most),
        }
    }

    /// Elements of pack `pack` that are there, of `per`.
    #[inline(always)]
    #[must_use]
    pub fn count(&self, pack: u32, per: u32) -> u32 {
        self.valid.saturating_sub(pack * per).min(per)
    }

    /// Where a lane's pack at step `k` is, of `per` elements.
    #[inline(always)]
    #[must_use]
    pub fn at<const N: usize>(&self, spread: Spread<N>, k: u32, lane: u32, per: u32) -> At {
        let first = self.first.wrapping_add(spread.pack_at(k, lane, per));
        At { first, mask: self.mask, count: self.count(spread.pack(k, lane), per) }
    }
}

/// Where a pack is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct At {
    /// The number of its first element in the row.
    pub first: u64,
    /// The address of the row's first element in the mask.
    pub mask: u64,
    /// Elements that are there.
    pub count: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pack_of_each_row_is_in_one_place() {
        for (lanes, deep) in [(3, 0), (3, 3), (4, 1), (5, 0), (5, 3)] {
            let spread = Spread::<8>::new(lanes, deep);
            let mut seen = vec![0; (spread.rows() * spread.packs()) as usize];
            for (k, lane) in (0..8).flat_map(|k| (0..32).map(move |lane| (k, lane))) {
                seen[(spread.row(k, lane) * spread.packs() + spread.pack(k, lane)) as usize] += 1;
            }
            assert_eq!(seen, vec![1; 256], "{spread:?}");
        }
    }

    #[test]
    fn rows_that_follow_one_another_leave_few_places() {
        for (packs, warps) in (4..=128).flat_map(|packs| [1, 2, 4, 8].map(|warps| (packs, warps))) {
            let (inverse, rows) = (Slots::inverse(packs), 128 * warps / packs);
            for number in 0..128 * warps {
                let (warp, k, lane) = (number / 128, number / 32 % 4, number % 32);
                let before = 32 * warp;
                let spread = Spread::<4>::slots(Slots { packs, inverse, rows, len: 8 * packs, warps, before });
                let place = (spread.row(k, lane), spread.pack(k, lane));
                assert_eq!(place, (number / packs, number % packs), "{packs} {warps}");
                // Each lane of a row's joins at most 8 nodes, and no more rows are found than there are threads.
                assert!(packs.next_power_of_two() <= 8 << spread.lanes, "{packs} {warps}");
                assert!(rows << spread.lanes <= 32 * warps, "{packs} {warps}");
                assert!(spread.known(k, lane) < rows, "{packs} {warps}");
            }
        }
    }
}
