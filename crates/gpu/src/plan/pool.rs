//! What to launch for pooling.

use warpfold_array::problem::{Dim, merge};
use warpfold_core::DType;
use warpfold_core::pool::{Divisor as Divides, Window};
use warpfold_cpu::pool::Call;
use warpfold_kernels::block::THREADS;
use warpfold_kernels::pool::along::Along;
use warpfold_kernels::pool::{ELEMENTS, FIXED, PADDED, PLANES, Pool, PoolAt, SMALL};
use warpfold_kernels::reduce::recipe::code;
use warpfold_kernels::reduce::shape::map::Divisor;

use super::Launch;

/// Lengths of axes, windows and padding, which kernels count in 32 bits, are below this.
const MOST: usize = 1 << 30;

/// An operation on windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Means.
    Average(Divides),
    /// Greatest elements.
    Max,
}

/// Pooling, or its gradient.
pub struct Pooling<'a> {
    /// The windows.
    pub call: &'a Call,
    /// Of which there is what.
    pub of: Of,
    /// Whether the results are the gradients of the elements.
    pub backward: bool,
    /// The dtype of the elements.
    pub dtype: DType,
}

/// Where the source lies: bytes from plane to plane along two axes, the outer one first, and from element to element.
pub struct Source {
    /// Planes of the inner axis.
    pub inner: usize,
    /// Of planes.
    pub planes: [isize; 2],
    /// Of elements.
    pub elements: [isize; 3],
}

impl Source {
    /// Of an array whose last `axes` axes are those of windows. None, if planes lie along more than two axes.
    #[must_use]
    pub fn of(shape: &[usize], strides: &[isize], axes: usize) -> Option<Self> {
        let batch = shape.len() - axes;
        let dims = shape[..batch].iter().zip(strides).filter(|(len, _)| **len != 1);
        let dims = merge(dims.map(|(&len, &x)| Dim { len, x, mask: 0, out: 0 }).collect());
        let none = Dim { len: 1, x: 0, mask: 0, out: 0 };
        let [outer, inner] = match dims[..] {
            [] => [none; 2],
            [inner] => [none, inner],
            [outer, inner] => [outer, inner],
            _ => return None,
        };
        let mut elements = [0; 3];
        elements[3 - axes..].copy_from_slice(&strides[batch..]);
        Some(Self { inner: inner.len, planes: [outer.x, inner.x], elements })
    }
}

