//! The nodes of the packs of a lane's stretch as a binary counter, which needs four nodes of registers.

use crate::node::{Node, select};
use crate::reduce::fold::Tree;
use crate::reduce::shape::piece::nodes::{padded, some};
use crate::reduce::shape::piece::stretch::Stretch;
use crate::reduce::shape::split::next;
use crate::source::Bits;
use warpfold_simt::{ALL, Simt};

/// The nodes of whole packs, and what is made of them: a binary counter. (Of fields: an array would get an index.)
#[derive(Clone, Copy)]
struct Counter<N> {
    one: N,
    two: N,
    four: N,
    eight: N,
}

impl<N: Node> Counter<N> {
    /// The nodes of the first `whole` packs of a stretch of `packs`.
    #[inline(always)]
    fn of<S: Simt, F: Tree<Node = N>>(
        s: &S,
        f: &F,
        whole: u32,
        packs: u32,
        read: &mut impl FnMut(u32, bool) -> [u32; 4],
    ) -> Self {
        let mut counter = Self { one: f.neutral(), two: f.neutral(), four: f.neutral(), eight: f.neutral() };
        let mut k = 0;
        // Two at a time, so that the second is read while the first goes up the tree.
        while s.again(k + 2 <= packs) {
            if s.branch(k + 2 <= whole) {
                let w = [read(k, true), read(k + 1, true)];
                counter.push(s, f, k, f.join(f.pack(s, &w[0]), f.pack(s, &w[1]), F::Bits::PER));
            }
            k += 2;
        }
        if s.branch(whole & 1 == 1) {
            counter.one = f.pack(s, &read(whole - 1, true));
        }
        counter
    }

    /// Takes the node of the packs `k` and `k + 1`.
    #[inline(always)]
    fn push<S: Simt, F: Tree<Node = N>>(&mut self, s: &S, f: &F, k: u32, node: N) {
        let per = F::Bits::PER;
        if s.branch(k & 2 == 0) {
            self.two = node;
            return;
        }
        let node = f.join(self.two, node, 2 * per);
        if s.branch(k & 4 == 0) {
            self.four = node;
            return;
        }
        self.eight = f.join(self.four, node, 4 * per);
    }

    /// The nodes, the smallest first.
    #[inline(always)]
    fn nodes(self) -> [N; 4] {
        [self.one, self.two, self.four, self.eight]
    }
}

/// The node over a stretch, of a tree with a neutral node.
#[inline(always)]
pub(super) fn node<S: Simt, F: Tree>(
    s: &S,
    f: &F,
    stretch: Stretch,
    mut read: impl FnMut(u32, bool) -> [u32; 4],
) -> F::Node {
    let (whole, left) = (stretch.count / F::Bits::PER, stretch.count % F::Bits::PER);
    let nodes = Counter::of(s, f, whole, stretch.packs, &mut read).nodes();
    let mut node = f.neutral();
    if s.branch(left > 0) {
        node = last(s, f, &read(whole, false), left);
    }
    // Outputs of less than a pack have none of these.
    if s.branch(whole > 0) {
        let mut d = 0;
        while d < 4 {
            node = select(whole >> d & 1 == 1, f.join(nodes[d], node, F::Bits::PER << d), node);
            d += 1;
        }
    }
    node
}

/// The same of elements each of which takes many instructions. Lanes that have fewer packs than others, or a part of
/// one, would take theirs apart from these: so all take as many, with the neutral node for what there is not.
#[inline(always)]
pub(super) fn evenly<S: Simt, F: Tree>(
    s: &S,
    f: &F,
    stretch: Stretch,
    read: impl Fn(u32, bool) -> [u32; 4],
) -> F::Node {
    let (per, none) = (F::Bits::PER, f.neutral());
    let mut counter = Counter { one: none, two: none, four: none, eight: none };
    let mut k = 0;
    while s.again(k < stretch.packs) {
        let left = stretch.count.saturating_sub(k * per);
        let is_whole = s.all(ALL, left >= 2 * per || stretch.count == 0);
        let mut w = [[0; 4]; 2];
        if s.branch(left > 0) {
            w[0] = read(k, is_whole);
        }
        if s.branch(left > per) {
            w[1] = read(k + 1, is_whole);
        }
        let node = if s.branch(is_whole) {
            f.join(f.pack(s, &w[0]), f.pack(s, &w[1]), per)
        } else {
            let [low, high] = [left, left.saturating_sub(per)];
            f.join(padded(s, f, &w[0], per, low, 0), padded(s, f, &w[1], per, high, 0), per)
        };
        counter.push(s, f, k, node);
        k += 2;
    }
    let (nodes, mut node, mut d) = (counter.nodes(), none, 1);
    while d < 4 {
        node = select(k >> d & 1 == 1, f.join(nodes[d], node, per << d), node);
        d += 1;
    }
    // A lane that has nothing has gone the way of whole packs with the others.
    select(stretch.count > 0, node, none)
}

/// The node over the first `left` elements of 16 bytes, at least one, of a tree with a neutral node.
#[inline(always)]
fn last<S: Simt, F: Tree>(s: &S, f: &F, w: &[u32; 4], left: u32) -> F::Node {
    // Outputs are often no longer than this, and few elements need few nodes.
    if F::Bits::PER > 4 && s.branch(left <= 2) {
        padded(s, f, w, 2, left, 1)
    } else if F::Bits::PER > 4 && s.branch(left <= 4) {
        padded(s, f, w, 4, left, 1)
    } else {
        padded(s, f, w, F::Bits::PER, left, 1)
    }
}

/// The part of a stretch, of a tree without a neutral node.
#[inline(always)]
pub(in crate::reduce::shape) fn part<S: Simt, F: Tree>(
    s: &S,
    f: &F,
    stretch: Stretch,
    mut read: impl FnMut(u32, bool) -> [u32; 4],
) -> F::Part {
    let (whole, left) = (stretch.count / F::Bits::PER, stretch.count % F::Bits::PER);
    let mut nodes = Counter::of(s, f, whole, stretch.packs, &mut read).nodes();
    let mut part = f.nothing();
    if s.branch(left > 0) {
        part = some(s, f, &read(whole, false), left);
    }
    let (mut d, all) = (0, s.opaque(4));
    while s.again(d < all) {
        if s.branch(whole >> d & 1 == 1) {
            part = f.meet_near(f.part(nodes[0], F::Bits::PER << d), part);
        }
        nodes = next(nodes, nodes[0]);
        d += 1;
    }
    part
}
