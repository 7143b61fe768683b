"""Counts the instructions of a CUDA kernel's main loops in its machine code (SASS).

usage: cuda_loops.py FILE.ptx|FILE.cubin GPU...   (GPU is one of ptxas's, such as sm_80)

Prints, for each kernel and each loop with products of tensor cores, the instructions of its
shortest way through with all products (HMMA, or several in one HGMMA of a warpgroup), those products,
instructions for each, the most frequent opcodes, and for GPUs known here the share of the tensor
cores' peak that it can reach at most. The shortest way is what most steps run: branches around it are for unaligned rows,
partial masks and maxima that move. Loops inside are not followed back. PTX is assembled with ptxas; nvdisasm comes as the wheel
nvidia-cuda-nvdisasm or is found on the PATH (NVDISASM names another one). A peer's kernel is
counted the same way: `nvcc -cubin -arch=sm_80` makes its cubin.
"""

import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

FEWEST_PRODUCTS = 8
# Cycles that a product of m16n8k16 and an exponential of 32 lanes occupy their unit of a scheduler, which
# issues an instruction a cycle. `attnc explain` has the same bounds.
PRODUCT_CYCLES = {"sm_80": 8, "sm_89": 16, "sm_90": 4, "sm_90a": 4}
MUFU_CYCLES = 8


def find(program, variable):
    path = os.environ.get(variable) or shutil.which(program)
    folders = [os.path.join(folder, "nvidia") for folder in sys.path]
    wheels = [os.path.join(root, program) for folder in folders if os.path.isdir(folder)
              for root, _, files in os.walk(folder) if program in files]
    if not path and not wheels:
        sys.exit(f"expected {program} on the PATH or in a wheel of NVIDIA's")
    return path or wheels[0]


def assemble(ptx, gpu, folder):
    cubin = os.path.join(folder, "kernel.cubin")
    subprocess.run([find("ptxas", "PTXAS"), f"-arch={gpu}", ptx, "-o", cubin], check=True)
    return cubin


def disassemble(cubin):
    """Kernels by name: labels, and instructions without addresses, in order."""
    text = subprocess.run([find("nvdisasm", "NVDISASM"), "-c", cubin], check=True, capture_output=True, text=True).stdout
    kernels, code = {}, None
    for line in text.splitlines():
        section = re.match(r"\s*\.section\s+\.text\.(\S+?),", line)
        if section:
            code = kernels.setdefault(section[1], [])
        label = re.match(r"(\.L_x_\d+):", line.strip())
        instruction = re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", line)
        if code is not None and (label or instruction):
            code.append((label or instruction)[1])
    return kernels


def opcode(instruction):
    return re.sub(r"^@!?U?P\w+\s+", "", instruction).split()[0].split(".")[0]


def count_products(instruction):
    """In products of m16n8k16 of a warp, of which a product of its warpgroup (HGMMA.64xNx16) has N / 8."""
    shape = re.search(r"\bHGMMA\.64x(\d+)x16\b", instruction)
    return int(shape[1]) // 8 if shape else int(opcode(instruction) == "HMMA")


def find_way(code, labels, first, last):
    """The instructions from `first` to the branch at `last` with most products, then fewest in all."""
    best = {last: (0, 1, None)}
    for i in range(last - 1, first - 1, -1):
        target = re.search(r"\bBRA\b.*?(\.L_x_\d+)", code[i])
        nexts = [i + 1] if not re.match(r"(BRA|EXIT|RET)\b", code[i]) else []
        if target and i < labels[target[1]] <= last:
            nexts.append(labels[target[1]])
        ways = [(best[j][0], best[j][1], j) for j in nexts if j in best]
        if ways:
            products, count, j = min(ways)
            counts = not code[i].startswith(".L")
            best[i] = (products - (count_products(code[i]) if counts else 0), count + counts, j)
    i = first
    while i is not None:
        if not code[i].startswith(".L"):
            yield code[i]
        i = best[i][2] if i in best else None


def loops(code):
    """The instructions of each loop: from the target of a backward branch to the branch."""
    labels = {line: i for i, line in enumerate(code) if line.startswith(".L")}
    for i, line in enumerate(code):
        target = re.search(r"\bBRA\b.*?(\.L_x_\d+)", line)
        if target and labels.get(target[1], i) < i:
            yield list(find_way(code, labels, labels[target[1]], i))


def estimate(counts, products, gpu):
    """The share of the peak, by issue slots, tensor cores and exponentials, all overlapped."""
    cycles = products * PRODUCT_CYCLES[gpu]
    return cycles / max(cycles, sum(counts.values()), counts["MUFU"] * MUFU_CYCLES)


def describe(cubin, gpu):
    for name, code in disassemble(cubin).items():
        for body in loops(code):
            counts = collections.Counter(map(opcode, body))
            products = sum(map(count_products, body))
            if products >= FEWEST_PRODUCTS:
                most = ", ".join(f"{op} {count}" for op, count in counts.most_common(14))
                share = f"; at most {estimate(counts, products, gpu):.2f} of the peak" if gpu in PRODUCT_CYCLES else ""
                yield f"{name}: {len(body)} instructions, {products} products, {len(body) / products:.2f} each: {most}{share}"


def main():
    if len(sys.argv) < 2 or (sys.argv[1].endswith(".ptx") and len(sys.argv) < 3):
        sys.exit(__doc__)
    path, *gpus = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        for gpu in gpus or [""]:
            for line in describe(assemble(path, gpu, folder) if path.endswith(".ptx") else path, gpu):
                print(f"{gpu} {line}".strip())


if __name__ == "__main__":
    main()