impl Pooling<'_> {
    /// The launch. None, if axes or planes are too long for the kernels.
    #[must_use]
    pub fn plan(&self, source: &Source) -> Option<Launch<PoolAt>> {
        let Call { windows, inputs, outputs, planes, .. } = *self.call;
        let results = if self.backward { inputs } else { outputs };
        let (mut axis, mut leaves) = ([Along::default(); 3], 1u64);
        for (i, along) in axis.iter_mut().enumerate() {
            let Window { size, stride, padding, dilation, .. } = windows[i];
            let reach = inputs[i].checked_add(2 * padding)?;
            // Of one window there is no next one, and of one tap neither.
            let (stride, dilation) = (stride.min(reach + 1), if size == 1 { 1 } else { dilation });
            let extent = (size - 1).checked_mul(dilation)? + 1;
            if reach >= MOST || extent >= MOST || outputs[i] >= MOST {
                return None;
            }
            let each = if self.backward { (extent - 1) / stride + 1 } else { size };
            leaves *= each.min(if self.backward { outputs[i] } else { inputs[i] }) as u64;
            *along = Along {
                size: size as u32,
                stride: stride as u32,
                padding: padding as u32,
                inputs: inputs[i] as u32,
                outputs: outputs[i] as u32,
                results: results[i] as u32,
                step: source.elements[i] as i64,
                split: Divisor::new(results[i] as u64),
                strides: Divisor::new(stride as u64),
                dilation: Divisor::new(dilation as u64),
            };
        }
        let of_plane = |lens: [usize; 3]| {
            lens.iter().try_fold(1usize, |all, &len| all.checked_mul(len)).filter(|&all| all < 1 << 31)
        };
        of_plane(inputs)?;
        of_plane(outputs)?;
        let results = of_plane(results)? as u64;
        let (name, has_sums) = match (self.of, self.backward) {
            (Of::Average(_), false) => ("average", true),
            (Of::Average(_), true) => ("average_backward", true),
            (Of::Max, false) => ("max", false),
            (Of::Max, true) => ("max_backward", true),
        };
        let is_large = has_sums && leaves >= SMALL;
        let of_thread = if is_large { 1 } else { PLANES };
        let value = if self.dtype == DType::F64 { "f64" } else { "f32" };
        let entry = format!("pool_{name}{}_{value}", if is_large { "_large" } else { "" });
        let (divides, divisor) = match self.of {
            Of::Average(Divides::Padded) => (PADDED, 0.0),
            Of::Average(fixed @ Divides::Fixed(_)) => {
                let number = if value == "f64" { fixed.of::<f64>(0, 0) } else { fixed.of::<f32>(0, 0) as f64 };
                (FIXED, number)
            }
            Of::Average(Divides::Elements) | Of::Max => (ELEMENTS, 0.0),
        };
        let call = Pool {
            at: PoolAt::default(),
            axis,
            planes: planes as u64,
            results: Divisor::new(results),
            inner: Divisor::new(source.inner as u64),
            near: source.planes[1] as i64,
            far: source.planes[0] as i64,
            divisor,
            dtype: code(self.dtype),
            divides,
        };
        let threads = results.checked_mul(planes.div_ceil(of_thread) as u64)?;
        let grid = i32::try_from(threads.div_ceil(THREADS as u64)).ok()? as u32;
        Some(Launch::new(entry, grid, THREADS, &call))
    }

    /// Whether there is one window of all elements of a plane, and its mean is divided by their number: a reduction.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let Call { windows, inputs, outputs, .. } = self.call;
        let all = |i: usize| {
            let Window { size, padding, dilation, .. } = windows[i];
            outputs[i] == 1 && padding == 0 && size >= inputs[i] && dilation == 1
        };
        !self.backward && !matches!(self.of, Of::Average(Divides::Fixed(_))) && (0..3).all(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold_cpu::pool;

    fn planned(shape: &[usize], options: &pool::Pool<'_>, of: Of, backward: bool) -> Option<(String, u32)> {
        let call = Call::new("pool", shape, options).expect("windows that fit");
        let shape = if backward { &call.output_shape } else { shape };
        let mut strides = vec![4isize; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[axis] as isize;
        }
        let source = Source::of(shape, &strides, options.kernel_size.len()).expect("dense planes");
        let launch = Pooling { call: &call, of, backward, dtype: DType::F32 }.plan(&source)?;
        Some((launch.entry, launch.grid))
    }

    #[test]
    fn kernels_are_chosen_by_the_elements_of_a_window() {
        let two = |size: &'static [usize]| pool::Pool { kernel_size: size, ..pool::Pool::default() };
        let average = Of::Average(Divides::Elements);
        assert_eq!(planned(&[64, 64, 64], &two(&[2, 2]), average, false), Some(("pool_average_f32".into(), 64)));
        assert_eq!(planned(&[64, 64, 64], &two(&[8, 8]), average, false), Some(("pool_average_large_f32".into(), 16)));
        assert_eq!(planned(&[64, 64, 64], &two(&[8, 8]), Of::Max, false), Some(("pool_max_f32".into(), 4)));
        assert_eq!(planned(&[64, 64, 64], &two(&[8, 8]), Of::Max, true), Some(("pool_max_backward_f32".into(), 256)));
    }

    #[test]
    fn what_kernels_do_not_count_has_no_plan() {
        let long = pool::Pool { kernel_size: &[2], stride: &[1], padding: &[1], ..pool::Pool::default() };
        assert_eq!(planned(&[1, 1 << 30], &long, Of::Max, false), None);
        let far = pool::Pool { kernel_size: &[1], stride: &[usize::MAX >> 2], ..pool::Pool::default() };
        assert!(planned(&[1, 100], &far, Of::Max, false).is_some());
    }
}
