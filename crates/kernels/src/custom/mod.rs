//! A user's own reducer on the GPU: elements, nodes, results and the reducer itself are words.
//!
//! Idea: to the library's shapes it is one more fold. Elements of 4, 8 or 16 bytes whose `lift` does not look at the
//! index take the fast ones, all others [`crate::reduce::any`]. Bottleneck: memory, or the user's `combine`.
//!
//! [`words!`](crate::words) makes a struct words, and [`export_reducer!`](crate::export_reducer) exports the kernels.

#[doc(hidden)]
pub mod call;
mod macros;
mod sizes;

use crate::address::array;
use crate::node::Counted;
use crate::reduce::any::{AXES, Any, Recipes, Strides};
use crate::reduce::call::Call;
use crate::reduce::facts::Facts;
use crate::reduce::fold::{Parts, Tree, no_plain};
use crate::reduce::out::Out;
use crate::reduce::recipe::{Recipe, flag};
use crate::reduce::shape::columns::{self, Columns};
use crate::reduce::shape::panel::{self, Pitch};
use crate::reduce::shape::piece::{self, Dense, Runs};
use crate::reduce::shape::rows::{self, Rows};
use crate::reduce::shape::slots::{deep, deep_any};
use crate::reduce::shape::staged::{self, Staged};
use crate::reduce::table::KEPT;
use crate::source::{Bits, words};
use core::marker::PhantomData;
use warpfold_core::Reducer;
use warpfold_simt::{Pack, Pod, Simt};

pub use crate::node::Node;
pub use sizes::{Room, Sizes};

/// Most words of an element, of a node and of a result.
pub const MOST_WORDS: u32 = 16;
/// Most words of a reducer.
pub const REDUCER_WORDS: u32 = 4;

/// A value that lies in memory as its words. [`words!`](crate::words) implements it for a struct.
///
/// # Safety
/// Its bytes are the words of its [`Node`], in their order, lowest byte first, with nothing between or after them; any
/// words are a value; and its alignment is at least 4 and divides its size.
pub unsafe trait Words: Node + Send + Sync + 'static {
    /// What a kernel that reads 16 bytes at once takes it for: as many bytes, if it has 4, 8 or 16.
    type Bits: Bits;
}

macro_rules! scalars {
    ($($t:ty: $bits:ty;)*) => {$(
        // SAFETY: a number of 4 or 8 bytes; `Node` takes the low word first, as every machine with such a GPU does.
        unsafe impl Words for $t {
            type Bits = $bits;
        }
    )*};
}
scalars! {
    u32: u32;
    i32: u32;
    f32: u32;
    u64: u64;
    i64: u64;
    f64: u64;
}

/// An element of so many bytes.
pub struct Bytes<const N: usize>;

/// How elements of a size are read.
#[diagnostic::on_unimplemented(
    message = "{Self} is no size of an element on a GPU: 4 to 64 bytes, a multiple of 4",
    note = "leave out fields that the reduction does not need, or reduce them apart"
)]
pub trait Read {
    /// See [`Words::Bits`].
    type Bits: Bits;
}
macro_rules! sizes {
    ($($n:literal: $bits:ty;)*) => {$(impl Read for Bytes<$n> {
        type Bits = $bits;
    })*};
}
// Where there are other than 4, 8 or 16 bytes, no kernel uses it.
sizes! {
    4: u32; 8: u64; 12: u32; 16: Pack<u32, 4>; 20: u32; 24: u32; 28: u32; 32: u32;
    36: u32; 40: u32; 44: u32; 48: u32; 52: u32; 56: u32; 60: u32; 64: u32;
}

/// A reducer that kernels can run: all that it deals with are words.
pub trait Custom: Reducer<Item: Words, Acc: Node, Output: Words> + Node {}

impl<R: Reducer<Item: Words, Acc: Node, Output: Words> + Node> Custom for R {}

/// A reducer whose kernels [`export_reducer!`](crate::export_reducer) has named.
pub trait Exported: Custom {
    /// The kernels' name, as in `rows_mat2`.
    const NAME: &'static str;
    /// Lets a visitor see one of its kernels; none if there is no such kernel.
    #[cfg(not(target_arch = "nvptx64"))]
    fn find<V: crate::kernel::Visit>(entry: &str, visitor: V) -> Option<V::Output>;
}

/// Whether kernels can be made of it; why not is an error of the compiler.
const fn check<R: Custom>() {
    assert!(<R::Acc as Node>::WORDS <= MOST_WORDS, "a node has at most 16 words");
    assert!(<R::Item as Node>::WORDS <= MOST_WORDS, "an element has at most 16 words");
    assert!(<R::Output as Node>::WORDS <= MOST_WORDS, "a result has at most 16 words");
    assert!(<R as Node>::WORDS <= REDUCER_WORDS, "a reducer has at most 4 words");
}

