//! Windows of few elements: at most three rows of three (two of two windows that hold an element), in planes at equal
//! steps.
//!
//! Idea: where a window lies is found once for all planes of a thread, and each of its elements has a register of its
//! own, so nothing is counted or stored between a load and the tree. A window at an edge has fewer elements: rows at
//! the end of the sequence are nothings, which change no sum, and for fewer columns there is another tree. All loads of
//! some planes are in flight at once. Bottleneck: memory, where windows do not overlap; else instructions.

use super::average::over;
use super::grid::{Grid, Range, Window};
use super::max::Best;
use super::number::{Elements, Floats, Of};
use super::stack::join;
use super::{FIXED, POWER, Pool};
use crate::address::{array, fixed};
use warpfold_core::pool::gathered;
use warpfold_core::{Accumulate, DType, Float, Real};
use warpfold_simt::Simt;

/// Planes that a thread has at a time: so many that the loads of all of them are in flight, and 64 registers suffice.
/// Windows have at most `most` elements along an axis, of `size` bytes; `means`: the results are means of windows.
#[must_use]
pub const fn planes(most: usize, size: usize, means: bool) -> usize {
    match (most, size, means) {
        (1, ..) => 8,
        (2, 2, true) => 4,
        (3, _, false) => 1,
        _ => 2,
    }
}

/// The sums of elements in their order, of windows with so many columns. In the place of elements that there are not
/// is nothing.
#[inline(always)]
fn tree<S: Simt, F: Float, const N: usize, const P: usize>(s: &S, window: &Window<F, N, P>, columns: u32) -> [F; P] {
    if N == 1 || s.branch(columns == N as u32) {
        return folded::<F, N, P>(window, N);
    }
    if N == 2 || s.branch(columns == 1) {
        return folded::<F, N, P>(window, 1);
    }
    folded::<F, N, P>(window, 2)
}

/// The tree over the first columns of all rows. A sum with nothing is no instruction.
#[inline(always)]
fn folded<F: Float, const N: usize, const P: usize>(window: &Window<F, N, P>, columns: usize) -> [F; P] {
    let mut nodes = [[F::NOTHING; P]; 16];
    let mut i = 0;
    while i < N * columns {
        nodes[i] = window[i / columns][i % columns];
        i += 1;
    }
    let mut count = 16;
    while count > 1 {
        count /= 2;
        let mut i = 0;
        while i < count {
            nodes[i] = join(nodes[2 * i], nodes[2 * i + 1]);
            i += 1;
        }
    }
    nodes[0]
}

/// The elements of a window, or what `nothing` is where there are none.
#[inline(always)]
fn read<S: Simt, T: Copy, const N: usize, const P: usize>(
    s: &S,
    grid: &Grid<N>,
    nothing: T,
    element: impl Fn(usize, usize, usize) -> T,
) -> [[[T; P]; N]; N] {
    let (mut window, mut row) = ([[[nothing; P]; N]; N], 0);
    while row < N {
        let mut column = 0;
        while column < N {
            if s.branch(grid.has(row, column)) {
                window[row][column] = warpfold_simt::array::from_fn(
                    #[inline(always)]
                    |k| element(k, row, column),
                );
            }
            column += 1;
        }
        row += 1;
    }
    window
}

/// The elements of a window in the source, or what `nothing` is where there are none.
#[inline(always)]
fn elements<S: Simt, X: Floats, const N: usize, const P: usize>(
    s: &S,
    sources: &[u64; P],
    grid: &Grid<N>,
    nothing: X::Value,
) -> Window<X::Value, N, P> {
    read::<S, _, N, P>(
        s,
        grid,
        nothing,
        #[inline(always)]
        |k, row, column| {
            let by = row as i64 * grid.down + (column * size_of::<X::Bits>()) as i64;
            Of::<X>::read(s, 0, [sources[k].wrapping_add(by as u64)])[0]
        },
    )
}

