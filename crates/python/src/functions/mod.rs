//! The reductions as functions of Python, with the names, the arguments and the order of arguments of NumPy.

use pyo3::prelude::*;

/// An argument that may be anything, or left out.
type Object<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// The docstring of a reduction: its first line, the options that it takes, what it returns, examples.
macro_rules! doc {
    ($first:literal, [$($section:ident)*], $returns:literal, $example:literal) => {
        concat!(
            $first,
            "\n\nParameters\n----------\nx : array\n    An array of any library, where it is: NumPy, PyTorch, CuPy, \
             JAX, pandas, polars, pyarrow,\n    anything with `__dlpack__`, `__cuda_array_interface__`, \
             `__array_interface__` or the buffer protocol;\n    or a list, which is copied, or a number.\n",
            $(doc!(@ $section),)*
            "device : str, optional\n    `\"cpu\"`, `\"cuda\"`, `\"cuda:1\"`: where to compute; by default where the \
             array is.\n    The bits do not depend on it.\n",
            "\nReturns\n-------\n", $returns,
            "\n\nRaises\n------\nTypeError\n    For what is no array, a dtype that Warpfold does not have, \
             an option that the reduction does not take.\nValueError\n    For arguments of a wrong shape, and \
             results that do not exist, such as the least of no elements.\n\
             numpy.exceptions.AxisError\n    For an axis that is not there.\n\
             MemoryError\n    For a result that memory does not hold.\nwarpfold.Error\n    For a device that is not \
             there or fails.\n\nExamples\n--------\n>>> import warpfold as wf, numpy as np\n",
            $example
        )
    };
    (@ axis) => {
        "axis : int or tuple of int, optional\n    The axes to reduce; None: all. Negative ones count from the end.\n"
    };
    (@ dtype) => {
        "dtype : dtype, optional\n    Elements are cast to this dtype first, and the result has it.\n"
    };
    (@ out) => {
        "out : array, optional\n    Where the result goes, of the result's shape. It is returned.\n"
    };
    (@ keepdims) => {
        "keepdims : bool\n    Whether reduced axes stay, with length 1.\n"
    };
    (@ initial) => {
        "initial : number, optional\n    One more operand, on the left.\n"
    };
    (@ mask) => {
        "where : array of bool, optional\n    Reduce only where it is true; broadcast to the shape of `x`.\n"
    };
    (@ ddof) => {
        "ddof, correction : number\n    Subtracted from the count in the divisor: 0 for a population, 1 for a sample.\n\
         \x20   Two names of one option.\n"
    };
    (@ ord) => {
        "ord : {1, 2, inf}\n    The order. Several axes are one vector, as in the array API's `vector_norm`.\n"
    };
    (@ precision) => {
        "precision : {\"tree\", \"compensated\"}\n    Plain sums up the tree, or double words up the same tree.\n"
    };
}

/// One reduction as a function.
macro_rules! function {
    (
        $name:ident, $python:literal, $op:ident, $skip:literal, $signature:tt, { $($arg:ident: $type:ty),* },
        $first:literal, $sections:tt, $returns:literal, $example:literal
    ) => {
        #[doc = doc!($first, $sections, $returns, $example)]
        #[pyfunction]
        #[pyo3(name = $python, signature = $signature)]
        #[allow(clippy::too_many_arguments)]
        fn $name<'py>(x: &Bound<'py, PyAny>, $($arg: $type),*) -> PyResult<Bound<'py, PyAny>> {
            reduce(x, Op::$op, $skip, &Given { $($arg,)* ..Given::default() })
        }
    };
}

/// Reductions that take the same options, and a function that adds them to the module.
macro_rules! family {
    (
        $add:ident, $signature:tt, $args:tt, $sections:tt, $returns:literal;
        $($name:ident, $python:literal, $op:ident, $skip:literal, $first:literal, $example:literal;)*
    ) => {
        $(function!($name, $python, $op, $skip, $signature, $args, $first, $sections, $returns, $example);)*
        pub fn $add(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
            Ok(())
        }
    };
}

mod moments;
mod select;
mod sums;
mod truth;

/// Adds all functions to the module.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    sums::totals(module)?;
    sums::means(module)?;
    moments::deviations(module)?;
    moments::norms(module)?;
    select::extrema(module)?;
    select::places(module)?;
    select::pairs(module)?;
    truth::truths(module)
}
