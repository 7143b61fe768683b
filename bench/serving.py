"""Times kernels on the caches and batches of servers: keys and values in shuffled pages, in 16 and 8 bits, and latent
ones, beside the same keys in order and f32, beside other implementations and beside the limits of the core; ragged batches
beside their sequences in calls of their own. One process, one core, calls in turns, thread CPU time. Writes
bench/results/NAME.json and NAME.md, and the table in docs/serving.md; a part (--only) is printed alone. A result that is
further from float64 than allowed ends it with 1."""

import argparse
import copy
import datetime
import json
import os
import re
import sys
import tempfile

import bench
import cases
import numpy as np
import ours
import report
from limits import Limits
from work import Attention, KeysFirst, Latent, align

DOCS = os.path.join(report.HERE, "..", "docs", "serving.md")
PEERS = ("llama_cpp", "onnxruntime", "pytorch")


def takes(peer, case):
    """Peers know keys and values in order and in the query's type; of others they say which."""
    return peer.takes(case) if type(case) is Attention else case.storage in getattr(peer, "STORAGES", ())


def prepare(case, peers, options, folder):
    """For each implementation a call and how far its result is from float64; arrays."""
    os.mkdir(folder)
    arrays = {name: align(array) for name, array in case.inputs().items()}
    calls = {ours.NAME: ours.Kernel(case, arrays, options, folder).bind(arrays)}
    calls |= {peer.NAME: peer.prepare(case, arrays) for peer in peers if takes(peer, case)}
    exact, plain = case.reference(arrays, np.float64), case.reference(arrays, np.float32)
    return calls, {name: bench.judge(call(), case, exact, plain) for name, call in calls.items()}, arrays


def make_row(case, prepared, times, limits):
    """The figures of one case, from the shortest times of calls, of a plain read, and of multiplying."""
    _, errors, arrays = prepared
    shortest = {name: min(times[case.name, name]) for name in errors}
    read = min(times[case.name, "read"])
    multiply = min(times["multiply"]) * case.flops(arrays) / limits.flops
    return {"case": case.name, "ms": shortest[ours.NAME], "read_ms": read, "fma_ms": multiply,
            "implementations": {name: {"min_ms": shortest[name]} | errors[name] for name in errors}}


def time_group(group, peers, limits, options):
    """Rows of the same work: the first with its keys in order, the others as they are kept otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        prepared = [prepare(case, peers, options, os.path.join(folder, str(number)))
                    for number, case in enumerate(group)]
        calls = {"multiply": limits.multiply_add}
        for case, (own, _, _) in zip(group, prepared):
            calls |= {(case.name, name): call for name, call in own.items()}
        # Neither a kernel nor a read finds in cache what the other has just read.
        for case, (_, _, arrays) in zip(group, prepared):
            calls[case.name, "read"] = limits.reader(case.chunks(arrays))
        times = bench.alternate(calls, options.seconds)
    rows = [make_row(case, each, times, limits) for case, each in zip(group, prepared)]
    in_order = {case.layout: row["ms"] for case, row in zip(group, rows) if type(case) in (Attention, KeysFirst, Latent)}
    for case, row in zip(group, rows):
        row["of_in_order"] = row["ms"] / in_order[case.layout]
        print(line(row, [peer.NAME for peer in peers]), flush=True)
    return rows


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
    """The batch: its time, and that beside the sum of its parts'."""
    with tempfile.TemporaryDirectory() as folder:
        calls, errors, arrays = prepare(case, [], options, os.path.join(folder, "batch"))
        parts = os.path.join(folder, "parts")
        os.mkdir(parts)
        times = bench.alternate({"batch": calls[ours.NAME], "parts": bind_parts(case, arrays, options, parts)},
                                options.seconds)
    batch, parts = min(times["batch"]), min(times["parts"])
    row = {"case": case.name, "ms": batch, "of_parts": batch / parts, "implementations": errors}
    print(ragged_line(row), flush=True)
    return row


def mark(errors):
    return "" if errors["right"] else " †"


