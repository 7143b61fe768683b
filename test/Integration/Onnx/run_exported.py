"""Runs models that PyTorch exported through attnc, and compares with float64 results.

usage: run_exported.py FOLDER [PATTERN]

A fifth of them, or all with `./dev test --all`. FOLDER is what export.py or optimize.py wrote. A model is right if its error is at most twice that
of PyTorch in float32, plus 4 eps of the largest result; with open dimensions it is called at all
sizes there are. Each attention that can be one kernel must be.
"""

import concurrent.futures
import fnmatch
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from sample import sample  # noqa: E402

# How many attentions a case has that can be one kernel, where it isn't one. Others give the
# prob of a single row as a result too, have a softmax over something else, or none, or one key more.
FUSED = {
    "cross": 2, "differential": 2, "encoder": 2,
    "bilinear_key": 0, "bilinear_query": 0, "luong_concat_1": 0, "luong_concat_2": 0,
    "luong_dot_1": 0, "luong_general_1": 0, "time_first_incremental": 0,
    "time_first_static": 0, "external": 0, "sigmoid": 0,
}
EPS = np.finfo(np.float32).eps


def run(arguments):
    done = subprocess.run([os.environ.get("ATTNC", "attnc"), *arguments],
                          capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[0])
    return done.stdout


def call(model, inputs, outputs):
    with tempfile.TemporaryDirectory() as scratch:
        command = ["run", model]
        for name, array in inputs.items():
            np.save(f"{scratch}/in_{name}.npy", array)
            command += ["--input", f"{name}=@{scratch}/in_{name}.npy"]
        for name in outputs:
            command += ["--output", f"{name}=@{scratch}/out_{name}.npy"]
        run(command)
        return {name: np.load(f"{scratch}/out_{name}.npy") for name in outputs}


def compare(data, index, ours):
    for name, result in ours.items():
        exact, plain = data[f"{index}.out.{name}"], data[f"{index}.plain.{name}"]
        if result.shape != exact.shape:
            raise RuntimeError(f"{name}: expected {exact.shape}, found {result.shape}")
        error = np.abs(result - exact).max()
        allowed = 2 * plain + 4 * EPS * np.abs(exact).max()
        if not error <= allowed:
            raise RuntimeError(f"{name}: the error is {error:.3g}, allowed are {allowed:.3g}")


def check_fusion(case, model):
    """Where no attention fuses, explain says why or that there is none."""
    report = run(["explain", model])
    expected, found = FUSED.get(case, 1), report.count("fused into attn.attention")
    if found != expected:
        raise RuntimeError(f"expected {expected} fused, found {found}")
    if found == 0 and "not fused: " not in report and "nothing to fuse" not in report:
        raise RuntimeError("expected a reason why nothing fused, found none")
    return found


def check(model):
    """What went wrong, or how many attentions fused."""
    case = model.name.split(".")[0]
    data = np.load(model.parent / f"{case}.npz")
    try:
        calls = sorted({key.split(".")[0] for key in data})
        for index in calls if ".dynamic." in model.name else calls[:1]:
            parts = {kind: {k.split(".")[2]: data[k] for k in data if k.startswith(f"{index}.{kind}.")}
                     for kind in ("in", "out")}
            compare(data, index, call(model, parts["in"], parts["out"]))
        fused = check_fusion(case, model)
    except RuntimeError as error:
        return f"FAIL {model.name}: {error}"
    return f"pass {model.name}: {fused} fused"


def main():
    pattern = sys.argv[2] if len(sys.argv) > 2 else "*"
    models = sample(sorted(m for m in pathlib.Path(sys.argv[1]).glob("*.onnx")
                    if fnmatch.fnmatch(m.name, pattern)), share=5)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        for result in pool.map(check, models):
            print(result, flush=True)
            failed += result.startswith("FAIL")
    print(f"{len(models) - failed} passed, {failed} failed")
    sys.exit(1 if failed or not models else 0)


if __name__ == "__main__":
    main()
