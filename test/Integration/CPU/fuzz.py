"""Holds random graphs to `attnc verify`: one graph a seed, printed where it fails.

    fuzz.py FIRST COUNT [--keep FOLDER] [--target TARGET]        with attnc in the PATH

A graph is one attention or two: a score (of operands in some layout, projected or not, or of a cache
that grows), what changes and hides it, a softmax, what changes the prob, a context and what follows
it: most ops of the attn dialect, all element types, open and known sizes (0, 1, odd and beyond a
kernel's tiles), grouped heads, regions of random arithmetic, operands that broadcast, results used
twice, and private functions. Every library is then called with other strides, threads and memory
(calls.py), which may change no bit.
No tensor is added behind a mask: fusion takes it to be no NaN where the mask hides.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile

import calls
import functions
import numpy as np


class Graph(functions.Function):
    """Pieces of a graph."""

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
        kind = self.choose(["map", "bias", "whole", "layer_norm", "rms", "call", "twice", "softmax", "dropout"])
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
        if kind == "softmax":
            return self.unary(f"attn.softmax {x.name} axis({self.random.randint(0, len(x.dims) - 1)})", x)
        if kind == "dropout":
            return self.dropout(x)
        mode = " mode(rms)" if kind == "rms" else ""
        rows = ""
        for name in ("scale", "bias"):
            if self.chance(0.5):
                tensor = self.argument(name, [x.dims[-1]])
                rows += f" {name}({tensor.name} : {self.type_of(tensor)})"
        return self.unary(f"attn.layer_norm {x.name}{mode}{rows} epsilon(1.0e-3)", x)

    def dropout(self, x):
        if self.chance(0.1):
            return self.unary(f"attn.dropout {x.name} rate(0.5)", x)
        seed = self.argument("seed", (), "i64")
        self.ranges[seed.name[1:]] = (seed, -2**63, 2**63 - 1)
        return self.unary(f"attn.dropout {x.name} rate({self.choose([0.0, 0.1, 0.5])}) "
                          f"seed({seed.name} : {self.type_of(seed)})", x)

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
        layout = self.choose(["heads", "rows", "time", "transposed", "columns", "projected", "embedded",
                              "sliced", "joined"])
        if layout == "heads" and self.size(batch) == self.size(heads) == 1 and batch not in self.open:
            return self.matrix(self.argument(name, (length, width)), dims)
        if layout == "heads":
            return self.argument(name, dims)
        if layout == "columns":
            x = self.argument(name, (batch, heads, width, length))
            return self.emit(f"attn.transpose {x.name} [0, 1, 3, 2] : {self.type_of(x)} -> "
                             f"{self.type(dims)}", dims)
        if layout == "transposed":
            x = self.argument(name, (batch, length, heads, width))
            return self.emit(f"attn.transpose {x.name} [0, 2, 1, 3] : {self.type_of(x)} -> "
                             f"{self.type(dims)}", dims)
        if layout == "sliced" and all(dim in self.open or self.size(dim) for dim in dims):
            return self.slice(name, dims)  # of no elements the tensor dialect takes none
        if layout == "joined" and width % 2 == 0:
            half = dims[:3] + (width // 2,)
            parts = [self.argument(name, half), self.argument(name, half)]
            return self.concat(3, parts, dims)
        order = " layout(time_first)" if layout == "time" else ""
        outer = (length, batch) if order else (batch, length)
        if layout == "projected":
            x = self.linear(self.argument(name, outer + (self.choose([8, 33, 300]),)), rows)
        elif layout == "embedded":
            table, ids = self.argument(name, (50, rows)), self.integers("ids", outer, 0, 49)
            x = self.emit(f"attn.embedding {table.name}, {ids.name} : {self.type_of(table)}, "
                          f"{self.type_of(ids)} -> {self.type(outer + (rows,))}", outer + (rows,))
        else:
            x = self.argument(name, outer + (rows,))
        if self.chance(0.2):
            x = self.change(x)
        return self.emit(f"attn.split_heads {x.name} num_heads({self.size(heads)}){order} : "
                         f"{self.type_of(x)} -> {self.type(dims)}", dims)

    def slice(self, name, dims):
        """Some of the columns of a wider tensor, or every second one."""
        stride, first = self.choose([1, 1, 2]), self.random.randint(0, 3)
        x = self.argument(name, dims[:3] + (first + stride * dims[3],))
        sizes = [self.length_of(x, at) for at in range(3)] + [str(dims[3])]
        return self.emit(f"tensor.extract_slice {x.name}[0, 0, 0, {first}] [{', '.join(sizes)}] "
                         f"[1, 1, 1, {stride}] : {self.type_of(x)} to {self.type(dims)}", dims)

    def length_of(self, x, at):
        """The size of a dimension, as ops take it."""
        if x.dims[at] not in self.open:
            return str(self.size(x.dims[at]))
        index, size = "%" + self.fresh("c"), "%" + self.fresh("n")
        self.lines += [f"{index} = arith.constant {at} : index",
                       f"{size} = tensor.dim {x.name}, {index} : {self.type_of(x)}"]
        return size

    def concat(self, dim, parts, dims):
        return self.emit(f"tensor.concat dim({dim}) {', '.join(x.name for x in parts)} : "
                         f"({', '.join(map(self.type_of, parts))}) -> {self.type(dims)}", dims)

    def matrix(self, x, dims):
        """The one head of the one batch of an attention of plain matrices."""
        length = self.length_of(x, 0)
        return self.emit(f"tensor.expand_shape {x.name} [[0, 1, 2], [3]] output_shape [1, 1, {length}, "
                         f"{x.dims[1]}] : {self.type_of(x)} into {self.type(dims)}", dims)

    def cached(self, name, batch, heads, new, room, width, past):
        """A cache with new rows behind those that it holds; most are results."""
        cache = self.argument("cache", (batch, heads, room, width))
        rows = self.operand(name, batch, heads, new, width)
        if name == "key" and self.chance(0.3):
            rows = self.position(rows, past)
        x = self.emit(f"attn.append_cache {cache.name}, {rows.name}, {past.name} : {self.type_of(cache)}, "
                      f"{self.type_of(rows)}, {self.type_of(past)}", cache.dims)
        if self.chance(0.8):
            self.results.append(x)
        return x

    def position(self, x, offset=None):
        kinds = ["sinusoidal", "sinusoidal_by_column"]
        kind = self.choose(kinds + (["rotary_halves", "rotary_pairs"] * 2 if x.dims[-1] % 2 == 0 else []))
        base = self.choose(["", "", " base(500.0)"])
        if not offset and self.chance(0.4):
            offset = self.integers("offset", x.dims[:1], -5, 3000)
        shift = f" offset({offset.name} : {self.type_of(offset)})" if offset else ""
        return self.unary(f"attn.positions {x.name} kind({kind}){base}{shift}", x)

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
        tensors = [] if self.is_masked else ["table", "relative", "bias"]
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
            if kind == "relative":
                floats.append(self.relative(lines, x))
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
        forms = [self.mask_form(x) for _ in range(self.choose([1, 1, 1, 2]))]
        return self.unary(f"attn.mask {x.name} {' '.join(forms)}", x)

    def mask_form(self, x):
        batch, _, q, k = x.dims
        kind = self.choose(["causal(top_left)", "causal(bottom_right)", "window(3, 2)",
                            "window(4, 0, bottom_right)", "block(4)", "lengths", "prefix", "documents",
                            "tensor"])
        if kind in ("lengths", "prefix"):
            n = self.integers("n", [batch], -3, self.longest + 5, extremes=True)
            kind = f"{'kv_lengths' if kind == 'lengths' else kind}({n.name} : {self.type_of(n)})"
        elif kind == "documents" and q == k:
            ids = self.integers("d", [batch, q], -1, 3)
            kind = f"documents({ids.name} : {self.type_of(ids)})"
        elif kind == "documents":
            element = self.choose(["i32", "i64"])
            ours, theirs = (self.integers("d", [batch, dim], -1, 3, element=element) for dim in (q, k))
            kind = (f"documents({ours.name}, {theirs.name} : {self.type_of(ours)}, "
                    f"{self.type_of(theirs)})")
        elif kind == "tensor":
            n = self.argument("n", [1 if self.chance(0.5) else dim for dim in x.dims], "i1")
            kind = f"tensor({n.name} : {self.type_of(n)})"
        return kind

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
            return self.dropout(x)

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
            return self.reduce(x)
        if kind == "transpose":
            order = self.random.sample(range(3), 3)
            to = [dims[i] for i in order]
            return self.emit(f"attn.transpose {x.name} {order} : {self.type_of(x)} -> "
                             f"{self.type(to)}", to)
        if kind == "concat":
            return self.concat(2, [x, x], dims[:2] + (2 * rows,))
        return self.change(x)

    def reduce(self, x):
        axes = sorted(self.random.sample(range(len(x.dims)), self.choose([1, 1, 2])))
        keeps = self.chance(0.3)
        dims = [1 if at in axes else dim for at, dim in enumerate(x.dims) if keeps or at not in axes]
        which = self.choose(["sum", "mean", "max", "min", "prod", "l2"])
        return self.emit(f"attn.reduce {which} {x.name} axes {axes}{' keep_dims' if keeps else ''} : "
                         f"{self.type_of(x)} -> {self.type(dims)}", tuple(dims))

    def attention(self, query, key, value):
        """Some results of it are results of the function; at times all of them, which fuses nothing."""
        dims, results = query.dims[:3] + key.dims[2:3], self.choose([0, 0, 0, 0.1, 0.1, 1])
        self.longest, self.is_masked = self.size(dims[3]), False
        x = self.score(query, key, dims)
        if self.past and self.chance(0.8):
            x = self.region("attn.mask", x, self.sees_past, "i1")
            self.is_masked = True
        for _ in range(self.random.randint(0, 4)):
            x = self.change_score(x)
            if self.chance(results):
                self.results.append(x)
        if self.chance(max(results, 0.08)):
            element = self.choose([self.element, self.element, "f32"])
            self.results.append(self.emit(f"attn.lse {x.name} : {self.type_of(x)} -> "
                                          f"{self.type(dims[:3], element)}", dims[:3], element))
        x = self.softmax(x)
        if self.chance(results):
            self.results.append(x)
        for _ in range(self.choose([0, 0, 0, 1, 2])):
            x = self.change_prob(x)
        if self.chance(0.08):
            other = self.operand("value", *value.dims[:3], self.choose([8, 70]))
            self.results.append(self.context(x, other))
        return self.context(x, value)

    def context(self, prob, value):
        dims = prob.dims[:3] + value.dims[3:]
        return self.emit(f"attn.context {prob.name}, {value.name} : {self.type_of(prob)}, {self.type_of(value)} -> "
                         f"{self.type(dims)}", dims)

    def sees_past(self, lines):
        """Whether a row of those behind a cache's comes not before k."""
        past, last, name = self.length(lines), "%" + self.fresh("i"), "%" + self.fresh("p")
        lines += [f"{last} = arith.addi %q, {past} : index",
                  f"{name} = arith.cmpi sle, %k, {last} : index"]
        return name

    def continued(self, context, key, value):
        """A second attention, whose query comes from the context of a first."""
        batch, heads, q, width = context.dims
        dims = (batch, q, self.size(heads) * self.size(width))
        x = self.emit(f"attn.merge_heads {context.name} : {self.type_of(context)} -> {self.type(dims)}", dims)
        if self.chance(0.4):
            residual = self.argument("x", dims)
            x = self.emit(f"arith.addf {x.name}, {residual.name} : {self.type_of(x)}", dims)
            self.results += [x] if self.chance(0.3) else []
        x = self.unary(f"attn.layer_norm {x.name} epsilon(1.0e-3)", x)
        keys = self.choose(["same", "same", "own", "other"])
        if keys == "own":
            key, value = (self.heads_of(x, key.dims[1], of.dims[3]) for of in (key, value))
            self.past = None
        elif keys == "other":
            value = self.operand("value", *value.dims[:3], self.choose([8, 64]))
        query = self.heads_of(x, heads, key.dims[3])
        # Of large scores, the smallest change of a query would change all.
        return self.attention(self.unary(f"math.tanh {query.name}", query), key, value)

    def heads_of(self, x, heads, width):
        y = self.linear(x, self.size(heads) * self.size(width))
        dims = (y.dims[0], heads, y.dims[1], width)
        return self.emit(f"attn.split_heads {y.name} num_heads({self.size(heads)}) : {self.type_of(y)} -> "
                         f"{self.type(dims)}", dims)


