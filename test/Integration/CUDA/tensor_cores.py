"""Attention on tensor cores, within the allowed error, without bank conflicts, and counted.

usage: tensor_cores.py mma|wgmma f16|bf16

Each function of Inputs/tensor-cores.mlir is compiled for elements of the type and run on the CPU (Inputs/on-cpu):
the kernels of capability 8.0, or those of 9.0 that products of warpgroups compute. A third of them, another one for each
kind and type, or all with `./dev test --all`.
"""

import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from sample import sample  # noqa: E402

INPUTS = os.path.join(HERE, "Inputs")
CAPABILITY = {"mma": 80, "wgmma": 90}
# Functions with their sizes. A q_len of 1 is decode: keys in parts, heads that share keys in one block.
BOTH = [
    ("plain_16", "batch=1,q_len=300,kv_len=1,300"),
    ("causal_64", "batch=1,q_len=70,kv_len=131"),
    ("window_96", "batch=1,q_len=70,kv_len=131"),
    ("padded_128", "batch=3,q_len=40,kv_len=0,129"),
    ("bias_128", "batch=1,q_len=70,kv_len=100"),
    ("alibi_64", "batch=1,q_len=70,kv_len=100"),
    ("documents_64", "batch=1,q_len=70,kv_len=100"),
    ("factors_64", "batch=1,q_len=70,kv_len=100"),
    ("odd_33", "batch=1,q_len=70,kv_len=131"),  # with warpgroups, the kernel for any layout
    ("causal_192", "batch=1,q_len=70,kv_len=100"),
    ("window_256", "batch=1,q_len=70,kv_len=131"),
]
CASES = {
    "mma": BOTH + [
        ("causal_80", "batch=1,q_len=1,70,kv_len=197"),
        ("sink_64", "batch=1,q_len=1,70,kv_len=131"),
        ("paged_64", "batch=2,q_len=1,40,max_pages=5,num_pages=12"),
    ],
    "wgmma": BOTH + [
        ("sink_64", "batch=1,q_len=70,kv_len=100"),
    ],
}
# Those with a schedule that is not the default, and layouts: in the type that the function is written in.
OWN = {
    "mma": [
        # Fewer warps and smaller tiles than a row of chunks for each thread; more of them; 16 rows a warp where 32 are
        # the default, and the other way round.
        ("alibi_64", "batch=1,q_len=70,kv_len=100", "#attn.mma<q_block = 16, kv_block = 32>"),
        ("causal_80", "batch=1,q_len=130,kv_len=97", "#attn.mma<q_block = 128, kv_block = 16>"),
        ("causal_64", "batch=1,q_len=130,kv_len=131", "#attn.mma<q_block = 64, kv_block = 64>"),
        ("window_96", "batch=1,q_len=70,kv_len=131", "#attn.mma<q_block = 64, kv_block = 32, warp_rows = 32>"),
        # No copies of 16 bytes, and copies whose last one is partial.
        ("slices_16", "", ""),
        ("slices_20", "", ""),
    ],
    "wgmma": [
        # Other numbers of warpgroups and of stages.
        ("causal_80", "batch=1,q_len=1,100,kv_len=131", "#attn.wgmma<q_block = 64, kv_block = 48, stages = 3>"),
        ("causal_64", "batch=1,q_len=200,kv_len=131", "#attn.wgmma<q_block = 192, kv_block = 64, stages = 1>"),
    ],
}


def select(kind, element, text):
    """Functions, sizes and schedules."""
    bodies = {body.split("(")[0]: body for body in text.split("func.func @")[1:]}
    written_in = {name: "bf16" if "bf16" in body.split("\n}")[0] else "f16" for name, body in bodies.items()}
    return [(*case, "") for case in CASES[kind]] + [case for case in OWN[kind] if written_in[case[0]] == element]


def write_spec(text, element, path):
    """All functions, with elements of the type."""
    text = text.replace("bf16", "f16") if element == "f16" else re.sub(r"(?<!b)f16", "bf16", text)
    with open(path, "w") as file:
        file.write(text)


def schedule(kind, text, wanted):
    """The fused spec with that schedule; warpgroups take few rows as well."""
    if wanted:
        return re.sub(r"schedule\(\[.*\]\)", f"schedule([{wanted}])", text)
    return re.sub(r"schedule\(\[#attn\.mma<[^>]*>, ", "schedule([", text) if kind == "wgmma" else text


def verify(kind, spec, function, sizes, wanted, folder):
    """How many cases were right."""
    target = f"host-cuda-cuda_capability_{CAPABILITY[kind]}"
    fused = subprocess.run(["attnc", "compile", spec, "--function", function, "--emit", "fused", "-o", "-", "--target", target],
                           check=True, stdout=subprocess.PIPE, text=True).stdout
    text = schedule(kind, fused, wanted)
    assert f"#attn.{kind}<" in text and "#attn.gpu<" not in text, f"{function}: expected #attn.{kind}, found {fused}"
    path = os.path.join(folder, "fused.mlir")
    with open(path, "w") as file:
        file.write(text)
    done = subprocess.run([os.path.join(INPUTS, "on-cpu"), os.path.join(folder, "driver"), "env", "TRACE_BANKS=1", "attnc",
                           "verify", path, "--target", target, *(["--size", sizes] if sizes else [])],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    cases = re.search(r"(\d+) cases, all within the allowed error", done.stdout)
    if done.returncode or not cases or "bank conflicts" in done.stdout:
        sys.exit(f"{function} {sizes} {wanted}:\n{done.stdout}")
    return int(cases[1])


def main():
    kind, element = sys.argv[1:]
    total = 0
    with open(os.path.join(INPUTS, "tensor-cores.mlir")) as file:
        text = file.read()
    with tempfile.TemporaryDirectory() as folder:
        spec = os.path.join(folder, "spec.mlir")
        write_spec(text, element, spec)
        offset = 2 * list(CASES).index(kind) + ("f16", "bf16").index(element)
        for function, sizes, wanted in sample(select(kind, element, text), offset=offset):
            count = verify(kind, spec, function, sizes, wanted, folder)
            print(f"{function} {sizes} {wanted}: {count}", flush=True)
            total += count
    print(f"{kind} {element}: {total} cases")


if __name__ == "__main__":
    main()
