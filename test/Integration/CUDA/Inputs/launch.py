"""Launches a kernel of a file of PTX, with 32 threads that share 128 bytes, and prints its result.

usage: launch.py FILE.ptx KERNEL   (where libcuda.so.1 is found, which on-cpu sees to)

The kernel's argument is memory of 256 bytes.
"""

import ctypes
import sys

THREADS = 32


def launch(path, kernel):
    cuda = ctypes.CDLL("libcuda.so.1")
    module, function, memory = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
    with open(path, "rb") as ptx:
        assert cuda.cuModuleLoadData(ctypes.byref(module), ptx.read()) == 0
    assert cuda.cuModuleGetFunction(ctypes.byref(function), module, kernel.encode()) == 0
    assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(256)) == 0
    arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(memory), ctypes.c_void_p))
    assert cuda.cuLaunchKernel(function, 1, 1, 1, THREADS, 1, 1, 4 * THREADS, None, arguments) == 0
    result = (ctypes.c_int32 * THREADS)()
    assert cuda.cuMemcpyDtoH_v2(result, memory, ctypes.sizeof(result)) == 0
    return list(result)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(*launch(*sys.argv[1:]))
