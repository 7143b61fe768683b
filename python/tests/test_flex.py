"""attnc.flex_attention beside PyTorch's own: what its call takes and refuses. Its mods are in peers/."""

import contextlib
import sys
import unittest
import unittest.mock

import attnc
import torch
from torch.nn.attention import flex_attention as flex

HEADS, DIM, SLOPES = 4, 16, torch.tensor([0.5, 0.25, 0.125, 0.0625])


def alibi(s, b, h, q, k):
    return s + SLOPES[h] * (k - q)


def causal(b, h, q, k):
    return q >= k


def random_inputs(q_len=40, kv_len=40, batch=2, kv_heads=HEADS, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    shapes = (batch, HEADS, q_len, DIM), (batch, kv_heads, kv_len, DIM), (batch, kv_heads, kv_len, DIM)
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


def block_mask(mod, q_len=40, kv_len=40, **options):
    return flex.create_block_mask(mod, None, None, q_len, kv_len, device="cpu", **options)


def expect(*inputs, **options):
    return flex.flex_attention(*inputs, **options)


class CallTest(unittest.TestCase):
    def compare(self, *inputs, ours=None, **options):
        torch.testing.assert_close(attnc.flex_attention(*inputs, **options), expect(*(ours or inputs), **options),
                                   rtol=1e-4, atol=1e-5)

    def test_sizes_share_a_kernel(self):
        made, compile = [], attnc._compile.compile
        with unittest.mock.patch("attnc._compile.compile", lambda text: made.append(text) or compile(text)):
            for size in 40, 100, 17, 7, 11:
                self.compare(*random_inputs(size, size), score_mod=alibi, block_mask=block_mask(causal, size, size), scale=0.3)
        self.assertEqual(len(made), 2, "one for few query rows, one for more")

    def test_types_are_those_of_torch(self):
        steps = torch.tensor([40.125, 40.0625, 40.0, 39.9375])
        inputs = (torch.zeros(1, 1, 4, 16),) * 2 + (torch.eye(4, 16)[None, None],)
        half = lambda s, b, h, q, k: (s + steps[k]).half()
        torch.testing.assert_close(attnc.flex_attention(*(x.bfloat16() for x in inputs), score_mod=half),
                                   expect(*(x.bfloat16() for x in inputs), score_mod=half), rtol=1e-2, atol=1e-3)
        self.compare(*inputs, score_mod=lambda s, b, h, q, k: s + ((k > 1) + (q > 2)) * 3.0 + torch.full_like(k, 2.75) * (k == 1))

    def test_grouped_heads_and_one_batch_of_keys(self):
        query, key, value = random_inputs(kv_heads=2)
        self.compare(query, key, value, enable_gqa=True, block_mask=block_mask(causal))
        with self.assertRaisesRegex(ValueError, "key: expected 4 heads as in query, found 2: give enable_gqa=True"):
            attnc.flex_attention(query, key, value)
        one = [x[:1] for x in (key, value)]
        wide = [x.expand(2, -1, -1, -1) for x in one]
        torch.testing.assert_close(attnc.flex_attention(query, *one, enable_gqa=True),
                                   attnc.flex_attention(query, *wide, enable_gqa=True))

    def test_activations(self):
        of_torch = torch.nn.functional
        functions = [of_torch.relu, of_torch.relu6, of_torch.leaky_relu, of_torch.elu, of_torch.gelu, of_torch.hardtanh,
                     of_torch.hardsigmoid, of_torch.hardswish, of_torch.logsigmoid, of_torch.mish, of_torch.silu,
                     of_torch.softplus, of_torch.softsign, of_torch.tanhshrink, torch.frac, of_torch.selu, of_torch.celu,
                     of_torch.softshrink, of_torch.hardshrink, torch.sign, torch.sgn, torch.square,
                     lambda x: of_torch.celu(x, 0.5), lambda x: of_torch.threshold(x, 0.1, 20),
                     lambda x: torch.fmod(x, 0.7), lambda x: torch.hypot(x, x + 1), lambda x: torch.logaddexp(x, 2 * x),
                     lambda x: of_torch.gelu(x, approximate="tanh"), lambda x: of_torch.softplus(x, beta=2, threshold=3),
                     lambda x: torch.lerp(x, x * x, 0.3), lambda x: torch.add(x, x * x, alpha=0.2),
                     lambda x: x.sub(x * x, alpha=0.1), lambda x: torch.ones_like(x).type_as(x)]
        self.compare(*random_inputs(), score_mod=lambda s, b, h, q, k: sum(
            function(s * 5) * (0.02 * number + 0.1) for number, function in enumerate(functions)))
        with self.assertRaisesRegex(TypeError, "test_flex.py:.*found torch's erfinv"):
            attnc.flex_attention(*random_inputs(), score_mod=lambda s, b, h, q, k: torch.erfinv(s))

    def test_what_is_returned(self):
        inputs, mask = random_inputs(), block_mask(causal)
        for request in flex.AuxRequest(), flex.AuxRequest(lse=True):
            context, aux = attnc.flex_attention(*inputs, block_mask=mask, return_aux=request, kernel_options={"BLOCK_M": 64})
            expected = expect(*inputs, block_mask=mask, return_aux=request)
            self.assertIs(type(aux), flex.AuxOutput)
            torch.testing.assert_close((context, aux), expected, rtol=1e-4, atol=1e-5)

    def test_any_strides(self):
        inputs = [x.transpose(2, 3).contiguous().transpose(2, 3) for x in random_inputs()]
        turned = torch.randn(40, 40).t()
        self.compare(*inputs, score_mod=lambda s, b, h, q, k: s + turned[q, k])

    def test_f64(self):
        inputs = random_inputs(dtype=torch.float64)
        result = attnc.flex_attention(*inputs, score_mod=alibi, return_lse=True)
        self.assertEqual([x.dtype for x in result], [torch.float64] * 2)
        torch.testing.assert_close(result[0], expect(*inputs, score_mod=alibi), rtol=1e-10, atol=1e-10)

    def test_mask_that_is_replaced(self):
        inputs, mask = random_inputs(), block_mask(causal)
        attnc.flex_attention(*inputs, block_mask=mask)
        mask.mask_mod = lambda b, h, q, k: (q >= k) & (k % 2 == 0)
        self.compare(*inputs, block_mask=mask)


class BlocksTest(unittest.TestCase):
    """Blocks that say less or more than the mask_mod."""

    def check(self, mask, visible):
        inputs = random_inputs()
        scores = inputs[0] @ inputs[1].transpose(-1, -2) * DIM ** -0.5
        expected = torch.nan_to_num(torch.softmax(scores.masked_fill(~visible, -torch.inf), -1)) @ inputs[2]
        torch.testing.assert_close(attnc.flex_attention(*inputs, block_mask=mask), expected, rtol=1e-4, atol=1e-5)

    def test_blocks_alone(self):
        counts, columns = torch.tensor([[[1, 2, 0, 1, 1]]]), torch.tensor([4, 0, 0, 0, 0]).repeat(1, 1, 5, 1)
        columns[0, 0, 1, 1] = 2
        visible = torch.zeros(5, 5, dtype=torch.bool)
        visible[[0, 1, 1, 3, 4], [4, 4, 2, 4, 4]] = True
        visible = visible.repeat_interleave(8, 0).repeat_interleave(8, 1)
        rows, keys = torch.arange(40)[:, None], torch.arange(40)
        for mod, seen in (None, True), (causal, rows >= keys):
            mask = flex.BlockMask.from_kv_blocks(counts, columns, BLOCK_SIZE=8, mask_mod=mod, seq_lengths=(40, 40))
            self.check(mask, visible & seen)

    def test_changes_in_place(self):
        """Blocks stay as they were made, for what the mask_mod reads; also in inference mode, which counts no changes."""
        for mode in contextlib.nullcontext, torch.inference_mode:
            with self.subTest(mode.__name__), mode():
                document = torch.arange(40) // 10
                mask = block_mask(lambda b, h, q, k: document[q] == document[k], BLOCK_SIZE=8)
                blocks = mask.to_dense()[0, 0].bool().repeat_interleave(8, 0).repeat_interleave(8, 1)
                self.check(mask, document[:, None] == document)
                document.copy_(torch.arange(40) // 20)
                self.check(mask, (document[:, None] == document) & blocks)
                mask.kv_num_blocks.zero_()
                mask.full_kv_num_blocks.zero_()
                self.check(mask, torch.zeros(40, 40, dtype=torch.bool))

    def test_full_blocks_without_the_mod(self):
        mask = block_mask(causal, BLOCK_SIZE=8)
        full = flex.BlockMask.from_kv_blocks(torch.zeros_like(mask.kv_num_blocks), mask.kv_indices,
                                             torch.ones_like(mask.kv_num_blocks), mask.kv_indices * 0 + 4,
                                             BLOCK_SIZE=8, mask_mod=causal, seq_lengths=(40, 40))
        self.check(full, torch.arange(40) >= 32)


class RefusalsTest(unittest.TestCase):
    def refuse(self, error, text, *inputs, **options):
        with self.assertRaisesRegex(error, text):
            attnc.flex_attention(*(inputs or random_inputs()), **options)

    def test_operands(self):
        query, key, value = random_inputs()
        self.refuse(TypeError, "query: expected a tensor of PyTorch, found ndarray", query.numpy(), key, value)
        self.refuse(ValueError, r"key: expected 4 dims .* found shape \(4, 40, 16\)", query, key[0], value)
        self.refuse(TypeError, "query: expected f16, bf16, f32 or f64, found i64", query.long(), key, value)
        self.refuse(TypeError, "key: expected f32 as in query, found f16", query, key.half(), value)
        self.refuse(ValueError, "return_aux: expected an AuxRequest without max_scores",
                    return_aux=flex.AuxRequest(max_scores=True))
        self.refuse(ValueError, "return_lse: expected False beside return_aux", return_lse=True, return_aux=flex.AuxRequest())
        self.refuse(ValueError, "query: expected a tensor on the CPU, found one on meta", query.to("meta"), key, value)

    def test_gradients(self):
        query, key, value = random_inputs()
        weight = torch.nn.Parameter(torch.ones(HEADS))
        scaled = lambda s, b, h, q, k: s * weight[h]
        self.refuse(ValueError, "no gradient yet: call it under torch.no_grad", query, key, value.clone().requires_grad_())
        self.refuse(ValueError, "no gradient yet", query, key, value, score_mod=scaled)
        with torch.no_grad():
            torch.testing.assert_close(attnc.flex_attention(query, key, value, score_mod=scaled),
                                       attnc.flex_attention(query, key, value), rtol=1e-4, atol=1e-5)

    def test_block_masks(self):
        mask = block_mask(causal)
        self.refuse(TypeError, "block_mask: expected a BlockMask, found function", block_mask=causal)
        self.refuse(ValueError, r"block_mask: expected lengths \(40, 40\) .* found \(30, 40\)", block_mask=block_mask(causal, 30))
        self.refuse(ValueError, "found a slice of another", block_mask=mask[:, :, 0])
        self.refuse(ValueError, "block_mask: expected 1 or 2 as batch, found 3",
                    block_mask=flex.create_block_mask(causal, 3, None, 40, 40, device="cpu"))

    def test_mods(self):
        self.refuse(TypeError, r"`.*torch.sort\(s\).*`: expected functions of one element on traced values, found torch's sort",
                    score_mod=lambda s, b, h, q, k: torch.sort(s)[0])
        self.refuse(TypeError, "write attnc.where|torch.where", score_mod=lambda s, b, h, q, k: s if q > k else s * 2)
        self.refuse(TypeError, "expected a float from the function", score_mod=lambda s, b, h, q, k: q > k)
        self.refuse(TypeError, r"score_mod: expected a function of \(s, b, h, q, k\), found one of \(s, b\)",
                    score_mod=lambda s, b: s)
        self.refuse(TypeError, "expected 2 indices for its shape", score_mod=lambda s, b, h, q, k: s + torch.ones(3, 3)[q])
        self.refuse(ValueError, r"expected dim 0, which h indexes, to be at least 4, found shape \(3,\)",
                    score_mod=lambda s, b, h, q, k: s + SLOPES[:3][h])
        self.refuse(TypeError, "expected integers as indices, found float", score_mod=lambda s, b, h, q, k: s + SLOPES[s])
        self.refuse(AttributeError, "found .add_", score_mod=lambda s, b, h, q, k: s.add_(1))
        self.refuse(TypeError, "expected a second tensor for torch's max", score_mod=lambda s, b, h, q, k: torch.max(s, 0))
        self.refuse(TypeError, "other arguments of torch's round", score_mod=lambda s, b, h, q, k: torch.round(s, decimals=2))


if __name__ == "__main__":
    unittest.main()
