"""Holds random graphs to numpy: compiled = attnc's reference = an independent computation.

    check.py [--seed N] [--count N] [--target TARGET] [--jobs N] [--keep FILE] [--save FOLDER]

A graph for each seed. Its library is called with several kinds of values, from memory that is guarded and
laid out in other ways (calls.py). Every result has to be as near to the exact one as twice a plain
computation in the same types, plus 4 eps of the largest; NaN and infinities stand where they belong.
Needs attnc in the PATH.
"""

import argparse
import concurrent.futures
import functools
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np
from arithmetic import Arithmetic
from draw import draw
from evaluate import evaluate
from graph import FLOATS
from text import text
from values import KINDS, TYPES, draw_inputs

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "CPU"))
import calls  # noqa: E402

EPS = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23, "f64": 2.0**-52}
DENORMAL = 2.0**-125  # numbers below the least normal one of f32 may count as 0
# Of sums, in which the plain result is computed: of more only where the error of these would be exceeded.
ORDERS, MOST_ORDERS = 4, 16
SECONDS = 300  # what a tool or the calls may take
REFUSAL = "expected a math function of GPUs"


class Wrong(Exception):
    pass


# Expectations.

def coarsest_eps(graph):
    """For each result, eps of the coarsest type that it is computed through."""
    coarsest = {}
    for op in graph.ops:
        own = [EPS[tensor.element] for tensor in op.results if tensor.element in FLOATS]
        worst = max(own + [coarsest.get(operand, 0) for operand in op.operands], default=0)
        coarsest.update((tensor, worst) for tensor in op.results)
    return [coarsest.get(result, 0) for result in graph.results]


class Expected:
    """The exact result, and plain ones: the error of one is luck, that of the worst of a few hardly."""

    def __init__(self, graph, inputs, sizes):
        types = {a.tensor.element for a in graph.arguments} | {graph.element}
        self.coarsest = coarsest_eps(graph)
        exact = np.longdouble if "f64" in types else np.float64
        self.elements = [result.element for result in graph.results]
        self.exact = evaluate(graph, inputs, sizes, Arithmetic(exact))
        self.evaluate = functools.partial(evaluate, graph, inputs, sizes)
        self.plain = [self.evaluate(Arithmetic(order=order, keeps_hidden=order == 1)) for order in range(ORDERS)]

    def compare(self, at, found, *, is_exact=False):
        """What is wrong with a result, or None."""
        exact, element = self.exact[at], self.elements[at]
        if found.shape != exact.shape:
            return f"expected shape {exact.shape}, found {found.shape}"
        if element not in FLOATS:
            return None if np.array_equal(found, exact) else f"{np.sum(found != exact)} integers differ"
        problem = self.compare_floats(at, found, is_exact)
        if problem and len(self.plain) < MOST_ORDERS:
            self.plain += [self.evaluate(Arithmetic(order=order)) for order in range(ORDERS, MOST_ORDERS)]
            problem = self.compare_floats(at, found, is_exact)
        return problem

    @np.errstate(all="ignore")
    def compare_floats(self, at, found, is_exact):
        exact, plains, eps = self.exact[at], [plain[at] for plain in self.plain], EPS[self.elements[at]]
        wanted = exact.astype(np.float64)
        finite = np.isfinite(wanted) & np.all([np.isfinite(plain) for plain in plains], axis=0)
        same = np.all([(plain == wanted) | np.isnan(plain) & np.isnan(wanted) for plain in plains], axis=0)
        special = ~np.isfinite(wanted) & same  # else the types decide whether it overflows
        misplaced = special & ~((found == wanted) | np.isnan(found) & np.isnan(wanted)) | finite & ~np.isfinite(found)
        if misplaced.any():
            place = tuple(int(i) for i in np.argwhere(misplaced)[0])
            return f"{misplaced.sum()} NaN or infinity misplaced, at {place} {found[place]} for {wanted[place]}"
        largest = np.max(np.abs(wanted[finite]), initial=0)
        error = float(np.max(np.abs(found[finite] - exact[finite]), initial=0))
        plain = max(float(np.max(np.abs(plain[finite] - exact[finite]), initial=0)) for plain in plains)
        # Of one rounding to the coarsest type, too, the plain error may be luck in every order.
        allowed = max(2 * plain + 4 * eps * largest, self.coarsest[at] / 2 * largest) + DENORMAL
        if is_exact:  # in f64 as well, sums in another order are all that may differ
            allowed = 1e-9 * largest + 1e-4 * plain
        if error <= allowed:
            return None
        return f"error {error:.3e}, allowed {allowed:.3e}, plain {plain:.3e}, largest {largest:.3e}"


# The reference.

def stored(array, element):
    """As memory holds it: bf16 as its bits."""
    if element == "bf16":
        return (array.view(np.uint32) >> 16).astype(np.int16)
    return np.array(array, TYPES[element], order="C")


def shown(array, element):
    return (array.astype(np.int32) << 16).view(np.float32) if element == "bf16" else array


