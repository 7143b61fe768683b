"""attnc.attention with lambdas against numpy in float64. With ATTNC_LONG_TESTS set each score and each
mask is compiled alone, too, and for other element types."""

import contextlib
import io
import math
import os
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

import attnc
import attnc._structure
import numpy as np

sys.path.insert(0, os.path.dirname(__file__))
import lambdas
from bf16 import Bf16
from lambdas import BATCH, DIM, HEADS, KV_HEADS, KV_LEN, MASKS, Q_LEN, SCORES

LONG = bool(os.environ.get("ATTNC_LONG_TESTS"))


def random_inputs(q_len=Q_LEN, kv_len=KV_LEN, batch=BATCH, heads=HEADS, kv_heads=KV_HEADS, dim=DIM, dtype=np.float32):
    rng = np.random.default_rng(0)
    shapes = [(batch, heads, q_len, dim), (batch, kv_heads, kv_len, dim), (batch, kv_heads, kv_len, dim)]
    return [rng.standard_normal(shape, dtype=np.float32).astype(dtype) for shape in shapes]


def positions(batch, heads, q_len, kv_len):
    return np.ogrid[:batch, :heads, :q_len, :kv_len]


def expect(query, key, value, score=None, mask=None, scale=None, softcap=None, sink=None):
    """The context and the lse, in float64; `mask` may be an array."""
    query, key, value = (np.asarray(x, np.float64) for x in (query, key, value))
    group = query.shape[1] // key.shape[1]
    key, value = (np.repeat(x, group, 1) for x in (key, value))
    s = query @ key.swapaxes(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    at = positions(*s.shape)
    s = softcap * np.tanh(s / softcap) if softcap else s
    s = score(s, *at) if score else s
    seen = np.broadcast_to(mask(*at) if callable(mask) else True if mask is None else mask, s.shape)
    s = np.where(seen, s, -np.inf)
    most = s.max(-1, keepdims=True, initial=-1e300 if sink is None else sink.max())
    weight = np.exp(s - most)
    total = weight.sum(-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        lse = (most + np.log(total))[..., 0]
        total = total if sink is None else total + np.exp(sink[:, None, None] - most)
        return np.where(total == 0, 0, weight / np.where(total == 0, 1, total)) @ value, lse


def check(context, expected, tolerance=2e-5):
    np.testing.assert_allclose(np.asarray(context, np.float64), expected, rtol=0, atol=tolerance)


class LambdasTest(unittest.TestCase):
    """All scores and masks, several of them a kernel."""

    def check(self, scores, masks):
        inputs = random_inputs()

        def score(s, b, h, q, k):
            for name in scores:
                s = SCORES[name](s, b, h, q, k)
            return s

        def mask(b, h, q, k):
            first, *others = (MASKS[name](b, h, q, k) for name in masks)
            for number, each in enumerate(others):
                first = first | each if number else first & each
            return first

        with self.subTest(scores=scores, masks=masks):
            score, mask = score if scores else None, mask if masks else None
            check(attnc.attention(*inputs, score=score, mask=mask), expect(*inputs, score, mask)[0])

    def test_together(self):
        count = 9
        for first in range(count):
            self.check(list(SCORES)[first::count], list(MASKS)[first::count])

    @unittest.skipUnless(LONG, "long")
    def test_alone(self):
        for score in SCORES:
            self.check([score], [])
        for mask in MASKS:
            self.check([], [mask])


class OptionsTest(unittest.TestCase):
    """All options in one kernel, at sizes that are hard."""

    def expect(self, query, key, value, lengths, sink):
        q_len, kv_len = query.shape[2], key.shape[2]
        b, h, q, k = positions(*query.shape[:3], kv_len)
        last = q + kv_len - q_len
        seen = (k <= last) & (k >= last - 9) & (k < lengths[b]) & ((k + h) % 7 != 0)
        return expect(query, key, value, lambda s, b, h, q, k: s - lambdas.slope[h] * (q - k), seen, 0.3, 5.0, sink)

    def run_all(self, query, key, value, lengths, sink, **more):
        slope = lambdas.slope
        return attnc.attention(query, key, value, score=lambda s, b, h, q, k: s - slope[h] * (q - k),
                               mask=lambda b, h, q, k: (k + h) % 7 != 0, scale=0.3, softcap=5, window=(9, 0),
                               causal="bottom_right", kv_lengths=lengths, sink=sink, return_lse=True, **more)

    def test_sizes(self):
        sink = np.array([0.5, -1, 2, 0], np.float32)
        for batch, q_len, kv_len in (2, 21, 37), (2, 1, 50), (1, 130, 130), (1, 30, 7), (3, 5, 0), (2, 0, 4), (0, 3, 3):
            with self.subTest(batch=batch, q_len=q_len, kv_len=kv_len):
                inputs = random_inputs(q_len, kv_len, batch)
                lengths = np.array([kv_len, 11, 0][:batch], int)
                context, lse = self.run_all(*inputs, lengths, sink)
                expected = self.expect(*inputs, lengths, sink)
                check(context, expected[0])
                check(lse, expected[1])

    def test_where_results_go(self):
        inputs, sink = random_inputs(), np.zeros(HEADS, np.float32)
        lengths = np.array([5, 30])
        out = np.empty_like(inputs[0]), np.empty(inputs[0].shape[:3], np.float32)
        context, lse = self.run_all(*inputs, lengths, sink, out=out, threads=1)
        self.assertIs(context, out[0])
        check(context, self.expect(*inputs, lengths, sink)[0])

    def test_causal(self):
        inputs = random_inputs()
        at = positions(BATCH, HEADS, Q_LEN, KV_LEN)
        check(attnc.attention(*inputs, causal="top_left"), expect(*inputs, mask=at[3] <= at[2])[0])

    def test_small_scale(self):
        inputs = random_inputs()
        check(attnc.attention(*inputs, scale=1e-5), expect(*inputs, scale=1e-5)[0])

    def test_lengths_of_operands(self):
        inputs = random_inputs()
        context = attnc.attention(*inputs, mask=lambda b, h, q, k: k - attnc.kv_len <= q - attnc.q_len)
        check(context, expect(*inputs, mask=lambda b, h, q, k: k - KV_LEN <= q - Q_LEN)[0])


class ElementsTest(unittest.TestCase):
    def test_f16(self):
        inputs = random_inputs(dtype=np.float16)
        context, lse = attnc.attention(*inputs, score=SCORES["alibi"], mask=MASKS["documents"], return_lse=True)
        self.assertEqual((context.dtype, lse.dtype), (np.float16, np.float32))
        expected = expect(*inputs, SCORES["alibi"], MASKS["documents"])
        check(context, expected[0], 4e-3)
        check(lse, expected[1], 1e-2)

    def test_bf16(self):
        inputs = list(map(Bf16, random_inputs()))
        out = Bf16(np.zeros(inputs[0].shape))
        context = attnc.attention(*inputs, score=SCORES["alibi"], causal="bottom_right", out=out)
        floats = [x.floats() for x in inputs]
        check(context.floats(), expect(*floats, SCORES["alibi"], MASKS["causal, from the right"])[0], 4e-2)

    @unittest.skipUnless(LONG, "long")
    def test_f64(self):
        inputs = random_inputs(dtype=np.float64)
        check(attnc.attention(*inputs, score=SCORES["t5 buckets"], causal="top_left"),
              expect(*inputs, SCORES["t5 buckets"], MASKS["causal"])[0], 1e-12)


class EdgesTest(unittest.TestCase):
    def test_nan_is_seen_where_it_is_not_hidden(self):
        query, key, value = random_inputs()
        key[:, :, 5] = np.nan
        value[:, :, 7] = np.inf
        seen = MASKS["causal"]
        with_nan = lambdas.with_nan
        context = attnc.attention(query, key, value, score=lambda s, b, h, q, k: s + with_nan[k], mask=seen)
        self.assertTrue(np.isnan(context[:, :, 5:]).all())
        check(context[:, :, :5], expect(query, key[:, :, :5], value[:, :, :5], mask=seen)[0][:, :, :5])

    def test_rows_without_keys(self):
        inputs = random_inputs()
        context, lse = attnc.attention(*inputs, mask=lambda b, h, q, k: q % 2 * k > 10, return_lse=True)
        self.assertTrue((context[:, :, ::2] == 0).all() and (lse[:, :, ::2] == -np.inf).all())
        check(context, expect(*inputs, mask=lambda b, h, q, k: q % 2 * k > 10)[0])


class FunctionsTest(unittest.TestCase):
    """Those that numpy has under the same name, and the others, by their values."""

    def test_all(self):
        query, key, value = random_inputs()
        a = attnc

        def score(s, b, h, q, k):
            x = a.sigmoid(s) * 0.9 + 0.05
            s = a.exp(x) + a.exp2(x) - a.expm1(x) + a.log(x) + a.log2(x) - a.log10(x) + a.log1p(x) + a.rsqrt(x) - a.cbrt(x)
            s = s + a.sin(x) * a.cos(x) - a.tan(x) + a.arcsin(x) - a.arccos(x) + a.arctan(x) + a.arctan2(x, 2) + a.erf(x)
            s = s + a.sinh(x) - a.cosh(x) + a.arcsinh(x) - a.arccosh(1 + x) + a.arctanh(x) - a.floor(4 * x) + a.ceil(3 * x)
            s = s - a.trunc(x * 5) + a.rint(6 * x) + a.copysign(x, q - k) - a.maximum(q, k) * 0.01 + a.minimum(x, 0.5)
            return a.where(a.isnan(x) | a.isinf(x) | ~a.isfinite(x), 0.0, s)

        def expected(s, b, h, q, k):
            x = 0.9 / (1 + np.exp(-s)) + 0.05
            s = np.exp(x) + np.exp2(x) - np.expm1(x) + np.log(x) + np.log2(x) - np.log10(x) + np.log1p(x) + x**-0.5 - np.cbrt(x)
            s = s + np.sin(x) * np.cos(x) - np.tan(x) + np.arcsin(x) - np.arccos(x) + np.arctan(x) + np.arctan2(x, 2)
            s = s + np.vectorize(math.erf)(x)
            s = s + np.sinh(x) - np.cosh(x) + np.arcsinh(x) - np.arccosh(1 + x) + np.arctanh(x) - np.floor(4 * x) + np.ceil(3 * x)
            return s - np.trunc(x * 5) + np.rint(6 * x) + np.copysign(x, q - k) - np.maximum(q, k) * 0.01 + np.minimum(x, 0.5)

        # Steps are where roundings part.
        context, reference = attnc.attention(query, key, value, score=score), expect(query, key, value, expected)[0]
        self.assertLess(np.mean(abs(context - reference) > 1e-4), 0.01)

    def test_made_of_others(self):
        query, key, value = random_inputs()
        table = np.linspace(-1, 1, 7 * 5, dtype=np.float32).reshape(7, 5)

        def score(s, b, h, q, k, m=attnc):
            s = m.square(m.sign(s)) * s + m.fmod(s * 5, 1.5) + m.hypot(s, 3) - m.hypot(s * 0, q * 0) + m.logaddexp(s, q * 0.1)
            s = m.clip(s, -2, 5) + m.fmod(q - k, 3) * 0.2 + m.sign(q - k) * m.where(m.logical_xor(q % 2, k % 3), 0.3, 0.1)
            s = s + m.where(m.logical_and(q % 2, k % 3) | m.logical_not(m.logical_or(q % 4, k % 2)), 0.5, 0.0)
            return s + table[q % 7, ..., k % 5] + table[..., h, q % 5] + table[2, ...][k % 5]

        def of_numpy(s, b, h, q, k):
            return score(s, b, h, q, k, np)

        expected = expect(query, key, value, of_numpy)[0]
        check(attnc.attention(query, key, value, score=score), expected)
        check(attnc.attention(query, key, value, score=of_numpy), expected)

    def test_arrays_wherever_they_are(self):
        class Holder:
            pass

        outer, inputs = Holder(), random_inputs()
        outer.inner, outer.parts, outer.itself = Holder(), [{"slopes": np.arange(8, dtype=np.float32)}, 3], outer
        outer.inner.rows = (np.linspace(0, 1, 40, dtype=np.float32).reshape(8, 5),)

        def score(s, b, h, q, k):
            return s + outer.inner.rows[0][h, q % 5] * outer.parts[0]["slopes"][h] / outer.parts[1]

        expected = lambda s, b, h, q, k: s + outer.inner.rows[0][h, q % 5] * outer.parts[0]["slopes"][h] / 3
        check(attnc.attention(*inputs, score=score), expect(*inputs, expected)[0])
        table = outer.inner.rows[0]
        check(attnc.attention(*inputs, score=lambda s, b, h, q, k: s + table[h][k % 5]),
              expect(*inputs, lambda s, b, h, q, k: s + table[h, k % 5])[0])

    def test_infinities(self):
        inputs = random_inputs()
        hidden = lambda s, b, h, q, k: attnc.where(k > q, -np.inf, s)
        check(attnc.attention(*inputs, score=lambda *at: attnc.logaddexp(hidden(*at), hidden(*at)) - np.log(2)),
              attnc.attention(*inputs, score=hidden))
        check(attnc.attention(*inputs, score=lambda *at: -attnc.hypot(hidden(*at), hidden(*at))),
              attnc.attention(*inputs, score=lambda *at: -abs(hidden(*at)) * np.sqrt(2)))

    def test_casts(self):
        query, key, value = random_inputs()

        def score(s, b, h, q, k):
            wrapped = (q * 1000003 * (k + 1)).to("i32") >> 20
            whole = (s * 4).to("i64") * 0.1 + (q > k).to("i8").to(bool).to("index")
            return s.to(np.float16).to("f64") + wrapped.to("f32") * 1e-3 + whole

        def expected(s, b, h, q, k):
            wrapped = (q * 1000003 * (k + 1)).astype(np.int32) >> 20
            return s.astype(np.float16) + wrapped * 1e-3 + np.trunc(s * 4) * 0.1 + (q > k)

        context, reference = attnc.attention(query, key, value, score=score), expect(query, key, value, expected)[0]
        self.assertLess(np.mean(abs(context - reference) > 2e-3), 0.01)


class CacheTest(unittest.TestCase):
    def test_other_numbers_and_sizes_compile_nothing(self):
        texts = set()
        for size in 9, 12:
            query, key, value = random_inputs(size, size)
            ids, slope = np.arange(2 * size).reshape(2, size) // 5, np.linspace(0, 1, HEADS + size)
            texts.add(attnc.spec(query, key, value, score=lambda s, b, h, q, k: s + slope[h] * (q - k),
                                 mask=lambda b, h, q, k: ids[b, q] == ids[b, k]))
        self.assertEqual(len(texts), 1)

    def test_compiles_once(self):
        inputs = random_inputs()
        made = []
        with unittest.mock.patch("attnc._compile.compile", lambda text: made.append(text) or (lambda *_, **__: len(made))):
            for factor in 0.25, 0.25, 0.5:
                attnc.attention(*inputs, score=lambda s, b, h, q, k: s * factor + 0.123)
        self.assertEqual(len(made), 2)


class StructureTest(unittest.TestCase):
    """Functions that compute the same share a kernel by their structure."""

    def test_of_closures(self):
        def window(size, inner=lambda q, k: q >= k):
            return lambda b, h, q, k: inner(q, k) & (q - k < size)

        find = attnc._structure.find_structure
        self.assertEqual(find(window(3)), find(window(3)))
        others = [window(4), window(3.0), window(True), window(-0.0), window(0.0), window(3, lambda q, k: q > k),
                  window((3, 4)), window("3"), window(None), lambda b, h, q, k: q >= k]
        self.assertEqual(len({find(function) for function in (window(3), *others)}), 1 + len(others))

    def test_that_is_not_known(self):
        class Settings:
            size = 3

        def again(b, h, q, k):
            return again(b, h, q, k)

        size = np.array(3)
        readers = [lambda b, h, q, k: q < size, lambda b, h, q, k: q < Settings.size, lambda b, h, q, k: k in lambdas.prefix,
                   again, window_of_a_method, lambda b, h, q, k: {}[missing]]
        self.assertEqual([attnc._structure.find_structure(each) for each in readers], [None] * len(readers))
        missing = {}

    def test_global_that_changes(self):
        find = lambda: attnc._structure.find_structure(reads_a_global)
        before = find()
        with unittest.mock.patch.dict(globals(), LIMIT=8):
            self.assertNotEqual(find(), before)
        self.assertEqual(find(), before)


class Window:
    size = 3

    def mask(self, b, h, q, k):
        return q - k < self.size


window_of_a_method, LIMIT = Window().mask, 7


def reads_a_global(b, h, q, k):
    return k < LIMIT


class ProgressTest(unittest.TestCase):
    def compile(self, is_terminal):
        """What is said while a kernel is compiled."""
        said = io.StringIO()
        said.isatty = lambda: is_terminal
        with unittest.mock.patch("attnc._compile.compile", lambda text: lambda *_, **__: None), \
                unittest.mock.patch("attnc._attention._kernels", {}), contextlib.redirect_stderr(said):
            for _ in range(2):
                attnc.attention(*random_inputs())
        return said.getvalue()

    def test_on_terminals_alone(self):
        self.assertEqual(self.compile(True), "attnc: compiling attention of 4/2 heads, head_dim 16, f32…\r\033[K")
        self.assertEqual(self.compile(False), "")


class SpecTest(unittest.TestCase):
    def test_text(self):
        query, key, value = random_inputs(dtype=np.float16)
        slope, double = np.ones(HEADS, np.float32), np.ones((BATCH, KV_LEN), bool)
        text = attnc.spec(query, key, value, name="golden", softcap=30, causal="bottom_right", window=(16, 0),
                          kv_lengths=np.ones(BATCH, np.int32), sink=np.ones(HEADS, np.float16), return_lse=True,
                          score=lambda s, b, h, q, k: s - slope[h] * abs(q - k),
                          mask=lambda b, h, q, k: double[b, k] & ((q - k) % 3 == 0) | (q // 4 == k // 4))
        with open(os.path.join(os.path.dirname(__file__), "golden.mlir")) as file:
            self.assertEqual(text, file.read())

    def test_text_in_a_session(self):
        text = attnc.spec(*random_inputs())
        self.assertEqual(repr(text), str(text))

    def test_of_shapes_alone(self):
        shape = lambda *sizes: types.SimpleNamespace(shape=sizes, dtype="float32")
        self.assertIn("tensor<?x2x?x8xf32>", attnc.spec(shape(1, 2, 3, 8), shape(1, 2, 3, 8), shape(1, 2, 3, 8)))

    def test_names(self):
        c1, key, q, rest = (np.ones(KV_LEN, np.float32) for _ in range(4))
        tables = [rest, q]
        text = attnc.spec(*random_inputs(),
                          score=lambda s, b, h, i, j: s + c1[j] + key[j] + q[j] + tables[0][j] + tables[1][i])
        for name in "%array_c1:", "%array_key:", "%array_q:", "%tables_0:":
            self.assertEqual(text.count(name), 1, name)
        self.assertNotIn("tables_1", text)


EXPORTED_MAIN = r"""
#include "biased.h"
#include <stdio.h>
static float data[4][64];
static DLTensor tensor(int index, int ndim, int64_t *shape) {
  DLTensor t = {data[index], {kDLCPU, 0}, ndim, {kDLFloat, 32, 1}, shape, NULL, 0};
  return t;
}
int main(void) {
  int64_t shape[4] = {1, 2, 2, 4}, table[2] = {2, 2};
  for (int i = 0; i < 16; ++i) data[0][i] = data[1][i] = 0, data[2][i] = i;
  data[3][0] = data[3][1] = data[3][2] = data[3][3] = 0, data[3][1] = 1000;
  DLTensor query = tensor(0, 4, shape), key = tensor(1, 4, shape), value = tensor(2, 4, shape), bias = tensor(3, 2, table);
  static float result[16];
  DLTensor context = query;
  context.data = result;
  if (biased(&query, &key, &value, &bias, &context) != 0)
    return puts(biased_last_error()), 1;
  for (int i = 0; i < 16; ++i) printf("%g ", result[i]);
  return 0;
}
"""


class ExportTest(unittest.TestCase):
    def test_called_from_c(self):
        query, key, value = random_inputs(2, 2, 1, 2, 2, 4)
        bias = np.zeros((2, 2), np.float32)
        with tempfile.TemporaryDirectory() as folder:
            attnc.export(query, key, value, folder, name="biased", score=lambda s, b, h, q, k: s + bias[q, k])
            self.assertTrue({"libbiased.a", "biased.h", "biased.json", "biased.mlir", "dlpack.h"} <= set(os.listdir(folder)))
            with open(os.path.join(folder, "main.c"), "w") as file:
                file.write(EXPORTED_MAIN)
            subprocess.run([os.environ.get("CC", "cc"), "main.c", "libbiased.a", "-o", "main", "-lm", "-lpthread", "-ldl"], check=True, cwd=folder)
            printed = subprocess.run([os.path.join(folder, "main")], capture_output=True, text=True, check=True).stdout
        # The first row of each head sees its second key alone, the other row both alike.
        self.assertEqual(printed.split(), "4 5 6 7 2 3 4 5 12 13 14 15 10 11 12 13".split())


if __name__ == "__main__":
    unittest.main()
