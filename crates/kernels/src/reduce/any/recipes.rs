//! Core's reducers, as [`crate::reduce::any::Any`] runs them.

use crate::node::Node;
use crate::reduce::any::eight::{bits, numbers, rounded};
use crate::reduce::any::{EIGHT, Eight, Recipes};
use crate::reduce::fold::initial;
use crate::reduce::out::{Hole, Out};
use crate::reduce::recipe::{Recipe, code, flag};
use core::marker::PhantomData;
use warpfold_core::ops::{
    Arg, Compensated, CountNonzero, Deviation, Extremum, IntegerProduct, IntegerSum, LogSumExp, MinMax, Place,
    Precision, Product, Search, Square, Sum, Term, Value,
};
use warpfold_core::{Cast, DType, Element, Float, Key, Reducer};
use warpfold_simt::Simt;

/// What a number is read as: floats as f32 or f64, integers as i64.
pub trait Read: Element<Key: Node> {
    /// Reads it.
    #[inline(always)]
    fn read<S: Simt>(s: &S, recipe: &Recipe, at: u64) -> Self {
        let [x] =
            numbers(s, recipe, [bits(s, recipe, at)], Self::DTYPE.is_float(), |x| Self::from_cast(rounded(recipe, x)));
        x
    }
    /// Reads eight of them, which need not be rounded first.
    #[inline(always)]
    fn eight<S: Simt>(s: &S, recipe: &Recipe, at: &Eight) -> [Self; EIGHT] {
        numbers(s, recipe, at.bits(s), Self::DTYPE.is_float(), Self::from_cast)
    }
    /// Its distance from zero; integers are asked for none.
    #[inline(always)]
    fn magnitude(self) -> Self {
        self
    }
}
impl Read for f32 {
    #[inline(always)]
    fn magnitude(self) -> Self {
        self.abs()
    }
}
impl Read for f64 {
    #[inline(always)]
    fn magnitude(self) -> Self {
        self.abs()
    }
}
impl Read for i64 {}
impl Read for u64 {}

