"""limit.py BYTES COMMAND...: runs a command that can write no larger file."""

import os
import resource
import signal
import sys

signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # which Python ignores
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
os.execvp(sys.argv[2], sys.argv[2:])
