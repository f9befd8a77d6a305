//! Centroids as tensor cores take them: in f16, two of these for each number, and for Hopper how far they are off.
//!
//! For `mma` they lie as the lanes of a warp read them. For Hopper there is an image, a copy, ready to be brought to
//! shared memory as it is: of every [`TOGETHER`] centroids, in f16 and the unit, \[eight
//! coordinates\]\[centroid\]\[coordinate\]. Which coordinates are the eight does not matter, as long as points have
//! the same: they are those that four lanes have of a point, two each (`word`).

use crate::address::array;
use crate::block::each;
use crate::kmeans::points::lacks;
use crate::kmeans::score::{self, TOGETHER as EIGHT, rough, unit};
use crate::kmeans::{Assign, Unsure, assign};
use warpfold_simt::{ALL, Global, Simt};

/// Threads of a block of the kernel for Hopper.
pub const THREADS: u32 = 256;
/// Its points at a time.
pub const POINTS: u32 = THREADS / 2;
/// Centroids of a product.
pub const TOGETHER: u32 = 128;
/// Coordinates of a product.
pub const COORDINATES: u32 = 64;
/// Words of both: 16 KiB.
pub const WORDS: u32 = TOGETHER * COORDINATES / 2;

/// Where the image is, after what [`score::bytes`] counts, and where squares of what centroids lack are.
#[inline(always)]
pub fn places(call: &Assign) -> (u64, u64) {
    let image = call.at.halves + score::bytes(call.clusters as usize, call.padded as usize) as u64;
    (image, image + 2 * call.image as u64 * call.padded as u64)
}

/// Bytes of both.
pub const fn bytes(clusters: usize, padded: usize) -> usize {
    clusters.next_multiple_of(TOGETHER as usize) * (2 * padded + 4)
}

/// Half of the square of each centroid about the centre, and the centroids in f16, as lanes read them: \[eight
/// clusters\]\[piece\]\[lane\]\[coordinate of a piece\]; after all of them, what these lack, likewise. A block for each
/// eight.
#[inline(always)]
pub fn centroids<S: Simt>(s: &S, call: &Assign) {
    let (centroids, centre): (Global<f32>, Global<f32>) = (array(call.at.centroids), array(call.at.centre));
    let to: Global<u32> = array(rough(call.at.halves, call.clusters));
    let (padded, first, unit) = (call.padded, s.block_x() * EIGHT, unit(s, call));
    if s.branch(first == 0) {
        Unsure::of(call, 0).clear(s);
        Unsure::of(call, 1).clear(s);
    }
    if s.branch(call.image != 0) {
        make(s, call, first);
        if s.branch(first >= call.clusters) {
            return;
        }
    }
    assign::half::<S, f32>(s, call, first, EIGHT);
    each(s, s.thread_x(), EIGHT * padded / 2, |i| {
        let (cluster, j) = place(padded, i);
        let two = [j, j + 1].map(
            #[inline(always)]
            |j| {
                if s.branch(first + cluster < call.clusters && j < call.dimensions) {
                    let at = (first + cluster) as usize * call.dimensions as usize + j as usize;
                    (s.load(centroids, at) - s.load(centre, j as usize)) * unit
                } else {
                    0.0
                }
            },
        );
        let at = first * padded / 2 + i;
        let all = call.clusters.next_multiple_of(EIGHT) * padded / 2;
        let high = s.f32_to_f16_two(two);
        s.store(to, at as usize, high);
        s.store(to, (all + at) as usize, s.f32_to_f16_two(lacks(s, two, high)));
    });
}

/// Which of eight centroids a pair of coordinates is of, and the first of the two, by its place.
#[inline(always)]
pub fn place(padded: u32, pair: u32) -> (u32, u32) {
    // The logarithm of a piece's coordinates, so that nothing is divided by a number that could be zero.
    let piece = if padded < 32 { (padded / 4).trailing_zeros() } else { 3 };
    let (place, own) = ((2 * pair) >> (piece & 3), (2 * pair) & ((1 << (piece & 3)) - 1));
    (place / 4 % 8, ((place / 32 * 4 + place % 4) << (piece & 3)) + own)
}

/// Writes the image of eight centroids, zero where there are none, and the square of the length of what each of them
/// lacks in f16. A warp for each.
#[inline(always)]
fn make<S: Simt>(s: &S, call: &Assign, first: u32) {
    let (centroids, centre): (Global<f32>, Global<f32>) = (array(call.at.centroids), array(call.at.centre));
    let (image, squares) = places(call);
    let (image, squares): (Global<u32>, Global<f32>) = (array(image), array(squares));
    let (unit, cluster) = (unit(s, call), first + s.warp());
    let (mut square, mut pair) = (0.0, s.lane());
    while s.again(pair < call.padded / 2) {
        let j = 2 * pair;
        let two = [j, j + 1].map(
            #[inline(always)]
            |j| {
                if s.branch(cluster < call.clusters && j < call.dimensions) {
                    let at = cluster as usize * call.dimensions as usize + j as usize;
                    (s.load(centroids, at) - s.load(centre, j as usize)) * unit
                } else {
                    0.0
                }
            },
        );
        let halves = s.f32_to_f16_two(two);
        for lack in lacks(s, two, halves) {
            square = s.fma_f32(lack, lack, square);
        }
        s.store(
            image,
            (cluster / TOGETHER * TOGETHER * call.padded / 2 + word(cluster % TOGETHER, pair)) as usize,
            halves,
        );
        pair += 32;
    }
    for by in [1, 2, 4, 8, 16] {
        square += s.shuffle_xor(ALL, square, by);
    }
    if s.branch(s.lane() == 0) {
        s.store(squares, cluster as usize, square);
    }
}

/// The word of an image that has a pair of coordinates. A lane has eight neighbouring coordinates of every 32, which
/// are two of four times eight.
#[inline(always)]
const fn word(centroid: u32, pair: u32) -> u32 {
    let (of_32, own, lane) = (pair / 16, pair % 4, pair / 4 % 4);
    ((of_32 * 4 + own) * TOGETHER + centroid) * 4 + lane
}
