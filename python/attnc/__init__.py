"""Attention kernels compiled by attnc, callable from Python."""

from . import _functions
from ._attention import attention, export, spec
from ._captured import array
from ._compile import CompileError, compile
from ._functions import *
from ._kernel import Kernel, load
from ._torch import flex_attention, from_torch, torch_op
from ._values import kv_len, q_len

__all__ = ["CompileError", "Kernel", "array", "attention", "compile", "export", "flex_attention", "from_torch",
           "kv_len", "load", "q_len", "spec", "torch_op", *_functions.__all__]
