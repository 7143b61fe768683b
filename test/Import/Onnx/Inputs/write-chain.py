"""Prints a model whose nodes read one another: write-chain.py KIND LENGTH."""

import sys

kind, length = sys.argv[1], int(sys.argv[2])


def node(op, inputs, output, more=""):
    names = " ".join(f'input: "{name}"' for name in inputs)
    return f'  node {{ op_type: "{op}" {names} output: "{output}" {more} }}'


def value(name, kind, dims):
    sizes = " ".join(f"dim {{ {dim} }}" for dim in dims)
    return f'{{ name: "{name}" type {{ tensor_type {{ elem_type: {kind} shape {{ {sizes} }} }} }} }}'


AXIS = 'attribute { name: "axis" type: INT i: 0 }'
STEPS = {
    "add": lambda x, y: [node("Add", [x, "v0"], y)],
    "square": lambda x, y: [node("Mul", [x, x], y)],
    "join": lambda x, y: [node("Concat", [x, x], y, AXIS)],
    "list": lambda x, y: [node("Concat", [x, x], y, AXIS)],
    # What the mean is of can be no formula of one element.
    "shift": lambda x, y: [node("ReduceMax", [x], y + "max"), node("Sub", [x, y + "max"], y)],
    "scale": lambda x, y: [node("Mul", [x, "half"], y)],
    "count": lambda x, y: [node("Add", [x, "v0"], y)],
    # Each reads all of a row of sums over positions.
    "readers": lambda x, y: [node("Gather", ["table", "sum"], y, AXIS)],
}


def print_call_tree():
    """Functions that each call the next one twice."""
    print("opset_import { version: 17 } opset_import { domain: 'own' version: 1 }")
    for i in range(length):
        call = f'op_type: "f{i + 1}" domain: "own"' if i + 1 < length else 'op_type: "Identity"'
        print(f'functions {{ name: "f{i}" domain: "own" input: "x" output: "z" opset_import {{ version: 17 }} '
              f'opset_import {{ domain: "own" version: 1 }} node {{ {call} input: "x" output: "y" }} '
              f'node {{ {call} input: "y" output: "z" }} }}')
    print('graph { input', value("v", 1, ["dim_value: 4"]))
    print('node { op_type: "f0" domain: "own" input: "v" output: "w" }')
    print('output { name: "w" type { tensor_type { elem_type: 1 } } } }')


def print_chain():
    print("opset_import { version: 17 } graph {")
    dims = {"join": ['dim_param: "n"'], "scale": ["dim_value: 2"] * 3}.get(kind, ["dim_value: 4"] * 2)
    if kind in ("count", "readers"):
        for name, number in (("start", 0), ("limit", 100), ("delta", 1)):
            print(f'  initializer {{ name: "{name}" data_type: 7 int64_data: [{number}] }}')
        print(node("Range", ["start", "limit", "delta"], "v0"))
    if kind == "readers":
        print("  input", value("table", 1, ["dim_value: 100"]))
        for i in range(100):
            print(node("Add", [f"sum{i}" if i else "v0", "v0"], f"sum{i + 1}" if i < 99 else "sum"))
    elif kind == "list":
        print('  initializer { name: "v0" dims: 1 data_type: 7 int64_data: [3] }')
    elif kind != "count":
        print("  input", value("v0", 1, dims))
    print('  initializer { name: "half" data_type: 1 float_data: [0.5] }')
    for i in range(length):
        print("\n".join(STEPS[kind](f"v{i}", f"v{i + 1}")))
    for i in range(1 if kind == "readers" else length, length + 1):
        print(f'  output {{ name: "v{i}" type {{ tensor_type {{ elem_type: {7 if kind in ("list", "count") else 1} }} }} }}')
    print("}")


print_call_tree() if kind == "calls" else print_chain()
