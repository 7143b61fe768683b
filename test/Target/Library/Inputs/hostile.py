"""Feeds names that would be code, escapes or formats where they were written as they are through
every artefact, and reads those as their readers do. usage: hostile.py FOLDER ONNX"""

import ctypes
import json
import os
import re
import struct
import subprocess
import sys

HOSTILE = [
    '*/\n#include "evil.h"\n/*',
    "*\\\n/\n#error evil\n",
    '*??/\n/\n#include "evil.h"\n??/',
    '"; system("touch evil"); "',
    "\\",
    "??/",
    "$(touch evil)",
    "`touch evil`; touch evil",
    "${X} $ENV{X} @X@ %X%",
    "%s%n%s%n",
    "]] ]=] ) ;",
    "\x1b]0;evil\x07\x1b[2J\x9b2J",
    "gr\u00f6\u00dfe \u5c3a\u5bf8 \u202e\u2066\u200b",
    "x" * 10000,
    "--><script>evil()</script>",
    "../../evil",
]
KINDS = ("attn,fused,halide,stmt,stmt_html,llvm_assembly,assembly,object,static_library,"
         "shared_library,cmake_package,pkg_config,sbom,c_header,json")
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-I."]


def run(*command, exits=0, is_json=False):
    """The output of a program: of printable lines, whoever's names are in it, where people read it."""
    done = subprocess.run(command, capture_output=True)
    output = (done.stdout + done.stderr).decode()
    assert done.returncode == exits, f"{command}: expected exit {exits}, found {done.returncode}\n{output[:4000]}"
    if is_json:
        return json.loads(done.stdout)
    check_lines(output, command)
    return output


def check_lines(text, place):
    found = re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]", text)
    assert not found, f"{place}: expected printable text, found {text[max(0, found.start() - 40):found.end()]!r}"


def quote(text):
    """As a string of MLIR."""
    return '"' + "".join(f"\\{byte:02X}" for byte in text.encode(errors="surrogateescape")) + '"'


def quote_proto(text):
    return '"' + "".join(f"\\{b:03o}" for b in text.encode()) + '"'


def read(path):
    with open(path) as file:
        return file.read()


def write(path, text, mode="w"):
    with open(path, mode) as file:
        file.write(text)
    return path


def write_spec(path, symbols):
    """Doubles tensors whose dimensions have these symbols, and adds weights to a matrix."""
    rows, matrix = "tensor<?x?x?x?xf32>", "tensor<64x64xf32>"
    groups = [symbols[n:n + 4] for n in range(0, len(symbols), 4)]
    dims = [f"{rows} {{attn.dims = [{', '.join(map(quote, group))}]}}" for group in groups]
    places = [f"loc({quote(name)}:3:4)" for name in HOSTILE]
    last = len(HOSTILE) - 1
    arguments = [f"%a{n}: {each}" for n, each in enumerate(dims)] + [f"%sum: {matrix}"]
    arguments += [f"%w{n}: {matrix} {{attn.weight = {quote(name)}}}" for n, name in enumerate(HOSTILE)]
    lines = [f"%r{n} = arith.addf %a{n}, %a{n} : {rows} {places[n]}" for n in range(len(dims))]
    lines += [f"%s{n} = arith.addf %{f's{n - 1}' if n else 'sum'}, %w{n} : {matrix} {place}"
              for n, place in enumerate(places)]
    values = [f"%r{n}" for n in range(len(dims))] + [f"%s{last}"]
    write(path, f"""func.func @{quote(HOSTILE[0])}({', '.join(arguments)}) -> ({', '.join(dims + [matrix])}) {{
{os.linesep.join(lines)}
return {', '.join(values)} : {', '.join([rows] * len(dims) + [matrix])}
}}
""")


def write_weights(path):
    size = 64 * 64 * 4
    header = {name: {"dtype": "F32", "shape": [64, 64], "data_offsets": [n * size, (n + 1) * size]}
              for n, name in enumerate(HOSTILE)}
    text = json.dumps(header).encode()
    data = b"".join(struct.pack("<f", n) * (64 * 64) for n in range(len(HOSTILE))) # equal ones are stored once
    write(path, struct.pack("<Q", len(text)) + text + data, "wb")


