"""Runs the tools on programs that no one would write: every op of the attn dialect with sizes of 0,
1, 2^31 and beyond, with elements that no kernel has, and with ranks of 0 and 9. Each must end with
exit code 0, or 1 and a message, in time and in memory.

usage: programs.py [--seed N] [--count N] [--seconds N] [--commands LIST] [--keep FOLDER]
"""

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile

SIZES = ["0", "1", "2147483647", "2147483648", "4611686018427387904", "9223372036854775807", "?"]
ELEMENTS = ["f16", "f64", "bf16", "i1", "i4", "i8", "i64", "ui8", "i128", "index", "complex<f32>",
            "f8E4M3FN", "tuple<f32>", "tuple<>", "vector<2xf32>", "memref<2xf32>", "none", "tf32", "f80"]
COMMANDS = {
    "pipeline": ["attn-opt", "SPEC", "--attn-pipeline", "-o", "/dev/null"],
    "explain": ["attnc", "explain", "SPEC"],
    "reference": ["attnc", "run", "SPEC", "--reference"],
    "compile": ["attnc", "compile", "SPEC", "--no-cache", "-o", "out"],
}

# Of each op: its text, arguments and results. A type is a list of sizes, letters that stand for
# one size each or numbers, and of elements: `e` for the one of the program.
BODY = {
    "mask": "{\n^bb0(%b: index, %h: index, %i: index, %j: index):\n"
            "  %c = arith.cmpi sle, %j, %i : index\n  attn.yield %c : i1\n}",
    "modify": "{\n^bb0(%s: e, %b: index, %h: index, %i: index, %j: index):\n"
              "  %r = arith.addf %s, %s : e\n  attn.yield %r : e\n}",
    "map": "{\n^bb0(%x: e, %y: e):\n  %r = arith.addf %x, %y : e\n  attn.yield %r : e\n}",
}
OPS = [
    ("attn.score %0, %1 scale(0.5)", ["b h q d", "b h k d"], ["b h q k"]),
    ("attn.additive_score %0, %1, %2", ["b h q d", "b h k d", "d"], ["b h q k"]),
    ("attn.modify_score %0 " + BODY["modify"], ["b h q k"], []),
    ("attn.mask %0 " + BODY["mask"], ["b h q k"], []),
    ("attn.mask %0 causal(bottom_right)", ["b h q k"], []),
    ("attn.mask %0 window(2, 1, top_left)", ["b h q k"], []),
    ("attn.softmax %0", ["b h q k"], []),
    ("attn.softmax %0 axis(0)", ["b"], []),
    ("attn.context %0, %1", ["b h q k", "b h k d"], ["b h q d"]),
    ("attn.attention %0, %1, %2", ["b h q d", "b h k d", "b h k v"], ["b h q v"]),
    ("attn.attention %0, %1, %2 mask " + BODY["mask"], ["b h q d", "b h k d", "b h k v"], ["b h q v"]),
    ("attn.linear %0, %1", ["b q d", "v d"], ["b q v"]),
    ("attn.linear %0, %1, %2", ["q d", "v d", "v"], ["q v"]),
    ("attn.split_heads %0 num_heads(h)", ["b q w"], ["b h q d"]),
    ("attn.merge_heads %0", ["b h q d"], ["b q w"]),
    ("attn.layer_norm %0 epsilon(1.0e-5)", ["b q d"], []),
    ("attn.layer_norm %0 mode(rms) epsilon(0.0)", ["d"], []),
    ("attn.embedding %0, %1", ["v d", "b q:i64"], ["b q d"]),
    ("attn.positions %0 kind(sinusoidal) base(1.0e4)", ["b q d"], []),
    ("attn.positions %0 kind(rotary_pairs) base(1.0e4) offset(%1 : T1)", ["b h q d", "b:i64"], []),
    ("attn.append_cache %0, %1, %2", ["b h k d", "b h q d", "b:i64"], None),
    ("attn.gather_pages %0[%1] lengths(%2 : T2)", ["m k h d", "b q:i32", "b:i32"], ["b h ? d"]),
    ("attn.gather_pages %0[%1]", ["m k h d", "b h q:i64"], ["b h ? d"]),
    ("attn.gather_pages %0[%1] offsets(%2 : T2)", ["m k h d", "q:i32", "b:i32"], ["? h ? d"]),
    ("attn.append_pages %0[%1], %2, %3 counts(%4 : T4) layout(heads_first)",
     ["m h k d", "b v:i32", "b h q d", "b:i64", "b:i32"], None),
    ("attn.append_pages %0[%1] offsets(%2 : T2), %3, %4", ["m k h d", "v:i32", "3:i64", "b h q d", "b:i32"], None),
    ("attn.unpack_rows %0 offsets(%1)", ["q h d", "b:i32"], ["? h q d"]),
    ("attn.pack_rows %0 offsets(%1)", ["b h q d", "3:i64"], ["q h d"]),
    ("attn.attention %0, %1, %2 offsets(%3 : T3) kv_offsets(%4 : T4)",
     ["1 h q d", "1 h k d", "1 h k v", "b:i64", "b:i32"], ["1 h q v"]),
    ("attn.dropout %0 rate(0.1) seed(%1 : T1)", ["b q", ":i64"], []),
    ("attn.map %0, %1 " + BODY["map"], ["b q d", "d"], ["b q d"]),
    ("attn.reduce sum %0 axes [-1] keep_dims", ["b q d"], ["b q 1"]),
    ("attn.reduce max %0 axes [0]", ["b q"], ["q"]),
    ("attn.transpose %0 [1, 0]", ["b q"], ["q b"]),
    ("attn.lse %0", ["b q d"], ["b q"]),
    ("arith.addf %0, %1", ["b q", "b q"], []),
    ("arith.negf %0", ["b q d"], []),
    ("tensor.concat dim(0) %0, %1", ["b q", "b q"], ["? q"]),
    ("tensor.extract_slice %0[0, 0] [1, 1] [1, 1]", ["b q"], "to 1 1"),
    ("tensor.collapse_shape %0 [[0, 1]]", ["b q"], "into m"),
    ("tensor.splat %0", [None], "splat b q"),
    ("return", ["b q"], []),
]
ORDINARY = {"b": "2", "h": "2", "q": "3", "k": "4", "d": "8", "v": "8", "w": "16", "m": "6", "1": "1", "3": "3", "?": "?"}


