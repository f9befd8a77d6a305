//! The mean of each window, and its gradient.

use warpfold_array::{Array, ArrayRef, Error};
use warpfold_core::Float;
use warpfold_core::pool::{Divisor, gathered};

use crate::reduction::on_threads;
use crate::rows::call::{with_float, with_results};
use crate::rows::lines::{Lines, RowFloat};
use crate::simd::{array, vectorize};

use super::call::{Call, Pool, divisor, floats};
use super::fold::{Lanes, Nodes, lanes, places, tree};
use super::reach::Reach;
use super::tasks::{LANES, Part, Plan, Source, Strip, apart, apart_len};

/// The mean of each window over the last axes: an array in C order, of the dtype of `x`.
///
/// ```
/// use warpfold::{ArrayRef, pool};
///
/// let x = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
/// let x = ArrayRef::from_slice(&x, &[1, 3, 3])?;
/// let options = pool::Pool { kernel_size: &[2, 2], stride: &[1, 1], ..pool::Pool::default() };
/// let y = pool::avg_pool(x, &options)?;
/// assert_eq!((y.shape.clone(), y.into_vec::<f32>().unwrap()), (vec![1, 2, 2], vec![3.0, 4.0, 6.0, 7.0]));
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// [`warpfold_array::PoolError`]; [`warpfold_array::RowError::NotFloats`]; [`Error::Memory`].
pub fn avg_pool(x: ArrayRef<'_>, options: &Pool<'_>) -> Result<Array, Error> {
    let call = Call::new("avg_pool", x.shape(), options)?;
    call.afford(false)?;
    floats(call.op, "the elements", x.dtype())?;
    let divisor = divisor(call.op, options)?;
    with_float!(x.dtype(), F => averaged::<F>(&call, x, &Forward { divisor }))
}

/// The gradient of the elements before [`avg_pool`], from that of its result. `size` has the lengths of the elements'
/// last axes, as many as a window has.
///
/// ```
/// use warpfold::{ArrayRef, pool};
///
/// let gradient = ArrayRef::flat(&[2.0f32, 4.0]);
/// let options = pool::Pool { kernel_size: &[2], stride: &[1], ..pool::Pool::default() };
/// let x = pool::avg_pool_backward(gradient, &[3], &options)?;
/// assert_eq!(x.into_vec::<f32>().unwrap(), [1.0, 3.0, 2.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
/// As [`avg_pool`]; a gradient of another shape.
pub fn avg_pool_backward(gradient: ArrayRef<'_>, size: &[usize], options: &Pool<'_>) -> Result<Array, Error> {
    let call = Call::backward("avg_pool_backward", gradient.shape(), size, options)?;
    call.afford(true)?;
    floats(call.op, "the gradient", gradient.dtype())?;
    let divisor = divisor(call.op, options)?;
    let how = Backward { divisor, windows: call.forward_reach() };
    with_float!(gradient.dtype(), F => averaged::<F>(&call, gradient, &how))
}

/// What differs between means and their gradient.
trait Averaged<F>: Sync {
    /// The reach, the shape of the results, and the elements of a row of the source and of the results.
    fn reach(&self, call: &Call) -> ([Reach; 3], Vec<usize>, [usize; 2]);

    /// Changes the elements of a plane of the source before they are summed.
    fn prepare(&self, source: &Source, plane: &mut [F]);

    /// What becomes of the sums of a strip's windows, each of so many elements, in a row of results.
    fn finish(&self, plan: &Plan, row: usize, elements: usize, strip: &Strip) -> impl Fn(F) -> F;
}

struct Forward {
    divisor: Divisor,
}

impl<F: Float> Averaged<F> for Forward {
    fn reach(&self, call: &Call) -> ([Reach; 3], Vec<usize>, [usize; 2]) {
        (call.forward_reach(), call.output_shape.clone(), [call.inputs[2], call.outputs[2]])
    }

    fn prepare(&self, _source: &Source, _plane: &mut [F]) {}

    #[inline(always)]
    fn finish(&self, plan: &Plan, row: usize, elements: usize, strip: &Strip) -> impl Fn(F) -> F {
        let [outer, middle, _] = &plan.reach;
        let padded = outer.padded(row / middle.targets) * middle.padded(row % middle.targets) * strip.padded;
        let divisor = self.divisor.of::<F>(elements, padded);
        #[inline(always)]
        move |sum: F| sum.div(divisor)
    }
}

struct Backward {
    divisor: Divisor,
    /// The elements of each window.
    windows: [Reach; 3],
}

impl<F: Float> Averaged<F> for Backward {
    fn reach(&self, call: &Call) -> ([Reach; 3], Vec<usize>, [usize; 2]) {
        (call.backward_reach(), call.input_shape.clone(), [call.outputs[2], call.inputs[2]])
    }

