//! Variances, standard deviations and norms.

use pyo3::prelude::*;
use warpfold::Op;

use super::Object;
use crate::options::Given;
use crate::reduce::reduce;

family! {
    deviations,
    (
        x, /, axis=None, dtype=None, out=None, ddof=None, keepdims=false, *, r#where=None, correction=None,
        precision=None, device=None
    ),
    {
        axis: Object<'_, 'py>, dtype: Object<'_, 'py>, out: Object<'_, 'py>, ddof: Option<f64>, keepdims: bool,
        r#where: Object<'_, 'py>, correction: Option<f64>, precision: Option<&str>, device: Option<&str>
    },
    [axis dtype out ddof keepdims mask precision],
    "scalar or array\n    Floats keep their dtype; integers give float64. Of no more than `ddof` elements\n    \
     it is infinite, or NaN if all deviations are zero.";
    var, "var", Var, false,
        "The variance, by a tree of means and squared deviations: a large mean costs no digits.",
        ">>> wf.var([1.0, 2.0, 3.0, 4.0])\nnp.float64(1.25)\n\
         >>> wf.var([1.0, 2.0, 3.0], correction=1)\nnp.float64(1.0)\n";
    deviation, "std", Std, false,
        "The standard deviation: the square root of the variance.",
        ">>> wf.std([1.0, 3.0])\nnp.float64(1.0)\n";
    nanvar, "nanvar", Var, true,
        "The variance of elements that are not NaN.",
        ">>> wf.nanvar([1.0, np.nan, 3.0])\nnp.float64(1.0)\n";
    nanstd, "nanstd", Std, true,
        "The standard deviation of elements that are not NaN.",
        ">>> wf.nanstd([1.0, np.nan, 3.0])\nnp.float64(1.0)\n";
}

family! {
    norms,
    (
        x, /, axis=None, *, ord=None, dtype=None, out=None, keepdims=false, r#where=None, precision=None, device=None
    ),
    {
        axis: Object<'_, 'py>, ord: Object<'_, 'py>, dtype: Object<'_, 'py>, out: Object<'_, 'py>, keepdims: bool,
        r#where: Object<'_, 'py>, precision: Option<&str>, device: Option<&str>
    },
    [axis ord dtype out keepdims mask precision],
    "scalar or array\n    Floats keep their dtype; integers give float64.";
    norm, "norm", Norm, false,
        "The norm of a vector: of order 2, or 1, or infinity.",
        ">>> wf.norm([3.0, 4.0])\nnp.float64(5.0)\n>>> wf.norm([3.0, -4.0], ord=np.inf)\nnp.float64(4.0)\n";
    nannorm, "nannorm", Norm, true,
        "The norm of the elements that are not NaN.",
        ">>> wf.nannorm([3.0, np.nan, 4.0])\nnp.float64(5.0)\n";
}
