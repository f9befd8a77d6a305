//! Rows of nodes, joined as a binary counter carries.

use super::nodes::Nodes;
use crate::loops::Loops;

/// The tree over rows of nodes, column by column. Rows are pushed one after the other.
pub struct Counter<'a> {
    kernel: &'a dyn Loops,
    /// Elements under each node that is pushed.
    weight: u64,
    pushed: usize,
    /// `levels[d]`, where bit d of `pushed` is set, holds the nodes of 2^d rows.
    levels: Vec<Nodes>,
    spare: Vec<Nodes>,
}

impl<'a> Counter<'a> {
    /// A counter without rows.
    pub fn new(kernel: &'a dyn Loops, weight: u64) -> Self {
        Self { kernel, weight, pushed: 0, levels: Vec::new(), spare: Vec::new() }
    }

    /// Room for a row of nodes, taken from an earlier row where possible.
    pub fn room(&mut self) -> Nodes {
        self.spare.pop().unwrap_or_else(|| Nodes::new(self.kernel.facts().node))
    }

    /// The first row, if no other has been pushed.
    pub fn first(&mut self) -> Option<&mut Nodes> {
        self.levels.first_mut().filter(|_| self.pushed == 1)
    }

    /// Appends a row of nodes of this kernel.
    pub fn push(&mut self, mut nodes: Nodes) {
        let mut level = 0;
        while self.pushed >> level & 1 == 1 {
            let left = std::mem::replace(&mut self.levels[level], Nodes::new(0));
            let weight = self.weight << level;
            merge(self.kernel, &left, weight, &mut nodes, weight);
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

    /// The nodes over all rows, and over a last row, `tail`, if there is one, whose nodes have fewer elements. `None`
    /// if there are no rows.
    pub fn finish(self, tail: Option<(Nodes, u64)>) -> Option<Nodes> {
        let mut tail = tail;
        for (level, left) in self.levels.into_iter().enumerate().filter(|(level, _)| self.pushed >> level & 1 == 1) {
            let weight = self.weight << level;
            tail = Some(match tail {
                Some((mut right, n)) => {
                    merge(self.kernel, &left, weight, &mut right, n);
                    (right, n + weight)
                }
                None => (left, weight),
            });
        }
        tail.map(|(nodes, _)| nodes)
    }
}

/// `right[i] = left[i] ⊕ right[i]`, of nodes of this kernel.
pub fn merge(kernel: &dyn Loops, left: &Nodes, n_left: u64, right: &mut Nodes, n_right: u64) {
    assert_eq!(left.len(), right.len());
    // SAFETY: both sides are lists of written nodes of this kernel, as many on either side.
    unsafe { kernel.merge(left.first(), n_left, right.first_mut(), n_right, left.len()) };
}
