"""Times attnc's kernels beside other implementations: one process, one core,
calls in turns, thread CPU time. Then measures without peers: compiling, memory,
two threads, inputs that need the safe path. Writes
bench/results/NAME.json, NAME.md and NAME.png, and the table in README.md, which has
a column for each processor; a part
(--quick, --only) is printed alone.

A peer is a file in bench/peers with NAME, VERSION, `takes(case)` and
`prepare(case, arrays)`, which returns a function that runs the case once; one that
cannot be imported is left out. Rows are data in bench/cases.py, the other figures
functions in bench/facts.py."""

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
os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import cases
import encoder
import facts
import numpy as np
import ours
import report
from work import EPS

HERE = os.path.dirname(os.path.abspath(__file__))


def list_peers():
    files = sorted(os.listdir(os.path.join(HERE, "peers")))
    return [name for name, extension in map(os.path.splitext, files) if extension == ".py"]


def find_peers(names):
    peers = []
    for name in names:
        try:
            peers.append(importlib.import_module("peers." + name))
        except ImportError as error:
            print(f"left out {name}: {error}", file=sys.stderr)
    return peers


def judge(result, case, exact, plain):
    """The error against float64 and the allowed one: twice that of a plain computation in the
    case's element, and 4 eps."""
    error = np.abs(case.sample(result) - exact).max()
    allowed = 2 * np.abs(plain - exact).max() + 4 * EPS[case.element] * np.abs(exact).max()
    return {"max_error": float(error), "allowed_error": float(allowed), "right": bool(error <= allowed)}


def alternate(calls, seconds):
    """Milliseconds of each call, the calls taking turns for `seconds`, two turns
    at least."""
    times = {name: [] for name in calls}
    elsewhere = dict.fromkeys(calls, float("inf"))
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(next(iter(times.values()))) < 2:
        for name, call in calls.items():
            process, thread = time.process_time(), time.thread_time()
            call()
            thread, process = time.thread_time() - thread, time.process_time() - process
            times[name].append(1e3 * thread)
            elsewhere[name] = min(elsewhere[name], process - thread)
    for name, unseen in elsewhere.items():  # the times lack the work of other threads
        if 1e3 * unseen > 0.01 + 0.05 * min(times[name]):
            raise RuntimeError(f"expected {name} to work on one thread, found {1e3 * unseen:.2f} ms on others")
    return times


def time_case(case, peers, options):
    """One row: for each implementation its times, its speed and its error."""
    arrays = case.inputs()
    flops = case.flops(arrays)
    with tempfile.TemporaryDirectory() as folder:
        kernel = ours.Kernel(case, arrays, options, folder)
        calls = {ours.NAME: kernel.bind(arrays)}
        calls |= {peer.NAME: peer.prepare(case, arrays) for peer in peers if peer.takes(case)}
        exact, plain = case.reference(arrays, np.float64), case.reference(arrays, np.float32)
        errors = {name: judge(call(), case, exact, plain) for name, call in calls.items()}
        times = alternate(calls, options.seconds)
    row = {"case": case.name, "kind": type(case).__name__, "element": case.element, "flops": flops,
           "compile_seconds": kernel.compile_seconds, "implementations": {}}
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


# Where the name says less than family and model do.
MICROARCHITECTURES = {
    ("25", "1"): "Zen 3", ("25", "17"): "Zen 4", ("26", "2"): "Zen 5", ("6", "143"): "Sapphire Rapids",
    ("6", "173"): "Granite Rapids", ("6", "207"): "Emerald Rapids"}


def read_cpuinfo():
    with open("/proc/cpuinfo") as file:
        return dict(re.split(r"\s*:\s*", line.strip(), maxsplit=1) for line in file if ":" in line)


def microarchitecture(lines):
    """A virtual machine may hide the model, but not the tiles that such a Xeon has."""
    known = MICROARCHITECTURES.get((lines.get("cpu family"), lines.get("model")))
    return known or ("Xeon with AMX" if "amx_tile" in lines.get("flags", "").split() else None)


