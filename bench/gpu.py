"""Fused attention on a GPU: right over types, masks and sizes, and timed beside PyTorch's backends.

Tensors are on the GPU throughout, and both sides compute on PyTorch's stream. Writes raw
figures to bench/results/gpu-NAME.json, where NAME is the GPU's, and the
table of all GPUs in the README.

A machine with a GPU need not have attnc: `--compile-to FOLDER` compiles all kernels, and measures
nothing; with that folder `python3 bench/gpu.py --libraries FOLDER` measures them, for which Python
needs PyTorch and numpy alone."""

import argparse
import ctypes
import dataclasses
import datetime
import glob
import hashlib
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

import dlpack
import work

HERE = os.path.dirname(os.path.abspath(__file__))
CAPABILITIES = (70, 75, 80, 86)  # of compiled kernels; each runs on later GPUs, too
EXACT_CAPABILITIES = (90,)  # runs on GPUs of its own alone
# float32 cores per multiprocessor, by compute capability.
CORES = {70: 64, 75: 64, 80: 64}
# Dense TFLOP/s of f16 and bf16 on tensor cores, by what a GPU's name contains, from NVIDIA's data sheets.
TENSOR_PEAKS = {"A100": 312, "L40S": 362, "H100": 989, "H200": 989}
DTYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}
MASKS = ("", "causal(top_left)", "causal(bottom_right)", "window(31, 0)", "kv_lengths(%lengths : tensor<?xi32>)")
LENGTHS = ((1, 1), (1, 300), (7, 5), (49, 129), (129, 49), (300, 300), (1024, 1024))


@dataclasses.dataclass(frozen=True)
class Case(work.KeySizes):
    batch: int
    heads: int
    q_len: int
    head_dim: int
    kv_len: int = 0  # q_len when 0
    kv_heads: int = 0  # heads when 0
    mask: str = ""
    element: str = "bf16"

    def label(self):
        words = [self.mask.split("(%")[0], f"({self.batch},{self.heads},{self.q_len},{self.head_dim})"]
        words += [f"{self.keys} keys"] if self.keys != self.q_len else []
        words += [f"{self.key_heads} key heads"] if self.key_heads != self.heads else []
        words += [self.element]
        return " ".join(filter(None, words))

    def spec(self):
        """Lengths are dynamic, so that one library serves all cases of a kind."""
        query, key, score = (f"tensor<?x{heads}x?x{last}x{self.element}>" for heads, last in (
            (self.heads, self.head_dim), (self.key_heads, self.head_dim), (self.heads, "?")))
        inputs = [("query", query), ("key", key), ("value", key)]
        inputs += [("lengths", "tensor<?xi32>")] if "%lengths" in self.mask else []
        mask = f"%masked = attn.mask %score {self.mask} : {score}" if self.mask else ""
        return "\n".join([
            "func.func @attention(" + ", ".join(f'%{n}: {t} {{attn.name = "{n}"}}' for n, t in inputs),
            f'  ) -> ({query} {{attn.name = "context"}}) {{',
            f"  %score = attn.score %query, %key scale({self.head_dim**-0.5!r}) : {query}, {key} -> {score}",
            "  " + mask,
            f"  %prob = attn.softmax %{'masked' if mask else 'score'} : {score}",
            f"  %context = attn.context %prob, %value : {score}, {key} -> {query}",
            f"  return %context : {query}", "}", ""])

    def name(self):
        return hashlib.sha256(self.spec().encode()).hexdigest()[:16]

    def flops(self, visible):
        """FLOPs of both products, over the visible scores."""
        return 4 * self.head_dim * self.heads * visible


CORRECT = [Case(2, 4, m, d, n, kv_heads, mask, element) for element, dims in (
    ("f32", (32, 64, 80, 128)), ("f16", (16, 64, 96, 256)), ("bf16", (64, 80, 128, 192)))
           for d in dims for mask in MASKS for kv_heads in (4, 1) for m, n in LENGTHS]
TIMED = [Case(4, 16, n, d, mask=mask) for d in (64, 128) for mask in ("", "causal(top_left)")
         for n in (512, 2048, 4096, 8192, 16384)]
TIMED += [
    # Decode, a head of keys for each and for four; grouped prefill.
    Case(8, 32, 1, 128, 8192), Case(8, 32, 1, 128, 8192, 8), Case(1, 32, 1, 128, 32768, 8),
    Case(4, 32, 4096, 128, kv_heads=8, mask="causal(top_left)"),
    # The same kernels in f16, and Halide's in f32.
    Case(4, 16, 4096, 64, element="f16"), Case(4, 16, 4096, 128, element="f16"),
    Case(4, 16, 2048, 64, element="f32"), Case(8, 32, 1, 128, 8192, 8, element="f32"),
]


