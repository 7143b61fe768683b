"""Writes a spec with a long chain of sums.

usage: chain.py mask|score|prob|map|generate|outside|tensors LENGTH [COUNT]

The chain stands in each of COUNT regions, outside of the one that takes its end, or, with tensors,
in a map behind a score.
"""

import sys

KIND, LENGTH, COUNT = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1
X, S = "tensor<1x2x4x8xf32>", "tensor<1x2x4x4xf32>"
POSITION = "%b: index, %h: index, %i: index, %j: index"


def chain(step):
    return "\n".join(f"    %x{n + 1} = {step.format(f'%x{n}')}" for n in range(LENGTH))


def add_one(kind):
    return f"    %one = arith.constant 1.0 : f32\n{chain(f'arith.addf {{}}, %one : {kind}')}"


def mask(to, of, outside=""):
    inside = "" if outside else f"    %x0 = arith.addi %i, %h : index\n{chain('arith.addi {}, %h : index')}"
    return f"""{outside}
  %{to} = attn.mask %{of} {{
  ^bb0({POSITION}):
{inside}
    %seen = arith.cmpi sle, %j, %x{LENGTH} : index
    attn.yield %seen : i1
  }} : {S}"""


def modify(op, to, of):
    return f"""
  %{to} = attn.modify_{op} %{of} {{
  ^bb0(%x0: f32, {POSITION}):
{add_one("f32") if op == "score" else chain("arith.addf {}, %x0 : f32")}
    attn.yield %x{LENGTH} : f32
  }} : {S}"""


def add_map(to, of, shape):
    return f"""
  %{to} = attn.map %{of} {{
  ^bb0(%x0: f32):
{add_one("f32")}
    attn.yield %x{LENGTH} : f32
  }} : {shape} -> {shape}"""


OUTSIDE = f"""
  %zero = arith.constant 0 : index
  %first = arith.constant 1 : index
  %step = tensor.dim %length, %zero : tensor<?x?xf32>
  %x0 = tensor.dim %length, %first : tensor<?x?xf32>
{chain('arith.addi {}, %step : index')}"""
STEPS = {
    "mask": lambda to, of: mask(to, of),
    "outside": lambda to, of: mask(to, of, OUTSIDE),
    "score": lambda to, of: modify("score", to, of),
    "prob": lambda to, of: modify("prob", to, of),
    "tensors": lambda to, of: add_map(to, of, S),
}


def print_attention():
    names = [f"s{n}" for n in range(COUNT + 1)]
    steps = [STEPS[KIND](to, of) for of, to in zip(names, names[1:])]
    before, after = ([], steps) if KIND == "prob" else (steps, [])
    softmax, last = ("s0", "s%d" % COUNT) if KIND == "prob" else ("p", "p")
    scored = "s" if KIND == "prob" else "s0"
    of = "s" if KIND == "prob" else names[-1]
    print(f"""func.func @attend(%q: {X}, %k: {X}, %v: {X}, %length: tensor<?x?xf32>) -> {X} {{
  %{scored} = attn.score %q, %k scale(0.25) : {X}, {X} -> {S}{"".join(before)}
  %{softmax} = attn.softmax %{of} : {S}{"".join(after)}
  %c = attn.context %{last}, %v : {S}, {X} -> {X}
  return %c : {X}
}}""")


def print_map():
    body = add_map("r", "x", X) if KIND == "map" else f"""
  %r = tensor.generate {{
  ^bb0({POSITION}):
    %x0 = tensor.extract %x[%b, %h, %i, %j] : {X}
{add_one("f32")}
    tensor.yield %x{LENGTH} : f32
  }} : {X}"""
    print(f"func.func @apply(%x: {X}) -> {X} {{{body}\n  return %r : {X}\n}}")


print_map() if KIND in ("map", "generate") else print_attention()
