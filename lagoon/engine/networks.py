"""The plain networks of ``policy.py`` without a graph: forwards and backwards through memory that exists.

What enters: rows of observations, gradients by outputs. What leaves: outputs, and gradients added to the parameters'.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

_aten = torch.ops.aten


class _Activation(NamedTuple):
    forward_: Callable[[Tensor, Tensor], Tensor]
    """(x, memory like x) -> f(x), in place of x."""
    backward_: Callable[[Tensor, Tensor], Tensor]
    """(gradient by f(x), f(x)) -> gradient by x, in place of the gradient."""


def _elu_(x: Tensor, memory: Tensor) -> Tensor:
    # exp(x) - 1 loses some bits near 0 against expm1(x), at most 6e-8 in all, and takes half the time.
    torch.clamp_max(x, 0.0, out=memory).exp_().sub_(1.0)
    return torch.maximum(x, memory, out=x)


def _elu_backward_(gradient: Tensor, result: Tensor) -> Tensor:
    return _aten.elu_backward.grad_input(gradient, 1.0, 1.0, 1.0, True, result, grad_input=gradient)


ACTIVATIONS = {
    "elu": _Activation(_elu_, _elu_backward_),
    "relu": _Activation(
        lambda x, _: x.clamp_min_(0.0), lambda g, y: _aten.threshold_backward.grad_input(g, y, 0.0, grad_input=g)
    ),
    "tanh": _Activation(lambda x, _: x.tanh_(), lambda g, y: _aten.tanh_backward.grad_input(g, y, grad_input=g)),
}


class Network:
    """One MLP with memory for the activations and gradients of a block of rows."""

    def __init__(self, module: nn.Sequential, activation: str, rows: int) -> None:
        self.layers = [layer for layer in module if isinstance(layer, nn.Linear)]
        self.activation = ACTIVATIONS[activation]
        widths = [layer.out_features for layer in self.layers]
        self._input = torch.empty(0)
        self._outputs = [torch.empty(rows, width) for width in widths]
        self._gradients = [torch.empty(rows, width) for width in widths]

    def refresh(self) -> None:
        """Take over the newest weights; called before the first block of a minibatch."""

    def forward(self, obs: Tensor) -> Tensor:
        """Return the outputs (m, K) for a block of normalised observations (m, O); overwritten by the next call."""
        m = len(obs)
        x = self._input = obs
        for i, layer in enumerate(self.layers):
            y = torch.mm(x, layer.weight.t(), out=self._outputs[i][:m]).add_(layer.bias)
            x = self.activation.forward_(y, self._gradients[i][:m]) if i + 1 < len(self.layers) else y
        return x

    def backward(self, gradient: Tensor) -> None:
        """Add the parameters' gradients for the rows of the last ``forward``; ``gradient`` is (m, K)."""
        m = len(gradient)
        for i in range(len(self.layers) - 1, -1, -1):
            layer = self.layers[i]
            x = self._outputs[i - 1][:m] if i > 0 else self._input
            _accumulate(layer, gradient, x)
            if i > 0:
                below = torch.mm(gradient, layer.weight, out=self._gradients[i - 1][:m])
                gradient = self.activation.backward_(below, x)


class ShortNetwork(Network):
    """The same with the hidden layers' matrix products in bfloat16; all else, and the last layer, stays float32.

    The last layer's output is divided by the noise of the actions, which would blow its rounding up.
    """

    def __init__(self, module: nn.Sequential, activation: str, rows: int) -> None:
        super().__init__(module, activation, rows)
        hidden = self.layers[:-1]
        short = lambda *shape: torch.empty(*shape, dtype=torch.bfloat16)  # noqa: E731
        self._inputs = [short(rows, layer.in_features) for layer in hidden]
        self._products = [short(rows, layer.out_features) for layer in hidden]
        self._weights = [short(*layer.weight.shape) for layer in hidden]
        self._weight_gradients = [short(*layer.weight.shape) for layer in hidden]

    def refresh(self) -> None:
        """See ``Network.refresh``."""
        for weight, layer in zip(self._weights, self.layers[:-1], strict=True):
            weight.copy_(layer.weight)

    def forward(self, obs: Tensor) -> Tensor:
        """See ``Network.forward``."""
        m, x = len(obs), obs
        for i, layer in enumerate(self.layers[:-1]):
            product = torch.mm(self._inputs[i][:m].copy_(x), self._weights[i].t(), out=self._products[i][:m])
            y = self._outputs[i][:m].copy_(product).add_(layer.bias)
            x = self.activation.forward_(y, self._gradients[i][:m])
        last = self.layers[-1]
        return torch.mm(x, last.weight.t(), out=self._outputs[-1][:m]).add_(last.bias)

    def backward(self, gradient: Tensor) -> None:
        """See ``Network.backward``."""
        m, above = len(gradient), self.layers[-1]
        _accumulate(above, gradient, self._outputs[-2][:m])
        below = torch.mm(gradient, above.weight, out=self._gradients[-2][:m])
        for i in range(len(self.layers) - 2, -1, -1):
            weight, bias = self.layers[i].weight.grad, self.layers[i].bias.grad
            assert weight is not None and bias is not None
            gradient = self.activation.backward_(below, self._outputs[i][:m])
            bias.add_(gradient.sum(0))
            short = self._products[i][:m].copy_(gradient)
            weight.add_(torch.mm(short.t(), self._inputs[i][:m], out=self._weight_gradients[i]))
            if i > 0:
                product = torch.mm(short, self._weights[i], out=self._products[i - 1][:m])
                below = self._gradients[i - 1][:m].copy_(product)


def _accumulate(layer: nn.Linear, gradient: Tensor, inputs: Tensor) -> None:
    """Add a layer's gradients for rows of its inputs (m, I), given those by its outputs (m, O)."""
    assert layer.weight.grad is not None and layer.bias.grad is not None
    layer.weight.grad.addmm_(gradient.t(), inputs)
    layer.bias.grad.add_(gradient.sum(0))
