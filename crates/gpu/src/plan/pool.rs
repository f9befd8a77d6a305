//! What to launch for pooling.

use warpfold_array::problem::{Dim, merge};
use warpfold_core::DType;
use warpfold_core::pool::{Divisor as Divides, Window};
use warpfold_cpu::pool::Call;
use warpfold_kernels::block::THREADS;
use warpfold_kernels::pool::along::Along;
use warpfold_kernels::pool::{ELEMENTS, FIXED, LARGE, MOST as MOST_OF_PLANE, PADDED, PLANES, POWER, Pool, PoolAt};
use warpfold_kernels::reduce::recipe::code;
use warpfold_kernels::reduce::shape::map::Divisor;

use super::Launch;
use super::limits::Limits;

/// Lengths of axes, windows and padding, which kernels count in 32 bits, are below this.
const MOST: usize = 1 << 30;

/// Threads for each multiprocessor, about; not measured. Each has a window of as many planes as are left for it.
const THREADS_EACH: u64 = 4 * 2048;

/// The greatest common divisor.
fn common(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common(b, a % b) }
}

/// The inverse of a number modulo another one, of which it has no divisor but 1; both are below 2^30.
fn inverse(a: usize, modulo: usize) -> usize {
    let (mut r, mut t) = ([modulo as i64, a as i64], [0i64, 1]);
    while r[1] != 0 {
        let q = r[0] / r[1];
        r = [r[1], r[0] - q * r[1]];
        t = [t[1], t[0] - q * t[1]];
    }
    t[0].rem_euclid(modulo as i64) as usize
}

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
    pub fn plan(&self, source: &Source, limits: &Limits) -> Option<Launch<PoolAt>> {
        let Call { inputs, outputs, planes, .. } = *self.call;
        let (results, sources) = if self.backward { (inputs, outputs) } else { (outputs, inputs) };
        let (mut axis, mut leaves) = ([Along::default(); 3], 1u64);
        for (i, along) in axis.iter_mut().enumerate() {
            let most;
            (*along, most) = self.along(i, [results[i], sources[i]], source.elements[i])?;
            leaves *= most as u64;
        }
        let of_plane = |lens: [usize; 3]| {
            lens.iter().try_fold(1usize, |all, &len| all.checked_mul(len)).filter(|&all| (all as u64) < MOST_OF_PLANE)
        };
        of_plane(sources)?;
        let results = of_plane(results)? as u64;
        let (name, has_sums) = match (self.of, self.backward) {
            (Of::Average(_), false) => ("average", true),
            (Of::Average(_), true) => ("average_backward", true),
            (Of::Max, false) => ("max", false),
            (Of::Max, true) => ("max_backward", true),
        };
        let is_large = has_sums && leaves >= LARGE;
        let entry = match (is_large, self.dtype) {
            (false, dtype) => format!("pool_{name}_{dtype}"),
            (true, DType::F64) => format!("pool_{name}_large_f64"),
            (true, _) => format!("pool_{name}_large_f32"),
        };
        let groups = planes.div_ceil(if is_large { 1 } else { PLANES }) as u64;
        let share = (limits.multiprocessors as u64 * THREADS_EACH).div_ceil(results).min(groups);
        let (divides, divisor) = self.divisor();
        let call = Pool {
            at: PoolAt::default(),
            axis,
            planes: planes as u64,
            results: Divisor::new(results),
            share,
            columns: Divisor::new(sources[2] as u64),
            rows: Divisor::new(sources[1] as u64),
            inner: Divisor::new(source.inner as u64),
            near: source.planes[1] as i64,
            far: source.planes[0] as i64,
            divisor,
            dtype: code(self.dtype),
            divides,
        };
        let grid = i32::try_from((results * share).div_ceil(THREADS as u64)).ok()? as u32;
        Some(Launch::new(entry, grid, THREADS, &call))
    }

    /// An axis, and how much of it a result takes at most.
    fn along(&self, i: usize, [results, sources]: [usize; 2], step: isize) -> Option<(Along, usize)> {
        let (Window { size, stride, padding, dilation, .. }, call) = (self.call.windows[i], self.call);
        let reach = call.inputs[i].checked_add(2 * padding)?;
        // Of one window there is no next one, and of one tap neither.
        let (stride, dilation) = (stride.min(reach + 1), if size == 1 { 1 } else { dilation });
        let extent = (size - 1).checked_mul(dilation)? + 1;
        if reach >= MOST || extent >= MOST || call.outputs[i] >= MOST {
            return None;
        }
        let common = common(stride, dilation);
        let (apart, each) = (dilation / common, stride / common);
        let most = if self.backward { (extent - 1) / (stride * apart) + 1 } else { size };
        let along = Along {
            size: size as u32,
            stride: stride as u32,
            dilation: dilation as u32,
            padding: padding as u32,
            inputs: call.inputs[i] as u32,
            outputs: call.outputs[i] as u32,
            sources: sources as u32,
            apart: apart as u32,
            inverse: inverse(each % apart, apart) as u32,
            common: common as u32,
            // Of one element there is no next one, wherever that may be.
            step: if sources == 1 { 0 } else { step as i64 },
            split: Divisor::new(results as u64),
            strides: Divisor::new(stride as u64),
            dilations: Divisor::new(dilation as u64),
            commons: Divisor::new(common as u64),
            aparts: Divisor::new(apart as u64),
        };
        Some((along, most.min(sources)))
    }

    /// What sums are divided by: how, and the number, if it is one for all windows.
    fn divisor(&self) -> (u32, f64) {
        let Of::Average(divides) = self.of else { return (ELEMENTS, 0.0) };
        let number = |divides: Divides, elements: usize, padded: usize| match self.dtype {
            DType::F64 => divides.of::<f64>(elements, padded),
            _ => divides.of::<f32>(elements, padded) as f64,
        };
        // Taps of all windows of an axis, if they have the same number.
        let of_axis = |i: usize, counts_padding: bool| {
            let (window, len, outputs) = (self.call.windows[i], self.call.inputs[i], self.call.outputs[i]);
            let (first, last) = (window.padded(0, len), window.padded(outputs - 1, len));
            (first == last && (counts_padding || window.padding == 0)).then_some(first)
        };
        let same = |counts_padding| (0..3).try_fold(1usize, |all, i| all.checked_mul(of_axis(i, counts_padding)?));
        let (kind, found) = match divides {
            Divides::Elements => (ELEMENTS, same(false).map(|n| number(divides, n, n))),
            Divides::Padded => (PADDED, same(true).map(|n| number(divides, n, n))),
            Divides::Fixed(_) => (FIXED, Some(number(divides, 0, 0))),
        };
        match found {
            None => (kind, 0.0),
            Some(n) if n.abs() >= 1.0 && n.to_bits() << 12 == 0 => (POWER, 1.0 / n),
            Some(n) => (FIXED, n),
        }
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
        let limits = Limits { multiprocessors: 1, bandwidth: 1e12, aligned: true, shared_bytes: 227 << 10 };
        let launch = Pooling { call: &call, of, backward, dtype: DType::F32 }.plan(&source, &limits)?;
        Some((launch.entry, launch.grid))
    }

    #[test]
    fn kernels_are_chosen_by_the_elements_of_a_window() {
        let two = |size: &'static [usize]| pool::Pool { kernel_size: size, ..pool::Pool::default() };
        let average = Of::Average(Divides::Elements);
        assert_eq!(planned(&[64, 64, 64], &two(&[2, 2]), average, false), Some(("pool_average_f32".into(), 32)));
        assert_eq!(planned(&[64, 64, 64], &two(&[32, 16]), average, false), Some(("pool_average_large_f32".into(), 2)));
        assert_eq!(planned(&[64, 64, 64], &two(&[32, 16]), Of::Max, false), Some(("pool_max_f32".into(), 1)));
        assert_eq!(planned(&[64, 64, 64], &two(&[8, 8]), Of::Max, true), Some(("pool_max_backward_f32".into(), 32)));
    }

    #[test]
    fn inverses() {
        for modulo in 1..60 {
            for a in (1..60).filter(|&a| common(a, modulo) == 1) {
                assert_eq!(a % modulo * inverse(a % modulo, modulo) % modulo, 1 % modulo, "{a} modulo {modulo}");
            }
        }
    }

    #[test]
    fn what_kernels_do_not_count_has_no_plan() {
        let long = pool::Pool { kernel_size: &[2], stride: &[1], padding: &[1], ..pool::Pool::default() };
        assert_eq!(planned(&[1, 1 << 30], &long, Of::Max, false), None);
        let far = pool::Pool { kernel_size: &[1], stride: &[usize::MAX >> 2], ..pool::Pool::default() };
        assert!(planned(&[1, 100], &far, Of::Max, false).is_some());
    }
}
