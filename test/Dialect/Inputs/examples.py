"""Parses the examples in the descriptions of a dialect's ops and attributes.

usage: examples.py OPS.td [ATTN_OPT_OPTION...]

An example's free names become values of the types that it uses them with: attn-opt names these
in its note when a name is defined with another one.
"""

import re
import subprocess
import sys

DEFINITION = '"example.value"() : () -> '


def parse(text, options):
    command = ["attn-opt", "--allow-unregistered-dialect", *options]
    return subprocess.run(command, input=text, capture_output=True, text=True)


def free_names(example):
    """Names that no result, block argument or `for`-like list of the example defines."""
    defined = set()
    for results in re.findall(r"^\s*((?:%\w+(?:, )?)+) =", example, re.M):
        defined.update(re.findall(r"%\w+", results))
    for arguments in re.findall(r"\^bb\d+\(([^)]*)\)", example):
        defined.update(re.findall(r"(%\w+):", arguments))
    return sorted(set(re.findall(r"%[A-Za-z]\w*", example)) - defined)


def wrap(example, types, last=()):
    values = [f"  {name} = {DEFINITION}{types[name]}" for name in types]
    ends = [f"  {name} = {DEFINITION}none" for name in last]
    return "\n".join(["func.func @example() {", *values, example, *ends, "  return", "}"])


def find_types(example, options):
    """The type of each free name, one run of the parser for each."""
    types, missing = {}, free_names(example)
    while missing:
        errors = parse(wrap(example, types, missing), options).stderr
        found = re.search(r"definition of SSA value '(%\w+)#0' has type 'none'", errors)
        used = re.search(r"previously used here with type '(.*)'", errors)
        if not found or not used:
            break
        types[found[1]] = used[1]
        missing.remove(found[1])
    return types


def check(example, options):
    if example.startswith("#"):
        return parse(f"module attributes {{example.value = {example}}} {{}}", options)
    return parse(wrap(example, find_types(example, options)), options)


def main(path, *options):
    with open(path) as file:
        text = file.read()
    count = 0
    for match in re.finditer(r"```mlir\n(.*?)```", text, re.S):
        line, example = text[: match.start()].count("\n") + 2, match[1].strip()
        result = check(example, options)
        if result.returncode:
            sys.exit(f"{path}:{line}: {example}\n{result.stderr}")
        count += 1
    print(f"{count} examples")


main(*sys.argv[1:])
