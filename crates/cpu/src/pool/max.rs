//! The greatest element of each window.
//!
//! The keys of a column's elements are reduced first, down the rows that windows share, and then those of neighbouring
//! columns. So an element is looked at about once for each row of a window, and not once for each of its elements.

use std::mem::MaybeUninit;

use warpfold_array::{Array, ArrayRef, Error, PoolError, Value, memory};
use warpfold_core::pool::{beats, rank};
use warpfold_core::{DType, Element, Key, bf16, f16};

use crate::gather::{Readable, gather_same};
use crate::output::Output;
use crate::reduction::on_threads;
use crate::rows::lines::{Lines, Part as Elements};
use crate::simd::{array, vectorize};

use super::call::{Call, MaxPool, Pool, floats};
use super::fold::{Lanes, lanes};
use super::tasks::{LANES, Part, Plan, Source, Strip, apart, apart_len};

/// The index of no element. Planes have fewer elements.
pub const NONE: u32 = u32::MAX;

/// The greatest element of each window over the last axes: an array in C order, of the dtype of `x`. With `indices`
/// also where it is: the index of the first such element, in row-major order of the window's axes. NaN is greater than
/// any number. A window whose elements are all padding, which only dilation makes, has minus infinity and index -1.
///
/// ```
/// use warpfold::{ArrayRef, pool};
///
/// let x = ArrayRef::flat(&[1.0f32, 5.0, 5.0, 2.0]);
/// let options = pool::Pool { kernel_size: &[2], ..pool::Pool::default() };
/// let found = pool::max_pool(x, &options, true)?;
/// assert_eq!(found.values.into_vec::<f32>().unwrap(), [5.0, 5.0]);
/// assert_eq!(found.indices.unwrap().into_vec::<i64>().unwrap(), [1, 2]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// [`PoolError`]; [`warpfold_array::RowError::NotFloats`]; [`Error::Memory`].
pub fn max_pool(x: ArrayRef<'_>, options: &Pool<'_>, indices: bool) -> Result<MaxPool, Error> {
    let call = Call::new("max_pool", x.shape(), options)?;
    call.afford(false)?;
    floats(call.op, "the elements", x.dtype())?;
    if indices {
        plane(&call)?;
    }
    match x.dtype() {
        DType::F16 => greatest::<f16>(&call, x, indices),
        DType::BF16 => greatest::<bf16>(&call, x, indices),
        DType::F32 => greatest::<f32>(&call, x, indices),
        _ => greatest::<f64>(&call, x, indices),
    }
}

/// Checks that the elements of a plane can be counted by indices, and returns their number.
pub fn plane(call: &Call) -> Result<u32, Error> {
    let elements = call.inputs.iter().product();
    match u32::try_from(elements) {
        Ok(n) if n < NONE => Ok(n),
        _ => Err(PoolError::Plane { op: call.op, elements }.into()),
    }
}

/// Memory for a part.
struct Room<T: Element> {
    tile: Vec<T>,
    /// The greatest key of each column of a row of windows.
    columns: Best<T::Key>,
    /// The same, with columns a stride apart side by side.
    apart: Best<T::Key>,
}

/// Keys, and the indices of their elements, if they are asked for.
struct Best<K> {
    keys: Vec<K>,
    indices: Vec<u32>,
}

impl<K: Key> Best<K> {
    const fn new() -> Self {
        Self { keys: Vec::new(), indices: Vec::new() }
    }

    fn resize(&mut self, n: usize, indices: bool) {
        self.keys.resize(n, K::MIN);
        self.indices.resize(if indices { n } else { 0 }, NONE);
    }
}

fn greatest<T: Value + Readable + Default>(call: &Call, x: ArrayRef<'_>, indices: bool) -> Result<MaxPool, Error> {
    let lines = Lines::of(&x, &call.axes);
    let n = call.output_shape.iter().product();
    let mut values = memory::room::<T>("the result", n)?;
    let mut places = memory::room::<i64>("the indices", if indices { n } else { 0 })?;
    if n > 0 {
        let output = Output::<T>::large(&mut values.spare_capacity_mut()[..n]);
        let places = Output::<i64>::large(&mut places.spare_capacity_mut()[..if indices { n } else { 0 }]);
        let gather = gather_same::<T>(x.is_swapped());
        on_threads(call.threads, |threads| {
            let plan = Plan::new(call, call.forward_reach(), lines.across(), threads);
            plan.afford()?;
            let room = || Room { tile: Vec::<T>::new(), columns: Best::new(), apart: Best::new() };
            plan.run(room, |part, Room { tile, columns, apart }| {
                let source = plan.source(part);
                let planes = &part.planes;
                let elements = Elements { rows: planes.clone(), from: source.start(call.inputs[2]), n: source.len() };
                // SAFETY: an ArrayRef's elements are readable, and those of the source are some of them.
                let x = unsafe {
                    let in_place = lines.in_place::<T>(&elements);
                    in_place.unwrap_or_else(|| {
                        source.load((&lines, gather), planes, call.inputs[2], tile);
                        &tile[..]
                    })
                };
                let part = OfPart { call, plan: &plan, part, source: &source, output: &output, places: &places };
                match indices {
                    true => part.windows::<true>(x, columns, apart),
                    false => part.windows::<false>(x, columns, apart),
                }
            });
            Ok::<(), Error>(())
        })??;
    }
    // SAFETY: the parts have all windows, and each has written its places.
    unsafe {
        values.set_len(n);
        places.set_len(if indices { n } else { 0 });
    }
    let shape = &call.output_shape;
    let places = indices.then(|| Array { shape: shape.clone(), values: i64::wrap(places) });
    Ok(MaxPool { values: Array { shape: shape.clone(), values: T::wrap(values) }, indices: places })
}

