//! What is computed: one file per family of reductions. How it walks memory is in [`crate::reduce::shape`].
//!
//! A [`Tree`] cares for the order of its elements, and combines neighbours; a [`Heap`] does not, and keeps one running
//! value per lane.

mod arg;
mod count;
mod describe;
mod doubles;
mod ends;
mod exact;
mod exponentials;
pub mod extremum;
mod halves;
mod integer;
pub mod key;
pub mod keys;
mod live;
mod moments;
mod most;
mod packed;
mod passing;
mod share;
mod tree;
mod twins;

pub use arg::Arg;
pub use count::Count;
pub use describe::{Described, Description, End, Seen, Total, Totals};
pub use doubles::Doubles;
pub use ends::Ends;
pub use exact::{ExactDeviations, IntegerDeviations};
pub use exponentials::LogSumExps;
pub use extremum::{Extremum, MinMax};
pub use integer::Integer;
pub use live::{LiveDeviations, LiveMeans};
pub use packed::Packed;
pub use passing::Passing;
pub use share::Share;
pub use tree::{Deviations, Norms, Products, Sums, initial};
pub use twins::Twins;

use crate::node::{Node, select};
use crate::reduce::out::Out;
use crate::reduce::recipe::Recipe;
use crate::source::Bits;
use warpfold_simt::{ALL, MOST_COUNTED, Simt};

/// Partial results: how they meet, and what is made of the last one.
pub trait Parts: Copy {
    /// A partial result.
    type Part: Node;
    /// Results of one output.
    const RESULTS: u64 = 1;
    /// Whether [`Parts::meet`] gives the same bits for swapped parts.
    const SWAPS: bool = false;
    /// Whether results are places, so that those of partials cannot be those of the whole.
    const PLACES: bool = false;
    /// Whether [`Parts::narrow`] makes results.
    const NARROW: bool = false;
    /// Whether it makes those of staged lines that have several outputs each: finishing must be short.
    const LINES: bool = Self::NARROW;
    /// From what a kernel is told.
    fn new(recipe: &Recipe) -> Self;
    /// The part of no elements; it changes nothing.
    fn nothing(&self) -> Self::Part;
    /// The part of two neighbouring ranges.
    fn meet(&self, left: Self::Part, right: Self::Part) -> Self::Part;
    /// The same of fewer than [`MOST_COUNTED`] elements, if that takes fewer operations.
    #[inline(always)]
    fn meet_near(&self, left: Self::Part, right: Self::Part) -> Self::Part {
        self.meet(left, right)
    }
    /// The part of a range that starts `by` elements later.
    #[inline(always)]
    fn moved(&self, part: Self::Part, _by: u64) -> Self::Part {
        part
    }
    /// The result in the low bits, of a fold whose results are as narrow as its elements of 1 or 2 bytes.
    #[inline(always)]
    fn narrow<S: Simt>(&self, _s: &S, _recipe: &Recipe, _part: Self::Part) -> u32 {
        0
    }
    /// Writes the result.
    fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, part: Self::Part, out: Out);
}

