//! The tree over nodes that come one after another, of a few planes at once: a binary counter in registers.

use warpfold_core::Float;
use warpfold_simt::Simt;

/// Nodes of one node, two, four; and of eight and more, of `P` planes.
#[derive(Clone, Copy)]
pub struct Stack<F, const P: usize, const L: usize> {
    few: [[F; P]; 3],
    more: [[F; P]; L],
}

/// The sums of both.
#[inline(always)]
pub fn join<F: Float, const P: usize>(left: [F; P], right: [F; P]) -> [F; P] {
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| left[k].add(right[k]),
    )
}

#[inline(always)]
fn select<F: Float, const P: usize>(which: bool, a: [F; P], b: [F; P]) -> [F; P] {
    warpfold_simt::array::from_fn(
        #[inline(always)]
        |k| if which { a[k] } else { b[k] },
    )
}

impl<F: Float, const P: usize, const L: usize> Stack<F, P, L> {
    /// Of no nodes.
    #[inline(always)]
    pub fn empty() -> Self {
        Self { few: [[F::NOTHING; P]; 3], more: [[F::NOTHING; P]; L] }
    }

    /// Takes node number `i`.
    #[inline(always)]
    pub fn push<S: Simt>(&mut self, s: &S, i: u32, node: [F; P]) {
        if s.branch(i & 1 == 0) {
            self.few[0] = node;
            return;
        }
        let node = join(self.few[0], node);
        if s.branch(i & 2 == 0) {
            self.few[1] = node;
            return;
        }
        let node = join(self.few[1], node);
        if s.branch(i & 4 == 0) {
            self.few[2] = node;
            return;
        }
        // Rarely: so each level is chosen and not found.
        let (mut node, mut open, mut d) = (join(self.few[2], node), true, 0);
        while d < L {
            let is_free = i >> (3 + d) & 1 == 0;
            let joined = join(self.more[d], node);
            self.more[d] = select(open && is_free, node, self.more[d]);
            node = select(open && !is_free, joined, node);
            open &= !is_free;
            d += 1;
        }
    }

    /// The tree of `count` nodes. Of none it is -0.0, which changes no sum.
    #[inline(always)]
    pub fn close<S: Simt>(&self, s: &S, count: u32) -> [F; P] {
        let mut node = select(count & 1 != 0, self.few[0], [F::NOTHING; P]);
        if !s.branch(count > 1) {
            return node;
        }
        node = select(count & 2 != 0, join(self.few[1], node), node);
        node = select(count & 4 != 0, join(self.few[2], node), node);
        if !s.branch(count > 7) {
            return node;
        }
        let mut d = 0;
        while d < L {
            node = select(count >> (3 + d) & 1 != 0, join(self.more[d], node), node);
            d += 1;
        }
        node
    }
}
