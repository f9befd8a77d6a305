//! The options of pooling, and their check.

use warpfold_array::{Array, Error, PoolError, RowError, elements, memory};
use warpfold_core::DType;
use warpfold_core::pool::{Divisor, Window};

use super::reach::Reach;

/// Windows over the last axes of an array, and what else pooling is told. The names are those of PyTorch.
///
/// ```
/// use warpfold::{ArrayRef, pool};
///
/// let x = ArrayRef::flat(&[1.0f32, 3.0, 2.0, 5.0]);
/// let options = pool::Pool { kernel_size: &[2], stride: &[1], ..pool::Pool::default() };
/// assert_eq!(pool::avg_pool(x, &options)?.into_vec::<f32>().unwrap(), [2.0, 2.5, 3.5]);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Pool<'a> {
    /// Elements of a window along each of the last one to three axes, outermost first.
    pub kernel_size: &'a [usize],
    /// From a window to the next, along each axis. Empty: `kernel_size`, so that windows do not overlap.
    pub stride: &'a [usize],
    /// Elements of padding before and after each axis, at most half of the window's. Empty: none.
    pub padding: &'a [usize],
    /// From an element of a window to the next. Empty: 1. Only of `max_pool`.
    pub dilation: &'a [usize],
    /// Whether a last window may go beyond the padding, if it begins before the padding's end.
    pub ceil_mode: bool,
    /// Whether `avg_pool` divides by the number of elements with their padding. Default true.
    pub count_include_pad: bool,
    /// What `avg_pool` divides by in place of a count; not 0.
    pub divisor_override: Option<i64>,
    /// How many threads; `None`: as many as rayon's current pool has.
    pub threads: Option<usize>,
}

impl Default for Pool<'_> {
    fn default() -> Self {
        Self {
            kernel_size: &[],
            stride: &[],
            padding: &[],
            dilation: &[],
            ceil_mode: false,
            count_include_pad: true,
            divisor_override: None,
            threads: None,
        }
    }
}

/// A call whose windows fit the array. There are always three axes; outer ones may have length 1.
pub struct Call {
    /// The operation.
    pub op: &'static str,
    /// The windows along the last axes.
    pub windows: [Window; 3],
    /// The last axes of the inputs.
    pub inputs: [usize; 3],
    /// The last axes of the outputs.
    pub outputs: [usize; 3],
    /// The product of all other axes.
    pub planes: usize,
    /// Of the inputs.
    pub input_shape: Vec<usize>,
    /// Of the outputs.
    pub output_shape: Vec<usize>,
    /// The last axes, by their numbers.
    pub axes: Vec<usize>,
    /// As [`Pool::threads`].
    pub threads: Option<usize>,
}

