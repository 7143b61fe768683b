"""Launches a kernel of a file of PTX, with 32 threads that share 128 bytes, and prints its result.

usage: launch.py FILE.ptx KERNEL   (where libcuda.so.1 is found, which on-cpu sees to)

The kernel's argument is memory of 256 bytes.
"""

import ctypes
import sys

import numpy as np

THREADS = 32
MAX_DYNAMIC_SHARED_SIZE_BYTES = 8


def launch(path, kernel, arrays, shared_bytes, threads=THREADS):
    """The arrays after a launch of one block, whose arguments are their copies on the device."""
    cuda = ctypes.CDLL("libcuda.so.1")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    with open(path, "rb") as ptx:
        assert cuda.cuModuleLoadData(ctypes.byref(module), ptx.read()) == 0
    assert cuda.cuModuleGetFunction(ctypes.byref(function), module, kernel.encode()) == 0
    memory = [ctypes.c_uint64() for _ in arrays]
    for copy, array in zip(memory, arrays):
        assert cuda.cuMemAlloc_v2(ctypes.byref(copy), ctypes.c_size_t(array.nbytes)) == 0
        assert cuda.cuMemcpyHtoD_v2(copy, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes)) == 0
    arguments = (ctypes.c_void_p * len(memory))(*[ctypes.addressof(copy) for copy in memory])
    if shared_bytes > 48 * 1024:
        assert cuda.cuFuncSetAttribute(function, MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes) == 0
    assert cuda.cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, shared_bytes, None, arguments) == 0
    results = [np.empty_like(array) for array in arrays]
    for copy, result in zip(memory, results):
        assert cuda.cuMemcpyDtoH_v2(result.ctypes.data_as(ctypes.c_void_p), copy, ctypes.c_size_t(result.nbytes)) == 0
    return results


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(*launch(*sys.argv[1:], [np.zeros(64, np.int32)], 4 * THREADS)[0][:THREADS])
