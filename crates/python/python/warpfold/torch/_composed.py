"""What has no kernel on a GPU yet, from PyTorch's elementwise arithmetic and Warpfold's sums, norms and softmax.

Each step rounds once, in float32 (float64 of float64), in the order of the CPU's kernels (docs/numerics.md, *Rows*), so
results have their bits. Each step also reads and writes memory. Nothing but sums by index waits for the GPU: a class
that is none is not an error here, but has the loss NaN.
"""

import torch

from .. import _native


def real(x):
    """The dtype of arithmetic."""
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def _number(x, dtype):
    """The number of a dtype that is nearest to one."""
    return torch.tensor(x, dtype=dtype, device="cpu").item()


def _over(x, divisor):
    """A quotient. PyTorch multiplies by the inverse of a number, so the divisor is a tensor."""
    return x / (divisor if isinstance(divisor, torch.Tensor) else torch.full_like(x, divisor))


def divided(x, n):
    """A tensor over a number, rounded once: on a GPU PyTorch multiplies by the inverse."""
    if not x.is_cuda:
        return x / n
    return _over(x.to(real(x)), n).to(x.dtype)


def _sqrt(x):
    """The root, rounded once, also where PyTorch's own is not: on some CPUs."""
    return x.double().sqrt().to(x.dtype) if x.dtype == torch.float32 else x.sqrt()


def _rounded(x, dtype):
    """Elements of a dtype, with the CPU's NaN. (A result of Warpfold's has that NaN, and is as it is in its dtype.)"""
    return torch.nan_to_num(x.to(dtype), torch.nan, torch.inf, -torch.inf)


def _sum(x, axes, keepdims=False):
    return _native.sum(x, axes, keepdims=keepdims) if axes is None or len(axes) else x


# Cross-entropy of logits and classes.


def _integers(target):
    """The classes as the kernels read them."""
    return target if target.dtype is torch.int64 else target.long()


def _count(taken, dtype):
    """The number of rows that are taken."""
    # A float32 counts exactly up to 2^24: one launch less than by way of integers.
    return taken.sum(dtype=dtype) if taken.numel() <= 1 << 24 else taken.sum().to(dtype)


def _weights(target, taken, weight, dtype):
    """The sum of the weights of the classes of rows that are taken."""
    classes = torch.where(taken & (target >= 0) & (target < weight.numel()), target, 0).long()
    return _native.sum(torch.where(taken, weight.to(dtype)[classes], 0))


def _divisor(target, taken, weight, dtype):
    """The divisor of a mean over rows: the sum of their classes' weights."""
    return _count(taken, dtype) if weight is None else _weights(target, taken, weight, dtype)


def _as_dtype(x, dtype):
    """A result of Warpfold's own in a dtype."""
    return x if x.dtype == dtype else _rounded(x, dtype)


def _mean(losses, taken, divisor, dtype):
    """The mean of the losses of rows, of which those that are not taken are zero. Without a divisor it is over their
    number: then one launch finds the sum, the number and the quotient."""
    if divisor is None:
        return _as_dtype(_native.mean(losses, where=taken), dtype)
    return _rounded(_native.sum(losses) / divisor, dtype)


def _checked(logits, target, expected, axis, smoothing, weight):
    """The number of classes of a call whose arguments fit."""
    count = logits.shape[axis]
    if not 0 <= smoothing <= 1:
        raise ValueError(f"label_smoothing must be between 0 and 1, not {smoothing}")
    if target.shape != expected:
        raise ValueError(f"the targets have shape {tuple(target.shape)}, and must have {tuple(expected)}")
    if weight is not None and weight.shape != (count,):
        raise ValueError(f"the weights of {count} classes have shape {tuple(weight.shape)}")
    if not count:
        raise ValueError(f"cross_entropy: logits of shape {tuple(logits.shape)} have no classes along axis {axis}")
    return count


class _Classes:
    """What the loss and its gradient share with label smoothing, of rows along the last axis."""

    def __init__(self, logits, target, axis, ignore_index, smoothing, weight, reduction):
        expected = logits.shape[: axis % logits.dim()] + logits.shape[axis % logits.dim() + 1 :]
        count = _checked(logits, target, expected, axis, smoothing, weight)
        self.dtype = real(logits)
        self.x = logits.movedim(axis, -1).to(self.dtype)
        self.taken = target != ignore_index
        self.wrong = self.taken & ((target < 0) | (target >= count))
        self.classes = torch.where(self.taken & ~self.wrong, target, 0).long().unsqueeze(-1)
        self.weight = None if weight is None else weight.to(self.dtype)
        ones = torch.ones_like(target, dtype=self.dtype)
        of_rows = ones if weight is None else self.weight[self.classes.squeeze(-1)]
        # As numbers of the dtype: the shares of the target, and of each class.
        share, self.each = (_number(s, self.dtype) for s in (1 - smoothing, smoothing / count))
        self.target = of_rows * share
        self.divisor = _divisor(target, self.taken, weight, self.dtype) if reduction == "mean" else None

    def losses(self):
        logs = _native.log_softmax(self.x, -1)
        loss = self.target * logs.gather(-1, self.classes).squeeze(-1)
        if self.each:
            all_classes = _native.sum(logs if self.weight is None else logs * self.weight, -1)
            loss = loss + self.each * all_classes
        loss = torch.where(self.wrong, torch.nan, 0 - loss)
        return torch.where(self.taken, loss, 0)


