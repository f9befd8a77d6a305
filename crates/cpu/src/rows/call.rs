//! What all operations on rows share: the check of their arrays, and the results.

use warpfold_array::problem::normalize_axes;
use warpfold_array::{Array, ArrayRef, Error, RowError, Value, Values, memory};
use warpfold_core::{DType, Element, with_dtype};

use crate::gather::Gather;
use crate::output::{Output, large_pages};
use crate::reduction::on_threads;

use super::engine::{Input, RowOp, Work};
use super::lines::{Lines, Part, RowFloat};

/// Names the float that a dtype is computed in.
macro_rules! with_float {
    ($dtype:expr, $f:ident => $of:expr) => {
        match $dtype {
            warpfold_core::DType::F64 => {
                type $f = f64;
                $of
            }
            _ => {
                type $f = f32;
                $of
            }
        }
    };
}
pub(crate) use with_float;

/// A call of an operation, whose first array and axes have been checked.
pub struct Call<'a> {
    /// The operation.
    pub op: &'static str,
    /// The first array.
    x: ArrayRef<'a>,
    /// The axes of a row, sorted.
    pub axes: Vec<usize>,
    /// The number of rows.
    pub rows: usize,
    /// Elements of a row.
    pub len: usize,
    threads: Option<usize>,
    /// Where the results of all elements go, in place of new memory.
    to: Option<Lines>,
}

/// The results of a call.
pub struct Results<F, S> {
    /// What each row was reduced to, if it was asked for.
    pub stats: Vec<S>,
    /// Sums down the rows.
    pub columns: Vec<Vec<F>>,
    /// The results of all elements, if they were asked for.
    pub array: Option<Array>,
    /// The elements of the first input after they were prepared, if the operation keeps them.
    pub prepared: Option<Array>,
}

/// The results that are asked for, beside sums down the rows.
#[derive(Clone, Copy)]
pub struct Want {
    /// What each row is reduced to.
    pub stats: bool,
    /// The results of all elements.
    pub array: bool,
}

impl<'a> Call<'a> {
    /// Checks the first array and the axes.
    ///
    /// # Errors
    /// No floats; bad axes.
    pub fn new(op: &'static str, x: ArrayRef<'a>, axes: &[isize], threads: Option<usize>) -> Result<Self, Error> {
        let axes = normalize_axes(Some(axes), x.shape().len())?;
        let len = axes.iter().map(|&axis| x.shape()[axis]).product();
        let rows = (0..x.shape().len()).filter(|axis| !axes.contains(axis)).map(|axis| x.shape()[axis]).product();
        let call = Self { op, x, axes, rows, len, threads, to: None };
        call.floats("the elements", x.dtype())?;
        Ok(call)
    }

    /// The call with its results in memory that is there: that of the first array, or memory that no array has. Then
    /// they are no array of the results.
    ///
    /// # Safety
    /// The lines, of the shape of the first array along the axes of a row, are writable while the call runs, and nobody
    /// else uses them.
    pub unsafe fn to(self, to: Lines) -> Self {
        Self { to: Some(to), ..self }
    }

    /// Checks that a dtype is one of floats.
    ///
    /// # Errors
    /// [`RowError::NotFloats`].
    pub fn floats(&self, what: &'static str, dtype: DType) -> Result<(), Error> {
        match dtype.is_float() {
            true => Ok(()),
            false => Err(RowError::NotFloats { op: self.op, what, dtype }.into()),
        }
    }

    /// Checks that an array has a shape.
    ///
    /// # Errors
    /// [`RowError::Shape`].
    pub fn shape(&self, what: &'static str, array: &ArrayRef<'_>, expected: &[usize]) -> Result<(), Error> {
        let (expected, found) = (expected.to_vec(), array.shape().to_vec());
        if expected == found { Ok(()) } else { Err(RowError::Shape { op: self.op, what, expected, found }.into()) }
    }

