"""Writes a spec with a region whose values are each read twice by the next one.

usage: dag.py hash|sum|wide-sum|condition|cast|score|prob LENGTH
"""

import sys

KIND, LENGTH = sys.argv[1], int(sys.argv[2])
X, S = "tensor<1x2x4x8xf32>", "tensor<1x2x4x4xf32>"
POSITION = "%b: index, %h: index, %i: index, %j: index"


def steps(*lines):
    """`lines` for each step; {0} is the value before it, {1} the step's number."""
    return "\n".join(f"    {line}".format(n, n + 1) for n in range(LENGTH) for line in lines)


SUM = steps("%x{1} = arith.addi %x{0}, %x{0} : TYPE")
HASH = steps("%left{1} = arith.shli %x{0}, %c : TYPE", "%y{1} = arith.xori %x{0}, %left{1} : TYPE",
             "%right{1} = arith.shrui %y{1}, %c : TYPE", "%x{1} = arith.xori %y{1}, %right{1} : TYPE")
FLOAT = steps("%x{1} = arith.addf %x{0}, %x{0} : TYPE")
AS_I32 = """    %c = arith.constant 5 : i32
    %q = arith.index_cast %i : index to i32
    %k = arith.index_cast %j : index to i32
    %x0 = arith.addi %q, %k : i32
"""
MASKS = {
    "hash": (AS_I32 + HASH, "i32", f"%seen = arith.cmpi sgt, %x{LENGTH}, %c : i32"),
    "sum": ("    %x0 = arith.addi %i, %h : index\n" + SUM, "index",
            f"%seen = arith.cmpi sle, %j, %x{LENGTH} : index"),
    "wide-sum": (AS_I32 + SUM, "i32", f"%seen = arith.cmpi sle, %k, %x{LENGTH} : i32"),
    "condition": ("    %x0 = arith.cmpi sle, %j, %i : index\n    %c = arith.cmpi sle, %j, %h : index\n"
                  + steps("%y{1} = arith.ori %x{0}, %c : TYPE", "%x{1} = arith.andi %x{0}, %y{1} : TYPE"), "i1",
                  f"%seen = arith.andi %x{LENGTH}, %x{LENGTH} : i1"),
    "cast": (AS_I32 + "    %f0 = arith.sitofp %x0 : i32 to f32\n" + FLOAT.replace("%x", "%f")
             + f"\n    %n = arith.fptosi %f{LENGTH} : f32 to i32\n    %at = arith.index_cast %n : i32 to index",
             "f32", "%seen = arith.cmpi sle, %j, %at : index"),
}


def region(op, operand, arguments, body, type, end, yielded):
    return f"""
  %{op.split('_')[-1]}ed = attn.{op} {operand} {{
  ^bb0({arguments}):
{body.replace("TYPE", type)}
    {end}
    attn.yield {yielded} : {"i1" if op == "mask" else type}
  }} : {S}"""


score, prob, before, behind = "%s", "%p", "", ""
if KIND == "score":
    score, before = "%scoreed", region("modify_score", "%s", f"%x0: f32, {POSITION}", FLOAT, "f32", "", f"%x{LENGTH}")
elif KIND == "prob":
    prob, behind = "%probed", region("modify_prob", "%p", f"%x0: f32, {POSITION}", FLOAT, "f32", "", f"%x{LENGTH}")
else:
    body, type, end = MASKS[KIND]
    score, before = "%masked", region("mask", "%s", POSITION, body, type, end, "%seen")
print(f"""func.func @dag(%query: {X}, %key: {X}, %value: {X}) -> {X} {{
  %s = attn.score %query, %key : {X}, {X} -> {S}{before}
  %p = attn.softmax {score} : {S}{behind}
  %c = attn.context {prob}, %value : {S}, {X} -> {X}
  return %c : {X}
}}""")
