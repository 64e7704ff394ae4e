#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: fewer_messages.py <oshrun> <stream> <put|add|fetch>

Runs the same program one by one (SHMEM_AMO=native) and within a session, and compares what SHMEM_STATS says of the
wire: the session must take at most a twentieth of the posts, for the same number of operations.  Atomics without a session
must be packed too."""
import collections
import os
import subprocess
import sys

FEWER = 20
KIND = {"put": "puts", "add": "atomics", "fetch": "atomics"}


def totals(oshrun, stream, kind, mode, amo):
    """The sums of the table, by the names of its columns; it leaves out those that are 0 on all PEs."""
    command = [oshrun, "-n", "2", "--virtual-nodes", "2", "--timeout", "50", stream, kind, mode]
    run = subprocess.run(command, env=dict(os.environ, SHMEM_STATS="1", SHMEM_AMO=amo), stderr=subprocess.PIPE, text=True, timeout=55)
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {run.returncode}:\n{run.stderr}")
    sums, names, each = collections.Counter(), [], []
    for row in map(str.split, run.stderr.splitlines()):
        if row[:1] == ["PE"]:  # a block of columns begins
            names, each = row[1:], []
        elif row and row[0].isdigit():
            each.append(map(float, row[1:]))
        elif row[:1] == ["total"]:
            for name, value, column in zip(names, map(float, row[1:]), zip(*each)):
                assert value == sum(column) or name == "mshr_miss_rate", f"the total of {name} is not the sum"
                sums[name] = value
    return sums


def main():
    oshrun, stream, kind = sys.argv[1:]
    plain = totals(oshrun, stream, kind, "plain", "native")
    offload = totals(oshrun, stream, kind, "plain", "offload")
    session = totals(oshrun, stream, kind, "session", "auto")
    print(f"native: {plain}\noffload: {offload}\nsession: {session}")
    column = KIND[kind]
    checks = {
        f"the same number of {column}": plain[column] == session[column] == 20000,
        "nothing packed where atomics are native": plain["packed"] == plain["packets"] == 0,
        "all packed without a session": offload["packed"] == 20000,
        "all packed with one": session["packed"] == 20000,
        f"{FEWER} x fewer posts": session["posts"] * FEWER <= plain["posts"],
        "at least one post for each operation that is not packed": plain["posts"] >= 20000,
    }
    for what, holds in checks.items():
        print(f"{'ok    ' if holds else 'FAILED'} {what}")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
