"""PyTorch's activation functions of traced values: https://docs.pytorch.org/docs/stable/nn.functional.html."""

import math

from . import _functions
from ._functions import clip, exp, log1p, maximum, minimum, sigmoid, tanh, where


def relu(x, inplace=False):
    return maximum(x, 0)


def relu6(x, inplace=False):
    return hardtanh(x, 0, 6)


def leaky_relu(x, negative_slope=0.01, inplace=False):
    return where(x > 0, x, x * negative_slope)


def elu(x, alpha=1, inplace=False):
    return where(x > 0, x, alpha * _functions.expm1(minimum(x, 0)))


def selu(x, inplace=False):
    return 1.0507009873554805 * elu(x, 1.6732632423543772)


def celu(x, alpha=1, inplace=False):
    return where(x > 0, x, alpha * _functions.expm1(minimum(x, 0) / alpha))


def gelu(x, approximate="none"):
    if approximate == "tanh":
        return 0.5 * x * (1 + tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1 + _functions.erf(x * math.sqrt(0.5)))


def hardtanh(x, min_val=-1, max_val=1, inplace=False):
    return clip(x, min_val, max_val)


def hardsigmoid(x, inplace=False):
    return relu6(x + 3) / 6


def hardswish(x, inplace=False):
    return x * hardsigmoid(x)


def log_sigmoid(x):
    return minimum(x, 0) - log1p(exp(-abs(x)))


def mish(x, inplace=False):
    return x * tanh(softplus(x))


def silu(x, inplace=False):
    return x * sigmoid(x)


def softplus(x, beta=1, threshold=20):
    scaled = x * beta
    return where(scaled > threshold, x, log1p(exp(minimum(scaled, threshold))) / beta)


def softsign(x):
    return x / (1 + abs(x))


def softshrink(x, lambd=0.5):
    return where(x > lambd, x - lambd, where(x < -lambd, x + lambd, 0.0 * x))


def hardshrink(x, lambd=0.5):
    return where(abs(x) > lambd, x, where(abs(x) <= lambd, 0.0, x))


def threshold(x, threshold, value, inplace=False):
    return where(x <= threshold, value, x)


def tanhshrink(x):
    return x - tanh(x)


TABLE = {function.__name__: function for function in (
    relu, relu6, leaky_relu, elu, selu, celu, gelu, hardtanh, hardsigmoid, hardswish, log_sigmoid, mish, silu, softplus,
    softsign, softshrink, hardshrink, threshold, tanhshrink)}
TABLE["_threshold"] = threshold  # as torch.nn.functional's calls itself
