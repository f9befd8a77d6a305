//! Memory of floats that begins with a cache line: a wide vector that lies across two lines takes twice as long.

use std::marker::PhantomData;

use super::lines::RowFloat;

/// A cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// Floats, of which the first begins a cache line.
pub struct Aligned<F> {
    lines: Vec<Line>,
    of: PhantomData<F>,
}

impl<F: RowFloat> Aligned<F> {
    /// No memory yet.
    pub const fn new() -> Self {
        Self { lines: Vec::new(), of: PhantomData }
    }

    /// Room for `n` floats: those that were there, or zeros.
    pub fn room(&mut self, n: usize) -> &mut [F] {
        let lines = (n * size_of::<F>()).div_ceil(size_of::<Line>());
        if self.lines.len() < lines {
            self.lines.resize(lines, Line([0; 8]));
        }
        // SAFETY: the lines have room for `n` floats, which are `f32` or `f64`, and any bits are one.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), n) }
    }
}
