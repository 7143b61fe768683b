"""interrupt.py SIGNAL FOLDER ATTNC...: ends `attnc … -o FOLDER` by a signal while it compiles.

A pipe in the cache, in place of what was compiled once, keeps attnc waiting at a known place.
"""

import glob
import os
import signal
import subprocess
import sys
import time

name, folder, command = sys.argv[1], sys.argv[2], sys.argv[3:]
number = getattr(signal, name)
os.makedirs(folder)
environment = dict(os.environ, ATTNC_CACHE=folder + "-cache", TMPDIR=folder + "-tmp")
os.makedirs(environment["TMPDIR"])
subprocess.run(command + ["-o", folder + "-whole"], env=environment, check=True, stdout=subprocess.DEVNULL)
for path in glob.glob(environment["ATTNC_CACHE"] + "/*"):
    os.remove(path)
    os.mkfifo(path)
# Where lit itself runs behind a shell's back, signals are ignored.
process = subprocess.Popen(command + ["-o", folder], env=environment,
                           preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
while process.poll() is None and not (os.listdir(folder) and os.listdir(environment["TMPDIR"])):
    time.sleep(0.01)
process.send_signal(number)
print("ended by", signal.Signals(-process.wait()).name)
print("left:", os.listdir(folder) + os.listdir(environment["TMPDIR"]))
