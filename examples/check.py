"""Runs the spec of an example through attnc and compares it with its plain.py,
or with what its module.py computed in PyTorch, and with attnc's own reference.

usage: check.py FOLDER...

plain.py has `inputs(rng)`, a dict of arrays by argument name, and
`outputs(**inputs)`, a dict of arrays by result name, which computes in the
element type it is given. What module.py computed lies in recorded.npz (see
record.py). ATTNC_CHECK_TARGET is the target to compile for (host).
"""

import importlib.util
import os
import subprocess
import sys
import tempfile

import numpy as np


def softmax(score):
    """Along the last axis; 0 in rows where every score is -inf."""
    top = np.max(score, axis=-1, keepdims=True, initial=-np.inf)
    weight = np.exp(score - np.where(np.isneginf(top), 0, top))
    total = np.sum(weight, axis=-1, keepdims=True)
    return np.divide(weight, total, out=np.zeros_like(weight), where=total != 0)


def log_sum_exp(score):
    """Along the last axis; -inf in rows where every score is -inf."""
    top = np.max(score, axis=-1, keepdims=True, initial=-np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        total = np.log(np.exp(score - top).sum(axis=-1))
    top = top[..., 0]
    return np.where(np.isinf(top), top, top + total)


def score(query, key):
    """query·keyᵀ per head; heads of a group share their key head."""
    return query @ repeat_heads(key, query).swapaxes(-1, -2)


def context(prob, value):
    """prob·value per head; where prob is 0 the value does not matter, not even NaN."""
    value = repeat_heads(value, prob)
    broken = ~np.isfinite(value)
    result = prob @ np.where(broken, 0, value)
    if broken.any():
        reached = (prob != 0).astype(np.float32) @ broken.astype(np.float32) > 0
        result[reached] = np.nan
    return result


def repeat_heads(shared, like):
    return np.repeat(shared, like.shape[1] // shared.shape[1], axis=1)


def allowed_error(plain, exact):
    """Twice the error of the plain computation in the same type, and 4 eps; of
    integers and booleans none."""
    if plain.dtype.kind != "f":
        return 0.0
    finite = np.isfinite(exact)
    if not finite.any():
        return 0.0
    error = np.abs(plain[finite].astype(np.longdouble) - exact[finite]).max()
    return 2 * error + 4 * np.finfo(plain.dtype).eps * np.abs(exact[finite]).max()


def compare(name, ours, plain, exact):
    """Prints how far `ours` is from `exact`, and returns whether that is allowed.
    NaN and infinities must stand in the same places."""
    if ours.shape != exact.shape or ours.dtype != plain.dtype:
        print(f"{name}: expected {plain.dtype}{exact.shape}, found {ours.dtype}{ours.shape}")
        return False
    finite = np.isfinite(exact)
    same_places = np.array_equal(ours[~finite].astype(np.longdouble), exact[~finite], equal_nan=True)
    difference = np.abs(ours[finite].astype(np.longdouble) - exact[finite])
    error, allowed = difference.max(initial=0.0), allowed_error(plain, exact)
    good = same_places and error <= allowed  # false for NaN
    print(f"{name}: error {error:.2e}, allowed {allowed:.2e}" + ("" if good else "  WRONG"))
    if not same_places:
        print(f"{name}: NaN or infinity in other places than expected")
    return good


def run_attnc(spec, inputs, results, *options):
    """The named results of `attnc run` on the arrays `inputs`."""
    with tempfile.TemporaryDirectory() as scratch:
        command = ["attnc", "run", spec, "--target", os.environ.get("ATTNC_CHECK_TARGET", "host"), *options]
        for name, array in inputs.items():
            path = os.path.join(scratch, name + ".npy")
            np.save(path, array)
            command.append(f"--input={name}=@{path}")
        paths = {name: os.path.join(scratch, "result-" + name + ".npy") for name in results}
        command += [f"--output={name}=@{path}" for name, path in paths.items()]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return {name: np.load(path) for name, path in paths.items()}


def as_type(arrays, dtype):
    """Floats in another type; integers and booleans as they are."""
    return {n: a.astype(dtype) if a.dtype.kind == "f" else a for n, a in arrays.items()}


def check(label, spec, inputs, outputs, *options):
    """Runs `spec` on float `inputs` and compares with `outputs(**inputs)`."""
    # What holds f64 itself is compared with more than that.
    widest = np.longdouble if any(a.dtype == np.float64 for a in inputs.values()) else np.float64
    exact = outputs(**as_type(inputs, widest))
    plain = outputs(**inputs)
    ours = run_attnc(spec, inputs, list(exact), *options)
    return all([compare(f"{label} {n}", ours[n], plain[n], exact[n]) for n in exact])


def verify(spec, function):
    """Compares one function with attnc's reference at other sizes and values."""
    command = ["attnc", "verify", spec, f"--function={function}"]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    print(f"{function} verify:", (result.stdout.splitlines() or ["no output"])[-1])
    return result.returncode == 0


def check_recorded(folder):
    """Runs every function of the spec on the inputs that were recorded."""
    cases = {}
    with np.load(os.path.join(folder, "recorded.npz")) as recorded:
        for key in recorded.files:
            function, part, name = key.split("/")
            cases.setdefault(function, {}).setdefault(part, {})[name] = recorded[key]

    spec = os.path.join(folder, "spec.mlir")

    def check_function(function, case):
        ours = run_attnc(spec, case["in"], list(case["f64"]), f"--function={function}")
        good = [compare(f"{function} {n}", ours[n], case["f32"][n], case["f64"][n])
                for n in case["f64"]]
        return all([*good, verify(spec, function)])

    return all([check_function(function, case) for function, case in cases.items()])


def check_folder(folder):
    if os.path.exists(os.path.join(folder, "recorded.npz")):
        return check_recorded(folder)
    return check_plain(folder)


def check_plain(folder):
    location = importlib.util.spec_from_file_location("plain", os.path.join(folder, "plain.py"))
    plain = importlib.util.module_from_spec(location)
    location.loader.exec_module(plain)
    inputs = as_type(plain.inputs(np.random.default_rng(0)), np.float32)
    spec = os.path.join(folder, "spec.mlir")
    return check(os.path.basename(os.path.normpath(folder)), spec, inputs, plain.outputs)


if __name__ == "__main__":
    sys.modules["check"] = sys.modules["__main__"]  # what plain.py imports
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(not all([check_folder(folder) for folder in sys.argv[1:]]))