/// A reduction whose bits depend on the order: neighbours combine, pairs of pairs, and so on.
pub trait Tree: Parts {
    /// An element in memory.
    type Bits: Bits;
    /// The node of a whole subtree.
    type Node: Node;
    /// Whether [`Tree::join`] gives the same bits for swapped nodes.
    const COMMUTES: bool;
    /// Whether there is a node that changes nothing, so that a ragged end may be filled with it.
    const NEUTRAL: bool;
    /// Whether nodes count the elements under them and leave NaNs out. Then NaNs, all bits set, fill a ragged end.
    const COUNTS: bool = false;
    /// Whether staged outputs may have their elements in several turns. Of folds with large nodes that would cost
    /// registers for which other outputs wait.
    const TURNS: bool = Self::NEUTRAL && !Self::COUNTS;
    /// Whether outputs of 2 bytes that are staged side by side are taken in pairs, a word with an element of each, and
    /// packs that lie in two runs are read as two. Of folds whose kernels have no register to spare, that costs all
    /// other outputs more.
    const TWINS: bool = false;
    /// The neutral node; any value if there is none.
    fn neutral(&self) -> Self::Node;
    /// The bits of an element that changes nothing, if there is one.
    #[inline(always)]
    fn blank(&self) -> Option<Self::Bits> {
        None
    }
    /// Packs with others in the place of elements that are left out, and the tree that need not look for them: the same
    /// tree, where it has to look.
    #[inline(always)]
    fn whole<S: Simt, const N: usize>(&self, _s: &S, w: [[u32; 4]; N]) -> (Self, [[u32; 4]; N]) {
        (*self, w)
    }
    /// The node of one element.
    fn lift<S: Simt>(&self, s: &S, bits: Self::Bits) -> Self::Node;
    /// The node above two elements: the bits of lifting and joining both, if that can be had for less.
    #[inline(always)]
    fn pair<S: Simt>(&self, s: &S, left: Self::Bits, right: Self::Bits) -> Self::Node {
        self.join(self.lift(s, left), self.lift(s, right), 1)
    }
    /// The node above two whole subtrees of `each` elements. If [`Tree::pair`] is overridden and [`Tree::NEUTRAL`] is
    /// false, `join` never receives single-element nodes.
    fn join(&self, left: Self::Node, right: Self::Node, each: u32) -> Self::Node;
    /// The node above a lane's `own` and the one that it `got` from the lane before it (`high`) or after it.
    #[inline(always)]
    fn join_lanes(&self, high: bool, got: Self::Node, own: Self::Node, each: u32) -> Self::Node {
        if Self::COMMUTES {
            self.join(own, got, each)
        } else {
            self.join(select(high, got, own), select(high, own, got), each)
        }
    }
    /// As a part; `count` elements are under it.
    fn part(&self, node: Self::Node, count: u32) -> Self::Part;
    /// The node over the elements of 16 bytes.
    #[inline(always)]
    fn pack<S: Simt>(&self, s: &S, w: &[u32; 4]) -> Self::Node {
        let two = |k: usize| self.pair(s, Self::Bits::nth(w, 2 * k), Self::Bits::nth(w, 2 * k + 1));
        let four = |k: usize| self.join(two(2 * k), two(2 * k + 1), 2);
        let eight = |k: usize| self.join(four(2 * k), four(2 * k + 1), 4);
        match Self::Bits::PER {
            1 => self.lift(s, Self::Bits::nth(w, 0)),
            2 => two(0),
            4 => four(0),
            8 => eight(0),
            _ => self.join(eight(0), eight(1), 8),
        }
    }

    /// Most elements that are under a node.
    const MOST: u32 = MOST_COUNTED;
    /// The node over a tile of a row, or over several tiles: as [`Tree::Node`], unless that has too few elements.
    type Large: Node;
    /// A tile's node. It has `each` elements under it, at most [`Tree::MOST`].
    fn large(&self, node: Self::Node, each: u32) -> Self::Large;
    /// The node above two, as [`Tree::join`] does it.
    fn join_large(&self, left: Self::Large, right: Self::Large, each: u32) -> Self::Large;
    /// As [`Tree::part`].
    fn part_large(&self, node: Self::Large, count: u32) -> Self::Part;

    /// A cheaper tree with the same bits for elements that are all ordinary; this tree itself if there is none.
    type Plain: Tree<Bits = Self::Bits>;
    /// Whether there is such a cheaper tree.
    const HAS_PLAIN: bool = false;
    /// The cheaper tree.
    fn plain(&self) -> Self::Plain;
    /// Whether the element is ordinary.
    #[inline(always)]
    fn is_ordinary<S: Simt>(&self, _s: &S, _bits: Self::Bits) -> bool {
        false
    }
    /// Whether all elements of packs are, which are not needed as numbers yet.
    #[inline(always)]
    fn are_ordinary<S: Simt, const N: usize>(&self, s: &S, packs: &[[u32; 4]; N]) -> bool {
        let per = Self::Bits::PER as usize;
        let (mut all, mut k) = (true, 0);
        while k < N * per {
            all &= self.is_ordinary(s, Self::Bits::nth(&packs[k / per], k % per));
            k += 1;
        }
        all
    }
    /// A node of the cheaper tree as a node of this tree.
    fn raise(&self, node: <Self::Plain as Tree>::Node) -> Self::Node;
}

/// For a [`Tree`] without a cheaper one, and, but for `plain`, whose nodes are all of one type.
macro_rules! no_plain {
    () => {
        $crate::reduce::fold::no_plain!(plain);
        $crate::reduce::fold::no_large!();
    };
    (plain) => {
        type Plain = Self;
        #[inline(always)]
        fn plain(&self) -> Self {
            *self
        }
        #[inline(always)]
        fn raise(&self, node: Self::Node) -> Self::Node {
            node
        }
    };
}
pub(crate) use no_plain;

