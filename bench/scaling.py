"""Time, efficiency and memory of a spread sequence on 2 to 1,024 nodes, for each layout and strategy, prefill and
decode: what `attnc explain --cluster` estimates. --check runs 2 to 8 ranks on this machine in threads, over links that
take as long as they are told to, beside the model; --shaped runs examples/long_context over MPI, with a network
namespace for each rank whose link tc limits (as root).

One layer of examples/long_context, forward: causal attention, or one of a window. Efficiency is the time in which the
nodes would compute what the mask leaves, equally spread and without messages, over the time that they take.
"""

import argparse
import itertools
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
WINDOW = 4096
STRATEGIES = [("zigzag", "ring"), ("zigzag", "all_gather"), ("striped", "ring"), ("blocks", "ring"),
              ("blocks", "all_gather")]
# Of ring-flash-attention's table (github.com/zhuzilin/ring-flash-attention, README.md): forward, 8 H800, heads of
# Llama 3.1 8B, 8,192 tokens a GPU; llama3_attn gathers, of packed sequences in blocks.
PUBLISHED = {("zigzag", "ring"): 85.2, ("striped", "ring"): 74.4, ("blocks", "ring"): 52.1,
             ("blocks", "all_gather"): 57.0}


# The model.


def read_spec(name, layout=None, window=False):
    with open(os.path.join(LONG_CONTEXT, name)) as file:
        text = file.read()
    if layout:
        text = re.sub(r"shard<\w+>", f"shard<{layout}>", text)
    return text.replace("causal(top_left)", f"window({WINDOW - 1}, 0)") if window else text


class Model:
    """Estimates of the pass attn-shard, which `attnc explain` prints."""

    def __init__(self, attnc, folder):
        self.attn_opt = os.path.join(os.path.dirname(os.path.abspath(attnc)), "attn-opt")
        self.folder, self.known = folder, {}

    def explain(self, text, cluster):
        path = os.path.join(self.folder, "spec.mlir")
        with open(path, "w") as file:
            file.write(text)
        words = ",".join(f"{name}={number:g}" for name, number in cluster.items())
        passes = f"builtin.module(func.func(attn-fuse-attention,attn-shard{{cluster={words}}}))"
        output = subprocess.run([self.attn_opt, path, "--pass-pipeline=" + passes], check=True, stdout=subprocess.PIPE,
                                text=True).stdout
        return json.loads(re.search(r"attn.estimates = (\[.*?\])", output)[1])

    def estimate(self, text, **cluster):
        """By strategy: seconds, of which those of the busiest rank's kernels and of its messages; MB of keys."""
        key = text, *cluster.values()
        if key not in self.known:
            found = {}
            for line in self.explain(text, cluster):
                match = re.match(r"(\w+): ([\d.]+) ms \(computes ([\d.]+), sends ([\d.]+)\), ([\d.]+) MB", line)
                if match:
                    total, computes, sends, megabytes = map(float, match.groups()[1:])
                    found[match[1]] = total / 1e3, computes / 1e3, sends / 1e3, megabytes
            self.known[key] = found
        return self.known[key]

    def efficiency(self, layout, strategy, window=False, **cluster):
        """Seconds, share of the ideal, MB of keys."""
        seconds, _, _, megabytes = self.estimate(read_spec("spec.mlir", layout, window), **cluster)[strategy]
        ideal = self.estimate(read_spec("spec.mlir", "zigzag", window), **cluster)["all_gather"][1]
        return seconds, ideal / seconds, megabytes


