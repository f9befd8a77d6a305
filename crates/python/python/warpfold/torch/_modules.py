"""Modules of `torch.nn` that compute by Warpfold. Their parameters, and so their state_dict, are PyTorch's."""

import torch

from . import _functions, _ops


class Softmax(torch.nn.Softmax):
    """`torch.nn.Softmax`, by Warpfold."""

    def forward(self, input):
        return _functions.softmax(input, self.dim)


class LogSoftmax(torch.nn.LogSoftmax):
    """`torch.nn.LogSoftmax`, by Warpfold."""

    def forward(self, input):
        return _functions.log_softmax(input, self.dim)


class RMSNorm(torch.nn.RMSNorm):
    """`torch.nn.RMSNorm`, by Warpfold."""

    def forward(self, x):
        return _functions.rms_norm(x, self.normalized_shape, self.weight, self.eps)


class LayerNorm(torch.nn.LayerNorm):
    """`torch.nn.LayerNorm`, by Warpfold."""

    def forward(self, input):
        return _functions.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


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
