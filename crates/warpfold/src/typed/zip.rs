//! Reductions of two arrays of one shape: options, one call each, and then what is computed.

use warpfold_array::problem::{normalize_axes, result_shape};
use warpfold_array::{Array, ArrayRef, Error, Tensor};
use warpfold_core::{Element, Pair, Reducer};
use warpfold_cpu::kernel::Tree;
use warpfold_cpu::rows::{self, Loss, LossReduction, Pairs};
use warpfold_cpu::{on_threads, zip as cpu};

use super::rows::tensor;
use super::view::View;

/// Two arrays of one shape about to be reduced: axes and options, then what is computed of each pair of elements.
///
/// ```
/// let (x, y) = ([1.0f32, 2.0, 4.0], [1.0f32, 0.0, 0.0]);
/// assert_eq!(warpfold::zip(&x, &y).dot()?.item(), Some(1.0));
/// assert_eq!(warpfold::zip(&x, &y).l1()?.item(), Some(2.0));
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn zip<'a, X: View + ?Sized, Y: View + ?Sized>(x: &'a X, y: &'a Y) -> Zip<'a, X, Y> {
    Zip { x, y, axes: None, reduction: LossReduction::Mean, threads: None }
}

/// See [`zip`].
#[derive(Clone)]
#[must_use = "call what is computed, such as mse()"]
pub struct Zip<'a, X: View + ?Sized, Y: View + ?Sized> {
    x: &'a X,
    y: &'a Y,
    axes: Option<Vec<isize>>,
    reduction: LossReduction,
    threads: Option<usize>,
}

impl<X: View + ?Sized, Y: View + ?Sized> Zip<'_, X, Y> {
    /// Reduces this axis (from the end if negative), and others named before.
    ///
    /// ```
    /// # #[cfg(feature = "ndarray")] {
    /// let x = ndarray::array![[1.0f32, 2.0], [3.0, 5.0]];
    /// assert_eq!(warpfold::zip(&x, &x).axis(1).dot()?.data, [5.0, 34.0]);
    /// # }
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn axis(mut self, axis: isize) -> Self {
        self.axes.get_or_insert_default().push(axis);
        self
    }

    /// Reduces these axes; without a call of this or [`Zip::axis`], all.
    ///
    /// ```
    /// # #[cfg(feature = "ndarray")] {
    /// let x = ndarray::array![[1.0f32, 2.0], [3.0, 5.0]];
    /// assert_eq!(warpfold::zip(&x, &x).axes(&[0, 1]).dot()?.item(), Some(39.0));
    /// # }
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn axes(mut self, axes: &[isize]) -> Self {
        self.axes = Some(axes.to_vec());
        self
    }

    /// What becomes of the losses of the elements; by default their mean.
    ///
    /// ```
    /// use warpfold::rows::LossReduction;
    ///
    /// let (x, y) = ([1.0f32, 2.0], [0.0f32, 4.0]);
    /// assert_eq!(warpfold::zip(&x, &y).reduction(LossReduction::Sum).mse()?.item(), Some(5.0));
    /// assert_eq!(warpfold::zip(&x, &y).reduction(LossReduction::None).mse()?.data, [1.0, 4.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn reduction(self, reduction: LossReduction) -> Self {
        Self { reduction, ..self }
    }

    /// So many threads. The result is the same for any number.
    ///
    /// ```
    /// assert_eq!(warpfold::zip(&[2.0f32], &[3.0f32]).threads(1).dot()?.item(), Some(6.0));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn threads(self, threads: usize) -> Self {
        Self { threads: Some(threads), ..self }
    }

    /// A reducer of your own, whose elements are pairs: of elements of both arrays. [`warpfold_core::Zipped`] makes one
    /// of a function of two elements and any reducer.
    ///
    /// ```
    /// use warpfold::core::{Zipped, ops::Sum};
    ///
    /// let (truth, guess) = ([1u8, 0, 1, 1], [1i64, 0, 0, 1]);
    /// let same = |truth: u8, guess: i64| f64::from(i64::from(truth) == guess);
    /// let accuracy = warpfold::zip(&truth, &guess).with(Zipped::new(same, Sum::<f64>::mean()))?;
    /// assert_eq!(accuracy.item(), Some(0.75));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Bad axes; arrays of different shapes; nothing to reduce and no identity.
    pub fn with<R>(self, reducer: R) -> Result<Tensor<R::Output>, Error>
    where
        R: Reducer<Item = (X::Elem, Y::Elem), Output: Send>,
    {
        let (x, y) = (self.x.view()?, self.y.view()?);
        let axes = normalize_axes(self.axes.as_deref(), x.shape().len())?;
        let shape = result_shape(x.shape(), &axes, false);
        let arrays = ((x, cpu::as_they_are::<X::Elem>()), (y, cpu::as_they_are::<Y::Elem>()));
        let data = on_threads(self.threads, |threads| {
            // SAFETY: the elements of a view are of its type.
            unsafe { cpu::reduce("zip", arrays, &axes, cpu::Any(Pair), &Tree(reducer), threads) }
        })??;
        Ok(Tensor { shape, data })
    }
}

