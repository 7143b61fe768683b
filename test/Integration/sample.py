"""The share of a long list of cases that one test run takes."""

import os

SHARE = 3


def sample(cases):
    """Every third case of more than six, or all with `./dev test --all`. ATTNC_TEST_SEED, 0 by default, says
    which third."""
    cases = list(cases)
    if os.environ.get("ATTNC_TEST_ALL") or len(cases) <= 2 * SHARE:
        return cases
    return cases[int(os.environ.get("ATTNC_TEST_SEED", "0")) % SHARE :: SHARE]
