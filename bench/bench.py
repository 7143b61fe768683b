"""Times attnc's kernels beside other implementations: one process, one core,
calls in turns, thread CPU time. Writes bench/results/NAME.json and NAME.md.

A peer is a file in bench/peers with NAME, VERSION and `prepare(case, arrays)`,
which returns a function that runs the case once; one that cannot be imported is
left out."""

import argparse
import datetime
import importlib
import json
import os
import platform
import statistics
import sys
import tempfile
import time

# Before anything that starts threads is imported.
os.environ.update(HL_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import cases
import numpy as np
import ours

HERE = os.path.dirname(os.path.abspath(__file__))


def find_peers():
    peers = []
    for file in sorted(os.listdir(os.path.join(HERE, "peers"))):
        if file.endswith(".py"):
            try:
                peers.append(importlib.import_module("peers." + file[:-3]))
            except ImportError as error:
                print(f"left out {file[:-3]}: {error}", file=sys.stderr)
    return peers


def random_arrays(case):
    rng = np.random.default_rng(0)
    return {n: rng.standard_normal(s, dtype=np.float32) for n, s in case.shapes.items()}


def exact_head(case, arrays, batch, head):
    """One head of the case in float64."""
    shared = head // (case.heads // case.key_heads)
    query = arrays["query"][batch, head].astype(np.float64)
    key, value = (arrays[n][batch, shared].astype(np.float64) for n in ("key", "value"))
    score = query @ key.T * case.head_dim**-0.5
    if case.mask:
        score = np.where(case.visible(), score, -np.inf)
    weight = np.exp(score - score.max(-1, keepdims=True))
    return weight @ value / weight.sum(-1, keepdims=True)


def error_of(result, case, arrays):
    """Against float64, over the first head and the last."""
    places = [(0, 0), (case.batch - 1, case.heads - 1)]
    return max(float(np.abs(result[p] - exact_head(case, arrays, *p)).max()) for p in places)


def alternate(calls, seconds):
    """Milliseconds of each call, the calls taking turns for `seconds`, five turns
    at least."""
    times = {name: [] for name in calls}
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(next(iter(times.values()))) < 5:
        for name, call in calls.items():
            start = time.thread_time()
            call()
            times[name].append(1e3 * (time.thread_time() - start))
    return times


def time_case(case, peers, options):
    """One row: for each implementation its times, its speed and its error."""
    arrays = random_arrays(case)
    with tempfile.TemporaryDirectory() as folder:
        calls = {ours.NAME: ours.prepare(case, arrays, options, folder)}
        calls |= {peer.NAME: peer.prepare(case, arrays) for peer in peers}
        errors = {name: error_of(call(), case, arrays) for name, call in calls.items()}
        times = alternate(calls, options.seconds)
    row = {"case": case.name, "flops": case.flops, "implementations": {}}
    for name, all_ms in times.items():
        fastest = min(all_ms)
        row["implementations"][name] = {
            "min_ms": fastest,
            "median_ms": statistics.median(all_ms),
            "gflops": case.flops / fastest / 1e6,
            "max_error": errors[name],
            "runs": len(all_ms),
        }
    return row


def ratio(row, name, figure="min_ms"):
    """How many times faster ours is."""
    return row["implementations"][name][figure] / row["implementations"][ours.NAME][figure]


def markdown(report):
    """The report as a table; ratios of the shortest times, of the medians in brackets."""
    names = list(report["peers"])
    head = ["work", "attnc ms", "GFLOP/s"] + [c for n in names for c in (f"{n} ms", f"{n} / attnc")]
    lines = [f"{report['date']}, {report['machine']}, one core, float32; (batch, heads, len, head_dim)", ""]
    lines += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in report["rows"]:
        mine = row["implementations"][ours.NAME]
        cells = [row["case"], f"{mine['min_ms']:.2f}", f"{mine['gflops']:.0f}"]
        for name in names:
            cells += [f"{row['implementations'][name]['min_ms']:.2f}",
                      f"{ratio(row, name):.2f} ({ratio(row, name, 'median_ms'):.2f})"]
        lines.append("| " + " | ".join(cells) + " |")
    for name in names:
        mean = statistics.geometric_mean(ratio(row, name) for row in report["rows"])
        lines += ["", f"{name} {report['peers'][name]}: geometric mean of the ratios {mean:.2f}"]
    return "\n".join(lines) + "\n"


def machine():
    with open("/proc/cpuinfo") as file:
        models = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return models[0] if models else platform.machine()


def write_results(report, name):
    folder = os.path.join(HERE, "results")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name + ".json"), "w") as file:
        json.dump(report, file, indent=1)
    with open(os.path.join(folder, name + ".md"), "w") as file:
        file.write(markdown(report))
    print(f"written to bench/results/{name}.json and .md", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(
        prog="./dev bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnc", default="attnc", help=argparse.SUPPRESS)
    parser.add_argument("--cc", default="cc", help=argparse.SUPPRESS)
    parser.add_argument("--case", default="", help="only cases whose name contains this")
    parser.add_argument("--seconds", type=float, default=10, help="time for each case (default 10)")
    parser.add_argument("--core", type=int, help="the core to run on (default: the last one allowed)")
    parser.add_argument("--name", default="cpu-f32", help="stem of the result files (default cpu-f32)")
    options = parser.parse_args()

    chosen = [case for case in cases.CASES if options.case in case.name]
    if not chosen:
        parser.error(f"no case is named like '{options.case}'")
    core = max(os.sched_getaffinity(0)) if options.core is None else options.core
    os.sched_setaffinity(0, {core})
    peers = find_peers()
    report = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "peers": {peer.NAME: peer.VERSION for peer in peers},
        "rows": [],
    }
    for case in chosen:
        print(f"{case.name} …", file=sys.stderr, flush=True)
        report["rows"].append(time_case(case, peers, options))
    print(markdown(report))
    if len(chosen) == len(cases.CASES):  # a part does not replace the whole
        write_results(report, options.name)


if __name__ == "__main__":
    main()
