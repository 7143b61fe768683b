"""identity.py BUILD FOLDER SPEC: how much attnc compiles anew beside other builds of its libraries.

Copies of the tools share a cache; in each, one library is another build.
"""

import glob
import os
import re
import shutil
import subprocess
import sys

build, folder, spec = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
environment = dict(os.environ, ATTNC_CACHE=folder + "/cache")
libraries = glob.glob(build + "/lib*/attnc/*.so*") + glob.glob(build + "/lib/*/attnc/*.so*")


def copy_tools(name):
    """A copy of attnc, with links to the libraries in place of copies."""
    place = os.path.join(folder, name)
    for file in [build + "/bin/attnc", *libraries]:
        copied = os.path.join(place, os.path.relpath(file, build))
        os.makedirs(os.path.dirname(copied), exist_ok=True)
        shutil.copy(file, copied) if file.endswith("attnc") else os.symlink(os.path.realpath(file), copied)
    return place


def change(place, library, edit):
    """Puts a changed copy in place of a library."""
    path, = [path for path in glob.glob(place + "/**/*.so*", recursive=True) if library in os.path.basename(path)]
    with open(path, "rb") as file:
        data = bytearray(file.read())
    edit(data)
    os.remove(path)
    with open(path, "wb") as file:
        file.write(data)


def find_note(data):
    return data.index(b"\3\0\0\0GNU\0")  # NT_GNU_BUILD_ID


def other_id(data):
    data[find_note(data) + 8] ^= 1


def no_id(data):
    data[find_note(data) + 6] ^= 1


def count(place):
    subprocess.run([place + "/bin/attnc", "compile", spec, "-o", folder + "/out"], env=environment, check=True,
                   stdout=subprocess.DEVNULL)
    return len(glob.glob(folder + "/cache/*.kernel"))


first = last = count(copy_tools("first"))
for name, library, edit in [("none", None, None), ("libHalide", "libHalide", other_id),
                            ("libMLIR", "libMLIR", other_id), ("libMLIR without a build ID", "libMLIR", no_id)]:
    place = copy_tools(re.sub(r"\W", "-", name))
    if library:
        change(place, library, edit)
    now = count(place)
    print(f"{name}: {'all' if now - last == first else now - last} anew")
    last = now
    shutil.rmtree(place)
