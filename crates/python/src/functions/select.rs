//! Least and greatest elements, and where they are.

use pyo3::prelude::*;
use warpfold::Op;

use super::Object;
use crate::options::Given;
use crate::reduce::reduce;

family! {
    extrema,
    (x, /, axis=None, out=None, keepdims=false, initial=None, r#where=None, *, device=None),
    {
        axis: Object<'_, 'py>, out: Object<'_, 'py>, keepdims: bool, initial: Object<'_, 'py>, r#where: Object<'_, 'py>,
        device: Option<&str>
    },
    [axis out keepdims initial mask],
    "scalar or array\n    Of the dtype of the elements. NaN, unless skipped, beats every number.";
    min, "min", Min, false,
        "The least element. -0.0 is below +0.0.",
        ">>> wf.min([[3, 1], [2, 5]], axis=1)\narray([1, 2])\n";
    max, "max", Max, false,
        "The greatest element. -0.0 is below +0.0.",
        ">>> wf.max([[3, 1], [2, 5]], axis=1)\narray([3, 5])\n";
    nanmin, "nanmin", Min, true,
        "The least element that is not NaN; NaN if there is no other.",
        ">>> wf.nanmin([np.nan, 2.0, 1.0])\nnp.float64(1.0)\n";
    nanmax, "nanmax", Max, true,
        "The greatest element that is not NaN; NaN if there is no other.",
        ">>> wf.nanmax([np.nan, 2.0, 1.0])\nnp.float64(2.0)\n";
}

family! {
    places,
    (x, /, axis=None, out=None, *, keepdims=false, r#where=None, device=None),
    { axis: Object<'_, 'py>, out: Object<'_, 'py>, keepdims: bool, r#where: Object<'_, 'py>, device: Option<&str> },
    [axis out keepdims mask],
    "int64 scalar or array";
    argmin, "argmin", ArgMin, false,
        "The index of the least element, the first of several; of several axes, the index into them as one.",
        ">>> wf.argmin([3, 1, 2, 1])\nnp.int64(1)\n";
    argmax, "argmax", ArgMax, false,
        "The index of the greatest element, the first of several; of several axes, the index into them as one.",
        ">>> wf.argmax([[3, 1], [2, 5]], axis=0)\narray([0, 1])\n";
    nanargmin, "nanargmin", ArgMin, true,
        "The index of the least element that is not NaN. Only NaN is a ValueError.",
        ">>> wf.nanargmin([np.nan, 2.0, 1.0])\nnp.int64(2)\n";
    nanargmax, "nanargmax", ArgMax, true,
        "The index of the greatest element that is not NaN. Only NaN is a ValueError.",
        ">>> wf.nanargmax([np.nan, 2.0, 1.0])\nnp.int64(1)\n";
}

family! {
    pairs,
    (x, /, axis=None, *, keepdims=false, r#where=None, device=None),
    { axis: Object<'_, 'py>, keepdims: bool, r#where: Object<'_, 'py>, device: Option<&str> },
    [axis keepdims mask],
    "tuple\n    Two scalars or arrays of the dtype of the elements: least, greatest.";
    minmax, "minmax", MinMax, false,
        "The least and the greatest element, in one read.",
        ">>> wf.minmax([3, 1, 2])\n(np.int64(1), np.int64(3))\n";
}
