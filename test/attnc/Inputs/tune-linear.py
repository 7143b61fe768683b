"""Tunes a linear layer from a slow schedule for many rows in a database.

usage: tune-linear.py SPEC FOLDER
"""

import json
import os
import subprocess
import sys

SLOW = "#attn.linear<row_tile = 8, vectors = 1, vector_width = 4, row_block = 40"


def attnc(command, spec, database, *options):
    return subprocess.run(["attnc", command, spec, "--schedules", database, *options], capture_output=True, text=True,
                          check=True)


def tune(spec, database, tries):
    done = attnc("tune", spec, database, "--size", "rows=40", "--threads", "1", "--seconds", "1000", "--tries", str(tries),
                 "--json")
    return json.loads(done.stdout)


def main(spec, folder):
    database = os.path.join(folder, "linear.json")
    machine = tune(spec, database, 3)
    [kernel] = machine["kernels"]
    print("rows", kernel["rows"], "tried", kernel["tried"])
    op = ("func.func private @op(%arg0: tensor<?x64xf32>, %arg1: tensor<96x64xf32>) -> tensor<?x96xf32> {\n"
          "  %0 = attn.linear %arg0, %arg1 {constant_weight} : tensor<?x64xf32>, tensor<96x64xf32> -> tensor<?x96xf32>\n"
          "  return %0 : tensor<?x96xf32>\n}")
    schedules = [SLOW + ", max_rows = 1>", SLOW + ">"]
    entry = {"cpu": machine["cpu"], "target": machine["target"], "op": op, "schedules": schedules, "measured": []}
    with open(database, "w") as file:
        json.dump({"version": 1, "schedules": [entry]}, file)
    [kernel] = tune(spec, database, 8)["kernels"]
    before, after = kernel["before"], kernel["after"]
    print("from the slow one", before["schedule"] == schedules[1], "slower", after["ms"] > before["ms"])
    with open(database) as file:
        [kept] = json.load(file)["schedules"]
    print("\n".join(kept["schedules"]))
    print(attnc("verify", spec, database, "--size", "rows=1,40").stdout.splitlines()[-1])
    print(attnc("explain", spec, database).stdout)


main(*sys.argv[1:])
