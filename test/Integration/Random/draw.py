"""Draws random graphs: one attention or two, what their operands come from, and what becomes of them.

Most ops of the dialect, all element types, open and known sizes (0, 1, odd and beyond a kernel's
tiles), grouped heads, masks and changes of the score in any order, results used twice.
"""

import random

from graph import Scalar
from operands import Operands
from regions import constant


class Draw(Operands):
    # The score.

    def score(self, query, key, dims):
        if self.chance(0.08):
            weight = self.argument("weight", [query.dims[-1]], scale=self.graph.size(query.dims[-1])**-0.5)
            return self.emit("attn.additive_score", [query, key, weight], dims)
        return self.emit("attn.score", [query, key], dims, scale=self.choose([0.125, -0.1, 0.3, 1, 0.0625]))

    def change_score(self, x):
        kind = self.choose(["arithmetic", "distance", "mask", "mask", "named", "named", "hidden", "low", "whole",
                            "softcap", "table", "table", "bias"])
        if kind == "mask":
            return self.masked(x, self.condition)
        if kind == "named":
            return self.named_mask(x)
        if kind == "bias":
            self.is_opaque = self.is_masked
            other = self.argument("bias", self.broadcasting(x.dims), finite=self.is_opaque)
            pair = [x, other] if self.chance(0.5) else [other, x]
            return self.map(pair, lambda a, b: self.float_op("arith.addf", a, b), x.dims)
        if kind == "whole":
            self.is_opaque = self.is_masked
            twice = self.chance(0.5)
            return self.same("arith.addf", [x, x]) if twice else self.same("math.tanh", [x])
        return self.modified(x, lambda places, score: self.score_mod(kind, places, score))

    def score_mod(self, kind, places, score):
        f, type = self.float_op, score.type
        if kind == "softcap":
            cap = constant(5.0, type)
            return f("arith.mulf", f("math.tanh", f("arith.divf", score, cap)), cap)
        if kind in ("hidden", "low"):
            self.is_opaque = True
            return self.hide(kind, score, self.condition(places))
        floats = [score]
        if kind == "distance":
            floats.append(self.distance(places, type))
        if kind == "table":
            table = self.table(places, type, finite=self.is_opaque)
            if self.chance(0.5):
                return f("arith.addf", score, table)
            floats.append(table)
        return self.arithmetic(floats, 4)

    def hide(self, kind, score, visible):
        """A mask as exporters spell it: -inf instead of the score, or a low number added."""
        if kind == "hidden":
            low = constant(float("-inf"), score.type)
            return Scalar("arith.select", (visible, score, low), score.type)
        low, zero = constant(-1e4, score.type), constant(0.0, score.type)
        return self.float_op("arith.addf", score, Scalar("arith.select", (visible, zero, low), score.type))

    def modified(self, x, build, kind="attn.modify_score"):
        return self.same(kind, [x], regions=[self.region(build, x.element)])

    def masked(self, x, build):
        self.is_masked = True
        return self.same("attn.mask", [x], regions=[self.region(build)])

    def named_mask(self, x):
        self.is_masked = True
        return self.same("attn.mask", [x], forms=[self.mask_form(x) for _ in range(self.choose([1, 1, 1, 2, 3]))])

    def mask_form(self, x):
        """Its name, its numbers, and the tensors that it reads."""
        batch, _, q, k = x.dims
        kind = self.choose(["causal", "window", "block", "kv_lengths", "kv_lengths", "prefix", "documents", "tensor"])
        corner = self.choose([[], ["bottom_right"]])
        element = self.choose(["i32", "i64"])
        if kind == "causal":
            return kind, corner or ["top_left"], []
        if kind == "window":
            return kind, [self.choose([0, 2, 20, 2**40]), self.choose([0, 3, 2**40]), *corner], []
        if kind == "block":
            return kind, [self.choose([1, 4, 16])], []
        if kind in ("kv_lengths", "prefix"):
            limit = 2 ** (int(element[1:]) - 1)
            n = self.argument("n", [batch], element, low=-3, high=self.longest + 5,
                              extremes=(-limit, limit - 1) if self.chance(0.3) else ())
            return kind, [], [n]
        if kind == "documents":
            same = q == k and self.chance(0.5)
            ids = [self.argument("d", [batch, dim], element, low=-1, high=3) for dim in ((q,) if same else (q, k))]
            return kind, [], ids
        dims = [1 if self.chance(0.4) else dim for dim in x.dims][self.random.randint(0, 3):]
        if self.chance(0.7):
            return kind, [], [self.argument("m", dims, "i1")]
        return kind, [], [self.computed_mask(self.argument("m", dims, element, low=-2, high=9))]

    def computed_mask(self, x):
        compare = self.choose(["sgt", "ne", "uge"])
        return self.map([x], lambda a: Scalar("arith.cmpi", (a, constant(0, a.type)), "i1", compare), element="i1")

    def sees_past(self, places):
        """Whether a row of those behind a cache's comes not before k."""
        read = Scalar("tensor.extract", (places["b"],), self.past.element, self.past)
        past = Scalar("arith.index_cast", (read,), "index")
        return Scalar("arith.cmpi", (places["k"], self.integer("addi", places["q"], past, 0, 0)), "i1", "sle")

    # Softmax, prob and context.

    def softmax(self, x):
        kind = self.choose(["plain"] * 8 + ["sink", "sink", "axis"])
        if kind == "axis":
            return self.same("attn.softmax", [x], axis=2)
        return self.same("attn.softmax", [x, *(self.sink(x.dims) if kind == "sink" else [])],
                         axis=self.choose([None, None, 3, -1]))

    def sink(self, dims):
        return [self.argument("sink", [1 if self.chance(0.5) else dim for dim in dims[:3]])]

    def change_prob(self, x):
        if self.chance(0.25):
            return self.change_dropout(x)
        return self.modified(x, self.prob_mod, "attn.modify_prob")

    def prob_mod(self, places, prob):
        kind = self.choose(["factor", "table", "zero", "arithmetic"])
        if kind == "arithmetic":
            return self.arithmetic([prob], 2)
        if kind == "table":
            return self.float_op("arith.mulf", prob, self.table(places, prob.type, finite=self.chance(0.5)))
        if kind == "factor":
            return self.float_op("arith.divf", prob, constant(3.0, prob.type))
        return Scalar("arith.select", (self.condition(places), prob, constant(0.0, prob.type)), prob.type)

    def context(self, prob, value):
        return self.emit("attn.context", [prob, value], prob.dims[:3] + value.dims[3:])

    def lse(self, x):
        element = self.choose([self.element, self.element, "f32"])
        self.graph.results.append(self.emit("attn.lse", [x], x.dims[:-1], element))

    # Attention.

    def begin(self, dims, query, key):
        self.dims_of, self.sized = dict(zip("bhqk", dims)), [(query, 2), (key, 2)]
        # What hides keys other than as a mask may not have NaN or +inf added to it.
        self.longest, self.is_masked, self.is_opaque = self.graph.most(dims[3]), False, False

    def attention(self, query, key, value):
        """Some results of it are results of the function; at times all of them, which fuses nothing."""
        dims, results = query.dims[:3] + key.dims[2:3], self.choose([0, 0, 0, 0.1, 0.1, 1])
        self.begin(dims, query, key)
        if self.chance(0.12):
            return self.fused(query, key, value, dims)
        x = self.score(query, key, dims)
        if self.past and self.chance(0.8):
            x = self.masked(x, self.sees_past)
        for _ in range(self.random.randint(0, 4)):
            x = self.change_score(x)
            if self.chance(results):
                self.graph.results.append(x)
        if self.chance(max(results, 0.08)):
            self.lse(x)
        x = self.softmax(x)
        if self.chance(results):
            self.graph.results.append(x)
        for _ in range(self.choose([0, 0, 0, 1, 2])):
            x = self.change_prob(x)
        if self.chance(0.06):
            other = self.operand("value", *value.dims[:3], self.choose([8, 70]))
            self.graph.results.append(self.context(x, other))
        return self.context(x, value)

    def fused(self, query, key, value, dims):
        """The one op of it all."""
        parts = {part: self.chance(0.5) for part in ("score_mod", "mask", "prob_mod")}
        regions = []
        if parts["score_mod"]:
            kinds = ["arithmetic", "distance", "table", "softcap"]
            regions.append(self.region(lambda places, x: self.score_mod(self.choose(kinds), places, x), self.element))
        if parts["mask"]:
            regions.append(self.region(self.sees_past if self.past else self.condition))
        if parts["prob_mod"]:
            regions.append(self.region(self.prob_mod, self.element))
        sink = self.sink(dims) if self.chance(0.2) else []
        context = self.emit("attn.attention", [query, key, value, *sink], dims[:3] + value.dims[3:], regions=regions,
                            scale=self.choose([0.125, 1]), **parts)
        if self.chance(0.4):
            op = self.graph.ops[-1]
            lse = type(context)(self.graph.fresh(), dims[:3], self.choose([self.element, "f32"]))
            self.graph.ops[-1] = type(op)(op.kind, op.operands, (context, lse), op.attributes, op.regions)
            self.graph.results.append(lse)
        return context

    def merge(self, context, time_first=False):
        batch, heads, q, width = context.dims
        rows = self.graph.size(heads) * self.graph.size(width)
        dims = ((q, batch) if time_first else (batch, q)) + (rows,)
        return self.emit("attn.merge_heads", [context], dims, time_first=time_first)

    def finish(self, context):
        x = self.merge(context, self.chance(0.5))
        kind = self.choose(["linear", "change", "change", "reduce", "transpose", "concat"])
        if kind == "linear":
            x = self.linear(x, self.choose([5, 64, 100]))
            return self.change(x) if self.chance(0.5) else x
        if kind == "reduce":
            return self.reduce(x)
        if kind == "transpose":
            return self.transpose(x, self.random.sample(range(3), 3))
        if kind == "concat":
            return self.emit("tensor.concat", [x, x], x.dims[:2] + (2 * x.dims[2],), dim=2)
        return self.change(x)

    def merged(self, context):
        """With the contexts of other keys, some of which a row may not see."""
        element = self.choose([self.element, "f32"])
        lse = self.argument("lse", context.dims[:3], element)
        for _ in range(self.choose([1, 1, 2])):
            parts = [context, lse, self.operand("part", *context.dims), self.argument("lse", lse.dims, element)]
            context = self.emit("attn.merge", parts, context.dims)
            op = self.graph.ops[-1]
            lse = type(lse)(self.graph.fresh(), lse.dims, element)
            self.graph.ops[-1] = type(op)(op.kind, op.operands, (context, lse), op.attributes)
        self.graph.results.append(lse)
        return context

    def continued(self, context, key, value):
        """A second attention, whose query comes from the context of a first."""
        x = self.merge(context)
        if self.chance(0.4):
            x = self.same("arith.addf", [x, self.argument("x", x.dims)])
            self.graph.results += [x] if self.chance(0.3) else []
        x = self.same("attn.layer_norm", [x], mode="layer", rows=[], epsilon="1.0e-3")
        keys = self.choose(["same", "same", "own", "other"])
        if keys == "own":
            key, value = (self.heads_of(x, key.dims[1], of.dims[3]) for of in (key, value))
            self.past = None
        elif keys == "other":
            value = self.operand("value", *value.dims[:3], self.choose([8, 64]))
        query = self.heads_of(x, context.dims[1], key.dims[3])
        # Of large scores, the smallest change of a query would change all.
        return self.attention(self.same("math.tanh", [query]), key, value)

    def heads_of(self, x, heads, width):
        y = self.linear(x, self.graph.size(heads) * self.graph.size(width))
        return self.emit("attn.split_heads", [y], (y.dims[0], heads, y.dims[1], width), heads=heads, time_first=False)


