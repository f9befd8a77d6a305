//! Subtrees of equal size that arrive one after another, as a binary counter: one node for each bit of their number.

use crate::kernels::fold::{Parts, Tree};
use crate::kernels::node::{Node, select};
use crate::simt::{ALL, Simt};

/// A whole warp's counter: all lanes have the same node, so lane `d` keeps that of level `d`, and a level costs one exchange
/// instead of a register of every lane.
#[derive(Clone, Copy)]
pub struct Lanes<N>(N);

impl<N: Node> Lanes<N> {
    /// With anything in it, since nothing is read before it is written.
    #[inline(always)]
    pub fn new(any: N) -> Self {
        Self(any)
    }

    #[inline(always)]
    fn level<S: Simt>(&self, s: &S, d: u32) -> N {
        self.0.map(|_, word| s.shuffle_idx(ALL, word, d))
    }

    #[inline(always)]
    fn insert<S: Simt>(&mut self, s: &S, i: u32, mut node: N, join: impl Fn(N, N, u32) -> N) {
        let mut d = 0;
        while s.again(i >> d & 1 == 1) {
            node = join(self.level(s, d), node, d);
            d += 1;
        }
        self.0 = select(s.lane() == d, node, self.0);
    }

    /// Takes subtree number `i`, of `each` elements.
    #[inline(always)]
    pub fn push<S: Simt, F: Tree<Node = N>>(&mut self, s: &S, f: &F, i: u32, each: u32, node: N) {
        self.insert(s, i, node, |left, right, d| f.join(left, right, each << d));
    }

    /// The part of `count` subtrees, and what follows them.
    #[inline(always)]
    pub fn close<S: Simt, F: Tree<Node = N>>(&self, s: &S, f: &F, count: u32, each: u32, rest: F::Part) -> F::Part {
        let (mut part, mut d) = (rest, 0);
        while s.again(count >> d != 0) {
            if s.branch(count >> d & 1 == 1) {
                part = f.meet(f.part(self.level(s, d), each << d), part);
            }
            d += 1;
        }
        part
    }

    /// Takes part number `i`.
    #[inline(always)]
    pub fn push_part<S: Simt, F: Parts<Part = N>>(&mut self, s: &S, f: &F, i: u32, part: N) {
        self.insert(s, i, part, |left, right, _| f.meet(left, right));
    }

    /// The part of `count` parts.
    #[inline(always)]
    pub fn close_parts<S: Simt, F: Parts<Part = N>>(&self, s: &S, f: &F, count: u32) -> N {
        let (mut part, mut d) = (f.nothing(), 0);
        while s.again(count >> d != 0) {
            if s.branch(count >> d & 1 == 1) {
                part = f.meet(self.level(s, d), part);
            }
            d += 1;
        }
        part
    }
}

/// A loop over the levels of a [`Stack`], written out: an array that a loop indexes would lie in memory.
macro_rules! levels {
    ($d:ident < $levels:ident: $body:block) => {
        levels!(@ $d $levels $body 0 1 2 3 4 5 6 7 8 9 10 11 12 13)
    };
    (@ $d:ident $levels:ident $body:block $($n:literal)*) => {
        $(if $levels > $n {
            let $d = $n;
            $body
        })*
    };
}

/// A lane's own counter, of `C` nodes at a time and `D` levels, at most 14.
#[derive(Clone, Copy)]
pub struct Stack<N, const D: usize, const C: usize = 1>([[N; C]; D]);

impl<N: Copy, const D: usize, const C: usize> Stack<N, D, C> {
    /// With anything in it, since nothing is read before it is written.
    #[inline(always)]
    pub fn new(any: N) -> Self {
        Self([[any; C]; D])
    }

    /// Takes subtrees number `i`, of `each` elements; `i` is below `2^(D-1)`.
    #[inline(always)]
    #[allow(unused_assignments, reason = "the last level has none above it")]
    pub fn push<F: Tree<Node = N>>(&mut self, f: &F, i: u32, each: u32, mut nodes: [N; C]) {
        levels!(d < D: {
            if i >> d & 1 == 0 {
                self.0[d] = nodes;
                return;
            }
            nodes = core::array::from_fn(#[inline(always)] |j| f.join(self.0[d][j], nodes[j], each << d));
        });
    }

    /// The parts of `count` subtrees, and what follows them.
    #[inline(always)]
    pub fn close<F: Tree<Node = N>>(&self, f: &F, count: u32, each: u32, rest: [F::Part; C]) -> [F::Part; C] {
        let mut parts = rest;
        levels!(d < D: {
            if count >> d & 1 == 1 {
                parts =
                    core::array::from_fn(#[inline(always)] |j| f.meet(f.part(self.0[d][j], each << d), parts[j]));
            }
        });
        parts
    }
}

impl<N: Copy, const D: usize> Stack<N, D> {
    /// Takes part number `i`.
    #[inline(always)]
    #[allow(unused_assignments, reason = "the last level has none above it")]
    pub fn push_part<F: Parts<Part = N>>(&mut self, f: &F, i: u32, mut part: N) {
        levels!(d < D: {
            if i >> d & 1 == 0 {
                self.0[d] = [part];
                return;
            }
            part = f.meet(self.0[d][0], part);
        });
    }

    /// The part of `count` parts.
    #[inline(always)]
    pub fn close_parts<F: Parts<Part = N>>(&self, f: &F, count: u32) -> N {
        let mut part = f.nothing();
        levels!(d < D: {
            if count >> d & 1 == 1 {
                part = f.meet(self.0[d][0], part);
            }
        });
        part
    }
}
