"""Runs small specs of single ops through attnc and compares each with numpy.

usage: tensors.py PART   (a name of PARTS below)
"""

import math
import os
import sys
import tempfile

import check
import numpy as np

PARTS = {}


def part(function):
    """Registers a generator of (label, spec, inputs, outputs)."""
    PARTS[function.__name__] = function
    return function


rng = np.random.default_rng(0)


def floats(*shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


ELEMENTS = {"float32": "f32", "float64": "f64", "float16": "f16", "int32": "i32", "int64": "i64",
            "int8": "i8", "bool": "i1"}


def tensor(array, dynamic=()):
    """The type of an array, with `?` at the dimensions `dynamic`."""
    sizes = ["?" if dim in dynamic else str(size) for dim, size in enumerate(array.shape)]
    return f"tensor<{'x'.join(sizes + [ELEMENTS[array.dtype.name]])}>"


def spec(inputs, types, result, body):
    """One function whose `body` defines %out."""
    arguments = ", ".join(f'%{n}: {types[n]} {{attn.name = "{n}"}}' for n in inputs)
    return (f'func.func @spec({arguments}) -> ({result} {{attn.name = "out"}}) {{\n'
            f"{body}\n  return %out : {result}\n}}\n")


def unary(op, array, result, dynamic=()):
    """A spec of one op on one tensor %x; `result` is the array that it gives."""
    types = {"x": tensor(array, dynamic)}
    return spec(["x"], types, result, f"  %out = attn.{op} : {types['x']} -> {result}")


# ---------------------------------------------------------------------------
# Parts
# ---------------------------------------------------------------------------

erf = np.vectorize(math.erf)


def activation(name, arith, plain):
    body = (f"  %out = attn.map %x {{\n  ^bb0(%a: f32):\n{arith}\n    attn.yield %r : f32\n"
            "  } : tensor<?x37xf32> -> tensor<?x37xf32>")
    text = spec(["x"], {"x": "tensor<?x37xf32>"}, "tensor<?x37xf32>", body)
    return name, text, {"x": floats(5, 37)}, lambda x: {"out": plain(x).astype(x.dtype)}


@part
def map():
    yield activation("relu", "    %z = arith.constant 0.0 : f32\n    %r = arith.maximumf %a, %z : f32",
                     lambda x: np.maximum(x, 0))
    yield activation("silu", "    %one = arith.constant 1.0 : f32\n    %n = arith.negf %a : f32\n"
                     "    %e = math.exp %n : f32\n    %d = arith.addf %e, %one : f32\n"
                     "    %r = arith.divf %a, %d : f32", lambda x: x / (1 + np.exp(-x)))
    yield activation("tanh", "    %r = math.tanh %a : f32", np.tanh)
    # Nested, such functions must not make each other's compilation longer.
    yield activation("nested", "    %b = math.tanh %a : f32\n    %c = math.erf %b : f32\n    %d = math.exp %c : f32\n"
                     "    %e = math.tanh %d : f32\n    %r = math.exp %e : f32",
                     lambda x: np.exp(np.tanh(np.exp(erf(np.tanh(x)).astype(x.dtype)))))
    # Every way to broadcast: missing dimensions, sizes of 1 inside and innermost.
    arrays = {"x": floats(3, 4, 19), "y": floats(19), "z": floats(4, 1), "w": floats(3, 1, 1)}
    types = {n: tensor(a, dynamic=[d for d in range(a.ndim) if a.shape[d] != 1]) for n, a in arrays.items()}
    body = ("  %out = attn.map %x, %y, %z, %w {\n  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):\n"
            "    %0 = arith.mulf %a, %b : f32\n    %1 = arith.addf %0, %c : f32\n"
            "    %r = arith.subf %1, %d : f32\n    attn.yield %r : f32\n"
            f"  }} : {', '.join(types.values())} -> tensor<?x?x?xf32>")
    yield ("broadcast", spec(list(arrays), types, "tensor<?x?x?xf32>", body), arrays,
           lambda x, y, z, w: {"out": x * y + z - w})
    scalar = {"x": floats(), "y": floats()}
    types = {n: tensor(a) for n, a in scalar.items()}
    body = ("  %out = attn.map %x, %y {\n  ^bb0(%a: f32, %b: f32):\n    %r = arith.mulf %a, %b : f32\n"
            "    attn.yield %r : f32\n  } : tensor<f32>, tensor<f32> -> tensor<f32>")
    yield "rank 0", spec(["x", "y"], types, "tensor<f32>", body), scalar, lambda x, y: {"out": np.asarray(x * y)}


@part
def comparisons():
    arrays = {"x": floats(6, 33), "y": floats(33), "m": rng.integers(0, 2, (6, 1)).astype(bool)}
    arrays["x"][0, :5] = np.nan, np.inf, -np.inf, 0, arrays["y"][4]
    types = {n: tensor(a) for n, a in arrays.items()}
    body = ("  %out = attn.map %x, %y, %m {\n  ^bb0(%a: f32, %b: f32, %c: i1):\n"
            "    %0 = arith.cmpf olt, %a, %b : f32\n    %r = arith.andi %0, %c : i1\n    attn.yield %r : i1\n"
            f"  }} : {', '.join(types.values())} -> tensor<6x33xi1>")
    yield ("less and", spec(list(arrays), types, "tensor<6x33xi1>", body), arrays,
           lambda x, y, m: {"out": (x < y) & m})
    integers = {"x": rng.integers(-9, 9, (4, 5)).astype(np.int64)}
    body = ("  %out = attn.map %x {\n  ^bb0(%a: i64):\n    %c = arith.constant 3 : i64\n"
            "    %r = arith.muli %a, %c : i64\n    attn.yield %r : i64\n"
            "  } : tensor<?x5xi64> -> tensor<?x5xi64>")
    yield ("integers", spec(["x"], {"x": "tensor<?x5xi64>"}, "tensor<?x5xi64>", body), integers,
           lambda x: {"out": x * 3})


@part
def transpose():
    for order, dynamic in [((1, 0, 2), (0,)), ((0, 2, 1), (1, 2)), ((2, 0, 1), ()), ((0, 1, 2), (0, 1, 2))]:
        x = floats(3, 5, 18)
        moved = [n for n, d in enumerate(order) if d in dynamic]
        text = unary(f"transpose %x {list(order)}", x, tensor(x.transpose(order), moved), dynamic)
        yield f"{order}", text, {"x": x}, lambda x, order=order: {"out": x.transpose(order)}
    # A view between two ops that compute.
    body = ("  %t = attn.transpose %x [1, 0, 2] : tensor<3x?x18xf32> -> tensor<?x3x18xf32>\n"
            "  %out = attn.reduce sum %t axes [1] : tensor<?x3x18xf32> -> tensor<?x18xf32>")
    yield ("view", spec(["x"], {"x": "tensor<3x?x18xf32>"}, "tensor<?x18xf32>", body), {"x": floats(3, 5, 18)},
           lambda x: {"out": x.sum(axis=0)})


REDUCE = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod,
          "l2": lambda x, **options: np.sqrt(np.sum(x * x, **options))}


