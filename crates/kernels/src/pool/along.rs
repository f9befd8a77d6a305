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
        /// Before the first element.
        pub padding: u32,
        /// Elements of the axis.
        pub inputs: u32,
        /// Windows of the axis.
        pub outputs: u32,
        /// Results along the axis: windows, or elements of a gradient.
        pub results: u32,
        /// Bytes from element to element of the source.
        pub step: i64,
        /// Divides by the results.
        pub split: Divisor,
        /// Divides by the stride.
        pub strides: Divisor,
        /// Divides by the dilation.
        pub dilation: Divisor,
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
    pub fn elements(&self, window: u32) -> Span {
        let step = self.dilation.by as u32;
        let (begin, end) = (window * self.stride, self.padding + self.inputs);
        // Taps before the axis, and those before its end.
        let before = self.padding.saturating_sub(begin);
        let from = self.dilation.divide_small(before + step - 1).0;
        let to = self.dilation.divide_small(end.saturating_sub(begin) + step - 1).0.min(self.size);
        Span { first: (begin + from * step).wrapping_sub(self.padding), count: to.saturating_sub(from), step }
    }

    /// The windows that may hold an element: with dilation, not all of them do ([`Along::holds`]).
    #[inline(always)]
    pub fn windows(&self, element: u32) -> Span {
        let at = element + self.padding;
        let reach = (self.size - 1) * self.dilation.by as u32;
        let from = self.strides.divide_small(at.saturating_sub(reach) + self.stride - 1).0;
        let to = (self.strides.divide_small(at).0 + 1).min(self.outputs);
        Span { first: from, count: to.saturating_sub(from), step: 1 }
    }

    /// Whether a window, one of [`Along::windows`], holds an element.
    #[inline(always)]
    pub fn holds<S: Simt>(&self, s: &S, window: u32, element: u32) -> bool {
        if !s.branch(self.dilation.by > 1) {
            return true;
        }
        let (_, rest) = self.dilation.divide_small(element + self.padding - window * self.stride);
        rest == 0
    }

    /// Elements and padding of a window without dilation.
    #[inline(always)]
    pub fn padded(&self, window: u32) -> u32 {
        self.size.min(self.inputs + 2 * self.padding - window * self.stride)
    }
}
