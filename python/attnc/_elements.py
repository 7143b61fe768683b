"""Names of element types; shape and element type of arrays."""

import functools

import numpy as np

# What numpy and PyTorch call the element types of specs and of NAME_describe().
NAMES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "i1": "bool", "bool": "bool"}
NAMES |= {"f8e4m3fn": "float8_e4m3fn"}
NAMES |= {f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)}
NAMES |= {f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)}
_SHORT = {long: short for short, long in NAMES.items()}

FLOATS = ("f16", "bf16", "f32", "f64")
WIDTHS = {"bool": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "index": 64}


@functools.cache
def short_name(dtype):
    """"f32" for numpy's, PyTorch's or JAX's float32, or the name itself; other types keep theirs."""
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    name = name.rsplit(".", 1)[-1]
    return _SHORT.get(name, name)


def is_array(value):
    """Whether lambdas read it by index, unlike a constant."""
    return isinstance(value, np.ndarray) or hasattr(value, "__dlpack__") and not isinstance(value, (type, np.generic))


def describe(name, array):
    """The shape and the element type of an array."""
    if not (hasattr(array, "shape") and hasattr(array, "dtype")):
        if not hasattr(array, "__dlpack__"):
            raise TypeError(f"{name}: expected an array that speaks DLPack, found {type(array).__name__}")
        array = np.from_dlpack(array)
    return tuple(array.shape), short_name(array.dtype)


def side_by_side(array):
    """As kernels read it: the elements of its last axis side by side, in a copy if need be."""
    if isinstance(array, np.ndarray):
        return array if array.ndim == 0 or array.strides[-1] == array.itemsize else np.ascontiguousarray(array)
    if not (hasattr(array, "stride") and hasattr(array, "contiguous")):  # as PyTorch's
        return array
    return array if array.ndim == 0 or array.stride(-1) == 1 else array.contiguous()


def check_device(name, array):
    if isinstance(array, np.ndarray) or not hasattr(array, "__dlpack_device__"):
        return
    kind, _ = array.__dlpack_device__()
    if kind != 1:
        found = getattr(array, "device", f"DLPack device type {int(kind)}")
        raise ValueError(f"{name}: expected an array on the CPU, found one on {found}")
