"""Prints a spec whose host function makes so many calls."""

import sys

count = int(sys.argv[1])
row = 'tensor<?x8xf32>'
names = '{attn.name = "%s", attn.dims = ["n", 8]}'
print(f"func.func @calls(%x0: {row} {names % 'x'}) -> ({row} {names % 'y'}) {{")
for i in range(count):
    print(f"  %x{i + 1} = attn.layer_norm %x{i} epsilon(1.0e-5) : {row}")
print(f"  return %x{count} : {row}\n}}")
