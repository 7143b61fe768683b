"""Runs lit and the unit tests, and closes with one line: N passed, N failed."""

import argparse
import collections
import glob
import json
import os
import subprocess
import sys
import tempfile

PASSED = {"PASS", "XFAIL", "FLAKYPASS"}
# What `host` stands for, as on such a CPU.
CPUS = {"sse41": "x86-64-linux-sse41",
        "avx2": "x86-64-linux-avx-avx2-f16c-fma-sse41",
        "avx512": "x86-64-linux-avx-avx2-avx512-avx512_skylake-f16c-fma-sse41"}


def run_lit(options, scratch):
    """Returns lit's tally; a test that lit skips counts as failed, for nothing
    in this project may be skipped."""
    out = os.path.join(scratch, "lit.json")
    command = [options.lit, "-v", "--order=lexical", "-o", out]
    if options.all:
        os.environ["ATTNC_TEST_ALL"] = "1"
    if options.quick:
        command += ["-D", "quick=1"]
    subprocess.run(command + [os.path.join(options.build, "test")])
    with open(out) as file:
        tests = json.load(file)["tests"]
    return collections.Counter(test["code"] in PASSED for test in tests)


def run_unit_tests(options, scratch):
    """Runs every program build/bin/*-unit-tests. One that dies before it has written
    its results counts as one failure."""
    tally = collections.Counter()
    for program in sorted(glob.glob(os.path.join(options.build, "bin", "*-unit-tests"))):
        out = os.path.join(scratch, os.path.basename(program) + ".json")
        done = subprocess.run([program, "--gtest_brief=1", "--gtest_output=json:" + out])
        if not os.path.exists(out):
            print(f"{program} ended with status {done.returncode} and no results")
            tally[False] += 1
            continue
        with open(out) as file:
            results = json.load(file)
        tally[True] += results["tests"] - results["failures"]
        tally[False] += results["failures"]
    return tally


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lit", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--quick", action="store_true", help="leave out the long numeric tests")
    parser.add_argument("--all", action="store_true", help="all cases of the long tests, not a share of them")
    parser.add_argument("--cpu", choices=CPUS, help="compile for `host` as on such a CPU")
    options = parser.parse_args()
    if options.cpu:
        os.environ["ATTNC_HOST_TARGET"] = CPUS[options.cpu]
        os.environ.setdefault("ATTNC_TEST_SEED", "1")  # another share of long lists
    with tempfile.TemporaryDirectory() as scratch:
        tally = run_lit(options, scratch) + run_unit_tests(options, scratch)
    print(f"{tally[True]} passed, {tally[False]} failed")
    return 0 if tally[True] and not tally[False] else 1


if __name__ == "__main__":
    sys.exit(main())
