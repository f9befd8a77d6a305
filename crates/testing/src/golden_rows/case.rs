//! The list.

use std::fmt;

use super::array::Layout;
use crate::golden::random;
use crate::rows::FLOATS;
use warpfold::DType;
use warpfold::pool::Pool;
use warpfold::rows::{Loss, LossReduction};

/// An operation and its options.
#[derive(Clone, Copy, Debug)]
pub enum What {
    Softmax {
        log: bool,
        scale: f64,
        masked: bool,
    },
    SoftmaxBackward {
        log: bool,
        scale: f64,
    },
    Norm(Norm),
    NormBackward(Norm),
    CrossEntropy {
        weighted: bool,
        of: Losses,
    },
    Loss(Loss, LossReduction),
    LossBackward(Loss, LossReduction),
    Dot,
    DotBackward,
    Cosine(f64),
    AvgPool(&'static Windows),
    AvgPoolBackward(&'static Windows),
    MaxPool(&'static Windows, bool),
    MaxPoolBackward(&'static Windows),
    /// So many, or all that a row has.
    TopK {
        k: usize,
        largest: bool,
    },
    /// Of all channels, if there are no groups.
    Channels(Channels),
}

/// A norm of channels.
#[derive(Clone, Copy, Debug)]
pub struct Channels {
    /// How many groups, if channels are in groups.
    pub groups: Option<usize>,
    /// Whether its gradients are computed.
    pub backward: bool,
    /// Whether there are weights and biases.
    pub weighted: bool,
    /// Whether statistics are given.
    pub given: bool,
}

/// A norm's options.
#[derive(Clone, Copy, Debug)]
pub struct Norm {
    pub layer: bool,
    pub weight: bool,
    pub bias: bool,
    pub offset: f64,
    pub epsilon: f64,
}

/// What of cross-entropy is computed, and from what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Losses {
    /// Losses alone.
    Alone,
    /// The gradient, too, whose losses have the gradient 1.
    Plain,
    /// The gradient, of a gradient of each loss.
    Scaled,
    /// The gradient, of a second call that has what the first one noted.
    Noted,
}

/// The shape of an array, and windows on its last axes.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    pub shape: &'static [usize],
    pub pool: Pool<'static>,
}

/// Rows of an array, and their length: short ones, those that a block's registers hold, and those that they do not.
const SIZES: [[usize; 2]; 12] = [
    [65, 7],
    [17, 33],
    [300, 33],
    [12, 128],
    [70, 128],
    [5, 1025],
    [4, 1536],
    [3, 2880],
    [2, 4096],
    [2, 8192],
    [2, 8193],
    [3, 9000],
];

const fn windows(
    shape: &'static [usize],
    [kernel_size, stride, padding, dilation]: [&'static [usize]; 4],
    ceil_mode: bool,
) -> Windows {
    // So that padding counts in some, and not in others; and one number divides in place of counts.
    let (count_include_pad, threads) = (!ceil_mode, None);
    let divisor_override = if shape.len() == 5 { Some(-3) } else { None };
    let pool = Pool { kernel_size, stride, padding, dilation, ceil_mode, count_include_pad, divisor_override, threads };
    Windows { shape, pool }
}

/// The last but one are larger than the array, which is an error; the last have all of it.
static WINDOWS: [Windows; 14] = [
    windows(&[5, 40], [&[3], &[2], &[1], &[]], false),
    windows(&[3, 2, 101], [&[4], &[], &[], &[]], true),
    windows(&[4, 700], [&[600], &[50], &[], &[]], false),
    windows(&[3, 65], [&[3], &[1], &[1], &[4]], false),
    windows(&[2, 3, 16, 16], [&[2, 2], &[], &[], &[]], false),
    windows(&[2, 3, 23, 31], [&[3, 3], &[2, 2], &[1, 1], &[]], false),
    windows(&[1, 4, 17, 29], [&[3, 2], &[2, 3], &[1, 1], &[]], true),
    windows(&[2, 21, 30], [&[3, 3], &[1, 2], &[1, 0], &[2, 3]], true),
    windows(&[2, 2, 28, 33], [&[7, 5], &[1, 1], &[3, 2], &[]], false),
    windows(&[2, 6, 8, 10], [&[2, 2, 2], &[], &[], &[]], false),
    windows(&[2, 2, 5, 9, 13], [&[3, 3, 3], &[2, 2, 2], &[1, 1, 1], &[]], true),
    windows(&[1, 7, 8, 9], [&[2, 3, 2], &[1, 2, 1], &[0, 1, 1], &[2, 1, 3]], false),
    windows(&[3, 5, 6], [&[7, 3], &[], &[], &[]], false),
    windows(&[6, 12, 10], [&[12, 10], &[], &[], &[]], false),
];

/// An operation with its arrays' dtypes, shape and layouts, without their data.
#[derive(Clone)]
pub struct Case {
    pub number: usize,
    pub what: What,
    pub dtype: DType,
    /// Of a second array: a gradient, targets, or weights.
    pub other: DType,
    pub shape: Vec<usize>,
    /// Axes of a row; none: all.
    pub axes: Option<&'static [isize]>,
    pub layouts: [Layout; 2],
    pub specials: bool,
}

/// Operations on rows, in variants.
fn of_rows() -> Vec<What> {
    let mut all = Vec::new();
    for log in [false, true] {
        for (scale, masked) in [(1.0, false), (0.37, false), (1.0, true)] {
            all.push(What::Softmax { log, scale, masked });
        }
        all.extend([1.0, -2.0].map(|scale| What::SoftmaxBackward { log, scale }));
    }
    for layer in [false, true] {
        let norm = |weight, bias, offset, epsilon| Norm { layer, weight, bias, offset, epsilon };
        let of = [norm(false, false, 0.0, 1e-5), norm(true, false, 1.0, 1e-6), norm(true, true, 0.0, 1e-3)];
        all.extend(of.map(What::Norm));
        all.extend(of.map(What::NormBackward));
    }
    let losses = [(false, Losses::Alone), (false, Losses::Plain), (true, Losses::Scaled), (true, Losses::Noted)];
    all.extend(losses.map(|(weighted, of)| What::CrossEntropy { weighted, of }));
    all
}

/// Operations on two arrays, in variants.
fn of_pairs() -> Vec<What> {
    let losses = [
        Loss::Mse,
        Loss::L1,
        Loss::Huber { delta: 0.3 },
        Loss::KlDiv { log_target: false },
        Loss::KlDiv { log_target: true },
        Loss::BceWithLogits,
    ];
    let mut all = vec![What::Dot, What::DotBackward, What::Cosine(1e-8), What::Cosine(3.0)];
    for loss in losses {
        for by in [LossReduction::None, LossReduction::Mean, LossReduction::Sum] {
            all.extend([What::Loss(loss, by), What::LossBackward(loss, by)]);
        }
    }
    all
}

/// All of them.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (variant, what) in of_rows().into_iter().enumerate() {
        for (d, dtype) in FLOATS.into_iter().enumerate() {
            // Half of the lengths; the next variant and the next dtype have the others.
            for size in SIZES.iter().skip((variant + d) % 2).step_by(2) {
                cases.push(Case::new(cases.len(), what, dtype, size, &[-1]));
            }
        }
    }
    for (variant, what) in of_pairs().into_iter().enumerate() {
        for (d, dtype) in FLOATS.into_iter().enumerate() {
            for size in SIZES.iter().skip((variant + d) % 6).step_by(6) {
                cases.push(Case::new(cases.len(), what, dtype, size, &[-1]));
            }
        }
    }
    for of in &WINDOWS {
        for dtype in FLOATS {
            let is_dilated = !of.pool.dilation.is_empty();
            let means = [What::AvgPool(of), What::AvgPoolBackward(of)];
            let indices = cases.len().is_multiple_of(3);
            let greatest = [What::MaxPool(of, !indices), What::MaxPoolBackward(of)];
            for what in means.into_iter().filter(|_| !is_dilated).chain(greatest) {
                cases.push(Case::new(cases.len(), what, dtype, of.shape, &[]));
            }
        }
    }
    for (variant, (k, largest)) in CHOSEN.into_iter().enumerate() {
        for (d, dtype) in FLOATS.into_iter().enumerate() {
            for size in SIZES.iter().skip((variant + d) % 3).step_by(3) {
                cases.push(Case::new(cases.len(), What::TopK { k, largest }, dtype, size, &[-1]));
            }
        }
    }
    for (n, shape) in CHANNELS.into_iter().enumerate() {
        for (d, dtype) in FLOATS.into_iter().enumerate() {
            let (weighted, groups) = ((n + d) % 3 > 0, [1, 2, 3, 6][(n + d) % 4]);
            let of = |groups, backward, given| Channels { groups, backward, weighted, given };
            let all = [of(Some(groups), false, false), of(Some(groups), true, false), of(None, false, false)];
            for of in all.into_iter().chain([of(None, true, false), of(None, d % 2 == 0, true)]) {
                cases.push(Case::new(cases.len(), What::Channels(of), dtype, shape, &[]));
            }
        }
    }
    cases
}

/// Samples, channels, and what is left: short runs, whole packs, and channels side by side.
const CHANNELS: [&[usize]; 6] = [&[3, 12, 7], &[5, 6, 4, 8], &[2, 18, 49], &[70, 24], &[4, 6, 512], &[9, 30, 1]];

/// How many elements of rows are chosen, and whether these are the greatest.
const CHOSEN: [(usize, bool); 4] = [(1, true), (7, false), (100, true), (1500, true)];

impl Case {
    fn new(number: usize, what: What, dtype: DType, size: &[usize], axes: &'static [isize]) -> Case {
        let mut seed = number as u64;
        let mut pick = |n: u64| (random(&mut seed) % n) as usize;
        let mut layout = || match pick(6) {
            0 => Layout::Offset(1 + pick(7)),
            1 => Layout::Pitch(1 + pick(9)),
            2 => Layout::Pitch(16),
            _ => Layout::Dense,
        };
        let layouts = [layout(), layout()];
        let (specials, other, turn) = (pick(3) == 0, pick(20), pick(6));
        let other = FLOATS.get(other).copied().unwrap_or(dtype);
        let (mut shape, mut axes) = (size.to_vec(), Some(axes));
        // Rows down the array, of which neighbours lie side by side; and of two arrays all that they have.
        if turn == 0 && axes == Some(&[-1]) {
            (shape, axes) = (vec![size[1], size[0]], Some(&[0][..]));
        } else if turn < 3 && matches!(what, What::Loss(..) | What::LossBackward(..) | What::Dot | What::DotBackward) {
            axes = None;
        }
        Case { number, what, dtype, other, shape, axes, layouts, specials }
    }

