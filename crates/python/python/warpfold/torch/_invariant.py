"""A mode in which reductions of PyTorch are Warpfold's: a row's result does not depend on the batch that it is in.

The mode replaces kernels of the CPU and of NVIDIA GPUs by `torch.library`, for all threads of the process, forward and
backward. What are no floats, and options that Warpfold does not have, go to PyTorch's own kernel.
"""

import contextlib
import threading
import warnings
from collections import Counter

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .. import _native
from . import _composed

# Operators that add up many numbers, and are PyTorch's also in the mode.
NOT_OURS = frozenset(
    "mm addmm bmm baddbmm addbmm mv addmv dot vdot addr convolution convolution_backward _convolution mkldnn_linear "
    "cumsum cumprod logcumsumexp prod _native_batch_norm_legit _scaled_dot_product_flash_attention_for_cpu "
    "_scaled_dot_product_flash_attention_for_cpu_backward _scaled_dot_product_attention_math avg_pool1d avg_pool2d "
    "avg_pool3d avg_pool2d_backward avg_pool3d_backward max_pool2d_with_indices_backward "
    "max_pool3d_with_indices_backward _adaptive_avg_pool2d _adaptive_avg_pool3d _adaptive_avg_pool2d_backward "
    "_adaptive_avg_pool3d_backward _embedding_bag _embedding_bag_backward _embedding_bag_dense_backward _ctc_loss "
    "_ctc_loss_backward trace dist multi_margin_loss multilabel_margin_loss_forward mkldnn_rnn_layer "
    "mkldnn_rnn_layer_backward _fft_r2c _fft_c2r _fft_c2c col2im grid_sampler_2d_backward grid_sampler_3d_backward "
    "upsample_linear1d_backward upsample_bilinear2d_backward upsample_bicubic2d_backward "
    "upsample_trilinear3d_backward upsample_nearest1d_backward upsample_nearest2d_backward "
    "upsample_nearest3d_backward _scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_backward "
    "_scaled_dot_product_efficient_attention _scaled_dot_product_efficient_attention_backward "
    "_scaled_dot_product_cudnn_attention _scaled_dot_product_cudnn_attention_backward "
    "_cudnn_rnn _cudnn_rnn_backward _grouped_mm _scaled_mm index_reduce segment_reduce "
    "scatter_reduce scatter_reduce_ _thnn_fused_lstm_cell _thnn_fused_gru_cell _cdist_forward _cdist_backward "
    "_pdist_forward _pdist_backward unfold_backward nansum".split()
)
# The same if the argument of this number, whether they add, is true.
NOT_OURS_IF = {"put": 3, "put_": 3}

_REPLACED = {}
# The names of these operators, whatever the overload.
_PACKETS = set()


def _replaces(*names, keys=("CPU", "CUDA")):
    def register(function):
        _REPLACED.update(dict.fromkeys(names, (function, keys)))
        _PACKETS.update(name.partition(".")[0] for name in names)
        return function

    return register


class Report:
    """What ran in `batch_invariant`: each a `collections.Counter` of calls by operator.

    Attributes
    ----------
    replaced
        By Warpfold.
    kept
        By PyTorch's kernel of an operator that the mode replaces: no floats, no elements, or an option that Warpfold
        does not have.
    not_ours
        By operators that add up many numbers and have no replacement: use others beside the mode.
    """

    def __init__(self):
        self.replaced, self.kept, self.not_ours = Counter(), Counter(), Counter()

    def __repr__(self):
        lines = ((name, getattr(self, name)) for name in ("replaced", "kept", "not_ours"))
        return "\n".join(f"{name:9} " + ", ".join(f"{op} ×{n}" for op, n in sorted(of.items())) for name, of in lines)


class _Watch(TorchDispatchMode):
    """Counts what is not ours."""

    def __init__(self, report):
        super().__init__()
        self.report = report

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        name, overload = operator.overloadpacket.__name__, operator._overloadname
        adds = NOT_OURS_IF.get(name)
        if name in NOT_OURS or (adds is not None and len(args) > adds and args[adds]):
            self.report.not_ours[name] += 1
        elif overload.endswith("out") and name in _PACKETS:
            # Into memory that is given.
            self.report.kept[f"{name}.{overload}"] += 1
        return operator(*args, **(kwargs or {}))


_lock = threading.RLock()
_reports = []
_library = None