    fn prepare(&self, source: &Source, plane: &mut [F]) {
        let [outer, middle, inner] = &self.windows;
        let columns = source.column..source.column + source.width;
        for (i, gradients) in plane.chunks_exact_mut(source.width).enumerate() {
            let row = source.row(i);
            let (depth, height) = (row / middle.targets, row % middle.targets);
            let elements = outer.count(depth) * middle.count(height);
            let padded = outer.padded(depth) * middle.padded(height);
            for stretch in &inner.groups[0].stretches {
                let divisor = self.divisor.of::<F>(elements * stretch.taps.len(), padded * stretch.padded);
                let from = stretch.numbers.start.clamp(columns.start, columns.end) - columns.start;
                let to = stretch.numbers.end.clamp(columns.start, columns.end) - columns.start;
                let gradients = &mut gradients[from..to];
                vectorize(
                    #[inline(always)]
                    || {
                        for gradient in gradients {
                            *gradient = gradient.div(divisor);
                        }
                    },
                );
            }
        }
    }

    #[inline(always)]
    fn finish(&self, _plan: &Plan, _row: usize, _elements: usize, _strip: &Strip) -> impl Fn(F) -> F {
        gathered
    }
}

/// Memory for a part.
struct Room<F> {
    tile: Vec<F>,
    apart: Vec<F>,
    nodes: Nodes<F>,
    results: Vec<F>,
    rows: Vec<usize>,
    places: Vec<usize>,
}

impl<F: Float> Room<F> {
    fn new() -> Self {
        let (tile, apart, results, rows, places) = (vec![], vec![], vec![], vec![], vec![]);
        Self { tile, apart, nodes: Nodes::new(), results, rows, places }
    }
}

/// The results of all windows.
fn averaged<F: RowFloat>(call: &Call, x: ArrayRef<'_>, how: &impl Averaged<F>) -> Result<Array, Error> {
    let (lines, gather) = (Lines::of(&x, &call.axes), F::gather(x.dtype(), x.is_swapped(), F::DTYPE));
    let (reach, shape, [x_width, width]) = how.reach(call);
    let fill = |output: &Lines| {
        if call.planes == 0 {
            return Ok(());
        }
        on_threads(call.threads, |threads| {
            let plan = Plan::new(call, reach, lines.across(), threads);
            plan.afford()?;
            plan.run(Room::new, |part, room| {
                let source = plan.source(part);
                // SAFETY: an ArrayRef's elements are readable, and those of the source are some of them.
                unsafe { source.load((&lines, gather), &part.planes, x_width, &mut room.tile) };
                part_of(&plan, part, &source, how, room);
                // SAFETY: the output has a place for each result, and those of the part are this task's alone.
                unsafe { output.store(&part.elements(width), &room.results) };
            });
            Ok(())
        })?
    };
    // SAFETY: the parts have all results; without planes there are none.
    unsafe { with_results(x.dtype(), shape, &call.axes, fill) }
}

/// The results of a part, whose source is in the tile.
fn part_of<F: RowFloat>(plan: &Plan, part: &Part, source: &Source, how: &impl Averaged<F>, room: &mut Room<F>) {
    let Room { tile, apart: moved, nodes, results, rows, places: at } = room;
    let (planes, step) = (part.planes.len(), plan.reach[2].source_step);
    let columns = part.columns.len();
    results.resize(planes * part.rows.len() * columns, F::ZERO);
    if source.len() > 0 {
        for plane in tile[..planes * source.len()].chunks_exact_mut(source.len()) {
            how.prepare(source, plane);
        }
    }
    let pitch = apart_len(source.width, step);
    if step > 1 {
        moved.resize(planes * source.rows * pitch + LANES, F::ZERO);
        vectorize(
            #[inline(always)]
            || {
                for (row, to) in tile.chunks_exact(source.width.max(1)).zip(moved.chunks_exact_mut(pitch.max(1))) {
                    apart(row, step, to);
                }
            },
        );
    }
    let x = if step > 1 { &moved[..] } else { &tile[..] };
    let strips = plan.strips(part, source);
    plan.each_row(part, source, |row, taken| {
        rows.clear();
        rows.extend(taken.iter().map(|row| row * pitch));
        for strip in &strips {
            places(strip, rows, at);
            let finish = how.finish(plan, row, at.len(), strip);
            for plane in 0..planes {
                let x = &x[plane * source.rows * pitch..];
                let to = &mut results[(plane * part.rows.len() + row - part.rows.start) * columns..][..columns];
                vectorize(
                    #[inline(always)]
                    || {
                        strip.each(
                            plan.reach[2].target_step,
                            part.columns.start,
                            to,
                            #[inline(always)]
                            |j, _| -> Lanes<F> {
                                let sums = tree(
                                    at,
                                    nodes,
                                    #[inline(always)]
                                    |place| lanes(x, place.wrapping_add(j)),
                                );
                                array!(LANES, i => finish(sums[i]))
                            },
                        );
                    },
                );
            }
        }
    });
}