# ---------------------------------------------------------------------------
# Ours
# ---------------------------------------------------------------------------


def make(attnc, target, folder):
    """A library for each spec, which several cases may share."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "target"), "w") as file:
        file.write(target)
    specs = {case.name(): case.spec() for case in CORRECT + TIMED}
    for number, (name, text) in enumerate(specs.items(), start=1):
        out = os.path.join(folder, name)
        if sys.stderr.isatty():
            print(f"\rcompiling {number} of {len(specs)}", end="", file=sys.stderr)
        os.makedirs(out, exist_ok=True)
        spec = os.path.join(out, "spec.mlir")
        with open(spec, "w") as file:
            file.write(text)
        subprocess.run([os.path.abspath(attnc), "compile", spec, "-o", out, "--name", "kernel", "--target", target,
                        "--emit", "shared_library"], check=True, stdout=subprocess.DEVNULL)


class Kernels:
    """The libraries in a folder."""

    def __init__(self, folder):
        self.folder, self.loaded = folder, {}

    def get(self, case):
        name = case.name()
        if name not in self.loaded:
            self.loaded[name] = ctypes.CDLL(os.path.join(os.path.abspath(self.folder), name, "libkernel.so"))
            self.loaded[name].kernel_last_error.restype = ctypes.c_char_p
        return self.loaded[name]

    def prepare(self, case, arrays):
        """A function that computes the case once and gives its result."""
        library, result = self.get(case), arrays[0].new_empty(arrays[0].shape)
        tensors = [dlpack.from_torch(array) for array in (*arrays, result)]
        pointers = [ctypes.byref(tensor) for tensor in tensors]

        def call():
            if library.kernel(*pointers) != 0:
                raise RuntimeError(library.kernel_last_error().decode())
            return result

        return call


# ---------------------------------------------------------------------------
# PyTorch
# ---------------------------------------------------------------------------


def dtype_of(torch, case):
    return getattr(torch, DTYPES[case.element])


def make_arrays(torch, case, device):
    random = torch.Generator(device).manual_seed(0)
    normal = lambda heads, length: torch.randn(
        case.batch, heads, length, case.head_dim, generator=random, device=device).to(dtype_of(torch, case))
    arrays = [normal(case.heads, case.q_len), normal(case.key_heads, case.keys), normal(case.key_heads, case.keys)]
    if "%lengths" in case.mask:
        lengths = [(case.keys, 0, case.keys // 2)[b % 3] for b in range(case.batch)]
        arrays.append(torch.tensor(lengths, dtype=torch.int32, device=device))
    return arrays


def visible(torch, case, arrays):
    """The visible keys of each row, or None without a mask."""
    q = torch.arange(case.q_len, device=arrays[0].device)[:, None]
    k = torch.arange(case.keys, device=arrays[0].device)
    if case.mask.startswith("kv_lengths"):
        return (k < arrays[3][:, None, None, None]).expand(-1, 1, case.q_len, -1)
    return {"": None, "causal(top_left)": k <= q, "causal(bottom_right)": k <= q + case.keys - case.q_len,
            "window(31, 0)": (k <= q) & (k >= q - 31)}[case.mask]


def plain(torch, case, arrays, dtype):
    """The straightforward computation; fully masked rows give 0."""
    query, key, value = (array.to(dtype) for array in arrays[:3])
    groups = case.heads // case.key_heads
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    score = query @ key.transpose(-1, -2) * case.head_dim**-0.5
    seen = visible(torch, case, arrays)
    if seen is not None:
        score = score.masked_fill(~seen, float("-inf"))
    return torch.nan_to_num(torch.softmax(score, -1)) @ value


def judge(torch, case, arrays, result):
    """The error against float64 and the allowed one, by head: not every GPU has room for all at once."""
    error = allowed = largest = 0.0
    single = dataclasses.replace(case, batch=1, heads=1, kv_heads=1)
    groups = case.heads // case.key_heads
    for b, h in itertools.product(range(case.batch), range(case.heads)):
        part = [array[b:b + 1, head:head + 1] for array, head in zip(arrays, (h, h // groups, h // groups))]
        part += [lengths[b:b + 1] for lengths in arrays[3:]]
        exact = plain(torch, single, part, torch.float64)
        difference = (result[b:b + 1, h:h + 1].double() - exact).abs().max().item()
        error = max(error, difference if difference == difference else float("inf"))
        same_type = plain(torch, single, part, dtype_of(torch, case)).double()
        allowed = max(allowed, (same_type - exact).abs().max().item())
        largest = max(largest, exact.abs().max().item())
    allowed = 2 * allowed + 4 * torch.finfo(torch.float32).eps * largest
    return {"max_error": error, "allowed_error": allowed, "right": error <= allowed}


def backends(torch, case, arrays):
    """PyTorch's backends for the case, by name, in its type; those that refuse it are left out."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def prepare(backend):
        def call():
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(
                    *arrays[:3], is_causal=case.mask.startswith("causal"), enable_gqa=case.heads != case.key_heads)

        return call

    known = {"f32": [("math", SDPBackend.MATH), ("memory-efficient", SDPBackend.EFFICIENT_ATTENTION)]}
    calls = {}
    for name, backend in known.get(case.element, [("flash", SDPBackend.FLASH_ATTENTION),
                                                  ("cuDNN", SDPBackend.CUDNN_ATTENTION)]):
        try:
            call = prepare(backend)
            call()
            calls[name] = call
        except RuntimeError as error:
            print(f"{case.label()}: without {name}: {str(error).splitlines()[0]}", file=sys.stderr)
    return calls


