"""attnc.from_torch of modules with FlexAttention, against PyTorch's own."""

import unittest
import warnings

import attnc
import torch
from torch.export import Dim
from torch.nn.attention import flex_attention as flex
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

HEADS, DIM = 4, 16
flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True  # runs what is compared with at once


def random_inputs(length=40, kv_heads=HEADS, batch=2, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    return tuple(torch.randn(batch, heads, length, DIM, generator=generator).to(dtype)
                 for heads in (HEADS, kv_heads, kv_heads))


class Biased(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("slope", torch.tensor([0.5, 0.25, 0.125, 0.0625]))
        self.table = torch.nn.Parameter(torch.randn(HEADS, 3))

    def forward(self, query, key, value):
        def score_mod(s, b, h, q, k):
            return s + self.slope[h] * (k - q) + self.table[h, (q - k) % 3] - self.table[h][k % 2]

        return flex_attention(query, key, value, score_mod=score_mod, enable_gqa=True)


class Masked(torch.nn.Module):
    """By a BlockMask of its own sizes."""

    def __init__(self, mask_mod, score_mod=None):
        super().__init__()
        self.mask_mod, self.score_mod = mask_mod, score_mod

    def forward(self, query, key, value):
        mask = create_block_mask(self.mask_mod, None, None, query.shape[2], key.shape[2], device="cpu")
        return flex_attention(query, key, value, score_mod=self.score_mod, block_mask=mask, scale=0.3)


class Given(torch.nn.Module):
    def __init__(self, block_mask, **options):
        super().__init__()
        self.block_mask, self.options = block_mask, options

    def forward(self, query, key, value):
        return flex_attention(query, key, value, block_mask=self.block_mask, **self.options)


def causal(b, h, q, k):
    return q >= k


def some_rows(b, h, q, k):
    return (q % 5 != 0) & (k < q)


OPEN = ({0: Dim("batch"), 2: Dim("length", min=2)},) * 3


class FlexExportTest(unittest.TestCase):
    def setUp(self):
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        self.enterContext(torch.no_grad())

    def compare(self, module, inputs, others=(), tolerance=1e-5, **options):
        kernel = attnc.from_torch(module, inputs, **options)
        for each in (inputs, *others):
            torch.testing.assert_close(kernel(*each), module(*each), rtol=tolerance, atol=tolerance)
        return kernel

    def test_scores(self):
        self.compare(Biased(), random_inputs(), [random_inputs(7, batch=3)], dynamic_shapes=OPEN)
        self.compare(Biased(), random_inputs(kv_heads=2))

    def test_masks(self):
        """Are conditions on positions, of any length, and hide rows as a whole."""
        capped = lambda s, b, h, q, k: 5 * torch.tanh(s / 5)
        for module in Masked(causal), Masked(some_rows), Masked(some_rows, capped):
            kernel = self.compare(module, random_inputs(), [random_inputs(130, batch=1)], dynamic_shapes=OPEN)
            self.assertEqual(len(kernel.description["inputs"]), 3)
            self.assertRegex("\n".join(kernel.description["graph"]), r"^\w+ = softmax\(score\) @ value\n[^@]*@ key.T\n[^@]*over the keys")

    def test_block_masks(self):
        """Of a module, whose blocks count where they say something else than its mask_mod."""
        self.compare(Given(create_block_mask(causal, None, None, 40, 40, device="cpu")), random_inputs())
        counts, columns = torch.tensor([[[1, 2, 1, 1, 1]]]), torch.tensor([4, 0, 0, 0, 0]).repeat(1, 1, 5, 1)
        blocks = flex.BlockMask.from_kv_blocks(counts, columns, BLOCK_SIZE=8, seq_lengths=(40, 40))
        inputs = random_inputs()
        torch.testing.assert_close(attnc.from_torch(Given(blocks), inputs)(*inputs), attnc.flex_attention(*inputs, block_mask=blocks),
                                   rtol=1e-5, atol=1e-5)

    def test_half_precision(self):
        inputs = random_inputs(dtype=torch.float16)
        self.compare(Masked(causal, lambda s, b, h, q, k: s - 0.1 * (q - k)), inputs, tolerance=5e-3)

    def test_functions_are_as_before(self):
        codes = flex_attention.__code__, create_block_mask.__code__
        with self.assertRaises(Exception):
            attnc.from_torch(Masked(lambda b, h, q, k: undefined), random_inputs())
        self.assertEqual((flex_attention.__code__, create_block_mask.__code__), codes)

    def test_refuses(self):
        with self.assertRaisesRegex(NotImplementedError, "Given: expected the context alone from flex_attention, found return_lse"):
            attnc.from_torch(Given(None, return_lse=True), random_inputs())


if __name__ == "__main__":
    unittest.main()
