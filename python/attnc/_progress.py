"""Says on a terminal what is being compiled."""

import contextlib
import sys


@contextlib.contextmanager
def show_progress(attention):
    """On standard error where that is a terminal; the line is gone when the kernel is there."""
    if not (sys.stderr and sys.stderr.isatty()):
        yield
        return
    heads, dims = ("/".join(map(str, dict.fromkeys(pair))) for pair in (attention.heads, attention.dims))
    print(f"attnc: compiling attention of {heads} heads, head_dim {dims}, {attention.element}…", end="", file=sys.stderr,
          flush=True)
    try:
        yield
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