def line(row, names):
    """A row of the table: the speed beside the slower of a plain read and FMAs; peers' times beside ours."""
    own, limit = row["implementations"][ours.NAME], max(row["read_ms"], row["fma_ms"])
    bound = "read" if row["read_ms"] > row["fma_ms"] else "FMA"
    cells = [row["case"], f"{row['ms']:.3f}", f"{row['of_in_order']:.2f}", f"{limit / row['ms']:.2f} {bound}",
             f"{own['max_error']:.1e}{mark(own)}"]
    for name in names:
        peer = row["implementations"].get(name)
        cells.append(f"{peer['min_ms'] / row['ms']:.2f} ({peer['max_error']:.1e}{mark(peer)})" if peer else "")
    return "| " + " | ".join(cells) + " |"


def ragged_line(row):
    own = row["implementations"][ours.NAME]
    return f"| {row['case']} | {row['ms']:.3f} | {row['of_parts']:.2f} | {own['max_error']:.1e}{mark(own)} |"


def head(names):
    cells = ["work", "ms", "of the time in order", "speed, of the limit", "error", *(f"{n} / attnc (error)" for n in names)]
    return "| " + " | ".join(cells) + " |\n|---|" + "---:|" * (len(cells) - 1)


RAGGED_HEAD = "| ragged batch | ms | of the time of its parts | error |\n|---|---:|---:|---:|"


def markdown(results):
    names = list(results["peers"])
    versions = ", ".join(f"{name} {version}" for name, version in results["peers"].items())
    return "\n".join([
        f"{results['date']}, {results['machine']}{', shared with other work' * results['shared']}, one core. The limit is the "
        "longer time of a plain read of the same bytes (of pages: in the table's order) and of the FMAs, measured in the same "
        "run; errors are beside float64.", "",
        head(names), *(line(row, names) for row in results["rows"]), "",
        RAGGED_HEAD, *map(ragged_line, results["ragged"]), "",
        f"Beside attnc: {versions}. † further than twice a plain computation in float32 of the same keys and values."]) + "\n"


def write(results, name):
    folder = os.path.join(report.HERE, "results")
    report.write_json(results, os.path.join(folder, name + ".json"))
    with open(os.path.join(folder, name + ".md"), "w") as file:
        file.write(markdown(results))
    report.update(DOCS, "bench", markdown(results))


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench serving", description=__doc__)
    parser.add_argument("--attnc", default="attnc", help=argparse.SUPPRESS)
    parser.add_argument("--only", metavar="PATTERN", default="", help="only groups of rows whose name has this pattern")
    parser.add_argument("--peers", metavar="NAME,…", help="only these files of bench/peers ('none': no peer)")
    parser.add_argument("--seconds", type=float, default=6, help="time for each group of rows (default 6)")
    parser.add_argument("--core", type=int, help="the core to run on (default: the last one allowed)")
    parser.add_argument("--shared", action="store_true", help="say in the results that other work ran beside")
    parser.add_argument("--name", default=bench.stem("serving"), metavar="STEM",
                        help="stem of the result files (default: this processor's, %(default)s)")
    options = parser.parse_args()
    options.peers = PEERS if options.peers is None else [] if options.peers == "none" else options.peers.split(",")
    if unknown := [name for name in options.peers if name not in PEERS]:
        parser.error(f"expected peers among {', '.join(PEERS)}, found {', '.join(unknown)}")
    return parser, options


def main():
    parser, options = parse_arguments()
    groups = [[case, *cases.in_pages(case), *cases.narrowed(case)] for case in cases.SERVING]
    groups = [group for group in groups + [[case] for case in cases.LATENT] if re.search(options.only, group[0].name)]
    batches = [case for case in cases.ragged_batches() if re.search(options.only, case.name)]
    if not groups and not batches:
        parser.error(f"nothing is named like '{options.only}'")
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0)) if options.core is None else options.core})
    peers, limits = bench.find_peers(options.peers), Limits()
    print(bench.machine(), head([peer.NAME for peer in peers]), sep="\n\n", flush=True)
    results = {"date": datetime.date.today().isoformat(), "machine": bench.machine(), "shared": options.shared,
               "peers": {peer.NAME: peer.VERSION for peer in peers},
               "rows": sum((time_group(group, peers, limits, options) for group in groups), [])}
    print("\n" + RAGGED_HEAD, flush=True)
    results["ragged"] = [time_ragged(case, options) for case in batches]
    if not options.only:  # a part does not replace the whole
        write(results, options.name)
    rows = results["rows"] + results["ragged"]
    return 0 if all(row["implementations"][ours.NAME]["right"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