/// The dtype of the first array, which is one of floats, is that of results.
impl<X: View<Elem: Element<Mean = X::Elem>> + ?Sized, Y: View + ?Sized> Zip<'_, X, Y> {
    fn result(
        self,
        of: impl FnOnce(ArrayRef<'_>, ArrayRef<'_>, &Pairs<'_>) -> Result<Array, Error>,
    ) -> Result<Tensor<X::Elem>, Error> {
        let options = Pairs { axes: self.axes.as_deref(), gradient: None, threads: self.threads };
        Ok(tensor(of(self.x.view()?, self.y.view()?, &options)?))
    }

    fn loss(self, loss: Loss) -> Result<Tensor<X::Elem>, Error> {
        let reduction = self.reduction;
        self.result(|x, y, options| rows::loss(loss, x, y, reduction, options))
    }

    /// The sum of the products.
    ///
    /// ```
    /// assert_eq!(warpfold::zip(&[1.0f32, 2.0], &[3.0f32, 4.0]).dot()?.item(), Some(11.0));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// Bad axes; arrays of different shapes, or not of floats; [`Error::Memory`].
    pub fn dot(self) -> Result<Tensor<X::Elem>, Error> {
        self.result(rows::dot)
    }

    /// The squares of the differences.
    ///
    /// ```
    /// assert_eq!(warpfold::zip(&[1.0f32, 2.0], &[3.0f32, 2.0]).mse()?.item(), Some(2.0));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Zip::dot`].
    pub fn mse(self) -> Result<Tensor<X::Elem>, Error> {
        self.loss(Loss::Mse)
    }

    /// The absolute differences.
    ///
    /// ```
    /// assert_eq!(warpfold::zip(&[1.0f32, 2.0], &[3.0f32, 2.0]).l1()?.item(), Some(1.0));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Zip::dot`].
    pub fn l1(self) -> Result<Tensor<X::Elem>, Error> {
        self.loss(Loss::L1)
    }

    /// Half the squares of differences up to `delta`, and of greater ones the tangent: [`Loss::Huber`].
    ///
    /// ```
    /// assert_eq!(warpfold::zip(&[1.0f32, 4.0], &[0.0f32, 0.0]).huber(1.0)?.item(), Some(2.0));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Zip::dot`]; a delta that is not positive.
    pub fn huber(self, delta: f64) -> Result<Tensor<X::Elem>, Error> {
        self.loss(Loss::Huber { delta })
    }

    /// The divergence of the second array's distributions from those whose logarithms the first has: [`Loss::KlDiv`].
    ///
    /// ```
    /// let (x, y) = ([0.5f64.ln(), 0.5f64.ln()], [1.0f64, 0.0]);
    /// let sum = warpfold::rows::LossReduction::Sum;
    /// assert_eq!(warpfold::zip(&x, &y).reduction(sum).kl_div(false)?.item(), Some(2f64.ln()));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Zip::dot`].
    pub fn kl_div(self, log_target: bool) -> Result<Tensor<X::Elem>, Error> {
        self.loss(Loss::KlDiv { log_target })
    }

    /// The cross-entropies of the second array's probabilities and the first's logits.
    ///
    /// ```
    /// assert_eq!(warpfold::zip(&[0.0f64], &[1.0f64]).bce_with_logits()?.item(), Some(2f64.ln()));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Zip::dot`].
    pub fn bce_with_logits(self) -> Result<Tensor<X::Elem>, Error> {
        self.loss(Loss::BceWithLogits)
    }

    /// The cosine of the angle; a norm below `epsilon` counts as `epsilon`: [`rows::cosine_similarity`].
    ///
    /// ```
    /// assert_eq!(warpfold::zip(&[3.0f32, 4.0], &[6.0f32, 8.0]).cosine_similarity(1e-8)?.item(), Some(1.0));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Zip::dot`].
    pub fn cosine_similarity(self, epsilon: f64) -> Result<Tensor<X::Elem>, Error> {
        self.result(|x, y, options| rows::cosine_similarity(x, y, epsilon, options))
    }
}
