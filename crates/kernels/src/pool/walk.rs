//! A thread's window, in the planes that it has, and the walk over its elements.
//!
//! Idea: where elements of a window lie is the same in all planes, so it is computed once, and a thread goes on with
//! other planes. A walk knows how far it is from an element to the next, in a row and from row to row, and takes four
//! elements at a time, so that as many reads are in flight.

use super::Pool;
use super::along::{Along, Span};
use super::stack::{Stack, join};
use crate::block::THREADS;
use warpfold_core::Float;
use warpfold_simt::Simt;

/// Elements of a plane that are read before any is used.
pub const AHEAD: usize = 4;

/// `P` planes, in which a thread has the same window.
#[derive(Clone, Copy)]
pub struct Planes<const P: usize> {
    /// The first.
    pub first: u64,
    /// How many there are.
    pub count: u32,
    /// The addresses of the first source elements; of planes that there are not, of the last one's.
    pub sources: [u64; P],
}

impl<const P: usize> Planes<P> {
    /// Those from one on.
    #[inline(always)]
    pub fn of(call: &Pool, first: u64) -> Self {
        let count = (call.planes - first).min(P as u64) as u32;
        let (mut far, mut near) = call.inner.divide(first);
        let (mut sources, mut k) = ([0; P], 0);
        while k < P {
            sources[k] = call.at.input.wrapping_add((near as i64 * call.near + far as i64 * call.far) as u64);
            let is_last = near + 1 == call.inner.by;
            let more = k as u32 + 1 < count;
            far = if more && is_last { far + 1 } else { far };
            near = if more { if is_last { 0 } else { near + 1 } } else { near };
            k += 1;
        }
        Self { first, count, sources }
    }

    /// The addresses of elements that lie `by` bytes from the first ones.
    #[inline(always)]
    pub fn at(&self, by: i64) -> [u64; P] {
        self.sources.map(
            #[inline(always)]
            |at| at.wrapping_add(by as u64),
        )
    }

    /// The plane of place `k`, or the last one.
    #[inline(always)]
    pub fn plane(&self, k: usize) -> u64 {
        self.first + (k as u32).min(self.count - 1) as u64
    }
}

/// Lets `f` compute the results of all planes of a thread: of windows, or, if `BACKWARD`, of elements. It gets some
/// planes, and the walk over what a result takes of each. `write` gets what it returns, the number of one of these
/// planes, and that of the result.
#[inline(always)]
pub fn each<S: Simt, R: Copy, const P: usize, const BACKWARD: bool>(
    s: &S,
    call: &Pool,
    f: impl Fn(&Planes<P>, &Walk) -> R,
    write: impl Fn(R, usize, u64),
) {
    let index = s.block_x() as u64 * THREADS as u64 + s.thread_x() as u64;
    let (slot, number) = call.results.divide(index);
    let (rest, x) = call.axis[2].split.divide_small(number as u32);
    let (z, y) = call.axis[1].split.divide_small(rest);
    let take = |along: &Along, at: u32| if BACKWARD { along.windows(s, at) } else { along.elements(s, at) };
    let spans = [take(&call.axis[0], z), take(&call.axis[1], y), take(&call.axis[2], x)];
    let walk = Walk::new(call, number as u32, [z, y, x], spans);
    let mut first = slot * P as u64;
    while s.again(slot < call.share && first < call.planes) {
        let planes = Planes::of(call, first);
        let (found, mut k) = (f(&planes, &walk), 0);
        while k < P {
            if s.branch((k as u32) < planes.count) {
                write(found, k, (first + k as u64) * call.results.by + number);
            }
            k += 1;
        }
        first += call.share * P as u64;
    }
}

/// The walk over what a result takes of a plane.
#[derive(Clone, Copy)]
pub struct Walk {
    /// The result's number in its plane.
    pub number: u32,
    /// Its places along the axes.
    pub at: [u32; 3],
    /// Source elements.
    pub count: u32,
    /// What it takes of each axis.
    spans: [Span; 3],
    /// Bytes to the first, and its number in the plane.
    begin: (i64, u32),
    /// The same from one to the next: of a row, of rows, of layers.
    next: [(i64, u32); 3],
}

