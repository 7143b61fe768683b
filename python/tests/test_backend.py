"""torch.compile(backend="attnc") beside PyTorch without it. Most tests go without Inductor, whose C++ compiler takes longer
than ours."""

import subprocess
import sys
import unittest
import unittest.mock
import warnings

import attnc
import torch
import torch.nn.functional as F
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention

from attnc import _backend, _fallback, _operators

HEADS, DIM, LENGTH = 4, 16, 24
SLOPES = torch.tensor([0.5, 0.25, 0.125, 0.0625])
attend = F.scaled_dot_product_attention


def random_inputs(q_len=LENGTH, kv_len=LENGTH, batch=2, kv_heads=HEADS, dtype=torch.float32, value_dim=DIM):
    generator = torch.Generator().manual_seed(0)
    shapes = (batch, HEADS, q_len, DIM), (batch, kv_heads, kv_len, DIM), (batch, kv_heads, kv_len, value_dim)
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


def alibi(s, b, h, q, k):
    return s + SLOPES[h] * (k - q)


def causal(b, h, q, k):
    return q >= k


def block_mask(mod, length=LENGTH, **options):
    return create_block_mask(mod, None, None, length, length, device="cpu", **options)


class BackendTest(unittest.TestCase):
    inductor = False

    def setUp(self):
        torch._dynamo.reset()
        _fallback._told.clear()
        self.enterContext(torch.no_grad())
        if not self.inductor:
            self.enterContext(unittest.mock.patch.object(_backend, "_find_cxx", lambda: None))
        self.specs = []  # of calls
        run = _operators._run
        self.enterContext(unittest.mock.patch.object(
            _operators, "_run", lambda spec, *rest: self.specs.append(spec) or run(spec, *rest)))

    def compile(self, function, **options):
        """The compiled function; what it warns of is in self.told."""
        compiled = torch.compile(function, backend="attnc", fullgraph=True, **options)

        def call(*args):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                result = compiled(*args)
            told = [str(each.message) for each in told if str(each.message).startswith("attnc")]
            self.told = [text for text in told if "no C++ compiler" not in text]
            return result

        return call

    def compare(self, function, *inputs, calls=1, tolerance=2e-5, reference=None, **options):
        expected = (reference or function)(*inputs)
        torch.testing.assert_close(self.compile(function, **options)(*inputs), expected, rtol=tolerance, atol=tolerance,
                                   check_dtype=reference is None, check_stride=reference is None)
        self.assertEqual((len(self.specs), self.told), (calls, []))