    /// Checks that an array has floats, and the shape of the first.
    ///
    /// # Errors
    /// [`RowError::NotFloats`], [`RowError::Shape`].
    pub fn alike(&self, what: &'static str, array: &ArrayRef<'_>) -> Result<(), Error> {
        self.floats(what, array.dtype())?;
        self.shape(what, array, self.x.shape())
    }

    /// The lengths of the axes of a row, or of the others.
    pub fn lengths(&self, of_row: bool) -> Vec<usize> {
        let shape = self.x.shape().iter().enumerate();
        shape.filter(|(axis, _)| self.axes.contains(axis) == of_row).map(|(_, &len)| len).collect()
    }

    /// An array as an input.
    pub fn input<F: RowFloat>(&self, array: ArrayRef<'_>) -> Input<F> {
        let gather = F::gather(array.dtype(), array.is_swapped(), F::DTYPE);
        Input { lines: Lines::of(&array, &self.axes), gather }
    }

    /// The results of all elements.
    ///
    /// # Errors
    /// [`Error::Memory`], [`Error::Threads`].
    pub fn map<F: RowFloat, O: RowOp<F>>(
        &self,
        op: &O,
        inputs: &[Input<F>],
        mask: Option<&Input<u8>>,
    ) -> Result<Array, Error> {
        let results = self.run(op, inputs, mask, Want { stats: false, array: true })?;
        Ok(results.array.expect("the array was asked for"))
    }

    /// Computes what is asked for. The inputs are arrays of the call's shape.
    ///
    /// # Errors
    /// [`Error::Memory`], [`Error::Threads`].
    pub fn run<F: RowFloat, O: RowOp<F>>(
        &self,
        op: &O,
        inputs: &[Input<F>],
        mask: Option<&Input<u8>>,
        want: Want,
    ) -> Result<Results<F, O::Stat>, Error> {
        let &Self { x, rows, len, ref axes, .. } = self;
        let (dtype, fresh) = (x.dtype(), want.array && self.to.is_none());
        let mut stats = memory::room("what rows are reduced to", if want.stats { rows } else { 0 })?;
        let elements = if fresh { rows * len } else { 0 };
        let kept = if op.keeps_prepared() { rows * len } else { 0 };
        let [mut array, mut prepared] = [room(dtype, elements)?, room(dtype, kept)?];
        let mut columns = vec![vec![F::ZERO; len]; op.columns()];
        if rows > 0 && len > 0 {
            let places = Output::new(&mut stats.spare_capacity_mut()[..if want.stats { rows } else { 0 }]);
            let output = |values: &mut Values, n| Lines::dense(base(values, n), dtype, x.shape(), axes);
            let prepared = op.keeps_prepared().then(|| output(&mut prepared, kept));
            let output = fresh.then(|| output(&mut array, elements));
            let to = self.to.as_ref().filter(|_| want.array);
            columns = on_threads(self.threads, |threads| {
                let (output, prepared, overwrites) = (output.as_ref().or(to), prepared.as_ref(), to.is_some());
                let stats = want.stats.then_some(&places);
                let work = Work { op, inputs, mask, output, overwrites, prepared, stats, rows, len, threads };
                // SAFETY: an ArrayRef's elements are readable, and all inputs have the shape of the first array, whose
                // rows along these axes are as many, and so long. The results are new memory, with room for all, or
                // that of `Call::to`.
                unsafe { work.run() }
            })?;
        } else if want.stats {
            // Rows of no elements; their operations have no use for what they are reduced to.
            stats.resize(rows, O::Stat::default());
        }
        // SAFETY: `run` has written the place of each row and each element of the outputs.
        unsafe {
            stats.set_len(if want.stats { rows } else { 0 });
            written(&mut array, elements);
            written(&mut prepared, kept);
        }
        let of_shape = |values| Array { shape: x.shape().to_vec(), values };
        let array = fresh.then(|| of_shape(array));
        let prepared = op.keeps_prepared().then(|| of_shape(prepared));
        Ok(Results { stats, columns, array, prepared })
    }
}

