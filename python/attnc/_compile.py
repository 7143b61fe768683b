"""Compiles a spec to a kernel by running the program attnc."""

import glob
import os
import re
import subprocess
import tempfile

from attnc_programs import environment, find_compiler

from ._kernel import load


_OPTION = re.compile(r"(?<![^\s'])--(target|name|function|weights|emit)(?=[\s:,;']|$)(:?)")


class CompileError(Exception):
    """A spec that attnc refuses; the text is its diagnostic."""


def compile(spec, target=None, name=None, weights=None, function=None):
    """The kernel of `spec`, a path or the text of one. `target` is one of Halide's names,
    by default this machine; `name` the C function's, by default the spec's; `weights` a
    safetensors file with what the spec's attn.weight names; `function` the function to use, if
    the spec has several."""
    if name is not None:
        check_name(name)
    with tempfile.TemporaryDirectory() as folder:
        options = ["--target", target] if target else []
        options += ["--name", name] if name is not None else []
        options += ["--function", function] if function else []
        options += ["--weights", os.fspath(weights)] if weights else []
        run_tool("compile", _spec_path(spec, folder), "-o", folder, "--emit", "shared_library", *options)
        library, = glob.glob(os.path.join(folder, "*.so"))
        return load(library)  # stays loaded after its file is deleted


def check_name(name):
    """Of a C function."""
    if not isinstance(name, str):
        raise TypeError(f"name: expected a str, found {type(name).__name__}")
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(f"name: expected a C identifier, found {name!r}")


def run_tool(*arguments):
    """Runs the program attnc; its diagnostic, with options called as Python's arguments, becomes a CompileError."""
    done = subprocess.run([find_compiler(), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, errors="replace", env=environment())
    if done.returncode != 0:
        raise CompileError(_OPTION.sub(lambda option: option[1] + (option[2] or "="), done.stderr.strip()))


def _spec_path(spec, folder):
    """Writes a text to a file. A text has line breaks or a function, a path has neither."""
    if not isinstance(spec, str) or "\n" not in spec and "func.func" not in spec:
        path = os.fsdecode(spec)
        return os.path.join(os.curdir, path) if path.startswith("-") else path  # else an option
    path = os.path.join(folder, "spec.mlir")
    try:
        with open(path, "w") as file:
            file.write(spec)
    except OSError as error:  # on a full disk it names no file
        raise OSError(error.errno, error.strerror, path) from None
    return path
