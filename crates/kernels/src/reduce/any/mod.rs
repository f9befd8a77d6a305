//! Any element, any reducer: each is found by its index, may be absent, and is converted on the way.
//!
//! Idea: a lane takes eight elements that follow one another, whose dtype is asked for once; what is absent passes
//! through at its place, so a node counts the elements under it. Rows and columns share the work as in the fast
//! kernels. Elements of short runs, or rounded to 16 bits first, come one by one. Bottleneck: instructions.

mod eight;
mod recipes;

use crate::address::array;
use crate::node::{Counted, Node, select};
use crate::params::params;
use crate::reduce::fold::Parts;
use crate::reduce::out::{Hole, Out};
use crate::reduce::recipe::{Recipe, flag, log_size};
use crate::reduce::shape::panel::{Panel, Strip};
use crate::reduce::shape::piece::{Piece, Row, divide, walk};
use crate::reduce::shape::stack::{self, Lanes, Own};
use crate::reduce::shape::warp;
use core::marker::PhantomData;
use warpfold_core::Reducer;
use warpfold_simt::Simt;

pub use eight::{EIGHT, Eight};
pub use recipes::*;

/// A reducer as kernels use it.
pub trait Recipes: Copy {
    /// The reducer.
    type Reducer: Reducer<Acc: Node>;
    /// From what a kernel is told.
    fn reducer(recipe: &Recipe) -> Self::Reducer;
    /// Reads an element; `at` is its address, and `beside` that of its mask, or of the second array's element.
    fn load<S: Simt>(s: &S, recipe: &Recipe, at: u64, beside: u64) -> <Self::Reducer as Reducer>::Item;
    /// Whether registers have room for eight elements.
    const EIGHT: bool = true;
    /// Reads eight elements, of a recipe that does not round them first.
    #[inline(always)]
    fn eight<S: Simt>(s: &S, recipe: &Recipe, at: &Eight, beside: &Eight) -> [<Self::Reducer as Reducer>::Item; EIGHT] {
        warpfold_simt::array::from_fn(
            #[inline(always)]
            |k| Self::load(s, recipe, at.place(k), beside.place(k)),
        )
    }
    /// The node that gives any other's bits back on either side, whatever the counts, if there is one.
    #[inline(always)]
    fn neutral(_recipe: &Recipe) -> Option<<Self::Reducer as Reducer>::Acc> {
        None
    }
    /// Whether a recipe leaves this element out.
    fn absent(recipe: &Recipe, item: <Self::Reducer as Reducer>::Item) -> bool;
    /// Writes a result.
    fn store<S: Simt>(s: &S, recipe: &Recipe, result: <Self::Reducer as Reducer>::Output, out: Out);
}

params! {
    /// Reduced axes, the innermost first.
    pub struct Strides[; const K] {
        /// How many.
        pub axes: u64,
        /// Each.
        pub axis: [Stride; K],
    }
}

params! {
    #[derive(Default)]
    /// A reduced axis.
    pub struct Stride {
        /// Its length.
        pub len: u64,
        /// Bytes in the input.
        pub x: i64,
        /// Bytes in the mask.
        pub mask: i64,
    }
}

impl<const K: usize> Strides<K> {
    /// Bytes to element `i`, in the input and the mask.
    #[inline(always)]
    pub fn at(&self, i: u64) -> (i64, i64) {
        let (mut x, mut mask) = (0, 0);
        walk(
            &self.axis,
            self.axes,
            i,
            |axis| axis.len,
            #[inline(always)]
            |axis, i| {
                x += i as i64 * axis.x;
                mask += i as i64 * axis.mask;
            },
        );
        (x, mask)
    }

    /// Elements of the run of element `i`, from it on.
    #[inline(always)]
    fn beyond(&self, i: u64) -> u64 {
        if self.axes <= 1 { u64::MAX } else { self.axis[0].len - divide(i, self.axis[0].len).1 }
    }
}

impl Row<Strides<AXES>> {
    /// The addresses of element `i` and of its mask.
    #[inline(always)]
    fn at(&self, i: u64) -> (u64, u64) {
        let (x, mask) = self.reduced.at(i);
        (self.x.wrapping_add(x as u64), self.mask.wrapping_add(mask as u64))
    }
}

/// Most axes of one kind.
pub const AXES: usize = 16;

/// Parts of elements some of which may be absent.
#[derive(Clone, Copy)]
pub struct Any<R> {
    recipe: Recipe,
    kind: PhantomData<R>,
}