/// A source element, or the end of them.
#[derive(Clone, Copy)]
struct Cursor {
    by: i64,
    flat: u32,
    column: u32,
    row: u32,
}

impl Walk {
    #[inline(always)]
    fn new(call: &Pool, number: u32, at: [u32; 3], spans: [Span; 3]) -> Self {
        let [z, y, x] = spans;
        let (rows, columns) = (call.axis[1].sources, call.axis[2].sources);
        let [along_z, along_y, along_x] = [call.axis[0].step, call.axis[1].step, call.axis[2].step];
        let begin = (
            z.first as i64 * along_z + y.first as i64 * along_y + x.first as i64 * along_x,
            (z.first.wrapping_mul(rows).wrapping_add(y.first)).wrapping_mul(columns).wrapping_add(x.first),
        );
        // From the last of a row to the first of the next one.
        let right = (x.step as i64 * along_x, x.step);
        let back = (right.0 * (x.count as i64 - 1), right.1.wrapping_mul(x.count.wrapping_sub(1)));
        let down = (y.step as i64 * along_y, y.step.wrapping_mul(columns));
        let up = (down.0 * (y.count as i64 - 1), down.1.wrapping_mul(y.count.wrapping_sub(1)));
        let deep = (z.step as i64 * along_z, z.step.wrapping_mul(rows).wrapping_mul(columns));
        let next = [
            right,
            (down.0 - back.0, down.1.wrapping_sub(back.1)),
            (deep.0 - up.0 - back.0, deep.1.wrapping_sub(up.1).wrapping_sub(back.1)),
        ];
        Self { number, at, count: z.count * y.count * x.count, spans, begin, next }
    }

    #[inline(always)]
    fn first(&self) -> Cursor {
        Cursor { by: self.begin.0, flat: self.begin.1, column: 0, row: 0 }
    }

    /// The next one. Threads of a warp mostly come to the ends of rows together.
    #[inline(always)]
    fn after<S: Simt>(&self, s: &S, mut at: Cursor) -> Cursor {
        let [right, down, deep] = self.next;
        at.column += 1;
        if !s.branch(at.column == self.spans[2].count) {
            (at.by, at.flat) = (at.by + right.0, at.flat.wrapping_add(right.1));
            return at;
        }
        (at.column, at.row) = (0, at.row + 1);
        let step = if s.branch(at.row == self.spans[1].count) {
            at.row = 0;
            deep
        } else {
            down
        };
        (at.by, at.flat) = (at.by + step.0, at.flat.wrapping_add(step.1));
        at
    }

    /// Calls `f` with source elements in row-major order, a few at a time, and with how many there are before them.
    /// `read` gets bytes to an element from the first one of a plane, and its number in the plane. In the place of
    /// those that there are not is `nothing`.
    #[inline(always)]
    pub fn elements<S: Simt, T: Copy>(
        &self,
        s: &S,
        nothing: T,
        read: impl Fn(i64, u32) -> T,
        mut f: impl FnMut(u32, [T; AHEAD]),
    ) {
        let (mut at, mut done) = (self.first(), 0);
        while s.again(done < self.count) {
            let (mut some, mut i) = ([nothing; AHEAD], 0);
            while i < AHEAD {
                if s.branch(done + (i as u32) < self.count) {
                    some[i] = read(at.by, at.flat);
                    at = self.after(s, at);
                }
                i += 1;
            }
            f(done, some);
            done += AHEAD as u32;
        }
    }

    /// The trees over leaves of `P` planes, with `L` levels above those of 32 leaves.
    #[inline(always)]
    pub fn tree<S: Simt, F: Float, const P: usize, const L: usize>(
        &self,
        s: &S,
        leaf: impl Fn(i64, u32) -> [F; P],
    ) -> [F; P] {
        let mut stack = Stack::<F, P, L>::empty();
        // A leaf of -0.0 changes no sum: four leaves, some of which may be missing, are a node.
        self.elements(
            s,
            [F::NOTHING; P],
            leaf,
            #[inline(always)]
            |done, [a, b, c, d]| stack.push(s, done / AHEAD as u32, join(join(a, b), join(c, d))),
        );
        stack.close(s, self.count.div_ceil(AHEAD as u32))
    }
}
