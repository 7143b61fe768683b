"""Times attnc's kernels beside other implementations: one process, one core,
calls in turns, thread CPU time. Writes bench/results/NAME.json, NAME.md and
NAME.png, and the table in README.md.

A peer is a file in bench/peers with NAME, VERSION, `takes(case)` and
`prepare(case, arrays)`, which returns a function that runs the case once; one that
cannot be imported is left out."""

import argparse
import datetime
import importlib
import json
import os
import platform
import re
import statistics
import sys
import tempfile
import time

# Before anything that starts threads is imported.
os.environ.update(HL_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import cases
import numpy as np
import ours
import report

HERE = os.path.dirname(os.path.abspath(__file__))


def find_peers(wanted):
    peers = []
    for file in sorted(os.listdir(os.path.join(HERE, "peers"))):
        name, extension = os.path.splitext(file)
        if extension == ".py" and (not wanted or name in wanted):
            try:
                peers.append(importlib.import_module("peers." + name))
            except ImportError as error:
                print(f"left out {name}: {error}", file=sys.stderr)
    return peers


def judge(result, case, exact, plain):
    """The error against float64 and the allowed one: twice that of a plain float32
    computation, and 4 eps."""
    error = np.abs(case.sample(result) - exact).max()
    allowed = 2 * np.abs(plain - exact).max() + 4 * np.finfo(np.float32).eps * np.abs(exact).max()
    return {"max_error": float(error), "allowed_error": float(allowed), "right": bool(error <= allowed)}


def alternate(calls, seconds):
    """Milliseconds of each call, the calls taking turns for `seconds`, three turns
    at least."""
    times = {name: [] for name in calls}
    elsewhere = dict.fromkeys(calls, float("inf"))
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(next(iter(times.values()))) < 3:
        for name, call in calls.items():
            process, thread = time.process_time(), time.thread_time()
            call()
            thread, process = time.thread_time() - thread, time.process_time() - process
            times[name].append(1e3 * thread)
            elsewhere[name] = min(elsewhere[name], process - thread)
    for name, unseen in elsewhere.items():  # what other threads do is not in the times
        if 1e3 * unseen > 0.01 + 0.05 * min(times[name]):
            raise RuntimeError(f"expected {name} to work on one thread, found {1e3 * unseen:.2f} ms on others")
    return times


def time_case(case, peers, options):
    """One row: for each implementation its times, its speed and its error."""
    arrays = case.inputs()
    flops = case.flops(arrays)
    with tempfile.TemporaryDirectory() as folder:
        calls = {ours.NAME: ours.prepare(case, arrays, options, folder)}
        calls |= {peer.NAME: peer.prepare(case, arrays) for peer in peers if peer.takes(case)}
        exact, plain = case.reference(arrays, np.float64), case.reference(arrays, np.float32)
        errors = {name: judge(call(), case, exact, plain) for name, call in calls.items()}
        times = alternate(calls, options.seconds)
    row = {"case": case.name, "kind": type(case).__name__, "flops": flops, "implementations": {}}
    for name, all_ms in times.items():
        row["implementations"][name] = {
            "min_ms": min(all_ms),
            "median_ms": statistics.median(all_ms),
            "gflops": flops / min(all_ms) / 1e6,
            "runs": len(all_ms),
        } | errors[name]
    return row


def time_all(title, chosen, peers, options):
    rows = []
    for case in chosen:
        print(f"{title}: {case.name} …", file=sys.stderr, flush=True)
        rows.append(time_case(case, peers, options))
        print(report.line(rows[-1]), file=sys.stderr, flush=True)
    return rows


def machine():
    """The processor, and its widest vectors."""
    with open("/proc/cpuinfo") as file:
        lines = dict(re.split(r"\s*:\s*", line, maxsplit=1) for line in file if ":" in line)
    flags = lines.get("flags", "").split()
    vectors = next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "")
    return ", ".join(filter(None, [lines.get("model name", platform.machine()).strip(), vectors]))


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="./dev bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnc", default="attnc", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="the three base rows, without lengths")
    parser.add_argument("--only", metavar="PATTERN", help="only cases whose name matches this regular expression")
    parser.add_argument("--long", action="store_true", help="lengths up to 65536 (minutes)")
    parser.add_argument("--peers", metavar="NAME,…", help="only these files of bench/peers (none: 'none')")
    parser.add_argument("--seconds", type=float, default=3, help="time for each case (default 3)")
    parser.add_argument("--core", type=int, help="the core to run on (default: the last one allowed)")
    parser.add_argument("--name", default="cpu-f32", help="stem of the result files (default cpu-f32)")
    return parser, parser.parse_args()


def main():
    parser, options = parse_arguments()
    work = cases.BASE if options.quick else cases.CASES
    lengths = [] if options.quick else cases.by_length(cases.LENGTHS + (cases.LONG if options.long else []))
    if options.only:
        work, lengths = ([c for c in cs if re.search(options.only, c.name)] for cs in (work, lengths))
        if not work + lengths:
            parser.error(f"no case is named like '{options.only}'")
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0)) if options.core is None else options.core})
    peers = find_peers(options.peers and options.peers.split(","))
    results = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "peers": {peer.NAME: peer.VERSION for peer in peers},
        "rows": time_all("work", work, peers, options),
        "lengths": time_all("length", lengths, [p for p in peers if p.NAME == "PyTorch"], options),
    }
    print(report.markdown(results))
    if not options.only and not options.quick:  # a part does not replace the whole
        report.write(results, options.name)
    return 0 if report.all_right(results) else 1


if __name__ == "__main__":
    sys.exit(main())
