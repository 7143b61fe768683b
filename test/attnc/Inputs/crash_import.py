"""Crashes `attnc import MODEL` while it reads the model, once it would leave a reproducer.

usage: crash_import.py FOLDER MODEL; the reproducer's folder is FOLDER.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

folder, model = map(pathlib.Path, sys.argv[1:])


def crash_after(delay):
    """The exit code and what is printed."""
    process = subprocess.Popen(["attnc", "import", model], env={**os.environ, "TMPDIR": str(folder)},
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    time.sleep(delay)
    process.send_signal(signal.SIGSEGV)
    _, text = process.communicate()
    return process.returncode, text


# Too early a signal ends it before it has begun to import.
for attempt in range(16):
    code, text = crash_after(0.02 * 1.4**attempt)
    if code != -signal.SIGSEGV:
        break
print("exit code", code)
print("\n".join(line for line in text.splitlines() if line.startswith("attnc: ")))
[found] = folder.glob("attnc-reproducer-*")
print(found.suffix, found.read_bytes().startswith(model.read_bytes()))
found.rename(folder / f"found{found.suffix}")