/// An array without elements yet, which has room for `n`.
fn room(dtype: DType, n: usize) -> Result<Values, Error> {
    Ok(with_dtype!(dtype, T => T::wrap(memory::room("the result", n)?)))
}

/// A new array, whose elements `write` writes to an address, in C order.
///
/// # Errors
/// [`Error::Memory`], and those of `write`.
///
/// # Safety
/// `write` writes all elements, or returns an error.
pub unsafe fn created<T>(
    dtype: DType,
    shape: Vec<usize>,
    write: impl FnOnce(*mut u8) -> Result<T, Error>,
) -> Result<(Array, T), Error> {
    let n = shape.iter().product();
    let mut values = room(dtype, n)?;
    let of = write(base(&mut values, n))?;
    // SAFETY: the caller vouches for all elements.
    unsafe { written(&mut values, n) };
    Ok((Array { shape, values }, of))
}

/// The address of the elements of an array without elements yet, which has room for `n`.
fn base(values: &mut Values, n: usize) -> *mut u8 {
    warpfold_array::each!(Values, values, v => {
        large_pages(&mut v.spare_capacity_mut()[..n]);
        v.as_mut_ptr().cast()
    })
}

/// Makes the first `n` elements of an array its elements.
///
/// # Safety
/// They are written.
unsafe fn written(values: &mut Values, n: usize) {
    // SAFETY: the caller's.
    warpfold_array::each!(Values, values, v => unsafe { v.set_len(n) })
}

/// All elements of an array in row-major order, converted by `gather`.
///
/// # Errors
/// [`Error::Memory`].
pub fn elements<T: Element>(array: &ArrayRef<'_>, gather: Gather<T>) -> Result<Vec<T>, Error> {
    let axes: Vec<usize> = (0..array.shape().len()).collect();
    let n = array.len();
    let mut elements = memory::room("the elements", n)?;
    if n > 0 {
        let part = Part { rows: 0..1, from: 0, n };
        // SAFETY: an ArrayRef's elements are readable, and all are one row along all axes; there is room for all.
        unsafe {
            Lines::of(array, &axes).load(gather, &part, elements.as_mut_ptr());
            elements.set_len(n);
        }
    }
    Ok(elements)
}

/// All elements of an array of floats in row-major order.
///
/// # Errors
/// [`Error::Memory`].
pub fn floats<F: RowFloat>(array: &ArrayRef<'_>) -> Result<Vec<F>, Error> {
    elements(array, F::gather(array.dtype(), array.is_swapped(), F::DTYPE))
}

/// An array of a dtype and shape in C order, all of whose elements `fill` writes, as rows along some axes.
///
/// # Safety
/// `fill` writes all elements, or returns an error.
///
/// # Errors
/// [`Error::Memory`]; what `fill` returns.
pub unsafe fn with_results(
    dtype: DType,
    shape: Vec<usize>,
    axes: &[usize],
    fill: impl FnOnce(&Lines) -> Result<(), Error>,
) -> Result<Array, Error> {
    let n = shape.iter().product();
    let mut values = with_dtype!(dtype, T => T::wrap(memory::room("the result", n)?));
    fill(&Lines::dense(base(&mut values, n), dtype, &shape, axes))?;
    // SAFETY: the caller vouches for `fill`.
    unsafe { written(&mut values, n) };
    Ok(Array { shape, values })
}

/// Floats rounded to a dtype, as an array of a shape.
///
/// # Errors
/// [`Error::Memory`].
pub fn rounded<F: RowFloat>(floats: &[F], dtype: DType, shape: Vec<usize>) -> Result<Array, Error> {
    let n = floats.len();
    let write = |base| {
        // SAFETY: the new array has room for `n` elements.
        unsafe { Lines::dense(base, dtype, &[n], &[0]).store(&Part { rows: 0..1, from: 0, n }, floats) };
        Ok(())
    };
    // SAFETY: all elements are written.
    Ok(unsafe { created(dtype, shape, write) }?.0)
}
