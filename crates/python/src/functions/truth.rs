//! Truth values and counts.

use pyo3::prelude::*;
use warpfold::Op;

use super::Object;
use crate::options::Given;
use crate::reduce::reduce;

family! {
    truths,
    (x, /, axis=None, out=None, keepdims=false, *, r#where=None, device=None),
    { axis: Object<'_, 'py>, out: Object<'_, 'py>, keepdims: bool, r#where: Object<'_, 'py>, device: Option<&str> },
    [axis out keepdims mask],
    "scalar or array\n    Of bool; a count is int64.";
    any, "any", Any, false,
        "Whether any element is not zero. NaN is not zero.",
        ">>> wf.any([[0, 1], [0, 0]], axis=1)\narray([ True, False])\n";
    all, "all", All, false,
        "Whether every element is not zero. NaN is not zero.",
        ">>> wf.all([[0, 1], [2, 3]], axis=1)\narray([False,  True])\n";
    count_nonzero, "count_nonzero", CountNonzero, false,
        "The number of elements that are not zero. NaN is not zero.",
        ">>> wf.count_nonzero([0, 1, 2])\nnp.int64(2)\n";
}
