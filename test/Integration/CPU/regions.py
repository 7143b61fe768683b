"""Writes a spec with all scalar ops that a page of documentation lists: the sum of what they give.

    regions.py PAGE
"""

import re
import sys

# Operands by the kind of a row of the page's table, and the types of operands and result.
KINDS = {
    "one float": (["%x"], "f32", "f32"),
    "two floats": (["%x", "%y"], "f32", "f32"),
    "three floats": (["%x", "%y", "%x"], "f32", "f32"),
    "one float, gives i1": (["%x"], "f32", "i1"),
    "one integer": (["%n"], "i32", "i32"),
    "two integers": (["%n", "%m"], "i32", "i32"),
    "two integers, the second not 0": (["%n", "%m"], "i32", "i32"),
    "two integers, the second less than the width": (["%n", "%m"], "i32", "i32"),
}
ROW = re.compile(r"^\| ([\w, ]+) \| ((?:`(?:arith|math)\.\w+` ?)+)\|$", re.MULTILINE)
# Not defined for all numbers about 0, or of unsigned numbers.
FROM_ONE = {"math.acosh", "math.log", "math.log10", "math.log1p", "math.log2", "math.powf", "math.rsqrt", "math.sqrt"}
UNSIGNED = ("ui", "shrui")

# %x is in (-0.6, 0.4), %y in (0, 1), %z in (1, 2), %n in (-6, 4), %m in 1 to 9, %u in 4 to 13.
HEAD = """
func.func @regions(%t: tensor<37xf32>) -> tensor<37xf32> {
  %result = attn.map %t {
  ^bb0(%e: f32):
    %half = arith.constant 0.5 : f32
    %tenth = arith.constant 0.1 : f32
    %nine = arith.constant 9.0 : f32
    %one = arith.constant 1 : i32
    %ten = arith.constant 10 : i32
    %near = math.tanh %e : f32
    %a = arith.mulf %near, %half : f32
    %x = arith.subf %a, %tenth : f32
    %y = arith.addf %a, %half : f32
    %l = arith.addf %y, %half : f32
    %z = arith.addf %l, %half : f32
    %x9 = arith.mulf %x, %nine : f32
    %n = arith.fptosi %x9 : f32 to i32
    %y9 = arith.mulf %y, %nine : f32
    %j = arith.fptosi %y9 : f32 to i32
    %m = arith.addi %j, %one : i32
    %u = arith.addi %n, %ten : i32
    %sum0 = arith.constant 0.0 : f32"""


def write_op(kind, op, number):
    operands, type_, result = KINDS[kind]
    first = "%z" if op in FROM_ONE else "%u" if op.endswith(UNSIGNED) else operands[0]
    print(f"    %v{number} = {op} {', '.join([first, *operands[1:]])} : {type_}")
    value = f"%v{number}"
    if result != "f32":
        value = f"%f{number}"
        print(f"    {value} = arith.{'uitofp' if result == 'i1' else 'sitofp'} %v{number} : {result} to f32")
    print(f"    %sum{number + 1} = arith.addf %sum{number}, {value} : f32")


with open(sys.argv[1]) as file:
    rows = [(kind, op) for kind, ops in ROW.findall(file.read()) if kind in KINDS for op in re.findall(r"`(.*?)`", ops)]
print(HEAD)
for number, (kind, op) in enumerate(rows):
    write_op(kind, op, number)
print(f"""    attn.yield %sum{len(rows)} : f32
  }} : tensor<37xf32> -> tensor<37xf32>
  return %result : tensor<37xf32>
}}""")
