"""Breaks ONNX models in every way of a list, and imports what comes out.

usage: mutate_models.py DATA FOLDER [--all | --count N] [--seed N] [--part K/N] [--compile N]
                        [--keep FOLDER] [--jobs N]

The models are ONNX's own node tests in DATA (as they are, and with all inputs but the first as
initializers) and those in FOLDER. Inputs, outputs and attributes of each node are dropped,
emptied, swapped, retyped and given hostile values, and so are types, sizes and data of graph
inputs and initializers. `attnc import` must end with 0, or with 1 and an error whose place is the
model, within 5 seconds of CPU and 1 GB; what imports is compiled for every Nth model of --compile.
Whatever breaks the rule is named, and kept in --keep.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

from onnx_wire import Fixed, get, parse, put, read_varints, serialize

LIMITED = ["prlimit", "--cpu=5", f"--data={1 << 30}", "--core=0"]
# Fields of the messages, as onnx.proto numbers them.
GRAPH, OPSETS = 7, 8
NODE, INITIALIZER, INPUT, OUTPUT = 1, 5, 11, 12
NODE_INPUT, NODE_OUTPUT, OP_TYPE, ATTRIBUTE = 1, 2, 4, 5
FLOAT, INT, STRING, TENSOR, SUBGRAPH, FLOATS, INTS, STRINGS, TYPE = 2, 3, 4, 5, 6, 7, 8, 9, 20
DIMS, DATA_TYPE, NAME, RAW, EXTERNAL, LOCATION = 1, 2, 8, 9, 13, 14
INT64, FLOAT32 = 7, 1

HOSTILE = [-1, 0, 1, 3, 1 << 31, 1 << 40, (1 << 62) + 1, (1 << 63) - 1, -(1 << 63)]
OPSET_VERSIONS = [-1, 0, 7, 9, 12, 13, 18, 23, 28, 1 << 40]
SIZES = [-1, 0, 3, 1 << 40, (1 << 62) + 1]
FLOATS_HOSTILE = [0.0, -1.0, 1e38, float("inf"), float("nan")]
VALUE_FIELDS = {FLOAT: 1, INT: 2, STRING: 3, TENSOR: 4, SUBGRAPH: 5, FLOATS: 6, INTS: 7, STRINGS: 8}


def float_bytes(value):
    return Fixed(struct.pack("<f", value))


def tensor(dtype, dims, raw):
    return serialize([(DIMS, d) for d in dims] + [(DATA_TYPE, dtype), (NAME, b"made"), (RAW, raw)])


# ---------------------------------------------------------------------------
# Mutations: each yields (what was done, the new message)
# ---------------------------------------------------------------------------


def mutate_names(message, number, what, others):
    """Changes to a repeated name: the inputs or the outputs of a node."""
    names = get(message, number)
    for i, name in enumerate(names):
        rest = names[:i] + names[i + 1 :]
        yield f"{what} {i} dropped", put(message, number, rest)
        if name:
            yield f"{what} {i} emptied", put(message, number, names[:i] + [b""] + names[i + 1 :])
        for other in others:
            if other != name:
                yield f"{what} {i} is {other!r}", put(message, number, names[:i] + [other] + names[i + 1 :])
    if len(names) > 1:
        yield f"{what}s reversed", put(message, number, names[::-1])
        yield f"no {what}s", put(message, number, [])
        yield f"{what}s emptied", put(message, number, [b""] * len(names))
    for more in ([b""], [b"surplus"] if number == NODE_OUTPUT else names[:1], names[:1] * 20):
        yield f"{len(more)} more {what}s", put(message, number, names + more)


def mutate_value(attribute):
    """Other values of an attribute's own type."""
    values = {n: get(attribute, n) for n in VALUE_FIELDS}
    if values[INT]:
        for value in HOSTILE:
            yield f"is {value}", put(attribute, INT, [value])
    if values[FLOAT]:
        for value in FLOATS_HOSTILE:
            yield f"is {value}", put(attribute, FLOAT, [float_bytes(value)])
    if values[STRING]:
        for value in (b"", b"nothing known", b"a" * 5000, b"\xff\x00%s"):
            yield f"is {value[:16]!r}", put(attribute, STRING, [value])
    ints = [v for packed in values[INTS] for v in read_varints(packed)]
    if ints:
        yield "is empty", put(attribute, INTS, [])
        yield "is shorter", put(attribute, INTS, ints[:-1])
        yield "is longer", put(attribute, INTS, ints * 50)
        for value in HOSTILE:
            yield f"all {value}", put(attribute, INTS, [value] * len(ints))
            yield f"first {value}", put(attribute, INTS, [value] + ints[1:])
    for number, what in ((TENSOR, "tensor"), (SUBGRAPH, "graph")):
        if values[number]:
            yield f"is an empty {what}", put(attribute, number, [b""])
    for value in values[TENSOR]:
        for what, changed in mutate_tensor(parse(value)):
            yield what, put(attribute, TENSOR, [serialize(changed)])
    for value in values[SUBGRAPH]:
        for number, what in ((NODE, "nodes"), (INPUT, "inputs"), (OUTPUT, "outputs")):
            yield f"graph without {what}", put(attribute, SUBGRAPH, [serialize(put(parse(value), number, []))])


