//! Which steps a norm of channels has: docs/numerics.md has the formulas.

use warpfold_array::problem::Problem;
use warpfold_array::request::Spec;
use warpfold_array::{Error, Op};
use warpfold_core::DType;
use warpfold_kernels::channel::beside::SAMPLES;
use warpfold_kernels::channel::{BESIDE, NORM, OF_CHANNEL, OF_GIVEN, OF_GROUP, PRODUCT, SUMS, TORN};

use super::steps::{Place, Steps};
use crate::device::Device;
use crate::plan::channels::{ChannelShape, OfElements, Sums, Torn};
use crate::plan::rowwise::in_c_order;
use crate::plan::zip::wide;
use crate::view::ArrayView;

/// Elements: far more than the memory of any GPU has.
pub(super) const MOST: usize = 1 << 42;

/// The number of each array.
pub(super) const X: usize = 0;
pub(super) const GRADIENT: usize = 1;
pub(super) const WEIGHT: usize = 2;
pub(super) const BIAS: usize = 3;
pub(super) const MEAN: usize = 4;
pub(super) const VARIANCE: usize = 5;

/// Which results a norm has, by their numbers: the norm, means, variances; or the gradients of elements, weights,
/// biases.
const RESULTS: [Place; 3] = [Place::Result(0), Place::Result(1), Place::Result(2)];

/// What is left of sums over channels: where it is, its dtype, and samples, channels and what each of these has.
type Begun = (Place, DType, [usize; 3]);

/// What is asked for.
#[derive(Clone, Copy)]
pub(super) struct Plan<'a> {
    pub(super) shape: ChannelShape,
    /// As [`X`] and its kin number them.
    pub(super) arrays: [Option<&'a ArrayView<'a>>; 6],
    pub(super) offset: f64,
    pub(super) epsilon: f64,
    /// Whether statistics that there are do not depend on the elements; else they were noted of them.
    pub(super) constant: bool,
    /// Whether all arrays of elements begin with lines of 16 bytes.
    pub(super) lined: bool,
}

/// A plan in the making.
struct Making<'a> {
    plan: &'a Plan<'a>,
    steps: Steps,
    /// What elements and gradients are read as.
    dtype: DType,
    /// Where each array is, of which all are dense.
    at: [Place; 6],
}

impl Plan<'_> {
    /// Of no elements: means and variances are NaN, or as they are given, and sums are zero.
    fn of_nothing(&self, device: &Device) -> Result<Steps, Error> {
        let mut making = Making::new(self, device)?;
        let [_, second, third] = RESULTS;
        let (channels, rows, wide) = (self.shape.channels, self.shape.rows(), wide(making.dtype));
        if self.arrays[GRADIENT].is_some() {
            for (which, to) in [(WEIGHT, second), (BIAS, third)] {
                making.steps.fill(0, channels * self.dtype(which).size(), to);
            }
        } else if self.arrays[MEAN].is_some() {
            making.given()?;
        } else if rows < MOST {
            let nan = making.steps.room(1, wide);
            let bytes =
                if wide == DType::F64 { f64::NAN.to_ne_bytes().to_vec() } else { f32::NAN.to_ne_bytes().to_vec() };
            for (i, byte) in bytes.into_iter().enumerate() {
                making.steps.fill(byte, 1, nan.behind(i));
            }
            for to in [second, third] {
                making.steps.copy(&[(rows, 0, 1)], [wide; 2], [nan, to])?;
            }
        }
        Ok(making.steps.ready())
    }

    /// All steps.
    pub(super) fn steps(&self, device: &Device) -> Result<Steps, Error> {
        match (self.shape.elements(), self.arrays[GRADIENT]) {
            (0, _) => self.of_nothing(device),
            (_, None) => self.forward(device),
            (_, Some(_)) => self.backward(device),
        }
    }

    /// The norm, its means and variances.
    fn forward(&self, device: &Device) -> Result<Steps, Error> {
        let mut making = Making::new(self, device)?;
        let (wide, rows) = (wide(making.dtype), self.shape.rows());
        let [y, of_mean, of_variance] = RESULTS;
        if self.arrays[MEAN].is_some() {
            making.given()?;
        } else {
            making.statistics()?;
            for (which, to) in [(MEAN, of_mean), (VARIANCE, of_variance)] {
                making.steps.copy(&along(rows, wide), [wide; 2], [making.at[which], to])?;
            }
        }
        making.each(NORM, [Place::Nowhere; 2], [y, Place::Nowhere])?;
        Ok(making.steps.ready())
    }

    /// The gradients of elements, weights and biases.
    fn backward(&self, device: &Device) -> Result<Steps, Error> {
        let mut making = Making::new(self, device)?;
        if self.arrays[MEAN].is_none() {
            making.statistics()?;
        }
        let wide = wide(making.dtype);
        let ChannelShape { samples, channels, run, .. } = self.shape;
        let [dots, totals] = match self.sums(device) {
            Sums::Packs(lanes) => {
                let each = lanes * 16 / making.dtype.size();
                making.begun(SUMS, [samples, channels, run / each])?
            }
            Sums::Beside => making.begun(BESIDE, [samples.div_ceil(SAMPLES), channels, 1])?,
            // Sequences lie side by side then, and samples are no axis.
            Sums::Torn(Torn { rows, stretches, .. }) => making.begun(TORN, [1, rows, stretches])?,
            Sums::Products => {
                let products = making.steps.room(self.shape.elements(), wide);
                making.each(PRODUCT, [Place::Nowhere; 2], [products, Place::Nowhere])?;
                let shape = [samples, channels, run];
                [(products, wide, shape), (making.at[GRADIENT], making.dtype, shape)]
            }
        };
        let sums = [making.sums(dots)?, making.sums(totals)?];
        for (which, sums) in [WEIGHT, BIAS].into_iter().zip(sums) {
            making.of_channels(which, sums)?;
        }
        let (kind, sums) = match (self.shape.groups, self.constant) {
            (Some(_), _) => (OF_GROUP, [making.of_groups(sums[0])?, making.of_groups(sums[1])?]),
            (None, false) => (OF_CHANNEL, sums),
            (None, true) => (OF_GIVEN, [Place::Nowhere; 2]),
        };
        making.each(kind, sums, [RESULTS[0], Place::Nowhere])?;
        Ok(making.steps.ready())
    }

    /// What elements and gradients are read as: of two dtypes, as numbers.
    fn read(&self) -> DType {
        let own = self.dtype(X);
        let alike = self.arrays[GRADIENT].is_none_or(|gradient| gradient.dtype() == own);
        if alike { own } else { wide(own) }
    }

    /// How the sums of channels are begun.
    fn sums(&self, device: &Device) -> Sums {
        self.shape.sums(self.read(), self.lined, &device.limits())
    }

    /// Whether other steps are for arrays that do not begin with lines.
    pub(super) fn asks_for_lines(&self, device: &Device) -> bool {
        let sums = |lined| Plan { lined, ..*self }.sums(device);
        self.arrays[GRADIENT].is_some() && self.shape.elements() > 0 && sums(true) != sums(false)
    }

    /// The dtype of an array; that of what there is not does not count.
    fn dtype(&self, which: usize) -> DType {
        self.arrays[which].map_or(DType::F32, ArrayView::dtype)
    }
}

