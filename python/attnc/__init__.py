"""Attention kernels compiled by attnc, callable from Python."""

from ._compile import CompileError, compile
from ._kernel import Kernel, load
from ._torch import from_torch, torch_op

__all__ = ["CompileError", "Kernel", "compile", "from_torch", "load", "torch_op"]