def reduction(kind, x, axes, keep):
    plain = lambda x: {"out": np.asarray(REDUCE[kind](x, axis=axes, keepdims=keep), x.dtype)}
    dynamic = [0] if x.ndim > 1 else []
    out = plain(x)["out"]
    left = dynamic if dynamic and 0 not in [a % x.ndim for a in axes] else []
    op = f"reduce {kind} %x axes {list(axes)}" + (" keep_dims" if keep else "")
    return f"{kind} {x.dtype} {axes} {keep}", unary(op, x, tensor(out, left), dynamic), {"x": x}, plain


@part
def reduce():
    for kind in REDUCE:
        yield reduction(kind, floats(4, 7, 37), (-1,), True)
        yield reduction(kind, floats(4, 7, 37), (1,), False)
    for axes in [(0, 1), (1, 2), (0, 2), (0, 1, 2)]:
        yield reduction("sum", floats(4, 7, 37), axes, False)
    yield reduction("max", floats(37), (0,), False)
    yield reduction("mean", floats(3, 40, dtype=np.float64), (1,), False)
    integers = rng.integers(-9, 9, (6, 21)).astype(np.int32)
    for kind in ["sum", "max", "min", "prod"]:
        yield reduction(kind, integers, (1,), False)
    broken = floats(3, 37)
    broken[0, 5], broken[1, 7] = np.nan, np.inf
    yield reduction("max", broken, (1,), False)
    yield reduction("sum", broken, (0,), False)


