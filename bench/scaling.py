"""Time, efficiency and memory of a spread sequence on 2 to 1,024 nodes, for each layout and way to exchange: on paper,
from what `attnc explain` counts, the speed of one node and its link. --check runs 2 to 8 ranks on this machine, over
links that take as long as they are told to, beside what the model says of them.

Causal attention of examples/long_context: one layer, forward. Efficiency is the time in which the nodes would compute
what the mask leaves, at the same speed, over the time that they take.
"""

import argparse
import ast
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LONG_CONTEXT = os.path.join(ROOT, "examples", "long_context")
NODES = (2, 4, 8, 16, 64, 256, 1024)
TOKENS = (131072, 1048576, 10485760)
LINKS = (10, 100, 400)  # Gbit/s
# Of ring-flash-attention's forward pass on 8 H800, % of ideal.
PUBLISHED = {"blocks ring": 52, "zigzag ring": 85, "striped ring": 74}


def evaluate(formula, sizes):
    """A count of `attnc explain --json`: a number, or a sum of products of sizes."""
    tree = ast.parse(str(formula).replace("·", "*"), mode="eval")
    allowed = (ast.Expression, ast.BinOp, ast.Add, ast.Mult, ast.Constant, ast.Name, ast.Load)
    assert all(isinstance(node, allowed) for node in ast.walk(tree)), formula
    return eval(compile(tree, "explain", "eval"), {}, sizes)


class Spec:
    """What a rank computes and sends in one turn, of shards of so many tokens."""

    def __init__(self, attnc, path):
        explained = json.loads(subprocess.run([attnc, "explain", path, "--json"], check=True,
                                              stdout=subprocess.PIPE, text=True).stdout)
        self.attention = next(op for op in explained["ops"] if op["op"] == "attn.attention")
        self.exchange = next(op["exchange"] for op in explained["ops"] if "exchange" in op)

    def flops(self, **sizes):
        return evaluate(self.attention["flops"], {"batch": 1, **sizes})

    def sent(self, **sizes):
        return evaluate(self.exchange["bytes"], {"batch": 1, **sizes})


# The model. `turn` is the time for all rows and keys of a turn, `link` that to move a block.


def blocks_ring(ranks, turn, link):
    """The last rank sees all keys: the half of its own, and all others."""
    return turn / 2 + (ranks - 1) * max(turn, link)


def zigzag_ring(ranks, turn, link):
    """Half of each turn's keys are seen; the next block is on its way meanwhile."""
    return turn / 2 + (ranks - 1) * max(turn / 2, link)


def zigzag_gather(ranks, turn, link):
    """All keys first, and nothing meanwhile."""
    return ranks * turn / 2 + (ranks - 1) * link


# `blocks` of keys that a rank has at once.
STRATEGIES = {"blocks ring": (blocks_ring, 2), "zigzag ring": (zigzag_ring, 2), "striped ring": (zigzag_ring, 2),
              "zigzag gather": (zigzag_gather, None)}


