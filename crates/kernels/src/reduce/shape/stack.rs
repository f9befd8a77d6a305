//! Subtrees of equal size that arrive one after another, as a binary counter: one node for each bit of their number.

use crate::node::{Node, get, put, select};
use crate::reduce::fold::{Parts, Tree};
use warpfold_simt::{ALL, Shared, Simt};

/// A whole warp's counter: all lanes have the same node, so lane `d` keeps that of level `d`, and a level costs one
/// exchange instead of a register of every lane.
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

    /// Takes subtree number `i`; `join` joins those of a level.
    #[inline(always)]
    pub fn insert<S: Simt>(&mut self, s: &S, i: u32, mut node: N, join: impl Fn(N, N, u32) -> N) {
        let mut d = 0;
        while s.again(i >> d & 1 == 1) {
            node = join(self.level(s, d), node, d);
            d += 1;
        }
        self.0 = select(s.lane() == d, node, self.0);
    }

    /// Takes subtree number `i`, of `each` elements.
    #[inline(always)]
    pub fn push<S: Simt, F: Tree<Large = N>>(&mut self, s: &S, f: &F, i: u32, each: u32, node: N) {
        self.insert(s, i, node, |left, right, d| f.join_large(left, right, each << d));
    }

    /// The part of `count` subtrees, and what follows them.
    #[inline(always)]
    pub fn close<S: Simt, F: Tree<Large = N>>(&self, s: &S, f: &F, count: u32, each: u32, rest: F::Part) -> F::Part {
        self.close_by(
            s,
            count,
            rest,
            #[inline(always)]
            |node, d, part| f.meet(f.part_large(node, each << d), part),
        )
    }

    /// The same, where `meet` is told a subtree, its level, and the part of what follows it.
    #[inline(always)]
    pub fn close_by<S: Simt, P>(&self, s: &S, count: u32, rest: P, meet: impl Fn(N, u32, P) -> P) -> P {
        let (mut part, mut d) = (rest, 0);
        while s.again(count >> d != 0) {
            if s.branch(count >> d & 1 == 1) {
                part = meet(self.level(s, d), d, part);
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

/// A lane's own counter, in shared memory: `C` nodes at a time.
#[derive(Clone, Copy)]
pub struct Own {
    /// Shared memory, for every thread of the block.
    pub words: Shared<u32>,
    /// The thread.
    pub thread: u32,
    /// Threads of the block.
    pub threads: u32,
}

impl Own {
    #[inline(always)]
    fn put<S: Simt, N: Node, const C: usize>(&self, s: &S, level: u32, nodes: [N; C]) {
        let mut j = 0;
        while j < C {
            put(s, self.words, self.threads, self.slot::<N, C>(level, j), nodes[j]);
            j += 1;
        }
    }

    #[inline(always)]
    fn get<S: Simt, N: Node, const C: usize>(&self, s: &S, level: u32) -> [N; C] {
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |j| get(s, self.words, self.threads, self.slot::<N, C>(level, j), N::zero()),
        )
    }

    /// Word `i` of a node is `i * threads` further.
    #[inline(always)]
    fn slot<N: Node, const C: usize>(&self, level: u32, j: usize) -> u32 {
        (level * C as u32 + j as u32) * N::WORDS * self.threads + self.thread
    }

    /// Takes subtrees number `i`, of `each` elements.
    #[inline(always)]
    pub fn push<S: Simt, F: Tree, const C: usize>(&self, s: &S, f: &F, i: u32, each: u32, mut nodes: [F::Node; C]) {
        let mut d = 0;
        while s.again(i >> d & 1 == 1) {
            let left: [F::Node; C] = self.get(s, d);
            nodes = warpfold_simt::array::from_fn(
                #[inline(always)]
                |j| f.join(left[j], nodes[j], each << d),
            );
            d += 1;
        }
        self.put(s, d, nodes);
    }

    /// The parts of `count` subtrees, and what follows them.
    #[inline(always)]
    pub fn close<S: Simt, F: Tree, const C: usize>(
        &self,
        s: &S,
        f: &F,
        count: u32,
        each: u32,
        rest: [F::Part; C],
    ) -> [F::Part; C] {
        let (mut parts, mut d) = (rest, 0);
        while s.again(count >> d != 0) {
            if s.branch(count >> d & 1 == 1) {
                let left: [F::Node; C] = self.get(s, d);
                parts = warpfold_simt::array::from_fn(
                    #[inline(always)]
                    |j| f.meet(f.part(left[j], each << d), parts[j]),
                );
            }
            d += 1;
        }
        parts
    }

    /// Takes part number `i`.
    #[inline(always)]
    pub fn push_part<S: Simt, F: Parts>(&self, s: &S, f: &F, i: u32, mut part: F::Part) {
        let mut d = 0;
        while s.again(i >> d & 1 == 1) {
            let [left]: [F::Part; 1] = self.get(s, d);
            part = f.meet(left, part);
            d += 1;
        }
        self.put(s, d, [part]);
    }

    /// The part of `count` parts.
    #[inline(always)]
    pub fn close_parts<S: Simt, F: Parts>(&self, s: &S, f: &F, count: u32) -> F::Part {
        let (mut part, mut d) = (f.nothing(), 0);
        while s.again(count >> d != 0) {
            if s.branch(count >> d & 1 == 1) {
                let [left]: [F::Part; 1] = self.get(s, d);
                part = f.meet(left, part);
            }
            d += 1;
        }
        part
    }
}

/// A lane's own stack of partials in registers, a binary counter of three digits: it takes eight partials.
#[derive(Clone, Copy)]
pub struct Few<P>([P; 3]);

impl<P: Copy> Few<P> {
    /// With anything in it.
    #[inline(always)]
    pub fn new(any: P) -> Self {
        Self([any; 3])
    }

    /// Takes part number `i`; after the eighth, it is the part of all.
    #[inline(always)]
    pub fn push<F: Parts<Part = P>>(&mut self, f: &F, i: u32, part: P) {
        if i & 1 == 0 {
            self.0[0] = part;
            return;
        }
        let part = f.meet(self.0[0], part);
        if i & 2 == 0 {
            self.0[1] = part;
            return;
        }
        let part = f.meet(self.0[1], part);
        self.0[2] = if i & 4 == 0 { part } else { f.meet(self.0[2], part) };
    }

    /// The part of `count` parts, at most eight.
    #[inline(always)]
    pub fn close<F: Parts<Part = P>>(&self, f: &F, count: u32) -> P {
        let mut part = f.nothing();
        if count & 1 != 0 {
            part = self.0[0];
        }
        if count & 2 != 0 {
            part = f.meet(self.0[1], part);
        }
        if count & 12 != 0 { f.meet(self.0[2], part) } else { part }
    }
}
