//! Any element, any reducer: each is found by its index, may be absent, and is converted on the way.
//!
//! Idea: one element to a lane and step; what is absent passes through at its place, so a node counts the elements
//! under it. Rows and columns share the work as in the fast kernels. Bottleneck: finding and converting elements.

use crate::address::array;
use crate::node::{Counted, Node};
use crate::params::params;
use crate::reduce::fold::Parts;
use crate::reduce::out::{Hole, Out};
use crate::reduce::recipe::{Recipe, code, flag};
use crate::reduce::shape::panel::{Panel, Strip};
use crate::reduce::shape::piece::{Piece, Row, walk};
use crate::reduce::shape::split::STEPS;
use crate::reduce::shape::stack::{Lanes, Own};
use crate::reduce::shape::warp;
use core::marker::PhantomData;
use warpfold_core::{Cast, DType, Element, Reducer, bf16, f16};
use warpfold_simt::{Pod, Simt};

/// A reducer as kernels use it.
pub trait Recipes: Copy {
    /// The reducer.
    type Reducer: Reducer<Acc: Node>;
    /// From what a kernel is told.
    fn reducer(recipe: &Recipe) -> Self::Reducer;
    /// Reads an element; `at` is its address.
    fn load<S: Simt>(s: &S, recipe: &Recipe, at: u64) -> <Self::Reducer as Reducer>::Item;
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

impl<R: Recipes> Any<R> {
    /// The part of one element.
    #[inline(always)]
    fn one<S: Simt>(&self, s: &S, x: u64, mask: u64, index: u64, there: bool) -> Counted<Acc<R>> {
        let masked = self.recipe.has(flag::MASKED);
        let item = R::load(s, &self.recipe, x);
        let shown = !masked || s.load(array::<u8>(mask), 0) != 0;
        let live = there && shown && !R::absent(&self.recipe, item);
        Counted { acc: R::reducer(&self.recipe).lift(item, index), count: live as u64 }
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
        let (mut t, steps) = (0, s.opaque(STEPS as u32));
        while s.again(t < tiles && (tile + t) as u64 * 256 < row.len) {
            let mut k = 0;
            while s.again(k < steps) {
                let index = (tile + t) as u64 * 256 + (k * 32 + s.lane()) as u64;
                let there = index < row.len;
                let (x, mask) = row.reduced.at(if there { index } else { 0 });
                let part = self.one(s, row.x.wrapping_add(x as u64), row.mask.wrapping_add(mask as u64), index, there);
                stack.push_part(s, self, t * STEPS as u32 + k, warp::meet_lanes(s, self, part, 32));
                k += 1;
            }
            t += 1;
        }
        stack.close_parts(s, self, t * STEPS as u32)
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
        let there = strip.columns > 0;
        let mut t = 0;
        while s.again(t < tiles * STEPS as u32 && first + (t as u64) < strip.rows) {
            let mut part = self.nothing();
            if s.branch(there) {
                let index = first + t as u64;
                let (x, mask) = strip.reduced.at(index);
                part = self.one(s, strip.x.wrapping_add(x as u64), strip.mask.wrapping_add(mask as u64), index, true);
            }
            own.push_part(s, self, t, part);
            t += 1;
        }
        [own.close_parts(s, self, t)]
    }
}

/// Reads an element of the recipe's dtype as a number.
#[inline(always)]
pub fn number<S: Simt>(s: &S, recipe: &Recipe, at: u64) -> Cast {
    let is = |dtype: DType| recipe.input == code(dtype);
    fn get<S: Simt, T: Pod>(s: &S, at: u64) -> T {
        s.load(array::<T>(at), 0)
    }
    let x = if is(DType::F32) {
        Cast::Float(get::<S, f32>(s, at) as f64)
    } else if is(DType::F64) {
        Cast::Float(get::<S, f64>(s, at))
    } else if is(DType::F16) {
        Cast::Float(s.f16_to_f32(get::<S, u16>(s, at)) as f64)
    } else if is(DType::BF16) {
        Cast::Float(s.bf16_to_f32(get::<S, u16>(s, at)) as f64)
    } else {
        integer(s, recipe, at)
    };
    if recipe.through == recipe.input {
        x
    } else if recipe.through == code(DType::F16) {
        f16::from_cast(x).cast()
    } else if recipe.through == code(DType::BF16) {
        bf16::from_cast(x).cast()
    } else {
        x
    }
}

/// Reads an integer or a bool.
#[inline(always)]
pub fn integer<S: Simt>(s: &S, recipe: &Recipe, at: u64) -> Cast {
    let is = |dtype: DType| recipe.input == code(dtype);
    fn get<S: Simt, T: Pod>(s: &S, at: u64) -> T {
        s.load(array::<T>(at), 0)
    }
    if is(DType::I8) {
        Cast::Signed(get::<S, i8>(s, at) as i64)
    } else if is(DType::I16) {
        Cast::Signed(get::<S, i16>(s, at) as i64)
    } else if is(DType::I32) {
        Cast::Signed(get::<S, i32>(s, at) as i64)
    } else if is(DType::I64) {
        Cast::Signed(get::<S, i64>(s, at))
    } else if is(DType::U16) {
        Cast::Unsigned(get::<S, u16>(s, at) as u64)
    } else if is(DType::U32) {
        Cast::Unsigned(get::<S, u32>(s, at) as u64)
    } else if is(DType::U64) {
        Cast::Unsigned(get::<S, u64>(s, at))
    } else if is(DType::Bool) {
        Cast::Unsigned((get::<S, u8>(s, at) != 0) as u64)
    } else {
        Cast::Unsigned(get::<S, u8>(s, at) as u64)
    }
}

mod recipes;
pub use recipes::*;
