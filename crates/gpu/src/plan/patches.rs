//! What a block has of planes whose elements are brought to shared memory, for windows.

use warpfold_kernels::pool::PLANES;
use warpfold_kernels::pool::along::Along;

use super::limits::Limits;

/// Bytes of a place of a patch: elements of four planes.
const PLACE: u32 = 16;
/// Places of a block's elements: four blocks of a multiprocessor, not measured otherwise.
const MOST_PLACES: usize = 3000;
/// Results of a block in four planes, if planes are small: two for each thread.
const RESULTS: usize = 512;

/// Fewer results in four planes than this are no work for a block, more than that are too much for a few of them. Not
/// measured.
const FEWEST_RESULTS: usize = 64;
const MOST_RESULTS: usize = 1024;

/// What a block has of planes, where their elements are brought to shared memory.
#[derive(Clone, Copy)]
pub(super) struct Patch {
    /// Rows of results.
    pub band: usize,
    /// Of a plane.
    pub bands: usize,
    /// Fours of planes.
    pub fours: usize,
    /// Places of a four.
    pub places: usize,
    /// Arrays of them.
    arrays: usize,
}

impl Patch {
    /// Of windows along two axes, of which a result takes `most` along each, in planes that are dense. None, if rows of
    /// results and the elements that they take have no room, or if another way is better.
    pub fn of(
        [rows, columns]: [&Along; 2],
        most: [usize; 2],
        backward: bool,
        planes: usize,
        arrays: usize,
        limits: &Limits,
    ) -> Option<Self> {
        let [height, width] = [rows, columns].map(|along| along.split.by as usize);
        let places = |band: usize| {
            let taken = if backward {
                (band - 1) / rows.stride as usize + 1 + most[0]
            } else {
                (band - 1) * rows.stride as usize + (rows.size as usize - 1) * rows.dilation as usize + 1
            };
            taken.min(rows.sources as usize) * columns.sources as usize
        };
        let fours = planes.div_ceil(PLANES);
        // Of each array there is a place for nothing, too.
        let room = (limits.shared_bytes / PLACE) as usize / arrays;
        let most_places = (MOST_PLACES / arrays).min(room.saturating_sub(1));
        // Two blocks for each multiprocessor, if there are as many rows.
        let wanted = 2 * limits.multiprocessors as usize;
        // Longer bands take more: the longest that fits.
        let (mut fits, mut beyond) = (0, height.div_ceil(wanted.div_ceil(fours)) + 1);
        while fits + 1 < beyond {
            let band = fits.midpoint(beyond);
            if places(band) <= most_places { fits = band } else { beyond = band }
        }
        if fits == 0 {
            return None;
        }
        let band = height.div_ceil(height.div_ceil(fits));
        let (bands, places, results) = (height.div_ceil(band), places(band), band * width);
        let each = (RESULTS / results).min(fours / wanted).min(most_places / places).max(1);
        let blocks = bands * fours.div_ceil(each);
        // Not of elements that mostly no window has, nor of results that a few threads, or a few blocks, would have.
        let is_worth = results * most[0] * most[1] >= places
            && each * results >= FEWEST_RESULTS
            && (results <= MOST_RESULTS || 2 * blocks >= limits.multiprocessors as usize);
        is_worth.then_some(Self { band, bands, fours: each, places, arrays })
    }

    /// Bytes of a block's shared memory.
    pub fn room(&self) -> u32 {
        PLACE * (self.arrays * (1 + self.fours * self.places)) as u32
    }
}
