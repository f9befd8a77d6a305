//! Distances, and the nearest centroid of each point.

use super::points::{Coordinate, Points, TILE};
use crate::cpu::simd::vectorize;
use rayon::prelude::*;

/// Points whose distances are computed together.
const LANES: usize = 16;

/// Coordinates that are added up in registers: a subtree.
const PANEL: usize = 8;

/// One number for each of some points.
type Lane<F> = [F; LANES];

/// The nearest centroid of each point, of several the first, and the square of the distance.
pub(super) fn assign<F: Coordinate>(points: &Points<'_>, centroids: &[F]) -> (Vec<u32>, Vec<F>) {
    let mut labels = vec![0u32; points.n];
    let mut distances = vec![F::ZERO; points.n];
    let tiles = labels.par_chunks_mut(TILE).zip(distances.par_chunks_mut(TILE)).enumerate();
    tiles.for_each_init(Vec::new, |room, (tile, (labels, distances))| {
        let x = points.read(tile * TILE, labels.len(), TILE, room);
        vectorize(
            #[inline(always)]
            || {
                for (i, (labels, distances)) in labels.chunks_mut(LANES).zip(distances.chunks_mut(LANES)).enumerate() {
                    let (nearest, least) = nearest(&x[i * LANES..], centroids, points.dimensions);
                    labels.copy_from_slice(&nearest[..labels.len()]);
                    distances.copy_from_slice(&least[..distances.len()]);
                }
            },
        );
    });
    (labels, distances)
}

/// The square of each point's distance to each centroid, as \[point\]\[centroid\]; or only the least of it and what is in `to`.
pub(super) fn distances<F: Coordinate>(points: &Points<'_>, centroids: &[F], to: &mut [F], each: fn(F, F) -> F) {
    let clusters = centroids.len() / points.dimensions;
    if clusters == 0 {
        return;
    }
    to.par_chunks_mut(TILE * clusters).enumerate().for_each_init(Vec::new, |room, (tile, to)| {
        let x = points.read(tile * TILE, to.len() / clusters, TILE, room);
        for (i, to) in to.chunks_mut(LANES * clusters).enumerate() {
            for (cluster, centroid) in centroids.chunks_exact(points.dimensions).enumerate() {
                let squares: Lane<F> = vectorize(
                    #[inline(always)]
                    || square_distance(&x[i * LANES..], centroid),
                );
                for (to, square) in to[cluster..].iter_mut().step_by(clusters).zip(squares) {
                    *to = each(*to, square);
                }
            }
        }
    });
}

/// The nearest centroid of each of some points, and the square of the distance; `x` is \[coordinate\]\[[`TILE`]\].
#[inline(always)]
fn nearest<F: Coordinate>(x: &[F], centroids: &[F], dimensions: usize) -> ([u32; LANES], Lane<F>) {
    let mut labels = [0; LANES];
    let mut least = square_distance(x, &centroids[..dimensions]);
    for (cluster, centroid) in centroids.chunks_exact(dimensions).enumerate().skip(1) {
        let squares = square_distance(x, centroid);
        for i in 0..LANES {
            let nearer = squares[i] < least[i];
            least[i] = if nearer { squares[i] } else { least[i] };
            labels[i] = if nearer { cluster as u32 } else { labels[i] };
        }
    }
    (labels, least)
}

/// The tree over `(x - c)²` of the coordinates, in order; each difference, square and sum is rounded.
#[inline(always)]
fn square_distance<F: Coordinate>(x: &[F], centroid: &[F]) -> Lane<F> {
    let term = |coordinate: usize| -> Lane<F> {
        let x = x[coordinate * TILE..].first_chunk::<LANES>().expect("a whole tile");
        let c = centroid[coordinate];
        std::array::from_fn(
            #[inline(always)]
            |i| {
                let d = x[i].sub(c);
                d.mul(d)
            },
        )
    };
    let dimensions = centroid.len();
    // As a binary counter carries: the nodes of whole panels, the highest first.
    let mut nodes = [[F::ZERO; LANES]; usize::BITS as usize];
    let panels = dimensions / PANEL;
    for panel in 0..panels {
        let at = panel * PANEL;
        let mut node = add(four(&term, at), four(&term, at + 4));
        let mut level = 0;
        while panel >> level & 1 == 1 {
            node = add(nodes[level], node);
            level += 1;
        }
        nodes[level] = node;
    }
    // What is left of a panel, the smallest subtree last.
    let mut at = dimensions;
    let mut tail = None;
    let rest = dimensions % PANEL;
    if rest & 1 != 0 {
        at -= 1;
        tail = Some(term(at));
    }
    if rest & 2 != 0 {
        at -= 2;
        tail = Some(before(add(term(at), term(at + 1)), tail));
    }
    if rest & 4 != 0 {
        at -= 4;
        tail = Some(before(four(&term, at), tail));
    }
    let mut level = 0;
    while panels >> level != 0 {
        if panels >> level & 1 == 1 {
            tail = Some(before(nodes[level], tail));
        }
        level += 1;
    }
    tail.unwrap_or([F::ZERO; LANES])
}

#[inline(always)]
fn four<F: Coordinate>(term: &impl Fn(usize) -> Lane<F>, at: usize) -> Lane<F> {
    add(add(term(at), term(at + 1)), add(term(at + 2), term(at + 3)))
}

#[inline(always)]
fn before<F: Coordinate>(left: Lane<F>, right: Option<Lane<F>>) -> Lane<F> {
    match right {
        Some(right) => add(left, right),
        None => left,
    }
}

#[inline(always)]
fn add<F: Coordinate>(left: Lane<F>, right: Lane<F>) -> Lane<F> {
    std::array::from_fn(
        #[inline(always)]
        |i| left[i].add(right[i]),
    )
}
