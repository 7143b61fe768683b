"""Checks the C++ of docs/adding-a-schedule.md as a file beside the decode kernel, whose schedule and function
stand in for the page's: check-kernel.py PAGE COMPILE_COMMANDS"""

import json
import os
import re
import shlex
import subprocess
import sys

page, commands = sys.argv[1:]
with open(page) as file:
    kernel = next(block for block in re.findall(r"```c\+\+\n(.*?)```", file.read(), re.DOTALL) if "#include" in block)
with open(commands) as file:
    entry = next(entry for entry in json.load(file) if entry["file"].endswith("/AttnToHalide/DecodeAttention.cpp"))
command = shlex.split(entry["command"])
sources = os.path.dirname(entry["file"])
del command[command.index("-o"):]  # the object and the source
subprocess.run([*command, "-DPlainAttr=DecodeAttr", "-DlowerPlainAttention=lowerDecodeAttention", "-I", sources,
                "-fsyntax-only", "-x", "c++", "-"], input=kernel, text=True, check=True, cwd=entry["directory"])
