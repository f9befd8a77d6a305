//! What to launch for pooling.

use warpfold_array::problem::{Dim, merge};
use warpfold_core::DType;
use warpfold_core::pool::{Divisor as Divides, Window};
use warpfold_cpu::pool::Call;
use warpfold_kernels::block::THREADS;
use warpfold_kernels::pool::along::Along;
use warpfold_kernels::pool::{ELEMENTS, FEW, FIXED, LARGE, MOST as MOST_OF_PLANE, PADDED, PLANES, POWER};
use warpfold_kernels::pool::{Pool, PoolAt, QUICK, few};
use warpfold_kernels::reduce::recipe::code;
use warpfold_kernels::reduce::shape::map::Divisor;

use super::Launch;
use super::limits::Limits;
use super::patches::Patch;

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
        let (mut axis, mut most) = ([Along::default(); 3], [0; 3]);
        for (i, along) in axis.iter_mut().enumerate() {
            (*along, most[i]) = self.along(i, [results[i], sources[i]], source.elements[i])?;
        }
        let leaves: u64 = most.iter().map(|&most| most as u64).product();
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
        let (divides, divisor) = self.divisor();
        let has_means = !self.backward && self.of != Of::Max;
        let is_large = has_sums && leaves >= LARGE;
        let few = most.into_iter().max().filter(|_| self.is_few(most, source, &axis, divisor));
        let patch = if few.is_none() && !is_large { self.patch(most, source, &axis, limits) } else { None };
        let wide = if self.dtype == DType::F64 { DType::F64 } else { DType::F32 };
        let entry = match (few, &patch) {
            (Some(_), _) => format!("pool_few_{name}_{}", self.dtype),
            (None, Some(_)) => format!("pool_patch_{name}_{wide}"),
            (None, None) => format!("pool_{name}_{}{wide}", if is_large { "large_" } else { "" }),
        };
        let abreast = match few {
            Some(most) => few::planes(most, self.dtype.size(), has_means),
            None if is_large => 1,
            None => PLANES,
        };
        // Kernels of few elements have fewer planes than that one by one.
        let groups = if few.is_some() && planes < abreast { planes } else { planes.div_ceil(abreast) } as u64;
        let share = (limits.multiprocessors as u64 * THREADS_EACH).div_ceil(results).min(groups);
        let [band, bands, fours, places] = patch.map_or([1; 4], |of| [of.band, of.bands, of.fours, of.places]);
        if patch.is_some() && axis[2].sources == 1 {
            // From a row's one element to the next row's.
            axis[2].step = self.dtype.size() as i64;
        }
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
            most: few.unwrap_or(0) as u32,
            band: band as u32,
            bands: Divisor::new(bands as u64),
            fours: fours as u64,
            places: Divisor::new(places as u64),
            slots: Divisor::new(band as u64 * axis[2].split.by),
        };
        let blocks = match patch {
            Some(_) => (planes.div_ceil(PLANES).div_ceil(fours) * bands) as u64,
            None => (results * share).div_ceil(THREADS as u64),
        };
        let mut launch = Launch::new(entry, i32::try_from(blocks).ok()? as u32, THREADS, &call);
        launch.room = patch.map_or(0, |patch| patch.room());
        Some(launch)
    }

    /// Whether the kernels of few elements have it, of which a result takes `most` along each axis: they lie beside one
    /// another in memory, planes at equal steps, and gradients are divided by numbers below [`QUICK`].
    fn is_few(&self, most: [usize; 3], source: &Source, axis: &[Along; 3], divisor: f64) -> bool {
        let is_dense = axis[2].sources == 1 || axis[2].step == self.dtype.size() as i64;
        let is_even = source.inner == self.call.planes;
        let of_window = self.call.windows.iter().try_fold(1u64, |all, window| all.checked_mul(window.size as u64));
        let is_quick = match (self.of, self.backward) {
            (Of::Average(Divides::Fixed(_)), true) => divisor.abs() < QUICK as f64,
            (Of::Average(_), true) => of_window.is_some_and(|elements| elements < QUICK),
            _ => true,
        };
        let are_near = axis.iter().all(|along| along.dilation == 1);
        self.is_flat()
            && is_dense
            && is_even
            && is_quick
            && are_near
            && most.iter().all(|most| (1..=FEW[self.backward as usize]).contains(most))
    }

    /// The share of a block of the kernels that have patches of planes in shared memory, if they have this.
    fn patch(&self, most: [usize; 3], source: &Source, axis: &[Along; 3], limits: &Limits) -> Option<Patch> {
        let [_, rows, columns] = axis;
        let size = self.dtype.size() as isize;
        let is_dense = (columns.sources == 1 || source.elements[2] == size)
            && (rows.sources == 1 || Some(source.elements[1]) == size.checked_mul(columns.sources as isize));
        let is_even = !self.backward || rows.dilation == 1;
        if self.dtype == DType::F64 || !is_dense || !is_even || !self.is_flat() {
            return None;
        }
        // Of gradients of the greatest elements there are indices, too.
        let arrays = if self.of == Of::Max && self.backward { 2 } else { 1 };
        Patch::of([rows, columns], [most[1], most[2]], self.backward, self.call.planes, arrays, limits)
    }

    /// Whether windows have two axes, or one.
    fn is_flat(&self) -> bool {
        self.call.inputs[0] == 1 && self.call.outputs[0] == 1 && self.call.windows[0].size == 1
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
        planned_on(1, shape, options, of, backward)
    }

    fn planned_on(
        multiprocessors: u32,
        shape: &[usize],
        options: &pool::Pool<'_>,
        of: Of,
        backward: bool,
    ) -> Option<(String, u32)> {
        let call = Call::new("pool", shape, options).expect("windows that fit");
        let shape = if backward { &call.output_shape } else { shape };
        let mut strides = vec![4isize; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[axis] as isize;
        }
        let source = Source::of(shape, &strides, options.kernel_size.len()).expect("dense planes");
        let limits = Limits { multiprocessors, bandwidth: 1e12, aligned: true, shared_bytes: 227 << 10 };
        let launch = Pooling { call: &call, of, backward, dtype: DType::F32 }.plan(&source, &limits)?;
        Some((launch.entry, launch.grid))
    }

    #[test]
    fn kernels_are_chosen_by_the_elements_of_a_window() {
        let two = |size: &'static [usize]| pool::Pool { kernel_size: size, ..pool::Pool::default() };
        let average = Of::Average(Divides::Elements);
        assert_eq!(planned(&[64, 64, 64], &two(&[2, 2]), average, false), Some(("pool_few_average_f32".into(), 32)));
        let named = |shape: &[usize], size| planned(shape, &two(size), average, false).map(|(name, _)| name);
        assert_eq!(named(&[64, 64, 64], &[4, 2]), Some("pool_patch_average_f32".into()));
        // A row of elements does not fit; one band of results would have too many of them.
        assert_eq!(named(&[1, 64, 1 << 20], &[4, 2]), Some("pool_average_f32".into()));
        let long = pool::Pool { kernel_size: &[1024], stride: &[256], ..pool::Pool::default() };
        let entry = |multiprocessors| planned_on(multiprocessors, &[1, 16, 48_000], &long, average, true);
        assert_eq!(entry(132).map(|(name, _)| name), Some("pool_average_backward_f32".into()));
        assert_eq!(entry(4), Some(("pool_patch_average_backward_f32".into(), 4)));
        assert_eq!(planned(&[64, 64, 64], &two(&[32, 16]), average, false), Some(("pool_average_large_f32".into(), 2)));
        assert_eq!(planned(&[64, 64, 64], &two(&[32, 16]), Of::Max, false), Some(("pool_max_f32".into(), 1)));
        // An element is in one window, however large; or in two of each axis; or in four.
        let apart = |stride| pool::Pool { kernel_size: &[8, 8], stride, ..pool::Pool::default() };
        let entry =
            |stride: &'static [usize]| planned(&[64, 64, 64], &apart(stride), Of::Max, true).map(|(name, _)| name);
        assert_eq!(entry(&[8, 8]), Some("pool_few_max_backward_f32".into()));
        assert_eq!(entry(&[4, 4]), Some("pool_few_max_backward_f32".into()));
        assert_eq!(entry(&[2, 4]), Some("pool_patch_max_backward_f32".into()));
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