/// A reducer's nodes, counted.
type Part<R> = Counted<Acc<R>>;
type Acc<R> = <<R as Recipes>::Reducer as Reducer>::Acc;
/// The same of few elements.
type Few<R> = (Acc<R>, u32);

impl<R: Recipes> Any<R> {
    /// The part of an element that is there, if it is neither hidden nor left out.
    #[inline(always)]
    fn part(&self, item: <R::Reducer as Reducer>::Item, index: u64, shown: bool) -> Part<R> {
        let live = shown && !R::absent(&self.recipe, item);
        Counted { acc: R::reducer(&self.recipe).lift(item, index), count: live as u64 }
    }

    /// The node of the eight elements from number `index` on, as far as there are any.
    #[inline(always)]
    fn from<S: Simt>(&self, s: &S, row: &Row<Strides<AXES>>, index: u64) -> Few<R> {
        let masked = self.recipe.has(flag::MASKED);
        let left = s.opaque(row.len.saturating_sub(index).min(EIGHT as u64) as u32);
        if !s.branch(left > 0) {
            return self.none();
        }
        let (x, mask) = row.at(index);
        let run = &row.reduced.axis[0];
        // Eight elements are in two runs at most, if runs are not shorter.
        let turn = row.reduced.beyond(index).min(EIGHT as u64) as u32;
        let near = R::EIGHT && (turn >= left || run.len >= EIGHT as u64);
        if s.branch(near && self.recipe.through == self.recipe.input) {
            let (mut after, mut mask_after) = (x, mask);
            if s.branch(turn < left) {
                (after, mask_after) = row.at(index + turn as u64);
                after = after.wrapping_sub((turn as i64 * run.x) as u64);
                mask_after = mask_after.wrapping_sub((turn as i64 * run.mask) as u64);
            }
            let eight = Eight { size: log_size(self.recipe.input), at: x, step: run.x, count: left, turn, after };
            let beside = Eight { size: 0, at: mask, step: run.mask, after: mask_after, ..eight };
            let items = R::eight(s, &self.recipe, &eight, &beside);
            let mut live = (1 << left) - 1;
            if masked {
                live &= beside.shown(s);
            }
            if self.recipe.has(flag::SKIP_NAN) {
                let mut k = 0;
                while k < EIGHT {
                    live &= !((R::absent(&self.recipe, items[k]) as u32) << k);
                    k += 1;
                }
            }
            return self.tree(items, index, live);
        }
        let mut stack = stack::Few::new(self.nothing());
        let mut k = 0;
        while s.again(k < left) {
            let (x, mask) = row.at(index + k as u64);
            let shown = !masked || s.load(array::<u8>(mask), 0) != 0;
            stack.push(self, k, self.part(R::load(s, &self.recipe, x, mask), index + k as u64, shown));
            k += 1;
        }
        let part = stack.close(self, left);
        if part.count > 0 { (part.acc, part.count as u32) } else { self.none() }
    }

    #[inline(always)]
    fn none(&self) -> Few<R> {
        (R::neutral(&self.recipe).unwrap_or(Node::zero()), 0)
    }

    /// The node of eight elements, of which those are there whose bits are set.
    #[inline(always)]
    fn tree(&self, items: [<R::Reducer as Reducer>::Item; EIGHT], index: u64, live: u32) -> Few<R> {
        let reducer = R::reducer(&self.recipe);
        let lifted = |k: usize| reducer.lift(items[k], index + k as u64);
        let is_live = |k: usize| live >> k & 1 != 0;
        if let Some(neutral) = R::neutral(&self.recipe) {
            return (whole(&reducer, |k| select(is_live(k), lifted(k), neutral)), live.count_ones());
        }
        if live == 0xff {
            return (whole(&reducer, lifted), EIGHT as u32);
        }
        let two = |k| self.both((lifted(k), is_live(k) as u32), (lifted(k + 1), is_live(k + 1) as u32));
        self.both(self.both(two(0), two(2)), self.both(two(4), two(6)))
    }

    /// Two nodes with few elements under them become one, without a branch.
    #[inline(always)]
    fn both(&self, left: Few<R>, right: Few<R>) -> Few<R> {
        let acc = R::reducer(&self.recipe).combine_counted(left.0, left.1 as u64, right.0, right.1 as u64);
        let count = left.1 + right.1;
        if R::neutral(&self.recipe).is_some() {
            return (acc, count);
        }
        (select(left.1 == 0, right.0, select(right.1 == 0, left.0, acc)), count)
    }
}

