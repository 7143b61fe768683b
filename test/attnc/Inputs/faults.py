"""Runs a command in an empty folder over and over, while one of its calls after the other fails.

A run that fails says why and leaves nothing half-written: each file that there is has the bytes of
a run that succeeded. A run that is done has left all of them. One that is out of memory says so
once.
"""

import argparse
import os
import shutil
import subprocess
import sys


def contents(folder):
    """Of all files, but for reproducers; a hidden folder counts as one."""
    files = {}
    for parent, folders, names in os.walk(folder):
        files.update((name, None) for name in folders if name.startswith("."))
        for name in names:
            if name.startswith("attnc-reproducer-"):
                continue
            path = os.path.join(parent, name)
            with open(path, "rb") as file:
                files[os.path.relpath(path, folder)] = file.read()
    return files


def run(options, at):
    """Returns the exit code, the files, whether the fault came to be, and the messages."""
    log = options.folder + ".fault"
    for path in (options.folder, log):
        shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) else os.path.exists(path) and os.remove(path)
    os.makedirs(options.folder)
    faults = {"LD_PRELOAD": options.preload, "FAULT_KIND": options.kind, "FAULT_AT": str(at), "FAULT_LOG": log}
    done = subprocess.run(options.command, cwd=options.folder, env={**os.environ, **faults}, text=True,
                          errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    return done.returncode, contents(options.folder), os.path.exists(log), done.stdout


def check(options, at, expected):
    """Whether the fault came to be; exits where something is wrong."""
    code, files, fired, output = run(options, at)
    problem = ""
    if code not in options.codes:
        problem = f"exit code {code}"
    elif code == 0 and files != expected:
        problem = "exit code 0, but the files differ"
    elif code != 0 and "error:" not in output:
        problem = "no message"
    elif options.kind == "malloc" and output.count("error:") > 1:
        problem = "more than one message"
    for name, content in files.items():
        if expected.get(name) != content:
            problem = f"a half-written file {name}"
    if problem:
        sys.exit(f"{options.kind} {at}: {problem}\n{output}")
    return fired


def places(at, step):
    """1, 2, 3, …, or further and further apart."""
    while True:
        yield at
        at = max(at + 1, int(at * step))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preload", required=True)
    parser.add_argument("--kind", choices=["write", "malloc"], required=True)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--step", type=float, default=1)
    parser.add_argument("--codes", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--folder", required=True)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    code, expected, _, output = run(options, -1)
    if code != 0 or not expected:
        sys.exit(f"expected the command to succeed and to write files, found exit code {code}\n{output}")
    count = 0
    for at in places(options.first, options.step):
        if not check(options, at, expected):
            break
        count += 1
    print(f"{count} faults")


if __name__ == "__main__":
    main()
