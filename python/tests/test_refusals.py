"""What attnc.attention refuses, before anything is compiled."""

import functools
import math
import os
import re
import sys
import tempfile
import unittest

import attnc
import numpy as np

sys.path.insert(0, os.path.dirname(__file__))
from bf16 import Bf16

QUERY, KEY, VALUE = (np.zeros(shape, np.float32) for shape in ((2, 4, 5, 8), (2, 2, 7, 8), (2, 2, 7, 6)))
TABLE = np.zeros((4, 3), np.float32)
IDS = np.zeros((2, 7), np.int32)


def spec(*arrays, **options):
    return attnc.spec(*(arrays or (QUERY, KEY, VALUE)), **options)


def of_score(expression, **names):
    return eval(f"lambda s, b, h, q, k: {expression}", {"attnc": attnc, "math": math, "np": np, "TABLE": TABLE, "IDS": IDS, **names})


class OperandsTest(unittest.TestCase):
    def refuse(self, error, text, *arrays, **options):
        with self.assertRaisesRegex(error, text):
            spec(*arrays, **options)

    def test_operands(self):
        self.refuse(TypeError, "query: expected an array that speaks DLPack, found list", [1], KEY, VALUE)
        self.refuse(ValueError, r"query: expected 4 dims .* found shape \(4, 5, 8\)", QUERY[0], KEY, VALUE)
        self.refuse(TypeError, "query: expected f16, bf16, f32 or f64, found i32", QUERY.astype(np.int32), KEY, VALUE)
        self.refuse(TypeError, "value: expected f32 as in query, found f16", QUERY, KEY, VALUE.astype(np.float16))
        self.refuse(ValueError, r"key: expected dim 0 to be 2 as in query, found query \(2, 4, 5, 8\), key \(1,", QUERY, KEY[:1], VALUE[:1])
        self.refuse(ValueError, "key: expected dim 3 to be 8 as in query", QUERY, KEY[..., :4], VALUE)
        self.refuse(ValueError, "value: expected dim 2 to be 7 as in key", QUERY, KEY, VALUE[:, :, :6])
        self.refuse(ValueError, "key: expected a number of heads that divides query's", QUERY[:, :3], KEY, VALUE)
        self.refuse(ValueError, "query: expected an array on the CPU, found one on DLPack device type 2", Bf16(QUERY, device=2), Bf16(KEY), Bf16(VALUE))

    def test_options(self):
        self.refuse(ValueError, 'causal: expected "top_left" or "bottom_right", found True', causal=True)
        self.refuse(ValueError, r"window: expected \(left, right\), .* found 4", window=4)
        self.refuse(ValueError, "window: expected numbers of keys from 0", window=(-1, 4))
        self.refuse(ValueError, "window: expected", window=(1, 4, "left"))
        self.refuse(ValueError, "softcap: expected a number above 0, found 0", softcap=0)
        self.refuse(ValueError, "scale: expected a finite number, found nan", scale=math.nan)
        self.refuse(TypeError, "scale: expected a number, found .x'", scale="x")
        self.refuse(TypeError, "kv_lengths: expected i32 or i64, found f32", kv_lengths=np.ones(2, np.float32))
        self.refuse(ValueError, r"kv_lengths: expected shape \(2,\), .* found \(3,\)", kv_lengths=np.ones(3, int))
        self.refuse(TypeError, "sink: expected f32 as in query, found f64", sink=np.ones(4))
        self.refuse(ValueError, r"sink: expected shape \(4,\), or \(2, 4, 5\) .* found \(3,\)", sink=np.ones(3, np.float32))

    def test_name(self):
        for name in "two words", "", "a-b", "é", "f() {", "../f":
            self.refuse(ValueError, f"name: expected a C identifier, found {re.escape(repr(name))}", name=name)
        self.refuse(TypeError, "name: expected a str, found int", name=1)
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(ValueError, "name: expected a C identifier"):
            attnc.export(QUERY, KEY, VALUE, folder, name="../f")

    def test_what_the_kernel_refuses(self):
        """The strides of an array, which only a call reads, and results of bf16 that have no place."""
        query = QUERY.swapaxes(2, 3).copy().swapaxes(2, 3)
        with self.assertRaisesRegex(ValueError, "query: expected dim 3 to have stride 1"):
            attnc.attention(query, KEY, KEY)
        with self.assertRaisesRegex(TypeError, "out: expected an array for a result of bf16"):
            attnc.attention(Bf16(QUERY), Bf16(KEY), Bf16(KEY))

    def test_functions(self):
        here = "test_refusals.py"
        self.refuse(TypeError, r"mask: expected .*, found an array of 2 dims: write mask=lambda b, h, q, k: array\[q, k\]$", mask=IDS)
        self.refuse(TypeError, r"found an array of 3 dims: write score=lambda s, b, h, q, k: s \+ array\[h, q, k\]$", score=QUERY[0])
        self.refuse(TypeError, r"mask: expected a function of \(b, h, q, k\), found str", mask="causal")
        self.refuse(TypeError, rf"mask: expected a function of \(b, h, q, k\), found one of \(q, k\) at .*{here}:\d+", mask=lambda q, k: q >= k)
        self.refuse(TypeError, rf"mask: expected a bool, as comparisons are, .*{here}:\d+, found index", mask=lambda b, h, q, k: q - k)
        self.refuse(TypeError, "mask: expected a bool, .* found float", mask=lambda b, h, q, k: q / 2)
        self.refuse(TypeError, "score: expected a float .* found index", score=lambda s, b, h, q, k: q)
        self.refuse(TypeError, "score: expected a float .* found bool", score=lambda s, b, h, q, k: s > 0)
        self.refuse(TypeError, "score: expected a float .* found NoneType", score=lambda s, b, h, q, k: None)
        self.refuse(TypeError, "score: expected a float .* found Array", score=lambda s, b, h, q, k: TABLE[h])


