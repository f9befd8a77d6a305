//! Distances, and the assignment of points to centroids. A point is assigned to the centroid of least score. The score
//! is half of the centroid's square minus its product with the point, both relative to the centre of all points.

use super::points::{Coordinate, Points, TILE};
use crate::parallel;
use crate::simd::{array, inlined, vectorize};

/// Points whose scores or distances are computed together.
const LANES: usize = 16;

/// Coordinates that are summed in registers, as a subtree.
const PANEL: usize = 8;

/// Tiles of a task, which share their rooms.
const TILES: usize = 16;

/// A number for each of [`LANES`] points.
type Lane<F> = [F; LANES];

/// Centroids whose scores are computed together, so that the latencies of additions overlap.
const ABREAST: usize = 4;

/// The centroids that points are assigned to.
pub(super) struct Targets<'a, F> {
    /// \[cluster\]\[coordinate\]
    centroids: &'a [F],
    /// The centre of all points, which is subtracted from points and centroids.
    centre: &'a [F],
    /// \[group\]\[coordinate\]\[`ABREAST`\]: the centroids minus the centre.
    about: Vec<F>,
    /// \[group\]\[`ABREAST`\]: half of the squares of these. Infinite for the padding of the last group.
    halves: Vec<F>,
}

impl<'a, F: Coordinate> Targets<'a, F> {
    pub fn new(centroids: &'a [F], centre: &'a [F]) -> Self {
        let d = centre.len();
        let room = (centroids.len() / d).next_multiple_of(ABREAST);
        let (mut about, mut halves) = (vec![F::ZERO; room * d], vec![F::from_f64(f64::INFINITY); room]);
        for (cluster, (centroid, half)) in centroids.chunks_exact(d).zip(&mut halves).enumerate() {
            let (group, place) = (cluster / ABREAST, cluster % ABREAST);
            let mut square = F::ZERO;
            for (coordinate, (&c, &m)) in centroid.iter().zip(centre).enumerate() {
                let c = c.sub(m);
                about[(group * d + coordinate) * ABREAST + place] = c;
                square = c.fma(c, square);
            }
            *half = square.mul(F::from_f64(0.5));
        }
        Self { centroids, centre, about, halves }
    }

    /// Assigns the points of a tile, given as \[coordinate\]\[`TILE`\].
    fn assign(&self, x: &[F], about: &mut Vec<F>, labels: &mut [u32], distances: &mut [F]) {
        let d = self.centre.len();
        vectorize(
            #[inline(always)]
            || {
                about.clear();
                for (x, &m) in x.chunks_exact(TILE).zip(self.centre) {
                    about.extend(x.iter().map(|&x| m.sub(x)));
                }
                for (i, (labels, distances)) in labels.chunks_mut(LANES).zip(distances.chunks_mut(LANES)).enumerate() {
                    let nearest = self.nearest(&about[i * LANES..]);
                    let squares = square_distance(
                        &x[i * LANES..],
                        d,
                        #[inline(always)]
                        |coordinate, i| self.centroids[nearest[i] as usize * d + coordinate],
                    );
                    labels.copy_from_slice(&nearest[..labels.len()]);
                    distances.copy_from_slice(&squares[..distances.len()]);
                }
            },
        );
    }

    /// The centroid of least score for each of [`LANES`] points; of a tie, the first. `x`, \[coordinate\]\[[`TILE`]\],
    /// is the centre minus the points.
    #[inline(always)]
    fn nearest(&self, x: &[F]) -> [u32; LANES] {
        let (mut labels, mut least) = ([0; LANES], [F::from_f64(f64::INFINITY); LANES]);
        let groups = self.about.chunks_exact(self.centre.len() * ABREAST).zip(self.halves.as_chunks::<ABREAST>().0);
        for (group, (about, halves)) in groups.enumerate() {
            let mut scores: [Lane<F>; ABREAST] = array!(ABREAST, j => [halves[j]; LANES]);
            for (c, x) in about.as_chunks::<ABREAST>().0.iter().zip(x.chunks(TILE)) {
                for j in 0..ABREAST {
                    for i in 0..LANES {
                        scores[j][i] = x[i].fma(c[j], scores[j][i]);
                    }
                }
            }
            for (j, scores) in scores.iter().enumerate() {
                for i in 0..LANES {
                    let less = scores[i] < least[i];
                    least[i] = if less { scores[i] } else { least[i] };
                    labels[i] = if less { (group * ABREAST + j) as u32 } else { labels[i] };
                }
            }
        }
        labels
    }
}

/// The cluster of each point, and the square of its distance to that centroid.
pub(super) fn assign<F: Coordinate>(points: &Points<'_>, targets: &Targets<'_, F>) -> (Vec<u32>, Vec<F>) {
    let mut labels = vec![0u32; points.n];
    let mut distances = vec![F::ZERO; points.n];
    parallel::pairs(&mut labels, &mut distances, TILES * TILE, |task, labels, distances| {
        let (mut room, mut about) = (Vec::new(), Vec::new());
        for (i, (labels, distances)) in labels.chunks_mut(TILE).zip(distances.chunks_mut(TILE)).enumerate() {
            let x = points.read((task * TILES + i) * TILE, labels.len(), TILE, &mut room);
            targets.assign(x, &mut about, labels, distances);
        }
    });
    (labels, distances)
}

/// The squares of distances from each point to each centroid, as \[point\]\[centroid\]. `each` makes the new value in
/// `to` of the old one and a square.
pub(super) fn distances<F: Coordinate>(points: &Points<'_>, centroids: &[F], to: &mut [F], each: fn(F, F) -> F) {
    let clusters = centroids.len() / points.dimensions;
    if clusters == 0 {
        return;
    }
    parallel::chunks(to, TILES * TILE * clusters, |task, to| {
        let mut room = Vec::new();
        for (tile, to) in to.chunks_mut(TILE * clusters).enumerate() {
            let x = points.read((task * TILES + tile) * TILE, to.len() / clusters, TILE, &mut room);
            for (i, to) in to.chunks_mut(LANES * clusters).enumerate() {
                for (cluster, centroid) in centroids.chunks_exact(points.dimensions).enumerate() {
                    let squares: Lane<F> = vectorize(
                        #[inline(always)]
                        || square_distance(&x[i * LANES..], centroid.len(), |coordinate, _| centroid[coordinate]),
                    );
                    for (to, square) in to[cluster..].iter_mut().step_by(clusters).zip(squares) {
                        *to = each(*to, square);
                    }
                }
            }
        }
    });
}

/// The tree over `(x - c)²` of the coordinates, in order. Each difference, square and sum is rounded. Points may have
/// different centroids: `c` is called with the coordinate and the number of the point.
#[inline(always)]
fn square_distance<F: Coordinate>(x: &[F], dimensions: usize, c: impl Fn(usize, usize) -> F) -> Lane<F> {
    let term = inlined(
        #[inline(always)]
        |coordinate: usize| -> Lane<F> {
            let x = x[coordinate * TILE..].first_chunk::<LANES>().expect("a whole tile");
            array!(LANES, i => {
                let d = x[i].sub(c(coordinate, i));
                d.mul(d)
            })
        },
    );
    // The nodes of whole panels, joined as a binary counter carries.
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
    // The coordinates after the last whole panel, the smallest subtree last.
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
    array!(LANES, i => left[i].add(right[i]))
}
