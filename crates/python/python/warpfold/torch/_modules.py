"""Modules of `torch.nn` that compute by Warpfold. Their parameters, and so their state_dict, are PyTorch's."""

import torch

from . import _functions, _norms, _ops


class Softmax(torch.nn.Softmax):
    """`torch.nn.Softmax`, by Warpfold."""

    def forward(self, input):
        return _functions.softmax(input, self.dim)


class LogSoftmax(torch.nn.LogSoftmax):
    """`torch.nn.LogSoftmax`, by Warpfold."""

    def forward(self, input):
        return _functions.log_softmax(input, self.dim)


class RMSNorm(torch.nn.RMSNorm):
    """`torch.nn.RMSNorm`, by Warpfold. With a residual the results are the norm of the sum, and the sum.

    `weight_offset` is added to each weight: 1 for a state_dict of weights that are stored as their distance from 1.
    """

    def __init__(self, *arguments, weight_offset=0.0, **options):
        super().__init__(*arguments, **options)
        self.weight_offset = weight_offset

    def forward(self, x, residual=None):
        given = {"residual": residual, "weight_offset": self.weight_offset}
        return _norms.rms_norm(x, self.normalized_shape, self.weight, self.eps, **given)


class LayerNorm(torch.nn.LayerNorm):
    """`torch.nn.LayerNorm`, by Warpfold. With a residual the results are the norm of the sum, and the sum."""

    def forward(self, input, residual=None):
        shape, eps = self.normalized_shape, self.eps
        return _norms.layer_norm(input, shape, self.weight, self.bias, eps, residual=residual)


class GroupNorm(torch.nn.GroupNorm):
    """`torch.nn.GroupNorm`, by Warpfold."""

    def forward(self, input):
        return _norms.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class _BatchNorm:
    """What batch norms of any rank compute."""

    def forward(self, input):
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                # The mean of all batches.
                momentum = 1.0 / self.num_batches_tracked
        running = [self.running_mean, self.running_var]
        training = self.training or (self.running_mean is None and self.running_var is None)
        if self.training and not self.track_running_stats:
            running = [None, None]
        return _norms.batch_norm(input, *running, self.weight, self.bias, training, momentum, self.eps)


class BatchNorm1d(_BatchNorm, torch.nn.BatchNorm1d):
    """`torch.nn.BatchNorm1d`, by Warpfold."""


class BatchNorm2d(_BatchNorm, torch.nn.BatchNorm2d):
    """`torch.nn.BatchNorm2d`, by Warpfold."""


class BatchNorm3d(_BatchNorm, torch.nn.BatchNorm3d):
    """`torch.nn.BatchNorm3d`, by Warpfold."""


class CrossEntropyLoss(torch.nn.CrossEntropyLoss):
    """`torch.nn.CrossEntropyLoss`, by Warpfold."""

    def forward(self, input, target):
        return _functions.cross_entropy(
            input,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class TreeLinear(torch.nn.Linear):
    """`torch.nn.Linear` of which each number is a tree: results over the features, so that a row does not depend on its
    batch, and gradients of weights over the rows, so that those of parts at powers of two join by additions in pairs.

    It is slow: for tests, and to see which bits a fast product of matrices must have.
    """

    def forward(self, input):
        rows = input.reshape(-1, input.shape[-1])
        result = _ops.product(rows, self.weight)
        if self.bias is not None:
            # A product with ones, whose gradient is the tree over the rows.
            result = result + _ops.product(rows.new_ones(rows.shape[0], 1), self.bias.unsqueeze(1))
        return result.reshape(*input.shape[:-1], self.out_features)
