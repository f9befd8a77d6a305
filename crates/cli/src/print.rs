//! Results for a person to read, laid out as NumPy does.

use std::io::{self, Write};

use warpfold::{Kind, Scalar, Values};

/// The number of elements above which arrays are abbreviated.
const THRESHOLD: usize = 1000;
/// The number of elements shown at each end of an abbreviated axis.
const EDGE: usize = 3;
/// The width of a line, unless a single element is longer.
const WIDTH: usize = 75;

/// The bit pattern of a scalar: `0x` and two digits per byte.
pub fn bits(x: Scalar) -> String {
    let (bits, digits) = x.bits();
    format!("0x{bits:0digits$x}")
}

/// One element as text.
pub fn element(x: Scalar, as_bits: bool) -> String {
    if as_bits { bits(x) } else { x.to_string() }
}

/// Prints an array with all digits that distinguish a value. (NumPy prints at most eight.)
pub fn array(to: &mut dyn Write, shape: &[usize], values: &Values, as_bits: bool) -> io::Result<()> {
    if values.is_empty() {
        return writeln!(to, "[]");
    }
    let mut page = Page { shape, short: values.len() > THRESHOLD, cells: Cells::new(values, as_bits) };
    page.measure(0, 0);
    let mut text = String::new();
    page.write(&mut text, 0, 0);
    writeln!(to, "{text}")
}

/// An array that is printed.
struct Page<'a> {
    shape: &'a [usize],
    short: bool,
    cells: Cells<'a>,
}

impl Page<'_> {
    /// The indices of an axis that are shown; `None` stands for those left out.
    fn shown(&self, axis: usize) -> impl Iterator<Item = Option<usize>> + use<> {
        let len = self.shape[axis];
        let gap = self.short && len > 2 * EDGE;
        let head = if gap { EDGE } else { len };
        let tail = if gap { len - EDGE } else { len };
        (0..head).map(Some).chain(gap.then_some(None)).chain((tail..len).map(Some))
    }

    /// Makes the cells as wide as the widest shown.
    fn measure(&mut self, axis: usize, at: usize) {
        if axis == self.shape.len() {
            return self.cells.measure(at);
        }
        for i in self.shown(axis).flatten() {
            self.measure(axis + 1, at * self.shape[axis] + i);
        }
    }

    /// Writes the subarray whose first `axis` indices are those of `at`.
    fn write(&self, text: &mut String, axis: usize, at: usize) {
        if axis == self.shape.len() {
            return text.push_str(&self.cells.show(at));
        }
        let inner = self.shape.len() - axis - 1;
        let indent = " ".repeat(axis + 1);
        let mut column = axis + 1;
        text.push('[');
        for (n, i) in self.shown(axis).enumerate() {
            let mut cell = String::new();
            match i {
                Some(i) => self.write(&mut cell, axis + 1, at * self.shape[axis] + i),
                None => cell.push_str("..."),
            }
            // One character per axis is reserved for its closing bracket.
            let wraps = inner == 0 && column + 1 + cell.len() + 1 + axis > WIDTH;
            match inner {
                _ if n == 0 => {}
                0 if !wraps => {
                    text.push(' ');
                    column += 1;
                }
                0 => {
                    text.truncate(text.trim_end_matches(' ').len());
                    text.push('\n');
                    text.push_str(&indent);
                    column = axis + 1;
                }
                _ => {
                    text.push_str(&"\n".repeat(inner));
                    text.push_str(&indent);
                }
            }
            column += cell.len();
            text.push_str(&cell);
        }
        text.push(']');
    }
}

/// Elements as text of one width: right-aligned, or at the decimal point.
struct Cells<'a> {
    values: &'a Values,
    as_bits: bool,
    point: bool,
    before: usize,
    after: usize,
    whole: usize,
}

impl<'a> Cells<'a> {
    fn new(values: &'a Values, as_bits: bool) -> Self {
        let point = !as_bits && values.dtype().kind() == Kind::Float;
        Self { values, as_bits, point, before: 0, after: 0, whole: 0 }
    }

    /// The text of an element, and, if it is a plain decimal, where its point is. `1` becomes `1.`.
    fn text(&self, at: usize) -> (String, Option<usize>) {
        let mut text = element(self.values.get(at), self.as_bits);
        if !self.point || !text.ends_with(|c: char| c.is_ascii_digit()) || text.contains('e') {
            return (text, None);
        }
        let point = text.find('.').unwrap_or_else(|| {
            text.push('.');
            text.len() - 1
        });
        (text, Some(point))
    }

    fn measure(&mut self, at: usize) {
        let (text, point) = self.text(at);
        self.whole = self.whole.max(text.len());
        if let Some(point) = point {
            self.before = self.before.max(point);
            self.after = self.after.max(text.len() - point);
        }
    }

    fn show(&self, at: usize) -> String {
        let (mut text, point) = self.text(at);
        if let Some(point) = point {
            text.extend(std::iter::repeat_n(' ', self.after - (text.len() - point)));
        }
        let width = self.whole.max(self.before + self.after);
        format!("{text:>width$}")
    }
}