class ExpressionsTest(unittest.TestCase):
    def refuse(self, error, text, expression, **names):
        with self.subTest(expression), self.assertRaisesRegex(error, text):
            spec(score=of_score(expression, **names))

    def test_control_flow(self):
        for expression in ("s if q > k else 0.0", "s * (q > k and k > 2)", "s * (q > k or k > 2)", "s * (not q > k)",
                           "s * (0 < q < k)", "s * (q in (1, 2))", "max(s, 0.0)"):
            self.refuse(TypeError, r"<string>:1: expected no decision on a traced value.*attnc.where.*&, \|, ~", expression)

    def test_numbers(self):
        for expression in "s + int(q)", "s + sum(s for _ in range(q))", "s + [1.0, 2.0][h]":
            self.refuse(TypeError, "expected no int of a traced value.*x.to", expression)
        for expression in "s + float(q)", "math.exp(s)":
            self.refuse(TypeError, "expected no float of a traced value.*attnc.exp", expression)
        for expression in "round(s)", "math.floor(s)":
            self.refuse(TypeError, "expected no integer of a traced value.*attnc.rint.*attnc.floor", expression)
        self.refuse(TypeError, "expected no key or element of a set", "s + {1: 2.0}[h]")
        self.refuse(TypeError, "expected one number", "s + sum(q)")

    def test_line(self):
        """The user's, also of a function that the lambda calls."""
        def helper(s, q):
            return s if q > 2 else 0.0  # this line

        with self.assertRaisesRegex(TypeError, r"test_refusals.py:\d+: `return s if q > 2 else 0.0  # this line`: expected no decision"):
            spec(score=lambda s, b, h, q, k: helper(s, q))

    def test_arrays(self):
        self.refuse(IndexError, "TABLE: expected 2 indices at most, found 3", "s + TABLE[b, h, q]")
        self.refuse(TypeError, r"TABLE: expected 2 indices for its shape \(4, 3\), found 1", "s + TABLE[h]")
        self.refuse(TypeError, "TABLE: expected integers as indices, found float", "s + TABLE[h, q / 2]")
        self.refuse(TypeError, "TABLE: expected integers as indices, found bool", "s + TABLE[h, q > 2]")
        self.refuse(TypeError, "TABLE: expected integers as indices, found slice", "s + TABLE[h, :]")
        self.refuse(ValueError, r"TABLE: expected dim 1, which q indexes, to be at least 5, found shape \(4, 3\)", "s + TABLE[h, q]")
        self.refuse(TypeError, "<string>:1: expected an array of the function's closure.*attnc.array", "s + np.arange(4)[h]")
        self.refuse(TypeError, "odd: expected bools, integers .* found u8", "s + odd[k]", odd=np.zeros(7, np.uint8))
        self.refuse(TypeError, "odd: expected bools, integers .* found complex", "s + odd[k]", odd=np.zeros(7, complex))
        self.refuse(ValueError, "far: expected an array on the CPU", "s + far[k]", far=Bf16(np.zeros(7), device=2))

    def test_arithmetic(self):
        self.refuse(OverflowError, f"expected an integer that index holds, found {2**63}", f"s + q * {2**63}")
        self.refuse(OverflowError, "expected an integer that i32 holds, found 3000000000", "s * (IDS[b, k] == 3000000000)")
        self.refuse(ZeroDivisionError, "expected a divisor other than 0", "s + q // 0")
        self.refuse(ZeroDivisionError, "expected a divisor other than 0", "s + q % 0")
        self.refuse(ValueError, "expected to shift index by 0 to 63 bits, found 64", "s + (q << 64)")
        self.refuse(TypeError, "expected bools or integers for &.*parentheses", "s & 1")
        self.refuse(TypeError, "expected integers for << and >>", "s << 1")
        self.refuse(TypeError, "expected a float, or an exponent known here", "s + 2 ** q")
        self.refuse(TypeError, r"unsupported operand type\(s\) for \+", "s + 'x'")
        self.refuse(TypeError, "expected a number beside a traced value, found NoneType", "attnc.where(q == None, s, 0)")
        self.refuse(TypeError, "expected one of f16, .* found complex64", "s.to('complex64')")
        self.refuse(TypeError, "attnc.where: expected a bool", "attnc.where(q, s, 0)")
        self.refuse(TypeError, "attnc.exp: expected a traced value or a number, found str", "attnc.exp('x')")
        self.refuse(TypeError, "expected functions of attnc .* found numpy.gcd", "s + np.gcd(q, k)")


