"""Products of all bytes, those of the input unsigned and those of the weight signed, beside numpy's."""

import subprocess
import sys
import tempfile

import numpy as np

with open("/proc/cpuinfo") as file:
    HAS_AVX512 = "avx512vl" in file.read()
TARGETS = ("host", "host-opencl", "x86-64-linux", "x86-64-linux-avx2-fma") + HAS_AVX512 * ("x86-64-linux-avx512_skylake",)
SHAPES = ((1, 4096, 33), (7, 130, 64), (40, 3, 5), (70, 256, 200))
SPEC = """
func.func @f(%x: tensor<ROWSxDEPTHxi8>, %w: tensor<FEATURESxDEPTHxi8>) -> tensor<ROWSxFEATURESxi32> {
  %y = attn.linear %x, %w : tensor<ROWSxDEPTHxi8>, tensor<FEATURESxDEPTHxi8> -> tensor<ROWSxFEATURESxi32>
  return %y : tensor<ROWSxFEATURESxi32>
}
"""


def multiply(folder, x, w, target):
    """Also of a constant weight."""
    spec = SPEC
    for name, size in zip(("ROWS", "DEPTH", "FEATURES"), (*x.shape, len(w))):
        spec = spec.replace(name, str(size))
    argument = f", %w: tensor<{len(w)}x{w.shape[1]}xi8>"
    constant = f"  %w = arith.constant dense<{w.tolist()}> : tensor<{len(w)}x{w.shape[1]}xi8>\n"
    np.save(f"{folder}/x.npy", x)
    np.save(f"{folder}/w.npy", w)
    for text, inputs in ((spec, ("x", "w")), (spec.replace(argument, "").replace("{\n", "{\n" + constant, 1), ("x",))):
        with open(f"{folder}/f.mlir", "w") as file:
            file.write(text)
        given = [f"--input={name}=@{folder}/{name}.npy" for name in inputs]
        subprocess.run(["attnc", "run", f"{folder}/f.mlir", *given, f"--output=y=@{folder}/y.npy", "--target", target],
                       check=True)
        yield np.load(f"{folder}/y.npy")


def main():
    random = np.random.default_rng(0)
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for rows, depth, features in SHAPES:
            x = random.integers(-128, 128, (rows, depth), np.int8)
            w = random.integers(-128, 128, (features, depth), np.int8)
            x[0], w[0] = -1, -128  # the largest sum
            expected = x.view(np.uint8).astype(np.int64) @ w.T.astype(np.int64)
            wrong += [(target, rows, depth, features) for target in TARGETS
                      for y in multiply(folder, x, w, target) if not np.array_equal(y, expected)]
    print(*wrong or ["all sums are exact"], sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
