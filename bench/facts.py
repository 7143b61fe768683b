"""Measurements without a peer, made once: each function takes a `Place` to work in and
returns its figures and a sentence. Add a function to FACTS to add a row."""

import dataclasses
import os
import statistics
import subprocess
import tempfile
import time

import cases
import numpy as np
import ours
from work import Attention, Variant

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "examples")


@dataclasses.dataclass
class Place:
    """The command line, the available cores, and an empty folder."""

    options: object
    cores: set
    folder: str

    def kernel(self, case):
        """The case's kernel and its inputs."""
        arrays = case.inputs()
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            return ours.Kernel(case, arrays, self.options, folder), arrays


def shortest(calls, seconds, clock=time.thread_time):
    """The shortest time of each call, in turns."""
    times = [[] for _ in calls]
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(times[0]) < 3:
        for call, spent in zip(calls, times):
            begin = clock()
            call()
            spent.append(clock() - begin)
    return [min(spent) for spent in times]


def compile_open(place):
    """Dynamic batch and lengths: a library holds a kernel for each range of lengths."""
    seconds = {}
    for name in ("causal", "window", "alibi", "softcap", "grouped", "padded"):
        spec = os.path.join(EXAMPLES, name, "spec.mlir")
        seconds[name] = ours.compile(spec, place.options, place.folder)
    slowest = max(seconds, key=seconds.get)
    return {"seconds": seconds}, f"{seconds[slowest]:.1f} s at most (examples/{slowest})"


def build_program(place, spec, name, *arguments):
    """program.c with the kernel of `spec` in it."""
    ours.compile(spec, place.options, place.folder, *arguments)
    library, program = (os.path.join(place.folder, file) for file in (f"lib{name}.a", name))
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-I", place.folder, f'-DHEADER="{name}.h"', f"-DKERNEL={name}",
                    os.path.join(HERE, "program.c"), library, "-o", program, "-lm", "-lpthread", "-ldl"], check=True)
    return library, program


def peak_memory(place):
    """Peak memory of a C program that calls the kernel once."""
    case = Attention(1, 1, 65536, 64)
    spec = ours.write_spec(case, case.inputs(), place.folder)
    _, program = build_program(place, spec, "kernel", "--name", "kernel")
    done = subprocess.run([program, *map(str, case.output_shape())], check=True, stdout=subprocess.PIPE, text=True)
    peak, tensors = map(int, done.stdout.split())
    return ({"peak_bytes": peak, "tensor_bytes": tensors},
            f"{(peak - tensors) / 1e6:.1f} MB beside {tensors / 1e6:.0f} MB of inputs and outputs")


def start(place):
    """examples/causal as a C program, from exec to exit, beside a program that does nothing."""
    library, program = build_program(place, os.path.join(EXAMPLES, "causal", "spec.mlir"), "causal")
    shape = ["1", "8", "1", "64"]
    run = lambda *command: subprocess.run([program, *command], stdout=subprocess.DEVNULL)
    assert run(*shape).returncode == 0
    with_call, without = shortest([lambda: run(*shape), run], 2, clock=time.monotonic)
    size = os.path.getsize(library)
    return ({"library_bytes": size, "with_call_ms": 1e3 * with_call, "without_ms": 1e3 * without},
            f"libcausal.a {size / 1e3:.0f} kB; a program that calls it {1e3 * with_call:.2f} ms, "
            f"one that does not {1e3 * without:.2f} ms")


def scaling(place):
    """Wall time of prefill, the shortest of many, since other work may use both cores."""
    if len(place.cores) < 2:
        return {}, "not measured: one core"
    kernel, arrays = place.kernel(Attention(1, 8, 2048, 64))
    pinned = os.sched_getaffinity(0)
    os.sched_setaffinity(0, place.cores)
    try:
        one, two = shortest([kernel.bind(arrays, threads) for threads in (1, 2)], 5, clock=time.monotonic)
    finally:
        os.sched_setaffinity(0, pinned)
    return {"one_ms": 1e3 * one, "two_ms": 1e3 * two}, f"{one / two:.2f} times as fast as one"


def large_scores(place):
    """Scores of about ±1e4 against normal ones."""
    kernel, arrays = place.kernel(Attention(1, 8, 2048, 64))
    large = arrays | {"query": arrays["query"] * np.float32(1e4)}
    return compare([kernel.bind(arrays), kernel.bind(large)])


def hide_keys(place, hidden):
    """A kernel with a mask tensor, inputs whose mask shows all keys, and a mask that hides
    some keys from every row."""
    seen = Variant("", "tensor(%mask : $mask)", lambda a, b, h, q, k: a["mask"][q, k],
                   inputs={"mask": lambda case, rng: np.ones((case.q_len, case.keys), bool)})
    kernel, arrays = place.kernel(Attention(1, 8, 2048, 64, seen))
    mask = arrays["mask"].copy()
    mask[:, hidden] = False
    return kernel, arrays, mask


def first_keys_masked(place):
    kernel, arrays, mask = hide_keys(place, slice(100))
    return compare([kernel.bind(arrays), kernel.bind(arrays | {"mask": mask})])


def masked_nan(place):
    """NaN in masked values, so that every row needs the safe path."""
    hidden = slice(5, None, 64)
    kernel, arrays, mask = hide_keys(place, hidden)
    value = arrays["value"].copy()
    value[:, :, hidden] = np.nan
    return compare([kernel.bind(arrays), kernel.bind(arrays | {"mask": mask, "value": value})])


def compare(calls):
    usual, other = shortest(calls, 3)
    return {"usual_ms": 1e3 * usual, "ms": 1e3 * other}, f"{other / usual:.2f} times the usual time"


def window_per_row(place):
    """One head, a window of 256 keys."""
    rows = {}
    for length in (4096, 16384, 65536):
        kernel, arrays = place.kernel(Attention(1, 1, length, 64, cases.WINDOW))
        spent, = shortest([kernel.bind(arrays)], 1)
        rows[length] = 1e6 * spent / length
    return {"us_per_row": rows}, " · ".join(f"{spent:.3f}" for spent in rows.values()) + " µs"


# Name, bound, and function.
FACTS = [
    ("attnc compile, open sizes", "10 s", compile_open),
    ("peak memory at (1,1,65536,64)", "64 MB beside inputs and outputs", peak_memory),
    ("two threads at (1,8,2048,64)", "1.7 times one", scaling),
    ("start of a C program", "", start),
    ("scores of ±1e4 at (1,8,2048,64)", "2.2 times the usual time", large_scores),
    ("first 100 keys masked at (1,8,2048,64)", "2.2 times the usual time", first_keys_masked),
    ("every 64th key masked, its values NaN", "2.2 times the usual time", masked_nan),
    ("window 256 per row at 4,096 · 16,384 · 65,536", "the same", window_per_row),
]


def compile_fixed(rows):
    """From the compile times of the rows of fixed sizes."""
    seconds = {row["case"]: row["compile_seconds"] for row in rows}
    slowest = max(seconds, key=seconds.get)
    text = f"{seconds[slowest]:.1f} s at most ({slowest}), {statistics.median(seconds.values()):.1f} s usually"
    return {"fact": "attnc compile, fixed sizes", "bound": "3 s", "figures": {"seconds": seconds}, "text": text}


def measure(name, bound, function, options, cores):
    with tempfile.TemporaryDirectory() as folder:
        figures, text = function(Place(options, cores, folder))
    return {"fact": name, "bound": bound, "figures": figures, "text": text}