/// The windows of a part.
struct OfPart<'a, T> {
    call: &'a Call,
    plan: &'a Plan,
    part: &'a Part,
    source: &'a Source,
    output: &'a Output<T>,
    places: &'a Output<i64>,
}

impl<T: Element> OfPart<'_, T> {
    /// Writes the greatest elements of the part's windows, whose planes are in `x`, and their indices, if `INDICES`.
    fn windows<const INDICES: bool>(&self, x: &[T], columns: &mut Best<T::Key>, moved: &mut Best<T::Key>) {
        let Self { call, plan, part, source, .. } = self;
        let (step, width) = (plan.reach[2].source_step, source.width);
        let strips = plan.strips(part, source);
        columns.resize(width + LANES, INDICES);
        moved.resize(apart_len(width, step) + LANES, INDICES);
        plan.each_row(part, source, |row, taken| {
            for (i, plane) in part.planes.clone().enumerate() {
                let x = &x[i * source.len()..];
                let first = (plane * call.outputs[0] * call.outputs[1] + row) * call.outputs[2] + part.columns.start;
                let n = part.columns.len();
                // SAFETY: no other part has these windows, each of which has a place.
                let (to, places) = unsafe {
                    (room(self.output, first, n), if INDICES { room(self.places, first, n) } else { &mut [] })
                };
                vectorize(
                    #[inline(always)]
                    || {
                        self.down::<INDICES>(x, taken, columns);
                        if step > 1 {
                            apart(&columns.keys[..width], step, &mut moved.keys);
                            if INDICES {
                                apart(&columns.indices[..width], step, &mut moved.indices);
                            }
                        }
                        let best = if step > 1 { &*moved } else { &*columns };
                        for strip in &strips {
                            self.across::<INDICES>(strip, best, to, places);
                        }
                    },
                );
            }
        });
    }

    /// The greatest keys of all columns, of some rows of a plane.
    #[inline(always)]
    fn down<const INDICES: bool>(&self, x: &[T], rows: &[usize], best: &mut Best<T::Key>) {
        let width = self.source.width;
        let keys = &mut best.keys[..width];
        if !INDICES {
            let row = |row: &usize| &x[row * width..][..width];
            let (mut pairs, mut more) = (rows, false);
            // Two rows at a time: keys are read and written once for both.
            while let Some(([a, b], rest)) = pairs.split_first_chunk::<2>() {
                for ((a, b), best) in row(a).iter().zip(row(b)).zip(keys.iter_mut()) {
                    let pair = rank(*a).max(rank(*b));
                    *best = if more { (*best).max(pair) } else { pair };
                }
                (pairs, more) = (rest, true);
            }
            if let Some(last) = pairs.first() {
                for (x, best) in row(last).iter().zip(keys.iter_mut()) {
                    *best = if more { (*best).max(rank(*x)) } else { rank(*x) };
                }
            } else if !more {
                keys.fill(T::Key::MIN);
            }
            return;
        }
        let indices = &mut best.indices[..width];
        keys.fill(T::Key::MIN);
        indices.fill(NONE);
        for &row in rows {
            let first = (self.source.row(row) * self.call.inputs[2] + self.source.column) as u32;
            for (((x, key), index), i) in
                x[row * width..][..width].iter().zip(keys.iter_mut()).zip(&mut *indices).zip(0u32..)
            {
                let new = rank(*x);
                *index = if beats(new, *key) { first + i } else { *index };
                *key = (*key).max(new);
            }
        }
    }

    /// The results of a strip, from the greatest keys of columns.
    #[inline(always)]
    fn across<const INDICES: bool>(
        &self,
        strip: &Strip,
        best: &Best<T::Key>,
        to: &mut [MaybeUninit<T>],
        places: &mut [MaybeUninit<i64>],
    ) {
        let (n, first) = (strip.numbers.len(), strip.numbers.start);
        let from = strip.first + first - self.part.columns.start;
        for j in (0..n).step_by(LANES) {
            let (mut keys, mut indices): (Lanes<T::Key>, Lanes<u32>) = ([T::Key::MIN; LANES], [NONE; LANES]);
            for tap in &strip.taps {
                let at = (first + j).wrapping_add_signed(*tap);
                let new = lanes(&best.keys, at);
                if INDICES {
                    let of = lanes(&best.indices, at);
                    indices = array!(LANES, i => {
                        let before = beats(keys[i], new[i]);
                        let equal = !before && !beats(new[i], keys[i]);
                        if before || equal && indices[i] < of[i] { indices[i] } else { of[i] }
                    });
                }
                keys = array!(LANES, i => keys[i].max(new[i]));
            }
            let end = LANES.min(n - j);
            for (key, to) in keys[..end].iter().zip(&mut to[from + j..]) {
                // A window of padding has no element.
                to.write(if *key == T::Key::MIN { lowest() } else { T::from_key(*key) });
            }
            if INDICES {
                for (index, to) in indices[..end].iter().zip(&mut places[from + j..]) {
                    to.write(if *index == NONE { -1 } else { *index as i64 });
                }
            }
        }
    }
}

/// Minus infinity.
#[inline(always)]
fn lowest<T: Element>() -> T {
    T::from_cast(warpfold_core::Cast::Float(f64::NEG_INFINITY))
}

/// Places of a result.
///
/// # Safety
/// No other task uses them, and their memory is there for `'a`.
unsafe fn room<'a, T>(output: &Output<T>, first: usize, n: usize) -> &'a mut [MaybeUninit<T>] {
    // SAFETY: `at` has checked that the places are in bounds; the caller vouches that they are its own.
    unsafe { std::slice::from_raw_parts_mut(output.at(first as isize, n).cast(), n) }
}
