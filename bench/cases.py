"""The work that is timed, as data: add a line to add a row."""

import dataclasses

import encoder
import numpy as np
from encoder import Encoder
from ragged import Ragged
from work import Attention, KeysFirst, Latent, Module, Narrow, Paged, Quantized, Variant


def document_ids(case, rng):
    """Documents of 100 to 900 tokens, one after the other."""
    lengths = rng.integers(100, 901, case.keys // 100 + 1)
    ids = np.repeat(np.arange(lengths.size, dtype=np.int32), lengths)[: case.keys]
    return np.stack([ids] * case.batch)


def equal_documents(case, rng):
    """Documents of 512 tokens."""
    return np.stack([np.arange(case.keys, dtype=np.int32) // 512] * case.batch)


def block_table(case, rng):
    """6 % of the blocks of 128 rows by 128 keys, those on the diagonal among them."""
    blocks = case.q_len // 128
    table = rng.random((blocks, blocks)) < 0.06 - 1 / blocks
    return table | np.eye(blocks, dtype=bool)


CAUSAL = Variant("causal", "causal(top_left)", lambda a, b, h, q, k: k <= q)
CHUNK = Variant("chunk", "causal(bottom_right)", lambda a, b, h, q, k: k <= q + 1536)  # after 1,536 tokens
WINDOW = Variant("causal window 256", "window(255, 0)", lambda a, b, h, q, k: (k <= q) & (k > q - 256))
BOTH_SIDES = Variant("window ±255", "window(255, 255)", lambda a, b, h, q, k: (k <= q + 255) & (k >= q - 255))
PADDED = Variant(
    "padded", "kv_lengths(%lengths : $lengths)", lambda a, b, h, q, k: k < a["lengths"][b],
    inputs={"lengths": lambda case, rng: rng.integers(1, case.keys + 1, case.batch, dtype=np.int32)})
DOCUMENTS = Variant(
    "documents", "documents(%ids : $ids)", lambda a, b, h, q, k: a["ids"][b, q] == a["ids"][b, k],
    inputs={"ids": document_ids})
EQUAL_DOCUMENTS = Variant(
    "documents of 512", DOCUMENTS.mask_text, DOCUMENTS.visible, inputs={"ids": equal_documents})
SINK_WINDOW = Variant(
    "4 sinks and causal window 256", """{
^bb0(%b: index, %h: index, %q: index, %k: index):
  %sinks = arith.constant 4 : index
  %width = arith.constant 256 : index
  %before = arith.subi %q, %width : index
  %sink = arith.cmpi slt, %k, %sinks : index
  %near = arith.cmpi sgt, %k, %before : index
  %seen = arith.ori %sink, %near : i1
  %past = arith.cmpi sle, %k, %q : index
  %both = arith.andi %seen, %past : i1
  attn.yield %both : i1
}""", lambda a, b, h, q, k: ((k < 4) | (k > q - 256)) & (k <= q))
BLOCKS = Variant(
    "6 % of blocks", """{
^bb0(%b: index, %h: index, %q: index, %k: index):
  %size = arith.constant 128 : index
  %row = arith.divui %q, %size : index
  %column = arith.divui %k, %size : index
  %seen = tensor.extract %table[%row, %column] : $table
  attn.yield %seen : i1
}""", lambda a, b, h, q, k: a["table"][q // 128, k // 128], inputs={"table": block_table})
MASK = Variant(
    "causal mask tensor", "tensor(%mask : $mask)", lambda a, b, h, q, k: a["mask"][q, k],
    inputs={"mask": lambda case, rng: np.tri(case.q_len, case.keys, dtype=bool)})
ALIBI = Variant(
    "ALiBi", score_text="""
  %m = tensor.extract %slope[%h] : $slope
  %distance = arith.subi %k, %q : index
  %i = arith.index_cast %distance : index to i32
  %d = arith.sitofp %i : i32 to f32
  %bias = arith.mulf %m, %d : f32
  %r = arith.addf %s, %bias : f32""",
    score=lambda math, s, a, b, h, q, k: s + a["slope"][h] * (k - q),
    inputs={"slope": lambda case, rng: np.float32(2) ** -np.arange(1, case.heads + 1, dtype=np.float32)})
BIAS = Variant(
    "bias tensor", score_text="""
  %bias_here = tensor.extract %bias[%h, %q, %k] : $bias
  %r = arith.addf %s, %bias_here : f32""",
    score=lambda math, s, a, b, h, q, k: s + a["bias"][h, q, k],
    inputs={"bias": lambda case, rng: rng.standard_normal((case.heads, case.q_len, case.keys), dtype=np.float32)})
SOFTCAP = Variant(
    "softcap 30", score_text="""
  %cap = arith.constant 30.0 : f32
  %part = arith.divf %s, %cap : f32
  %bent = math.tanh %part : f32
  %r = arith.mulf %bent, %cap : f32""",
    score=lambda math, s, a, b, h, q, k: 30 * math.tanh(s / 30), additive=False)

BASE = [
    Attention(1, 8, 512, 64),
    Attention(1, 8, 2048, 64),
    Attention(1, 8, 2048, 64, CAUSAL),
]

CASES = BASE + [
    Attention(1, 8, 2048, 64, element="bf16"),
    Attention(1, 8, 2048, 64, element="f16"),
    Attention(1, 8, 512, 128, CHUNK, kv_len=2048, kv_heads=2),
    Attention(1, 8, 512, 128, CHUNK, kv_len=2048, kv_heads=2, element="bf16"),
    Attention(1, 8, 512, 128, CHUNK, kv_len=2048, kv_heads=2, element="f16"),
    Attention(1, 2, 8192, 64),
    Attention(1, 4, 4096, 128),
    Attention(1, 4, 4096, 128, element="bf16"),
    Attention(1, 4, 2048, 80),
    Attention(1, 4, 2048, 256),
    Attention(1, 8, 2001, 64, CAUSAL),
    Attention(8, 12, 128, 64),
    Attention(8, 12, 128, 64, PADDED),
    Attention(1, 8, 128, 64, kv_len=4096),
    Attention(1, 8, 49, 64, kv_len=129),
    Attention(1, 8, 7, 64, kv_len=5),
    Attention(1, 8, 100, 64, kv_len=1003),
    Attention(1, 32, 1, 128, kv_len=4096),
    Attention(1, 32, 1, 128, kv_len=4096, element="bf16"),
    Attention(1, 32, 1, 128, kv_len=4096, kv_heads=8),
    Attention(1, 32, 1, 128, kv_len=4096, kv_heads=8, element="bf16"),
    Attention(1, 32, 1, 128, kv_len=4096, kv_heads=8, element="f16"),
    Attention(1, 8, 4096, 64),
    Attention(1, 8, 4096, 64, WINDOW),
    Attention(1, 8, 4096, 64, SINK_WINDOW),
    Attention(1, 8, 4096, 64, BLOCKS),
    Attention(1, 8, 4096, 64, EQUAL_DOCUMENTS),
    Attention(1, 8, 16384, 64, WINDOW),
    Attention(1, 8, 1024, 64, ALIBI),
    Attention(1, 8, 1024, 64, BIAS),
    Attention(1, 8, 2048, 64, SOFTCAP),
    Attention(1, 8, 4096, 64, DOCUMENTS),
    Attention(1, 8, 4096, 64, BOTH_SIDES),
    Attention(1, 8, 2048, 64, MASK),
    Module(1, 512, 512, heads=8),
    Module(1, 512, 512, heads=8, normed=True),
]
MODELS = [Encoder(1, 128), Encoder(8, 128)]

# `./dev bench serving`: decode, and prefill of a chunk after 1,536 tokens.
SERVING = [
    Attention(1, 32, 1, 128, kv_len=4096, kv_heads=8),
    Attention(1, 32, 1, 128, kv_len=32768, kv_heads=8),
    Attention(16, 32, 1, 128, kv_len=512, kv_heads=8),
    Attention(1, 8, 512, 64, CHUNK, kv_len=2048),
    Attention(1, 8, 512, 128, CHUNK, kv_len=2048, kv_heads=2),
]
LATENT = [Latent(1, heads, 1, 576, kv_len=keys, kv_heads=1) for heads in (16, 128) for keys in (4096, 32768)]


def ragged_batches():
    """Prompts of 10 to 2,000 tokens; decode steps beside two chunks of prompts."""
    prompts = tuple(int(n) for n in np.geomspace(10, 2000, 16))
    steps = tuple(int(n) for n in np.linspace(100, 4000, 14))
    for size in (0, 16):
        yield Ragged("16 prompts", prompts, prompts, 8, 64, 8, size)
        yield Ragged("14 steps, 2 chunks", (1,) * 14 + (512,) * 2, steps + (512, 2048), 32, 128, 8, size)
        yield Ragged("16 steps", (1,) * 16, steps + (16, 1000), 32, 128, 8, size)


def in_pages(case):
    """The same work with its keys in pages, and in order in the layout of pages with keys first."""
    fields = dataclasses.asdict(case) | {"variant": case.variant}
    return [*(Paged(**fields, page_size=size, heads_first=True) for size in (16, 64)), KeysFirst(**fields),
            *(Paged(**fields, page_size=size) for size in (16, 64))]


def narrowed(case):
    """The same work with its keys in 16 and 8 bits, for few rows."""
    if case.q_len != 1:
        return []
    fields = dataclasses.asdict(case) | {"variant": case.variant}
    return [Narrow(**fields)] + [Quantized(**fields, block=block, scale=scale)
                                 for block, scale in ((0, "f32"), (32, "f16"))]


# Time against length: one head, so that the longest stay affordable.
LENGTHS = [2**power for power in range(8, 17)]


def by_length(lengths):
    return [Attention(1, 1, length, 64, variant) for variant in (Variant(""), CAUSAL, WINDOW) for length in lengths]