def normed(mode, x, scale, bias, epsilon):
    if mode == "layer":
        x = x - x.mean(axis=-1, keepdims=True)
    y = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + x.dtype.type(epsilon))
    return {"out": y * (1 if scale is None else scale) + (0 if bias is None else bias)}


@part
def layer_norm():
    for mode, width, shape in [("layer", 37, (2, 5)), ("rms", 64, (3,)), ("layer", 384, (2, 9)), ("layer", 16, ())]:
        for affine in [True, False]:
            arrays = {"x": 3 * floats(*shape, width) + 2}
            if affine:
                arrays |= {"scale": floats(width), "bias": floats(width)}
            types = {n: tensor(a, range(len(shape)) if n == "x" else ()) for n, a in arrays.items()}
            extra = f"scale(%scale : {types['scale']}) bias(%bias : {types['bias']}) " if affine else ""
            body = f"  %out = attn.layer_norm %x mode({mode}) {extra}epsilon(1.0e-5) : {types['x']}"
            text = spec(list(arrays), types, types["x"], body)
            yield (f"{mode} {shape}x{width} affine={affine}", text, arrays,
                   lambda x, scale=None, bias=None, mode=mode: normed(mode, x, scale, bias, 1e-5))


@part
def lse():
    x = 9 * floats(2, 5, 37)
    x[0, 0] = -np.inf
    x[0, 1, 3:] = -np.inf
    x[1, 0, 2], x[1, 1, 2] = np.nan, np.inf
    text = unary("lse %x", x, "tensor<?x5xf32>", [0])
    yield "edges", text, {"x": x}, lambda x: {"out": check.log_sum_exp(x)}
    # Beside a context; what no fused kernel serves still compiles.
    arrays = {"q": floats(2, 4, 9, 8), "k": floats(2, 2, 11, 8), "v": floats(2, 2, 11, 5)}
    types = {n: tensor(a) for n, a in arrays.items()}
    body = ("  %c, %out = attn.attention %q, %k, %v scale(0.5) mask {\n"
            "  ^bb0(%b: index, %h: index, %i: index, %j: index):\n"
            "    %m = arith.cmpi slt, %j, %i : index\n    attn.yield %m : i1\n"
            f"  }} : {', '.join(types.values())} -> tensor<2x4x9x5xf32>, tensor<2x4x9xf32>")

    def attention_lse(q, k, v):
        score = q @ np.repeat(k, 2, axis=1).swapaxes(-1, -2) * q.dtype.type(0.5)
        visible = np.arange(11)[None, :] < np.arange(9)[:, None]
        return {"out": check.log_sum_exp(np.where(visible, score, -np.inf)).astype(q.dtype)}

    yield "of attention", spec(list(arrays), types, "tensor<2x4x9xf32>", body), arrays, attention_lse


def merge_spec(context, lse):
    types, arguments = {"c": tensor(context, [0, 2]), "l": tensor(lse, [0, 2])}, []
    for part in "ab":
        arguments += [f'%c{part}: {types["c"]}', f'%l{part}: {types["l"]}']
    results = f'({types["c"]} {{attn.name = "context"}}, {types["l"]} {{attn.name = "lse"}})'
    return (f"func.func @spec({', '.join(arguments)}) -> {results} {{\n"
            f"  %c, %l = attn.merge %ca, %la, %cb, %lb : {types['c']}, {types['l']}\n"
            f"  return %c, %l : {types['c']}, {types['l']}\n}}\n")


def merged(ca, la, cb, lb):
    """By one softmax over two scores, of which each part is the value."""
    lse = check.log_sum_exp(np.stack([la, lb], -1))
    prob = check.softmax(np.stack([la, lb], -1))[..., None]
    with np.errstate(invalid="ignore"):
        terms = np.where(prob == 0, 0, prob * np.stack([ca, cb], -2))
    return {"context": terms.sum(-2).astype(ca.dtype), "lse": lse.astype(la.dtype)}


def exactly_merged(ca, la, cb, lb):
    """Where one part has no key, the result is the other one, bit for bit."""
    result = merged(ca, la, cb, lb)
    for other, (c, l) in ((lb, (ca, la)), (la, (cb, lb))):
        alone = np.isneginf(other)
        result["lse"][alone] = l[alone]
        result["context"][alone] = c[alone]
    result["context"][np.isneginf(la) & np.isneginf(lb)] = 0
    return result


