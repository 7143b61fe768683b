"""binaries.py ROOT FILE...: how each program and library is hardened, as a line each.

`links` says where it looks for libraries: a run path, or nothing but the system's places.
"""

import os
import re
import subprocess
import sys


def read(path):
    flags = ["--file-header", "--program-headers", "--dynamic-table", "--dyn-symbols", "--notes"]
    return subprocess.run(["llvm-readelf", *flags, path], check=True, capture_output=True, text=True).stdout


def describe(text):
    if re.search(r"Type: *DYN", text):
        yield "PIE" if "INTERP" in text else "shared"
    stack = re.search(r"GNU_STACK.*", text)
    if stack and "E" not in stack[0].split()[6]:
        yield "stack"
    if "GNU_RELRO" in text and re.search(r"\bNOW\b", text):
        yield "relro"
    if "__stack_chk_fail" in text:
        yield "canaries"
    if re.search(r"__\w+_chk@", text):
        yield "fortified"
    if "Build ID" in text:
        yield "id"
    path = re.search(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", text)
    yield f"links [{path[1] if path else ''}]"


root = os.path.abspath(sys.argv[1])
for path in sys.argv[2:]:
    print(os.path.relpath(path, root) + ":", ", ".join(describe(read(path))))
