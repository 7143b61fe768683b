"""Draws regions: arithmetic on floats and places, conditions, and reads of tensors from outside.

Regions are continuous in their floats: where a comparison turns on rounding, every answer is right.
The range of every index is known, so that none leaves 32 bits, where kernels compute them.
"""

from graph import FLOATS, INTEGERS, WIDTHS, Region, Scalar

LONGEST = 4096  # no dimension is longer


def constant(value, type):
    return Scalar("arith.constant", (), type, value, *(() if type in FLOATS else (value, value)))


class Regions:
    """The part of a draw that makes regions. `self.graph` gets arguments for what they read,
    `self.dims_of` has the dimension of each place, `self.sized` tensors and dimensions of theirs."""

    # Frames.

    def region(self, build, value=None):
        """A region over (value, batch, head, q, k), or without a value."""
        floats = [Scalar("argument", (), value)] if value else []
        places = [Scalar("argument", (), "index", name, 0, LONGEST) for name in "bhqk"]
        return Region((*floats, *places), build(dict(zip("bhqk", places)), *floats))

    def map_region(self, tensors, build):
        parameters = tuple(Scalar("argument", (), tensor.element) for tensor in tensors)
        return Region(parameters, build(*parameters))

    # Floats.

    def float_op(self, op, *operands):
        return Scalar(op, operands, operands[0].type)

    def arithmetic(self, floats, depth=3):
        """A float made of `floats`, each step of which neither jumps nor grows much."""
        floats = list(floats)
        for _ in range(self.random.randint(1, depth)):
            x, y = self.choose(floats), self.choose(floats)
            floats.append(self.step(x, y))
        return floats[-1]

    def step(self, x, y):
        c = constant(self.choose([0.5, 0.75, -0.25, 1.5]), x.type)
        kind = self.choose([
            "addf", "subc", "subf", "mulc", "divc", "maximumf", "minimumf", "minnumf", "maxnumf", "tanh", "absf",
            "negf", "fma", "erf", "atan", "sin", "cos", "exp", "exp2", "root", "log", "log1p", "cbrt", "sigmoid",
            "relu", "guard", "wide", "copysign", "rsqrt", "halved",
        ])
        f = self.float_op
        if kind in ("addf", "subf"):
            # A difference of two that are large cancels what they have in common, and leaves errors.
            return f("arith." + kind, x, f("arith.mulf", y, c))
        if kind in ("subc", "mulc", "divc"):
            return f(f"arith.{kind[:3]}f", x, c)
        if kind in ("maximumf", "minimumf", "minnumf", "maxnumf"):
            return f("arith." + kind, x, self.choose([y, c]))
        if kind in ("tanh", "absf", "erf", "atan", "sin", "cos"):
            return f("math." + kind, x)
        if kind == "negf":
            return f("arith.negf", x)
        if kind == "fma":
            return f("math.fma", x, c, y)
        if kind == "copysign":
            return f("math.copysign", f("math.absf", x), f("arith.addf", f("math.absf", y), c)) \
                if c.attribute > 0 else f("math.copysign", x, c)
        return self.composed(kind, x, c)

    def composed(self, kind, x, c):
        """Ops that are safe on what others make of x."""
        f, one, zero = self.float_op, constant(1.0, x.type), constant(0.0, x.type)
        size = f("math.absf", x)
        if kind in ("exp", "exp2"):
            return f("math." + kind, f("arith.negf", size))
        if kind == "root":
            return f("math.sqrt", f("arith.addf", size, one))
        if kind == "rsqrt":
            return f("math.rsqrt", f("arith.addf", size, one))
        if kind == "log":
            return f(self.choose(["math.log", "math.log2"]), f("arith.addf", size, one))
        if kind == "log1p":
            return f("math.log1p", size)
        if kind == "cbrt":
            return f("math.cbrt", f("arith.addf", size, one))
        if kind == "sigmoid":
            return f("arith.divf", one, f("arith.addf", one, f("math.exp", f("arith.negf", f("math.tanh", x)))))
        if kind == "relu":
            above = Scalar("arith.cmpf", (x, zero), "i1", "ogt")
            return Scalar("arith.select", (above, x, zero), x.type)
        if kind == "guard":  # what exporters write around a row of nothing but -inf
            test = Scalar(self.choose(["math.isnan", "math.isinf"]), (x,), "i1")
            return Scalar("arith.select", (test, c, x), x.type)
        if kind == "wide" and x.type != "f64":
            wide = Scalar("arith.extf", (x,), "f64" if x.type == "f32" else "f32")
            return Scalar("arith.truncf", (f("math.tanh", wide),), x.type)
        return f("arith.mulf", x, constant(0.5, x.type))

    def convert(self, x, type):
        """A float or an integer as another float type."""
        if x.type == type:
            return x
        if not x.is_float:
            return Scalar("arith.uitofp" if x.type == "i1" or x.low >= 0 and self.chance(0.3) else "arith.sitofp",
                          (x,), type)
        order = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
        if order[x.type] == order[type]:
            return self.convert(self.convert(x, "f32"), type)
        return Scalar("arith.extf" if order[x.type] < order[type] else "arith.truncf", (x,), type)

    # Integers.

    def integer(self, op, x, y, low, high, type=None):
        return Scalar("arith." + op, (x, y), type or x.type, None, low, high)

    def place(self, index, places):
        """A formula of a place."""
        x = index
        for _ in range(self.random.randint(0, 3)):
            x = self.integer_step(x, places)
        return x

    def integer_step(self, x, places):
        n = self.choose([1, 2, 3, 5, 7, 8, 16, 40])
        c = constant(n, x.type)
        if x.far:
            return self.shift(x, c)
        op = self.choose(["addi", "subi", "maxsi", "minsi", "muli", "divsi", "divui", "floordivsi", "ceildivsi",
                          "remsi", "remui", "andi", "shrsi", "length", "size", "place", "negate", "select"])
        if op in ("addi", "subi", "maxsi", "minsi"):
            return self.shift(x, c, op)
        if op == "muli":
            return self.integer(op, x, c, n * x.low, n * x.high) if self.fits(x, n) else x
        if op in ("divsi", "floordivsi", "ceildivsi"):
            return self.integer(op, x, c, x.low // n - 1, x.high // n + 1)
        if op == "remsi":
            return self.integer(op, x, c, -n + 1, n - 1)
        if op == "shrsi":
            return self.integer(op, x, constant(n % 4, x.type), x.low, max(x.high, 0))
        if op in ("divui", "remui", "andi"):
            x = x if x.low >= 0 else self.integer("maxsi", x, constant(0, x.type), 0, max(x.high, 0))
            return self.integer(op, x, c, 0, n if op != "divui" else x.high)
        if op == "negate":
            return self.shift(c, x, "subi")
        if op == "length" and x.type == "index":
            return self.shift(self.length(places), x, self.choose(["addi", "subi", "maxsi", "minsi"]))
        y = self.choose(list(places.values()))
        if op == "size":
            y = Scalar("tensor.dim", (), "index", self.choose(self.sized), 0, LONGEST)
        y = y if x.type == "index" else self.typed(y, x.type)
        if op == "select":
            return Scalar("arith.select", (self.compare(x, c), x, y), x.type, None, min(x.low, y.low),
                          max(x.high, y.high))
        return self.shift(x, y, self.choose(["addi", "subi"]))

    def fits(self, x, factor):
        return max(-x.low, x.high) * factor < 2**(min(WIDTHS[x.type], 32) - 1)

    def shift(self, x, y, op="addi"):
        """x op y; only one of them may be far, and y stays y where the sum would leave 32 bits."""
        if x.far and y.far:
            return x
        ranges = {"addi": (x.low + y.low, x.high + y.high), "subi": (x.low - y.high, x.high - y.low),
                  "maxsi": (max(x.low, y.low), max(x.high, y.high)),
                  "minsi": (min(x.low, y.low), min(x.high, y.high))}
        low, high = ranges[op]
        limit = 2**(min(WIDTHS[x.type], 32) - 1)
        if low < -limit or high >= limit:
            return x
        return Scalar("arith." + op, (x, y), x.type, None, low, high, x.far or y.far)

    def length(self, places):
        """An integer that the call gives: for each batch, row or key, or for all."""
        chosen = self.choose([["b"], ["b"], ["b", "q"], ["k"], ["q"], ["h"], []])
        element = self.choose(["i32", "i32", "i64", "i64", "i16", "i8"])
        bound, extremes = LONGEST, ()
        if element == "i8":
            bound = 100
        elif element == "i64" and self.chance(0.3):
            # Nothing is said of sums that leave 64 bits.
            extremes = (2**40, -2**40, 2**30, -2**30, 2**62, -2**62)
        table = self.graph.argument("n", [self.dims_of[at] for at in chosen], element,
                                    low=-3, high=min(self.longest + 5, bound), extremes=extremes)
        read = Scalar("tensor.extract", tuple(places[at] for at in chosen), element, table)
        limit = 2**30 if extremes else bound
        return Scalar("arith.index_cast", (read,), "index", None, -limit if extremes else -3, limit, bool(extremes))

    def typed(self, x, element):
        """The same number in a type of integers; it may wrap in 8 or 16 bits."""
        limit = 2**(WIDTHS[element] - 1)
        fits = -limit <= x.low and x.high < limit
        return Scalar("arith.index_cast", (x,), element, None, *((x.low, x.high) if fits else (-limit, limit - 1)))

    # Conditions.

    def condition(self, places, depth=0):
        x, y = self.random.sample(list(places.values()), 2)
        if self.chance(0.5):
            x, y = places["k"], places["q"]
        kind = self.choose(["places"] * 6 + ["flag", "number", "far"])
        if kind == "flag":
            result = self.flag(places)
        elif kind == "far":
            result = self.far_comparison(places)
        elif kind == "number":
            result = self.compare(self.length(places), places["k"])
        else:
            result = self.compare(*self.two_places(x, y, places))
        if depth < 3 and self.chance(0.35):
            other = self.condition(places, depth + 1)
            op = self.choose(["andi", "andi", "ori", "xori", "select", "not"])
            if op == "select":
                return Scalar("arith.select", (result, other, self.compare(x, y)), "i1")
            other = constant(1, "i1") if op == "not" else other
            return Scalar("arith." + (op if op != "not" else "xori"), (result, other), "i1")
        return result

    def two_places(self, x, y, places):
        x, y = self.place(x, places), self.place(y, places)
        if x.far and y.far:
            y = places["k"]
        if x.far or y.far or self.chance(0.6):
            return x, y
        element = self.choose(["i32", "i32", "i64", "i64", "i16", "i8"])
        x, y = self.typed(x, element), self.typed(y, element)
        return (self.integer_step(x, places) if self.chance(0.3) else x), y

    def far_comparison(self, places):
        """Of sums that 32 bits don't hold, or just."""
        q, k = (Scalar("arith.index_cast", (places[at],), "i64", None, 0, LONGEST) for at in "qk")
        n = self.choose([2**30, 2**31, 2**40, 2**60, 2**62])
        left = self.integer(self.choose(["addi", "subi"]), k, constant(n, "i64"), 0, 0)
        right = self.choose([q, self.integer(self.choose(["addi", "subi"]), q, constant(n, "i64"), 0, 0)])
        return self.compare(left, right)

    def compare(self, x, y):
        predicates = ["sle", "sge", "slt", "sgt", "ne", "eq", "sle", "sge"]
        if x.low >= 0 and y.low >= 0 and not x.far and not y.far:
            predicates += ["ult", "uge"]
        return Scalar("arith.cmpi", (x, y), "i1", self.choose(predicates))

    def flag(self, places):
        """An element of a tensor of booleans, integers or floats that are whole."""
        chosen = [at for at in "bhqk" if self.chance(0.5)]
        element = self.choose(["i1", "i1", "i8", "i16", "i32", "i64", "f32", "f16"])
        floats = element[0] != "i"
        table = self.graph.argument("flag", [self.dims_of[at] for at in chosen], element, low=0, high=1)
        read = Scalar("tensor.extract", tuple(places[at] for at in chosen), element, table)
        if element == "i1":
            return read
        if floats:
            return Scalar("arith.cmpf", (read, constant(0.0, element)), "i1", self.choose(["ogt", "ole"]))
        return Scalar("arith.cmpi", (read, constant(1, element)), "i1", self.choose(["eq", "ne", "slt"]))

    # Reads.

    def table(self, places, type, **values):
        """An element of a tensor of floats or integers, at places or formulas of them."""
        chosen = [at for at in "bhqk" if self.chance(0.5)] or ["h"]
        element = self.choose([type] * 5 + ["f32", "f64", "f16", "bf16", *INTEGERS, "i1"])
        dims, index = [], []
        for at in chosen:
            if self.chance(0.2):
                size = self.choose([1, 3, 17])
                dims.append(size)
                index.append(self.clamped(self.place(places[at], places), size))
            else:
                dims.append(self.dims_of[at])
                index.append(places[at])
        table = self.graph.argument("table", dims, element, low=-3, high=3, **values)
        if table.element == self.element and self.chance(0.15):
            table = self.change_whole(table)
        low, high = (0, 1) if element == "i1" else (-3, 3)
        return self.convert(Scalar("tensor.extract", tuple(index), element, table, low, high), type)

    def clamped(self, x, size):
        x = Scalar("arith.maxsi", (x, constant(0, "index")), "index", None, 0, max(x.high, 0))
        return Scalar("arith.minsi", (x, constant(size - 1, "index")), "index", None, 0, size - 1)

    def distance(self, places, type):
        """k - q, or another number made of places, as a float that is scaled."""
        x = self.choose([self.shift(places["k"], places["q"], "subi"), self.place(places["k"], places)])
        if x.far:
            x = places["k"]
        if self.chance(0.5):
            # In f16, k·40 would be infinite.
            x = self.clamped(x, 400)
        else:
            x = Scalar("arith.remsi", (x, constant(100, "index")), "index", None, -99, 99)
        number = Scalar("arith.index_cast", (x,), self.choose(["i32", "i64"]), None, x.low, x.high)
        return self.float_op("arith.mulf", self.convert(number, type), constant(0.0625, type))