def run_merge(ca, la, cb, lb):
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(merge_spec(ca, la))
        file.flush()
        return check.run_attnc(file.name, {"ca": ca, "la": la, "cb": cb, "lb": lb}, ["context", "lse"])


def bits(array):
    return array.view({2: np.uint16, 4: np.uint32, 8: np.uint64}[array.dtype.itemsize])


def same_bits(a, b):
    return all(np.array_equal(bits(a[name]), bits(b[name])) for name in a)


@part
def merge():
    inf, nan = np.inf, np.nan
    # Every pair of a number, a far smaller one, -inf, inf and NaN.
    one, two = (x.reshape(1, 5, 5) for x in np.meshgrid(*[[0.5, -400, -inf, inf, nan]] * 2, indexing="ij"))
    for dtypes in [("float32", "float32"), ("float16", "float32"), ("float64", "float64"), ("float32", "float64"),
                   ("float64", "float32"), ("float16", "float16")]:
        ca, cb = (floats(1, 5, 5, 19, dtype=dtypes[0]) for _ in range(2))
        la, lb = (x.astype(dtypes[1]) for x in (one, two))
        yield " ".join(dtypes), merge_spec(ca, la), {"ca": ca, "la": la, "cb": cb, "lb": lb}, exactly_merged
        ours = run_merge(ca, la, cb, lb)
        for c, l, other in ((ca, la, lb), (cb, lb, la)):
            alone = np.isneginf(other) & ~np.isneginf(l)
            assert np.array_equal(bits(ours["context"][alone]), bits(c[alone])), "expected a part as it is"
            assert np.array_equal(bits(ours["lse"][alone]), bits(l[alone])), "expected an lse as it is"
    sizes = (2, 3, 70, 64)
    ca, cb, la, lb = floats(*sizes), floats(*sizes), 9 * floats(*sizes[:3]), 9 * floats(*sizes[:3])
    yield "long rows", merge_spec(ca, la), {"ca": ca, "la": la, "cb": cb, "lb": lb}, merged
    if os.environ.get("ATTNC_CHECK_TARGET", "host") == "host":
        assert same_bits(run_merge(ca, la, cb, lb), run_merge(cb, lb, ca, la)), "expected no order"


@part
def single_row():
    arrays = {"x": floats(33), "w": floats(17, 33), "b": floats(17)}
    for dynamic in [(), (0,)]:
        types = {n: tensor(a, dynamic) for n, a in arrays.items()}
        result = tensor(arrays["b"], dynamic)
        body = f"  %out = attn.linear %x, %w, %b : {', '.join(types.values())} -> {result}"
        yield (f"linear dynamic={dynamic}", spec(list(arrays), types, result, body), arrays,
               lambda x, w, b: {"out": w @ x + b})


@part
def matmul():
    """Products of neither attention nor a layer: what is in front broadcasts, and may be nothing;
    rows, columns and what is summed over may have no elements."""
    shapes = [((2, 3, 5, 8), (2, 3, 8, 17)), ((5, 8), (2, 3, 8, 17)), ((2, 1, 5, 130), (1, 3, 130, 1)),
              ((4, 1, 3, 2, 7), (5, 1, 7, 33)), ((2, 5, 0), (2, 0, 3)), ((2, 0, 4), (2, 4, 3))]
    for left, right in shapes:
        arrays = {"a": floats(*left), "b": floats(*right)}
        product = np.matmul(arrays["a"], arrays["b"])
        for dynamic in [(), (0,)] if left[0] == right[0] and len(left) == len(right) else [()]:
            types = {n: tensor(a, dynamic) for n, a in arrays.items()}
            result = tensor(product, dynamic)
            body = f"  %out = attn.matmul %a, %b : {types['a']}, {types['b']} -> {result}"
            yield (f"{left} {right} dynamic={dynamic}", spec(list(arrays), types, result, body), arrays,
                   lambda a, b: {"out": np.matmul(a, b)})


