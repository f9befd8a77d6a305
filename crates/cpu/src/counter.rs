//! Rows of nodes, joined as a binary counter carries.

use super::kernel::{Acc, Kernel};

/// The tree over rows of nodes, column by column, while they come one after the other.
pub struct Counter<'a, K: Kernel> {
    kernel: &'a K,
    /// Elements under each node that is pushed.
    weight: u64,
    pushed: usize,
    /// `levels[d]`, where bit d of `pushed` is set, holds the nodes of 2^d rows.
    levels: Vec<Vec<Acc<K>>>,
    spare: Vec<Vec<Acc<K>>>,
}

impl<'a, K: Kernel> Counter<'a, K> {
    /// Nothing yet.
    pub fn new(kernel: &'a K, weight: u64) -> Self {
        Self { kernel, weight, pushed: 0, levels: Vec::new(), spare: Vec::new() }
    }

    /// An empty row with room for `width` nodes.
    pub fn room(&mut self, width: usize) -> Vec<Acc<K>> {
        let mut nodes = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(width));
        nodes.clear();
        nodes
    }

    /// The only row that was pushed.
    pub fn first(&mut self) -> Option<&mut Vec<Acc<K>>> {
        self.levels.first_mut().filter(|_| self.pushed == 1)
    }

    /// The next row.
    pub fn push(&mut self, mut nodes: Vec<Acc<K>>) {
        let mut level = 0;
        while self.pushed >> level & 1 == 1 {
            let left = std::mem::take(&mut self.levels[level]);
            let weight = self.weight << level;
            self.kernel.merge(&left, weight, &mut nodes, weight);
            self.spare.push(left);
            level += 1;
        }
        if level == self.levels.len() {
            self.levels.push(nodes);
        } else {
            self.levels[level] = nodes;
        }
        self.pushed += 1;
    }

    /// All rows, and after them perhaps one whose nodes have fewer elements; `None` if there are none.
    pub fn finish(self, tail: Option<(Vec<Acc<K>>, u64)>) -> Option<Vec<Acc<K>>> {
        let mut tail = tail;
        for (level, left) in self.levels.into_iter().enumerate().filter(|(level, _)| self.pushed >> level & 1 == 1) {
            let weight = self.weight << level;
            tail = Some(match tail {
                Some((mut right, n)) => {
                    self.kernel.merge(&left, weight, &mut right, n);
                    (right, n + weight)
                }
                None => (left, weight),
            });
        }
        tail.map(|(nodes, _)| nodes)
    }
}