def cross_entropy(logits, target, axis, ignore_index, label_smoothing, weight, reduction):
    """As `wf.cross_entropy`, and what the gradient needs of rows: None with label smoothing."""
    if not logits.is_cuda or label_smoothing:
        of = _Classes(logits, target, axis, ignore_index, label_smoothing, weight, reduction)
        losses = of.losses() if reduction == "none" else _native.sum(of.losses())
        return _rounded(losses if of.divisor is None else losses / of.divisor, logits.dtype), None
    losses, noted = _native.cross_entropy_rows(logits, _integers(target), axis, ignore_index, weight, None, None)
    if reduction == "none":
        return _rounded(losses, logits.dtype), noted
    if reduction == "sum":
        return _as_dtype(_native.sum(losses), logits.dtype), noted
    taken = target != ignore_index
    divisor = None if weight is None else _weights(target, taken, weight, losses.dtype)
    return _mean(losses, taken, divisor, logits.dtype), noted


def _scale(of_loss, divisor, dtype):
    """The gradient of the loss of a row, from that of the result, a mean over `divisor` or none."""
    scale = of_loss.to(dtype)
    return scale if divisor is None else scale / divisor


def cross_entropy_at_once(logits, target, weight, axis, ignore_index, reduction):
    """The loss, the gradient of the logits if that of the loss is 1, with which gradient of rows it was computed, and what
    a mean divides by."""
    dtype, target = real(logits), _integers(target)
    if reduction == "mean":
        taken = target != ignore_index
        divisor = _divisor(target, taken, weight, dtype)
        scale = divisor.reciprocal()
    else:
        divisor, scale = None, logits.new_ones((), dtype=dtype)
    losses, gradient = _native.cross_entropy_rows(logits, target, axis, ignore_index, weight, scale, None)
    if divisor is None:
        loss = _as_dtype(_native.sum(losses), logits.dtype)
    else:
        loss = _mean(losses, taken, None if weight is None else divisor, logits.dtype)
    return loss, gradient, scale, divisor


def cross_entropy_again(of_loss, gradient, used, divisor, logits, target, weight, axis, ignore_index):
    """That gradient, computed anew if the gradient of the loss is another one."""
    scale = _scale(of_loss, divisor, real(logits))
    _native.cross_entropy_again(logits, _integers(target), axis, ignore_index, weight, scale, used, gradient)
    return gradient


def cross_entropy_gradient(logits, target, axis, ignore_index, label_smoothing, weight, reduction, gradient, noted):
    """The gradient of the logits."""
    if logits.is_cuda and not label_smoothing:
        dtype = real(logits)
        divisor = _divisor(target, target != ignore_index, weight, dtype) if reduction == "mean" else None
        scale = _scale(gradient, divisor, dtype)
        noted = noted if noted is not None and noted.numel() else None
        given = axis, ignore_index, weight, scale, noted
        return _native.cross_entropy_rows(logits, _integers(target), *given)[noted is None]
    of = _Classes(logits, target, axis, ignore_index, label_smoothing, weight, reduction)
    scale = _scale(gradient, of.divisor, of.dtype).expand(target.shape).unsqueeze(-1)
    probability = of.target
    if of.each:
        weights = float(of.x.shape[-1]) if of.weight is None else _native.sum(of.weight)
        probability = probability + of.each * weights
    all_classes = _native.softmax(of.x, -1) * probability.unsqueeze(-1)
    if of.each:
        all_classes = all_classes - (of.each if of.weight is None else of.each * of.weight)
    own = all_classes.gather(-1, of.classes) - of.target.unsqueeze(-1)
    all_classes = all_classes.scatter(-1, of.classes, own) * scale
    all_classes = torch.where(of.wrong.unsqueeze(-1), torch.nan, all_classes)
    found = torch.where(of.taken.unsqueeze(-1), all_classes, 0)
    return _rounded(found, logits.dtype).movedim(-1, axis).contiguous()


# Cross-entropy of logits and distributions.


class _Shares:
    """What the loss and its gradient share, of rows along the last axis."""

    def __init__(self, logits, target, axis, smoothing, weight, reduction):
        count = _checked(logits, target, logits.shape, axis, smoothing, weight)
        self.dtype = real(logits)
        self.x, shares = (x.movedim(axis, -1).to(self.dtype) for x in (logits, target))
        if smoothing / count:
            shares = shares * _number(1 - smoothing, self.dtype) + _number(smoothing / count, self.dtype)
        self.shares = shares if weight is None else shares * weight.to(self.dtype)
        self.rows = self.x.numel() // count if reduction == "mean" else None

    def losses(self):
        return 0 - _native.sum(_native.log_softmax(self.x, -1) * self.shares, -1)


