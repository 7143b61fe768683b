"""Holds random graphs to `attnc verify`: one graph a seed, printed where it fails.

    fuzz.py FIRST COUNT [--keep FOLDER] [--target TARGET]        with attnc in the PATH

A graph is a score (of operands in some layout, projected or not), what changes and hides it, a
softmax, what changes the prob, a context and what follows it: most ops of the attn dialect, all
element types, open and known sizes (0, 1, odd and beyond a kernel's tiles), grouped heads,
regions of random arithmetic, operands that broadcast, results used twice, and private functions.
Regions are continuous in their floats: where a comparison turns on rounding, every answer is right.
No tensor is added behind a mask: fusion takes it to be no NaN where the mask hides.
"""

import argparse
import dataclasses
import os
import random
import subprocess
import sys
import tempfile


@dataclasses.dataclass(frozen=True)
class Tensor:
    name: str
    dims: tuple
    element: str


class Graph:
    """A function under construction. A dimension is a number, or the name of one."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.element = self.choose(["f32"] * 6 + ["f16", "bf16", "f64"])
        self.sizes, self.open = {}, set()
        self.arguments, self.lines, self.results, self.functions = [], [], [], []
        self.count, self.is_masked = 0, False

    # Parts of the text.

    def choose(self, options):
        return self.random.choice(options)

    def chance(self, probability):
        return self.random.random() < probability

    def dim(self, name, sizes):
        """A dimension of one of these sizes, open or not."""
        self.sizes[name] = self.choose(sizes)
        if self.chance(0.6):
            self.open.add(name)
        return name

    def size(self, dim):
        return self.sizes.get(dim, dim)

    def type(self, dims, element=None):
        texts = ["?" if dim in self.open else str(self.size(dim)) for dim in dims]
        return f"tensor<{'x'.join(texts + [element or self.element])}>"

    def type_of(self, tensor):
        return self.type(tensor.dims, tensor.element)

    def fresh(self, prefix="v"):
        self.count += 1
        return f"{prefix}{self.count}"

    def argument(self, prefix, dims, element=None):
        tensor = Tensor("%" + self.fresh(prefix), tuple(dims), element or self.element)
        symbols = [f'"{dim}"' if dim in self.open else str(self.size(dim)) for dim in dims]
        self.arguments.append(
            f'{tensor.name}: {self.type_of(tensor)} {{attn.name = "{tensor.name[1:]}", '
            f"attn.dims = [{', '.join(symbols)}]}}"
        )
        return tensor

    def emit(self, op, dims, element=None):
        """`op` without its result."""
        tensor = Tensor("%" + self.fresh(), tuple(dims), element or self.element)
        self.lines.append(f"{tensor.name} = {op}")
        return tensor

    def unary(self, op, tensor):
        """An op whose result has its operand's type."""
        return self.emit(f"{op} : {self.type_of(tensor)}", tensor.dims, tensor.element)

    def text(self):
        types = [self.type_of(result) for result in self.results]
        named = [f'{type} {{attn.name = "out{i}"}}' for i, type in enumerate(types)]
        names = ", ".join(result.name for result in self.results)
        body = "\n  ".join(self.lines + [f"return {names} : {', '.join(types)}"])
        arguments = ",\n    ".join(self.arguments)
        main = f"func.func @fuzz({arguments})\n  -> ({', '.join(named)}) {{\n  {body}\n}}\n"
        return main + "".join(self.functions)

    # Regions.

    def arithmetic(self, lines, floats, depth=2):
        """A float made of `floats`, each step of which neither jumps nor grows much."""
        for _ in range(self.random.randint(1, depth)):
            x, y, name = self.choose(floats), self.choose(floats), "%" + self.fresh("e")
            constant = "%" + self.fresh("c")
            number = self.choose(["0.5", "0.75", "-0.25", "1.5"])
            lines.append(f"{constant} = arith.constant {number} : {self.element}")
            op = self.choose([
                f"arith.addf {x}, {y}", f"arith.subf {x}, {constant}",
                f"arith.mulf {x}, {constant}", f"arith.divf {x}, {constant}",
                f"arith.maximumf {x}, {y}",
                f"arith.minnumf {x}, {constant}", f"math.tanh {x}", f"math.absf {x}",
                f"arith.negf {x}", f"math.fma {x}, {constant}, {y}",
            ])
            lines.append(f"{name} = {op} : {self.element}")
            floats = floats + [name]
        return floats[-1]

    def condition(self, lines):
        """A condition on places."""
        x, y = self.random.sample(["%b", "%h", "%q", "%k"], 2)
        if self.chance(0.5):
            x, y = "%k", "%q"
        if self.chance(0.4):
            x, y = self.place(lines, x), self.place(lines, y)
        name = self.compare(lines, x, y)
        while self.chance(0.3):
            other, both = self.condition(lines), "%" + self.fresh("p")
            op = self.choose(["andi", "andi", "ori", "xori"])
            lines.append(f"{both} = arith.{op} {name}, {other} : i1")
            name = both
        return name

    def compare(self, lines, x, y):
        name, kind = "%" + self.fresh("p"), self.choose(["sle", "sge", "slt", "sgt", "ne", "eq"])
        lines.append(f"{name} = arith.cmpi {kind}, {x}, {y} : index")
        return name

    def place(self, lines, index):
        """A formula of a place, of numbers and of lengths that the call gives."""
        for _ in range(self.random.randint(1, 2)):
            constant, name = "%" + self.fresh("n"), "%" + self.fresh("i")
            lines.append(f"{constant} = arith.constant {self.choose([1, 2, 3, 7, 16, 40])} : index")
            if self.chance(0.3):
                constant = self.length(lines)
            elif self.chance(0.5):
                op = self.choose(["divsi", "floordivsi", "ceildivsi", "remsi", "muli"])
                lines.append(f"{name} = arith.{op} {index}, {constant} : index")
                index, name = name, "%" + self.fresh("i")
            op = self.choose(["addi", "subi", "maxsi", "minsi"])
            lines.append(f"{name} = arith.{op} {index}, {constant} : index")
            index = name
        return index

    def length(self, lines):
        """An integer for each batch, or for each row of it."""
        places = [("%b", "batch")] + ([("%q", "q_len")] if self.chance(0.4) else [])
        table = self.argument("n", [dim for _, dim in places], "i32")
        number, index = "%" + self.fresh("n"), "%" + self.fresh("i")
        lines += [f"{number} = tensor.extract {table.name}[{', '.join(at for at, _ in places)}] : "
                  f"{self.type_of(table)}",
                  f"{index} = arith.index_cast {number} : i32 to index"]
        return index

    def distance(self, lines):
        """k - q as a float, scaled."""
        index, number, real, small, scaled = ("%" + self.fresh("d") for _ in range(5))
        lines += [f"{index} = arith.subi %k, %q : index",
                  f"{number} = arith.index_cast {index} : index to i32",
                  f"{real} = arith.sitofp {number} : i32 to {self.element}",
                  f"{small} = arith.constant 0.0625 : {self.element}",
                  f"{scaled} = arith.mulf {real}, {small} : {self.element}"]
        return scaled

    def table(self, lines, score):
        """An element of a tensor that the region reads."""
        places = dict(zip(["%b", "%h", "%q", "%k"], score.dims))
        read = [place for place in places if self.chance(0.5)] or ["%h"]
        table = self.argument("table", [places[place] for place in read])
        name = "%" + self.fresh("t")
        lines.append(f"{name} = tensor.extract {table.name}[{', '.join(read)}] : "
                     f"{self.type_of(table)}")
        return name

    def region(self, op, tensor, build, type=None):
        lines = []
        result = build(lines)
        value = f"%x: {self.element}, " if op != "attn.mask" else ""
        body = "\n    ".join(lines + [f"attn.yield {result} : {type or self.element}"])
        return self.unary(f"{op} {tensor.name} {{\n  ^bb0({value}%b: index, %h: index, %q: index, "
                          f"%k: index):\n    {body}\n  }}", tensor)

    def map(self, inputs, build, dims):
        lines = []
        names = ["%" + self.fresh("a") for _ in inputs]
        result = build(lines, names)
        arguments = ", ".join(f"{name}: {input.element}" for name, input in zip(names, inputs))
        body = "\n    ".join(lines + [f"attn.yield {result} : {self.element}"])
        types = ", ".join(self.type_of(input) for input in inputs)
        return self.emit(f"attn.map {', '.join(i.name for i in inputs)} {{\n  ^bb0({arguments}):\n"
                         f"    {body}\n  }} : {types} -> {self.type(dims)}", dims)

    def broadcasting(self, dims):
        """Dimensions that repeat to `dims`."""
        kept = [1 if self.chance(0.4) else dim for dim in dims]
        return kept[self.random.randint(0, len(dims) - 1):]

    # Pieces of a graph.

    def linear(self, x, features):
        width = x.dims[-1]
        weight = self.argument("weight", [features, width])
        operands = [x, weight] + ([self.argument("bias", [features])] if self.chance(0.5) else [])
        dims = x.dims[:-1] + (features,)
        types = ", ".join(self.type_of(tensor) for tensor in operands)
        return self.emit(f"attn.linear {', '.join(t.name for t in operands)} : {types} -> "
                         f"{self.type(dims)}", dims)

    def change(self, x):
        """Something elementwise, normalising, or a call of a function."""
        kind = self.choose(["map", "bias", "whole", "layer_norm", "rms", "call", "twice"])
        if kind == "map":
            return self.map([x], self.arithmetic, x.dims)
        if kind == "bias":
            other = self.argument("other", self.broadcasting(x.dims))
            return self.map([x, other], self.arithmetic, x.dims)
        if kind == "whole":
            return self.unary(f"math.tanh {x.name}", x)
        if kind == "twice":
            half = self.map([x], self.arithmetic, x.dims)
            return self.unary(f"arith.addf {x.name}, {half.name}", x)
        if kind == "call":
            return self.call(x)
        mode = " mode(rms)" if kind == "rms" else ""
        scale = ""
        if self.chance(0.5):
            tensor = self.argument("gain", [x.dims[-1]])
            scale = f" scale({tensor.name} : {self.type_of(tensor)})"
        return self.unary(f"attn.layer_norm {x.name}{mode}{scale} epsilon(1.0e-3)", x)

    def call(self, x):
        """The same function for all of a type."""
        name, type = self.fresh("part"), self.type_of(x)
        self.functions.append(f"func.func private @{name}(%x: {type}) -> {type} {{\n"
                              f"  %y = math.tanh %x : {type}\n  %z = arith.mulf %x, %y : {type}\n"
                              f"  return %z : {type}\n}}\n")
        return self.emit(f"call @{name}({x.name}) : ({type}) -> {type}", x.dims)

    def operand(self, name, batch, heads, length, width):
        """A tensor (batch, heads, length, width) from some other layout."""
        dims = (batch, heads, length, width)
        rows = self.size(heads) * self.size(width)
        layout = self.choose(["heads", "rows", "time", "transposed", "projected", "embedded"])
        if layout == "heads":
            return self.argument(name, dims)
        if layout == "transposed":
            x = self.argument(name, (batch, length, heads, width))
            return self.emit(f"attn.transpose {x.name} [0, 2, 1, 3] : {self.type_of(x)} -> "
                             f"{self.type(dims)}", dims)
        order = " layout(time_first)" if layout == "time" else ""
        outer = (length, batch) if order else (batch, length)
        if layout == "projected":
            x = self.linear(self.argument(name, outer + (self.choose([8, 33, 300]),)), rows)
        elif layout == "embedded":
            table, ids = self.argument(name, (50, rows)), self.argument("ids", outer, "i64")
            x = self.emit(f"attn.embedding {table.name}, {ids.name} : {self.type_of(table)}, "
                          f"{self.type_of(ids)} -> {self.type(outer + (rows,))}", outer + (rows,))
        else:
            x = self.argument(name, outer + (rows,))
        if self.chance(0.2):
            x = self.change(x)
        return self.emit(f"attn.split_heads {x.name} num_heads({self.size(heads)}){order} : "
                         f"{self.type_of(x)} -> {self.type(dims)}", dims)

    def position(self, x):
        kind = self.choose(["rotary_halves", "rotary_pairs", "sinusoidal"])
        return self.unary(f"attn.positions {x.name} kind({kind})", x)

    def score(self, query, key, dims):
        types = f"{self.type_of(query)}, {self.type_of(key)}"
        if self.chance(0.1):
            weight = self.argument("weight", [query.dims[-1]])
            return self.emit(f"attn.additive_score {query.name}, {key.name}, {weight.name} : "
                             f"{types}, {self.type_of(weight)} -> {self.type(dims)}", dims)
        scale = self.choose([" scale(0.125)", " scale(-0.1)", " scale(0.3)", ""])
        return self.emit(f"attn.score {query.name}, {key.name}{scale} : {types} -> "
                         f"{self.type(dims)}", dims)

    def change_score(self, x):
        tensors = [] if self.is_masked else ["table", "bias"]
        kind = self.choose(["arithmetic", "distance", "mask", "named", "hidden", "low", "whole",
                            "softcap"] + tensors)
        self.is_masked |= kind in ("mask", "named", "hidden")
        if kind == "named":
            return self.named_mask(x)
        if kind == "mask":
            return self.region("attn.mask", x, self.condition, "i1")
        if kind == "bias":
            other = self.argument("bias", self.broadcasting(x.dims))
            pair = [x, other] if self.chance(0.5) else [other, x]

            def add(lines, names):
                lines.append(f"%sum = arith.addf {', '.join(names)} : {self.element}")
                return "%sum"
            return self.map(pair, add, x.dims)
        if kind == "whole":
            op = self.choose([f"arith.addf {x.name}, {x.name}", f"math.tanh {x.name}"])
            return self.unary(op, x)
        if kind == "softcap":
            def cap(lines):
                lines += [f"%cap = arith.constant 5.0 : {self.element}",
                          f"%part = arith.divf %x, %cap : {self.element}",
                          f"%bent = math.tanh %part : {self.element}",
                          f"%all = arith.mulf %bent, %cap : {self.element}"]
                return "%all"
            return self.region("attn.modify_score", x, cap)
        if kind in ("hidden", "low"):
            return self.region("attn.modify_score", x, lambda lines: self.hide(lines, kind))

        def build(lines):
            floats = ["%x"]
            if kind == "distance":
                floats.append(self.distance(lines))
            if kind == "table":
                floats.append(self.table(lines, x))
            return self.arithmetic(lines, floats, 4)
        return self.region("attn.modify_score", x, build)

    def hide(self, lines, kind):
        """A mask as exporters spell it: -inf instead of the score, or a low number added."""
        low, result, visible = "%" + self.fresh("l"), "%" + self.fresh("r"), self.condition(lines)
        if kind == "hidden":
            infinity = {"f32": "0xFF800000", "f16": "0xFC00", "bf16": "0xFF80",
                        "f64": "0xFFF0000000000000"}[self.element]
            lines += [f"{low} = arith.constant {infinity} : {self.element}",
                      f"{result} = arith.select {visible}, %x, {low} : {self.element}"]
            return result
        lines += [f"{low} = arith.constant -1.0e4 : {self.element}",
                  f"%zero = arith.constant 0.0 : {self.element}",
                  f"%add = arith.select {visible}, %zero, {low} : {self.element}",
                  f"{result} = arith.addf %x, %add : {self.element}"]
        return result

    def named_mask(self, x):
        batch, _, q, k = x.dims
        kind = self.choose(["causal(top_left)", "causal(bottom_right)", "window(3, 2)",
                            "window(4, 0, bottom_right)", "block(4)", "lengths", "documents",
                            "tensor"])
        if kind == "lengths":
            n = self.argument("n", [batch], "i32")
            kind = f"kv_lengths({n.name} : {self.type_of(n)})"
        elif kind == "documents":
            ours = self.argument("d", [batch, q], "i32")
            theirs = self.argument("d", [batch, k], "i32")
            kind = (f"documents({ours.name}, {theirs.name} : {self.type_of(ours)}, "
                    f"{self.type_of(theirs)})")
        elif kind == "tensor":
            n = self.argument("n", [1 if self.chance(0.5) else dim for dim in x.dims], "i1")
            kind = f"tensor({n.name} : {self.type_of(n)})"
        return self.unary(f"attn.mask {x.name} {kind}", x)

    def softmax(self, x):
        kind = self.choose(["plain"] * 8 + ["sink", "axis"])
        if kind == "axis":
            return self.unary(f"attn.softmax {x.name} axis(2)", x)
        sink = ""
        if kind == "sink":
            tensor = self.argument("sink", [1 if self.chance(0.5) else dim for dim in x.dims[:3]])
            sink = f" sink({tensor.name} : {self.type_of(tensor)})"
        return self.unary(f"attn.softmax {x.name}{sink}", x)

    def change_prob(self, x):
        kind = self.choose(["factor", "table", "dropout", "zero", "arithmetic"])
        if kind == "dropout":
            return self.unary(f"attn.dropout {x.name} rate(0.1)", x)

        def build(lines):
            if kind == "arithmetic":
                return self.arithmetic(lines, ["%x"])
            if kind == "table":
                lines.append(f"%r = arith.mulf %x, {self.table(lines, x)} : {self.element}")
                return "%r"
            number = "0.0" if kind == "zero" else "3.0"
            lines.append(f"%c = arith.constant {number} : {self.element}")
            if kind == "factor":
                lines.append(f"%r = arith.divf %x, %c : {self.element}")
            else:
                lines.append(f"%r = arith.select {self.condition(lines)}, %x, %c : {self.element}")
            return "%r"
        return self.region("attn.modify_prob", x, build)

    def finish(self, context):
        batch, heads, q, width = context.dims
        rows, order = self.size(heads) * self.size(width), self.choose(["", " layout(time_first)"])
        dims = ((q, batch) if order else (batch, q)) + (rows,)
        x = self.emit(f"attn.merge_heads {context.name}{order} : {self.type_of(context)} -> "
                      f"{self.type(dims)}", dims)
        kind = self.choose(["linear", "change", "reduce", "transpose", "concat"])
        if kind == "linear":
            x = self.linear(x, self.choose([5, 64, 100]))
            return self.change(x) if self.chance(0.5) else x
        if kind == "reduce":
            axis = self.random.randint(0, 2)
            kept = dims[:axis] + dims[axis + 1:]
            which = self.choose(["sum", "mean", "max", "l2"])
            return self.emit(f"attn.reduce {which} {x.name} axes [{axis}] : {self.type_of(x)} -> "
                             f"{self.type(kept)}", kept)
        if kind == "transpose":
            order = self.random.sample(range(3), 3)
            to = [dims[i] for i in order]
            return self.emit(f"attn.transpose {x.name} {order} : {self.type_of(x)} -> "
                             f"{self.type(to)}", to)
        if kind == "concat":
            both = dims[:2] + (2 * rows,)
            return self.emit(f"tensor.concat dim(2) {x.name}, {x.name} : ({self.type_of(x)}, "
                             f"{self.type_of(x)}) -> {self.type(both)}", both)
        return self.change(x)