class ScaledDotProductTest(BackendTest):
    def test_forms(self):
        seen = torch.rand(LENGTH, LENGTH) < 0.7
        seen[3] = False
        padding = torch.rand(2, 1, 1, LENGTH) < 0.7

        def function(query, key, value):
            few = key[:, :2], value[:, :2]
            return (attend(query * 2, key, value).transpose(1, 2).reshape(2, LENGTH, -1), attend(query, key, value, is_causal=True),
                    attend(query, key, value, seen, scale=0.3), attend(query, *few, padding, enable_gqa=True),
                    attend(query, key, value, attn_mask=seen.float().expand(2, 1, -1, -1)),
                    attend(query[0], key[0], value[0], seen.expand(HEADS, -1, -1)), attend(query, key, value[..., :8], 0.5 * padding))

        self.compare(function, *random_inputs(), calls=7)

    def test_added_infinity(self):
        hidden = torch.zeros(LENGTH, LENGTH).masked_fill(torch.rand(LENGTH, LENGTH) < 0.5, -torch.inf)
        hidden[5] = -torch.inf
        self.compare(lambda query, key, value: attend(query, key, value, hidden), *random_inputs())

    def test_element_types(self):
        exact = lambda *inputs: attend(*(x.double() for x in inputs), is_causal=True)
        for dtype, tolerance in (torch.bfloat16, 2e-2), (torch.float16, 2e-3), (torch.float64, 1e-12):
            with self.subTest(dtype):
                self.specs.clear()
                inputs = random_inputs(dtype=dtype)
                self.compare(lambda *inputs: attend(*inputs, is_causal=True), *inputs, tolerance=tolerance, reference=exact)

    def test_open_sizes(self):
        """One kernel, and one graph."""
        graphs, replace = [], _backend._replace_attention
        function = lambda query, key, value: attend(query, key, value, scale=0.123)
        compiled = self.compile(function, dynamic=True)
        with unittest.mock.patch.object(_backend, "_replace_attention", lambda graph: graphs.append(graph) or replace(graph)):
            for sizes in (24, 30, 2), (7, 33, 3), (90, 5, 5):
                inputs = random_inputs(*sizes)
                torch.testing.assert_close(compiled(*inputs), function(*inputs), rtol=1e-4, atol=2e-5)
        self.assertEqual((len(set(self.specs)), len(graphs)), (1, 1))

    def test_layouts(self):
        """A context lies in memory as PyTorch's does: a model may view it."""
        inputs = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in random_inputs()]
        self.compare(lambda *inputs: attend(*inputs).transpose(1, 2).view(2, LENGTH, HEADS * DIM), *inputs)
        self.specs.clear()
        self.compare(lambda *inputs: attend(*inputs), *(x.transpose(2, 3).contiguous().transpose(2, 3) for x in inputs))

    def test_modules(self):
        torch.manual_seed(0)
        x, padding = torch.randn(2, LENGTH, 64), torch.zeros(2, LENGTH, dtype=torch.bool)
        padding[1, 20:] = True
        causal, bias = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1), torch.randn(2, 2)
        layers = [torch.nn.TransformerEncoderLayer(64, HEADS, 32, batch_first=True, norm_first=first, activation=activation)
                  for first, activation in ((False, "relu"), (True, "gelu"))]
        encoder = torch.nn.Sequential(*layers).eval()
        attention = torch.nn.MultiheadAttention(64, HEADS).eval()

        def function(x):
            return (encoder(x), layers[0](x, src_key_padding_mask=padding)[~padding], layers[0](x, src_mask=causal),
                    layers[1](x, src_mask=causal, src_key_padding_mask=padding)[~padding],
                    attention(x, x, x, attn_mask=bias, need_weights=False)[0])

        self.compare(function, x, calls=6)

    def test_autocast(self):
        with torch.autocast("cpu", torch.bfloat16):
            self.compare(lambda *inputs: attend(*inputs), *random_inputs(), tolerance=2e-2)


