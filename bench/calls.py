"""The overhead of a call from Python: microseconds of calls on small inputs with a negligible
kernel, less those of the same call from a loop in C. Each is the shortest of many short runs,
on one core and one thread. Needs the Python package."""

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import timeit

os.environ.update(HL_NUM_THREADS="1", OMP_NUM_THREADS="1")

import attnc
import dlpack
import numpy as np

try:
    import torch
except ImportError:
    torch = None

HERE = os.path.dirname(os.path.abspath(__file__))
SPEC = os.path.join(HERE, "..", "examples", "causal", "spec.mlir")

LOOP = """
#include <time.h>
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e6 * t.tv_sec + 1e-3 * t.tv_nsec;
}
double shortest(int (*call)(const void *, const void *), const void *tensors, int number, int repeat) {
  double best = 1e30;
  while (repeat--) {
    double begin = now();
    for (int i = 0; i < number; ++i)
      if (call(0, tensors))
        return -1;
    double each = (now() - begin) / number;
    best = each < best ? each : best;
  }
  return best;
}
"""


def time_from_c(library, arrays, folder, number, repeat):
    """Microseconds of NAME_call, without Python between the calls."""
    loop = os.path.join(folder, "loop.so")
    compiler = [os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-x", "c", "-", "-o", loop]
    subprocess.run(compiler, input=LOOP, text=True, check=True)
    shortest = ctypes.CDLL(loop).shortest
    shortest.restype = ctypes.c_double
    tensors = [dlpack.from_numpy(array) for array in arrays]
    pointers = (ctypes.c_void_p * len(tensors))(*map(ctypes.addressof, tensors))
    spent = shortest(ctypes.CDLL(library).causal_call, pointers, number, repeat)
    if spent < 0:
        raise RuntimeError("expected causal_call to return 0")
    return spent


def time_from_python(call, number, repeat):
    return 1e6 * min(timeit.repeat(call, number=number, repeat=repeat)) / number


def list_calls(kernel, arrays):
    """(label, call) for each way to call the kernel."""
    out = kernel(*arrays)
    yield "numpy, with out", lambda: kernel(*arrays, out=out)
    yield "numpy", lambda: kernel(*arrays)
    if torch is None:
        return
    tensors = [torch.from_numpy(array) for array in arrays]
    written = torch.from_numpy(out)
    yield "PyTorch, with out", lambda: kernel(*tensors, out=written)
    yield "PyTorch", lambda: kernel(*tensors)
    op = attnc.torch_op("attnc_bench::causal", kernel)
    yield "torch.library op", lambda: op(*tensors)
    compiled = torch.compile(lambda *inputs: op(*inputs), fullgraph=True)
    identity = torch.compile(lambda query, key, value: query + 0, fullgraph=True)
    yield "op in torch.compile", lambda: compiled(*tensors)
    yield "(torch.compile of one addition)", lambda: identity(*tensors)


def main():
    parser = argparse.ArgumentParser(prog="./dev bench calls", description=__doc__)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--number", type=int, default=100, help="calls of a run (default 100)")
    parser.add_argument("--repeat", type=int, default=500, help="runs (default 500)")
    options = parser.parse_args()
    os.sched_setaffinity(0, {options.core})
    runs = options.number, options.repeat

    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((1, 8, 1, 64), dtype=np.float32) for _ in range(3)]
    with tempfile.TemporaryDirectory() as folder:
        tool = os.environ.get("ATTNC", "attnc")
        subprocess.run([tool, "compile", SPEC, "-o", folder, "--emit", "shared_library"], check=True,
                       stdout=subprocess.DEVNULL)
        library = os.path.join(folder, "libcausal.so")
        kernel = attnc.load(library)
        alone = time_from_c(library, [*arrays, np.empty_like(arrays[0])], folder, *runs)
        print(f"{'kernel, called from C':<32} {alone:6.2f} µs")
        for label, call in list_calls(kernel, arrays):
            call()
            spent = time_from_python(call, *runs)
            print(f"{label:<32} {spent:6.2f} µs, {spent - alone:6.2f} beside the kernel")


if __name__ == "__main__":
    sys.exit(main())