def print_table(header, rows):
    print("\n| " + " | ".join(header) + " |\n|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


def print_prefill(model, options, tokens):
    print(f"\n{tokens:,} tokens, prefill, {options.gflops:g} GFLOP/s and {options.latency:g} µs a node")
    rows = []
    strategies = [(layout, strategy, False) for layout, strategy in STRATEGIES] + [("blocks", "halo", True)]
    for ranks, (layout, strategy, window) in itertools.product(NODES, strategies):
        cells, name = [], f"{layout} {strategy}" + (f", window {WINDOW:,}" if window else "")
        for link in LINKS:
            seconds, share, megabytes = model.efficiency(
                layout, strategy, window, ranks=ranks, rows=tokens / ranks, gflops=options.gflops,
                memory=options.memory, link=link, latency=options.latency)
            cells.append(f"{seconds:.3g} s, {100 * share:.0f} %")
        rows.append((ranks, name, *cells, f"{megabytes:,.0f} MB"))
    print_table(["nodes", "exchange", *(f"{link} Gbit/s" for link in LINKS), "buffers"], rows)


def print_decode(model, options, tokens):
    """Beside an exchange of keys, which nobody should do."""
    print(f"\n{tokens:,} tokens, a decode step, memory of {options.memory:g} GB/s a node; a ring of the keys beside it")
    rows = []
    for ranks in NODES:
        cells = []
        for link in LINKS:
            cluster = dict(ranks=ranks, rows=tokens / ranks, gflops=options.gflops, memory=options.memory, link=link,
                           latency=options.latency)
            seconds, computes, _, _ = model.estimate(read_spec("decode.mlir"), **cluster)["all_reduce"]
            block = tokens / ranks * 2 * 2 * 64 * 4
            turn = options.latency * 1e-6 + block * 8 / (link * 1e9)
            ring = computes + (ranks - 1) * max(computes, turn)
            cells.append(f"{1e3 * seconds:.3g} ms, {100 * computes / seconds:.0f} %; {1e3 * ring:.3g} ms")
        rows.append((ranks, *cells))
    print_table(["nodes", *(f"{link} Gbit/s" for link in LINKS)], rows)


def print_published(model):
    print("\n8 nodes of 8,192 tokens, links faster than any computation, beside ring-flash-attention's forward pass on 8 H800")
    rows = []
    for (layout, strategy), published in PUBLISHED.items():
        _, share, _ = model.efficiency(layout, strategy, ranks=8, rows=8192, gflops=1000, memory=1e6, link=1e6,
                                       latency=1e-3)
        rows.append((f"{layout} {strategy}", f"{100 * share:.0f}", published))
    print_table(["exchange", "the model, % of ideal", "published"], rows)
    print("""
A bound: it counts neither masks nor launches, which tiles of zig-zag and striped turns have more of.
Pass-KV rings of Llama 3 405B over 128 H100 are published with 93 % at 1M tokens (arXiv 2411.01783); tree attention with
decode steps up to 8 times as fast as a ring's (arXiv 2408.04093): the tables of decode steps show where that comes from.""")


# Runs on this machine.


def load_spread(options):
    """test/Integration/CPU/spread.py, whose exchange delays messages."""
    # Ahead of this folder, which has a module of the same name as theirs.
    sys.path[:0] = [os.path.join(ROOT, "test", "Integration", "CPU"), os.path.join(ROOT, "test", "Integration"),
                    os.path.join(ROOT, "examples")]
    os.environ["PATH"] = os.path.dirname(os.path.abspath(options.attnc)) + ":" + os.environ["PATH"]
    import spread

    return spread


def measure(spread, library, ranks, shapes, seconds):
    """The least time of three calls; `seconds(bytes)` is what a link takes."""
    import numpy as np

    rng, best = np.random.default_rng(0), math.inf
    shards = [([rng.standard_normal(shape, np.float32) for shape in shapes], [np.zeros(shapes[0], np.float32)])
              for _ in range(ranks)]
    for _ in range(3):
        begin = time.monotonic()
        for status, error, _ in spread.World(ranks, seconds).run(library, shards):
            assert status == 0, error
        best = min(best, time.monotonic() - begin)
    return best


def predict_in_threads(layout, strategy, ranks, computation, link):
    """Ranks in threads share the cores: one that sees less leaves them to others, so that all turns take as long."""
    if strategy == "all_reduce":
        return computation + math.ceil(math.log2(ranks)) * link
    if strategy == "ring":
        turn = computation / ranks
        return turn + (ranks - 1) * max(turn, link)
    return computation + (ranks - 1) * link


def check_model(options):
    """Links as slow as the computation of a turn, then twice as slow."""
    spread, length = load_spread(options), options.length
    print(f"\nRanks of {length} tokens in threads on {os.cpu_count()} cores; prefill, then decode steps with {16 * length} keys a rank")
    prefill = [(1, heads, length, 64) for heads in (8, 2, 2)]
    decode = [(1, 8, 1, 64), (1, 2, 16 * length, 64), (1, 2, 16 * length, 64)]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for layout, strategy in [("zigzag", "ring"), ("zigzag", "all_gather"), ("blocks", "ring"), ("", "all_reduce")]:
            is_decode = strategy == "all_reduce"
            text = read_spec("decode.mlir") if is_decode else read_spec("spec.mlir").replace(
                "shard<zigzag>", f"shard<{layout}, {strategy}>")
            library = spread.compile_to(os.path.join(folder, layout + strategy), "decode" if is_decode else "prefill", text)
            shapes = decode if is_decode else prefill
            block = 8 * 65 * 4 if is_decode else 2 * 2 * length * 64 * 4
            for ranks in (2, 4, 8):
                computation = measure(spread, library, ranks, shapes, lambda size: 0)
                for factor in (1, 2):
                    link = factor * computation / ranks
                    # Small messages, of places and sizes, take no time.
                    took = measure(spread, library, ranks, shapes,
                                   lambda size: size / block * link if size * 20 > block else 0)
                    model = predict_in_threads(layout, strategy, ranks, computation, link)
                    rows.append((ranks, f"{layout} {strategy}", f"{computation:.4f}", f"{link:.4f}", f"{model:.4f}",
                                 f"{took:.4f}", f"{took / model:.2f}"))
    print_table(["ranks", "exchange", "computation s", "link s", "model s", "measured s", "measured / model"], rows)


def run_shaped(options):
    """Over MPI: a link that takes as long as the computation, then twice."""
    print(f"\nexamples/long_context over OpenMPI, a network namespace a rank, links limited by tc; {options.length} tokens a rank")
    environment = dict(os.environ, PATH=os.path.dirname(os.path.abspath(options.attnc)) + ":" + os.environ["PATH"])

    def run(ranks, megabits):
        shaped = dict(environment, MPIRUN=os.path.join(ROOT, "bench", "shaped_mpirun"), LINK_MBIT=f"{megabits:.0f}")
        output = subprocess.run([os.path.join(LONG_CONTEXT, "run"), str(ranks), str(ranks * options.length), "steps=20"],
                                env=shaped, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        return [float(re.search(pattern, output)[1]) for pattern in (r"prompt ([\d.]+) s", r"more, ([\d.]+) ms")]

    rows = []
    for ranks in (2, 4, 8):
        computation, _ = min(run(ranks, 100000) for _ in range(2))
        for factor in (1, 2):
            link = factor * computation / ranks
            megabits = 2 * 2 * options.length * 64 * 4 * 8 / link / 1e6
            took, token = min(run(ranks, megabits) for _ in range(2))
            model = predict_in_threads("zigzag", "ring", ranks, computation, link)
            rows.append((ranks, f"{megabits:.0f}", f"{computation:.2f}", f"{(ranks - 1) * link:.2f}", f"{model:.2f}",
                         f"{took:.2f}", f"{took / model:.2f}", f"{token:.2f}"))
    print_table(["ranks", "Mbit/s", "computation s", "links s", "model s", "measured s", "measured / model", "a token ms"],
                rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnc", default="build/bin/attnc")
    parser.add_argument("--gflops", type=float, default=2000, help="of a node, measured (2,000: 24 cores of Zen 4)")
    parser.add_argument("--memory", type=float, default=200, help="of a node, in GB/s (200)")
    parser.add_argument("--latency", type=float, default=10, help="of a message, in µs (10)")
    parser.add_argument("--check", action="store_true", help="run ranks in threads beside the model")
    parser.add_argument("--shaped", action="store_true", help="run ranks over MPI, with limited links")
    parser.add_argument("--length", type=int, default=1024, help="tokens of a rank in these runs (1,024)")
    options = parser.parse_args()
    if options.check or options.shaped:
        return (check_model if options.check else run_shaped)(options)
    with tempfile.TemporaryDirectory() as folder:
        model = Model(options.attnc, folder)
        print_published(model)
        for tokens in TOKENS:
            print_prefill(model, options, tokens)
            print_decode(model, options, tokens)


if __name__ == "__main__":
    main()
