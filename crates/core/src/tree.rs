//! The reference: the contract, in a dozen lines. Every backend is tested against it, bit for bit.

use alloc::vec::Vec;

use crate::reducer::Reducer;

/// Combines neighbours until one node is left; an odd last node passes through unchanged. `None` if there is no node.
pub fn tree<R: Reducer>(reducer: &R, nodes: impl IntoIterator<Item = R::Acc>) -> Option<R::Acc> {
    let mut nodes: Vec<(R::Acc, u64)> = nodes.into_iter().map(|acc| (acc, 1)).collect();
    while nodes.len() > 1 {
        nodes = nodes
            .chunks(2)
            .map(|pair| match *pair {
                [(a, m), (b, n)] => (reducer.combine_counted(a, m, b, n), m + n),
                ref odd => odd[0],
            })
            .collect();
    }
    nodes.first().map(|&(acc, _)| acc)
}

/// Lifts, combines and finishes a sequence. `None` if it is empty and the reducer has no identity.
pub fn reduce<R: Reducer>(reducer: &R, items: impl IntoIterator<Item = R::Item>) -> Option<R::Output> {
    let leaves: Vec<R::Acc> = (0..).zip(items).map(|(i, x)| reducer.lift(x, i)).collect();
    let count = leaves.len() as u64;
    match tree(reducer, leaves) {
        Some(acc) => Some(reducer.finish(acc, count)),
        None => reducer.finish_empty(),
    }
}