def mutate_type(attribute):
    """The attribute with a value of each other type."""
    own = get(attribute, TYPE)
    samples = {FLOAT: [float_bytes(1)], INT: [1], STRING: [b"one"], TENSOR: [tensor(INT64, [1], bytes(8))],
               SUBGRAPH: [b""], FLOATS: [float_bytes(1)] * 2, INTS: [1, 1], STRINGS: [b"one"]}
    bare = [f for f in attribute if f[0] not in VALUE_FIELDS]
    for number, kind in VALUE_FIELDS.items():
        if own != [kind]:
            yield f"of type {kind}", put(bare, TYPE, [kind]) + [(number, v) for v in samples[number]]
            yield f"said to be of type {kind}", put(attribute, TYPE, [kind])
    yield "without a value", bare
    yield "without a type", put(attribute, TYPE, [])


def mutate_attributes(node):
    attributes = get(node, ATTRIBUTE)
    for i, raw in enumerate(attributes):
        attribute = parse(raw)
        name = get(attribute, 1)[0].decode()
        yield f"{name} dropped", put(node, ATTRIBUTE, attributes[:i] + attributes[i + 1 :])
        yield f"{name} twice", put(node, ATTRIBUTE, attributes + [raw])
        for mutate in (mutate_value, mutate_type):
            for what, changed in mutate(attribute):
                now = attributes[:i] + [serialize(changed)] + attributes[i + 1 :]
                yield f"{name} {what}", put(node, ATTRIBUTE, now)


def mutate_tensor(message):
    """Changes to an initializer."""
    dims = [v for packed in get(message, DIMS) for v in read_varints(packed)]
    dtype, raw = get(message, DATA_TYPE), get(message, RAW)
    for i in {0, len(dims) - 1} if dims else ():
        for size in SIZES:
            yield f"size {i} is {size}", put(message, DIMS, dims[:i] + [size] + dims[i + 1 :])
    yield "no sizes", put(message, DIMS, [])
    yield "a size more", put(message, DIMS, dims + [1])
    yield "no data", put(message, RAW, [])
    for kind in (0, 1, 6, 7, 8, 9, 10, 16, 99):
        yield f"of type {kind}", put(message, DATA_TYPE, [kind])
    if raw and raw[0]:
        yield "data cut short", put(message, RAW, [raw[0][:-1]])
        yield "data too long", put(message, RAW, [raw[0] + b"\0" * 8])
        yield "no elements", put(put(message, DIMS, [0] * len(dims)), RAW, [b""])
    if raw and dtype == [INT64] and len(raw[0]) >= 8:
        own = list(struct.unpack(f"<{len(raw[0]) // 8}q", raw[0]))
        for value in HOSTILE:
            for changed in ([value] * len(own), [value] + own[1:], own[:-1] + [value]):
                yield f"holds {changed[:6]}", put(message, RAW, [struct.pack(f"<{len(own)}q", *changed)])
    for place in (b"", b"../data", b"/dev/zero", b"absent", b"."):
        entry = serialize([(1, b"location"), (2, place)])
        outside = put(put(put(message, RAW, []), EXTERNAL, [entry]), LOCATION, [1])
        yield f"data in {place!r}", outside


