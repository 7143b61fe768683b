"""Fused attention of few rows, of heads that share keys, in all types of keys."""

for group in (*range(1, 11), 12, 14, 15, 16, 20):
    for rows in (1, 2, 3, 4):
        for element, stored in (("f32", "f32"), ("f32", "f16"), ("f32", "i8"), ("bf16", "bf16")):
            for dim in (64, 128):
                query = f"tensor<1x{2 * group}x{rows}x{dim}x{element}>"
                key = f"tensor<1x2x?x{dim}x{stored}>"
                scales = "tensor<1x2x?x1xf32>"
                types, operands, names = f"{query}, {key}, {key}", "%q, %k, %v", f"%q: {query}, %k: {key}, %v: {key}"
                if stored == "i8":
                    operands += f" key_scales(%ks : {scales}) value_scales(%vs : {scales})"
                    names += f", %ks: {scales}, %vs: {scales}"
                print(f"func.func @g{group}_r{rows}_{element}_{stored}_{dim}({names}) -> {query} {{")
                print(f"  %0 = attn.attention {operands} : {types} -> {query}")
                print(f"  return %0 : {query}\n}}")