/// Calls `$kernel` for windows of at most one, two or three elements along an axis.
macro_rules! by_most {
    ($name:ident = $kernel:ident, $backward:literal, $means:literal, $($more:literal),*) => {
        #[doc = concat!("As `", stringify!($kernel), "`, of windows with at most `call.most` elements along an axis.")]
        #[inline(always)]
        pub fn $name<S: Simt, X: Floats>(s: &S, call: &Pool) {
            if s.branch(call.most == 1) {
                by_most!(@ $kernel, $backward, $means, s, call, 1);
            } $(else if s.branch(call.most == $more) {
                by_most!(@ $kernel, $backward, $means, s, call, $more);
            })*
        }
    };
    // Some planes at a time, and the last ones one by one.
    (@ $kernel:ident, $backward:literal, $means:literal, $s:ident, $call:ident, $most:literal) => {{
        let grid = Grid::<$most>::own::<S, $backward>($s, $call);
        let whole = $call.planes - $call.planes % planes($most, size_of::<X::Bits>(), $means) as u64;
        if size_of::<X::Bits>() == 2 {
            $kernel::<S, X, $most, { planes($most, 2, $means) }>($s, $call, &grid, (0, whole));
        } else {
            $kernel::<S, X, $most, { planes($most, 4, $means) }>($s, $call, &grid, (0, whole));
        }
        $kernel::<S, X, $most, 1>($s, $call, &grid, (whole, $call.planes));
    }};
}
by_most!(average = means, false, true, 2, 3);
by_most!(average_backward = means_backward, true, false, 2);
by_most!(max = greatest, false, false, 2, 3);
by_most!(max_backward = greatest_backward, true, false, 2);

/// Means.
#[inline(always)]
fn means<S: Simt, X: Floats, const N: usize, const P: usize>(s: &S, call: &Pool, grid: &Grid<N>, planes: Range) {
    grid.each::<S, X, P>(
        (s, call, planes),
        #[inline(always)]
        |planes| {
            let window = elements::<S, X, N, P>(s, &planes.sources, grid, X::Value::NOTHING);
            let sums = tree::<S, X::Value, N, P>(s, &window, grid.columns);
            let means = over(s, call, sums, grid.heights[0] as u64 * grid.widths[0] as u64);
            planes.write::<S, X>(s, means);
        },
    );
}

/// What the gradient of each window is divided by, and its inverse.
#[inline(always)]
fn divisors<S: Simt, X: Floats, const N: usize>(s: &S, call: &Pool, grid: &Grid<N>) -> [[[X::Value; 2]; N]; N] {
    let (one, own) = (X::Value::from_count(1), X::Value::from_f64(call.divisor));
    let is_same = s.branch(call.divides == POWER || call.divides == FIXED);
    let (mut all, mut i) = ([[[one; 2]; N]; N], 0);
    while i < N * N {
        let (row, column) = (i / N, i % N);
        let number =
            if is_same { own } else { X::Value::from_count(grid.heights[row] as u64 * grid.widths[column] as u64) };
        all[row][column] = [number, one.div(number)];
        i += 1;
    }
    all
}

/// Divides the gradients of windows: by a product with the inverse, and one step of Newton's, which rounds correctly
/// if the divisor is a whole number below [`super::QUICK`]. (Then no quotient is half way between two numbers, nor so
/// close to it that the step's error of 2^-23 units of its last place is as much.) What is so small that its quotient
/// may be subnormal, infinite or NaN is divided. Nothing becomes a zero, which changes no sum, nor its sign in the end.
#[inline(always)]
fn divide<S: Simt, X: Floats, const N: usize, const P: usize>(
    s: &S,
    call: &Pool,
    window: &mut Window<X::Value, N, P>,
    divisors: &[[[X::Value; 2]; N]; N],
) {
    let is_f64 = X::DTYPE == DType::F64;
    let [least, most] = if is_f64 { [1e-280, f64::MAX] } else { [1e-24, f32::MAX as f64] }.map(X::Value::from_f64);
    let (zero, minus, given) = (X::Value::ZERO, X::Value::from_f64(-1.0), *window);
    let is_power = s.branch(call.divides == POWER);
    let (mut is_plain, mut i) = (true, 0);
    while i < N * N * P {
        let (row, column, k) = (i / P / N, i / P % N, i % P);
        let (x, [number, inverse]) = (given[row][column][k], divisors[row][column]);
        let about = x.mul(if is_power { number } else { inverse });
        window[row][column][k] = if is_power {
            about
        } else {
            let rest = Of::<X>::fused(s, number, about, x.mul(minus));
            is_plain &= (x.abs() >= least && x.abs() <= most) || x == zero;
            Of::<X>::fused(s, rest.mul(minus), inverse, about)
        };
        i += 1;
    }
    if s.branch(!is_plain) {
        let mut i = 0;
        while i < N * N * P {
            let (row, column, k) = (i / P / N, i / P % N, i % P);
            window[row][column][k] = given[row][column][k].div(divisors[row][column][0]);
            i += 1;
        }
    }
}