/// For a [`Tree`] whose nodes are all of one type.
macro_rules! no_large {
    () => {
        type Large = Self::Node;
        #[inline(always)]
        fn large(&self, node: Self::Node, _each: u32) -> Self::Node {
            node
        }
        #[inline(always)]
        fn join_large(&self, left: Self::Node, right: Self::Node, each: u32) -> Self::Node {
            self.join(left, right, each)
        }
        #[inline(always)]
        fn part_large(&self, node: Self::Node, count: u32) -> Self::Part {
            self.part(node, count)
        }
    };
}
pub(crate) use no_large;

/// For a [`Heap`] whose parts are as brief as can be.
macro_rules! as_brief {
    () => {
        type Brief = Self::Part;
        #[inline(always)]
        fn brief(&self, part: Self::Part) -> Self::Part {
            part
        }
        #[inline(always)]
        fn meet_brief(&self, left: Self::Part, right: Self::Part) -> Self::Part {
            self.meet(left, right)
        }
        #[inline(always)]
        fn part_of(&self, brief: Self::Part) -> Self::Part {
            brief
        }
    };
}
pub(crate) use as_brief;

/// A reduction that any order serves.
pub trait Heap: Parts {
    /// An element in memory.
    type Bits: Bits;
    /// A lane's running value.
    type Acc: Copy;
    /// What changes nothing and so fills a pack: elements that it has already, or zeros.
    const REPEATS: bool;
    /// Whether [`Heap::packs`] takes them.
    const TOGETHER: bool = false;
    /// The bits of an element of 4 bytes or more that changes nothing beside others before it, if there is one.
    #[inline(always)]
    fn blank(&self) -> Option<Self::Bits> {
        if Self::REPEATS { None } else { Some(Self::Bits::ZERO) }
    }
    /// Before the first element.
    fn start(&self) -> Self::Acc;
    /// Takes the elements of 16 bytes; `place` is their number in the row, counted in such packs.
    fn pack<S: Simt>(&self, s: &S, acc: Self::Acc, words: &[u32; 4], place: u32) -> Self::Acc;
    /// Takes packs, wherever they are: more cheaply than one by one, if [`Heap::TOGETHER`] says so.
    #[inline(always)]
    fn packs<S: Simt, const N: usize>(&self, _s: &S, acc: Self::Acc, _packs: &[[u32; 4]; N]) -> Self::Acc {
        acc
    }
    /// Takes two packs, of which `count` elements are there; what else is in them changes nothing, if the first has
    /// any.
    #[inline(always)]
    fn two<S: Simt>(&self, s: &S, packs: &[[u32; 4]; 2], count: [u32; 2]) -> Self::Acc {
        let mut acc = self.pack(s, self.start(), &packs[0], 0);
        if s.branch(s.any(ALL, count[1] > 0)) {
            let with = self.pack(s, acc, &packs[1], 1);
            acc = if count[1] > 0 { with } else { acc };
        }
        acc
    }
    /// Takes one element; `place` as above in rows, the index of the row in columns.
    fn one<S: Simt>(&self, s: &S, acc: Self::Acc, bits: Self::Bits, place: u32) -> Self::Acc;
    /// The part of what was taken.
    fn part(&self, acc: Self::Acc) -> Self::Part;
    /// Whether `bits` is what the part stands for: an arg op looks it up in its pack at the end.
    #[inline(always)]
    fn found(&self, _bits: Self::Bits, _part: Self::Part) -> bool {
        false
    }
    /// Which of the elements of 16 bytes the part stands for.
    #[inline(always)]
    fn locate(&self, _words: &[u32; 4], _part: Self::Part) -> u32 {
        0
    }
    /// Where the part says that it came from, if [`Heap::found`] has to look there.
    #[inline(always)]
    fn place(&self, _part: Self::Part) -> Option<u32> {
        None
    }
    /// A part in fewer words, for exchanges; its place is below 2^16 - 1.
    type Brief: Node;
    /// The part in fewer words.
    fn brief(&self, part: Self::Part) -> Self::Brief;
    /// What [`Parts::meet`] makes of two.
    fn meet_brief(&self, left: Self::Brief, right: Self::Brief) -> Self::Brief;
    /// The part again; at least one element is under it.
    fn part_of(&self, brief: Self::Brief) -> Self::Part;
    /// The part with the element's own index.
    #[inline(always)]
    fn placed(&self, part: Self::Part, _index: u64) -> Self::Part {
        part
    }
}