def make_type(shape, sizes, element):
    letters, _, own = shape.partition(":")
    return "tensor<" + "".join(sizes.get(x, x) + "x" for x in letters.split()) + (own or element) + ">"


def make_program(op, sizes, element):
    text, operands, results = op
    types = [element if shape is None else make_type(shape, sizes, element) for shape in operands]
    arguments = ", ".join(f"%p{n}: {type}" for n, type in enumerate(types))
    listed = ", ".join(type for n, type in enumerate(types) if f"T{n}" not in text)
    for n in range(len(types)):
        text = text.replace(f"%{n}", f"%p{n}").replace(f"T{n}", types[n])
    text = text.replace(": e", ": " + element).replace("num_heads(h)", f"num_heads({sizes['h']})")
    if text == "return":
        return f"func.func @f({arguments}) -> {types[0]} {{\n  return %p0 : {types[0]}\n}}\n"
    if isinstance(results, str):
        word, letters = results.split(" ", 1)
        result = make_type(letters, sizes, element)
        signature = result if word == "splat" else f"{types[0]} {word} {result}"
    elif not results:  # of the type of the first operand, or as the op writes it
        result = types[0]
        signature = listed if results is None else types[0]
    else:
        result = make_type(results[0], sizes, element)
        signature = f"{listed} -> {result}"
        if text.startswith("tensor.concat"):
            signature = f"({listed}) -> {result}"
    return (f"func.func @f({arguments}) -> {result} {{\n  %r = {text} : {signature}\n"
            f"  return %r : {result}\n}}\n")


def draw(random):
    op, sizes, element = random.choice(OPS), dict(ORDINARY), "f32"
    kind = random.random()
    if kind < 0.6:
        for letter in random.sample("bhqkdvw", random.choice([1, 1, 2, 3])):
            sizes[letter] = random.choice(SIZES)
    elif kind < 0.9:
        element = random.choice(ELEMENTS)
    else:
        text, operands, results = op
        rank = random.choice([0, 9])
        odd = " ".join("2" * rank)
        op = (text, [odd if shape and ":" not in shape else shape for shape in operands],
              [odd] if isinstance(results, list) and results else results)
    return make_program(op, sizes, element)


def limit():
    resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(command, spec, folder, seconds):
    """What is wrong with the command's end, or None."""
    arguments = [spec if word == "SPEC" else word for word in COMMANDS[command]]
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=seconds,
                              preexec_fn=limit, cwd=folder, errors="replace")
    except subprocess.TimeoutExpired:
        return f"still running after {seconds} s"
    if done.returncode not in (0, 1):
        return f"exit code {done.returncode}: {done.stderr[:400]}"
    if done.returncode == 1 and "error" not in done.stderr:
        return f"exit code 1 without a message: {done.stderr[:200]}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--commands", default="pipeline,explain,reference,compile")
    parser.add_argument("--keep", help="a folder for the programs that went wrong")
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.seed, options.seed + options.count):
            spec, program = os.path.join(folder, "spec.mlir"), draw(random.Random(seed))
            with open(spec, "w") as file:
                file.write(program)
            for command in options.commands.split(","):
                problem = run(command, spec, folder, options.seconds)
                if not problem:
                    continue
                wrong += 1
                print(f"seed {seed}, {command}: {problem}\n{program}", flush=True)
                if options.keep:
                    with open(os.path.join(options.keep, f"{seed}.mlir"), "w") as file:
                        file.write(program)
    print(f"{options.count} programs, {wrong} wrong")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