@part
def epilogue():
    """Maps after a linear layer: one after the other, of other operands, and of sizes that only
    the call tells."""
    head = ("  %h = attn.linear %x, %w : {x}, {w} -> {h}\n"
            "  %m = attn.map %h, %b {{\n  ^bb0(%a: f32, %c: f32):\n    %s = arith.addf %a, %c : f32\n"
            "    %t = math.tanh %s : f32\n    attn.yield %t : f32\n  }} : {h}, {b} -> {h}\n"
            "  %out = attn.map %y, %m {{\n  ^bb0(%a: f32, %c: f32):\n    %r = arith.subf %a, %c : f32\n"
            "    attn.yield %r : f32\n  }} : {y}, {h} -> {h}")
    for dynamic in [(), (0, 1)]:
        arrays = {"x": floats(2, 13, 7), "w": floats(70, 7), "b": floats(70), "y": floats(2, 13, 70)}
        types = {n: tensor(a, dynamic if a.ndim == 3 else ()) for n, a in arrays.items()}
        yield (f"dynamic={dynamic}", spec(list(arrays), types, types["y"], head.format(h=types["y"], **types)),
               arrays, lambda x, w, b, y: {"out": y - np.tanh(x @ w.T + b)})
    yield feed_forward()


def feed_forward():
    """Two layers with constant weights: the second one's rows are the first one's."""
    up, down = (np.round(floats(*shape), 3) for shape in [(9, 5), (5, 9)])
    rows, wide = "tensor<?x5xf32>", "tensor<?x9xf32>"
    constants = "".join(f"  %{n} = arith.constant dense<{w.tolist()}> : {tensor(w)}\n"
                        for n, w in [("up", up), ("down", down)])
    body = (constants + f"  %h = attn.linear %x, %up : {rows}, {tensor(up)} -> {wide}\n"
            "  %n = attn.map %h {\n  ^bb0(%a: f32):\n    %r = math.tanh %a : f32\n    attn.yield %r : f32\n"
            f"  }} : {wide} -> {wide}\n  %d = attn.linear %n, %down : {wide}, {tensor(down)} -> {rows}\n"
            "  %out = attn.map %d, %x {\n  ^bb0(%a: f32, %b: f32):\n    %r = arith.addf %a, %b : f32\n"
            f"    attn.yield %r : f32\n  }} : {rows}, {rows} -> {rows}")

    def plain(x):
        wide_up, wide_down = up.astype(x.dtype), down.astype(x.dtype)
        return {"out": np.tanh(x @ wide_up.T) @ wide_down.T + x}

    return "constant weights", spec(["x"], {"x": rows}, rows, body), {"x": floats(8, 5)}, plain


@part
def embedding():
    for ids, dynamic in [(np.int64, (0, 1)), (np.int32, ())]:
        arrays = {"t": floats(7, 37), "i": rng.integers(0, 7, (2, 5), ids)}
        types = {n: tensor(a, dynamic if n == "i" else ()) for n, a in arrays.items()}
        result = tensor(arrays["t"][arrays["i"]], dynamic)
        body = f"  %out = attn.embedding %t, %i : {types['t']}, {types['i']} -> {result}"
        yield (f"{ids.__name__} dynamic={dynamic}", spec(list(arrays), types, result, body), arrays,
               lambda t, i: {"out": t[i]})


@part
def additive():
    for q_heads, kv_heads, dynamic in [(1, 1, (0, 2)), (4, 2, ())]:
        arrays = {"q": floats(2, q_heads, 7, 24), "k": floats(2, kv_heads, 11, 24), "w": floats(24)}
        types = {n: tensor(a, dynamic if a.ndim == 4 else ()) for n, a in arrays.items()}

        def score(q, k, w):
            return np.tanh(q[:, :, :, None] + check.repeat_heads(k, q)[:, :, None]) @ w

        result = tensor(score(**arrays), (0, 2, 3) if dynamic else ())
        body = (f"  %s = attn.additive_score %q, %k, %w : {', '.join(types.values())} -> {result}\n"
                f"  %out = attn.softmax %s : {result}")
        yield (f"{q_heads} heads", spec(list(arrays), types, result, body), arrays,
               lambda q, k, w, score=score: {"out": check.softmax(score(q, k, w))})


def angles(count, width, exponents, base, offset=0):
    """In f64 whatever the type, as the op computes them."""
    position = np.arange(count) + np.asarray(offset)[..., None]
    return position[..., None] / base ** (np.asarray(exponents) / width)


