//! Sums, products, means and logsumexp.

use pyo3::prelude::*;
use warpfold::Op;

use super::Object;
use crate::options::Given;
use crate::reduce::reduce;

family! {
    totals,
    (x, /, axis=None, dtype=None, out=None, keepdims=false, initial=None, r#where=None, *, precision=None, device=None),
    {
        axis: Object<'_, 'py>, dtype: Object<'_, 'py>, out: Object<'_, 'py>, keepdims: bool, initial: Object<'_, 'py>,
        r#where: Object<'_, 'py>, precision: Option<&str>, device: Option<&str>
    },
    [axis dtype out keepdims initial mask precision],
    "scalar or array\n    Floats keep their dtype. Signed integers and bools give int64, unsigned ones uint64.";
    sum, "sum", Sum, false,
        "The sum of elements, up one tree: the same bits in every layout, on every device, with any number of threads.",
        ">>> wf.sum([[1.0, 2.0], [3.0, 4.0]], axis=0)\narray([4., 6.])\n\
         >>> float(wf.sum(np.full(1_000_000, 0.1, 'f4')))\n\
         100000.0\n";
    prod, "prod", Prod, false,
        "The product of elements.",
        ">>> wf.prod([1.5, 2.0, 4.0])\nnp.float64(12.0)\n";
    nansum, "nansum", Sum, true,
        "The sum of elements that are not NaN.",
        ">>> wf.nansum([1.0, np.nan, 2.0])\nnp.float64(3.0)\n";
    nanprod, "nanprod", Prod, true,
        "The product of elements that are not NaN.",
        ">>> wf.nanprod([3.0, np.nan, 2.0])\nnp.float64(6.0)\n";
}

family! {
    means,
    (x, /, axis=None, dtype=None, out=None, keepdims=false, *, r#where=None, precision=None, device=None),
    {
        axis: Object<'_, 'py>, dtype: Object<'_, 'py>, out: Object<'_, 'py>, keepdims: bool, r#where: Object<'_, 'py>,
        precision: Option<&str>, device: Option<&str>
    },
    [axis dtype out keepdims mask precision],
    "scalar or array\n    Floats keep their dtype, and accumulate in float32 at least. Integers give float64.";
    mean, "mean", Mean, false,
        "The mean of elements. That of integers is their exact sum over the count.",
        ">>> wf.mean(np.full((100_000, 3), 0.5, 'f4'), axis=0)\narray([0.5, 0.5, 0.5], dtype=float32)\n";
    nanmean, "nanmean", Mean, true,
        "The mean of elements that are not NaN.",
        ">>> wf.nanmean([1.0, np.nan, 2.0])\nnp.float64(1.5)\n";
    logsumexp, "logsumexp", LogSumExp, false,
        "The logarithm of the sum of the elements' exponentials, in one read.",
        ">>> wf.logsumexp([1000.0, 1000.0]) - 1000\nnp.float64(0.6931471805598903)\n";
    nanlogsumexp, "nanlogsumexp", LogSumExp, true,
        "The logarithm of the sum of exponentials of elements that are not NaN.",
        ">>> wf.nanlogsumexp([0.0, np.nan])\nnp.float64(0.0)\n";
}