/// Neighbours, of elements of a dtype, as an axis.
fn along(len: usize, dtype: DType) -> [(usize, isize, isize); 1] {
    [(len, dtype.size() as isize, 1)]
}

impl<'a> Making<'a> {
    fn new(plan: &'a Plan<'a>, device: &Device) -> Result<Self, Error> {
        let dtype = plan.read();
        let at = [X, GRADIENT, WEIGHT, BIAS, MEAN, VARIANCE].map(Place::Given);
        let mut making = Self { plan, steps: Steps::new(device), dtype, at };
        for (which, array) in plan.arrays.iter().enumerate() {
            let Some(array) = array else {
                making.at[which] = Place::Nowhere;
                continue;
            };
            let own = array.dtype();
            let to = if which == X || which == GRADIENT { dtype } else { own };
            let dense = in_c_order(array.shape(), own.size() as isize);
            let is_dense = |axis: usize| array.shape()[axis] == 1 || array.strides()[axis] == dense[axis];
            if own == to && (0..dense.len()).all(is_dense) {
                continue;
            }
            let places = in_c_order(array.shape(), 1);
            let axes: Vec<_> =
                (0..places.len()).map(|axis| (array.shape()[axis], array.strides()[axis], places[axis])).collect();
            let room = making.steps.room(array.shape().iter().product(), to);
            making.steps.copy(&axes, [own, to], [making.at[which], room])?;
            making.at[which] = room;
        }
        Ok(making)
    }

    /// The statistics of rows, in one reduction.
    fn statistics(&mut self) -> Result<(), Error> {
        let (wide, rows) = (wide(self.dtype), self.plan.shape.rows());
        let both = self.steps.room(2 * rows, wide);
        let means = rows * wide.size();
        let spec = Spec { dtype: Some(wide), means, ..Spec::without_options(Op::Var, self.dtype) };
        let ChannelShape { samples, channels, run, groups } = self.plan.shape;
        let (shape, axes) = match groups {
            Some(_) => ([rows, self.plan.shape.count(), 1], &[1][..]),
            None => ([samples, channels, run], &[0, 2][..]),
        };
        self.reduced(&spec, &shape, axes, [self.at[X], both])?;
        self.at[VARIANCE] = both;
        self.at[MEAN] = both.behind(means);
        Ok(())
    }

    /// The statistics that are given, as arithmetic is done: sums of one element each, whose NaN is the canonical one.
    fn given(&mut self) -> Result<(), Error> {
        let channels = self.plan.shape.channels;
        for (which, to) in [(MEAN, RESULTS[1]), (VARIANCE, RESULTS[2])].into_iter().filter(|_| channels > 0) {
            let dtype = Some(wide(self.dtype));
            let spec = Spec { dtype, ..Spec::without_options(Op::Sum, self.plan.dtype(which)) };
            self.reduced(&spec, &[channels, 1], &[1], [self.at[which], to])?;
        }
        Ok(())
    }

