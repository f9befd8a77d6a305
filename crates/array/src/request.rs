//! A reduction whose options have been checked: op, dtypes, canonical problem.

use warpfold_core::{Cast, DType, Kind};

use crate::error::Error;
use crate::layout::ArrayRef;
use crate::op::{Op, Ord, Precision};
use crate::options::Options;
use crate::problem::{At, Problem, normalize_axes, result_shape};
use crate::values::{Hole, Scalar, Values};

/// A reduction without the shape of the array. It decides which code runs.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The reduction.
    pub op: Op,
    /// The dtype in memory.
    pub input: DType,
    /// Whether the byte order is not this machine's.
    pub swapped: bool,
    /// The dtype that elements are cast to first, which is also the result's; `None`: NumPy's rules.
    pub dtype: Option<DType>,
    /// Plain or double words.
    pub precision: Precision,
    /// Whether NaNs are skipped.
    pub skip_nan: bool,
    /// Whether there is a mask.
    pub masked: bool,
    /// One more element on the left.
    pub initial: Option<Cast>,
    /// For var and std.
    pub ddof: f64,
    /// For norm.
    pub ord: Ord,
    /// For the variance of floats on a GPU: how many bytes behind the results their means are written. Zero: nowhere.
    pub means: usize,
}

impl Spec {
    /// A reduction with default options.
    pub fn without_options(op: Op, input: DType) -> Self {
        Self {
            op,
            input,
            swapped: false,
            dtype: None,
            precision: Precision::Tree,
            skip_nan: false,
            masked: false,
            initial: None,
            ddof: 0.0,
            ord: Ord::Two,
            means: 0,
        }
    }

    /// The dtype of the result.
    pub fn result(&self) -> DType {
        self.dtype.unwrap_or(self.op.result_dtype(self.input))
    }

    /// The dtype that the kernel reads; elements of another one are converted in tiles on the way in.
    pub fn kernel_dtype(&self) -> DType {
        match self.op {
            _ if self.reads_halves() => self.input,
            Op::Any | Op::All | Op::CountNonzero => bits(self.input, false),
            Op::Min | Op::Max | Op::MinMax | Op::ArgMin | Op::ArgMax => bits(self.input, true),
            Op::Prod if !self.result().is_float() => DType::I64,
            Op::Sum => match self.dtype {
                Some(dtype) if dtype != self.op.result_dtype(self.input) => widen(dtype),
                _ => widen(self.input),
            },
            Op::Mean if self.dtype.is_none() && self.masked && !self.input.is_float() => match self.input {
                DType::U64 => DType::U64,
                _ => DType::I64,
            },
            Op::Mean if self.dtype.is_none() => widen(self.input),
            Op::Var | Op::Std if self.reads_integers() => widen(self.input),
            _ => widen(self.result()),
        }
    }

    /// Whether this is one of the common reductions of 16-bit floats that have kernels of their own.
    fn reads_halves(&self) -> bool {
        let hot = match self.op {
            Op::Norm if self.ord == Ord::Inf => false,
            Op::Sum | Op::Mean | Op::Var | Op::Std | Op::Norm => self.precision == Precision::Tree,
            Op::Min | Op::Max | Op::ArgMin | Op::ArgMax => true,
            _ => false,
        };
        let same = self.dtype.is_none_or(|dtype| dtype == self.input);
        hot && same && !self.masked && matches!(self.input, DType::F16 | DType::BF16)
    }

    /// Whether this is a variance of integers of at most 32 bits, which has kernels of its own.
    fn reads_integers(&self) -> bool {
        let plain = !self.masked && !self.skip_nan && self.precision == Precision::Tree;
        plain && self.result() == DType::F64 && !self.input.is_float() && self.input.size() <= 4
    }

    /// Whether the kernel reads the elements without a conversion.
    pub fn reads_in_place(&self) -> bool {
        let kernel = self.kernel_dtype();
        // Of a bool any byte but 0 is true, so bytes must not be compared.
        let compares = self.op.selects() && self.input != DType::Bool;
        let same_bits = self.input == kernel
            || ((compares || self.op.logical()) && self.input.size() == kernel.size() && !kernel.is_float());
        // A 16-bit result means that elements are rounded to 16 bits first.
        let rounded = matches!(self.result(), DType::F16 | DType::BF16) && self.result() != self.input;
        same_bits && !rounded && !self.swapped
    }
}

/// 16-bit floats as f32, bools as bytes.
fn widen(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        DType::Bool => DType::U8,
        other => other,
    }
}

/// Integers and bools as integers of their size.
fn bits(dtype: DType, signed: bool) -> DType {
    match (dtype.size(), dtype.is_float(), signed) {
        (_, true, _) => widen(dtype),
        (1, _, true) => DType::I8,
        (2, _, true) => DType::I16,
        (4, _, true) => DType::I32,
        (_, _, true) => DType::I64,
        (1, ..) => DType::U8,
        (2, ..) => DType::U16,
        (4, ..) => DType::U32,
        _ => DType::U64,
    }
}

