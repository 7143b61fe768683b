"""What is left to PyTorch or to the model, and why."""

import warnings

_told = set()


def warn_once(text):
    if text not in _told:
        _told.add(text)
        warnings.warn(f"attnc: {text}", stacklevel=3)
