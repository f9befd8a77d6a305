//! The arrays of a case.

use super::array::{Fill, Layout, Placed};
use super::case::{Case, Losses, What, Windows};
use warpfold::rows::{Loss, LossReduction};
use warpfold::{DType, pool};

/// The arrays of a case: what is computed from.
pub struct Given {
    pub x: Placed,
    /// The gradient of an operation on rows, the second array of a pair, or the indices of windows' greatest elements.
    pub second: Option<Placed>,
    pub mask: Option<Placed>,
    pub weight: Option<Placed>,
    pub bias: Option<Placed>,
    pub targets: Option<Placed>,
    /// The gradients of a result.
    pub scales: Option<Placed>,
    /// The statistics of channels.
    pub mean: Option<Placed>,
    pub variance: Option<Placed>,
}

/// A target that is no class, of rows that have no loss.
pub const IGNORED: i64 = -100;

impl Given {
    pub fn new(case: &Case) -> Given {
        let (seed, shape) = (case.number as u64 ^ 91 << 32, &case.shape[..]);
        let make = |which: u64, dtype: DType, shape: &[usize], layout: Layout, fill: Fill| {
            Placed::new(dtype, shape, layout, fill, seed ^ which << 40)
        };
        let spread = [0.3, 3.0, 40.0][case.number % 3];
        let numbers = if case.specials { Fill::Specials(spread) } else { Fill::Numbers(spread) };
        let [first, layout] = case.layouts;
        let plain = |fill: Fill| make(0, case.dtype, shape, first, fill);
        let second = |fill: Fill| Some(make(1, case.other, shape, layout, fill));
        let factor = |which: u64, is_there: bool, shape: &[usize]| {
            is_there.then(|| make(which, case.other, shape, Layout::Offset(case.number % 3), Fill::Numbers(2.0)))
        };
        let [row, batch] = [&[case.row()][..], case.batch()];
        let none = Given {
            x: plain(numbers),
            second: None,
            mask: None,
            weight: None,
            bias: None,
            targets: None,
            scales: None,
            mean: None,
            variance: None,
        };
        match case.what {
            What::Softmax { masked, .. } => {
                let mask = masked.then(|| make(2, DType::Bool, shape, layout, Fill::Mask));
                Given { mask, ..none }
            }
            What::SoftmaxBackward { log: false, .. } => {
                Given { x: plain(Fill::Shares), second: second(numbers), ..none }
            }
            What::SoftmaxBackward { .. } => Given { second: second(Fill::Numbers(1.0)), ..none },
            What::Norm(of) => Given { weight: factor(3, of.weight, row), bias: factor(4, of.bias, row), ..none },
            What::NormBackward(of) => {
                let (weight, bias) = (factor(3, of.weight, row), factor(4, of.bias, row));
                Given { second: second(Fill::Numbers(1.0)), weight, bias, ..none }
            }
            What::CrossEntropy { weighted, of } => {
                let classes = Fill::Classes(case.row() as i64, IGNORED);
                let targets = Some(make(5, DType::I64, batch, Layout::Dense, classes));
                Given {
                    targets,
                    weight: factor(3, weighted, row),
                    scales: factor(6, of == Losses::Scaled, batch),
                    ..none
                }
            }
            What::Dot | What::Cosine(_) => Given { second: second(numbers), ..none },
            What::DotBackward => Given { second: second(numbers), scales: factor(6, true, batch), ..none },
            What::Loss(loss, _) => Given { second: second(targets(loss, numbers)), ..none },
            What::LossBackward(loss, by) => {
                let of = if by == LossReduction::None { shape } else { batch };
                let scales = factor(6, case.number.is_multiple_of(4), of);
                Given { second: second(targets(loss, numbers)), scales, ..none }
            }
            What::Channels(of) => {
                let channels = &shape[1..2];
                Given {
                    second: of.backward.then(|| second(Fill::Numbers(1.0)).expect("it is made")),
                    weight: factor(3, of.weighted, channels),
                    bias: factor(4, of.weighted, channels),
                    mean: factor(5, of.given, channels),
                    variance: of.given.then(|| make(6, case.other, channels, Layout::Dense, Fill::Shares)),
                    ..none
                }
            }
            What::AvgPool(_) | What::MaxPool(..) | What::TopK { .. } => none,
            What::AvgPoolBackward(of) | What::MaxPoolBackward(of) => {
                let (results, indices) = greatest(of, &none.x);
                let x = make(1, case.dtype, &results, layout, Fill::Numbers(1.0));
                Given { x, second: matches!(case.what, What::MaxPoolBackward(_)).then_some(indices), ..none }
            }
        }
    }
}

/// What the second array of a loss holds: some losses are of probabilities.
fn targets(loss: Loss, numbers: Fill) -> Fill {
    match loss {
        Loss::KlDiv { log_target: false } | Loss::BceWithLogits => Fill::Shares,
        _ => numbers,
    }
}

/// The shape of the results of windows, and where the greatest elements of these are; of windows that do not fit
/// whatever is an array.
fn greatest(of: &Windows, x: &Placed) -> (Vec<usize>, Placed) {
    let indices = pool::max_pool(x.host(), &of.pool, true).ok().and_then(|found| found.indices);
    let shape = indices.as_ref().map_or(of.shape.to_vec(), |indices| indices.shape.clone());
    let any = || Placed::new(DType::I64, of.shape, Layout::Dense, Fill::Classes(1, 0), 0);
    (shape, indices.as_ref().map_or_else(any, Placed::of))
}
