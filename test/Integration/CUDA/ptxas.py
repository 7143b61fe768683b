"""Assembles the PTX of fused attention, or of a linear layer, for each GPU and prints what its kernels take.

usage: ptxas.py KIND,... ELEMENT HEAD_DIM,... CAPABILITY... [--cores]   (kinds: plain, attention, softcap, lse, packed, linear)

A line for each kernel of the GPU code with the registers, bytes of spills and bytes of
shared memory; nothing here needs a GPU. --cores leaves out the kernel for few rows, and GPUs of later capabilities.
"""

import glob
import itertools
import os
import re
import shutil
import site
import subprocess
import sys
import tempfile

GPUS = [80, 86, 90]
# Of tensor cores, by what names of their kernels contain.
PARTS = [("_merge_", "merge"), ("_any_layout", "any layout")]

CAUSAL = "%masked = attn.mask %score causal(top_left) : !scores"
SOFTCAP = """%capped = attn.modify_score %score {
  ^bb0(%s: ELEMENT, %b: index, %h: index, %i: index, %j: index):
    %cap = arith.constant 30.0 : f32
    %wide = arith.extf %s : ELEMENT to f32
    %x = arith.divf %wide, %cap : f32
    %t = math.tanh %x : f32
    %y = arith.mulf %t, %cap : f32
    %r = arith.truncf %y : f32 to ELEMENT
    attn.yield %r : ELEMENT
  } : !scores"""
LSE = "%lse = attn.lse %masked : !scores -> !lse"


def attention(steps, scores, has_lse=False):
    """A spec of `steps` on %score, which give the softmax its %`scores`."""
    results, types = ("%context, %lse", "!t, !lse") if has_lse else ("%context", "!t")
    return f"""
!t = tensor<?x8x?xHEAD_DIMxELEMENT>
!scores = tensor<?x8x?x?xELEMENT>
!lse = tensor<?x8x?xELEMENT>
func.func @attention(%query: !t, %key: !t, %value: !t) -> ({types}) {{
  %score = attn.score %query, %key scale(0.125) : !t, !t -> !scores
  {steps}
  %prob = attn.softmax %{scores} : !scores
  %context = attn.context %prob, %value : !scores, !t -> !t
  return {results} : {types}
}}
"""


SPECS = {
    "plain": attention("", "score"),
    "attention": attention(CAUSAL, "masked"),
    "softcap": attention(SOFTCAP + "\n  " + CAUSAL.replace("%score", "%capped"), "masked"),
    "lse": attention(CAUSAL + "\n  " + LSE, "masked", has_lse=True),
    "packed": """
!t = tensor<?x8xHEAD_DIMxELEMENT>
!padded = tensor<?x8x?xHEAD_DIMxELEMENT>
func.func @packed(%query: !t, %key: !t, %value: !t, %offsets: tensor<?xi32>, %kv_offsets: tensor<?xi32>) -> !t {
  %q = attn.unpack_rows %query offsets(%offsets) : !t, tensor<?xi32>
  %k = attn.unpack_rows %key offsets(%kv_offsets) : !t, tensor<?xi32>
  %v = attn.unpack_rows %value offsets(%kv_offsets) : !t, tensor<?xi32>
  %score = attn.score %q, %k scale(0.125) : !padded, !padded
  %masked = attn.mask %score causal(bottom_right) q_offsets(%offsets : tensor<?xi32>)
      kv_offsets(%kv_offsets : tensor<?xi32>) : tensor<?x8x?x?xELEMENT>
  %prob = attn.softmax %masked : tensor<?x8x?x?xELEMENT>
  %context = attn.context %prob, %v : tensor<?x8x?x?xELEMENT>, !padded
  %packed = attn.pack_rows %context offsets(%offsets) : !padded, tensor<?xi32>
  return %packed : !t
}
""",
    "linear": """
func.func @linear(%x: tensor<?xHEAD_DIMxELEMENT>, %weight: tensor<384xHEAD_DIMxELEMENT>,
                  %bias: tensor<384xELEMENT>) -> tensor<?x384xELEMENT> {
  %y = attn.linear %x, %weight, %bias
      : tensor<?xHEAD_DIMxELEMENT>, tensor<384xHEAD_DIMxELEMENT>, tensor<384xELEMENT> -> tensor<?x384xELEMENT>
  return %y : tensor<?x384xELEMENT>
}
""",
}


