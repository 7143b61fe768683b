"""tokamax's AttentionTestBase, the suite that its own kernels pass, with attnc.attention called from JAX."""

import dataclasses
import functools
import math
import os
import sys

import attnc
import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest
from tokamax._src.ops import op
from tokamax._src.ops.attention import base, test_base

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from bf16 import Bf16

# What the suite may leave out of an implementation.
FLAGS = dict(supports_bias=True, supports_mask=True, supports_indices=True, supports_tanh_clipping=True,
             supports_cross_attention=True, supports_is_causal=True, supports_precisions=True,
             supports_logits_dtype=False, supports_dropout=False, supports_vjp=False)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Attention(base.DotProductAttention[op.NullConfig, None]):
    @functools.wraps(base.DotProductAttention._fwd)  # whose annotations tokamax reads
    def _fwd(self, q, k, v, *, precision, logits_dtype, logits_scale, bias, logits_soft_cap, mask, dropout_mask, dropout_rate,
             paging_info, q_indices, k_indices, normalize_output, return_residuals, config):
        if dropout_mask is not None or paging_info is not None or logits_dtype != jnp.float32:
            raise NotImplementedError("dropout, pages, logits of 16 bits")
        if not normalize_output and not return_residuals:
            raise NotImplementedError("numerators without their denominator")
        q, k, v = map(base.quantization.as_array, (q, k, v))
        table = mask.as_array(q.shape[-3] if q_indices is None else q_indices, k.shape[-3] if k_indices is None else k_indices)
        batch, rows = q.shape[:-3], (q.shape[-2], q.shape[-3])
        fold = lambda x: x.reshape(math.prod(batch), *x.shape[len(batch):])
        heads_first = lambda x: jnp.swapaxes(fold(x), 1, 2)
        wide = lambda x: None if x is None else fold(jnp.broadcast_to(x, (*batch, *rows, k.shape[-3])))
        operands = *map(heads_first, (q, k, v)), wide(bias), wide(table)
        shapes = (math.prod(batch), *rows, v.shape[-1]), (math.prod(batch), *rows)
        results = jax.ShapeDtypeStruct(shapes[0], q.dtype), jax.ShapeDtypeStruct(shapes[1], jnp.float32)
        run = lambda *arrays: attend(*arrays, scale=float(logits_scale), softcap=logits_soft_cap)
        context, lse = jax.pure_callback(run, results, *operands, vmap_method="sequential")
        context = jnp.swapaxes(context, 1, 2).reshape(*batch, *q.shape[-3:-1], v.shape[-1])
        # Numerators and denominators with exp(lse) taken out of both.
        lse = lse.reshape(*batch, *rows)
        return context, (lse, jnp.ones_like(lse)) if return_residuals else None


def attend(query, key, value, bias, mask, *, scale, softcap):
    """(context, lse) of JAX's arrays; the cap is over the bias."""
    query, key, value, *tables = (None if x is None else readable(x) for x in (query, key, value, bias, mask))
    bias, mask = tables

    def score(s, b, h, q, k):
        s = s if bias is None else s + bias[b, h, q, k]
        return s if softcap is None else softcap * attnc.tanh(s / softcap)

    out = empty((*query.shape[:3], value.shape[3]), query), np.empty(query.shape[:3], np.float32)
    attnc.attention(query, key, value, scale=scale, score=score, return_lse=True, out=out,
                    mask=None if mask is None else lambda b, h, q, k: mask[b, h, q, k])
    context = out[0].bits.view(jnp.bfloat16) if isinstance(out[0], Bf16) else out[0]
    return context, out[1]


def readable(x):
    """numpy has no bf16 and DLPack no other name for it."""
    x = np.asarray(x)
    return Bf16(x.astype(np.float32)) if x.dtype == jnp.bfloat16 else x


def empty(shape, like):
    return Bf16(np.zeros(shape)) if isinstance(like, Bf16) else np.empty(shape, like.dtype)


class AttncTest(test_base.AttentionTestBase):
    def __init__(self, *args):
        super().__init__(*args, attention_fn=Attention(), **FLAGS)

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        print("tokamax:", ", ".join(name for name, has in FLAGS.items() if has), "; not",
              ", ".join(name for name, has in FLAGS.items() if not has), file=sys.stderr)

    def _run_test_with_inputs(self, *args, **options):
        given = options.get("impl_kwargs", {})
        if not given.get("normalize_output", True) and not given.get("return_residuals", False):
            options["expect_supported"] = False
        super()._run_test_with_inputs(*args, **options)


if __name__ == "__main__":
    absltest.main()
