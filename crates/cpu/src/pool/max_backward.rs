//! The gradient of the elements before `max_pool`.

use std::sync::atomic::{AtomicBool, Ordering};

use warpfold_array::{Array, ArrayRef, Error, PoolError};
use warpfold_core::Float;
use warpfold_core::pool::gathered;

use crate::gather::gather_same;
use crate::reduction::on_threads;
use crate::rows::call::{with_float, with_results};
use crate::rows::lines::{Lines, RowFloat};
use crate::simd::{array, vectorize};

use super::call::{Call, Pool};
use super::fold::{Lanes, Nodes, lanes, places, tree};
use super::max::{NONE, plane};
use super::tasks::{LANES, Part, Plan, Source};

/// The gradient of the elements before [`super::max_pool`], from that of its values and their indices. `size` has the
/// lengths of the elements' last axes, as many as a window has. An index that is not in its window has no gradient.
///
/// ```
/// use warpfold::{ArrayRef, pool};
///
/// let (gradient, indices) = ([2.0f32, 4.0], [1i64, 1]);
/// let options = pool::Pool { kernel_size: &[2], stride: &[1], ..pool::Pool::default() };
/// let x = pool::max_pool_backward(ArrayRef::flat(&gradient), ArrayRef::flat(&indices), &[3], &options)?;
/// assert_eq!(x.into_vec::<f32>().unwrap(), [0.0, 6.0, 0.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`super::max_pool`]; arrays of another shape; indices that are no i64, or beyond the axes.
pub fn max_pool_backward(
    gradient: ArrayRef<'_>,
    indices: ArrayRef<'_>,
    size: &[usize],
    options: &Pool<'_>,
) -> Result<Array, Error> {
    let like = |array: &ArrayRef<'_>| (array.dtype(), array.shape().to_vec());
    let call = Call::max_backward(&like(&gradient), &like(&indices), size, options)?;
    call.afford(true)?;
    let elements = plane(&call)?;
    with_float!(gradient.dtype(), F => scattered::<F>(&call, gradient, indices, elements))
}

/// Memory for a part.
struct Room<F> {
    gradients: Vec<F>,
    wide: Vec<i64>,
    indices: Vec<u32>,
    nodes: Nodes<F>,
    results: Vec<F>,
    rows: Vec<usize>,
    places: Vec<usize>,
}

fn scattered<F: RowFloat>(
    call: &Call,
    gradient: ArrayRef<'_>,
    indices: ArrayRef<'_>,
    elements: u32,
) -> Result<Array, Error> {
    let of = [&gradient, &indices].map(|array| Lines::of(array, &call.axes));
    let gather = F::gather(gradient.dtype(), gradient.is_swapped(), F::DTYPE);
    let gather_indices = gather_same::<i64>(indices.is_swapped());
    let wrong = AtomicBool::new(false);
    let room = || Room {
        gradients: Vec::new(),
        wide: Vec::new(),
        indices: Vec::new(),
        nodes: Nodes::new(),
        results: Vec::new(),
        rows: Vec::new(),
        places: Vec::new(),
    };
    let fill = |output: &Lines| {
        if call.planes == 0 {
            return Ok(());
        }
        on_threads(call.threads, |threads| {
            let plan = Plan::new(call, call.backward_reach(), of.iter().any(Lines::across), threads);
            plan.afford()?;
            plan.run(room, |part, room| {
                let (source, width) = (plan.source(part), call.outputs[2]);
                // SAFETY: the elements of an ArrayRef are readable, and those of the source are some of them.
                unsafe {
                    source.load((&of[0], gather), &part.planes, width, &mut room.gradients);
                    source.load((&of[1], gather_indices), &part.planes, width, &mut room.wide);
                }
                if narrow(&room.wide, elements, &mut room.indices) {
                    wrong.store(true, Ordering::Relaxed);
                }
                part_of(&plan, part, &source, call.inputs[2], room);
                // SAFETY: the output has a place for each result, and those of the part are this task's alone.
                unsafe { output.store(&part.elements(call.inputs[2]), &room.results) };
            });
            Ok::<(), Error>(())
        })??;
        match wrong.load(Ordering::Relaxed) {
            true => Err(PoolError::Index { elements: elements as usize }.into()),
            false => Ok(()),
        }
    };
    // SAFETY: the parts have all results; without planes there are none.
    unsafe { with_results(gradient.dtype(), call.input_shape.clone(), &call.axes, fill) }
}

/// Indices in 32 bits. Returns whether one is neither -1 nor below the number of elements.
fn narrow(wide: &[i64], elements: u32, to: &mut Vec<u32>) -> bool {
    to.resize(wide.len(), NONE);
    vectorize(
        #[inline(always)]
        || {
            let mut wrong = false;
            for (wide, to) in wide.iter().zip(to) {
                // From 0 on, -1 is the first.
                wrong |= wide.wrapping_add(1) as u64 > elements as u64;
                *to = *wide as u32;
            }
            wrong
        },
    )
}

/// The gradients of a part, whose source is in the tiles.
fn part_of<F: Float>(plan: &Plan, part: &Part, source: &Source, width: usize, room: &mut Room<F>) {
    let Room { gradients, indices, nodes, results, rows, places: at, .. } = room;
    let (planes, columns) = (part.planes.len(), part.columns.len());
    results.resize(planes * part.rows.len() * columns, F::ZERO);
    let strips = plan.strips(part, source);
    let step = plan.reach[2].target_step;
    plan.each_row(part, source, |row, taken| {
        rows.clear();
        rows.extend(taken.iter().map(|row| row * source.width));
        for strip in &strips {
            places(strip, rows, at);
            for plane in 0..planes {
                let (gradients, indices) = (&gradients[plane * source.len()..], &indices[plane * source.len()..]);
                let to = &mut results[(plane * part.rows.len() + row - part.rows.start) * columns..][..columns];
                vectorize(
                    #[inline(always)]
                    || {
                        strip.each(
                            step,
                            part.columns.start,
                            to,
                            #[inline(always)]
                            |j, column| -> Lanes<F> {
                                let own: Lanes<u32> =
                                    array!(LANES, i => (row * width + column).wrapping_add(i * step) as u32);
                                let sums = tree(
                                    at,
                                    nodes,
                                    #[inline(always)]
                                    |place| {
                                        let at = place.wrapping_add(j);
                                        let (gradients, chosen) = (lanes(gradients, at), lanes(indices, at));
                                        array!(LANES, i => if chosen[i] == own[i] { gradients[i] } else { F::NOTHING })
                                    },
                                );
                                array!(LANES, i => gathered(sums[i]))
                            },
                        );
                    },
                );
            }
        }
    });
}
