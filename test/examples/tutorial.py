"""Walks a tutorial: writes its files, runs its commands in order, in an empty folder, and compares what they print with
the text that follows."""

import argparse
import os
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"(<!-- install -->\n)?```(\w+)\n(.*?)```", re.DOTALL)


def run(commands, folder):
    """Runs them in bash and returns what they print; later ones see the variables that these export."""
    with tempfile.NamedTemporaryFile() as variables:
        done = subprocess.run(["bash", "-e", "-c", f"{commands}\nenv -0 >{variables.name}"], cwd=folder,
                              stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"{commands}: failed")
        os.environ.update(line.split("=", 1) for line in variables.read().decode().split("\0") if line)
    return done.stdout


def walk(text, folder, installs):
    printed = ""
    for is_install, language, block in BLOCK.findall(text):
        if is_install and not installs:
            continue
        if language == "sh":
            printed = run(block, folder)
        elif language == "text":
            if printed != block:
                sys.exit(f"expected\n{block}found\n{printed}")
        else:
            name = re.match(r"(?://|#) (\S+\.\w+)\n", block)[1]
            with open(os.path.join(folder, name), "w") as file:
                file.write(block)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tutorial")
    parser.add_argument("--bin", help="a folder of programs that come before others, as cc and python")
    parser.add_argument("--section", help="the one with this in its title, not all")
    parser.add_argument("--install", nargs="*", metavar="FILE",
                        help="run the commands that install, too, with these files in the folder")
    options = parser.parse_args()
    with open(options.tutorial) as file:
        sections = file.read().split("\n## ")[1:]
    os.environ["PATH"] = os.pathsep.join([*filter(None, [options.bin]), os.environ["PATH"]])
    chosen = [text for text in sections if (options.section or "") in text.split("\n", 1)[0]]
    if not chosen:
        sys.exit(f"expected a section '{options.section}', found none")
    with tempfile.TemporaryDirectory() as folder:
        for path in options.install or []:
            os.symlink(os.path.abspath(path), os.path.join(folder, os.path.basename(path)))
        for text in chosen:
            walk(text, folder, options.install is not None)
    print("the tutorial runs as printed")


if __name__ == "__main__":
    main()