# ---------------------------------------------------------------------------
# Time
# ---------------------------------------------------------------------------


def alternate(torch, calls, turns):
    """Milliseconds of each call on the GPU's own clock, the calls taking turns."""
    times = {name: [] for name in calls}
    for turn in range(turns + 3):  # the first ones warm up
        for name, call in calls.items():
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            call()
            end.record()
            end.synchronize()
            if turn >= 3:
                times[name].append(begin.elapsed_time(end))
    return times


def tensor_peak(torch):
    """Peak GFLOP/s of f16 and bf16, or None if unknown."""
    name = torch.cuda.get_device_name(0)
    return next((1e3 * peak for known, peak in TENSOR_PEAKS.items() if known in name), None)


def scalar_peak(torch):
    """Peak float32 GFLOP/s at the highest clock, or None if unknown."""
    properties = torch.cuda.get_device_properties(0)
    cores = CORES.get(10 * properties.major + properties.minor, 128)
    try:
        clock = subprocess.run(["nvidia-smi", "--query-gpu=clocks.max.sm", "--format=csv,noheader,nounits", "-i", "0"],
                               check=True, stdout=subprocess.PIPE, text=True).stdout
        return 2 * cores * properties.multi_processor_count * int(clock) / 1e3
    except (OSError, ValueError, subprocess.CalledProcessError):
        return None


def check_all(torch, kernels, device):
    rows = []
    for case in CORRECT:
        arrays = make_arrays(torch, case, device)
        rows.append({"case": case.label(), **judge(torch, case, arrays, kernels.prepare(case, arrays)())})
        if not rows[-1]["right"]:
            print(f"WRONG {rows[-1]}")
    print(f"{len(rows)} cases, {sum(not row['right'] for row in rows)} wrong")
    return rows


def time_all(torch, kernels, peaks, turns):
    """`peaks` by type."""
    rows = []
    for case in TIMED:
        peak = peaks[case.element]
        arrays = make_arrays(torch, case, "cuda")
        ours = kernels.prepare(case, arrays)
        row = {"case": case.label(), **judge(torch, case, arrays, ours())}
        row["ms"] = alternate(torch, {"attnc": ours, **backends(torch, case, arrays)}, turns)
        seen = visible(torch, case, arrays)
        pairs = case.batch * (case.q_len * case.keys if seen is None else seen.sum().item())
        best = {name: min(times) for name, times in row["ms"].items()}
        row["gflops"] = case.flops(pairs) / best["attnc"] / 1e6
        row["share_of_peak"] = peak and row["gflops"] / peak
        rows.append(row)
        share = f", {row['share_of_peak']:.0%} of the peak" if peak else ""
        print(f"{row['case']}: {best['attnc']:.3f} ms (median {statistics.median(row['ms']['attnc']):.3f}), "
              f"{row['gflops'] / 1e3:.1f} TFLOP/s{share}" + ("" if row["right"] else "  WRONG"))
        for name, ms in best.items():
            if name != "attnc":
                print(f"  {name}: {ms:.3f} ms, {ms / best['attnc']:.2f} of ours")
    return rows


