//! Points as tensor cores take them: in registers, rounded to f16.
//!
//! A lane has up to eight neighbouring coordinates of a point at a time, so that it reads up to 16 bytes. Which
//! coordinates meet in which step of a product does not matter.

use crate::address::array;
use crate::kmeans::Assign;
use crate::source::{Bits, Source, words};
use warpfold_simt::{Shared, Simt};

/// Steps of a product at most, of eight coordinates each.
const STEPS: usize = 16;

/// Points of a warp.
pub const fn points(fine: bool) -> u32 {
    if fine { 16 } else { 32 }
}

/// Neighbouring coordinates of a lane.
pub(super) const fn piece(padded: usize) -> usize {
    if padded < 32 { padded / 4 } else { 8 }
}

/// Those that it reads at once.
const fn wide<T: Source>(padded: usize) -> usize {
    let (piece, most) = (piece(padded), T::Bits::PER as usize);
    if piece < most { piece } else { most }
}

/// Points of at most `D` coordinates. Four lanes share the points `lane / 4 + 8k`, `k` from 0 to 3, or `FINE`, to 1.
pub struct Points<const D: usize, const FINE: bool> {
    /// \[step\]\[point\], fine ones followed by what they lack; the first `D / 8` steps are there.
    pub rough: [[u32; 4]; STEPS],
    /// The squares of their lengths, of what this lane has.
    pub squares: [f32; 4],
    /// The squares of the lengths of what they lack in f16, likewise.
    pub lacking: [f32; 4],
}

impl<const D: usize, const FINE: bool> Points<D, FINE> {
    /// Reads those at these addresses, of which fine ones are two; `centre` is in the unit.
    #[inline(always)]
    pub fn read<S: Simt, T: Source<Value = f32>>(
        s: &S,
        call: &Assign,
        unit: f32,
        centre: Shared<f32>,
        at: [u64; 4],
    ) -> Self {
        let own = const { points(FINE) as usize / 8 };
        let mut points = Self { rough: [[0; 4]; STEPS], squares: [0.0; 4], lacking: [0.0; 4] };
        for p in 0..const { D / 4 / piece(D) } {
            let from = Self::first(s, p);
            // All reads are under way before the first is used.
            let mut x = [[0.0; 8]; 4];
            if s.branch(call.wide != 0) {
                for (x, at) in x.iter_mut().zip(at).take(own) {
                    packs::<S, T, D>(s, call, at, from, x);
                }
            } else {
                for (x, at) in x.iter_mut().zip(at).take(own) {
                    ones::<S, T, D>(s, call, at, from, x);
                }
            }
            points.take::<S, T>(s, call, unit, centre, p, x);
        }
        points
    }

    /// The same, with all reads under way at once, which takes registers.
    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "by iterators, the array would be in local memory")]
    pub fn read_at_once<S: Simt, T: Source<Value = f32>>(
        s: &S,
        call: &Assign,
        unit: f32,
        centre: Shared<f32>,
        at: [u64; 2],
    ) -> Self {
        let mut points = Self { rough: [[0; 4]; STEPS], squares: [0.0; 4], lacking: [0.0; 4] };
        let (pieces, mut all) = (const { D / 4 / piece(D) }, [[[0.0; 8]; 2]; STEPS / 4]);
        if s.branch(call.wide != 0) {
            for p in 0..pieces {
                for k in 0..2 {
                    packs::<S, T, D>(s, call, at[k], Self::first(s, p), &mut all[p][k]);
                }
            }
        } else {
            for p in 0..pieces {
                for k in 0..2 {
                    ones::<S, T, D>(s, call, at[k], Self::first(s, p), &mut all[p][k]);
                }
            }
        }
        for p in 0..pieces {
            points.take::<S, T>(s, call, unit, centre, p, [all[p][0], all[p][1], [0.0; 8], [0.0; 8]]);
        }
        points
    }

    /// The first coordinate of a lane's piece.
    #[inline(always)]
    fn first<S: Simt>(s: &S, p: usize) -> u32 {
        (p as u32 * 4 + s.lane() % 4) * const { piece(D) } as u32
    }

    /// Takes a piece of all points.
    #[inline(always)]
    fn take<S: Simt, T: Source<Value = f32>>(
        &mut self,
        s: &S,
        call: &Assign,
        unit: f32,
        centre: Shared<f32>,
        p: usize,
        mut x: [[f32; 8]; 4],
    ) {
        let (piece, wide, from) = (const { piece(D) }, const { wide::<T>(D) }, Self::first(s, p));
        let (mut about, mut units) = ([0.0; 8], [0.0; 8]);
        for i in 0..piece {
            about[i] = s.get(centre, from + i as u32);
            // What is read in place of coordinates that are not there does not count.
            units[i] = if from + ((i / wide * wide) as u32) < call.dimensions { -unit } else { 0.0 };
        }
        #[expect(clippy::needless_range_loop, reason = "several arrays are walked at once")]
        for k in 0..const { points(FINE) as usize / 8 } {
            for i in 0..piece {
                // Rounded once, since the unit is a power of two.
                x[k][i] = s.fma_f32(units[i], x[k][i], about[i]);
                self.squares[k] = s.fma_f32(x[k][i], x[k][i], self.squares[k]);
            }
            for i in 0..piece / 2 {
                let two = [x[k][2 * i], x[k][2 * i + 1]];
                let high = s.f32_to_f16_two(two);
                self.rough[p * piece / 2 + i][k] = high;
                if FINE {
                    let lacks = lacks(s, two, high);
                    self.rough[p * piece / 2 + i][k + 2] = s.f32_to_f16_two(lacks);
                    for lack in lacks {
                        self.lacking[k] = s.fma_f32(lack, lack, self.lacking[k]);
                    }
                }
            }
        }
    }
}

/// A lane's neighbouring coordinates of a point, from number `from`, several at a time; where there are none, the first
/// ones again: a choice is cheaper than a branch.
#[inline(always)]
fn packs<S: Simt, T: Source<Value = f32>, const D: usize>(
    s: &S,
    call: &Assign,
    point: u64,
    from: u32,
    x: &mut [f32; 8],
) {
    let wide = const { wide::<T>(D) };
    for i in 0..const { piece(D) } / wide {
        let j = from + (i * wide) as u32;
        let j = if j < call.dimensions { j } else { 0 };
        let words = words(s, array(point + (j * T::Bits::SIZE) as u64), wide as u32 * T::Bits::SIZE);
        for w in 0..wide {
            x[i * wide + w] = T::value(s, T::Bits::nth(&words, w));
        }
    }
}

/// The same one at a time; those that are not there stay zero.
#[inline(always)]
fn ones<S: Simt, T: Source<Value = f32>, const D: usize>(
    s: &S,
    call: &Assign,
    point: u64,
    from: u32,
    x: &mut [f32; 8],
) {
    for (x, j) in x.iter_mut().zip(from..).take(const { piece(D) }) {
        if s.branch(j < call.dimensions) {
            *x = T::value(s, s.load(array(point + j as u64 * call.across), 0));
        }
    }
}

/// What two numbers as f16 lack.
#[inline(always)]
pub(super) fn lacks<S: Simt>(s: &S, x: [f32; 2], halves: u32) -> [f32; 2] {
    let [low, high] = [halves as u16, (halves >> 16) as u16].map(|half| s.f16_to_f32(half));
    [x[0] - low, x[1] - high]
}
