//! The checks of a call's arrays, with the errors of the CPU.

use warpfold_array::problem::{broadcast, normalize_axes};
use warpfold_array::{CudaError, Error, RowError};
use warpfold_core::DType;

use super::options::{CrossEntropy, Norm, Softmax};
use crate::reduce::layout::Layout;
use crate::view::ArrayView;

/// What an operation on rows is asked for.
pub struct Asked {
    /// The operation.
    pub op: &'static str,
    /// The axes of a row, sorted.
    pub axes: Vec<usize>,
    /// The mask's step along each axis of the array, if there is one.
    pub mask: Option<Vec<isize>>,
}

impl Asked {
    /// Checks the elements and the axes.
    ///
    /// # Errors
    /// As those of the CPU.
    pub fn new(op: &'static str, x: &ArrayView<'_>, axes: &[isize]) -> Result<Self, Error> {
        let axes = normalize_axes(Some(axes), x.shape().len())?;
        let asked = Self { op, axes, mask: None };
        asked.floats("the elements", x.dtype())?;
        Ok(asked)
    }

    /// Two arrays, and the axes that are reduced; `None`: all.
    ///
    /// # Errors
    /// As those of the CPU.
    pub fn pair(op: &'static str, [x, y]: [&ArrayView<'_>; 2], axes: Option<&[isize]>) -> Result<Self, Error> {
        let all: Vec<isize> = (0..x.shape().len() as isize).collect();
        let asked = Self::new(op, x, axes.unwrap_or(&all))?;
        asked.alike("the elements of the second array", y, x.shape())?;
        Ok(asked)
    }

    /// The gradient of a result of this shape.
    ///
    /// # Errors
    /// As those of the CPU.
    pub fn of_result(&self, gradient: &ArrayView<'_>, shape: &[usize]) -> Result<(), Error> {
        self.alike("the gradient", gradient, shape)
    }

    /// Softmax and its logarithm.
    ///
    /// # Errors
    /// As those of the CPU.
    pub fn softmax(op: &'static str, x: &ArrayView<'_>, axes: &[isize], options: &Softmax<'_>) -> Result<Self, Error> {
        let mut asked = Self::new(op, x, axes)?;
        if let Some(mask) = &options.mask {
            if mask.dtype() != DType::Bool {
                return Err(Error::MaskDType { dtype: mask.dtype() });
            }
            asked.mask = Some(broadcast(mask.layout(), x.layout())?);
        }
        Ok(asked)
    }

    /// The gradients of softmax and its logarithm.
    ///
    /// # Errors
    /// As those of the CPU.
    pub fn gradient(
        op: &'static str,
        y: &ArrayView<'_>,
        gradient: &ArrayView<'_>,
        axes: &[isize],
        _options: &Softmax<'_>,
    ) -> Result<Self, Error> {
        let asked = Self::new(op, y, axes)?;
        asked.alike("the gradients", gradient, y.shape())?;
        Ok(asked)
    }

    /// Norms.
    ///
    /// # Errors
    /// As those of the CPU.
    pub fn norm(op: &'static str, x: &ArrayView<'_>, axes: &[isize], options: &Norm<'_>) -> Result<Self, Error> {
        let asked = Self::new(op, x, axes)?;
        let expected: Vec<usize> = asked.axes.iter().map(|&axis| x.shape()[axis]).collect();
        for (what, array) in [("the weights", &options.weight), ("the biases", &options.bias)] {
            if let Some(array) = array {
                asked.alike(what, array, &expected)?;
            }
        }
        Ok(asked)
    }

    /// The gradients of norms.
    ///
    /// # Errors
    /// As those of the CPU.
    pub fn norm_gradient(
        op: &'static str,
        x: &ArrayView<'_>,
        gradient: &ArrayView<'_>,
        axes: &[isize],
        options: &Norm<'_>,
    ) -> Result<Self, Error> {
        let asked = Self::norm(op, x, axes, options)?;
        asked.alike("the gradients", gradient, x.shape())?;
        options.noted.iter().try_for_each(|noted| asked.noted(x, noted))?;
        Ok(asked)
    }

    /// Norms of channels, with weights, biases, means and variances of these.
    ///
    /// # Errors
    /// As those of the CPU.
    pub fn channels(
        op: &'static str,
        x: &ArrayView<'_>,
        gradient: Option<&ArrayView<'_>>,
        others: [Option<&ArrayView<'_>>; 4],
        channels: usize,
    ) -> Result<(), Error> {
        let asked = Self::new(op, x, &[])?;
        gradient.into_iter().try_for_each(|gradient| asked.alike("the gradients", gradient, x.shape()))?;
        for (what, array) in ["the weights", "the biases", "the means", "the variances"].into_iter().zip(others) {
            array.into_iter().try_for_each(|array| asked.alike(what, array, &[channels]))?;
        }
        Ok(())
    }

    /// What group norm has noted of so many samples and groups of `x`.
    ///
    /// # Errors
    /// If its shape is another, or it is not dense.
    pub fn noted_of_groups(
        op: &'static str,
        x: &ArrayView<'_>,
        noted: &ArrayView<'_>,
        [samples, groups]: [usize; 2],
    ) -> Result<(), Error> {
        let asked = Self::new(op, x, &[])?;
        asked.alike("what was noted", noted, &[2, samples, groups])?;
        dense(x, noted)
    }

    /// The means and variances that batch norm has found of `x`.
    ///
    /// # Errors
    /// If they are not dense, or of another dtype than it finds.
    pub fn noted_of_channels(x: &ArrayView<'_>, noted: [&ArrayView<'_>; 2]) -> Result<(), Error> {
        noted.into_iter().try_for_each(|noted| dense(x, noted))
    }

    /// What an earlier call has noted of the rows of `x`: two numbers for each.
    fn noted(&self, x: &ArrayView<'_>, noted: &ArrayView<'_>) -> Result<(), Error> {
        self.alike("what was noted", noted, &[&self.batch(x.shape())[..], &[2]].concat())?;
        dense(x, noted)
    }

    /// Cross-entropy of classes.
    ///
    /// # Errors
    /// As those of the CPU; classes that are not [`DType::I64`].
    pub fn classes(
        op: &'static str,
        logits: &ArrayView<'_>,
        targets: &ArrayView<'_>,
        axes: &[isize],
        options: &CrossEntropy<'_>,
    ) -> Result<Self, Error> {
        let asked = Self::new(op, logits, axes)?;
        if targets.dtype() != DType::I64 {
            return Err(RowError::NotIntegers { dtype: targets.dtype() }.into());
        }
        let (expected, found) = (asked.batch(logits.shape()), targets.shape().to_vec());
        if expected != found {
            return Err(RowError::Shape { op, what: "the targets", expected, found }.into());
        }
        let classes: Vec<usize> = asked.axes.iter().map(|&axis| logits.shape()[axis]).collect();
        if classes.contains(&0) {
            return Err(RowError::NoClasses { shape: logits.shape().to_vec(), axis: asked.axes[0] }.into());
        }
        if let Some(weights) = &options.weights {
            asked.alike("the weights", weights, &classes)?;
        }
        if let Some(scales) = options.scales.as_ref().filter(|scales| !scales.shape().is_empty()) {
            asked.alike("the gradients", scales, &expected)?;
        }
        options.noted.iter().try_for_each(|noted| asked.noted(logits, noted))?;
        options.scales.iter().try_for_each(|scales| asked.floats("the gradients", scales.dtype()))?;
        Ok(asked)
    }

    /// The shape of what has an element for each row.
    pub fn batch(&self, shape: &[usize]) -> Vec<usize> {
        (0..shape.len()).filter(|axis| !self.axes.contains(axis)).map(|axis| shape[axis]).collect()
    }

    /// Checks that an array has floats, and a shape.
    fn alike(&self, what: &'static str, array: &ArrayView<'_>, expected: &[usize]) -> Result<(), Error> {
        self.floats(what, array.dtype())?;
        let (op, expected, found) = (self.op, expected.to_vec(), array.shape().to_vec());
        if expected == found { Ok(()) } else { Err(RowError::Shape { op, what, expected, found }.into()) }
    }

    fn floats(&self, what: &'static str, dtype: DType) -> Result<(), Error> {
        let op = self.op;
        if dtype.is_float() { Ok(()) } else { Err(RowError::NotFloats { op, what, dtype }.into()) }
    }
}

/// Whether what was noted of `x` is dense, of the dtype that is computed in.
fn dense(x: &ArrayView<'_>, noted: &ArrayView<'_>) -> Result<(), Error> {
    let wide = if x.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
    let mut step = wide.size() as isize;
    let is_empty = noted.shape().contains(&0);
    let is_dense = noted.shape().iter().zip(noted.strides()).rev().all(|(&len, &own)| {
        let is_next = len == 1 || own == step;
        step = step.wrapping_mul(len as isize);
        is_next
    });
    if noted.dtype() == wide && (is_dense || is_empty) {
        return Ok(());
    }
    let (found, expected) = (Layout::of(noted.layout()).to_string(), format!("{wide}, dense in C order"));
    Err(CudaError::Layout { what: "array that was noted", found, expected }.into())
}
