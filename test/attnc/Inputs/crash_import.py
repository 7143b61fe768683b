"""Crashes `attnc import MODEL` while it reads the model, once it would leave a reproducer.

usage: crash_import.py FOLDER MODEL; the reproducer's folder is FOLDER.
"""

import os
import pathlib
import signal
import subprocess
import sys

folder, model = map(pathlib.Path, sys.argv[1:])


def handles_crashes(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (signal.SIGSEGV - 1) & 1)
    return False


process = subprocess.Popen(["attnc", "import", model], env={**os.environ, "TMPDIR": str(folder)},
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
while process.poll() is None and not handles_crashes(process.pid):
    pass
process.send_signal(signal.SIGSEGV)
_, text = process.communicate()
print("exit code", process.returncode)
print("\n".join(line for line in text.splitlines() if line.startswith("attnc: ")))
[found] = folder.glob("attnc-reproducer-*")
print(found.suffix, found.read_bytes().startswith(model.read_bytes()))
found.rename(folder / f"found{found.suffix}")
