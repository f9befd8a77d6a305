//! What a window takes of an axis, and an element of the windows along it.

use crate::params::params;
use crate::reduce::shape::map::Divisor;
use warpfold_simt::Simt;

params! {
    #[derive(Default)]
    /// Windows along an axis: as [`warpfold_core::pool::Window`]. All numbers are below 2^30.
    pub struct Along {
        /// Taps of a window.
        pub size: u32,
        /// From a window to the next.
        pub stride: u32,
        /// From a tap to the next.
        pub dilation: u32,
        /// Before the first element.
        pub padding: u32,
        /// Elements of the axis.
        pub inputs: u32,
        /// Windows of the axis.
        pub outputs: u32,
        /// The source's elements along the axis: elements, or windows of a gradient.
        pub sources: u32,
        /// Windows that hold an element are so many apart.
        pub apart: u32,
        /// The inverse of the stride over `common`, modulo `apart`.
        pub inverse: u32,
        /// The greatest common divisor of stride and dilation.
        pub common: u32,
        /// Bytes from element to element of the source.
        pub step: i64,
        /// Divides by the results along the axis.
        pub split: Divisor,
        /// Divides by the stride.
        pub strides: Divisor,
        /// Divides by the dilation.
        pub dilations: Divisor,
        /// Divides by `common`.
        pub commons: Divisor,
        /// Divides by `apart`.
        pub aparts: Divisor,
    }
}

/// Numbers some steps apart: of elements, or of windows.
#[derive(Clone, Copy)]
pub struct Span {
    /// The first.
    pub first: u32,
    /// How many.
    pub count: u32,
    /// From one to the next.
    pub step: u32,
}

impl Along {
    /// The elements of a window.
    #[inline(always)]
    pub fn elements<S: Simt>(&self, s: &S, window: u32) -> Span {
        let (step, begin, end) = (self.dilation, window * self.stride, self.padding + self.inputs);
        // Taps before the axis, and those before its end.
        let (before, room) = (self.padding.saturating_sub(begin), end.saturating_sub(begin));
        let (from, to) = if s.branch(step > 1) {
            let over = |n: u32| self.dilations.divide_small(n + step - 1).0;
            (over(before), over(room))
        } else {
            (before, room)
        };
        let first = (begin + from * step).wrapping_sub(self.padding);
        Span { first, count: to.min(self.size).saturating_sub(from), step }
    }

    /// The windows that hold an element.
    #[inline(always)]
    pub fn windows<S: Simt>(&self, s: &S, element: u32) -> Span {
        let at = element + self.padding;
        let reach = (self.size - 1) * self.dilation;
        let (mut from, mut to) = (at.saturating_sub(reach), at + 1);
        if s.branch(self.stride > 1) {
            from = self.strides.divide_small(from + self.stride - 1).0;
            to = self.strides.divide_small(at).0 + 1;
        }
        let to = to.min(self.outputs);
        if !s.branch(self.dilation > 1) {
            return Span { first: from, count: to.saturating_sub(from), step: 1 };
        }
        // Windows o with at - o * stride a multiple of the dilation.
        let (part, rest) = self.commons.divide_small(at);
        let (_, part) = self.aparts.divide_small(part);
        let (_, first) = self.aparts.divide((part as u64) * (self.inverse as u64));
        let (_, from_rest) = self.aparts.divide_small(from);
        let ahead = first as u32 + self.apart - from_rest;
        let from = from + if ahead >= self.apart { ahead - self.apart } else { ahead };
        let room = to.saturating_sub(from) + self.apart - 1;
        let count = self.aparts.divide_small(room).0;
        Span { first: from, count: if rest == 0 { count } else { 0 }, step: self.apart }
    }

    /// Elements and padding of a window without dilation.
    #[inline(always)]
    pub fn padded(&self, window: u32) -> u32 {
        self.size.min(self.inputs + 2 * self.padding - window * self.stride)
    }
}
