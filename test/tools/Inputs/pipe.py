"""pipe.py COMMAND...: reads no more than the first line of what a command prints, or nothing of
it, where closed pipes end programs and where they do not."""

import signal
import subprocess
import sys

for lines in 1, 0:
    for handler in signal.SIG_DFL, signal.SIG_IGN:
        process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   restore_signals=False, preexec_fn=lambda: signal.signal(signal.SIGPIPE, handler))
        if lines:
            process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read().splitlines()
        status = process.wait()
        print(f"{lines} lines, {handler.name}: {signal.Signals(-status).name if status < 0 else status}", *said)