def distributions(logits, target, axis, label_smoothing, weight, reduction):
    """As `wf.cross_entropy`, of a probability of each class."""
    of = _Shares(logits, target, axis, label_smoothing, weight, reduction)
    losses = of.losses()
    if reduction != "none":
        losses = _native.sum(losses)
    return _rounded(losses if of.rows is None else _over(losses, of.rows), logits.dtype)


def distributions_gradient(logits, target, axis, label_smoothing, weight, reduction, gradient):
    """The gradient of the logits."""
    of = _Shares(logits, target, axis, label_smoothing, weight, reduction)
    scale = gradient.to(of.dtype)
    scale = scale if of.rows is None else _over(scale, of.rows)
    scale = scale.expand(of.x.shape[:-1]).unsqueeze(-1)
    found = (_native.softmax(of.x, -1) * _native.sum(of.shares, -1, keepdims=True) - of.shares) * scale
    return _rounded(found, logits.dtype).movedim(-1, axis).contiguous()


# Sums of tensors, and into places that indices name: these wait for the GPU, since labels out of range are errors.


def sums(x, y):
    """The sums of two tensors, in the dtype of the first."""
    dtype = real(x)
    return _rounded(x.to(dtype) + y.to(dtype), x.dtype)


def index_add(x, dim, index, source, alpha):
    """As `wf.index_add`."""
    dtype, axis = real(x), dim % x.dim()
    index = index.reshape(-1)
    found = _native.group_by(source.to(dtype).movedim(axis, 0), index, "sum", x.shape[axis]).movedim(0, axis)
    added = _rounded(x.to(dtype) + (found if alpha == 1 else found * _number(alpha, dtype)), x.dtype)
    taken = torch.bincount(index, minlength=x.shape[axis]) > 0
    return torch.where(taken.view([-1 if i == axis else 1 for i in range(x.dim())]), added, _rounded(x, x.dtype))


def scatter_add(x, dim, index, source):
    """As `wf.scatter_add`."""
    dtype, axis = real(x), dim % x.dim()
    # Where each element goes, in row-major order of the result.
    steps = [1]
    for length in reversed(x.shape[1:]):
        steps.insert(0, steps[0] * length)
    places = index.long() * steps[axis]
    for other, step in enumerate(steps):
        if other != axis:
            shape = [-1 if i == other else 1 for i in range(x.dim())]
            places = places + (torch.arange(index.shape[other], device=x.device) * step).view(shape)
    places = places.reshape(-1)
    found = _native.group_by(source.to(dtype).reshape(-1), places, "sum", x.numel()).view(x.shape)
    taken = (torch.bincount(places, minlength=x.numel()) > 0).view(x.shape)
    return torch.where(taken, _rounded(x.to(dtype) + found, x.dtype), _rounded(x, x.dtype))


def embedding_backward(gradient, indices, count, padding, by_frequency):
    """The gradient of a table of `count` rows."""
    dtype, labels = real(gradient), indices.reshape(-1)
    taken = torch.where(labels == padding, -1, labels) if padding >= 0 else labels
    found = _native.group_by(gradient.to(dtype).reshape(labels.numel(), -1), taken, "sum", count)
    if by_frequency:
        found = found / torch.bincount(labels, minlength=count).clamp(min=1).to(dtype).unsqueeze(1)
    return _rounded(found, gradient.dtype)


# The products of two matrices' rows, and cosines of rows along an axis.


def product(x, y):
    """The dot products of each row of one matrix and each of another."""
    dtype = real(x)
    return _rounded(_sum(x.to(dtype).unsqueeze(1) * y.to(dtype).unsqueeze(0), [2]), x.dtype)


class _Cosine:
    def __init__(self, x, y, axis, epsilon):
        self.x, self.y = x.to(real(x)), y.to(real(x))
        self.epsilon = _number(epsilon, real(x))
        of_x, of_y = (_sum(a * a, [axis], True) for a in (self.x, self.y))
        self.squares, self.dot = of_x, _sum(self.x * self.y, [axis], True)
        self.root, root = _sqrt(of_x), _sqrt(of_y)
        least = self.epsilon
        self.norms = torch.where(self.root < least, least, self.root) * torch.where(root < least, least, root)


def cosine_similarity_backward(x, y, gradient, axis, epsilon):
    """The gradient of the first tensor's elements."""
    of = _Cosine(x, y, axis, epsilon)
    scale = gradient.to(of.x.dtype).unsqueeze(axis)
    own = torch.where(of.root < of.epsilon, 0, of.dot / of.norms / of.squares * scale)
    return _rounded(of.y * (scale / of.norms) - of.x * own, x.dtype)


# Classes that are drawn.


def sample(logits, noise, axis, temperature):
    """The index of the greatest sum of logit and noise."""
    x = logits.to(real(logits))
    if temperature:
        sums = x + noise.to(x.dtype) * _number(temperature, x.dtype)
        x = torch.where(x == -torch.inf, x, sums)
    return _native.argmax(x, axis)