def build(seed):
    g = Graph(seed)
    batch = g.dim("batch", [1, 2, 2, 3] * 5 + [0])
    q = g.dim("q_len", [1, 1, 3, 5, 19, 33, 70, 97, 0])
    k = q if g.chance(0.3) else g.dim("kv_len", [1, 5, 33, 64, 129, 200, 517, 1500, 0])
    key_heads = g.choose([1, 2, 3])
    heads = key_heads * g.choose([1, 1, 2, 4])
    width = g.choose([8, 16, 20, 40, 64, 80, 130, 192, 256])
    value_width = g.choose([1, 8, 24, 64, 70, 128, 200, 256])
    query = g.operand("query", batch, heads, q, width)
    if g.size(q) <= g.size(k) and g.chance(0.25):
        g.past = g.integers("past", [batch], 0, g.size(k) - g.size(q))
        key = g.cached("key", batch, key_heads, q, k, width, g.past)
        value = g.cached("value", batch, key_heads, q, k, value_width, g.past)
        if g.chance(0.3):
            query = g.position(query, g.past)
    else:
        key = g.operand("key", batch, key_heads, k, width)
        value = g.operand("value", batch, key_heads, k, value_width)
        if g.chance(0.2):
            query, key = g.position(query), g.position(key)
    if g.chance(0.2):
        query = g.map([query], g.arithmetic, query.dims)
    context = g.attention(query, key, value)
    if g.chance(0.15):
        context = g.continued(context, key, value)
    elif g.chance(0.1):
        g.results.append(context)
        context = g.attention(g.operand("query", batch, heads, q, width), key, value)
    g.results.append(g.finish(context) if g.chance(0.5) else context)
    return g