MERGED = 0.08  # of all graphs; drawn apart, so that the others stay as they were


def draw(seed):
    d = Draw(seed)
    g = d.graph
    batch = g.dim("batch", [1, 2, 2, 3] * 5 + [0])
    q = g.dim("q_len", [1, 1, 3, 5, 12, 19, 33, 49] * 2 + [0], 0.06)
    k = q if g.chance(0.3) else g.dim("kv_len", [1, 5, 17, 33, 64, 70] * 3 + [0, 129, 200])
    key_heads = g.choose([1, 2, 3])
    heads = key_heads * g.choose([1, 1, 2, 4])
    width, value_width = g.choose([8, 16, 20, 40, 64, 80]), g.choose([1, 8, 24, 64, 70])
    d.past = None
    query = d.operand("query", batch, heads, q, width)
    if q != k and g.most(q) <= g.least(k) and g.chance(0.35):
        d.past = g.argument("past", [batch], g.choose(["i32", "i64"]), room=(k, q))
        key = d.cached("key", batch, key_heads, q, k, width, d.past)
        value = d.cached("value", batch, key_heads, q, k, value_width, d.past)
        query = d.position(query, d.past) if g.chance(0.3) else query
    else:
        key = d.operand("key", batch, key_heads, k, width)
        value = d.operand("value", batch, key_heads, k, value_width)
        if g.chance(0.2):
            query, key = d.position(query), d.position(key)
    if g.chance(0.2):
        query = d.change_map(query)
    context = d.attention(query, key, value)
    if g.chance(0.15):
        context = d.continued(context, key, value)
    elif g.chance(0.1):
        g.results.append(context)
        context = d.attention(d.operand("query", batch, heads, q, width), key, value)
    if random.Random(f"merged {seed}").random() < MERGED:
        context = d.merged(context)
    g.results.append(d.finish(context) if g.chance(0.5) else context)
    if g.chance(0.05):
        d.integer_result()
    return g
