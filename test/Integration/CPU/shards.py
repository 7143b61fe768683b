"""Attention in shards: each computes what its rows see of each shard's keys, at their positions, and merges
it. For several numbers of shards it equals attention over the whole sequence.

usage: shards.py [MASK...]   (names of MASKS below; all of them without)
"""

import functools
import os
import subprocess
import sys
import tempfile

import calls
import check
import numpy as np

TOKENS, HEADS, KEY_HEADS, WIDTH = 203, 4, 2, 16  # a number of tokens that no number of shards divides
RANKS = (1, 2, 3, 4, 8)
DOCUMENTS = np.repeat(np.arange(6), [50, 3, 70, 1, 40, 39]).astype(np.int32)

# The short forms, whether each sees key k from row q, and the tensors that they read.
MASKS = {
    "causal": ("causal(top_left)", lambda q, k: k <= q, {}),
    "window": ("window(20, 3)", lambda q, k: (q - 20 <= k) & (k <= q + 3), {}),
    "padded": ("causal(top_left) kv_lengths(%n : tensor<?xi32>)", lambda q, k: (k <= q) & (k < 170), {"n": [170]}),
    "prefix": ("prefix(%n : tensor<?xi32>)", lambda q, k: (k <= q) | (k < 60), {"n": [60]}),
    "documents": ("documents(%n : tensor<?x?xi32>) causal(top_left)",
                  lambda q, k: (DOCUMENTS[q] == DOCUMENTS[k]) & (k <= q), {"n": [DOCUMENTS]}),
    "block": ("block(32)", lambda q, k: q // 32 == k // 32, {}),
}

SPEC = """
!rows = tensor<?x4x?x16xf32>
!keys = tensor<?x2x?x16xf32>
func.func @step(%query: !rows, %key: !keys, %value: !keys, %row: POSITIONS, %at: POSITIONS,
                %before: !rows, %lse_before: tensor<?x4x?xf32>READS)
    -> (!rows {attn.name = "context"}, tensor<?x4x?xf32> {attn.name = "lse"}) attributes {attn.q_len = 48} {
  %score = attn.score %query, %key scale(0.25) : !rows, !keys
  %masked = attn.mask %score positions(%row, %at : POSITIONS, POSITIONS) FORMS : tensor<?x4x?x?xf32>
  %prob = attn.softmax %masked : tensor<?x4x?x?xf32>
  %part = attn.context %prob, %value : tensor<?x4x?x?xf32>, !keys
  %lse_of_part = attn.lse %masked : tensor<?x4x?x?xf32>
  %context, %lse = attn.merge %before, %lse_before, %part, %lse_of_part : !rows, tensor<?x4x?xf32>
  return %context, %lse : !rows, tensor<?x4x?xf32>
}
"""


def compile_step(forms, reads, positions, folder):
    type = {1: "tensor<?xi32>", 2: "tensor<?x?xi32>"}[positions]
    read = "".join(f", %{name}: tensor<?{'x?' * (np.ndim(values) - 1)}xi32>" for name, values in reads.items())
    path = os.path.join(folder, "spec.mlir")
    with open(path, "w") as file:
        file.write(SPEC.replace("POSITIONS", type).replace("READS", read).replace("FORMS", forms))
    subprocess.run(["attnc", "compile", path, "--emit", "shared_library,json", "-o", folder], check=True,
                   stdout=subprocess.DEVNULL)
    return functools.partial(call, calls.Library(os.path.join(folder, "step.json"), {}))


def call(library, inputs):
    outputs = [np.zeros_like(inputs[5]), np.zeros_like(inputs[6])]
    if library.call(inputs, outputs) != 0:
        sys.exit(library.error().decode())
    return outputs


def read_by(reads, batch):
    return [np.repeat(np.asarray(values, np.int32), batch, axis=0) for values in reads.values()]


def parts_of(rank, ranks):
    """The zig-zag parts of a rank, one early and one late; both may be shorter than the others, or empty."""
    length = -(-TOKENS // (2 * ranks))
    return [range(min(part * length, TOKENS), min((part + 1) * length, TOKENS)) for part in (rank, 2 * ranks - 1 - rank)]


def nothing(query):
    return np.zeros_like(query), np.full(query.shape[:3], -np.inf, query.dtype)


def sharded_by_starts(step, reads, query, key, value, ranks):
    """A rank's parts are a batch, whose rows are as many as those of the longest; each call has one part's keys."""
    results = {}
    for rank in range(ranks):
        rows = parts_of(rank, ranks)
        own = np.zeros((2, HEADS, max(map(len, rows)), WIDTH), query.dtype)
        for part, places in enumerate(rows):
            own[part, :, :len(places)] = query[0][:, places]
        seen, starts = nothing(own), np.array([places.start for places in rows], np.int32)
        for turn in range(ranks):
            for places in parts_of((rank - turn) % ranks, ranks):
                keys, values = (np.broadcast_to(x[:, :, places.start:places.stop], (2, KEY_HEADS, len(places), WIDTH))
                                for x in (key, value))
                at = np.full(2, places.start, np.int32)
                seen = step([own, keys, values, starts, at, *seen, *read_by(reads, 2)])
        for part, places in enumerate(rows):
            results[places.start] = [x[part, :, :len(places)] for x in seen]
    return [np.concatenate([results[start][at] for start in sorted(results) if results[start][at].shape[1]], 1)[None]
            for at in range(2)]


def sharded_by_positions(step, reads, query, key, value, ranks):
    """All rows and keys of a rank in one call, each at its position."""
    context, lse = nothing(query)
    places_of = [np.concatenate([np.array(part, np.int32) for part in parts_of(rank, ranks)]) for rank in range(ranks)]
    for rank, rows in enumerate(places_of):
        own = np.ascontiguousarray(query[:, :, rows])
        seen = nothing(own)
        for turn in range(ranks):
            places = places_of[(rank - turn) % ranks]
            keys, values = (np.ascontiguousarray(x[:, :, places]) for x in (key, value))
            seen = step([own, keys, values, rows[None], places[None], *seen, *read_by(reads, 1)])
        context[:, :, rows], lse[:, :, rows] = seen
    return context, lse


def whole(query, key, value, sees):
    q, k = np.ogrid[:TOKENS, :TOKENS]
    score = np.where(sees(q, k), check.score(query, key) * 0.25, -np.inf)
    return [x.astype(query.dtype) for x in (check.context(check.softmax(score), value), check.log_sum_exp(score))]


def check_mask(name):
    forms, sees, reads = MASKS[name]
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((1, heads, TOKENS, WIDTH)).astype(np.float32) for heads in (HEADS, KEY_HEADS, KEY_HEADS)]
    exact, plain = whole(*(x.astype(np.float64) for x in arrays), sees), whole(*arrays, sees)
    good = True
    for positions, sharded in ((1, sharded_by_starts), (2, sharded_by_positions)):
        with tempfile.TemporaryDirectory() as folder:
            step = compile_step(forms, reads, positions, folder)
            for ranks in RANKS:
                ours = sharded(step, reads, *arrays, ranks)
                again = sharded(step, reads, *arrays, ranks)
                assert all(np.array_equal(x, y) for x, y in zip(ours, again)), "expected the same bits again"
                for what, *results in zip(("context", "lse"), ours, plain, exact):
                    good &= check.compare(f"{name}, {ranks} ranks, rank {positions} positions, {what}", *results)
    return good


if __name__ == "__main__":
    sys.exit(not all([check_mask(name) for name in sys.argv[1:] or MASKS]))
