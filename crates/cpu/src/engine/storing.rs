//! How outputs reach their places: as they are, converted, or by a function that knows their places.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::Ordering;

use super::lane::Lane;
use super::{Storing, Work};
use crate::loops::{Node, Value};
use crate::moves::{by_size, copy, stream, streamed};
use crate::output::Output;
use crate::policy::{LEAST_AT_ONCE, LEAST_STREAMED};
use crate::transpose::LINE_BYTES;

impl Work<'_> {
    /// Writes the results of `n` nodes, each of `count` elements, to neighbouring outputs.
    ///
    /// # Safety
    /// `n` nodes of this kernel are readable; no other task writes the places.
    pub(super) unsafe fn finish(&self, out: &Output<Value>, at: isize, nodes: *const Node, n: usize, count: usize) {
        // SAFETY: the caller vouches for the nodes and the places.
        unsafe { self.store(n, out, at + self.problem.out_offset, &self.results_of(nodes, count)) }
    }

    /// What writes the results of nodes, each of `count` elements, to an address.
    fn results_of(&self, nodes: *const Node, count: usize) -> impl Fn(*mut Value, Range<usize>) {
        move |to, some: Range<usize>| {
            let nodes = nodes.wrapping_byte_add(some.start * self.facts.node);
            // SAFETY: who stores the results vouches for the nodes, and `store` has room for the results.
            unsafe { self.kernel.finish(nodes, some.len(), count as u64, to) };
        }
    }

    /// Writes the results of `n` nodes, each of `count` elements, to the outputs along a lane from number `first` on.
    /// `at` is the place of the lane's first output.
    ///
    /// # Safety
    /// `n` nodes of this kernel are readable; no other task writes the places.
    #[expect(clippy::too_many_arguments, reason = "a part of a lane, and its nodes")]
    pub(super) unsafe fn finish_along(
        &self,
        out: &Output<Value>,
        at: isize,
        lane: &Lane,
        first: usize,
        nodes: *const Node,
        n: usize,
        count: usize,
    ) {
        // SAFETY: the caller vouches for the nodes and the places.
        unsafe { self.store_along(out, at, lane, first, n, &self.results_of(nodes, count)) }
    }

    /// Writes `n` outputs, which `write` writes, to places along a lane, as [`Work::finish_along`] does.
    ///
    /// # Safety
    /// As of [`Work::store`].
    pub(super) unsafe fn store_along(
        &self,
        out: &Output<Value>,
        at: isize,
        lane: &Lane,
        first: usize,
        n: usize,
        write: &dyn Fn(*mut Value, Range<usize>),
    ) {
        // SAFETY: the caller vouches for the outputs and the places.
        unsafe {
            match lane.step() {
                Some(1) => self.store(n, out, at + first as isize + self.problem.out_offset, write),
                Some(step) => self.store_at(out, &steps(at + first as isize * step, step), n, write),
                None => {
                    let places = |from: usize, places: &mut [isize]| {
                        lane.places(first + from, places);
                        places.iter_mut().for_each(|place| *place += at);
                    };
                    self.store_at(out, &places, n, write);
                }
            }
        }
    }

    /// Writes the results of `n` nodes, each of `count` elements, to outputs that are `step` places apart.
    ///
    /// # Safety
    /// `n` nodes of this kernel are readable; no other task writes the places.
    pub(super) unsafe fn finish_apart(
        &self,
        out: &Output<Value>,
        at: isize,
        step: isize,
        nodes: *const Node,
        n: usize,
        count: usize,
    ) {
        let write = &self.results_of(nodes, count);
        // SAFETY: the caller vouches for the nodes and the places.
        unsafe {
            match step {
                1 => self.store(n, out, at + self.problem.out_offset, write),
                _ => self.store_at(out, &steps(at, step), n, write),
            }
        }
    }

    /// Writes `n` outputs, which `write` writes, to the places that `places` gives from a number of an output on.
    ///
    /// # Safety
    /// As of [`Work::store`].
    unsafe fn store_at(
        &self,
        out: &Output<Value>,
        places: &dyn Fn(usize, &mut [isize]),
        n: usize,
        write: &dyn Fn(*mut Value, Range<usize>),
    ) {
        let (mut room, mut to) = (SomeValues::new(), [0; MOST_APART]);
        if let Some(Storing::Apart(scatter)) = self.storing {
            let some = (SomeValues::BYTES / self.facts.value).min(MOST_APART);
            for first in (0..n).step_by(some) {
                let (some, values) = (some.min(n - first), room.first());
                write(values, first..first + some);
                places(first, &mut to[..some]);
                for (i, &place) in to[..some].iter().enumerate() {
                    scatter(values.wrapping_byte_add(i * self.facts.value), 1, self.number(out, place));
                }
            }
            return;
        }
        let (some, size) = ((SomeValues::BYTES / out.size()).min(MOST_APART), out.size());
        for first in (0..n).step_by(some) {
            let some = some.min(n - first);
            let values = room.first();
            places(first, &mut to[..some]);
            let to = |i: usize| out.at(self.problem.out_offset + to[i], 1);
            let places = Output::at_address(values, some, size);
            // SAFETY: the caller vouches for the outputs and the places; `room` has space for `some` results, which are
            // written before they are copied.
            unsafe {
                self.store(some, &places, 0, &|to, part| write(to, first + part.start..first + part.end));
                by_size!(size, T => for i in 0..some {
                    to(i).cast::<T>().write_unaligned(values.cast::<T>().add(i).read_unaligned());
                }, else for i in 0..some {
                    copy(values.byte_add(i * size), to(i), size);
                });
            }
        }
    }

    /// The number of an output, which is in bounds.
    fn number(&self, out: &Output<Value>, place: isize) -> usize {
        let number = self.problem.out_offset + place;
        out.at(number, 1);
        number as usize
    }

    /// Writes `n` outputs, which `write` writes, to the places from number `at` on. `write` is given an address and
    /// which of the outputs to write there.
    ///
    /// # Safety
    /// `write` writes the outputs; no other task writes the places.
    pub(super) unsafe fn store(
        &self,
        n: usize,
        out: &Output<Value>,
        at: isize,
        write: &dyn Fn(*mut Value, Range<usize>),
    ) {
        let (to, bytes) = (out.at(at, n), out.size());
        let is_large = out.len().saturating_mul(bytes) >= LEAST_STREAMED && bytes <= LINE_BYTES;
        let streams = self.numbers && is_large && n * bytes >= LEAST_AT_ONCE;
        if self.storing.is_none() && !streams {
            return write(to, 0..n);
        }
        let (mut room, mut ready) = (SomeValues::new(), SomeValues::new());
        let some = SomeValues::BYTES / self.facts.value.max(bytes).max(1);
        for first in (0..n).step_by(some) {
            let (end, to) = (n.min(first + some), to.wrapping_byte_add(first * bytes));
            write(room.first(), first..end);
            let from = match self.storing {
                None => room.first(),
                Some(Storing::By { convert, hole }) => {
                    let to = if streams { ready.first() } else { to };
                    // SAFETY: the outputs have just been written, and there is room for their elements, here or where
                    // `at` has checked that all places are in bounds.
                    if unsafe { convert(room.first(), end - first, to) }.is_err() {
                        hole.store(true, Ordering::Relaxed);
                    }
                    to
                }
                Some(Storing::Apart(scatter)) => {
                    scatter(room.first(), end - first, at as usize + first);
                    continue;
                }
            };
            if streams {
                // SAFETY: the elements have just been written, and their places are in bounds.
                unsafe { stream(from.cast_const().cast(), to.cast(), (end - first) * bytes) };
            }
        }
        if streams {
            streamed();
        }
    }
}

/// Places that are `step` apart.
fn steps(at: isize, step: isize) -> impl Fn(usize, &mut [isize]) {
    move |from, places| {
        for (i, place) in places.iter_mut().enumerate() {
            *place = at + (from + i) as isize * step;
        }
    }
}

/// The most outputs whose places are found at a time.
const MOST_APART: usize = 512;

/// Room for some outputs, on the stack.
#[repr(C, align(64))]
struct SomeValues([MaybeUninit<u8>; SomeValues::BYTES]);

impl SomeValues {
    const BYTES: usize = 1 << 14;

    fn new() -> Self {
        Self([MaybeUninit::uninit(); Self::BYTES])
    }

    fn first(&mut self) -> *mut Value {
        self.0.as_mut_ptr().cast()
    }
}
