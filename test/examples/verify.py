"""Runs `attnc verify` over every function of every spec of the examples."""

import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor


def functions(spec):
    return re.findall(r"^func\.func @(\w+)", spec.read_text(), re.MULTILINE)


def verify(task):
    spec, function = task
    command = ["attnc", "verify", str(spec), f"--function={function}"]
    done = subprocess.run(command, capture_output=True, text=True)
    print(f"{spec.parent.name}/{spec.name} @{function}:", (done.stdout.splitlines() or [""])[-1])
    if done.returncode != 0:
        print(done.stdout, done.stderr)
    return done.returncode == 0


specs = sorted(pathlib.Path(sys.argv[1]).glob("*/*.mlir"))
tasks = [(spec, function) for spec in specs for function in functions(spec)]
# Wide enough for a processor each; the libraries have threads of their own.
with ThreadPoolExecutor(2) as pool:
    good = list(pool.map(verify, tasks))
print(f"{sum(good)} of {len(tasks)} functions verified")
sys.exit(not tasks or not all(good))
