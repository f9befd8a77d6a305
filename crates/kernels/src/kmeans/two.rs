//! The two least scores of each point, and whether the first is certain.
//!
//! A score has its cluster's number in its lowest bits, so that one `min` keeps both. In the end, lanes exchange halves
//! of what they have, until each lane answers for one point.

use crate::kmeans::points::Points;
use crate::kmeans::score::{Bound, FAR, TOGETHER};
use warpfold_simt::{ALL, Simt, Word};

/// The two least scores of each point, of the clusters that this lane has seen.
pub struct Two {
    least: [f32; 4],
    next: [f32; 4],
    /// The clusters of the least; before [`Two::meet`], they are in its lowest bits.
    labels: [u32; 4],
}

impl Two {
    /// Before any.
    pub const NONE: Self = Self { least: [f32::INFINITY; 4], next: [f32::INFINITY; 4], labels: [0; 4] };

    /// Takes the scores by the eight clusters of number `at`.
    #[inline(always)]
    pub fn take<const FINE: bool>(&mut self, bound: &Bound, scores: [[f32; 4]; 2], at: u32) {
        for (tile, scores) in scores.into_iter().enumerate().take(if FINE { 1 } else { 2 }) {
            for (i, score) in scores.into_iter().enumerate() {
                let (k, number) = (2 * tile + i / 2, 2 * at + (i & 1) as u32);
                let score = f32::from_bits(score.to_bits() & !bound.numbers | number);
                self.next[k] = self.next[k].min(self.least[k].max(score));
                self.least[k] = self.least[k].min(score);
            }
        }
    }

    /// Takes what was seen of a chunk that begins with cluster number `from`.
    #[inline(always)]
    pub fn meet<S: Simt>(&mut self, s: &S, chunk: &Self, bound: &Bound, from: u32) {
        for k in 0..4 {
            let number = chunk.least[k].to_bits() & bound.numbers;
            let label = from + number / 2 * TOGETHER + s.lane() % 4 * 2 + number % 2;
            self.join(k, chunk.least[k], chunk.next[k], label);
        }
    }

    /// Takes others' scores of point `k`.
    #[inline(always)]
    fn join(&mut self, k: usize, least: f32, next: f32, label: u32) {
        self.labels[k] = if least < self.least[k] { label } else { self.labels[k] };
        self.next[k] = self.next[k].min(next).min(self.least[k].max(least));
        self.least[k] = self.least[k].min(least);
    }

    /// Of two points, a lane takes what its neighbour has seen of one, which is the second if the bit `by` of its
    /// number is set, and gives what it has seen of the other. It is the first one from then on.
    #[inline(always)]
    fn halve<S: Simt>(&mut self, s: &S, squares: &mut [f32; 4], by: u32, [a, b]: [usize; 2]) {
        // Both are read before one is chosen, so that arrays stay in registers.
        let (leasts, nexts) = ([self.least[a], self.least[b]], [self.next[a], self.next[b]]);
        let (labels, both_squares) = ([self.labels[a], self.labels[b]], [squares[a], squares[b]]);
        let least = swap(s, by, &mut self.least[a], leasts);
        let next = swap(s, by, &mut self.next[a], nexts);
        let label = swap(s, by, &mut self.labels[a], labels);
        let square = swap(s, by, &mut squares[a], both_squares);
        squares[a] += square;
        self.join(a, least, next, label);
    }

    /// The cluster nearest to the point that has this lane's number, and whether that is certain. Lanes tell each other
    /// what they have seen.
    #[inline(always)]
    pub fn settle<S: Simt, const D: usize, const FINE: bool>(
        mut self,
        s: &S,
        points: &Points<D, FINE>,
        bound: &Bound,
    ) -> (u32, bool) {
        const SURE: u32 = 1 << 31;
        let (lane, mut squares) = (s.lane(), points.squares);
        if FINE {
            self.halve(s, &mut squares, 1, [0, 1]);
            self.halve(s, &mut squares, 2, [0, 0]);
        } else {
            self.halve(s, &mut squares, 1, [0, 2]);
            self.halve(s, &mut squares, 1, [1, 3]);
            self.halve(s, &mut squares, 2, [0, 1]);
        }
        let apart = self.next[0] - self.least[0] - bound.apart;
        let is_sure = squares[0] < FAR && apart > 0.0 && apart * apart > bound.longer * squares[0];
        let found = self.labels[0] | if is_sure { SURE } else { 0 };
        // Which of the four has a point: the first choice was between halves.
        let (group, k) = (lane % 8 * 4, lane / 8);
        let of = if FINE { k % 2 } else { k / 2 + k % 2 * 2 };
        let found = s.shuffle_idx(ALL, found, group + of);
        (found & !SURE, found & SURE != 0)
    }
}

/// Of two values, a lane keeps one, the second if the bit `by` of its number is set, and gets its neighbour's of the
/// same.
#[inline(always)]
pub fn swap<S: Simt, T: Word>(s: &S, by: u32, kept: &mut T, [first, second]: [T; 2]) -> T {
    let is_second = s.lane() & by != 0;
    *kept = if is_second { second } else { first };
    s.shuffle_xor(ALL, if is_second { first } else { second }, by)
}
