//! Core's reducers, as [`crate::reduce::any::Any`] runs them.

use crate::node::Node;
use crate::reduce::any::{Recipes, integer, number};
use crate::reduce::fold::initial;
use crate::reduce::out::{Hole, Out};
use crate::reduce::recipe::{Recipe, code, flag};
use core::marker::PhantomData;
use warpfold_core::ops::{
    AbsMax, All, Any, Arg, CountNonzero, Deviation, Extremum, IntegerProduct, IntegerSum, LogSumExp, MinMax, Place,
    Precision, Product, Search, Sum, Term,
};
use warpfold_core::{Cast, DType, Element, Float, Real, Reducer};
use warpfold_simt::Simt;

/// What a number is read as: floats as f32 or f64, integers as i64.
pub trait Read: Element<Key: Node> {
    /// Reads it.
    fn read<S: Simt>(s: &S, recipe: &Recipe, at: u64) -> Self;
}
impl Read for f32 {
    #[inline(always)]
    fn read<S: Simt>(s: &S, recipe: &Recipe, at: u64) -> f32 {
        f32::from_cast(number(s, recipe, at))
    }
}
impl Read for f64 {
    #[inline(always)]
    fn read<S: Simt>(s: &S, recipe: &Recipe, at: u64) -> f64 {
        f64::from_cast(number(s, recipe, at))
    }
}
impl Read for i64 {
    #[inline(always)]
    fn read<S: Simt>(s: &S, recipe: &Recipe, at: u64) -> i64 {
        i64::from_cast(integer(s, recipe, at))
    }
}

impl Read for u64 {
    #[inline(always)]
    fn read<S: Simt>(s: &S, recipe: &Recipe, at: u64) -> u64 {
        u64::from_cast(integer(s, recipe, at))
    }
}

