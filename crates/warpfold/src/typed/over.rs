//! Reductions with options, one call each, and then the op.

use warpfold_array::problem::{Problem, normalize_axes, result_shape};
use warpfold_array::request::base;
use warpfold_array::{ArrayRef, Error, Op, Options, Ord, Precision, Value};
use warpfold_core::{Element, Live, Reducer};
use warpfold_cpu::copied::{Typed, TypedOptional};
use warpfold_cpu::engine::{self, Job};
use warpfold_cpu::kernel::{Item, Kernel, Tree};
use warpfold_cpu::keys::{Groups, Segments};
use warpfold_cpu::load::Load;
use warpfold_cpu::{on_threads, reduce};

use super::view::{View, viewed};
use warpfold_array::Tensor;

/// A reduction of `array` about to be configured: axes and options, then the op.
///
/// ```
/// # #[cfg(feature = "ndarray")] {
/// use ndarray::array;
///
/// let x = array![[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
/// let means = warpfold::over(&x).axis(0).mean()?;
/// assert_eq!(means.data, [2.5, 3.5, 4.5]);
/// let norms = warpfold::over(&x).axis(-1).keepdims().compensated().norm(warpfold::Ord::Two)?;
/// assert_eq!(norms.shape, [2, 1]);
/// let some = warpfold::over(&x).mask(&array![true, false, true]).sum()?;
/// assert_eq!(some.item(), Some(14.0));
/// # }
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn over<V: View + ?Sized>(array: &V) -> Over<'_, V> {
    Over { array, options: Options::default(), keys: Keys::None, error: None }
}

/// See [`over`].
#[derive(Clone)]
#[must_use = "call an op, such as sum()"]
pub struct Over<'a, V: View + ?Sized> {
    array: &'a V,
    options: Options<'a>,
    keys: Keys<'a>,
    error: Option<Error>,
}

/// What the first axis is cut by.
#[derive(Clone)]
enum Keys<'a> {
    None,
    Segments(Segments),
    Groups(&'a Groups),
}

/// The dtype of a sum of elements of `V`.
pub(super) type SumOf<V> = <<V as View>::Elem as Element>::Sum;
/// The dtype of a mean of elements of `V`.
pub(super) type MeanOf<V> = <<V as View>::Elem as Element>::Mean;

impl<'a, V: View + ?Sized> Over<'a, V> {
    /// Reduces this axis (from the end if negative), and others named before.
    ///
    /// ```
    /// # #[cfg(feature = "ndarray")] {
    /// let x = ndarray::array![[1.0f32, 2.0], [3.0, 5.0]];
    /// assert_eq!(warpfold::over(&x).axis(-1).sum()?.data, [3.0, 8.0]);
    /// # }
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn axis(mut self, axis: isize) -> Self {
        self.options.axes.get_or_insert_default().push(axis);
        self
    }

    /// Reduces these axes; without a call of this or [`Over::axis`], all.
    ///
    /// ```
    /// # #[cfg(feature = "ndarray")] {
    /// let x = ndarray::array![[1.0f32, 2.0], [3.0, 5.0]];
    /// assert_eq!(warpfold::over(&x).axes(&[0, 1]).sum()?.item(), Some(11.0));
    /// # }
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn axes(mut self, axes: &[isize]) -> Self {
        self.options.axes = Some(axes.to_vec());
        self
    }

    /// Reduced axes stay, with length 1.
    ///
    /// ```
    /// # #[cfg(feature = "ndarray")] {
    /// let x = ndarray::array![[1.0f32, 2.0], [3.0, 5.0]];
    /// assert_eq!(warpfold::over(&x).axis(0).keepdims().sum()?.shape, [1, 2]);
    /// # }
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn keepdims(mut self) -> Self {
        self.options.keepdims = true;
        self
    }