def predict(spec, strategy, ranks, tokens, speed, bandwidth, latency):
    """Seconds, efficiency, and bytes of keys in buffers of a rank."""
    length = -(-tokens // ranks)
    turn, block = spec.flops(len=length) / speed, spec.sent(len=length)
    function, blocks = STRATEGIES[strategy]
    seconds = function(ranks, turn, latency + block / bandwidth)
    return seconds, ranks * turn / 2 / seconds, (blocks or ranks) * block


def print_tables(spec, options):
    for tokens in TOKENS:
        print(f"\n{tokens:,} tokens, {options.gflops:g} GFLOP/s and {options.latency:g} µs a node\n")
        print("| nodes | exchange | " + " | ".join(f"{link} Gbit/s" for link in LINKS) + " | buffers |")
        print("|---|---|" + "---|" * len(LINKS) + "---|")
        for ranks in NODES:
            for strategy in STRATEGIES:
                cells = []
                for link in LINKS:
                    seconds, efficiency, memory = predict(spec, strategy, ranks, tokens, options.gflops * 1e9,
                                                          link * 1e9 / 8, options.latency * 1e-6)
                    cells.append(f"{seconds:.3g} s, {100 * efficiency:.0f} %")
                print(f"| {ranks} | {strategy} | " + " | ".join(cells) + f" | {memory / 2**20:,.0f} MB |")


def print_published(spec):
    print("\n8 nodes, computation longer than any message, beside ring-flash-attention's forward pass on 8 H800:\n")
    print("| exchange | the model, % of ideal | published |\n|---|---|---|")
    for strategy, published in PUBLISHED.items():
        _, efficiency, _ = predict(spec, strategy, 8, 65536, 1e12, 1e15, 0)
        print(f"| {strategy} | {100 * efficiency:.0f} | {published} |")
    print("\nA bound: it counts neither masks and merges nor launches, which tiles of a zig-zag or striped turn have more of.")


# Runs on this machine.


def check_model(spec, options):
    """Ranks in threads share the machine's cores: a turn is timed alone, and takes as often as long as ranks share a
    core."""
    # Ahead of this folder, which has a module of the same name as theirs.
    sys.path[:0] = [os.path.join(ROOT, "test", "Integration", "CPU"), os.path.join(ROOT, "test", "Integration"),
                    os.path.join(ROOT, "examples")]
    os.environ["PATH"] = os.path.dirname(os.path.abspath(options.attnc)) + ":" + os.environ["PATH"]
    import numpy as np
    import spread

    rng, cores, length = np.random.default_rng(0), os.cpu_count(), options.length
    print(f"\nRanks of {length} tokens in threads on {cores} cores; links as slow as a turn, then twice as slow:\n")
    print("| ranks | layout | computation s | link s | model s | measured s | measured / model |\n|---|---|---|---|---|---|---|")

    def measure(library, ranks, seconds):
        shards = [([rng.standard_normal((1, heads, length, 64), np.float32) for heads in (8, 2, 2)],
                   [np.zeros((1, 8, length, 64), np.float32)]) for _ in range(ranks)]
        best = math.inf
        for _ in range(3):
            begin = time.monotonic()
            for status, error, _ in spread.World(ranks, seconds).run(library, shards):
                assert status == 0, error
            best = min(best, time.monotonic() - begin)
        return best

    with open(os.path.join(LONG_CONTEXT, "spec.mlir")) as file:
        text = file.read()
    with tempfile.TemporaryDirectory() as folder:
        for layout in ("zigzag", "blocks"):
            library = spread.compile_to(os.path.join(folder, layout), "prefill",
                                        re.sub(r"shard<\w+>", f"shard<{layout}>", text))
            block = spec.sent(len=length)
            for ranks in (2, 4, 8):
                computation = measure(library, ranks, lambda size: 0)
                for factor in (1, 2):
                    link = factor * computation / ranks
                    if layout == "zigzag":  # computation is `ranks` halves of a turn
                        model = zigzag_ring(ranks, 2 * computation / ranks, link)
                    else:  # ranks that see less leave the cores to others: turns of all but the first are half full
                        model = computation / ranks + (ranks - 1) * max(computation / ranks, link)
                    measured = measure(library, ranks, lambda size: size / block * link)
                    print(f"| {ranks} | {layout} | {computation:.2f} | {link:.2f} | {model:.2f} | {measured:.2f} "
                          f"| {measured / model:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnc", default="build/bin/attnc")
    parser.add_argument("--gflops", type=float, default=2000, help="of a node, measured (2,000: 24 cores of Zen 4)")
    parser.add_argument("--latency", type=float, default=10, help="of a message, in µs (10)")
    parser.add_argument("--check", action="store_true", help="run ranks on this machine beside the model")
    parser.add_argument("--length", type=int, default=1024, help="tokens of a rank in these runs (1,024)")
    options = parser.parse_args()
    spec = Spec(options.attnc, os.path.join(LONG_CONTEXT, "spec.mlir"))
    if options.check:
        return check_model(spec, options)
    print_published(spec)
    print_tables(spec, options)


if __name__ == "__main__":
    main()