def plain_positions(kind, x, base=1e4, offset=0):
    count, width = x.shape[-2:]
    column = np.arange(width)
    if kind.startswith("sinusoidal"):
        a = angles(count, width, column // 2 * 2 if kind == "sinusoidal" else column, base, offset)
        return x + np.where(column % 2 == 0, np.sin(a), np.cos(a)).astype(x.dtype)
    halves = kind == "rotary_halves"
    first, second = (column[: width // 2], column[width // 2 :]) if halves else (column[::2], column[1::2])
    a = angles(count, width, np.arange(width // 2) * 2, base, offset)
    if np.ndim(offset):
        a = a[:, None]
    sine, cosine = np.sin(a).astype(x.dtype), np.cos(a).astype(x.dtype)
    y = np.empty_like(x)
    y[..., first] = x[..., first] * cosine - x[..., second] * sine
    y[..., second] = x[..., second] * cosine + x[..., first] * sine
    return y


@part
def positions():
    for kind in ("sinusoidal", "sinusoidal_by_column", "rotary_halves", "rotary_pairs"):
        x = floats(2, 3, 21, 16)
        for dynamic in [(), (0, 2)]:
            type_ = tensor(x, dynamic)
            body = f"  %out = attn.positions %x kind({kind}) : {type_}"
            yield (f"{kind} dynamic={dynamic}", spec(["x"], {"x": type_}, type_, body), {"x": x},
                   lambda x, kind=kind: {"out": plain_positions(kind, x)})
    x, offset = floats(2, 3, 5, 16), np.array([0, 1000], np.int32)
    types = {"x": "tensor<2x3x?x16xf32>", "o": "tensor<2xi32>"}
    for kind in ("rotary_halves", "rotary_pairs"):
        body = f"  %out = attn.positions %x kind({kind}) base(5.0e2) offset(%o : tensor<2xi32>) : {types['x']}"
        yield (f"{kind} from an offset on", spec(["x", "o"], types, types["x"], body),
               {"x": x, "o": offset}, lambda x, o, kind=kind: {"out": plain_positions(kind, x, 5e2, o)})


@part
def append_cache():
    for dynamic in [(), (0, 2)]:
        arrays = {"cache": floats(3, 2, 10, 8), "rows": floats(3, 2, 4, 8), "length": np.array([0, 6, 3])}
        types = {n: tensor(a, dynamic if a.ndim == 4 else ()) for n, a in arrays.items()}
        body = f"  %out = attn.append_cache %cache, %rows, %length : {', '.join(types.values())}"

        def appended(cache, rows, length):
            result = cache.copy()
            for b, start in enumerate(length):
                result[b, :, start : start + rows.shape[2]] = rows[b]
            return {"out": result}

        yield f"dynamic={dynamic}", spec(list(arrays), types, types["cache"], body), arrays, appended


@part
def slices():
    """Offsets, sizes and strides, known and not; dropped dimensions of either side."""
    x, n = floats(6, 5, 9), np.zeros(4, np.float32)
    head = ("  %c0 = arith.constant 0 : index\n  %n = tensor.dim %n_like, %c0 : tensor<?xf32>\n")
    cases = [
        ("view", "[1, 0, 2] [4, 5, 6] [1, 1, 1]", "4x5x6", x[1:5, :, 2:8]),
        ("dynamic", "[%n, 1, %n] [2, %n, %n] [1, 1, 1]", "2x?x?", x[4:6, 1:5, 4:8]),
        ("drops the first", "[3, 0, 1] [1, 5, 8] [1, 1, 1]", "5x8", x[3, :, 1:]),
        ("drops the last", "[0, 1, 7] [6, 3, 1] [1, 1, 1]", "6x3", x[:, 1:4, 7]),
        ("drops all", "[2, 1, 7] [1, 1, 1] [1, 1, 1]", "", x[2, 1, 7]),
        ("strided", "[1, 0, 0] [3, 5, 4] [2, 1, 2]", "3x5x4", x[1::2, :, 0:8:2]),
        ("dynamic and strided", "[1, 4, 0] [2, 1, %n] [3, 2, 2]", "2x?", x[1::3, 4, 0:8:2]),
    ]
    for label, places, sizes, expected in cases:
        result = f"tensor<{sizes + 'x' if sizes else ''}f32>"
        body = head + f"  %out = tensor.extract_slice %x{places} : tensor<6x5x9xf32> to {result}"
        types = {"x": "tensor<6x5x9xf32>", "n_like": "tensor<?xf32>"}
        yield (label, spec(["x", "n_like"], types, result, body), {"x": x, "n_like": n},
               lambda x, n_like, expected=expected: {"out": expected.astype(x.dtype)})


@part
def generate():
    body = ("  %c0 = arith.constant 0 : index\n  %n = tensor.dim %x, %c0 : tensor<?x9xf32>\n"
            "  %out = tensor.generate %n {\n  ^bb0(%i: index, %j: index):\n"
            "    %three = arith.constant 3 : index\n    %k = arith.remui %j, %three : index\n"
            "    %a = tensor.extract %x[%i, %k] : tensor<?x9xf32>\n"
            "    %int = arith.index_cast %j : index to i32\n    %b = arith.sitofp %int : i32 to f32\n"
            "    %sum = arith.addf %a, %b : f32\n    tensor.yield %sum : f32\n  } : tensor<?x12xf32>")
    text = spec(["x"], {"x": "tensor<?x9xf32>"}, "tensor<?x12xf32>", body)
    yield ("of another tensor", text, {"x": floats(5, 9)},
           lambda x: {"out": (np.tile(x[:, :3], 4) + np.arange(12)).astype(x.dtype)})


@part
def concat():
    for axis, dynamic in [(0, ()), (1, (1,)), (2, (0, 1, 2))]:
        shapes = [(2, 3, 5), (2, 3, 5), (2, 3, 5)]
        shapes[1] = tuple(4 if dim == axis else size for dim, size in enumerate(shapes[1]))
        arrays = {name: floats(*shape) for name, shape in zip("abc", shapes)}
        types = {name: tensor(array, dynamic) for name, array in arrays.items()}
        joined = tensor(np.concatenate(list(arrays.values()), axis), dynamic)
        result = tensor(arrays["a"].max(axis), [d - (d > axis) for d in dynamic if d != axis])
        body = (f"  %joined = tensor.concat dim({axis}) %a, %b, %c : ({', '.join(types.values())}) -> {joined}\n"
                f"  %out = attn.reduce max %joined axes [{axis}] : {joined} -> {result}")
        yield (f"axis {axis}", spec(list(arrays), types, result, body), arrays,
               lambda axis=axis, **arrays: {"out": np.concatenate(list(arrays.values()), axis).max(axis)})


@part
def reshape():
    # The sizes of reshaped tensors follow from the arguments, through views and copies.
    body = ("  %c0 = arith.constant 0 : index\n  %n = tensor.dim %x, %c0 : tensor<?x?x6xf32>\n"
            "  %c1 = arith.constant 1 : index\n  %m = tensor.dim %x, %c1 : tensor<?x?x6xf32>\n"
            "  %e = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [%n, %m, 2, 3]"
            " : tensor<?x?x6xf32> into tensor<?x?x2x3xf32>\n"
            "  %t = attn.transpose %e [0, 2, 1, 3] : tensor<?x?x2x3xf32> -> tensor<?x2x?x3xf32>\n"
            "  %c = tensor.collapse_shape %t [[0, 1, 2], [3]] : tensor<?x2x?x3xf32> into tensor<?x3xf32>\n"
            "  %y = attn.layer_norm %c epsilon(1.0e-3) : tensor<?x3xf32>\n"
            "  %out = attn.reduce max %y axes [0] : tensor<?x3xf32> -> tensor<3xf32>")
    text = spec(["x"], {"x": "tensor<?x?x6xf32>"}, "tensor<3xf32>", body)
    yield ("collapsed view", text, {"x": floats(4, 5, 6)},
           lambda x: {"out": normed("layer", x.reshape(4, 5, 2, 3).swapaxes(1, 2).reshape(-1, 3), None, None,
                                    1e-3)["out"].max(axis=0)})


def run(label, text, inputs, outputs):
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "spec.mlir")
        with open(path, "w") as file:
            file.write(text)
        good = check.check(label, path, inputs, outputs)
    if not good:
        print(text)
    return good


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in PARTS:
        sys.exit(__doc__ + "\nparts: " + " ".join(PARTS))
    sys.exit(not all([run(*case) for case in PARTS[sys.argv[1]]()]))
