//! Pooling: windows along an axis, and what each window of elements becomes.
//!
//! A window has the elements of an axis at `output * stride - padding + tap * dilation`, for each tap. Those outside of
//! the axis are padding, and no elements of the window. Of several axes, a window has the elements that are in the
//! window of each axis, in row-major order.

use crate::element::Element;
use crate::float::Float;
use crate::key::Key;

/// The windows along an axis. All numbers are of elements.
///
/// ```
/// use warpfold_core::pool::Window;
///
/// let window = Window { size: 3, stride: 2, padding: 1, dilation: 1, ceil_mode: false };
/// assert_eq!(window.outputs(7), Some(4));
/// assert_eq!((0..3).filter_map(|tap| window.input(0, tap, 7)).collect::<Vec<_>>(), [0, 1]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Taps, at least one.
    pub size: usize,
    /// From a window to the next, at least one.
    pub stride: usize,
    /// Before the first element and after the last, at most half of `size`.
    pub padding: usize,
    /// From a tap to the next, at least one.
    pub dilation: usize,
    /// Whether a last window may go beyond the padding, if it begins before the padding's end.
    pub ceil_mode: bool,
}

impl Default for Window {
    /// One element.
    fn default() -> Self {
        Self { size: 1, stride: 1, padding: 0, dilation: 1, ceil_mode: false }
    }
}

impl Window {
    /// Elements from the first tap to the last, both included. `None` if that is no number.
    pub fn extent(&self) -> Option<usize> {
        (self.size - 1).checked_mul(self.dilation)?.checked_add(1)
    }

    /// The number of windows of an axis of `len` elements; 0 if not even one fits. `None` if the places of windows are
    /// no numbers.
    pub fn outputs(&self, len: usize) -> Option<usize> {
        let (extent, padded) = (self.extent()?, self.padding.checked_mul(2)?.checked_add(len)?);
        let reach = padded.checked_add(extent)?.checked_add(self.stride)?;
        isize::try_from(reach).ok()?;
        let room = if self.ceil_mode { padded + (self.stride - 1) } else { padded };
        if room < extent {
            return Some(0);
        }
        let windows = (room - extent) / self.stride + 1;
        // The last window begins in the axis, or in the padding before it.
        let beyond = self.ceil_mode && (windows - 1) * self.stride >= len + self.padding;
        Some(windows - beyond as usize)
    }

    /// The element of a window at a tap, of an axis of `len` elements; `None` for padding. The window is one of
    /// [`Window::outputs`].
    pub fn input(&self, output: usize, tap: usize, len: usize) -> Option<usize> {
        (output * self.stride + tap * self.dilation).checked_sub(self.padding).filter(|&input| input < len)
    }

    /// The taps of a window that are elements or padding, of windows without dilation: a window of `ceil_mode` may go
    /// beyond both.
    pub fn padded(&self, output: usize, len: usize) -> usize {
        self.size.min(len + 2 * self.padding - output * self.stride)
    }
}

/// What the sum of a window is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Divisor {
    /// The number of its elements.
    Elements,
    /// The number of its elements and its padding.
    Padded,
    /// A number, which is not 0.
    Fixed(i64),
}

impl Divisor {
    /// The divisor of a window of so many elements, and of so many with its padding.
    #[inline(always)]
    pub fn of<F: Float>(self, elements: usize, padded: usize) -> F {
        match self {
            Self::Elements => F::from_count(elements as u64),
            Self::Padded => F::from_count(padded as u64),
            Self::Fixed(n) => {
                let magnitude = F::from_count(n.unsigned_abs());
                if n < 0 { F::ZERO.sub(magnitude) } else { magnitude }
            }
        }
    }
}

/// The key of an element, by which the greatest is found: that of `max`. The key of NaN is the greatest.
#[inline(always)]
pub fn rank<T: Element>(x: T) -> T::Key {
    // Both are computed, so that the compiler emits a select.
    let (nan, number) = (T::Key::MAX, x.key());
    if x.is_nan() { nan } else { number }
}