def find_ptxas():
    wheels = [os.path.join(folder, "nvidia/cuda_nvcc/bin/ptxas") for folder in site.getsitepackages()]
    return next(path for path in wheels + [shutil.which("ptxas")] if path and os.path.exists(path))


def find_shared_bytes(stmt):
    """By kernel, from its launch: the name, three extents of blocks, three of threads, bytes."""
    shared = dict(re.findall(r"cuda\.kernel @(\w+) .* shared_bytes\((\d+)\)", stmt))
    launch = r'halide_cuda_run\(\w+\[0\], "(\w+)", [^,]+, [^,]+, [^,]+, \d+, \d+, \d+, ([\d ()+*]+),'
    return shared | {name: eval(size) for name, size in re.findall(launch, stmt)}


def leave_out_decode(spec, target):
    fused = subprocess.run(["attnc", "compile", spec, "-o", "-", "--emit", "fused", "--target", target],
                           check=True, capture_output=True, text=True).stdout
    with open(spec, "w") as file:
        file.write(re.sub(r"schedule\(\[.*(#attn.(?:wg)?mma)", r"schedule([\1", fused))


def describe(ptx, shared, gpu):
    architecture = re.search(r"\.target (\w+)", open(ptx).read())[1]
    architecture = architecture if architecture.endswith("a") else f"sm_{gpu}"
    done = subprocess.run([find_ptxas(), "-v", f"-arch={architecture}", ptx, "-o", os.devnull],
                          check=True, capture_output=True, text=True)
    kernel = r"entry function '(\w+)'.*?(\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers"
    for name, stores, loads, registers in re.findall(kernel, done.stderr, re.S):
        stage = re.match(r"_kernel_(\w+?)_s\d", name)
        stage = stage[1] if stage else next((words for mark, words in PARTS if mark in name), "tensor cores")
        yield f"{stage}: registers {registers}, spills {int(stores) + int(loads)}, shared {shared[name]}"


def assemble(kind, element, head_dim, capability, is_cores, folder):
    spec, target = os.path.join(folder, "spec.mlir"), f"x86-64-linux-cuda-cuda_capability_{capability}"
    with open(spec, "w") as file:
        file.write(SPECS[kind].replace("HEAD_DIM", head_dim).replace("ELEMENT", element))
    if is_cores:
        leave_out_decode(spec, target)
    subprocess.run(["attnc", "compile", spec, "-o", folder, "--emit", "device_code,stmt", "--target", target],
                   check=True, stdout=subprocess.DEVNULL)
    for ptx in sorted(glob.glob(os.path.join(folder, "*.ptx"))):
        with open(ptx.replace(".ptx", ".stmt"), errors="replace") as file:
            shared = find_shared_bytes(file.read())
        for gpu in [int(capability)] if is_cores else GPUS:
            if gpu < int(capability):
                continue
            for line in describe(ptx, shared, gpu):
                print(f"{kind} {element} head_dim {head_dim} capability {capability} sm_{gpu} {line}")


def main():
    kinds, element, head_dims, *capabilities = [word for word in sys.argv[1:] if word != "--cores"]
    for head_dim, kind, capability in itertools.product(head_dims.split(","), kinds.split(","), capabilities):
        with tempfile.TemporaryDirectory() as folder:
            assemble(kind, element, head_dim, capability, "--cores" in sys.argv, folder)


if __name__ == "__main__":
    main()
