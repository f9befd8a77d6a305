//! The end of a block whose sequence may be continued by nodes of no elements ([`Reducer::PADDED`]): then every level
//! has a length that the compiler knows. 128 MiB, two threads of a busy EPYC with AVX-512, CPU time of each, ms of
//! whole levels of unknown length, and of subtrees: norm of bf16 (8, 7966, 1053) along axis 2 5.1, 4.7.

use std::mem::MaybeUninit;

use warpfold_core::Reducer;

use super::simd::{Aligned, array};
use super::tree::{halve, upper_levels};

/// The nodes over `N` elements, of which those after `x` are absent. Returns their number.
#[inline(always)]
pub(super) fn padded<
    R: Reducer,
    const NODES: usize,
    const EIGHTS: usize,
    const FOURS: usize,
    const PAIRS: usize,
    const N: usize,
>(
    reducer: &R,
    identity: R::Acc,
    x: &[R::Item],
    start: u64,
    nodes: &mut [MaybeUninit<R::Acc>],
) -> usize {
    let mut leaves = Aligned([identity; N]);
    for (i, (leaf, &x)) in leaves.0.iter_mut().zip(x).enumerate() {
        *leaf = reducer.lift(x, start + i as u64);
    }
    let pairs: [R::Acc; PAIRS] = halve(reducer, &leaves.0, 1);
    let nodes = nodes.first_chunk_mut().expect("room for the nodes of a piece");
    upper_levels::<R, PAIRS, FOURS, EIGHTS, NODES>(reducer, &pairs, nodes);
    NODES
}

/// The root over `n` nodes of [`super::tree::GROUP`] elements each, absent ones among them. There is a subtree for each
/// set bit of their number, and one of the last few, all of lengths known to the compiler.
///
/// # Safety
/// The first `n` of `nodes` are written, and there is room for a few more.
#[inline(always)]
pub(super) unsafe fn padded_root<R: Reducer>(
    reducer: &R,
    identity: R::Acc,
    nodes: &mut [MaybeUninit<R::Acc>],
    n: usize,
) -> R::Acc {
    /// Nodes of the shortest subtree.
    const FEW: usize = 16;
    /// Those of the longest: two of them are a block that ends with absent nodes.
    const MOST: usize = 128;
    let (mut rest, mut right) = (n / FEW * FEW, None);
    if n > rest {
        nodes[n..rest + FEW].fill(MaybeUninit::new(identity));
        // SAFETY: all of these nodes are written.
        right = Some(unsafe { subtree::<R, FEW, 8, 4>(reducer, &nodes[rest..]) });
    }
    while rest > 0 {
        let few = MOST.min(1 << rest.trailing_zeros());
        rest -= few;
        // SAFETY: the caller vouches for these nodes.
        let left = unsafe {
            let nodes = &nodes[rest..];
            match few {
                FEW => subtree::<R, FEW, 8, 4>(reducer, nodes),
                32 => subtree::<R, 32, 16, 8>(reducer, nodes),
                64 => subtree::<R, 64, 32, 16>(reducer, nodes),
                _ => subtree::<R, MOST, 64, 32>(reducer, nodes),
            }
        };
        // A reducer whose nodes may be absent does not look at counts.
        right = Some(right.map_or(left, |right| reducer.combine_counted(left, 1, right, 1)));
    }
    right.expect("at least one subtree")
}

/// The root over the first `N` nodes, which are `N2` pairs and `N4` fours.
///
/// # Safety
/// They are written.
#[inline(always)]
unsafe fn subtree<R: Reducer, const N: usize, const N2: usize, const N4: usize>(
    reducer: &R,
    nodes: &[MaybeUninit<R::Acc>],
) -> R::Acc {
    let nodes = nodes.first_chunk::<N>().expect("as many nodes");
    // SAFETY: the caller's.
    let nodes: [R::Acc; N] = array!(N, i => unsafe { nodes[i].assume_init() });
    let pairs: [R::Acc; N2] = halve(reducer, &nodes, 1);
    let mut nodes: [R::Acc; N4] = halve(reducer, &pairs, 1);
    let mut n = N4;
    while n > 1 {
        n /= 2;
        let mut i = 0;
        while i < n {
            nodes[i] = reducer.combine_counted(nodes[2 * i], 1, nodes[2 * i + 1], 1);
            i += 1;
        }
    }
    nodes[0]
}
