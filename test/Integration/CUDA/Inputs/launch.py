"""Launches a kernel of a file of PTX, with 32 threads that share 128 bytes, and prints its result.

usage: launch.py FILE.ptx KERNEL   (where libcuda.so.1 is found, which on-cpu sees to)

The kernel's argument is memory of 256 bytes.
"""

import ctypes
import sys

import numpy as np

THREADS = 32
MAX_DYNAMIC_SHARED_SIZE_BYTES = 8


class TensorMap:
    """An array of 16-bit numbers as a tensor map, of boxes whose sizes begin with the outermost."""

    def __init__(self, array, box):
        self.array, self.box = array, box

    def encode(self, cuda, memory):
        rank = self.array.ndim
        room = (ctypes.c_char * 192)()  # 128 bytes begin at a multiple of 64 within
        encoded = (ctypes.c_char * 128).from_buffer(room, -ctypes.addressof(room) % 64)
        sizes = (ctypes.c_uint64 * rank)(*self.array.shape[::-1])
        strides = (ctypes.c_uint64 * rank)(*self.array.strides[-2::-1])
        box, ones = (ctypes.c_uint32 * rank)(*self.box[::-1]), (ctypes.c_uint32 * rank)(*[1] * rank)
        u16, swizzled_128 = 1, 3
        assert cuda.cuTensorMapEncodeTiled(encoded, u16, rank, memory, sizes, strides, box, ones, 0, swizzled_128, 0, 0) == 0
        return encoded


def launch(path, kernel, given, shared_bytes, threads=THREADS):
    """What is given after a launch of one block; arrays are passed as copies on the device."""
    cuda = ctypes.CDLL("libcuda.so.1")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    with open(path, "rb") as ptx:
        assert cuda.cuModuleLoadData(ctypes.byref(module), ptx.read()) == 0
    assert cuda.cuModuleGetFunction(ctypes.byref(function), module, kernel.encode()) == 0

    def copy(array):
        memory = ctypes.c_uint64()
        assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(array.nbytes)) == 0
        assert cuda.cuMemcpyHtoD_v2(memory, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes)) == 0
        return memory

    def pass_on(value):
        if isinstance(value, TensorMap):
            return value.encode(cuda, copy(value.array))
        return ctypes.c_uint32(value) if isinstance(value, int) else copy(value)

    passed = [pass_on(value) for value in given]
    arguments = (ctypes.c_void_p * len(passed))(*[ctypes.addressof(value) for value in passed])
    if shared_bytes > 48 * 1024:
        assert cuda.cuFuncSetAttribute(function, MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes) == 0
    assert cuda.cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, shared_bytes, None, arguments) == 0
    results = []
    for value, memory in zip(given, passed):
        results.append(value)
        if isinstance(value, np.ndarray):
            results[-1] = np.empty_like(value)
            to = results[-1].ctypes.data_as(ctypes.c_void_p)
            assert cuda.cuMemcpyDtoH_v2(to, memory, ctypes.c_size_t(value.nbytes)) == 0
    return results


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(*launch(*sys.argv[1:], [np.zeros(64, np.int32)], 4 * THREADS)[0][:THREADS])