def write_integers(graph, seed, folder):
    """A file for each argument of integers whose range is known: the options that name them."""
    random, options = np.random.default_rng(seed), []
    for name, (tensor, low, high) in graph.ranges.items():
        shape = [graph.size(dim) for dim in tensor.dims]
        path = os.path.join(folder, f"{seed}.{name}.npy")
        np.save(path, random.integers(low, high, shape, f"int{tensor.element[1:]}", endpoint=True))
        options.append(f"{name}=@{path}")
    return options


def commands(seed, folder, target):
    """What this seed's graph is held to, one after the other."""
    graph, path = build(seed), os.path.join(folder, f"{seed}.mlir")
    with open(path, "w") as file:
        file.write(graph.text())
    used = [dim for dim in sorted(graph.open) if any(f'"{dim}"' in text for text in graph.arguments)]
    sizes = [f"{dim}={graph.sizes[dim]}" for dim in used]
    integers, library = write_integers(graph, seed, folder), os.path.join(folder, f"{seed}")
    verify = ["attnc", "verify", path, "--seed", str(seed), "--target", target]
    verify += ["--size", ",".join(sizes)] if sizes else []
    if seed % 2:  # else it chooses some that fit, and edges of them
        verify += [word for text in integers for word in ("--input", text)]
    yield verify
    yield ["attnc", "compile", path, "--name", "kernel", "--emit", "shared_library,json", "--target", target,
           "-o", library]
    yield [sys.executable, calls.__file__, os.path.join(library, "kernel.json"), str(seed), *sizes, *integers]


def check(seed, folder, target):
    """What went wrong with this seed's graph; None where nothing did."""
    for command in commands(seed, folder, target):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            wrong = [line.strip() for line in done.stdout.splitlines() if "WRONG" in line]
            return f"{' '.join(command)}\n  " + "\n  ".join(wrong[:2] + done.stderr.splitlines()[-3:])
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--keep", help="a folder for the graphs that fail")
    parser.add_argument("--target", default="host")
    options = parser.parse_args()
    failures = 0
    for seed in range(options.first, options.first + options.count):
        with tempfile.TemporaryDirectory() as scratch:
            os.environ["ATTNC_CACHE"] = os.path.join(scratch, "cache")
            problem = check(seed, scratch, options.target)
            if problem:
                failures += 1
                print(f"seed {seed}: {problem}", flush=True)
                if options.keep:
                    shutil.copytree(scratch, os.path.join(options.keep, str(seed)), dirs_exist_ok=True)
                else:
                    print(build(seed).text())
    print(f"{options.count - failures} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
