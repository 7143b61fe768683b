"""Tunes SPEC from a slow schedule in a database, and reads databases that are damaged or of another machine.

usage: tune.py SPEC FOLDER
"""

import json
import os
import subprocess
import sys

SIZES = ["--size", "q_len=200,kv_len=256", "--threads", "1"]
SLOW = ("#attn.prefill<q_block = 16, kv_block = 16, vector_width = 4, score_vectors = 1, score_keys = 1, "
        "context_rows = 1, context_vectors = 1>")


def attnc(command, spec, database, *options, fails=False):
    done = subprocess.run(["attnc", command, spec, "--schedules", database, *options], capture_output=True, text=True)
    assert (done.returncode != 0) == fails, (done.returncode, done.stderr)
    return done


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def tune(spec, database, tries):
    done = attnc("tune", spec, database, *SIZES, "--seconds", "1000", "--tries", str(tries), "--json")
    return json.loads(done.stdout)


def main(spec, folder):
    database = os.path.join(folder, "schedules.json")
    machine = tune(spec, database, 1)
    [kernel] = machine["kernels"]
    print("reference", machine["reference"], "q_len", kernel["q_len"], kernel["sizes"], "tried", kernel["tried"])

    with open(os.path.join(os.path.dirname(__file__), "tune-op.txt")) as file:
        op = file.read().rstrip("\n")
    entry = {"cpu": machine["cpu"], "target": machine["target"], "op": op, "schedules": [SLOW], "measured": []}

    def known(**changes):
        return json.dumps({"version": 1, "schedules": [entry | changes]}, indent=2)

    write(database, known())
    print(attnc("explain", spec, database).stdout)
    tuned = tune(spec, database, 4)
    [kernel] = tuned["kernels"]
    before, after = kernel["before"], kernel["after"]
    print("from the slow one", before["schedule"] == SLOW, "faster", after["ms"] < before["ms"])
    with open(database) as file:
        [kept] = json.load(file)["schedules"]
    print("kept", kept["schedules"] == [after["schedule"]], kept["measured"][0]["sizes"])
    print(attnc("verify", spec, database, *SIZES).stdout.splitlines()[-1])
    print(attnc("explain", spec, database).stdout.count(after["schedule"]), "kernel has it")

    for text in ("{", "[]", '{"version": 2, "schedules": []}', known(schedules="x"), known(schedules=[]),
                 known(schedules=["#attn.prefill<>"]), known(schedules=["3 : i32"]), known(schedules=[SLOW + " more"]),
                 known(schedules=[SLOW.replace("kv_block = 16", "kv_block = 5")]),
                 known(schedules=["#attn.gpu<q_block = 16, packed_heads = 1, kv_block = 8, kv_splits = 1, threads_x = 8, "
                                  "threads_y = 8, context_columns = 2>"]),
                 known(cpu="another"), known(target="another")):
        write(database, text)
        done = attnc("compile", spec, database, "--emit", "fused", "-o", "-")
        assert SLOW not in done.stdout
        print(done.stderr.replace(folder, "").split("\n")[0])
    write(database, "{")
    print(attnc("tune", spec, database, *SIZES, fails=True).stderr.replace(folder, ""))


main(*sys.argv[1:])
