"""orphans.py FOLDER ATTNC...: kills `attnc …` while other processes compile its kernels, and sees
them end; FOLDER gets what is temporary."""

import os
import signal
import subprocess
import sys
import time


def list_children(process):
    try:
        with open(f"/proc/{process}/task/{process}/children") as file:
            return [int(child) for child in file.read().split()]
    except FileNotFoundError:  # it has ended
        return []


def is_running(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


os.makedirs(sys.argv[1])
process = subprocess.Popen(sys.argv[2:], env=dict(os.environ, TMPDIR=sys.argv[1]))
children = []
while process.poll() is None and not children:
    children = list_children(process.pid)
process.send_signal(signal.SIGKILL)
print("ended by", signal.Signals(-process.wait()).name)
while any(map(is_running, children)):
    time.sleep(0.01)
print("none of", "its" if children else "no", "processes is left")
