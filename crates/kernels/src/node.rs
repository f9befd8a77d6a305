//! Nodes of the tree as words, so that shuffles, shared memory and the workspace can carry them.

use warpfold_core::DoubleWord;
use warpfold_core::ops::{ArgNode, Moments, Powers};
use warpfold_core::rows::Dots;
use warpfold_simt::{ALL, Global, Pack, Shared, Simt};

/// A value that travels as 32-bit words.
pub trait Node: Copy {
    /// How many.
    const WORDS: u32;
    /// Of words that are zero.
    fn zero() -> Self;
    /// Replaces each word: `f` gets its number and its value.
    fn map(self, f: impl FnMut(u32, u32) -> u32) -> Self;
}

macro_rules! one_word {
    ($($t:ty: $to:expr, $from:expr;)*) => {$(impl Node for $t {
        const WORDS: u32 = 1;
        #[inline(always)]
        fn zero() -> Self {
            $from(0)
        }
        #[inline(always)]
        fn map(self, mut f: impl FnMut(u32, u32) -> u32) -> Self {
            $from(f(0, $to(self)))
        }
    })*};
}
one_word! {
    u32: |x| x, |w| w;
    i32: i32::cast_unsigned, u32::cast_signed;
    f32: f32::to_bits, f32::from_bits;
    u8: |x| x as u32, |w| w as u8;
    u16: |x| x as u32, |w| w as u16;
}

macro_rules! two_words {
    ($($t:ty: $to:expr, $from:expr;)*) => {$(impl Node for $t {
        const WORDS: u32 = 2;
        #[inline(always)]
        fn zero() -> Self {
            $from(0)
        }
        #[inline(always)]
        fn map(self, mut f: impl FnMut(u32, u32) -> u32) -> Self {
            let bits: u64 = $to(self);
            let low = f(0, bits as u32);
            let high = f(1, (bits >> 32) as u32);
            $from((high as u64) << 32 | low as u64)
        }
    })*};
}
two_words! {
    u64: |x| x, |w| w;
    i64: i64::cast_unsigned, u64::cast_signed;
    f64: f64::to_bits, f64::from_bits;
}

impl Node for Pack<u32, 4> {
    const WORDS: u32 = 4;
    #[inline(always)]
    fn zero() -> Self {
        Pack([0; 4])
    }
    #[inline(always)]
    fn map(self, f: impl FnMut(u32, u32) -> u32) -> Self {
        Pack(Node::map(self.0, f))
    }
}

impl Node for i128 {
    const WORDS: u32 = 4;
    #[inline(always)]
    fn zero() -> Self {
        0
    }
    #[inline(always)]
    fn map(self, mut f: impl FnMut(u32, u32) -> u32) -> Self {
        let low = (self as u64).map(&mut f);
        let high = ((self >> 64) as u64).map(|i, w| f(2 + i, w));
        (high as i128) << 64 | low as i128
    }
}

impl<A: Node, B: Node> Node for (A, B) {
    const WORDS: u32 = A::WORDS + B::WORDS;
    #[inline(always)]
    fn zero() -> Self {
        (A::zero(), B::zero())
    }
    #[inline(always)]
    fn map(self, mut f: impl FnMut(u32, u32) -> u32) -> Self {
        let a = self.0.map(&mut f);
        (a, self.1.map(|i, w| f(A::WORDS + i, w)))
    }
}

impl<N: Node, const C: usize> Node for [N; C] {
    const WORDS: u32 = C as u32 * N::WORDS;
    #[inline(always)]
    fn zero() -> Self {
        [N::zero(); C]
    }
    #[inline(always)]
    fn map(self, mut f: impl FnMut(u32, u32) -> u32) -> Self {
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| {
                self[k].map(
                    #[inline(always)]
                    |i, word| f(k as u32 * N::WORDS + i, word),
                )
            },
        )
    }
}

/// Implements [`Node`] for a struct of fields that are nodes.
macro_rules! fields {
    ($([$($p:ident),*] $t:ty { $($field:ident: $of:ty),* })*) => {$(impl<$($p: Copy),*> $crate::node::Node for $t
    where
        $($of: $crate::node::Node,)*
    {
        const WORDS: u32 = 0 $(+ <$of as $crate::node::Node>::WORDS)*;
        #[inline(always)]
        fn zero() -> Self {
            Self { $($field: <$of as $crate::node::Node>::zero()),* }
        }
        #[inline(always)]
        fn map(self, mut f: impl FnMut(u32, u32) -> u32) -> Self {
            let mut next = 0;
            $(
                let $field = self.$field.map(
                    #[inline(always)]
                    |i, word| f(next + i, word),
                );
                next += <$of as $crate::node::Node>::WORDS;
            )*
            let _ = next;
            Self { $($field),* }
        }
    })*};
}
pub(crate) use fields;
fields! {
    [F] DoubleWord<F> { hi: F, lo: F }
    [R] Moments<R> { mean: R, m2: R }
    [F] Dots<F> { dot: F, x: F, y: F }
    [X, R] Powers<X, R> { scale: X, sum: R }
    [K] ArgNode<K> { key: K, index: u64 }
    [A] Counted<A> { acc: A, count: u64 }
}

/// A node and how many elements are under it; with none, the node means nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted<A> {
    /// The node.
    pub acc: A,
    /// Elements.
    pub count: u64,
}

/// The node of the lane whose number differs in `bit`.
#[inline(always)]
pub fn exchange<S: Simt, N: Node>(s: &S, node: N, bit: u32) -> N {
    node.map(|_, word| s.shuffle_xor(ALL, word, bit))
}

/// Most words of a node: what `describe` says of f64.
pub const MOST: usize = 20;

/// `a` or `b`, without a branch.
#[inline(always)]
pub fn select<N: Node>(first: bool, a: N, b: N) -> N {
    let mut words = [0; MOST];
    let _ = b.map(|i, word| {
        words[i as usize] = word;
        word
    });
    a.map(|i, word| if first { word } else { words[i as usize] })
}

/// Keeps a node in shared memory, word by word `slots` apart, so that neighbouring slots lie in different banks.
#[inline(always)]
pub fn put<S: Simt, N: Node>(s: &S, shared: Shared<u32>, slots: u32, slot: u32, node: N) {
    let _ = node.map(|i, word| {
        s.put(shared, i * slots + slot, word);
        word
    });
}

/// Reads what [`put`] kept; `like` is any node.
#[inline(always)]
pub fn get<S: Simt, N: Node>(s: &S, shared: Shared<u32>, slots: u32, slot: u32, like: N) -> N {
    like.map(|i, _| s.get(shared, i * slots + slot))
}

/// Writes a part for other blocks to read.
#[inline(always)]
pub fn publish<S: Simt, N: Node>(s: &S, parts: Global<u32>, index: usize, node: N) {
    let _ = node.map(|i, word| {
        s.store_volatile(parts, index * N::WORDS as usize + i as usize, word);
        word
    });
}

/// Reads a part that another block wrote; `like` is any node.
#[inline(always)]
pub fn fetch<S: Simt, N: Node>(s: &S, parts: Global<u32>, index: usize, like: N) -> N {
    like.map(|i, _| s.load_volatile(parts, index * N::WORDS as usize + i as usize))
}
