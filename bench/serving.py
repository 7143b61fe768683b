"""Times kernels on keys and values in shuffled pages or in 8 bits beside the same keys in order and f32, and ragged
batches beside their sequences in calls of their own: one process, one core, calls in turns, thread CPU time. A result
that is further from float64 than allowed ends it with 1."""

import argparse
import copy
import os
import re
import sys
import tempfile

import bench
import cases
import numpy as np
import ours


def prepare(case, options, folder):
    """A call of the case, and whether its result is right."""
    os.mkdir(folder)
    arrays = case.inputs()
    call = ours.Kernel(case, arrays, options, folder).bind(arrays)
    exact, plain = case.reference(arrays, np.float64), case.reference(arrays, np.float32)
    return call, bench.judge(call(), case, exact, plain)["right"]


def time_in_turns(case, options):
    """Prints a line for the case and for each way to keep its keys."""
    with tempfile.TemporaryDirectory() as folder:
        prepared = {each.name: prepare(each, options, os.path.join(folder, str(number)))
                    for number, each in enumerate([case, *cases.in_pages(case), *cases.quantized(case)])}
        times = bench.alternate({name: call for name, (call, _) in prepared.items()}, options.seconds)
    for name, (_, right) in prepared.items():
        ratio = min(times[name]) / min(times[case.name])
        print(f"| {name} | {min(times[name]):.3f} | {ratio:.2f} |{'' if right else ' WRONG'}", flush=True)
    return all(right for _, right in prepared.values())


def print_header(work, ratio, rows):
    if rows:
        print(f"\n| {work} | ms | {ratio} |\n|---|---|---|", flush=True)


def bind_parts(case, arrays, options, folder):
    """A function that calls one kernel for each sequence of a ragged batch."""
    parts = list(case.parts(arrays))
    kernel, calls = ours.Kernel(*parts[0], options, folder), []
    for part, own in parts:
        bound = copy.copy(kernel)
        bound.case = part
        calls.append(bound.bind(own))
    return lambda: [call() for call in calls]


def time_ragged(case, options):
    """Prints a line for the batch: its time, and that beside the sum of its parts'."""
    with tempfile.TemporaryDirectory() as folder:
        call, right = prepare(case, options, os.path.join(folder, "batch"))
        parts = os.path.join(folder, "parts")
        os.mkdir(parts)
        times = bench.alternate({"batch": call, "parts": bind_parts(case, case.inputs(), options, parts)},
                                options.seconds)
    batch, parts = min(times["batch"]), min(times["parts"])
    print(f"| {case.name} | {batch:.3f} | {batch / parts:.2f} |{'' if right else ' WRONG'}", flush=True)
    return right


def main():
    parser = argparse.ArgumentParser(prog="./dev bench serving", description=__doc__)
    parser.add_argument("--attnc", default="attnc", help=argparse.SUPPRESS)
    parser.add_argument("--only", metavar="PATTERN", default="", help="only rows whose name has this pattern")
    parser.add_argument("--seconds", type=float, default=3, help="time for each row and its pages (default 3)")
    parser.add_argument("--core", type=int, help="the core to run on (default: the last one allowed)")
    options = parser.parse_args()
    chosen, batches = ([case for case in all if re.search(options.only, case.name)]
                       for all in (cases.SERVING, cases.ragged_batches()))
    if not chosen and not batches:
        parser.error(f"nothing is named like '{options.only}'")
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0)) if options.core is None else options.core})
    print(bench.machine())
    print_header("work", "of the time in order", chosen)
    good = [time_in_turns(case, options) for case in chosen]
    print_header("ragged batch", "of the time of its parts", batches)
    good += [time_ragged(case, options) for case in batches]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
