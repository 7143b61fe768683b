"""Walks a tutorial: writes its files, runs its commands in order, in an empty folder, and compares what they print with
the text that follows. Installing is left out.

    python tutorial.py TUTORIAL [BIN]

BIN is a folder of programs that come before others, as cc and python."""

import os
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"(<!-- install -->\n)?```(\w+)\n(.*?)```", re.DOTALL)


def walk(path, folder):
    with open(path) as file:
        blocks = BLOCK.findall(file.read())
    printed = ""
    for is_install, language, text in blocks:
        name = re.match(r"(?://|#) (\S+\.\w+)\n", text)
        if is_install:
            continue
        if language == "sh":
            done = subprocess.run(["bash", "-e", "-c", text], cwd=folder, stdout=subprocess.PIPE, text=True)
            printed = done.stdout
            if done.returncode != 0:
                sys.exit(f"{text}: failed")
        elif language == "text":
            if printed != text:
                sys.exit(f"expected\n{text}found\n{printed}")
        else:
            with open(os.path.join(folder, name[1]), "w") as file:
                file.write(text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PATH"] = os.pathsep.join([*sys.argv[2:], os.environ["PATH"]])
        walk(sys.argv[1], folder)
    print("the tutorial runs as printed")