def mutate_input(info):
    """Changes to the type of a graph's input."""
    kind = parse(get(info, 2)[0])
    if not get(kind, 1):
        return
    dense = parse(get(kind, 1)[0])
    shape = parse(get(dense, 2)[0]) if get(dense, 2) else []
    dims = get(shape, 1)

    def make(fields):
        return put(info, 2, [serialize(put(kind, 1, [serialize(fields)]))])

    def make_shape(new):
        return make(put(dense, 2, [serialize([(1, d) for d in new])]))

    yield "no rank", make(put(dense, 2, []))
    yield "of rank 0", make_shape([])
    yield "a rank more", make_shape(dims + [serialize([(1, 1)])])
    yield "a rank less", make_shape(dims[1:])
    yield "open sizes", make_shape([serialize([(2, b"d%d" % i)]) for i in range(len(dims))])
    yield "sizes of no name", make_shape([b""] * len(dims))
    for size in SIZES:
        for i in {0, len(dims) - 1} if dims else ():
            yield f"size {i} is {size}", make_shape(dims[:i] + [serialize([(1, size)])] + dims[i + 1 :])
        yield f"all sizes are {size}", make_shape([serialize([(1, size)])] * len(dims))
    for element in (0, 1, 6, 7, 8, 9, 10, 11, 99):
        yield f"of type {element}", make(put(dense, 1, [element]))


def mutate_list(graph, number, what, mutate):
    values = get(graph, number)
    for i, raw in enumerate(values):
        for text, changed in mutate(parse(raw)):
            yield f"{what} {i}: {text}", put(graph, number, values[:i] + [serialize(changed)] + values[i + 1 :])


def mutate_graph(graph, is_new):
    nodes = get(graph, NODE)
    named = [(i, 1) for i in get(graph, INPUT)] + [(i, NAME) for i in get(graph, INITIALIZER)]
    names = [name for message, number in named for name in get(parse(message), number)]
    for i, raw in enumerate(nodes):
        node = parse(raw)
        if not is_new(node):
            continue
        op = (get(node, OP_TYPE) or [b"?"])[0].decode()
        others = list(dict.fromkeys(names[:2] + names[-1:]))

        def change():
            yield from mutate_names(node, NODE_INPUT, "input", others)
            yield from mutate_names(node, NODE_OUTPUT, "output", [])
            yield from mutate_attributes(node)
            yield "of another domain", put(node, 7, [b"com.microsoft"])

        for what, changed in change():
            yield f"{op}: {what}", put(graph, NODE, nodes[:i] + [serialize(changed)] + nodes[i + 1 :])
    if nodes and is_new([(OP_TYPE, b"graph of")] + parse(nodes[0]), most=1):
        yield from mutate_list(graph, INITIALIZER, "initializer", mutate_tensor)
        yield from mutate_list(graph, INPUT, "graph input", mutate_input)
        yield "nodes reversed", put(graph, NODE, nodes[::-1])
        yield "nodes twice", put(graph, NODE, nodes * 2)
        yield "no outputs", put(graph, OUTPUT, [])
        yield "no inputs", put(graph, INPUT, [])


def mutate_model(model, is_new):
    [raw] = get(model, GRAPH)[:1]
    for what, graph in mutate_graph(parse(raw), is_new):
        yield what, put(model, GRAPH, [serialize(graph)])
    opsets = get(model, OPSETS)
    for version in OPSET_VERSIONS:
        yield f"opset {version}", put(model, OPSETS, [serialize(put(parse(o), 2, [version])) for o in opsets])
    yield "no opset", put(model, OPSETS, [])


# ---------------------------------------------------------------------------
# Models
# ---------------------------------------------------------------------------


def with_constants(model, folder):
    """All inputs but the first as initializers; None where there are no others."""
    files = sorted(folder.glob("test_data_set_0/input_*.pb"), key=lambda f: int(f.stem.split("_")[1]))
    [raw] = get(model, GRAPH)
    added = [(INITIALIZER, file.read_bytes()) for file in files[1:]]
    return put(model, GRAPH, [serialize(parse(raw) + added)]) if added else None