@contextlib.contextmanager
def batch_invariant():
    """Replaces PyTorch's reductions on the CPU and NVIDIA GPUs by Warpfold's, within a `with` statement; gives a `Report`.

    Sums, means, variances, extremes, norms, logsumexp, softmax and its logarithm, layer norm, group norm, batch norm,
    the losses nll, mse, huber and smooth_l1, index_add, scatter_add, index_put that adds, gradients of embeddings, and
    bincount of weights: forward and backward. All threads of the process are concerned. On a GPU calls do not wait, but for
    index_add, scatter_add, index_put, bincount and gradients of embeddings.
    Matrix products, convolutions and attention remain PyTorch's, and the report says which of them ran. Code of
    `torch.compile` has kernels of its own.

    Raises
    ------
    NotImplementedError
        With a PyTorch that does not give its own kernels (`torch.library.get_kernel`).

    Examples
    --------
    >>> import torch, warpfold as wf
    >>> x = torch.ones(3, 4)
    >>> with wf.torch.batch_invariant() as report:
    ...     total = x.sum()
    >>> report.replaced
    Counter({'sum.dim_IntList': 1})
    """
    if not hasattr(torch.library, "get_kernel"):
        raise NotImplementedError("batch_invariant needs a PyTorch that has torch.library.get_kernel")
    report = Report()
    with _lock:
        _reports.append(report)
        if len(_reports) == 1:
            _install()
    try:
        with _Watch(report):
            yield report
    finally:
        with _lock:
            _reports.remove(report)
            if not _reports:
                _remove()


def _install():
    global _library
    _library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        # PyTorch says once for each process that kernels are overridden, which is what was asked for.
        warnings.filterwarnings("ignore", "(?s).*overrid", UserWarning)
        for name, (function, keys) in _REPLACED.items():
            for key in keys:
                kernel = _kernel(name, key)
                if kernel is not None:
                    _library.impl(name, _either(name, function, kernel), key, with_keyset=True, allow_override=True)


def _kernel(name, key):
    """PyTorch's own kernel of an operator. None if there is none: then the operator is made of others."""
    try:
        return torch.library.get_kernel(f"aten::{name}", key)
    except RuntimeError:
        return None


def _remove():
    global _library
    _library._destroy()
    _library = None


def _either(name, function, kernel):
    """The replacement, or the kernel of PyTorch where the replacement declines."""

    def run(keys, *args, **kwargs):
        first = args[0]
        usable = first.numel() and (first.is_floating_point() or name == "bincount")
        found = function(*map(_plain, args), **kwargs) if usable else NotImplemented
        declined = found is NotImplemented
        # To put numbers in place of others is no sum.
        sums = name != "_index_put_impl_" or (len(args) > 3 and args[3])
        for report in _reports if sums else ():
            (report.kept if declined else report.replaced)[name] += 1
        if declined:
            return kernel.call_boxed(keys, *args, **kwargs)
        return first if name.endswith("_") else found

    return run


def _plain(x):
    """An argument without a history, if it is a tensor: PyTorch records the gradient of the operator."""
    return x.detach() if isinstance(x, torch.Tensor) else x


def _axes(x, dim):
    """Axes as Warpfold's: in PyTorch none are all, and a number has an axis."""
    none = dim is None or (not isinstance(dim, int) and len(dim) == 0)
    return None if none or x.dim() == 0 else dim


def _is_float(dtype):
    return dtype is None or dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@_replaces("sum.dim_IntList")
def _sum(x, dim, keepdim=False, *, dtype=None):
    if not _is_float(dtype):
        return NotImplemented
    return _native.sum(x, _axes(x, dim), dtype, keepdims=keepdim)


@_replaces("mean.dim")
def _mean(x, dim, keepdim=False, *, dtype=None):
    if not _is_float(dtype):
        return NotImplemented
    return _native.mean(x, _axes(x, dim), dtype, keepdims=keepdim)


def _of_axes(names, reduce):
    @_replaces(*names)
    def _reduced(x, dim=(), keepdim=False):
        return reduce(x, _axes(x, dim), keepdims=keepdim)


_of_axes(["amax"], _native.max)
_of_axes(["amin"], _native.min)
_of_axes(["argmax"], _native.argmax)
_of_axes(["argmin"], _native.argmin)
_of_axes(["logsumexp"], _native.logsumexp)


def _of_deviations(name, reduce):
    @_replaces(name)
    def _deviation(x, dim=None, *, correction=None, keepdim=False):
        axes = _axes(x, dim)
        return reduce(x, axes, ddof=1 if correction is None else correction, keepdims=keepdim)

    return _deviation


_var = _of_deviations("var.correction", _native.var)
_std = _of_deviations("std.correction", _native.std)


@_replaces("var_mean.correction")
def _var_mean(x, dim=None, *, correction=None, keepdim=False):
    return _var(x, dim, correction=correction, keepdim=keepdim), _mean(x, dim, keepdim)


@_replaces("std_mean.correction")
def _std_mean(x, dim=None, *, correction=None, keepdim=False):
    return _std(x, dim, correction=correction, keepdim=keepdim), _mean(x, dim, keepdim)


@_replaces("linalg_vector_norm")
def _norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    if ord not in (1, 2, float("inf")) or not _is_float(dtype):
        return NotImplemented
    return _native.norm(x, _axes(x, dim), ord=ord, dtype=dtype, keepdims=keepdim)


def _of_rows(name, forward, backward):
    @_replaces(name)
    def _forward(x, dim, half_to_float):
        return NotImplemented if x.dim() == 0 or half_to_float else forward(x, dim)

    @_replaces(f"{name}_backward_data")
    def _backward(gradient, y, dim, dtype):
        return NotImplemented if y.dim() == 0 or dtype != y.dtype else backward(y, gradient, dim)