class CapturedTest(unittest.TestCase):
    """Wherever an array comes from, it is an argument of the spec."""

    def check(self, score, name="table"):
        self.assertIn(f"tensor.extract %{name}[%h, ", spec(score=score))

    def test_places(self):
        table = TABLE
        self.check(lambda s, b, h, q, k: s + table[h, 0])
        self.check(lambda s, b, h, q, k, table=TABLE: s + table[h, 0])
        self.check(functools.partial(lambda s, b, h, q, k, *, table: s + table[h, 0], table=TABLE))
        self.check(lambda s, b, h, q, k: s + TABLE[h, 0], "TABLE")
        tables = {"one": TABLE}
        self.check(lambda s, b, h, q, k: s + tables["one"][h][-1], "one")
        self.check(lambda s, b, h, q, k: (lambda x: s + table[x, 0])(h))

    def test_functions_and_objects(self):
        table = TABLE

        class Bias:
            def __init__(self):
                self.table = table

            def add(self, s, b, h, q, k):
                return s + self.table[h, 0]

            __call__ = add

        bias = Bias()
        add = lambda s, h: s + table[h, 0]
        self.check(lambda s, b, h, q, k: add(s, h))
        self.check(lambda s, b, h, q, k: bias.add(s, b, h, q, k))
        self.check(bias)
        self.check(bias.add)
        self.assertIs(bias.table, TABLE)

    def test_wrapped(self):
        rows = {4: attnc.array(TABLE, "rows")}
        self.check(lambda s, b, h, q, k: s + rows[4][h, rows[4].shape[1] - 1], "rows")

    def test_of_other_ranks(self):
        texts = {spec(score=of_score(expression, t=np.zeros(shape, np.float32))) for expression, shape in
                 (("s + t", ()), ("s + t[h]", 4), ("s + t[h, q]", (4, 5)))}
        self.assertEqual(len(texts), 3)


if __name__ == "__main__":
    unittest.main()