def machine():
    """The processor with its microarchitecture, or family and model, and its widest vectors."""
    lines = read_cpuinfo()
    flags = lines.get("flags", "").split()
    vectors = next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "")
    name = lines.get("model name", platform.machine())
    if "cpu family" in lines:
        name += f" ({microarchitecture(lines) or 'family {cpu family} model {model}'.format_map(lines)})"
    return ", ".join(filter(None, [name, vectors]))


def stem(bench):
    """The stem of this processor's result files of a benchmark."""
    lines = read_cpuinfo()
    known = microarchitecture(lines)
    name = known.replace(" ", "") if known else lines.get("model name", platform.machine())
    return bench + "-" + re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="./dev bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnc", default="attnc", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="only the three base rows")
    parser.add_argument("--only", metavar="PATTERN", help="only rows with a name that matches this regular expression")
    parser.add_argument("--max-len", type=int, default=65536, metavar="N",
                        help="largest length in the plot of time against length (default 65536; 16384 saves minutes)")
    parser.add_argument("--peers", metavar="NAME,…", help="only these files of bench/peers ('none': no peer)")
    parser.add_argument("--seconds", type=float, default=3, help="time for each case (default 3)")
    parser.add_argument("--core", type=int, help="the core to run on (default: the last one allowed)")
    parser.add_argument("--json", metavar="FILE", help="also write the measurements to FILE, even of a part")
    parser.add_argument("--name", default=stem("cpu-f32"), metavar="STEM",
                        help="stem of the result files (default: this processor's, %(default)s)")
    options = parser.parse_args()
    known = list_peers()
    options.peers = known if options.peers is None else [] if options.peers == "none" else options.peers.split(",")
    if unknown := [name for name in options.peers if name not in known]:
        parser.error(f"expected peers among {', '.join(known)}, found {', '.join(unknown)}")
    return parser, options


def choose(options):
    """The rows, the lengths and the facts that the command line asks for."""
    if options.quick:
        return cases.BASE, [], []
    if not encoder.is_installed():
        print(f"left out the sentence encoder: no package {encoder.model.PACKAGE}", file=sys.stderr)
    models = cases.MODELS if encoder.is_installed() else []
    lengths = cases.by_length([length for length in cases.LENGTHS if length <= options.max_len])
    return cases.CASES + models, lengths, facts.FACTS


def select(chosen, pattern, name):
    return [each for each in chosen if re.search(pattern, name(each))]


def measure_facts(chosen, rows, options, cores):
    measured = []
    for fact in chosen:
        print(f"measuring {fact[0]} …", file=sys.stderr, flush=True)
        measured.append(facts.measure(*fact, options, cores))
    fixed = [row for row in rows if row["kind"] != "Encoder"]  # its batch and length are dynamic
    return ([facts.compile_fixed(fixed)] if fixed else []) + measured


def main():
    parser, options = parse_arguments()
    work, lengths, once = choose(options)
    if options.only:
        work, lengths = (select(chosen, options.only, lambda case: case.name) for chosen in (work, lengths))
        once = select(once, options.only, lambda fact: fact[0])
        if not work + lengths + once:
            parser.error(f"nothing is named like '{options.only}'")
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores) if options.core is None else options.core})
    peers = find_peers(options.peers)
    results = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "peers": {peer.NAME: peer.VERSION for peer in peers},
        "rows": time_all("work", work, peers, options),
        "lengths": time_all("length", lengths, [p for p in peers if p.NAME == "PyTorch"], options),
    }
    results["facts"] = measure_facts(once, results["rows"], options, cores)
    print(report.markdown(results))
    print(report.facts(results))
    if options.json:
        report.write_json(results, options.json)
    if not options.only and not options.quick:  # a part does not replace the whole
        report.write(results, options.name)
    return 0 if report.all_right(results) else 1


if __name__ == "__main__":
    sys.exit(main())
