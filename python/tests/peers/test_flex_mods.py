"""attnc.flex_attention and attnc.attention with the mods of flex_mods.py and with lambdas.py, against float64."""

import os
import sys
import types
import unittest

import attnc
import numpy as np
import torch
from torch.nn.attention.flex_attention import create_block_mask

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.path.dirname(__file__), "..")]
import lambdas
import test_attention
from flex_mods import BATCH, DIM, HEADS, KV_LEN, MASKS, Q_LEN, SCORES
from flex_reference import reference


def random_inputs(dtype=torch.float32, kv_heads=HEADS):
    generator = torch.Generator().manual_seed(0)
    shapes = (HEADS, Q_LEN), (kv_heads, KV_LEN), (kv_heads, KV_LEN)
    return [torch.randn(BATCH, *shape, DIM, generator=generator).to(dtype) for shape in shapes]


def call(door, inputs, score, mask):
    if door is attnc.attention:
        return door(*inputs, score=score, mask=mask, return_lse=True)
    block_mask = mask and create_block_mask(mask, BATCH, HEADS, Q_LEN, KV_LEN, device="cpu")
    return door(*inputs, score_mod=score, block_mask=block_mask, return_lse=True)


DOORS = attnc.flex_attention, attnc.attention
# A context of 16 bits is rounded, as the probs are that it is computed from.
TOLERANCES = {torch.float32: 2e-5, torch.bfloat16: 1e-2, torch.float16: 2e-3}
# Distances in the score's exponent, and steps of it.
STEEP = {"squared": 4, "relative": 2, "relative, causal": 2}


class FlexModsTest(unittest.TestCase):
    """Each mod alone, by both doors."""

    @classmethod
    def tearDownClass(cls):
        print(f"{len(SCORES)} scores and {len(MASKS)} masks of attention-gym and PyTorch's tests, by "
              f"{' and '.join(door.__name__ for door in DOORS)}", file=sys.stderr)

    def check(self, name, score, mask, dtype):
        inputs, tolerance = random_inputs(dtype), TOLERANCES[dtype] * STEEP.get(name, 1)
        expected = reference(*inputs, score, mask)
        for door in DOORS:
            for result, found, wanted in zip(("context", "lse"), call(door, inputs, score, mask), expected):
                with self.subTest(name, door=door.__name__, result=result, dtype=dtype):
                    # A score of 100s has an lse of 100s.
                    torch.testing.assert_close(found.double(), wanted, rtol=tolerance, atol=tolerance, equal_nan=True)

    def test_scores(self):
        for dtype in TOLERANCES:
            for name, score in SCORES.items():
                self.check(name, score, None, dtype)

    def test_masks(self):
        for dtype in TOLERANCES:
            for name, mask in MASKS.items():
                self.check(name, None, mask, dtype)


def find_lambdas():
    """The scores and masks of lambdas.py with tensors in place of its arrays."""
    tensor = lambda x: torch.from_numpy(x) if isinstance(x, np.ndarray) else x
    module = types.ModuleType("lambdas_of_tensors")
    with open(lambdas.__file__) as file:
        exec(compile(file.read(), lambdas.__file__, "exec"), vars(module))
    for name, x in list(vars(module).items()):
        setattr(module, name, tensor(x))
        if isinstance(x, types.FunctionType):
            x.__defaults__ = x.__defaults__ and tuple(map(tensor, x.__defaults__))
    module.SCORES["alibi of an object"].values = module.slope_f32
    half = module.SCORES["f16 bias"]
    half.__defaults__ = tuple(map(tensor, half.__defaults__))
    return module


class LambdasTest(unittest.TestCase):
    """The lambdas that attnc.attention is tested with, several a kernel, by both doors; a mask is a score of -inf."""

    def test(self):
        own, count = find_lambdas(), 9
        for first in range(count):
            scores, masks = list(own.SCORES)[first::count], list(own.MASKS)[first::count]
            of = lambda module, where: self.chain([module.SCORES[name] for name in scores], [module.MASKS[name] for name in masks], where)
            for dtype, tolerance in (torch.float32, 2e-5), (torch.bfloat16, 4e-2), (torch.float16, 4e-3):
                with self.subTest(scores=scores, masks=masks, dtype=dtype):
                    self.check(of(own, torch.where), of(lambdas, np.where), dtype, tolerance)

    def check(self, score_mod, score, dtype, tolerance):
        """`score_mod` reads tensors, `score` arrays."""
        inputs = [torch.from_numpy(x).to(dtype) for x in test_attention.random_inputs()]
        expected = test_attention.expect(*(x.double().numpy() for x in inputs), score)[0]
        for found in (attnc.flex_attention(*inputs, score_mod=score_mod, enable_gqa=True),
                      attnc.attention(*inputs, score=score)):
            test_attention.check(found.double().numpy(), expected, tolerance)

    def chain(self, scores, masks, where):
        def score(s, b, h, q, k):
            for each in scores:
                s = each(s, b, h, q, k)
            first, *others = (mask(b, h, q, k) for mask in masks)
            for number, mask in enumerate(others):
                first = first | mask if number else first & mask
            return where(first, s, -np.inf)

        return score


if __name__ == "__main__":
    unittest.main()