/// Whether the fast kernels can run it: 8 nodes of every lane have to fit its registers.
pub const fn fast<R: Custom>() -> bool {
    check::<R>();
    !R::INDEXED && matches!(size_of::<R::Item>(), 4 | 8 | 16) && <R::Acc as Node>::WORDS <= 8
}

/// How many columns a lane takes in the fast kernels: as many as fit 16 bytes, and its stack of nodes the shared
/// memory.
pub const fn wide<R: Custom>() -> usize {
    let mut wide = if fast::<R>() { 16 / size_of::<R::Item>() } else { 1 };
    while wide > 1 && 4 * deep::<Part<R>, R::Acc>(wide) > SHARED {
        wide /= 2;
    }
    wide
}

/// Words of shared memory that these need.
pub const fn slots<R: Custom>() -> usize {
    if fast::<R>() { deep::<Part<R>, R::Acc>(wide::<R>()) } else { 1 }
}

/// Whether there are columns of any elements: seven levels of nodes have to fit the shared memory.
pub const fn any_columns_fit<R: Custom>() -> bool {
    4 * deep_any::<Part<R>>() <= SHARED
}

/// What a planner has to know of a reducer's kernels.
pub const fn facts<R: Custom>() -> Facts {
    Facts {
        columns: any_columns_fit::<R>(),
        apart: false,
        shallow: false,
        ..Facts::in_order::<Fold<R>>(wide::<R>() as u64)
    }
}

/// Words of shared memory that columns of any elements need.
pub const fn any_slots<R: Custom>() -> usize {
    if any_columns_fit::<R>() { deep_any::<Part<R>>() } else { 1 }
}

/// Bytes of shared memory for slots; a block has 48 KiB.
const SHARED: usize = (48 << 10) - 64;

/// The words of a value, and a value of words.
#[inline(always)]
fn of_words<N: Node>(mut word: impl FnMut(u32) -> u32) -> N {
    N::zero().map(
        #[inline(always)]
        |i, _| word(i),
    )
}

/// The reducer, from a kernel's parameter.
#[inline(always)]
fn reducer<R: Custom>(recipe: &Recipe) -> R {
    let [low, high] = recipe.initial;
    of_words(
        #[inline(always)]
        |i| (if i < 2 { low } else { high } >> (32 * (i & 1))) as u32,
    )
}

/// The reducer as the words that [`Recipe::initial`] holds.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn to_initial<R: Custom>(reducer: R) -> [u64; 2] {
    const { check::<R>() };
    let mut words = [0u64; 2];
    let _ = reducer.map(|i, word| {
        words[i as usize / 2] |= u64::from(word) << (32 * (i % 2));
        word
    });
    words
}

/// The value that lies in these words; its first one is number 0.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn from_slice<T: Words>(words: &[u32]) -> T {
    of_words(|i| words.get(i as usize).copied().unwrap_or_default())
}

/// A node, and how many elements are under it.
type Part<R> = Counted<<R as Reducer>::Acc>;

/// The fold of elements of 4, 8 or 16 bytes.
#[derive(Clone, Copy)]
pub struct Fold<R>(R);

impl<R: Custom> Parts for Fold<R> {
    type Part = Part<R>;
    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self(reducer(recipe))
    }
    #[inline(always)]
    fn nothing(&self) -> Part<R> {
        Counted { acc: Node::zero(), count: 0 }
    }
    #[inline(always)]
    fn meet(&self, left: Part<R>, right: Part<R>) -> Part<R> {
        if left.count == 0 {
            right
        } else if right.count == 0 {
            left
        } else {
            let acc = self.0.combine_counted(left.acc, left.count, right.acc, right.count);
            Counted { acc, count: left.count + right.count }
        }
    }
    #[inline(always)]
    fn finish<S: Simt>(&self, s: &S, _recipe: &Recipe, part: Part<R>, out: Out) {
        store(s, self.0.finish(part.acc, part.count), out);
    }
}

impl<R: Custom> Tree for Fold<R> {
    type Bits = <R::Item as Words>::Bits;
    type Node = R::Acc;
    const COMMUTES: bool = false;
    // An identity is known only at run time, and few floats have one that keeps every bit.
    const NEUTRAL: bool = false;
    no_plain!();
    #[inline(always)]
    fn neutral(&self) -> R::Acc {
        Node::zero()
    }
    #[inline(always)]
    fn lift<S: Simt>(&self, _s: &S, bits: Self::Bits) -> R::Acc {
        let bits = bits.to_bits();
        let item = of_words(
            #[inline(always)]
            |i| (bits >> (32 * (i & 3))) as u32,
        );
        self.0.lift(item, 0)
    }
    #[inline(always)]
    fn join(&self, left: R::Acc, right: R::Acc, each: u32) -> R::Acc {
        self.0.combine_counted(left, each as u64, right, each as u64)
    }
    #[inline(always)]
    fn part(&self, node: R::Acc, count: u32) -> Part<R> {
        Counted { acc: node, count: count as u64 }
    }
}

