"""Runs the fuzz targets, one after the other, on one core.

A finding (a sanitizer's report, an assertion, a broken promise, more than 10 seconds or 2 GB for
one input) ends its target; it is made smaller and kept, and its path is printed. Mended findings
go to test/fuzz/TARGET, whose files are seeds from then on.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys

import corpus

TARGETS = ["onnx", "safetensors", "npy", "spec", "call"]
LIMITS = ["-timeout=10", "-rss_limit_mb=2048", "-malloc_limit_mb=1024", "-print_final_stats=1", "-print_funcs=0"]


def parse_options():
    parser = argparse.ArgumentParser(prog="./dev fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS) + " (default: all)")
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument("--seconds", type=int, default=60, help="for each target (default: 60)")
    limit.add_argument("--runs", type=int, help="inputs for each target, seeds included, the same ones each time")
    parser.add_argument("--list", action="store_true", help="print the targets")
    parser.add_argument("--build", default="build-sanitize", help=argparse.SUPPRESS)
    parser.add_argument("--onnx", default=".deps/onnx", help=argparse.SUPPRESS)
    options = parser.parse_args()
    for target in options.targets:
        if target not in TARGETS:
            parser.error(f"expected a target of {', '.join(TARGETS)}, found {target}")
    return options


def limit_of(options):
    if options.runs is not None:
        # Seeds stay even where nothing tells what an input reaches, as in a build without sanitizers.
        return [f"-runs={options.runs}", "-seed=1", "-keep_seed=1"]
    return [f"-max_total_time={options.seconds}"]


def show(line):
    """Of libFuzzer's lines those that say how far it is, and all of a finding."""
    progress = re.match(r"#\d+\s+(INITED|pulse|DONE|RELOAD)", line)
    if progress or not re.match(r"#\d+\s|INFO:|#{6}|\"|.*(error|warning|note|remark): ", line):
        print("  " + line.rstrip(), flush=True)


def run(program, arguments):
    """Returns whether it ended well."""
    process = subprocess.Popen([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace")
    for line in process.stdout:
        show(line)
    return process.wait() == 0


def minimise(program, found):
    """The path of a smaller input that still ends the process, or of the same one."""
    smaller = found + ".min"
    subprocess.run([program, "-minimize_crash=1", "-max_total_time=30", f"-exact_artifact_path={smaller}",
                    *LIMITS, found], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return smaller if os.path.exists(smaller) else found


def fuzz(target, options):
    """Returns the path of a finding, or None."""
    program = os.path.join(options.build, "bin", target + "-fuzzer")
    folder = os.path.join(options.build, "fuzz")
    # What is found to reach further is kept beside the seeds; of --runs, nothing is.
    seeds, findings = os.path.join(folder, target + "-seeds"), os.path.join(folder, "findings")
    kept = os.path.join(folder, target + ("-runs" if options.runs is not None else ""))
    shutil.rmtree(seeds, ignore_errors=True)
    if options.runs is not None:
        shutil.rmtree(kept, ignore_errors=True)
    for made in (kept, findings):
        os.makedirs(made, exist_ok=True)
    corpus.write(target, seeds, options.onnx)
    before = set(os.listdir(findings))
    print(f"==> fuzzing {target}: {len(os.listdir(seeds))} seeds", flush=True)
    arguments = [*LIMITS, *limit_of(options), f"-artifact_prefix={findings}/{target}-", kept, seeds]
    dictionary = os.path.join(corpus.HERE, target + ".dict")
    if os.path.exists(dictionary):
        arguments.append(f"-dict={dictionary}")
    if run(program, arguments):
        return None
    found = sorted(set(os.listdir(findings)) - before)
    return minimise(program, os.path.join(findings, found[0])) if found else program


def main():
    options = parse_options()
    if options.list:
        print("\n".join(TARGETS))
        return 0
    findings = [fuzz(target, options) for target in options.targets or TARGETS]
    for found in filter(None, findings):
        print(f"finding: {found}", file=sys.stderr)
    return 1 if any(findings) else 0


if __name__ == "__main__":
    sys.exit(main())