    /// Elements of its array.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// The shape of what has an element for each row.
    pub fn batch(&self) -> &[usize] {
        match self.axes {
            Some([-1]) => &self.shape[..1],
            Some([0]) => &self.shape[1..],
            _ => &[],
        }
    }

    /// The length of a row.
    pub fn row(&self) -> usize {
        self.len() / self.batch().iter().product::<usize>().max(1)
    }
}

/// An operation's name, and what it is given.
impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let log = |log: &bool| if *log { "log_" } else { "" };
        let layer = |of: &Norm| if of.layer { "layer" } else { "rms" };
        match self {
            What::Softmax { log: of, scale, masked } => {
                write!(f, "{}softmax scale {scale}{}", log(of), if *masked { " masked" } else { "" })
            }
            What::SoftmaxBackward { log: of, scale } => write!(f, "{}softmax_backward scale {scale}", log(of)),
            What::Norm(of) => write!(f, "{}_norm {of}", layer(of)),
            What::NormBackward(of) => write!(f, "{}_norm_backward {of}", layer(of)),
            What::CrossEntropy { weighted, of } => {
                write!(f, "cross_entropy {of:?}{}", if *weighted { " weighted" } else { "" })
            }
            What::Loss(loss, by) => write!(f, "loss {loss:?} {by:?}"),
            What::LossBackward(loss, by) => write!(f, "loss_backward {loss:?} {by:?}"),
            What::Dot => f.write_str("dot"),
            What::DotBackward => f.write_str("dot_backward"),
            What::Cosine(epsilon) => write!(f, "cosine_similarity {epsilon}"),
            What::AvgPool(of) => write!(f, "avg_pool {of}"),
            What::AvgPoolBackward(of) => write!(f, "avg_pool_backward {of}"),
            What::MaxPool(of, indices) => write!(f, "max_pool {of}{}", if *indices { " indices" } else { "" }),
            What::MaxPoolBackward(of) => write!(f, "max_pool_backward {of}"),
            What::TopK { k, largest } => write!(f, "top_k {k}{}", if *largest { "" } else { " least" }),
            What::Channels(Channels { groups, backward, weighted, given }) => {
                match groups {
                    Some(groups) => write!(f, "group_norm of {groups}")?,
                    None => f.write_str("batch_norm")?,
                }
                for (is, what) in [(backward, " backward"), (weighted, " weight bias"), (given, " given")] {
                    f.write_str(if *is { what } else { "" })?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Norm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Norm { weight, bias, offset, epsilon, .. } = self;
        write!(f, "epsilon {epsilon}")?;
        if *weight {
            write!(f, " weight + {offset}")?;
        }
        f.write_str(if *bias { " bias" } else { "" })
    }
}

impl fmt::Display for Windows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pool { kernel_size, stride, padding, dilation, ceil_mode, .. } = self.pool;
        write!(f, "{kernel_size:?}")?;
        for (name, numbers) in [("stride", stride), ("padding", padding), ("dilation", dilation)] {
            if !numbers.is_empty() {
                write!(f, " {name} {numbers:?}")?;
            }
        }
        f.write_str(if ceil_mode { " ceil" } else { "" })
    }
}

/// Its number, and all that decides about its result.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case { number, what, dtype, other, shape, axes, layouts, specials } = self;
        write!(f, "{number} {what} {dtype}")?;
        if other != dtype {
            write!(f, " {other}")?;
        }
        write!(f, " {shape:?}")?;
        if matches!(axes, None | Some([0])) {
            write!(f, " {}", if axes.is_some() { "down" } else { "all" })?;
        }
        if *layouts != [Layout::Dense; 2] {
            write!(f, " {:?} {:?}", layouts[0], layouts[1])?;
        }
        f.write_str(if *specials { " specials" } else { "" })
    }
}
