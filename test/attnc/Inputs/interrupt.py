"""interrupt.py SIGNAL FOLDER ATTNC...: ends `attnc … -o FOLDER` by a signal while it compiles.

A note that nobody reads, of a damaged entry of the cache, keeps attnc waiting at a known place.
"""

import glob
import os
import signal
import stat
import subprocess
import sys
import time


def full_pipe():
    """Where whoever writes waits."""
    kept, end = os.pipe()
    os.set_blocking(end, False)
    try:
        while os.write(end, bytes(4096)):
            pass
    except BlockingIOError:
        os.set_blocking(end, True)
    return kept, end


name, folder, command = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3:]
number = getattr(signal, name)
os.makedirs(folder)
environment = dict(os.environ, ATTNC_CACHE=folder + "-cache", TMPDIR=folder + "-tmp")
os.makedirs(environment["TMPDIR"])
compile = dict(env=environment, cwd=environment["TMPDIR"], stdout=subprocess.DEVNULL)
subprocess.run(command + ["-o", folder + "-whole"], check=True, **compile)
for path in glob.glob(environment["ATTNC_CACHE"] + "/*.kernel"):
    os.truncate(path, 0)
kept, end = full_pipe()
# Where lit itself runs behind a shell's back, signals are ignored.
process = subprocess.Popen(command + ["-o", folder], stderr=end, **compile,
                           preexec_fn=lambda: number != signal.SIGKILL and signal.signal(number, signal.SIG_DFL))
while process.poll() is None and not (os.listdir(folder) and os.listdir(environment["TMPDIR"])):
    time.sleep(0.01)
process.send_signal(number)
if number == signal.SIGSEGV:  # tells what it does
    os.close(end)
    while os.read(kept, 4096):
        pass
status = process.wait()
print("ended by", signal.Signals(-status).name if status < 0 else f"exit {status}")
left = os.listdir(folder) + os.listdir(environment["TMPDIR"])
print("left:", [name for name in left if not name.startswith("attnc-reproducer")])
for path in glob.glob(environment["TMPDIR"] + "/attnc-reproducer-*"):
    print("reproducer:", stat.filemode(os.stat(path).st_mode))
subprocess.run(command + ["-o", folder], check=True, stderr=subprocess.DEVNULL, **compile)
print("left behind:", [name for name in os.listdir(folder) if name.startswith(".")])
