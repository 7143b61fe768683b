"""Compiles fused kernels and looks in the lowered loops for what makes them slow
without making them wrong:

- an allocation in registers of a size that is not constant: it lies in memory;
- a loop over KV blocks that does not end with the visible ones;
- an allocation on the heap in a serial loop, once per query block, that all query blocks could share.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

from attention import Case, spec

# Every kernel: dynamic lengths give one for each range of q_len, of which narrow query blocks need fewer.
CASES = [
    Case(dynamic=True),
    Case(dynamic=True, head_dim=128, heads=8, kv_heads=2, mask="causal(bottom_right)"),
    Case(dynamic=True, value_dim=17, documents=True, softcap=5.0),
    Case(dynamic=True, bias=True, mask_tensor=True, scale_on="prob"),
]


def complaints(stmt):
    """What is wrong with the text of a lowered pipeline, a line each."""
    # Parts of the keys are merged when all tasks are done.
    stmt = re.sub(r"allocate partial\[.*", "", stmt)
    pattern = r"^( *)(?:(parallel)|(for) |allocate (\S+)\[(\w+) \* ([^\]]+)\](?: in (\w+))?( if)?)"
    loops = []  # the serial ones around, by their indents
    for indent, parallel, serial, name, kind, size, memory, condition in re.findall(pattern, stmt, re.M):
        loops = [loop for loop in loops if loop < len(indent)]
        if parallel:
            loops = []
        if serial:
            loops.append(len(indent))
        if not name:
            continue
        if memory not in ("Stack", "Register") and loops and not condition:
            yield f"expected {name} outside of loops, on the stack or in registers, found {memory or 'the heap'}"
        if memory == "Register" and not size.isdigit():
            yield f"expected a constant size of {name}, found {kind} * {size}"
    for loop, func in (("acc.s1.rc", "(shared_)?kv_blocks"), ("fallback_context.s1.rc", "fallback_kv_blocks")):
        if not re.search(rf"let {re.escape(loop)}\.new_max\S* = min\({func}\b", stmt):
            yield f"expected the loop {loop} to end at {func}"


def lint(case):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "spec.mlir")
        with open(path, "w") as file:
            file.write(spec(case))
        subprocess.run(["attnc", "compile", path, "--emit", "stmt", "-o", folder], check=True, stdout=subprocess.DEVNULL)
        kernels = sorted(glob.glob(os.path.join(folder, "*.stmt")))
        found = [f"{os.path.basename(k)}: {c}" for k in kernels for c in complaints(open(k).read())]
    if len(kernels) < 3:
        found.append(f"expected a kernel for one row, for few and for many, found {len(kernels)}")
    for line in found:
        print(case.label(), line)
    return not found


if __name__ == "__main__":
    sys.exit(not all([lint(case) for case in CASES]))
