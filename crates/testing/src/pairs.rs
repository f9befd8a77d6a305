//! Random operations on two arrays on a GPU, or in the emulator, beside the CPU's. The function is a
//! [`crate::rows::Test`].

use crate::reference::{Random, Strided};
use crate::rows::{FLOATS, Size, There, differs, floats, problem};
use warpfold::cuda::{Stream, rows as gpu};
use warpfold::rows::{self as cpu, Loss, LossReduction};
use warpfold::{DType, Values};

/// What is tested.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// A loss.
    Loss(Loss, LossReduction),
    /// The dot product.
    Dot,
    /// The cosine, and its least norm.
    Cosine(f64),
}

/// Any of them.
pub fn what(r: &mut Random) -> What {
    let reduction = [LossReduction::None, LossReduction::Mean, LossReduction::Sum][r.below(3)];
    let losses = [
        Loss::Mse,
        Loss::L1,
        Loss::Huber { delta: [0.3, 1.0, 25.0, f64::INFINITY][r.below(4)] },
        Loss::KlDiv { log_target: false },
        Loss::KlDiv { log_target: true },
        Loss::BceWithLogits,
    ];
    match r.below(8) {
        0 => What::Dot,
        1 => What::Cosine([1e-8, 0.0, 3.0][r.below(3)]),
        i => What::Loss(losses[i - 2], reduction),
    }
}

/// Targets: anything, or probabilities, of which some are 0 and 1.
fn targets(r: &mut Random, dtype: DType, shape: &[usize]) -> Strided {
    if r.chance(50) {
        return floats(r, dtype, shape);
    }
    Strided::new(r, dtype, shape, |r| {
        let share = [0.0, 1.0, r.below(1000) as f64 / 1000.0, r.below(10) as f64 * 1e-30, r.below(10) as f64 * 1e-40]
            [r.below(5)];
        Values::F64(vec![share]).cast(dtype).get(0)
    })
}

/// A shape and axes: those of rows, or any, with zeros and ones among the lengths.
fn shaped(r: &mut Random, dtype: DType, size: Size) -> (Vec<usize>, Option<Vec<isize>>) {
    if r.chance(50) {
        let (shape, axes) = problem(r, dtype, size);
        return (shape, if r.chance(30) { None } else { Some(axes) });
    }
    let mut room = size.elements;
    let shape: Vec<usize> = (0..r.below(6))
        .map(|_| {
            let most = [2, 5, 17, 300][r.below(4)].min(room.max(1));
            let len = if r.chance(3) { 0 } else { 1 + r.below(most) };
            room /= len.max(1);
            len
        })
        .collect();
    let axes = (0..shape.len() as isize).filter(|_| r.chance(50)).collect();
    (shape, Some(axes))
}

/// Losses, dot products, cosines, and gradients of the former two.
pub fn pairs(r: &mut Random, dtype: DType, size: Size, stream: &Stream) -> Option<String> {
    let ((shape, axes), what) = (shaped(r, dtype, size), what(r));
    let other = if r.chance(70) { dtype } else { FLOATS[r.below(4)] };
    let (x, y) = (floats(r, dtype, &shape), targets(r, other, &shape));
    let [of_x, of_y] = [&x, &y].map(|array| There::new(stream, array));
    let about = |op: &str, why: String| {
        Some(format!("{op} {what:?} {shape:?} {axes:?} {other} {:?} {:?}: {why}", x.strides, y.strides))
    };
    let host = cpu::Pairs { axes: axes.as_deref(), ..cpu::Pairs::default() };
    // A gradient does not count yet.
    let there = gpu::Pairs { axes: axes.as_deref(), gradient: r.chance(30).then(|| of_y.view()) };
    let (a, b, p, q) = (x.view(), y.view(), of_x.view(), of_y.view());
    let (want, got) = match what {
        What::Dot => (cpu::dot(a, b, &host), gpu::dot(p, q, &there, stream)),
        What::Cosine(epsilon) => {
            (cpu::cosine_similarity(a, b, epsilon, &host), gpu::cosine_similarity(p, q, epsilon, &there, stream))
        }
        What::Loss(loss, by) => (cpu::loss(loss, a, b, by, &host), gpu::loss(loss, p, q, by, &there, stream)),
    };
    let want = want.expect("a result");
    if let Some(why) = differs(got, &want, stream) {
        return about("of", why);
    }
    let gradient = r.chance(70).then(|| {
        let of = if r.chance(60) { dtype } else { FLOATS[r.below(4)] };
        floats(r, of, &want.shape)
    });
    let of_gradient = gradient.as_ref().map(|gradient| There::new(stream, gradient));
    let host = cpu::Pairs { gradient: gradient.as_ref().map(Strided::view), ..host };
    let there = gpu::Pairs { gradient: of_gradient.as_ref().map(There::view), ..there };
    let (want, got) = match what {
        What::Dot => (cpu::dot_backward(a, b, &host), gpu::dot_backward(p, q, &there, stream)),
        What::Cosine(_) => return None,
        What::Loss(loss, by) => {
            (cpu::loss_backward(loss, a, b, by, &host), gpu::loss_backward(loss, p, q, by, &there, stream))
        }
    };
    let why = differs(got, &want.expect("a result"), stream)?;
    about("the gradient of", format!("{:?} {why}", gradient.map(|gradient| (gradient.dtype, gradient.strides))))
}
