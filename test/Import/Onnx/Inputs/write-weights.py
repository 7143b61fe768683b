"""Prints a model with two large initializers: each row of one counts, the other is the same all over."""

import struct

rows, columns = 160, 128


def initializer(name, values):
    raw = "".join(f"\\{byte:03o}" for byte in struct.pack(f"<{len(values)}f", *values))
    return (f'initializer {{ name: "{name}" data_type: 1 dims: {rows} dims: {columns} '
            f'raw_data: "{raw}" }}')


print('opset_import { version: 17 } graph {')
print('  input { name: "x" type { tensor_type { elem_type: 1 '
      f'shape {{ dim {{ dim_value: 2 }} dim {{ dim_value: {rows} }} }} }} }} }}')
print(initializer("layer.0*/weight", list(range(columns)) * rows))
print(initializer("ones", [1] * rows * columns))
print('  node { op_type: "MatMul" input: "x" input: "layer.0*/weight" output: "a" }')
print('  node { op_type: "MatMul" input: "x" input: "ones" output: "b" }')
print('  node { op_type: "Add" input: "a" input: "b" output: "y" }')
print('  output { name: "y" type { tensor_type { elem_type: 1 } } }')
print('}')
