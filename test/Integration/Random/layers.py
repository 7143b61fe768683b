"""Draws what stands around attention: layers, norms, moves of elements, and the tensor dialect."""

from graph import Graph, Region, Scalar
from regions import LONGEST, Regions, constant


class Layers(Regions):
    """Draws ops onto self.graph. Methods take and give tensors."""

    def __init__(self, seed):
        self.graph = Graph(seed)
        self.random, self.choose, self.chance = self.graph.random, self.graph.choose, self.graph.chance
        self.element = self.graph.element
        self.argument, self.emit, self.same = self.graph.argument, self.graph.emit, self.graph.same

    def flat(self, x):
        """Whether all dimensions are known."""
        return not any(dim in self.graph.open for dim in x.dims)

    def change(self, x):
        """Something elementwise, normalising, or a call of a function."""
        kind = self.choose(["map", "broadcast", "whole", "layer_norm", "layer_norm", "call", "twice", "softmax",
                            "dropout", "pad", "insert", "reshape", "splat", "typed", "dense", "select"])
        return getattr(self, "change_" + kind)(x)

    def change_map(self, x):
        return self.map([x], lambda a: self.arithmetic([a]))

    def change_broadcast(self, x):
        other = self.argument("other", self.broadcasting(x.dims))
        return self.map([x, other], lambda a, b: self.arithmetic([a, b]), x.dims)

    def change_whole(self, x):
        return self.same(self.choose(["math.tanh", "math.absf", "arith.negf"]), [x])

    def change_twice(self, x):
        return self.same("arith.addf", [x, self.change_map(x)])

    def change_softmax(self, x):
        return self.same("attn.softmax", [x], axis=self.random.randint(0, len(x.dims) - 1))

    def change_typed(self, x):
        """By way of another type, with a tensor of integers or booleans beside it."""
        other = self.argument("other", self.broadcasting(x.dims), self.choose(["i1", "i8", "i16", "i32", "i64", "f64",
                                                                               "f32", "f16", "bf16"]), low=-9, high=9)
        to = self.choose(["f32", "f64", self.element])
        y = self.map([x, other], lambda a, b: self.arithmetic([self.convert(a, to), self.convert(b, to)]), x.dims, to)
        return self.map([y], lambda a: self.convert(a, self.element), x.dims, self.element)

    def change_dense(self, x):
        """Beside a constant."""
        width = x.dims[-1]
        if width in self.graph.open or not 0 < self.graph.size(width) <= 64:
            return x
        values = [self.choose([0.5, -1.25, 2.0, 0.0, 1.5]) for _ in range(self.graph.size(width))]
        row = self.emit("arith.dense", [], [width], values=values)
        return self.map([row, x], lambda a, b: self.arithmetic([a, b]), x.dims)

    def change_select(self, x):
        flag = self.argument("flag", x.dims, "i1")
        return self.emit("arith.select", [flag, x, self.change_map(x)], x.dims)

    def change_layer_norm(self, x):
        names = [name for name in ("scale", "bias") if self.chance(0.5)]
        rows = [self.argument(name, [x.dims[-1]]) for name in names]
        return self.same("attn.layer_norm", [x, *rows], mode=self.choose(["layer", "rms"]), rows=names,
                         epsilon=self.choose(["1.0e-3", "1.0e-2"]))

    def change_call(self, x):
        """A private function, whose text stands once for each call."""
        name, ops = self.graph.fresh("part"), self.graph.ops
        self.graph.ops = []
        parameter = type(x)(self.graph.fresh("p"), x.dims, x.element)
        y = self.same("math.tanh", [parameter])
        z = self.same("arith.mulf", [y, parameter])
        self.graph.functions.append((name, (parameter,), self.graph.ops, (z,)))
        self.graph.ops = ops
        return self.emit("func.call", [x], x.dims, x.element, callee=name)

    def change_dropout(self, x):
        seed = []
        if self.chance(0.9):
            seed = [self.argument("seed", (), "i64", low=-2**63, high=2**63 - 1)]
        return self.same("attn.dropout", [x, *seed], rate=self.choose([0.0, 0.1, 0.5]))

    def change_pad(self, x):
        """Grows dimensions that are known, and takes the same ones from the result."""
        low = [0 if dim in self.graph.open else self.random.randint(0, 3) for dim in x.dims]
        high = [0 if dim in self.graph.open else self.random.randint(0, 3) for dim in x.dims]
        dims = [dim if dim in self.graph.open else self.graph.size(dim) + a + b
                for dim, a, b in zip(x.dims, low, high)]
        region = self.index_region(len(dims), lambda *at: constant(1.5, x.element))
        y = self.emit("tensor.pad", [x], dims, regions=[region], low=low, high=high)
        if self.chance(0.3):
            self.graph.results.append(y)
        return self.sliced(y, x, [self.random.randint(0, a + b) for a, b in zip(low, high)])

    def sliced(self, y, like, offsets, strides=None):
        """The part of `y` that is as large as `like`."""
        if any(dim not in self.graph.open and self.graph.size(dim) == 0 for dim in like.dims):
            return like  # of no elements the tensor dialect takes none
        return self.emit("tensor.extract_slice", [y], like.dims, like.element, sizes=like.dims, offsets=offsets,
                         strides=strides or [1] * len(offsets))

    def change_insert(self, x):
        """Puts x into a larger tensor that is given, and that into x's place."""
        if any(self.graph.least(dim) == 0 for dim in x.dims):
            return x
        offsets = [0 if dim in self.graph.open else self.random.randint(0, 2) for dim in x.dims]
        dims = [dim if dim in self.graph.open else self.graph.size(dim) + a + 1 for dim, a in zip(x.dims, offsets)]
        whole = self.argument("whole", dims, x.element)
        y = self.emit("tensor.insert_slice", [x, whole], dims, x.element, sizes=x.dims, offsets=offsets,
                      strides=[1] * len(dims))
        return self.sliced(y, x, [self.random.randint(0, a + 1) if dim not in self.graph.open else 0
                                  for a, dim in zip(offsets, x.dims)])

    def change_reshape(self, x):
        """There and back again: by views, or by a tensor of sizes."""
        if self.flat(x) and self.chance(0.5):
            total = 1
            for dim in x.dims:
                total *= self.graph.size(dim)
            y = self.emit("tensor.reshape", [x], [total], x.element)
            y = self.same("math.tanh", [y])
            return self.emit("tensor.reshape", [y], x.dims, x.element)
        *outer, last = x.dims
        if len(outer) < 2 or not self.flat(x):
            return x
        groups = [list(range(len(outer))), [len(outer)]]
        total = 1
        for dim in outer:
            total *= self.graph.size(dim)
        y = self.emit("tensor.collapse_shape", [x], [total, last], x.element, groups=groups)
        y = self.change_map(y)
        return self.emit("tensor.expand_shape", [y], x.dims, x.element, groups=groups)

    def change_splat(self, x):
        """Beside tensors that no argument gives."""
        if self.chance(0.5):
            y = self.emit("tensor.splat", [], x.dims, x.element, value=0.75, like=x)
        else:
            y = self.emit("tensor.generate", [], x.dims, x.element, like=x,
                          regions=[self.index_region(len(x.dims), self.generated)])
        return self.map([y, x], lambda a, b: self.arithmetic([a, b]))

    def index_region(self, rank, build):
        places = tuple(Scalar("argument", (), "index", None, 0, LONGEST) for _ in range(rank))
        return Region(places, build(*places))

    def generated(self, *at):
        x = self.clamped(self.choose(at), 50)
        number = self.integer("addi", x, self.clamped(self.choose(at), 9), 0, 60)
        cast = self.typed(number, self.choose(["i32", "i64", "i8"]))
        return self.float_op("arith.mulf", self.convert(cast, self.element), constant(0.125, self.element))

    # Ops of a kind.

    def map(self, tensors, build, dims=None, element=None):
        region = self.map_region(tensors, build)
        return self.emit("attn.map", tensors, dims or tensors[0].dims, element or self.element, regions=[region])

    def broadcasting(self, dims):
        """Dimensions that repeat to `dims`."""
        kept = [1 if self.chance(0.4) else dim for dim in dims]
        return kept[self.random.randint(0, len(dims) - 1):]

    def linear(self, x, features):
        weight = self.argument("weight", [features, x.dims[-1]], scale=self.graph.size(x.dims[-1])**-0.5)
        bias = [self.argument("bias", [features])] if self.chance(0.5) else []
        return self.emit("attn.linear", [x, weight, *bias], x.dims[:-1] + (features,))

    def transpose(self, x, order):
        return self.emit("attn.transpose", [x], [x.dims[i] for i in order], x.element, order=order)

    def position(self, x, offset=None):
        kinds = ["sinusoidal", "sinusoidal_by_column"]
        kinds += ["rotary_halves", "rotary_pairs"] * 2 if self.graph.size(x.dims[-1]) % 2 == 0 else []
        if not offset and self.chance(0.4):
            offset = self.argument("offset", x.dims[:1], self.choose(["i32", "i64"]), low=-5, high=3000)
        return self.same("attn.positions", [x, offset] if offset else [x], which=self.choose(kinds),
                         base=self.choose([10000, 10000, 500]))

    def reduce(self, x, which=None):
        axes = sorted(self.random.sample(range(len(x.dims)), self.choose([1, 1, 2])))
        keep = self.chance(0.3)
        dims = [1 if at in axes else dim for at, dim in enumerate(x.dims) if keep or at not in axes]
        which = which or self.choose(["sum", "mean", "max", "min", "prod", "l2"])
        axes = [axis - len(x.dims) if self.chance(0.3) else axis for axis in axes]
        return self.emit("attn.reduce", [x], dims, x.element, which=which, axes=axes, keep_dims=keep)

    def integer_result(self):
        """Integers and booleans that are mapped, moved and combined, as a result."""
        element = self.choose(["i8", "i16", "i32", "i64"])
        x = self.argument("ints", [self.choose([1, 3, 7]), self.choose([1, 5, 18])], element, low=-100, high=100)
        if self.chance(0.5):
            x = self.transpose(x, [1, 0])
        y = self.map([x], lambda a: self.integer("maxsi", a, constant(3, element), 3, 100), x.dims, element)
        if self.chance(0.3):
            flags = self.map([x, y], lambda a, b: Scalar("arith.cmpi", (a, b), "i1", "slt"), x.dims, "i1")
            self.graph.results.append(flags)
        y = self.reduce(y, self.choose(["sum", "max", "min", "prod"])) if self.chance(0.7) else y
        self.graph.results.append(y)
