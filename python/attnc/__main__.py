"""`python -m attnc` is the program attnc."""

import sys

from attnc_programs import find_compiler, run_instead

try:
    run_instead(find_compiler(), sys.argv[1:] or ["--help"])
except FileNotFoundError as error:
    sys.exit(f"attnc: error: {error}")
