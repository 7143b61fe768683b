"""Runs `attnc verify` over the functions of all specs of the examples: a third of them, or all with `./dev test --all`."""

import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "Integration"))
from sample import sample  # noqa: E402


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
tasks = sample((spec, function) for spec in specs for function in functions(spec))
# Wide enough for a processor each; the libraries have threads of their own.
with ThreadPoolExecutor(2) as pool:
    good = list(pool.map(verify, tasks))
print(f"{sum(good)} of {len(tasks)} functions verified")
sys.exit(not tasks or not all(good))