/// Implements [`Recipes`] for one family.
macro_rules! recipes {
    ($(
        $(#[$doc:meta])*
        $name:ident<$($p:ident),*> where { $($bounds:tt)* }
        $item:ty => $reducer:ty, $new:expr,
            term $term:expr, neutral $neutral:expr, skip $skip:expr, store $store:expr;
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
            fn load<S: Simt>(s: &S, recipe: &Recipe, at: u64, _beside: u64) -> $item {
                $term(recipe, <$item>::read(s, recipe, at))
            }
            #[inline(always)]
            fn eight<S: Simt>(s: &S, recipe: &Recipe, at: &Eight, _beside: &Eight) -> [$item; EIGHT] {
                <$item>::eight(s, recipe, at).map(
                    #[inline(always)]
                    |x| $term(recipe, x),
                )
            }
            #[inline(always)]
            fn neutral(recipe: &Recipe) -> Option<<$reducer as Reducer>::Acc> {
                $neutral(&Self::reducer(recipe))
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

/// That nothing gives every node's bits back.
#[inline(always)]
fn none<R: Reducer>(_reducer: &R) -> Option<R::Acc> {
    None
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
    Reals<F, P> where { F: Read + Element<Float = F, Mean = F> + Float, P: Precision<F, Real: Node> }
    F => Sum<F, Value, P>, reals::<F, Value, P>,
        term powers::<F>, neutral Reducer::identity, skip true, store store_element::<S, F>;
    /// Norms whose squares are exact.
    Squares<F> where { F: Read + Element<Float = F, Mean = F> + Float, Compensated: Precision<F, Real: Node> }
    F => Sum<F, Square, Compensated>, reals::<F, Square, Compensated>,
        term itself, neutral Reducer::identity, skip true, store store_element::<S, F>;
    /// Products of real numbers.
    RealProducts<F, P> where { F: Read + Element<Float = F, Mean = F> + Float, P: Precision<F, Real: Node> }
    F => Product<F, P>, |r: &Recipe| Product::new(initial(r), false),
        term itself, neutral none, skip true, store store_element::<S, F>;
    /// Variances and standard deviations.
    Variances<F, P> where { F: Read + Element<Float = F, Mean = F> + Float, P: Precision<F, Real: Node> }
    F => Deviation<F, P>, |r: &Recipe| Deviation::new(r.ddof, r.has(flag::ROOT)),
        term itself, neutral none, skip true, store store_element::<S, F>;
    /// logsumexp.
    Exponentials<F, P> where {
        F: Read + Element<Float = F, Mean = F> + Float + Node,
        P: Precision<F, Real: Node>
    }
    F => LogSumExp<F, P>, |_: &Recipe| LogSumExp::new(),
        term itself, neutral none, skip true, store store_element::<S, F>;
    /// Sums and means of integers.
    Integers<T> where { T: Read }
    T => IntegerSum<T>, integers::<T>, term itself, neutral Reducer::identity, skip false, store store_cast::<S>;
    /// Products of integers.
    IntegerProducts<T> where { T: Read }
    T => IntegerProduct<T>, |r: &Recipe| IntegerProduct::new(r.has(flag::INITIAL).then_some(r.initial[0] as i64)),
        term itself, neutral Reducer::identity, skip false, store store_cast::<S>;
    /// The least or the greatest element or magnitude.
    Extrema<T> where { T: Read }
    T => Extremum<T>, |r: &Recipe| Extremum { search: search::<T>(r, !r.has(flag::LEAST)), initial: first(r) },
        term magnitudes::<T>, neutral |_: &_| Some(Key::MIN), skip false, store store_element::<S, T>;
    /// Both.
    Ranges<T> where { T: Read }
    T => MinMax<T>, |r: &Recipe| MinMax { search: search::<T>(r, true) },
        term itself, neutral |_: &_| Some((Key::MAX, Key::MIN)), skip false, store store_pair::<S, T>;
    /// Where the least or the greatest element is.
    Places<T> where { T: Read }
    T => Arg<T>, |r: &Recipe| Arg { search: search::<T>(r, !r.has(flag::LEAST)) },
        term itself, neutral none, skip false, store store_place::<S>;
    /// How many elements are not zero, whether any is not, or whether all are not.
    Trues<T> where { T: Read }
    T => CountNonzero<T>, |r: &Recipe| CountNonzero::new(r.has(flag::SKIP_NAN)),
        term trues::<T>, neutral Reducer::identity, skip false, store store_trues::<S>;
}

/// The element.
#[inline(always)]
fn itself<T>(_recipe: &Recipe, x: T) -> T {
    x
}

/// What is added for an element: of a norm, its square or its magnitude.
#[inline(always)]
fn powers<F: Float>(recipe: &Recipe, x: F) -> F {
    if recipe.has(flag::SQUARE) {
        x.square()
    } else if recipe.has(flag::MAGNITUDE) {
        x.abs()
    } else {
        x
    }
}

/// What is compared for an element.
#[inline(always)]
fn magnitudes<T: Read>(recipe: &Recipe, x: T) -> T {
    if recipe.has(flag::MAGNITUDE) { x.magnitude() } else { x }
}

/// What is counted if it is not zero: whether all are true is whether none is zero.
#[inline(always)]
fn trues<T: Element>(recipe: &Recipe, x: T) -> T {
    if recipe.has(flag::ALL) { T::from_cast(Cast::Signed(!x.truthy() as i64)) } else { x }
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
fn store_trues<S: Simt>(s: &S, recipe: &Recipe, result: i64, out: Out) {
    let result = if recipe.has(flag::ANY) {
        (result != 0) as u64
    } else if recipe.has(flag::ALL) {
        (result == 0) as u64
    } else {
        result as u64
    };
    out.integer(s, recipe.output, result);
}