impl Call {
    /// Checks the windows over inputs of a shape.
    ///
    /// # Errors
    /// As those of [`super::avg_pool`].
    pub fn new(op: &'static str, shape: &[usize], options: &Pool<'_>) -> Result<Self, Error> {
        let (axes, rank) = (options.kernel_size.len(), shape.len());
        if !(1..=3).contains(&axes) || axes > rank {
            return Err(PoolError::Axes { op, axes, rank }.into());
        }
        let given = |what: &'static str, numbers: &[usize]| match numbers.len() {
            0 => Ok(()),
            found if found == axes => Ok(()),
            found => Err(PoolError::Numbers { op, what, axes, found }),
        };
        given("stride", options.stride)?;
        given("padding", options.padding)?;
        given("dilation", options.dilation)?;
        let (mut windows, mut inputs, mut outputs) = ([Window::default(); 3], [1; 3], [1; 3]);
        for axis in 0..axes {
            let of = |numbers: &[usize], default: usize| numbers.get(axis).copied().unwrap_or(default);
            let size = options.kernel_size[axis];
            let window = Window {
                size,
                stride: of(options.stride, size),
                padding: of(options.padding, 0),
                dilation: of(options.dilation, 1),
                ceil_mode: options.ceil_mode,
            };
            let (at, len) = (axis + 3 - axes, shape[rank - axes + axis]);
            (windows[at], inputs[at], outputs[at]) = (window, len, windows_of(op, window, len, shape)?);
        }
        let outer = &shape[..rank - axes];
        let output_shape: Vec<usize> = outer.iter().chain(&outputs[3 - axes..]).copied().collect();
        // With the size of an index, the largest of a result's elements.
        elements(&output_shape, size_of::<i64>())?;
        elements(shape, size_of::<f64>())?;
        Ok(Self {
            op,
            windows,
            inputs,
            outputs,
            planes: outer.iter().product(),
            input_shape: shape.to_vec(),
            output_shape,
            axes: (rank - axes..rank).collect(),
            threads: options.threads,
        })
    }

    /// [`Call::new`], of the gradient of outputs, which has the shape: `size` has the lengths of the inputs' last axes.
    ///
    /// # Errors
    /// As those of [`super::avg_pool_backward`].
    pub fn backward(op: &'static str, shape: &[usize], size: &[usize], options: &Pool<'_>) -> Result<Self, Error> {
        let axes = options.kernel_size.len();
        if size.len() != axes {
            return Err(PoolError::Numbers { op, what: "the size of the inputs", axes, found: size.len() }.into());
        }
        let outer = &shape[..shape.len().saturating_sub(axes)];
        let call = Self::new(op, &[outer, size].concat(), options)?;
        call.alike("the gradient", shape)?;
        Ok(call)
    }

    /// Checks that there is room for what a CPU notes of windows, or of gradients.
    pub(super) fn afford(&self, backward: bool) -> Result<(), Error> {
        // The taps of windows that are elements, and their places.
        let taps = (0..3).map(|axis| {
            let (Window { size, stride, .. }, len) = (self.windows[axis], self.inputs[axis]);
            size.min((self.outputs[axis] - 1).saturating_mul(stride.min(len)).saturating_add(len))
        });
        memory::afford("the elements of a window", taps.fold(1, usize::saturating_mul), 4 * size_of::<u64>())?;
        if backward {
            // Inputs a stride apart are groups.
            let groups = self.windows.iter().zip(self.inputs).map(|(window, len)| window.stride.min(len));
            memory::afford("the windows of elements", groups.sum(), 16 * size_of::<u64>())?;
        }
        Ok(())
    }

    /// [`Call::backward`] of `max_pool`, from the dtypes and shapes of the gradient and of the indices.
    ///
    /// # Errors
    /// As those of [`super::max_pool_backward`], but for the indices themselves.
    pub fn max_backward(
        (dtype, shape): &(DType, Vec<usize>),
        (of_indices, shape_of_indices): &(DType, Vec<usize>),
        size: &[usize],
        options: &Pool<'_>,
    ) -> Result<Self, Error> {
        let call = Self::backward("max_pool_backward", shape, size, options)?;
        floats(call.op, "the gradient", *dtype)?;
        call.alike("the indices", shape_of_indices)?;
        match of_indices {
            DType::I64 => Ok(call),
            &dtype => Err(PoolError::IndexDType { dtype }.into()),
        }
    }

    /// Checks that an array has the shape of the outputs.
    ///
    /// # Errors
    /// If it has not.
    pub fn alike(&self, what: &'static str, shape: &[usize]) -> Result<(), Error> {
        let (expected, found) = (self.output_shape.clone(), shape.to_vec());
        if expected == found { Ok(()) } else { Err(RowError::Shape { op: self.op, what, expected, found }.into()) }
    }

    /// What outputs take along each axis.
    pub(super) fn forward_reach(&self) -> [Reach; 3] {
        [0, 1, 2].map(|axis| Reach::forward(self.windows[axis], self.inputs[axis], self.outputs[axis]))
    }

    /// What inputs take along each axis.
    pub(super) fn backward_reach(&self) -> [Reach; 3] {
        [0, 1, 2].map(|axis| Reach::backward(self.windows[axis], self.inputs[axis], self.outputs[axis]))
    }
}

/// The number of windows of an axis, at least one.
fn windows_of(op: &'static str, window: Window, len: usize, shape: &[usize]) -> Result<usize, Error> {
    let Window { size, stride, padding, dilation, .. } = window;
    for (what, number) in [("kernel_size", size), ("stride", stride), ("dilation", dilation)] {
        if number == 0 {
            return Err(PoolError::Zero { op, what }.into());
        }
    }
    if padding > size / 2 {
        return Err(PoolError::Padding { op, padding, size }.into());
    }
    if len == 0 {
        return Err(PoolError::Nothing { op, shape: shape.to_vec() }.into());
    }
    match (window.outputs(len), window.extent()) {
        (Some(0), Some(extent)) => Err(PoolError::NoWindow { op, len, extent, padding }.into()),
        (Some(outputs), _) => Ok(outputs),
        (None, _) => Err(PoolError::Overflow { op, size, stride, padding, dilation }.into()),
    }
}

/// Checks that elements are floats.
///
/// # Errors
/// If they are not.
pub fn floats(op: &'static str, what: &'static str, dtype: DType) -> Result<(), Error> {
    if dtype.is_float() { Ok(()) } else { Err(RowError::NotFloats { op, what, dtype }.into()) }
}

/// The divisor of a call of `avg_pool`, whose other options fit it.
///
/// # Errors
/// For a divisor of 0, and for dilation.
pub fn divisor(op: &'static str, options: &Pool<'_>) -> Result<Divisor, Error> {
    if options.dilation.iter().any(|&step| step != 1) {
        return Err(PoolError::Option { op, option: "dilation" }.into());
    }
    match options.divisor_override {
        Some(0) => Err(PoolError::Zero { op, what: "divisor_override" }.into()),
        Some(n) => Ok(Divisor::Fixed(n)),
        None if options.count_include_pad => Ok(Divisor::Padded),
        None => Ok(Divisor::Elements),
    }
}

/// The values of `max_pool`, and where they are.
#[derive(Clone, Debug, PartialEq)]
pub struct MaxPool {
    /// The greatest element of each window.
    pub values: Array,
    /// Its index, in row-major order of the window's axes, if indices were asked for: i64.
    pub indices: Option<Array>,
}