def find_gpu():
    """Imports PyTorch; exits if it has no GPU."""
    try:
        import torch
    except ImportError:
        sys.exit("bench --gpu: expected PyTorch, found none in this Python")
    if not torch.cuda.is_available():
        sys.exit("bench --gpu: expected a GPU that CUDA can use, found none: nothing was measured")
    torch.backends.cuda.matmul.allow_tf32 = False
    return torch


def find_target(torch):
    """The newest target for this GPU."""
    major, minor = torch.cuda.get_device_capability(0)
    capability = 10 * major + minor
    found = max((c for c in CAPABILITIES if c <= capability), default=CAPABILITIES[0])
    found = capability if capability in EXACT_CAPABILITIES else found
    return f"host-cuda-cuda_capability_{found}"


def measure(torch, folder, turns):
    """All measurements of the GPU, for JSON."""
    kernels, tensor = Kernels(folder), tensor_peak(torch)
    peaks = {"f32": scalar_peak(torch), "f16": tensor, "bf16": tensor}
    with open(os.path.join(folder, "target")) as file:
        target = file.read()
    name = torch.cuda.get_device_name(0)
    print(f"{name}, {target}")
    return {"date": datetime.date.today().isoformat(), "gpu": name, "target": target, "torch": torch.__version__,
            "peak_gflops": peaks, "correct": check_all(torch, kernels, "cuda"),
            "timed": time_all(torch, kernels, peaks, turns)}


# ---------------------------------------------------------------------------
# Reports
# ---------------------------------------------------------------------------


def table(figures):
    """A GPU's rows in Markdown: our time and speed, and how many times faster than each backend."""
    names = list(dict.fromkeys(name for row in figures["timed"] for name in row["ms"] if name != "attnc"))
    wrong = sum(not row["right"] for row in figures["correct"] + figures["timed"])
    lines = [f"{figures['gpu']}, {figures['date']}, PyTorch {figures['torch']}; sizes are (batch, heads, len, head_dim). "
             f"{len(figures['correct'])} cases were compared with float64, {wrong} results were wrong.", "",
             "| work | ms | TFLOP/s | of the peak | " + " | ".join(f"{name} / attnc" for name in names) + " |",
             "|---|" + "---:|" * (3 + len(names))]
    for row in figures["timed"]:
        best = {name: min(times) for name, times in row["ms"].items()}
        share = f"{row['share_of_peak']:.2f}" if row["share_of_peak"] else ""
        cells = [row["case"] + ("" if row["right"] else " (wrong)"), f"{best['attnc']:.3f}", f"{row['gflops'] / 1e3:.1f}", share]
        cells += [f"{best[name] / best['attnc']:.2f}" if name in best else "" for name in names]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def write(figures):
    import report

    name = re.sub(r"[^a-z0-9]+", "-", figures["gpu"].lower()).strip("-")
    path = os.path.join(HERE, "results", f"gpu-{name}.json")
    with open(path, "w") as file:
        json.dump(figures, file, indent=1)
        file.write("\n")
    tables = []
    for other in sorted(glob.glob(os.path.join(HERE, "results", "gpu-*.json"))):
        with open(other) as file:
            tables.append(table(json.load(file)))
    report.update(report.README, "gpu", "\n".join(tables))
    print(f"wrote {os.path.relpath(path)}, and the README's table")


def main():
    parser = argparse.ArgumentParser(prog="./dev bench --gpu", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnc", help=argparse.SUPPRESS)
    parser.add_argument("--turns", type=int, default=30, help="timed calls of each implementation (30)")
    parser.add_argument("--compile-to", metavar="FOLDER", help="compile all kernels, and stop")
    parser.add_argument("--target", default=f"x86-64-linux-cuda-cuda_capability_{CAPABILITIES[-1]}",
                        help="target of --compile-to (%(default)s); cuda_capability_90 for H100 and H200")
    parser.add_argument("--libraries", metavar="FOLDER", help="use kernels made by --compile-to")
    options = parser.parse_args()
    if options.compile_to:
        return make(options.attnc, options.target, options.compile_to)
    torch = find_gpu()
    torch.zeros(1, device="cuda")  # makes the context that is current, and the tensors'
    with tempfile.TemporaryDirectory() as folder:
        if not options.libraries:
            make(options.attnc, find_target(torch), folder)
        figures = measure(torch, options.libraries or folder, options.turns)
    write(figures)
    return 0 if all(row["right"] for row in figures["correct"] + figures["timed"]) else 1


if __name__ == "__main__":
    sys.exit(main())