/// Implements [`Recipes`] for one family.
macro_rules! recipes {
    ($(
        $(#[$doc:meta])*
        $name:ident<$($p:ident),*> where { $($bounds:tt)* }
        $item:ty => $reducer:ty, $new:expr, skip $skip:expr, store $store:expr;
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name<$($p),*>(PhantomData<($($p,)*)>);
        impl<$($p),*> Recipes for $name<$($p),*> where $($bounds)* {
            type Reducer = $reducer;
            #[inline(always)]
            fn reducer(recipe: &Recipe) -> $reducer {
                $new(recipe)
            }
            #[inline(always)]
            fn load<S: Simt>(s: &S, recipe: &Recipe, at: u64) -> $item {
                <$item>::read(s, recipe, at)
            }
            #[inline(always)]
            fn absent(recipe: &Recipe, item: $item) -> bool {
                $skip && recipe.has(flag::SKIP_NAN) && item.is_nan()
            }
            #[inline(always)]
            fn store<S: Simt>(s: &S, recipe: &Recipe, result: <$reducer as Reducer>::Output, out: Out) {
                $store(s, recipe, result, out)
            }
        }
    )*};
}

/// Writes an integer result, or a mean.
#[inline(always)]
fn store_cast<S: Simt>(s: &S, recipe: &Recipe, result: Cast, out: Out) {
    match result {
        Cast::Signed(x) => out.integer(s, recipe.output, x as u64),
        Cast::Unsigned(x) => out.integer(s, recipe.output, x),
        mean => out.number(s, recipe.output, mean),
    }
}

/// Writes an element: an integer's bits, or a float.
#[inline(always)]
fn store_element<S: Simt, T: Element>(s: &S, recipe: &Recipe, result: T, out: Out) {
    store_cast(s, recipe, result.cast(), out);
}

/// How extrema are looked for.
#[inline(always)]
fn search<T: Element>(recipe: &Recipe, max: bool) -> Search<T::Key> {
    let search = Search::new(max, recipe.has(flag::SKIP_NAN) && T::DTYPE.is_float());
    if recipe.input == code(DType::U64) { search.of_unsigned() } else { search }
}

/// The initial value as an element.
#[inline(always)]
fn first<T: Element>(recipe: &Recipe) -> Option<T> {
    let bits = recipe.initial[0];
    let value = if T::DTYPE.is_float() { Cast::Float(f64::from_bits(bits)) } else { Cast::Signed(bits as i64) };
    recipe.has(flag::INITIAL).then_some(T::from_cast(value))
}

recipes! {
    /// Sums, means and norms of real numbers.
    Reals<F, W, P> where { F: Read + Element<Float = F, Mean = F> + Float, W: Term, P: Precision<F, Real: Node> }
    F => Sum<F, W, P>, reals::<F, W, P>, skip true, store store_element::<S, F>;
    /// Products of real numbers.
    RealProducts<F, P> where { F: Read + Element<Float = F, Mean = F> + Float, P: Precision<F, Real: Node> }
    F => Product<F, P>, |r: &Recipe| Product::new(initial(r), false), skip true, store store_element::<S, F>;
    /// Variances and standard deviations.
    Variances<F, P> where { F: Read + Element<Float = F, Mean = F> + Float, P: Precision<F, Real: Node> }
    F => Deviation<F, P>,
        |r: &Recipe| Deviation::new(r.ddof, r.has(flag::ROOT)), skip true, store store_element::<S, F>;
    /// logsumexp.
    Exponentials<F, P> where {
        F: Read + Element<Float = F, Mean = F> + Float + Node,
        P: Precision<F, Real: Node>
    }
    F => LogSumExp<F, P>, |_: &Recipe| LogSumExp::new(), skip true, store store_element::<S, F>;
    /// Sums and means of integers.
    Integers<T> where { T: Read }
    T => IntegerSum<T>, integers::<T>, skip false, store store_cast::<S>;
    /// Products of integers.
    IntegerProducts<T> where { T: Read }
    T => IntegerProduct<T>, |r: &Recipe| IntegerProduct::new(r.has(flag::INITIAL).then_some(r.initial[0] as i64)),
        skip false, store store_cast::<S>;
    /// The least or the greatest element.
    Extrema<T> where { T: Read }
    T => Extremum<T>, |r: &Recipe| Extremum { search: search::<T>(r, !r.has(flag::LEAST)), initial: first(r) },
        skip false, store store_element::<S, T>;
    /// Both.
    Ranges<T> where { T: Read }
    T => MinMax<T>, |r: &Recipe| MinMax { search: search::<T>(r, true) }, skip false, store store_pair::<S, T>;
    /// Where the least or the greatest element is.
    Places<T> where { T: Read }
    T => Arg<T>, |r: &Recipe| Arg { search: search::<T>(r, !r.has(flag::LEAST)) }, skip false, store store_place::<S>;
    /// The greatest magnitude.
    Magnitudes<F> where { F: Read + Element<Float = F> + Real }
    F => AbsMax<F>, |r: &Recipe| AbsMax::new(r.has(flag::SKIP_NAN)), skip false, store store_element::<S, F>;
    /// Whether any element is not zero.
    Anys<T> where { T: Read }
    T => Any<T>, |r: &Recipe| Any::new(r.has(flag::SKIP_NAN)), skip false, store store_bool::<S>;
    /// Whether every element is not zero.
    Alls<T> where { T: Read }
    T => All<T>, |r: &Recipe| All::new(r.has(flag::SKIP_NAN)), skip false, store store_bool::<S>;
    /// How many elements are not zero.
    Nonzeros<T> where { T: Read }
    T => CountNonzero<T>, |r: &Recipe| CountNonzero::new(r.has(flag::SKIP_NAN)), skip false, store store_count::<S>;
}

#[inline(always)]
fn reals<F: Element<Float = F, Mean = F> + Float, W: Term, P: Precision<F>>(recipe: &Recipe) -> Sum<F, W, P> {
    let (mean, root) = (recipe.has(flag::MEAN), recipe.has(flag::ROOT));
    Sum::finishing(mean, root).initial(initial(recipe))
}

#[inline(always)]
fn integers<T: Element>(recipe: &Recipe) -> IntegerSum<T> {
    let [low, high] = recipe.initial;
    let first = (high as i128) << 64 | low as i128;
    IntegerSum::new(recipe.has(flag::MEAN), recipe.has(flag::INITIAL).then_some(first))
}

#[inline(always)]
fn store_pair<S: Simt, T: Element>(s: &S, recipe: &Recipe, result: (T, T), out: Out) {
    store_element(s, recipe, result.0, out);
    store_element(s, recipe, result.1, Out { index: out.index + 1, ..out });
}

#[inline(always)]
fn store_place<S: Simt>(s: &S, recipe: &Recipe, result: Place, out: Out) {
    match result.index() {
        Some(index) => out.integer(s, recipe.output, index),
        None => out.hole(s, Hole::AllNan),
    }
}

#[inline(always)]
fn store_bool<S: Simt>(s: &S, recipe: &Recipe, result: bool, out: Out) {
    out.integer(s, recipe.output, result as u64);
}

#[inline(always)]
fn store_count<S: Simt>(s: &S, recipe: &Recipe, result: i64, out: Out) {
    out.integer(s, recipe.output, result as u64);
}