    /// A reduction of an array in C order.
    fn reduced(&mut self, spec: &Spec, shape: &[usize], axes: &[usize], at: [Place; 2]) -> Result<(), Error> {
        let size = spec.input.size();
        let steps = in_c_order(shape, size as isize);
        let problem = Problem::of(shape, &steps, &steps, axes, size);
        Ok(self.steps.reduce(spec, &problem, at)?)
    }

    /// The sums that sums over channels begin with, of products and of gradients: an array of so many of both.
    fn begun(&mut self, kind: u32, shape: [usize; 3]) -> Result<[Begun; 2], Error> {
        let (nodes, wide) = (shape.iter().product::<usize>(), wide(self.dtype));
        let dots = self.steps.room(2 * nodes, wide);
        let totals = dots.behind(nodes * wide.size());
        self.each(kind, [Place::Nowhere; 2], [dots, totals])?;
        Ok([dots, totals].map(|at| (at, wide, shape)))
    }

    /// Sums over what is not added up later: the samples of channels, or the elements of each channel of a sample.
    fn sums(&mut self, (from, dtype, shape): Begun) -> Result<Place, Error> {
        let ChannelShape { samples, channels, groups, .. } = self.plan.shape;
        let len = if groups.is_some() { samples * channels } else { channels };
        let (wide, axes) = (wide(dtype), if groups.is_some() { &[2][..] } else { &[0, 2] });
        let to = self.steps.room(len, wide);
        let spec = Spec { dtype: Some(wide), ..Spec::without_options(Op::Sum, dtype) };
        self.reduced(&spec, &shape, axes, [from, to])?;
        Ok(to)
    }

    /// The gradient of weights or biases.
    fn of_channels(&mut self, which: usize, sums: Place) -> Result<(), Error> {
        let Some(array) = self.plan.arrays[which] else { return Ok(()) };
        let ChannelShape { samples, channels, groups, .. } = self.plan.shape;
        let (wide, mut of_all) = (wide(self.dtype), sums);
        if groups.is_some() {
            of_all = self.steps.room(channels, wide);
            let spec = Spec::without_options(Op::Sum, wide);
            self.reduced(&spec, &[samples, channels], &[0], [sums, of_all])?;
        }
        let to = if which == WEIGHT { RESULTS[1] } else { RESULTS[2] };
        Ok(self.steps.copy(&along(channels, wide), [wide, array.dtype()], [of_all, to])?)
    }

    /// The sums of groups, from those of their channels, which are weighted.
    fn of_groups(&mut self, sums: Place) -> Result<Place, Error> {
        let ChannelShape { samples, channels, .. } = self.plan.shape;
        let (wide, rows, mut terms) = (wide(self.dtype), self.plan.shape.rows(), sums);
        if self.plan.arrays[WEIGHT].is_some() {
            // Without statistics a norm is the elements times the weights.
            terms = self.steps.room(samples * channels, wide);
            let shape = ChannelShape { run: 1, groups: None, ..self.plan.shape };
            let mut at = [Place::Nowhere; 10];
            (at[0], at[2], at[8]) = (sums, self.at[WEIGHT], terms);
            self.steps.each(&OfElements { dtype: wide, ..self.of(NORM) }, &shape, at)?;
        }
        let to = self.steps.room(rows, wide);
        self.reduced(&Spec::without_options(Op::Sum, wide), &[rows, channels * samples / rows], &[1], [terms, to])?;
        Ok(to)
    }

    fn of(&self, kind: u32) -> OfElements {
        let is_found = self.plan.arrays[MEAN].is_none();
        let statistic = |which: usize| if is_found { wide(self.dtype) } else { self.plan.dtype(which) };
        let others = [self.plan.dtype(WEIGHT), self.plan.dtype(BIAS), statistic(MEAN), statistic(VARIANCE)];
        let &Plan { offset, epsilon, .. } = self.plan;
        OfElements { kind, dtype: self.dtype, others, offset, epsilon }
    }

    /// What becomes of all elements, with the sums of rows: results, and what goes behind these.
    fn each(&mut self, kind: u32, [dots, totals]: [Place; 2], [to, behind]: [Place; 2]) -> Result<(), Error> {
        let [x, gradient, weight, bias, mean, variance] = self.at;
        let (shape, own) = (self.plan.shape, self.plan.dtype(X));
        // Results of another dtype are copied to that.
        let other = ![PRODUCT, SUMS, TORN, BESIDE].contains(&kind) && self.dtype != own;
        let room = if other { self.steps.room(shape.elements(), self.dtype) } else { to };
        let at = [x, gradient, weight, bias, mean, variance, dots, totals, room, behind];
        self.steps.each(&self.of(kind), &shape, at)?;
        if other {
            self.steps.copy(&along(shape.elements(), self.dtype), [self.dtype, own], [room, to])?;
        }
        Ok(())
    }
}