/// The node over eight.
#[inline(always)]
fn whole<R: Reducer>(reducer: &R, node: impl Fn(usize) -> R::Acc) -> R::Acc {
    let join = |each, left, right| reducer.combine_counted(left, each, right, each);
    let two = |k| join(1, node(k), node(k + 1));
    join(4, join(2, two(0), two(2)), join(2, two(4), two(6)))
}

/// Nodes of few elements meet.
#[derive(Clone, Copy)]
struct Both<'a, R>(&'a Any<R>);

impl<R: Recipes> warp::Combine for Both<'_, R> {
    type Node = Few<R>;
    const COMMUTES: bool = false;
    #[inline(always)]
    fn combine(self, left: Few<R>, right: Few<R>, _each: u32) -> Few<R> {
        self.0.both(left, right)
    }
}

impl<R: Recipes> Parts for Any<R> {
    type Part = Counted<Acc<R>>;
    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Self { recipe: *recipe, kind: PhantomData }
    }
    #[inline(always)]
    fn nothing(&self) -> Part<R> {
        Counted { acc: Node::zero(), count: 0 }
    }
    #[inline(always)]
    fn meet(&self, left: Part<R>, right: Part<R>) -> Part<R> {
        let reducer = R::reducer(&self.recipe);
        if left.count == 0 {
            right
        } else if right.count == 0 {
            left
        } else {
            let acc = reducer.combine_counted(left.acc, left.count, right.acc, right.count);
            Counted { acc, count: left.count + right.count }
        }
    }
    #[inline(always)]
    fn finish<S: Simt>(&self, s: &S, recipe: &Recipe, part: Part<R>, out: Out) {
        let reducer = R::reducer(recipe);
        if part.count > 0 {
            R::store(s, recipe, reducer.finish(part.acc, part.count), out);
        } else {
            match reducer.finish_empty() {
                Some(result) => R::store(s, recipe, result, out),
                None => out.hole(s, Hole::Empty),
            }
        }
    }
}

impl<R: Recipes> Piece for Any<R> {
    type Fold = Self;
    type Reduced = Strides<AXES>;
    const PER: u32 = 1;

    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Parts::new(recipe)
    }
    #[inline(always)]
    fn fold(&self) -> &Self {
        self
    }

    #[inline(always)]
    fn run<S: Simt>(&self, s: &S, row: &Row<Strides<AXES>>, tile: u32, tiles: u32) -> Part<R> {
        let mut stack = Lanes::new(self.nothing());
        // Of a row of one tile, lanes without elements need not meet.
        let lanes = row.len.div_ceil(EIGHT as u64).clamp(1, 32).next_power_of_two() as u32;
        let mut t = 0;
        while s.again(t < tiles && (tile + t) as u64 * 256 < row.len) {
            let index = (tile + t) as u64 * 256 + s.lane() as u64 * EIGHT as u64;
            let (acc, count) = warp::across_lanes(s, Both(self), self.from(s, row, index), lanes);
            stack.push_part(s, self, t, Counted { acc, count: count as u64 });
            t += 1;
        }
        stack.close_parts(s, self, t)
    }
}

impl<R: Recipes> Panel<1> for Any<R> {
    type Fold = Self;
    type Reduced = Strides<AXES>;

    #[inline(always)]
    fn new(recipe: &Recipe) -> Self {
        Parts::new(recipe)
    }
    #[inline(always)]
    fn fold(&self) -> &Self {
        self
    }
    #[inline(always)]
    fn at_once(_reduced: &Strides<AXES>, _address: u64) -> bool {
        true
    }

    #[inline(always)]
    fn run<S: Simt>(&self, s: &S, strip: &Strip<Strides<AXES>>, own: Own, first: u64, tiles: u32) -> [Part<R>; 1] {
        let len = if strip.columns > 0 { strip.rows } else { 0 };
        let row = Row { input: 0, x: strip.x, mask: strip.mask, len, reduced: strip.reduced };
        let mut t = 0;
        while s.again(t < tiles && first + t as u64 * (EIGHT as u64) < strip.rows) {
            let (acc, count) = self.from(s, &row, first + t as u64 * EIGHT as u64);
            own.push_part(s, self, t, Counted { acc, count: count as u64 });
            t += 1;
        }
        [own.close_parts(s, self, t)]
    }
}