class FlexAttentionTest(BackendTest):
    def test_mods(self):
        documents = torch.arange(LENGTH) // 5
        mask = block_mask(lambda b, h, q, k: (q >= k) & (documents[q] == documents[k]))
        few = lambda x: x[:, :2]

        def function(query, key, value):
            return (flex_attention(query, key, value), flex_attention(query, key, value, alibi, mask, scale=0.3),
                    *flex_attention(query, key, value, alibi, return_lse=True),
                    flex_attention(query, few(key), few(value), enable_gqa=True, block_mask=mask))

        self.compare(function, *random_inputs(), calls=4)

    def test_one_batch_of_keys(self):
        query, key, value = random_inputs()
        mask = create_block_mask(causal, 2, None, LENGTH, LENGTH, device="cpu")
        self.compare(lambda *inputs: flex_attention(*inputs, block_mask=mask), query, key[:1], value[:1])

    def test_autocast_and_f64(self):
        exact = lambda *inputs: flex_attention(*(x.double() for x in inputs), alibi)
        with torch.autocast("cpu", torch.bfloat16):
            self.compare(lambda *inputs: flex_attention(*inputs, alibi), *random_inputs(), tolerance=2e-2, reference=exact)

    def test_open_sizes(self):
        documents = torch.arange(100) // 5
        number = 3

        def function(query, key, value, mask):
            return flex_attention(query, key, value, lambda s, b, h, q, k: s + SLOPES[h] * (documents[q] - number), mask)

        compiled = self.compile(function, dynamic=True)
        for length in 24, 40:
            inputs = *random_inputs(length, length), block_mask(lambda b, h, q, k: documents[q] >= documents[k], length)
            torch.testing.assert_close(compiled(*inputs), function(*inputs), rtol=1e-4, atol=2e-5)
        self.assertEqual((self.told, len(set(self.specs))), ([], 1))
        number = 4
        torch.testing.assert_close(compiled(*inputs), function(*inputs), rtol=1e-4, atol=2e-5)

    def test_blocks(self):
        """The tables of a BlockMask are read where they say something else than its mask_mod."""
        documents, inputs = torch.arange(LENGTH) // 5, random_inputs()
        same = lambda b, h, q, k: documents[q] == documents[k]
        compiled = self.compile(lambda *inputs: flex_attention(*inputs[:3], block_mask=inputs[3]))
        scores = inputs[0] @ inputs[1].transpose(-1, -2) / 4

        def check(mask, visible, is_read):
            self.specs.clear()
            expected = torch.nan_to_num(torch.softmax(scores.masked_fill(~visible, -torch.inf), -1)) @ inputs[2]
            torch.testing.assert_close(compiled(*inputs, mask), expected, rtol=1e-4, atol=2e-5)
            self.assertEqual(["partial_blocks" in spec for spec in self.specs], [is_read])

        mask, visible = block_mask(same, BLOCK_SIZE=8), documents[:, None] == documents
        check(mask, visible, False)
        check(block_mask(same, BLOCK_SIZE=8), visible, False)
        last = torch.tensor([[[1, 1, 1]]], dtype=torch.int32), torch.full((1, 1, 3, 3), 2, dtype=torch.int32)
        fewer = BlockMask.from_kv_blocks(*last, torch.zeros_like(last[0]), torch.zeros_like(last[1]), BLOCK_SIZE=8, mask_mod=same,
                                         seq_lengths=(LENGTH, LENGTH))
        check(fewer, visible & (torch.arange(LENGTH) >= 16), True)
        check(mask, visible, False)
        rows = visible.unflatten(0, (3, 8)).unflatten(2, (3, 8)).transpose(1, 2).any((2, 3))
        documents.zero_()  # and the blocks stay as they were
        check(mask, rows.repeat_interleave(8, 0).repeat_interleave(8, 1), True)
        with unittest.mock.patch.dict(_operators.masks, clear=True):  # as where another process made the graph
            check(block_mask(same, BLOCK_SIZE=8), documents[:, None] == documents, True)

    def test_blocks_in_inference_mode(self):
        """Which counts no changes of a tensor."""
        with torch.inference_mode():
            documents, inputs = torch.arange(LENGTH) // 5, random_inputs()
            mask = block_mask(lambda b, h, q, k: documents[q] == documents[k], BLOCK_SIZE=8)
            blocks = mask.to_dense()[0, 0].bool().repeat_interleave(8, 0).repeat_interleave(8, 1)
            compiled = self.compile(lambda *inputs: flex_attention(*inputs, block_mask=mask))
            scores = inputs[0] @ inputs[1].transpose(-1, -2) / 4
            for _ in range(2):
                visible = blocks & (documents[:, None] == documents)
                expected = torch.nan_to_num(torch.softmax(scores.masked_fill(~visible, -torch.inf), -1)) @ inputs[2]
                torch.testing.assert_close(compiled(*inputs), expected, rtol=1e-4, atol=2e-5)
                documents.zero_()

    def test_block_mask_made_inside(self):
        documents = torch.arange(LENGTH) // 5

        def function(query, key, value):
            mask = create_block_mask(lambda b, h, q, k: (q >= k) & (documents[q] == documents[k]) | (k < 4 * h), 2, HEADS, LENGTH,
                                     LENGTH, device="cpu", BLOCK_SIZE=8)
            return flex_attention(query, key, value, alibi, mask)

        self.compare(function, *random_inputs())


