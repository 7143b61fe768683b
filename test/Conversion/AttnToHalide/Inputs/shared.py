"""Writes a spec whose mask computes with values that many paths lead to.

usage: shared.py doubled|hashed|joined
"""

import sys

T, S = "tensor<2x3x8x16xf32>", "tensor<2x3x8x8xf32>"
lines = []
if sys.argv[1] == "doubled":
    lines += ["%x0 = arith.addi %i, %i : index"]
    lines += [f"%x{n + 1} = arith.addi %x{n}, %x{n} : index" for n in range(70)]
    lines += ["%seen = arith.cmpi sle, %j, %x70 : index"]
elif sys.argv[1] == "hashed":  # by xorshift
    lines += ["%a = arith.index_cast %i : index to i32", "%b = arith.index_cast %j : index to i32",
              "%x0 = arith.addi %a, %b : i32", "%zero = arith.constant 0 : i32"]
    lines += [f"%c{n} = arith.constant {bits} : i32" for n, bits in enumerate((13, 17, 5))]
    for n in range(90):
        shift = "shrui" if n % 3 == 1 else "shli"
        lines += [f"%s{n} = arith.{shift} %x{n}, %c{n % 3} : i32",
                  f"%x{n + 1} = arith.xori %x{n}, %s{n} : i32"]
    lines += ["%cut = arith.index_cast %x90 : i32 to index", "%seen = arith.cmpi sge, %cut, %j : index"]
else:
    lines += ["%x0 = arith.cmpi sle, %j, %i : index", "%e = arith.cmpi sge, %j, %head : index",
              "%f = arith.cmpi sle, %j, %batch : index"]
    for n in range(60):
        lines += [f"%y{n} = arith.ori %x{n}, %e : i1", f"%z{n} = arith.ori %x{n}, %f : i1",
                  f"%x{n + 1} = arith.andi %y{n}, %z{n} : i1"]
    lines += ["%seen = arith.andi %x60, %e : i1"]
body = "\n    ".join(lines)
print(f"""func.func @attend(%q: {T}, %k: {T}, %v: {T}) -> {T} {{
  %s = attn.score %q, %k scale(0.25) : {T}, {T} -> {S}
  %m = attn.mask %s {{
  ^bb0(%batch: index, %head: index, %i: index, %j: index):
    {body}
    attn.yield %seen : i1
  }} : {S}
  %p = attn.softmax %m : {S}
  %c = attn.context %p, %v : {S}, {T} -> {T}
  return %c : {T}
}}""")