/// The gradient of the elements, from that of the means.
#[inline(always)]
fn means_backward<S: Simt, X: Floats, const N: usize, const P: usize>(
    s: &S,
    call: &Pool,
    grid: &Grid<N>,
    planes: Range,
) {
    let divisors = divisors::<S, X, N>(s, call, grid);
    grid.each::<S, X, P>(
        (s, call, planes),
        #[inline(always)]
        |planes| {
            let mut window = elements::<S, X, N, P>(s, &planes.sources, grid, X::Value::NOTHING);
            divide::<S, X, N, P>(s, call, &mut window, &divisors);
            planes.write::<S, X>(s, tree::<S, X::Value, N, P>(s, &window, grid.columns).map(gathered));
        },
    );
}

/// The greatest elements, and the index of the first of them, if indices are wanted.
#[inline(always)]
fn greatest<S: Simt, X: Floats, const N: usize, const P: usize>(s: &S, call: &Pool, grid: &Grid<N>, planes: Range) {
    let (lowest, wants_first) = (X::Value::from_f64(f64::NEG_INFINITY), call.at.places != 0);
    grid.each::<S, X, P>(
        (s, call, planes),
        #[inline(always)]
        |planes| {
            let window = elements::<S, X, N, P>(s, &planes.sources, grid, lowest);
            let mut best = Best::<X::Value, P>::none();
            if s.branch(wants_first) {
                best.take_all::<S, Of<X>, N>(
                    s,
                    &window,
                    |row, column| grid.flat.wrapping_add(grid.beyond(call, row, column)),
                    true,
                );
            } else {
                best.take_all::<S, Of<X>, N>(s, &window, |_, _| 0, false);
            }
            planes.write::<S, X>(s, best.values(grid.rows * grid.columns));
            if s.branch(wants_first) {
                let places = fixed(s, call.at.places + 8 * planes.result);
                let mut k = 0;
                while k < P {
                    s.store(array::<i64>(places + k as u64 * (8 * call.results.by)), 0, best.place(k));
                    k += 1;
                }
            }
        },
    );
}

/// The gradient of the elements, from that of the greatest ones, whose indices are there, in C order.
#[inline(always)]
fn greatest_backward<S: Simt, X: Floats, const N: usize, const P: usize>(
    s: &S,
    call: &Pool,
    grid: &Grid<N>,
    planes: Range,
) {
    let windows = call.rows.by * call.columns.by;
    grid.each::<S, X, P>(
        (s, call, planes),
        #[inline(always)]
        |planes| {
            let mut window = elements::<S, X, N, P>(s, &planes.sources, grid, X::Value::NOTHING);
            let chosen_at = fixed(s, call.at.places + 8 * (planes.first * windows + grid.flat as u64));
            let chosen = read::<S, _, N, P>(
                s,
                grid,
                -1,
                #[inline(always)]
                |k, row, column| {
                    let by = 8 * grid.beyond(call, row, column) as u64;
                    s.load(array::<i64>(chosen_at + k as u64 * (8 * windows) + by), 0)
                },
            );
            let mut i = 0;
            while i < N * N * P {
                let (row, column, k) = (i / P / N, i / P % N, i % P);
                let is_own = chosen[row][column][k] == grid.number as i64;
                window[row][column][k] = if is_own { window[row][column][k] } else { X::Value::NOTHING };
                i += 1;
            }
            planes.write::<S, X>(s, tree::<S, X::Value, N, P>(s, &window, grid.columns).map(gathered));
        },
    );
}