def write_model(path, onnx):
    symbols = [f"dim {{ dim_param: {quote_proto(name)} }}" for name in HOSTILE[:4]]
    tensor = f"type {{ tensor_type {{ elem_type: 1 shape {{ {' '.join(symbols)} }} }} }}"
    value = [quote_proto(name) for name in HOSTILE]
    nodes = "\n".join(f"node {{ op_type: 'Add' name: {name} doc_string: {name} input: {name} input: 'c' output: {after} }}"
                      for name, after in zip(value, value[1:]))
    text = f"""ir_version: 8 producer_name: {value[0]} doc_string: {value[0]} domain: {value[0]}
opset_import {{ version: 17 }} metadata_props {{ key: {value[0]} value: {value[1]} }}
graph {{ name: {value[0]} doc_string: {value[0]} {nodes}
initializer {{ name: 'c' doc_string: {value[1]} data_type: 1 float_data: 1 }}
input {{ name: {value[0]} doc_string: {value[3]} {tensor} }} output {{ name: {value[-1]} {tensor} }} }}"""
    model = subprocess.run(["protoc", "--encode=onnx.ModelProto", f"-I{onnx}", f"{onnx}/onnx-ml.proto"],
                           input=text.encode(), stdout=subprocess.PIPE, check=True).stdout
    write(path, model, "wb")