class LeftToPyTorchTest(BackendTest):
    def check(self, function, *inputs, reason):
        torch.testing.assert_close(self.compile(function)(*inputs), function(*inputs), rtol=1e-4, atol=1e-5)
        self.assertEqual(self.specs, [])
        self.assertEqual(len(self.told), 1, self.told)
        self.assertRegex(self.told[0], f"is left to PyTorch: {reason}")

    def test_forms(self):
        query, key, value = random_inputs()
        self.check(lambda *x: attend(*x), *(x.unflatten(0, (1, 2)) for x in (query, key, value)),
                   reason=r"the shapes are query \(1, 2, 4, 24, 16\), key")
        self.check(lambda *x: attend(*x), query, key[:1], value[:1], reason=r"batch, heads or lengths differ: .*key \(1, 4")
        self.check(lambda *x: attend(*x), query, key[:, :1], value[:, :1], reason="query has 4 heads and key 1, without enable_gqa")
        one, mask = [x[:1] for x in (query, key, value)], torch.rand(3, 1, LENGTH, LENGTH)
        torch.testing.assert_close(self.compile(lambda *x: attend(*x))(*one, mask),
                                   attend(*(x.expand(3, -1, -1, -1) for x in one), mask), rtol=1e-4, atol=1e-5)
        self.assertRegex(self.told[0], r"attn_mask has shape \(3, 1, 24, 24\), the scores \(1, 4, 24, 24\)")
        single = [x[0] for x in (query, key, value)]
        self.check(lambda *x: attend(*x), *single, torch.rand(1, HEADS, LENGTH, LENGTH), reason="attn_mask has 4 dims and query 3")
        self.check(lambda *x: flex_attention(*x, lambda s, b, h, q, k: s + torch.erfinv(0.5 * torch.tanh(s))), query, key, value,
                   reason=".*expected functions of one element on traced values, found torch's erfinv")

    def test_dropout(self):
        for _ in range(2):  # told once
            torch._dynamo.reset()
            result = self.compile(lambda *x: attend(*x, dropout_p=0.999))(*random_inputs())
            self.assertGreater((result == 0).float().mean(), 0.5)
        self.assertEqual((self.specs, self.told), ([], []))
        self.assertIn("scaled_dot_product_attention is left to PyTorch: dropout_p is 0.999", _fallback._told)

    def test_gradient(self):
        inputs = [x.requires_grad_() for x in random_inputs()]
        with torch.enable_grad():
            compiled = self.compile(lambda *x: attend(*x, is_causal=True))
            gradients = [torch.autograd.grad(f(*inputs).square().sum(), inputs)
                         for f in (compiled, lambda *x: attend(*x, is_causal=True))]
        torch.testing.assert_close(*gradients)
        self.assertRegex(self.told[0], "is left to PyTorch: a gradient is asked for, .* under torch.no_grad")
        self.compare(lambda *x: attend(*x), *inputs)

    def test_attention_of_ours(self):
        """It stays a call between two graphs."""
        query, key, value = random_inputs()

        def function(query):
            return attnc.attention(query * 2, key, value, causal="top_left") + 1

        torch.testing.assert_close(torch.compile(function, backend="eager")(query), function(query))

    def test_no_compiler_of_ours(self):
        with unittest.mock.patch.dict("os.environ", {"ATTNC": "/nowhere", "PATH": ""}), \
                unittest.mock.patch("attnc._attention._kernels", {}), self.assertRaisesRegex(Exception, r"expected \$ATTNC to be a program, found /nowhere"):
            self.compile(lambda *x: attend(*x))(*random_inputs())


class InductorTest(BackendTest):
    inductor = True

    def test_all(self):
        mask = block_mask(causal)

        def function(query, key, value):
            context = attend(torch.sin(query) * 2, key, value, is_causal=True)
            return flex_attention(context, key, value, alibi, mask).transpose(1, 2).reshape(2, LENGTH, -1).relu() + 1

        self.compare(function, *random_inputs(), calls=2, options={"max_autotune": False})

    def test_name(self):
        """It is there without an import, and importing us imports no PyTorch."""
        self.assertIn("attnc", torch._dynamo.list_backends())
        subprocess.run([sys.executable, "-c", "import attnc, sys; assert 'torch' not in sys.modules"], check=True)


class NoInductorTest(BackendTest):
    def test_warning(self):
        compiled = torch.compile(lambda *x: attend(*x), backend="attnc")
        with self.assertWarnsRegex(UserWarning, r"Inductor has no C\+\+ compiler \(set CXX, or install g\+\+\)"):
            compiled(*random_inputs())


if __name__ == "__main__":
    unittest.main()
