//! Layouts of arrays in memory.

use std::fmt;
use std::str::FromStr;

/// The greatest rank of an array with [`Layout::Order`].
const MOST_AXES: usize = 8;

/// The layout of the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Densely, the last axis contiguous.
    C,
    /// Densely, the first axis contiguous.
    F,
    /// Densely, with the axes in another order: a transposed array.
    Order(Order),
    /// As C, but this number of elements behind an aligned address.
    Offset(usize),
    /// As C, but with rows (the last axis) this number of elements apart.
    Pitch(usize),
    /// As C, but with all elements this number of elements apart.
    Step(usize),
}

/// The axes of an array, from the outermost in memory to the innermost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    axes: [u8; MOST_AXES],
    rank: usize,
}

impl Order {
    /// Each of the axes from 0 to one less than their number, once; there are at most eight.
    pub fn new(axes: &[usize]) -> Option<Order> {
        let mut order = Order { axes: [0; MOST_AXES], rank: axes.len() };
        let is_whole = axes.len() <= MOST_AXES && (0..axes.len()).all(|axis| axes.contains(&axis));
        axes.iter().zip(&mut order.axes).for_each(|(&axis, to)| *to = axis as u8);
        is_whole.then_some(order)
    }

    /// From the outermost to the innermost.
    pub fn axes(&self) -> impl DoubleEndedIterator<Item = usize> {
        let Order { axes, rank } = *self;
        (0..rank).map(move |i| usize::from(axes[i]))
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.rank
    }
}

impl FromStr for Layout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |n: &str| n.parse().map_err(|_| format!("`{n}` in layout `{text}` is not a number of elements"));
        let order = |list: &str| {
            let axes: Option<Vec<usize>> = list.split(',').map(|axis| axis.parse().ok()).collect();
            let order = axes.and_then(|axes| Order::new(&axes));
            order.ok_or_else(|| format!("`{list}` in layout `{text}` does not name each axis once: give e.g. 1,0"))
        };
        match text.split_once(':') {
            None if text == "c" => Ok(Layout::C),
            None if text == "f" => Ok(Layout::F),
            Some(("order", list)) => order(list).map(Layout::Order),
            Some(("offset", n)) => number(n).map(Layout::Offset),
            Some(("pitch", n)) => number(n).map(Layout::Pitch),
            Some(("step", n)) => number(n).map(Layout::Step),
            _ => Err(format!(
                "unknown layout `{text}`: give c, f, order:AXES, offset:N, pitch:N or step:N (in elements)"
            )),
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layout::C => f.write_str("c"),
            Layout::F => f.write_str("f"),
            Layout::Order(order) => {
                let axes: Vec<String> = order.axes().map(|axis| axis.to_string()).collect();
                write!(f, "order:{}", axes.join(","))
            }
            Layout::Offset(n) => write!(f, "offset:{n}"),
            Layout::Pitch(n) => write!(f, "pitch:{n}"),
            Layout::Step(n) => write!(f, "step:{n}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_is_read_as_it_is_shown() {
        for text in ["c", "f", "order:2,0,1", "offset:3", "pitch:40", "step:2"] {
            assert_eq!(text.parse::<Layout>().map(|layout| layout.to_string()), Ok(text.into()));
        }
        for wrong in ["order:0,0", "order:1,2", "order:", "order:0,1,2,3,4,5,6,7,8", "step:x", "d"] {
            assert!(wrong.parse::<Layout>().is_err(), "{wrong}");
        }
    }
}
