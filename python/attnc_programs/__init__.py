"""Runs attnc's programs, which wheels carry; apart from the package attnc, whose import takes longer."""

import importlib.util
import os
import shutil
import sys

_PACKAGE = os.path.dirname(__file__)
_FOLDER = os.path.join(_PACKAGE, "bin")


def find_compiler():
    """Raises a FileNotFoundError that says where it was looked for."""
    given = os.environ.get("ATTNC")
    for place in (given,) if given else (os.path.join(_FOLDER, "attnc"), "attnc"):
        found = shutil.which(place)
        if found:
            return found
    raise FileNotFoundError(f"expected $ATTNC to be a program, found {given}" if given else
                            "expected the program attnc on PATH or in $ATTNC, found none")


def environment():
    """For programs of a wheel, which look for libHalide in a package halide beside this one: it
    may be in another folder."""
    beside = os.path.join(os.path.dirname(_PACKAGE), "halide")
    if not os.path.isdir(_FOLDER) or os.path.isdir(beside):
        return os.environ
    halide = importlib.util.find_spec("halide")
    folders = [os.path.join(place, "lib64") for place in halide.submodule_search_locations] if halide else []
    folders += filter(None, [os.environ.get("LD_LIBRARY_PATH")])
    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(folders)}


def run_instead(program, arguments):
    """Leaves Python for a program."""
    os.execve(program, [program, *arguments], environment())


def run_command():
    """A command that a wheel installs, by the name of its program."""
    run_instead(os.path.join(_FOLDER, os.path.basename(sys.argv[0])), sys.argv[1:])
