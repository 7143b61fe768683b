"""Continuous batching from Python, with the kernel that main.c calls.

    attnc compile examples/serving/spec.mlir --shared -o out
    python examples/serving/serve.py out/libserving.so [STEPS]

numpy owns the pool; the kernel appends to it in place. Every step is compared with float64.
"""

import pathlib
import sys

import attnc
import numpy as np

sys.path.append(str(pathlib.Path(__file__).parent.parent))
import check  # noqa: E402
import plain  # noqa: E402

NUM_PAGES, MAX_PAGES, MOST_SEQUENCES, MOST_ROWS = 100, 12, 8, 32
rng = np.random.default_rng(0)


class Sequence:
    def __init__(self):
        self.prompt, self.length, self.pages = int(rng.integers(1, 120)), 0, []
        self.end = self.prompt + int(rng.integers(1, 60))


def plan(sequences):
    """The rows of each sequence: one of those that decode; prompts share what is left."""
    rows = [int(one.length >= one.prompt) for one in sequences]
    left = MOST_ROWS - sum(rows)
    for number, one in enumerate(sequences):
        if one.length < one.prompt:
            rows[number] = min(one.prompt - one.length, left)
            left -= rows[number]
    return rows


def make_inputs(sequences, rows, pools):
    table = np.full((len(sequences), MAX_PAGES), -1, np.int32)
    for entries, one in zip(table, sequences):
        entries[:len(one.pages)] = one.pages
    tokens = {name: rng.standard_normal((sum(rows), heads, 64), dtype=np.float32)
              for name, heads in (("query", 9), ("key", 3), ("value", 3))}
    return tokens | {"offsets": np.cumsum([0, *rows]).astype(np.int32),
                     "past": np.array([one.length for one in sequences], np.int32), "block_table": table} | pools


def compute(kernel, inputs, pools):
    """Whether the step is right."""
    exact, f32 = plain.outputs(**check.as_type(inputs, np.float64)), plain.outputs(**inputs)
    context = np.empty_like(inputs["query"])
    kernel(**inputs, out=(context, *pools.values()))
    found = dict(zip(exact, (context, *(inputs[name.removeprefix("next_")] for name in list(exact)[1:]))))
    return all([np.abs(found[name] - exact[name]).max() <= check.allowed_error(f32[name], exact[name])
                for name in exact])


def main():
    kernel, steps = attnc.load(sys.argv[1]), int((sys.argv[2:] or [100])[0])
    shape = (NUM_PAGES, 3, plain.PAGE)
    pools = {f"{name}_{part}": np.zeros((*shape, width), dtype) for name in ("key", "value")
             for part, width, dtype in (("pages", 64, np.int8), ("scales", 1, np.float32))}
    unused, sequences, right, tokens = list(range(NUM_PAGES)), [], 0, 0
    for _ in range(steps):
        if len(sequences) < MOST_SEQUENCES:
            sequences.append(Sequence())
        rows = plan(sequences)
        for one, count in zip(sequences, rows):
            while len(one.pages) * plain.PAGE < one.length + count:
                one.pages.append(unused.pop())
        right += compute(kernel, make_inputs(sequences, rows, pools), pools)
        tokens += sum(rows)
        for one, count in zip(sequences, rows):
            one.length += count
            if one.length == one.end:
                unused += one.pages
        sequences = [one for one in sequences if one.length < one.end]
    print(f"{steps} steps, {tokens} tokens: {right} steps right")
    return right != steps


if __name__ == "__main__":
    sys.exit(main())