def check_package(folder):
    """What reads text: compilers, CMake, pkg-config and JSON's parsers."""
    for name in ("x.h", "x_selftest.c", "x.pc", "x-config.cmake", "x-targets.cmake", "x.stmt.html"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            check_lines(read(path), path)
            assert not name.endswith("html") or "<script>evil" not in read(path), path
    assert re.findall("^ *#include.*", read(f"{folder}/x.h"), re.M) == [
        '#include "dlpack.h"', "#include <stddef.h>", "#include <stdint.h>"]
    for standard in ("c99", "gnu17"):
        run("cc", f"-std={standard}", *WARNINGS, "-fsyntax-only", "-x", "c", f"{folder}/x.h")
        run("cc", f"-std={standard}", *WARNINGS, "-fsyntax-only", f"{folder}/x_selftest.c")
    run("c++", *WARNINGS, "-fsyntax-only", "-x", "c++", f"{folder}/x.h")
    run("c++", "-std=c++20", *WARNINGS, "-Wno-missing-field-initializers", "-fsyntax-only", "-x", "c++",
        f"{folder}/x.h")
    os.environ["PKG_CONFIG_PATH"] = folder
    assert "-lx" in run("pkg-config", "--cflags", "--libs", "x")
    os.makedirs("project", exist_ok=True)
    write("project/CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\nproject(p C)\nfind_package(x REQUIRED)\n"
          "get_target_property(place x::x IMPORTED_LOCATION)\nif(NOT EXISTS \"${place}\")\n"
          "message(FATAL_ERROR \"${place}\")\nendif()\n")
    run("cmake", "-S", "project", "-B", "project/build", f"-DCMAKE_PREFIX_PATH={os.path.abspath(folder)}")
    json.loads(read(f"{folder}/x.cdx.json"))
    metadata = json.loads(read(f"{folder}/x.json"))
    library = ctypes.CDLL(f"{folder}/libx.so")
    library.x_describe.restype = ctypes.c_char_p
    assert json.loads(library.x_describe()) == metadata
    return metadata


def check_selftest(folder, library, exits=0):
    run("cc", *WARNINGS, f"-I{folder}", f"{folder}/x_selftest.c", f"{library}/libx.a", "-lm", "-lpthread", "-ldl",
        "-o", f"{library}/selftest")
    return run(f"{library}/selftest", exits=exits)


def check_graph():
    write_spec("spec.mlir", HOSTILE)
    write_weights("weights.safetensors")
    weights = ["--weights", "weights.safetensors"]
    run("attnc", "compile", "spec.mlir", *weights, "--name", "x", "-o", "out", "--emit", KINDS, "--with-selftest")
    metadata = check_package("out")
    assert [dim for each in metadata["inputs"] for dim in each["dims"]][:len(HOSTILE)] == HOSTILE
    assert "0 of" in check_selftest("out", "out")
    # A library that refuses these calls says where, in the symbols' words.
    write_spec("equal.mlir", ["%s%n\x1b[2J\udcff"] * len(HOSTILE))
    run("attnc", "compile", "equal.mlir", *weights, "--name", "x", "-o", "equal")
    json.loads(read("equal/x.json"))
    assert "expected" in check_selftest("out", "equal", exits=1)
    for stage in ("attn", "fused"):
        run("attnc", "compile", f"out/x.{stage}.mlir", "--name", "x", "-o", "again", "--emit", "json")
        assert json.loads(read("again/x.json"))["inputs"] == metadata["inputs"], stage
    run("attnc", "compile", "spec.mlir", *weights, "--name", "x", "-o", "beside", "--weights-beside")
    stored = read_names("beside/x.weights.safetensors")
    assert set(HOSTILE) == stored, sorted(set(HOSTILE) ^ stored)
    device = ["--target", "x86-64-linux-opencl", "--emit", "device_code"]
    run("attnc", "compile", "spec.mlir", *weights, "--name", "x", "-o", "device", *device)
    assert not any("evil" in read(f"device/{name}") for name in os.listdir("device") if name.endswith(".cl"))
    run("attnc", "explain", "spec.mlir", *weights)
    run("attnc", "explain", "spec.mlir", *weights, "--json", is_json=True)


def check_bench():
    """Symbols are given sizes, and a line stays one."""
    symbols = [name for name in HOSTILE if not set("=,") & set(name)]
    symbols = symbols[:len(symbols) // 4 * 4]
    write_spec("open.mlir", symbols)
    write("open.mlir", read("open.mlir").replace(quote(HOSTILE[0]), "f", 1))
    bench = ["attnc", "bench", "open.mlir", "--weights", "weights.safetensors", "--seconds", "0"]
    sizes = [f"--size={name}=2" for name in symbols]
    row, = [line for line in run(*bench, *sizes).splitlines() if line.startswith("*/")]
    assert row.count("=2 ") == len(symbols), row
    row, = run(*bench, "--json", *sizes, is_json=True)["rows"]
    assert set(row["sizes"]) == set(symbols), row
    refused = run(*bench, exits=1)
    assert len(refused.splitlines()) == 1 and "expected sizes of" in refused, refused


def read_names(path):
    with open(path, "rb") as file:
        length, = struct.unpack("<Q", file.read(8))
        return set(json.loads(file.read(length))) - {"__metadata__"}


def check_model(onnx):
    write_model("model.onnx", onnx)
    run("attnc", "import", "model.onnx", "-o", "model.mlir")
    run("attnc", "compile", "model.mlir", "--name", "x", "-o", "imported", "--emit", "json")
    run("attnc", "compile", "model.onnx", "--name", "x", "-o", "model", "--emit", KINDS, "--with-selftest")
    dims = check_package("model")["inputs"][0]["dims"]
    assert len(set(dims)) == 4 and all(re.fullmatch("\\w+", dim, re.A) for dim in dims), dims
    check_selftest("model", "model")
    run("attnc", "explain", "model.onnx")


def check_refused():
    """Names that must be C's are refused; files may be called anything."""
    spec = "func.func @f(%a: tensor<4xf32> {}) -> tensor<4xf32> {{ return %a : tensor<4xf32> }}\n"
    pipeline = read(os.path.join(os.path.dirname(__file__), "twice.mlir"))
    write("plain.mlir", spec.format(""))
    for name in HOSTILE:
        if name.isidentifier(): # but longer than a file's name may be
            run("attnc", "compile", "plain.mlir", "--name", name, "-o", "refused", exits=1)
            continue
        run("attnc", "compile", "plain.mlir", "--name", name, "-o", "refused", exits=2)
        run("attnc", "compile", "plain.mlir", "--function", name, "-o", "refused", exits=1)
        refuse(spec.format(f"{{attn.name = {quote(name)}}}"), "expected attn.name to be a C identifier")
        refuse(pipeline.replace("@add", f"@{quote(name)}"), "expected a name of letters, digits and _")
        refuse(f"func.func @f(%a: {name}", "expected")
        if "/" not in name:
            write(f"{name}.mlir", spec.format(""))
            run("attnc", "compile", f"{name}.mlir", "-o", "plain", "--emit", "c_header,json,sbom")
    for macro in ("NULL", "linux", "offsetof", "unix"):
        refuse(spec.format(f'{{attn.name = "{macro}"}}'), "expected attn.name to be a C identifier")
    assert not os.listdir("refused")


def refuse(spec, message):
    write("refused.mlir", spec)
    found = run("attnc", "compile", "refused.mlir", "-o", "refused", "--emit", "stmt", exits=1)
    assert message in found, found


def main():
    folder, onnx = sys.argv[1:]
    os.makedirs(folder)
    os.chdir(folder)
    write("evil.h", "#error evil\n")
    check_graph()
    check_bench()
    check_model(onnx)
    check_refused()
    made = [name for _, folders, files in os.walk("..") for name in folders + files]
    assert "evil" not in made, "expected nothing to run, found a file that was touched"


main()