    /// Leaves NaNs out.
    ///
    /// ```
    /// assert_eq!(warpfold::over(&[1.0f32, f32::NAN]).skip_nan().sum()?.item(), Some(1.0));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn skip_nan(mut self) -> Self {
        self.options.skip_nan = true;
        self
    }

    /// Double words instead of plain floats: see [`Precision::Compensated`].
    ///
    /// ```
    /// assert_eq!(warpfold::over(&[1.0f32, 1e8, -1e8]).compensated().sum()?.item(), Some(1.0));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn compensated(mut self) -> Self {
        self.options.precision = Precision::Compensated;
        self
    }

    /// Only where `mask`, broadcast to the array's shape, is true.
    ///
    /// ```
    /// assert_eq!(warpfold::over(&[1u8, 2, 4]).mask(&[true, false, true]).sum()?.item(), Some(5));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn mask<M: View<Elem = bool> + ?Sized>(mut self, mask: &'a M) -> Self {
        match viewed(mask) {
            Ok(mask) => self.options.mask = Some(mask),
            Err(error) => self.error = Some(error),
        }
        self
    }

    /// One more element on the left: sum, prod, min, max.
    ///
    /// ```
    /// assert_eq!(warpfold::over(&[1u8, 2, 4]).initial(10).max()?.item(), Some(10));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn initial(mut self, x: V::Elem) -> Self {
        self.options.initial = Some(x.scalar());
        self
    }

    /// Subtracted from the count in the divisor of var and std: 1 for a sample. Default 0.
    ///
    /// ```
    /// assert_eq!(warpfold::over(&[1.0f32, 3.0]).ddof(1.0).var()?.item(), Some(2.0));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn ddof(mut self, ddof: f64) -> Self {
        self.options.ddof = Some(ddof);
        self
    }

    /// On this many threads instead of as many as rayon's current pool has.
    ///
    /// ```
    /// assert_eq!(warpfold::over(&[1u8, 2, 4]).threads(1).sum()?.item(), Some(7));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn threads(mut self, threads: usize) -> Self {
        self.options.threads = Some(threads);
        self
    }

    /// Reduces each part `offsets[i]..offsets[i + 1]` of the first axis by itself: see [`Segments`].
    ///
    /// ```
    /// let x = [1.0f32, 2.0, 3.0, 4.0, 5.0];
    /// assert_eq!(warpfold::over(&x).segments(&[0, 2, 5]).sum()?.data, [3.0, 12.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn segments<O: View + ?Sized>(mut self, offsets: &O) -> Self {
        match offsets.view().and_then(Segments::new) {
            Ok(segments) => self.keys = Keys::Segments(segments),
            Err(error) => self.error = Some(error),
        }
        self
    }

    /// Reduces the elements of each group along the first axis: see [`Groups`].
    ///
    /// ```
    /// use warpfold::{Groups, View, over};
    ///
    /// let groups = Groups::new([1u8, 0, 1, 1, 0].view()?, None)?;
    /// assert_eq!(over(&[1.0f32, 2.0, 3.0, 4.0, 5.0]).groups(&groups).max()?.data, [5.0, 4.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn groups(mut self, groups: &'a Groups) -> Self {
        self.keys = Keys::Groups(groups);
        self
    }

    /// The result of a built-in op, in its dtype.
    pub(super) fn run<T: Value>(self, op: Op) -> Result<Tensor<T>, Error> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let values = viewed(self.array)?;
        let array = match self.keys {
            Keys::None => reduce(op, values, &self.options),
            Keys::Segments(segments) => segments.reduce(op, values, &self.options),
            Keys::Groups(groups) => groups.reduce(op, values, &self.options),
        }?;
        let data = T::unwrap(array.values).expect("the op's result has this dtype");
        Ok(Tensor { shape: array.shape, data })
    }

    /// A vector norm.
    ///
    /// ```
    /// assert_eq!(warpfold::over(&[3.0f32, -4.0]).norm(warpfold::Ord::One)?.item(), Some(7.0));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Bad axes or mask.
    pub fn norm(mut self, ord: Ord) -> Result<Tensor<MeanOf<V>>, Error>
    where
        MeanOf<V>: Value,
    {
        self.options.ord = Some(ord);
        self.run(Op::Norm)
    }

    /// A reducer of your own, with the axes, mask and threads of this builder.
    ///
    /// ```
    /// use warpfold::Reducer;
    ///
    /// /// The product of 2×2 matrices, which does not commute.
    /// #[derive(Clone)]
    /// struct Fibonacci;
    ///
    /// impl Reducer for Fibonacci {
    ///     type Item = u64;
    ///     type Acc = [u64; 4];
    ///     type Output = u64;
    ///     fn lift(&self, x: u64, _index: u64) -> [u64; 4] {
    ///         [x, 1, 1, 0]
    ///     }
    ///     fn combine(&self, a: [u64; 4], b: [u64; 4]) -> [u64; 4] {
    ///         let cell = |i: usize, j: usize| a[2 * i] * b[j] + a[2 * i + 1] * b[2 + j];
    ///         [cell(0, 0), cell(0, 1), cell(1, 0), cell(1, 1)]
    ///     }
    ///     fn finish(&self, m: [u64; 4], _count: u64) -> u64 {
    ///         m[1]
    ///     }
    /// }
    ///
    /// assert_eq!(warpfold::over(&[1u64; 50]).with(Fibonacci)?.item(), Some(12_586_269_025));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Bad axes or mask; nothing to reduce and no identity; elements in the byte order that is not this machine's.
    /// Options that only built-in ops have are refused.
    pub fn with<R>(self, reducer: R) -> Result<Tensor<R::Output>, Error>
    where
        R: Reducer<Item = V::Elem, Output: Send>,
    {
        if let Some(error) = self.error {
            return Err(error);
        }
        let array = viewed(self.array)?;
        if array.is_swapped() {
            return Err(Error::CustomByteOrder);
        }
        let o = &self.options;
        let keyed = !matches!(self.keys, Keys::None);
        let extra = keyed || o.skip_nan || o.initial.is_some() || o.ddof.is_some() || o.precision != Precision::Tree;
        if extra {
            return Err(Error::CustomOption);
        }
        let axes = normalize_axes(o.axes.as_deref(), array.shape().len())?;
        let problem = Problem::new(&array, &axes, o.mask.as_ref())?;
        let empty = || Error::CustomEmpty { shape: array.shape().to_vec(), axes: axes.clone() };
        let data = match o.mask {
            None => custom(&Tree(reducer), &Typed, &array, &problem, o)?.ok_or_else(empty)?,
            Some(_) => {
                let outputs = custom(&Tree(Live(reducer)), &TypedOptional, &array, &problem, o)?.ok_or_else(empty)?;
                outputs.into_iter().collect::<Option<Vec<_>>>().ok_or_else(empty)?
            }
        };
        Ok(Tensor { shape: result_shape(array.shape(), &axes, o.keepdims), data })
    }
}

fn custom<K: Kernel, L: Load<Item<K>>>(
    kernel: &K,
    load: &L,
    array: &ArrayRef<'_>,
    problem: &Problem,
    options: &Options<'_>,
) -> Result<Option<Vec<engine::Out<K>>>, Error>
where
    engine::Out<K>: Send,
{
    let base = base(array, options.mask.as_ref(), problem);
    on_threads(options.threads, |threads| {
        // SAFETY: an ArrayRef's elements are readable; the problem reaches no others.
        unsafe { engine::run(&Job { kernel, load, problem, base, threads, progress: options.progress }) }
    })
}
