"""DLPack's tensors as our C interface takes them."""

import ctypes


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    """DLPack's DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


CPU, CUDA = 1, 2
CODES = {"i": 0, "f": 2, "u": 1, "b": 6}  # numpy's kinds as DLDataTypeCode
BF16 = 4  # uint16 holds it


def _make(data, device, type, shape, strides):
    sizes = ctypes.c_int64 * len(shape)
    return Tensor(data, device, len(shape), type, sizes(*shape), sizes(*strides), 0)


def from_numpy(array):
    """A view of numpy's array, which borrows its memory."""
    code = BF16 if array.dtype == "uint16" else CODES[array.dtype.kind]
    element = Type(code, 8 * array.itemsize, 1)
    strides = [stride // array.itemsize for stride in array.strides]
    return _make(array.ctypes.data, Device(CPU, 0), element, array.shape, strides)


def from_torch(tensor):
    """A view of PyTorch's tensor of float, bfloat16 or int elements, on the CPU or a CUDA device."""
    device = Device(CUDA, tensor.device.index or 0) if tensor.is_cuda else Device(CPU, 0)
    code = BF16 if "bfloat16" in str(tensor.dtype) else CODES["f" if tensor.is_floating_point() else "i"]
    element = Type(code, 8 * tensor.element_size(), 1)
    return _make(tensor.data_ptr(), device, element, tensor.shape, tensor.stride())