_of_rows("_softmax", _native.softmax, _native.softmax_backward)
_of_rows("_log_softmax", _native.log_softmax, _native.log_softmax_backward)


@_replaces("native_layer_norm")
def _layer_norm(x, shape, weight, bias, eps):
    axes = list(range(-len(shape), 0))
    # The mean and one over the deviation are kept for the gradient, in the dtype of PyTorch's kernel.
    dtype = x.dtype if weight is None else weight.dtype
    dtype = _composed.real(x) if x.is_cuda else dtype
    mean = _native.mean(x, axes, dtype, keepdims=True)
    inverse = (_native.var(x, axes, dtype, keepdims=True) + eps).sqrt().reciprocal()
    return _native.layer_norm(x, weight, bias, axes, epsilon=eps), mean, inverse


@_replaces("native_layer_norm_backward")
def _layer_norm_backward(gradient, x, shape, mean, inverse, weight, bias, mask):
    rank = len(shape)
    if not x.is_cuda:
        statistics = (of.reshape(x.shape[: x.dim() - rank]) for of in (mean, inverse))
        axes = list(range(-rank, 0))
        found = _native.layer_norm_backward_given(x, gradient, *statistics, weight, bias, axes)
        return tuple(of if wanted else None for of, wanted in zip(found, mask))
    real = _composed.real(x)
    inverse = inverse.to(real)
    normal = (x.to(real) - mean.to(real)) * inverse
    return _norm_backward(gradient, x, len(shape), normal, inverse, (weight, bias), mask, centred=True)


# On the CPU this is made of other operators.
@_replaces("_fused_rms_norm", keys=("CUDA",))
def _rms_norm(x, shape, weight, eps):
    axes, real = list(range(-len(shape), 0)), _composed.real(x)
    eps = torch.finfo(real).eps if eps is None else eps
    square = _native.mean(x.to(real) ** 2, axes, keepdims=True)
    return _native.rms_norm(x, weight, None, axes, epsilon=eps), (square + eps).sqrt().reciprocal()


@_replaces("_fused_rms_norm_backward", keys=("CUDA",))
def _rms_norm_backward(gradient, x, shape, inverse, weight, mask):
    inverse = inverse.to(_composed.real(x))
    normal = x.to(inverse.dtype) * inverse
    return _norm_backward(gradient, x, len(shape), normal, inverse, (weight, None), [*mask, False], centred=False)[:2]


def _norm_backward(gradient, x, rank, normal, inverse, factors, mask, centred):
    """The gradients of a norm: of the elements, the weights and the biases, as far as they are asked for."""
    (weight, bias), g = factors, gradient.to(normal.dtype)
    rows, batch = list(range(-rank, 0)), list(range(x.dim() - rank))
    of_x = of_weight = of_bias = None
    if mask[0]:
        of_normal = g if weight is None else g * weight.to(normal.dtype)
        slope = _native.mean(of_normal * normal, rows, keepdims=True)
        less = of_normal - _native.mean(of_normal, rows, keepdims=True) if centred else of_normal
        of_x = ((less - normal * slope) * inverse).to(x.dtype)
    if mask[1] and weight is not None:
        of_weight = _down(g * normal, batch).to(weight.dtype)
    if mask[2] and bias is not None:
        of_bias = _down(g, batch).to(bias.dtype)
    return of_x, of_weight, of_bias


def _down(x, batch):
    """The sum over the axes of the batch, of which there may be none."""
    return _native.sum(x, batch) if batch else x


@_replaces("nll_loss_forward", "nll_loss2d_forward")
def _nll_loss(logs, target, weight, reduction, ignore_index):
    axis = 0 if logs.dim() == 1 else 1
    taken = target != ignore_index
    classes = torch.where(taken, target, 0)
    of_rows = torch.ones_like(classes, dtype=logs.dtype) if weight is None else weight[classes]
    of_rows = torch.where(taken, of_rows, 0)
    losses = -logs.gather(axis, classes.unsqueeze(axis)).squeeze(axis) * of_rows
    losses = torch.where(taken, losses, 0)
    if reduction == 0:
        return losses, logs.new_zeros(())
    weights, total = _native.sum(of_rows), _native.sum(losses)
    return (total / weights if reduction == 1 else total), weights


def _of_pairs(name, reduce):
    @_replaces(name)
    def _loss(x, y, reduction=1, *options):
        if x.dtype != y.dtype:
            return NotImplemented
        x, y = torch.broadcast_tensors(x, y)
        return reduce(x, y, ("none", "mean", "sum")[reduction], *options)


def _mse(x, y, by):
    return _native.mse(x, y, reduction=by)


def _huber(x, y, by, delta=1.0):
    return _native.huber(x, y, delta=delta, reduction=by)


def _smooth(x, y, by, beta=1.0):
    return _composed.divided(_huber(x, y, by, beta), beta) if beta > 0 else NotImplemented


_of_pairs("mse_loss", _mse)
_of_pairs("huber_loss", _huber)
_of_pairs("smooth_l1_loss", _smooth)
