//! Trees of neighbours side by side, as vectors: each lane has a window of its own.

use warpfold_core::Float;

use crate::simd::{array, inlined};

use super::tasks::{LANES, Strip};

/// A number of each lane.
pub type Lanes<T> = [T; LANES];

/// Levels of the trees of as many leaves as memory holds.
const LEVELS: usize = usize::BITS as usize;

/// Places for the nodes of trees that are not yet complete: blocks of 8 leaves and higher nodes.
pub struct Nodes<F>(Vec<Lanes<F>>);

impl<F: Float> Nodes<F> {
    /// No nodes.
    pub fn new() -> Self {
        Self(vec![[F::ZERO; LANES]; LEVELS])
    }
}

/// The sums of both lanes.
#[inline(always)]
fn sums<F: Float>(left: Lanes<F>, right: Lanes<F>) -> Lanes<F> {
    array!(LANES, i => left[i].add(right[i]))
}

/// The tree over the leaves at some places. Of none it is -0.0, which changes no sum.
#[inline(always)]
pub fn tree<F: Float>(places: &[usize], nodes: &mut Nodes<F>, leaf: impl Fn(usize) -> Lanes<F>) -> Lanes<F> {
    let nodes = nodes.0.as_mut_slice();
    let pair = inlined(
        #[inline(always)]
        |at: [usize; 2]| sums(leaf(at[0]), leaf(at[1])),
    );
    let quad = inlined(
        #[inline(always)]
        |at: [usize; 4]| sums(pair([at[0], at[1]]), pair([at[2], at[3]])),
    );
    let (blocks, mut rest) = places.as_chunks::<8>();
    for (i, at) in blocks.iter().enumerate() {
        let mut node = sums(quad([at[0], at[1], at[2], at[3]]), quad([at[4], at[5], at[6], at[7]]));
        // A complete node of a level joins the one before it.
        let level = i.trailing_ones() as usize;
        for left in &nodes[..level] {
            node = sums(*left, node);
        }
        nodes[level] = node;
    }
    // What is left joins from right to left: an odd last node passes through.
    let mut last = None;
    if let (Some((more, at)), true) = (rest.split_last_chunk::<1>(), rest.len() & 1 != 0) {
        (rest, last) = (more, Some(leaf(at[0])));
    }
    if let (Some((more, at)), true) = (rest.split_last_chunk::<2>(), rest.len() & 2 != 0) {
        (rest, last) = (more, Some(join(pair(*at), last)));
    }
    if let Some(at) = rest.first_chunk::<4>() {
        last = Some(join(quad(*at), last));
    }
    let mut open = blocks.len();
    while open > 0 {
        last = Some(join(nodes[open.trailing_zeros() as usize], last));
        open &= open - 1;
    }
    last.unwrap_or([F::NOTHING; LANES])
}

/// A node and what is on its right, if anything is.
#[inline(always)]
fn join<F: Float>(node: Lanes<F>, right: Option<Lanes<F>>) -> Lanes<F> {
    match right {
        Some(right) => sums(node, right),
        None => node,
    }
}

/// The elements of the lanes, side by side.
#[inline(always)]
pub fn lanes<T: Copy>(x: &[T], at: usize) -> Lanes<T> {
    *x[at..].first_chunk().expect("there are more elements behind the last")
}

/// Where the windows of a strip's number 0 have their elements, in the source rows that begin at `rows`. They may be
/// before the first element, but those of the strip's numbers are not.
pub fn places(strip: &Strip, rows: &[usize], to: &mut Vec<usize>) {
    to.clear();
    let first = strip.numbers.start;
    to.extend(rows.iter().flat_map(|row| strip.taps.iter().map(move |tap| (row + first).wrapping_add_signed(*tap))));
}

#[cfg(test)]
mod tests {
    use warpfold_core::ops::Sum;
    use warpfold_core::tree::reduce;

    use super::*;

    #[test]
    fn lanes_have_the_bits_of_the_reference() {
        let x: Vec<f32> = (0..2000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 * 1e-3 - 7e3).collect();
        let mut nodes = Nodes::new();
        for n in (0..300).chain([511, 512, 1000, 1023]) {
            let places: Vec<usize> = (0..n).map(|i| i * 7 % 1900).collect();
            let got = tree(&places, &mut nodes, |at| lanes(&x, at));
            for (lane, got) in got.iter().enumerate() {
                let want = reduce(&Sum::<f32>::total(), places.iter().map(|at| x[at + lane])).unwrap();
                let want = if n == 0 { -0.0 } else { want };
                assert_eq!(got.to_bits(), want.to_bits(), "{n} leaves, lane {lane}");
            }
        }
    }
}
