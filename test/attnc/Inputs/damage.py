"""damage.py FOLDER SPEC: damages all that attnc keeps of SPEC, in one way after the other."""

import glob
import os
import re
import subprocess
import sys

folder, spec = os.path.abspath(sys.argv[1]), sys.argv[2]
cache = os.path.join(folder, "cache")
environment = dict(os.environ, ATTNC_CACHE=cache)


def run(*command):
    return subprocess.run(["attnc", *command], env=environment, capture_output=True, text=True, timeout=60)


def compile():
    """What was said, and the library."""
    done = run("compile", spec, "-o", folder, "--emit", "static_library")
    if done.returncode:
        sys.exit(f"expected a library, found exit {done.returncode}: {done.stderr}")
    with open(glob.glob(folder + "/lib*.a")[0], "rb") as file:
        return done.stderr, file.read()


def rewrite(change):
    def apply(path):
        with open(path, "rb") as file:
            data = bytearray(file.read())
        with open(path, "wb") as file:
            file.write(change(data))
    return apply


def flip(place):
    def change(data):
        data[place(len(data))] ^= 4
        return data
    return rewrite(change)


def replace(make):
    def apply(path):
        os.remove(path)
        make(path)
    return apply


damages = {
    "empty": rewrite(lambda data: b""),
    "header alone": rewrite(lambda data: data[: data.index(b"\n") + 1]),
    "truncated": rewrite(lambda data: data[:-1]),
    "longer": rewrite(lambda data: data + b"\0"),
    "bit in the header": flip(lambda size: 20),
    "bit in the middle": flip(lambda size: size // 2),
    "bit at the end": flip(lambda size: size - 1),
    "pipe": replace(os.mkfifo),
    "link": replace(lambda path: os.symlink("/dev/zero", path)),
    "writable by others": lambda path: os.chmod(path, 0o666),
}
if os.geteuid() == 0:
    damages["written by another user"] = lambda path: os.chown(path, 65534, 65534)

os.makedirs(folder)
said, library = compile()
entries = sorted(glob.glob(cache + "/*.kernel"))
print("kept:", len(entries), "entries" + said)
for name, damage in damages.items():
    for path in entries:
        damage(path)
    said, again = compile()
    notes = re.findall(r"\.kernel: remark: damaged, and made anew: (.*)", said)
    print(f"{name}: {len(notes)} made anew, library {'equal' if again == library else 'DIFFERS'}: {notes[0]}")
    if name in ("empty", "written by another user") and run("cache", "--verify").stdout.count("deleted"):
        print("expected entries made anew to be whole")
    if sorted(glob.glob(cache + "/*.kernel")) != entries:
        print("expected the same entries, found", glob.glob(cache + "/*"))

# An entry under the name of another one.
os.rename(entries[0], entries[1])
print(re.sub(r".*kernel: deleted", "deleted", run("cache", "--verify").stdout.splitlines()[0]))