/// Whether the element of a key comes before the best one so far, which is before it in the window: by `>`, so that
/// zeros of either sign are equal. The keys are those of floats.
#[inline(always)]
pub fn beats<K: Key>(key: K, best: K) -> bool {
    // -0.0 has the key of all ones.
    key > best && !(key == K::ZERO && best == K::ONES)
}

/// The gradient of an element, from its node over the windows that hold it. A node of nothing, -0.0, becomes zero.
#[inline(always)]
pub fn gathered<F: Float>(node: F) -> F {
    node.add(F::ZERO)
}

/// The place of an element in the order of `top_k`: the greatest first, or the least first. NaN is greater than any
/// number, and zeros of either sign are equal. Elements of equal places stay in the order of their indices.
///
/// ```
/// use warpfold_core::pool::place;
///
/// assert!(place(f32::NAN, true) > place(f32::INFINITY, true) && place(0.0f32, true) == place(-0.0f32, true));
/// assert!(place(-1i8, false) > place(1i8, false));
/// ```
#[inline(always)]
pub fn place<T: Element>(x: T, largest: bool) -> T::Key {
    let (nan, number) = (T::Key::MAX, x.key_eq());
    let key = if x.is_nan() { nan } else { number };
    key ^ if largest { T::Key::ZERO } else { T::Key::ONES }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(size: usize, stride: usize, padding: usize, dilation: usize, ceil_mode: bool) -> Window {
        Window { size, stride, padding, dilation, ceil_mode }
    }

    #[test]
    fn windows_are_counted_as_torch_counts_them() {
        let cases = [
            (window(2, 2, 0, 1, false), 5, 2),
            (window(2, 2, 0, 1, true), 5, 3),
            (window(3, 2, 0, 1, true), 2, 1),
            (window(3, 2, 0, 1, false), 2, 0),
            (window(3, 1, 1, 3, false), 4, 0),
            (window(2, 3, 1, 1, true), 2, 1),
            (window(3, 5, 1, 1, true), 7, 2),
            (window(1, 1, 0, 1, false), 0, 0),
        ];
        for (window, len, outputs) in cases {
            assert_eq!(window.outputs(len), Some(outputs), "{window:?} {len}");
        }
    }

    #[test]
    fn places_that_are_no_numbers_are_found() {
        for window in [
            window(usize::MAX, 1, 0, usize::MAX, false),
            window(3, 1, usize::MAX / 2 + 1, 1, false),
            window(3, usize::MAX, 0, 1, true),
            window(isize::MAX as usize, 1, 0, 1, false),
        ] {
            assert_eq!(window.outputs(9), None, "{window:?}");
        }
    }

    /// By counting taps one by one.
    #[test]
    fn padded_counts_taps_within_the_padding() {
        for (size, stride, padding) in
            (1..6).flat_map(|n| (1..5).flat_map(move |s| (0..=n / 2).map(move |p| (n, s, p))))
        {
            for len in 1..9 {
                let window = window(size, stride, padding, 1, true);
                for output in 0..window.outputs(len).unwrap() {
                    let within = |tap: &usize| output * stride + tap < len + 2 * padding;
                    assert_eq!(window.padded(output, len), (0..size).filter(within).count(), "{window:?} {len}");
                }
            }
        }
    }

    #[test]
    fn zeros_are_equal_and_nan_is_the_greatest() {
        let beats = |x: f32, best: f32| beats(rank(x), rank(best));
        assert!(!beats(0.0, -0.0) && !beats(-0.0, 0.0) && beats(0.0, -1e-45) && beats(1e-45, -0.0));
        assert!(beats(f32::NAN, f32::INFINITY) && !beats(f32::NAN, f32::NAN) && !beats(f32::INFINITY, f32::NAN));
    }

    #[test]
    fn divisors() {
        assert_eq!(Divisor::Elements.of::<f32>(4, 9), 4.0);
        assert_eq!(Divisor::Padded.of::<f32>(4, 9), 9.0);
        assert_eq!(Divisor::Fixed(-3).of::<f64>(4, 9), -3.0);
    }
}
