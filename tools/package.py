"""Lays out what a package of the tools or a wheel carries: portable programs, the licences of what is
in them, and a bill of materials (CycloneDX 1.6). A package has all libraries but glibc beside them. A
wheel takes libstdc++ from the system and Halide from its wheel, all but the runtime.

package.py BUILD FOLDER [--wheel]
"""

import argparse
import importlib.metadata
import json
import os
import re
import shutil
import subprocess

LLVM_LICENCE = "Apache-2.0 WITH LLVM-exception"
# Debian's packages whose archives and headers are in the programs: name, package, licence.
INSIDE = [("LLVM, MLIR and lld", "llvm-22-dev", LLVM_LICENCE), ("protobuf", "libprotobuf-dev", "BSD-3-Clause"),
          ("zlib", "zlib1g-dev", "Zlib"), ("zstd", "libzstd-dev", "BSD-3-Clause"),
          ("nlohmann-json", "nlohmann-json3-dev", "MIT")]
# And the one whose libraries a package has.
BESIDE = ("libstdc++ and libgcc_s", "libstdc++6", "GPL-3.0-or-later WITH GCC-exception-3.1")

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def capture(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def copy(source, folder, name=None, mode=0o644):
    """A link is copied as the file that it names."""
    os.makedirs(folder, exist_ok=True)
    target = os.path.join(folder, name or os.path.basename(source))
    shutil.copyfile(source, target)
    os.chmod(target, mode)


def copy_programs(build, is_wheel, folder):
    for name in ("attnc", "attn-opt", "attn-lsp-server"):
        variant = "attnc-wheel" if is_wheel and name == "attnc" else name + "-portable"
        copy(os.path.join(build, "portable", variant, name), os.path.join(folder, "bin"), mode=0o755)


def copy_libraries(folder):
    found = dict(re.findall(r"(\S+) => (\S+)", capture("ldd", os.path.join(folder, "bin/attn-opt"))))
    folder = os.path.join(folder, "lib/attnc")
    for name in ("libstdc++.so.6", "libgcc_s.so.1"):
        copy(found[name], folder, name, mode=0o755)
    halide, = (file for file in importlib.metadata.files("halide") if file.name == "libHalide.so")
    copy(halide.locate(), folder, mode=0o755)


def describe(name, version, purl, licence):
    return {"type": "library", "bom-ref": name, "name": name, "version": version, "purl": purl,
            "licenses": [{"expression": licence}]}


def describe_debian(name, package, licence):
    version = capture("dpkg-query", "-W", "-f", "${Version}", package)
    quoted = version.replace(":", "%3A").replace("+", "%2B")
    return describe(name, version.split(":")[-1], f"pkg:deb/debian/{package}@{quoted}", licence)


def list_components(versions, is_wheel):
    components = [describe_debian(*each) for each in INSIDE]
    dlpack, halide = versions["DLPack"], importlib.metadata.version("halide")
    components += [describe("DLPack", dlpack, f"pkg:github/dmlc/dlpack@v{dlpack}", "Apache-2.0"),
                   describe("Halide", halide, f"pkg:pypi/halide@{halide}", "MIT")]
    return components + ([] if is_wheel else [describe_debian(*BESIDE)])


def write_bill(versions, components, folder):
    """Without time and serial number: the same input gives the same bytes."""
    tools = {"type": "application", "bom-ref": "attnc", "name": "attnc", "version": versions["attnc"],
             "licenses": [{"expression": LLVM_LICENCE}]}
    bill = {"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat": "CycloneDX",
            "specVersion": "1.6", "version": 1, "metadata": {"component": tools}, "components": components,
            "dependencies": [{"ref": "attnc", "dependsOn": [component["bom-ref"] for component in components]}]}
    with open(os.path.join(folder, "attnc-tools.cdx.json"), "w") as file:
        file.write(json.dumps(bill, indent=2) + "\n")


def copy_licences(is_wheel, folder):
    """LICENSE is attnc's own, and has the text of the Apache License."""
    copy(os.path.join(root, "LICENSE"), folder)
    for _, package, _ in INSIDE + ([] if is_wheel else [BESIDE]):
        copy(f"/usr/share/doc/{package}/copyright", os.path.join(folder, "licenses"), package + ".txt")
    if not is_wheel:
        copy("/usr/share/common-licenses/GPL-3", os.path.join(folder, "licenses"), "GPL-3.txt")
    halide, = (file for file in importlib.metadata.files("halide") if file.match("*.dist-info/licenses/*"))
    copy(halide.locate(), os.path.join(folder, "licenses"), "halide.txt")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("folder")
    parser.add_argument("--wheel", action="store_true")
    options = parser.parse_args()
    copy_programs(options.build, options.wheel, options.folder)
    if not options.wheel:
        copy_libraries(options.folder)
    documents = os.path.join(options.folder, "share/doc/attnc")
    copy_licences(options.wheel, documents)
    versions = dict(line.rsplit(" ", 1) for line in capture(os.path.join(options.build, "bin/attnc"), "--version").splitlines())
    write_bill(versions, list_components(versions, options.wheel), documents)


if __name__ == "__main__":
    main()