/// The reduction of an array with options, before they are checked.
pub fn spec(op: Op, array: &ArrayRef<'_>, options: &Options<'_>) -> Spec {
    Spec {
        op,
        input: array.dtype(),
        swapped: array.is_swapped(),
        dtype: options.dtype,
        precision: options.precision,
        skip_nan: options.skip_nan && array.dtype().is_float(),
        masked: options.mask.is_some(),
        // In the dtype of the elements first, so that unsigned integers keep their bits.
        initial: options.initial.map(|x| initial(op, x, array.dtype())),
        ddof: options.ddof.unwrap_or(0.0),
        ord: options.ord.unwrap_or_default(),
        means: 0,
    }
}

/// The initial value as kernels take it. For min and max, an element.
fn initial(op: Op, x: Scalar, dtype: DType) -> Cast {
    if !op.selects() {
        return x.to_cast();
    }
    let element = match x.to_cast() {
        Cast::Signed(v) => Values::I64(vec![v]),
        Cast::Unsigned(v) => Values::U64(vec![v]),
        Cast::Float(v) => Values::F64(vec![v]),
    };
    element.cast(dtype).get(0).to_cast()
}

/// A reduction whose options have been checked.
pub struct Request<'a> {
    /// Op, dtype and options.
    pub spec: Spec,
    /// The canonical form.
    pub problem: Problem,
    /// The axes to reduce, sorted.
    pub axes: Vec<usize>,
    array: &'a ArrayRef<'a>,
    options: &'a Options<'a>,
}

impl<'a> Request<'a> {
    /// Checks the options, and brings the problem into its canonical form.
    ///
    /// # Errors
    /// Bad axes, a mask that does not fit, options that the reduction does not have.
    pub fn new(op: Op, array: &'a ArrayRef<'a>, options: &'a Options<'a>) -> Result<Self, Error> {
        check(op, array.dtype(), options)?;
        let axes = normalize_axes(options.axes.as_deref(), array.shape().len())?;
        let problem = Problem::new(array, &axes, options.mask.as_ref())?;
        Ok(Self { spec: spec(op, array, options), problem, axes, array, options })
    }

    /// The options.
    pub fn options(&self) -> &'a Options<'a> {
        self.options
    }

    /// The array to reduce.
    pub fn array(&self) -> &'a ArrayRef<'a> {
        self.array
    }

    /// The shape of the result.
    pub fn shape(&self) -> Vec<usize> {
        let mut shape = result_shape(self.array.shape(), &self.axes, self.options.keepdims);
        if self.spec.op == Op::MinMax {
            shape.push(2);
        }
        shape
    }

    /// The error of an output without a value.
    pub fn hole(&self, hole: Hole) -> Error {
        hole_error(hole, self.spec.op, self.array.dtype(), self.array.shape(), &self.axes)
    }
}

/// The error of an output without a value.
pub fn hole_error(hole: Hole, op: Op, dtype: DType, shape: &[usize], axes: &[usize]) -> Error {
    let (shape, axes) = (shape.to_vec(), axes.to_vec());
    match hole {
        Hole::Empty => Error::Empty { op, dtype, shape, axes },
        Hole::AllNan => Error::AllNan { op, shape, axes },
    }
}

/// Refuses options that the reduction does not have.
fn check(op: Op, dtype: DType, options: &Options<'_>) -> Result<(), Error> {
    let no = |option, why| Err(Error::Unsupported { op, dtype, option, why });
    if let Some(to) = options.dtype {
        if op.selects() || op.logical() {
            return no("dtype", "its result is an element, an index, a count or a bool; cast the result instead");
        }
        if to.kind() == Kind::Bool {
            return no("dtype=bool", "use any or all, or cast the result");
        }
        if dtype.is_float() && !to.is_float() {
            return no(
                "an integer dtype",
                "casting floats to integers loses their fractions; do it yourself if you mean it",
            );
        }
        if !matches!(op, Op::Sum | Op::Prod) && !to.is_float() {
            return no("an integer dtype", "its result is not an integer; ask for f16, bf16, f32 or f64");
        }
    }
    if options.initial.is_some() && !matches!(op, Op::Sum | Op::Prod | Op::Min | Op::Max) {
        return no("initial", "only sum, prod, min and max start from a value");
    }
    if options.ddof.is_some() && !matches!(op, Op::Var | Op::Std) {
        return no("ddof", "only var and std divide by a count less something");
    }
    if options.ddof.is_some_and(|d| !d.is_finite()) {
        return no("this ddof", "give a finite number, usually 0 or 1");
    }
    if options.ord.is_some() && op != Op::Norm {
        return no("ord", "only norm has an order");
    }
    if let Some(mask) = options.mask.filter(|m| m.dtype() != DType::Bool) {
        return Err(Error::MaskDType { dtype: mask.dtype() });
    }
    Ok(())
}

/// The addresses of the first element in canonical order and of its mask.
pub fn base(array: &ArrayRef<'_>, mask: Option<&ArrayRef<'_>>, problem: &Problem) -> At {
    let base = At { x: array.base(), mask: mask.map_or(std::ptr::null(), ArrayRef::base) };
    base.offset(problem.x_offset, problem.mask_offset)
}