/// Elements at any strides, as [`Any`] takes them.
#[derive(Clone, Copy)]
pub struct Elements<R>(PhantomData<R>);

impl<R: Custom> Recipes for Elements<R> {
    type Reducer = R;
    const EIGHT: bool = <R::Item as Node>::WORDS <= 2;
    #[inline(always)]
    fn reducer(recipe: &Recipe) -> R {
        reducer(recipe)
    }
    #[inline(always)]
    fn load<S: Simt>(s: &S, recipe: &Recipe, at: u64, beside: u64) -> R::Item {
        if s.branch(recipe.has(flag::PAIRED)) {
            let first = recipe.output;
            return of_words(
                #[inline(always)]
                |i| {
                    let (from, i) = if i < first { (at, i) } else { (beside, i - first) };
                    s.load(array::<u32>(from), i as usize)
                },
            );
        }
        // An element lies at a multiple of the greatest power of two that divides its size, up to 16.
        let all = <R::Item as Node>::WORDS;
        let each = if all.is_multiple_of(4) { 4 } else { 2 - all % 2 };
        let packs: [[u32; 4]; MOST_WORDS as usize] = warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| {
                if (k as u32) < all / each {
                    words(s, array(at).offset(k * 4 * each as usize), 4 * each)
                } else {
                    [0; 4]
                }
            },
        );
        of_words(
            #[inline(always)]
            |i| packs[(i / each) as usize][(i % each) as usize],
        )
    }
    #[inline(always)]
    fn absent(_recipe: &Recipe, _item: R::Item) -> bool {
        false
    }
    #[inline(always)]
    fn store<S: Simt>(s: &S, _recipe: &Recipe, result: R::Output, out: Out) {
        store(s, result, out);
    }
}

/// Writes a result, word by word.
#[inline(always)]
fn store<S: Simt, T: Words>(s: &S, result: T, out: Out) {
    let first = out.output.cast::<u32>().offset(out.index.wrapping_mul(T::WORDS as usize));
    let _ = result.map(
        #[inline(always)]
        |i, word| {
            s.store(first, i as usize, word);
            word
        },
    );
}

/// Elements side by side. Like the others below, nothing if the planner never launches it for such a reducer.
#[inline(always)]
pub fn rows<S: Simt, R: Custom>(s: &S, call: &Call<Rows<KEPT, Dense>>) {
    if const { fast::<R>() } {
        rows::kernel::<S, piece::Ordered<Fold<R>>, KEPT>(s, call);
    }
}

/// Elements side by side, in several runs.
#[inline(always)]
pub fn runs<S: Simt, R: Custom>(s: &S, call: &Call<Rows<KEPT, Runs>>) {
    if const { fast::<R>() } {
        rows::kernel::<S, piece::Ordered<Fold<R>, Runs>, KEPT>(s, call);
    }
}

/// Few of them.
#[inline(always)]
pub fn staged<S: Simt, R: Custom>(s: &S, call: &Call<Staged<KEPT>>) {
    if const { fast::<R>() } {
        staged::kernel::<S, piece::Ordered<Fold<R>>, KEPT>(s, call);
    }
}

/// Outputs side by side; fewer than 32 lanes of them, if `NARROW`.
#[inline(always)]
pub fn columns<S: Simt, R: Custom, const NARROW: bool, const C: usize, const SLOTS: usize>(
    s: &S,
    call: &Call<Columns<KEPT, Pitch>>,
) {
    if const { fast::<R>() } {
        columns::kernel::<S, panel::Ordered<Fold<R>, NARROW>, KEPT, C, SLOTS>(s, call);
    }
}

/// Elements at any strides.
#[inline(always)]
pub fn any_rows<S: Simt, R: Custom>(s: &S, call: &Call<Rows<AXES, Strides<AXES>>>) {
    const { check::<R>() };
    rows::kernel::<S, Any<Elements<R>>, AXES>(s, call);
}

/// The same, a lane to each output.
#[inline(always)]
pub fn any_columns<S: Simt, R: Custom, const SLOTS: usize>(s: &S, call: &Call<Columns<AXES, Strides<AXES>>>) {
    if const { any_columns_fit::<R>() } {
        columns::kernel::<S, Any<Elements<R>>, AXES, 1, SLOTS>(s, call);
    }
}