def build(seed):
    g = Graph(seed)
    batch = g.dim("batch", [1, 2, 2, 3])
    q = g.dim("q_len", [1, 1, 3, 5, 19, 33, 70, 97, 0])
    k = q if g.chance(0.3) else g.dim("kv_len", [1, 5, 33, 64, 129, 200, 517, 1500, 0])
    key_heads = g.choose([1, 2, 3])
    heads = key_heads * g.choose([1, 1, 2, 4])
    width = g.choose([8, 16, 20, 40, 64, 80, 130, 192, 256])
    value_width = g.choose([1, 8, 24, 64, 70, 128, 200, 256])
    query = g.operand("query", batch, heads, q, width)
    key = g.operand("key", batch, key_heads, k, width)
    value = g.operand("value", batch, key_heads, k, value_width)
    if g.chance(0.2):
        query, key = g.position(query), g.position(key)
    if g.chance(0.2):
        query = g.map([query], g.arithmetic, query.dims)
    x = g.score(query, key, (batch, heads, q, k))
    for _ in range(g.random.randint(0, 4)):
        x = g.change_score(x)
        if g.chance(0.05):
            g.results.append(x)
    if g.chance(0.08):
        g.results.append(g.emit(f"attn.lse {x.name} : {g.type_of(x)} -> {g.type(x.dims[:3])}",
                                x.dims[:3]))
    x = g.softmax(x)
    if g.chance(0.1):
        g.results.append(x)
    for _ in range(g.choose([0, 0, 0, 1, 2])):
        x = g.change_prob(x)
    dims = (batch, heads, q, value_width)
    context = g.emit(f"attn.context {x.name}, {value.name} : {g.type_of(x)}, {g.type_of(value)} -> "
                     f"{g.type(dims)}", dims)
    g.results.append(g.finish(context) if g.chance(0.5) else context)
    return g


def check(seed, folder, options):
    """What went wrong with this seed's graph; None where nothing did."""
    graph = build(seed)
    path = os.path.join(folder, f"{seed}.mlir")
    with open(path, "w") as file:
        file.write(graph.text())
    command = ["attnc", "verify", path, "--seed", str(seed), "--no-cache"] + options
    used = [dim for dim in graph.open if any(f'"{dim}"' in text for text in graph.arguments)]
    if used:
        command += ["--size", ",".join(f"{dim}={graph.sizes[dim]}" for dim in sorted(used))]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        os.remove(path)
        return None
    wrong = [line.strip() for line in done.stdout.splitlines() if "WRONG" in line]
    return f"{' '.join(command)}\n  " + "\n  ".join(wrong[:2] + done.stderr.splitlines()[:3])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--keep", help="a folder for the graphs that fail")
    parser.add_argument("--target", default="host")
    options = parser.parse_args()
    failures = 0
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(options.first, options.first + options.count):
            problem = check(seed, options.keep or scratch, ["--target", options.target])
            if problem:
                failures += 1
                print(f"seed {seed}: {problem}", flush=True)
                if not options.keep:
                    print(build(seed).text())
    print(f"{options.count - failures} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