def command(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode != 0:
        raise Wrong(f"{words[1]} ended with {done.returncode}: {done.stderr.strip()[-400:]}")


def run_reference(graph, inputs, folder):
    """The results that `attnc run --reference` gives, in f64."""
    spec = os.path.join(folder, "reference.mlir")
    with open(spec, "w") as file:
        file.write(text(graph, narrows=True))
    words = ["attnc", "run", spec, "--reference", "--f64"]
    for argument in graph.arguments:
        name, element = argument.tensor.name, argument.tensor.element
        path = os.path.join(folder, f"{name}.npy")
        np.save(path, np.asarray(inputs[name], TYPES[element]))
        words.append(f"--input={name}{'_f32' if element == 'bf16' else ''}=@{path}")
    outputs = [os.path.join(folder, f"out{at}.npy") for at in range(len(graph.results))]
    command(*words, *[f"--output=out{at}=@{output}" for at, output in enumerate(outputs)])
    return [np.load(output) for output in outputs]


# The library.

def call_library(graph, folder, seed, cases):
    """In a process of its own, which a kernel may end."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        problem = "an exception in the caller"
        try:
            problem = "\n".join(problems_of_calls(graph, folder, seed, cases))
        except SystemExit as error:
            problem = str(error)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        finally:
            os.write(writer, problem.encode()[:4000])
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        problem = pipe.read()
    status = os.waitpid(child, 0)[1]
    if status != 0:
        raise Wrong(f"the call ended with status {status}")
    if problem:
        raise Wrong(problem)


def problems_of_calls(graph, folder, seed, cases):
    for call, (inputs, sizes, expected) in enumerate(cases):
        library = calls.Library(os.path.join(folder, "kernel.json"), sizes)
        arrays = [stored(inputs[a.tensor.name], a.tensor.element) for a in graph.arguments]
        outputs = call_guarded(library, arrays, at_end=call % 2 == 0)
        for at, (output, element) in enumerate(zip(outputs, expected.elements)):
            problem = expected.compare(at, shown(output, element))
            if problem:
                yield f"call {call} ({KINDS[call % len(KINDS)]}) out{at}: {problem}"
        if call == seed % len(cases):
            calls.vary(library, arrays, outputs, np.random.default_rng(seed))


def call_guarded(library, arrays, at_end):
    """The results, of tensors beside pages that nobody may touch."""
    inputs = [calls.guard(array, at_end) for array in arrays]
    outputs = [calls.guard(parameter.zeros(), at_end) for parameter in library.outputs]
    if library.call(inputs, outputs) != 0:
        raise Wrong(library.error().decode())
    return outputs


# Seeds.

def compile_graph(graph, target, folder):
    spec, library = os.path.join(folder, "spec.mlir"), os.path.join(folder, "library")
    with open(spec, "w") as file:
        file.write(text(graph))
    command("attnc", "compile", spec, "--name", "kernel", "--emit", "shared_library,json", "--target", target,
            "-o", library)
    return library


def check_seed(seed, target, folder, count):
    graph, cases = draw(seed), []
    library = compile_graph(graph, target, folder) if target != "reference" else None
    for call in range(count):
        inputs, sizes = draw_inputs(graph, seed, call), graph.sizes(call)
        expected = Expected(graph, inputs, sizes)
        cases.append((inputs, sizes, expected))
        for at, found in enumerate(run_reference(graph, inputs, folder)):
            problem = expected.compare(at, found, is_exact=True)
            if problem:
                raise Wrong(f"reference, call {call} ({KINDS[call % len(KINDS)]}) out{at}: {problem}")
    if library:
        call_library(graph, library, seed, cases)


def check(seed, options):
    """What is wrong with a seed, or None."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ATTNC_CACHE"] = os.path.join(folder, "cache")
        try:
            return check_seed(seed, options.target, folder, options.calls)
        except Wrong as wrong:
            problem = str(wrong)
            if REFUSAL in problem:
                return REFUSAL
        except subprocess.TimeoutExpired as late:
            problem = f"{late.cmd[1]} took over {SECONDS} s"
        if options.save:
            shutil.rmtree(os.path.join(folder, "cache"), ignore_errors=True)
            shutil.copytree(folder, os.path.join(options.save, str(seed)), dirs_exist_ok=True)
        return problem


def kept_seeds(path):
    """The seeds of a list, a line each, with the reason behind them."""
    with open(path) as file:
        return [int(line.split()[0]) for line in file if line.strip() and line[0] != "#"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=10, help="how many seeds")
    parser.add_argument("--calls", type=int, default=4, help="how many calls for each")
    parser.add_argument("--target", default="host", help="or 'reference', which compiles nothing")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time")
    parser.add_argument("--keep", metavar="FILE", help="a list of seeds that come first")
    parser.add_argument("--save", metavar="FOLDER", help="where what fails is left")
    options = parser.parse_args()
    seeds = kept_seeds(options.keep) if options.keep else []
    seeds += range(options.seed, options.seed + options.count)
    failures = refusals = 0
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        for seed, problem in zip(seeds, pool.map(check, seeds, [options] * len(seeds))):
            refusals += problem == REFUSAL
            if problem and problem != REFUSAL:
                failures += 1
                print(f"seed {seed}: {problem}", flush=True)
    refused = f", {refusals} refused, as GPUs lack a math function" if refusals else ""
    print(f"{len(seeds) - failures - refusals} passed, {failures} failed{refused}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
