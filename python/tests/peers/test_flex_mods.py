"""attnc.flex_attention with the mods of flex_mods.py, each alone, against float64; in bf16 and f16 several at once."""

import os
import sys
import unittest

import attnc
import torch
from torch.nn.attention.flex_attention import create_block_mask

sys.path.insert(0, os.path.dirname(__file__))
from flex_mods import BATCH, DIM, HEADS, KV_LEN, MASKS, Q_LEN, SCORES
from flex_reference import reference


def random_inputs(dtype=torch.float32, kv_heads=HEADS):
    generator = torch.Generator().manual_seed(0)
    shapes = (HEADS, Q_LEN), (kv_heads, KV_LEN), (kv_heads, KV_LEN)
    return [torch.randn(BATCH, *shape, DIM, generator=generator).to(dtype) for shape in shapes]


def check(score, mask, dtype=torch.float32, tolerance=2e-5):
    inputs = random_inputs(dtype)
    block_mask = mask and create_block_mask(mask, BATCH, HEADS, Q_LEN, KV_LEN, device="cpu")
    results = attnc.flex_attention(*inputs, score_mod=score, block_mask=block_mask, return_lse=True)
    for name, result, expected in zip(("context", "lse"), results, reference(*inputs, score, mask)):
        # A score of 100s has an lse of 100s.
        torch.testing.assert_close(result.double(), expected, rtol=tolerance, atol=tolerance, equal_nan=True,
                                   msg=lambda text: f"{name}: {text}")


def chain(mods):
    def score(s, b, h, q, k):
        for mod in mods:
            s = mod(s, b, h, q, k)
        return s

    return score


class FlexModsTest(unittest.TestCase):
    @classmethod
    def tearDownClass(cls):
        print(f"{len(SCORES)} scores and {len(MASKS)} masks of attention-gym and PyTorch's tests", file=sys.stderr)

    def test_scores(self):
        for name, score in SCORES.items():
            with self.subTest(name):
                check(score, None)

    def test_masks(self):
        for name, mask in MASKS.items():
            with self.subTest(name):
                check(None, mask)

    def test_half_precision(self):
        """Of those that a rounded score leaves close."""
        mild = [SCORES[name] for name in ("alibi", "tanh softcap", "bias of all", "relative table", "rope of latent attention",
                                          "permuted", "temperature", "document distance", "t5 buckets")]
        masks = [MASKS[name] for name in ("prefix", "documents", "natten", "of a table")]
        for dtype, tolerance in (torch.bfloat16, 4e-2), (torch.float16, 6e-3):
            for first in range(3):
                with self.subTest(dtype=dtype, first=first):
                    check(chain(mild[first::3]), masks[first], dtype, tolerance)


if __name__ == "__main__":
    unittest.main()
