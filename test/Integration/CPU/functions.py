"""Random functions: their text, what their integers hold, and regions of random arithmetic.

Regions are continuous in their floats: where a comparison turns on rounding, every answer is right.
"""

import dataclasses
import random


@dataclasses.dataclass(frozen=True)
class Tensor:
    name: str
    dims: tuple
    element: str


class Function:
    """A function under construction. A dimension is a number, or the name of one."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.element = self.choose(["f32"] * 5 + ["f16", "bf16", "f64"])
        self.sizes, self.open = {}, set()
        self.arguments, self.lines, self.results, self.functions = [], [], [], []
        self.ranges = {}  # of integers, by the argument's name
        self.count, self.is_masked = 0, False
        # Of the attention at hand: how many rows its caches hold, and how many keys it has.
        self.past, self.longest = None, 0

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
        self.arguments.append(f"{tensor.name}: {self.described(tensor, tensor.name[1:])}")
        return tensor

    def described(self, tensor, name):
        symbols = [f'"{dim}"' if dim in self.open else str(self.size(dim)) for dim in tensor.dims]
        return f'{self.type_of(tensor)} {{attn.name = "{name}", attn.dims = [{", ".join(symbols)}]}}'

    def integers(self, prefix, dims, low, high, *, extremes=False, element=None):
        """An argument of numbers from `low` to `high`, or with `extremes` of any."""
        tensor = self.argument(prefix, dims, element or self.choose(["i32", "i32", "i64"]))
        limit = 2 ** (int(tensor.element[1:]) - 1)
        if extremes and self.chance(0.2):
            low, high = -limit, limit - 1
        self.ranges[tensor.name[1:]] = (tensor, low, high)
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
        named = [self.described(result, f"out{i}") for i, result in enumerate(self.results)]
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
                f"math.erf {x}", "exp", "root", "relu",
            ])
            if " " not in op:
                op = self.composed(lines, op, x)
            lines.append(f"{name} = {op} : {self.element}")
            floats = floats + [name]
        return floats[-1]

    def composed(self, lines, kind, x):
        """An op on what ops before it make of x."""
        part, constant = "%" + self.fresh("e"), "%" + self.fresh("c")
        if kind == "relu":
            lines += [f"{constant} = arith.constant 0.0 : {self.element}",
                      f"{part} = arith.cmpf ogt, {x}, {constant} : {self.element}"]
            return f"arith.select {part}, {x}, {constant}"
        lines.append(f"{part} = math.absf {x} : {self.element}")
        other = "%" + self.fresh("e")
        if kind == "exp":
            lines.append(f"{other} = arith.negf {part} : {self.element}")
            return f"math.exp {other}"
        lines += [f"{constant} = arith.constant 1.0 : {self.element}",
                  f"{other} = arith.addf {part}, {constant} : {self.element}"]
        return f"math.{self.choose(['sqrt', 'log'])} {other}"

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
        if self.past and self.chance(0.7):
            table, places = self.past, places[:1]
        else:
            table = self.integers("n", [dim for _, dim in places], -3, self.longest + 5)
        number, index = "%" + self.fresh("n"), "%" + self.fresh("i")
        lines += [f"{number} = tensor.extract {table.name}[{', '.join(at for at, _ in places)}] : "
                  f"{self.type_of(table)}",
                  f"{index} = arith.index_cast {number} : {table.element} to index"]
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

    def relative(self, lines, score):
        """An element of a tensor of heads and of distances, the last of which stand for all beyond."""
        reach = self.choose([1, 4, 30])
        table = self.argument("table", [score.dims[1], 2 * reach + 1])
        far, zero, last, distance, shifted, above, index, name = ("%" + self.fresh("i") for _ in range(8))
        lines += [f"{far} = arith.constant {reach} : index", f"{zero} = arith.constant 0 : index",
                  f"{last} = arith.constant {2 * reach} : index",
                  f"{distance} = arith.subi %k, %q : index",
                  f"{shifted} = arith.addi {distance}, {far} : index",
                  f"{above} = arith.maxsi {shifted}, {zero} : index",
                  f"{index} = arith.minsi {above}, {last} : index",
                  f"{name} = tensor.extract {table.name}[%h, {index}] : {self.type_of(table)}"]
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