def find_models(data, exported):
    for folder in sorted(f for f in data.iterdir() if (f / "model.onnx").exists()):
        model = parse((folder / "model.onnx").read_bytes())
        yield folder.name, model
        constant = with_constants(model, folder)
        if constant:
            yield folder.name + ".constants", constant
    for path in sorted(exported.rglob("*.onnx")):
        yield path.name, parse(path.read_bytes())


def describe(node):
    """Nodes of one description are mutated in few models."""
    attributes = sorted(get(parse(a), 1)[0] for a in get(node, ATTRIBUTE))
    kinds = tuple(bool(name) for name in get(node, NODE_INPUT))
    return (*get(node, OP_TYPE), *get(node, 7), kinds, len(get(node, NODE_OUTPUT)), *attributes)


# ---------------------------------------------------------------------------
# Runs
# ---------------------------------------------------------------------------


def run(arguments, cwd):
    """Exit code, and what was said."""
    try:
        done = subprocess.run([*LIMITED, os.environ.get("ATTNC", "attnc"), *arguments], cwd=cwd, timeout=60,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        return done.returncode, done.stderr.decode(errors="replace")
    except subprocess.TimeoutExpired:
        return "timeout", ""


def judge(path, code, text):
    """None, or what is wrong with an end."""
    if code == 0:
        return None
    if code != 1:
        return f"exit code {code}"
    if f"{path.name}: error: " not in text:
        return "an error without a place: " + (text.splitlines() or ["nothing said"])[0]
    return None


def is_supported(model):
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch, "model.onnx")
        path.write_bytes(serialize(model))
        code, text = run(["import", path], scratch)
        return code == 0 or "op is not supported" not in text


def check(name, what, data, compiles, keep):
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch, "model.onnx")
        path.write_bytes(data)
        code, text = run(["import", path], scratch)
        wrong = judge(path, code, text)
        if not wrong and code == 0 and compiles:
            wrong = judge(path, *run(["compile", path, "-o", "out", "--name", "model"], scratch))
    if wrong and keep:
        keep.mkdir(parents=True, exist_ok=True)
        unsafe = f"{name}.{what}"[:120]
        (keep / ("".join(c if c.isalnum() or c in ".-" else "_" for c in unsafe) + ".onnx")).write_bytes(data)
    return code, wrong and f"{name}: {what}: {wrong}"


class Novelty:
    """Whether a node is among the first of its kind: others would break in the same ways."""

    def __init__(self):
        self.seen = collections.Counter()

    def __call__(self, node, most=2):
        kind = describe(node)
        self.seen[kind] += 1
        return self.seen[kind] <= most


def make_jobs(options):
    """The mutated models of all, or of some in an order that the seed says, a few of each."""
    random.seed(options.seed)
    models = list(find_models(options.data, options.exported))
    random.shuffle(models)
    is_new, jobs = Novelty(), []
    for name, model in models:
        if not options.all and len(jobs) >= options.count:
            break
        mutated = [(name, what, changed) for what, changed in mutate_model(model, is_new)]
        if len(mutated) > len(OPSET_VERSIONS) + 1 and is_supported(model):
            jobs += mutated if options.all else random.sample(mutated, min(10, len(mutated)))
    return jobs


def parse_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("exported", type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--part", default="1/1", help="of so many parts, for runs in pieces")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compile", type=int, default=0)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


def main():
    options = parse_options()
    part, parts = map(int, options.part.split("/"))
    jobs = make_jobs(options)[part - 1 :: parts]
    ends, broken = collections.Counter(), 0

    def check_job(numbered):
        number, (name, what, model) = numbered
        compiles = options.compile and number % options.compile == 0
        return check(name, what, serialize(model), compiles, options.keep)

    with concurrent.futures.ThreadPoolExecutor(max_workers=options.jobs) as pool:
        for code, wrong in pool.map(check_job, enumerate(jobs)):
            ends[code] += 1
            broken += bool(wrong)
            if wrong:
                print(f"FAIL {wrong}", flush=True)
    print(f"{len(jobs)} models: {ends[0]} imported, {ends[1]} refused, {broken} broke the rule")
    sys.exit(1 if broken or not jobs else 0)


if __name__ == "__main__":
    main()
