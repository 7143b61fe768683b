"""Calls graphs with results of computed sizes, each tensor one element too short and too long in turn.

    result-sizes.py [TARGET]
"""

import os
import sys

import calls
import numpy as np

ROWS = 'tensor<?x4xf32> {attn.dims = ["rows", 4]}'
SPECS = {
    "sum of two": f"""(%a: {ROWS}, %b: tensor<?x4xf32>) -> tensor<?x4xf32> {{
  %joined = tensor.concat dim(0) %a, %b : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return %joined : tensor<?x4xf32>""",
    "known": """(%a: tensor<5x4xf32>) -> tensor<?x?xf32> {
  %exp = math.exp %a : tensor<5x4xf32>
  %open = tensor.cast %exp : tensor<5x4xf32> to tensor<?x?xf32>
  return %open : tensor<?x?xf32>""",
    "named as another": f"""(%a: {ROWS}, %b: tensor<?x4xf32> {{attn.dims = ["others", 4]}}) -> ({ROWS.replace("rows", "others")}) {{
  %exp = math.exp %a : tensor<?x4xf32>
  return %exp : tensor<?x4xf32>""",
    "product": f"""(%a: {ROWS}) -> tensor<?xf32> {{
  %exp = math.exp %a : tensor<?x4xf32>
  %flat = tensor.collapse_shape %exp [[0, 1]] : tensor<?x4xf32> into tensor<?xf32>
  return %flat : tensor<?xf32>""",
    "an argument's element, returned twice": f"""(%a: {ROWS}, %n: tensor<i64>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {{
  %read = tensor.extract %n[] : tensor<i64>
  %size = arith.index_cast %read : i64 to index
  %some = tensor.extract_slice %a[0, 0] [%size, 4] [1, 1] : tensor<?x4xf32> to tensor<?x4xf32>
  return %some, %some : tensor<?x4xf32>, tensor<?x4xf32>""",
    "a computed element": f"""(%a: {ROWS}, %n: tensor<2xi64>) -> tensor<?x4xf32> {{
  %sum = attn.reduce sum %n axes [0] : tensor<2xi64> -> tensor<i64>
  %read = tensor.extract %sum[] : tensor<i64>
  %size = arith.index_cast %read : i64 to index
  %some = tensor.extract_slice %a[0, 0] [%size, 4] [1, 1] : tensor<?x4xf32> to tensor<?x4xf32>
  %exp = math.exp %some : tensor<?x4xf32>
  return %exp : tensor<?x4xf32>""",
}
A, B = np.ones((5, 4), np.float32), np.ones((3, 4), np.float32)
# Of each spec: the arguments, and the shapes of the results.
CALLS = {
    "sum of two": ([A, B], [(8, 4)]),
    "known": ([A], [(5, 4)]),
    "named as another": ([A, A], [(5, 4)]),
    "product": ([A], [(20,)]),
    "an argument's element, returned twice": ([A, np.array(4)], [(4, 4)] * 2),
    "a computed element": ([A, np.array([1, 3])], [(4, 4)]),
}


def run(name, target):
    inputs, shapes = CALLS[name]
    with calls.compiled("sizes", f"func.func @sizes{SPECS[name]}\n}}\n", target) as library:
        def call():
            outputs = [calls.guard(np.zeros(shape, np.float32), at_end=True) for shape in shapes]
            if library.call(inputs, outputs) != 0 or not all(output.all() for output in outputs):
                sys.exit(f"{library.error().decode()}: expected results")
            calls.call_with_wrong_sizes(library, inputs, [np.zeros(shape, np.float32) for shape in shapes])
            os._exit(0)

        return calls.is_good(call, name)


if __name__ == "__main__":
    calls.report([run(name, *(sys.argv[1:] or ["host"])) for name in SPECS])
