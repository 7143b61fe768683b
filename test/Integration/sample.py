"""The share of a long list of cases that one test run takes."""

import os


def sample(cases, share=3, offset=0):
    """Every third case, or every `share`-th one, of more than two shares, or all with `./dev test --all`.
    ATTNC_TEST_SEED, 0 by default, and `offset` say which of them."""
    cases = list(cases)
    if os.environ.get("ATTNC_TEST_ALL") or len(cases) <= 2 * share:
        return cases
    return cases[(int(os.environ.get("ATTNC_TEST_SEED", "0")) + offset) % share :: share]
