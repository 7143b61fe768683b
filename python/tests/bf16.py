"""Arrays of bf16, which numpy doesn't have, as DLPack knows them: a capsule made by ctypes."""

import ctypes

import numpy as np


class _Tensor(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("byte_offset", ctypes.c_uint64), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Bf16:
    """Made of floats, rounded to even; `device` is DLPack's type of one."""

    dtype = "bfloat16"

    def __init__(self, floats, device=1):
        bits = np.ascontiguousarray(floats, np.float32).view(np.uint32).astype(np.uint64)
        self.bits, self.kind = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16), device
        self.shape = self.bits.shape

    def floats(self):
        return (self.bits.astype(np.uint32) << 16).view(np.float32)

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, **_):
        self.sizes = np.array([self.shape, np.cumprod((1,) + self.shape[:0:-1])[::-1]], np.int64)
        self.tensor = _Tensor(self.bits.ctypes.data, (1, 0), len(self.shape), 4, 16, 1, self.sizes[0].ctypes.data,
                              self.sizes[1].ctypes.data, 0, None, None)
        return _new_capsule(ctypes.addressof(self.tensor), b"dltensor", None)
