#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints what each algorithm of a collective operation takes, by size: what the limits in src/coll/choose.cpp
were chosen by.  Best of several rounds, in turn; * marks the best, and what the table of choose.cpp takes is the
first column.

    tests/perf/sweep_collectives.py --bin build/release/bin [-n 4] [--nodes 2] [--only internode_reduce,alltoall]
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

from compare import HERE, merge, run

# what: (the operation that shows it, candidates on one node, candidates between nodes)
SWEEPS = {
    "broadcast": ("broadcast", ["inline", "reading"], []),
    "collect": ("fcollect", ["inline", "reading"], []),
    "alltoall": ("alltoall", ["inline", "reading"], ["leading", "combined", "pairwise"]),
    "reduce": ("sum_double", ["inline", "whole", "shares"], []),
    "scan": ("inscan", ["inline", "shares"], ["inline", "shares"]),
    "internode_broadcast": ("broadcast", [], ["tree", "chain"]),
    "internode_reduce": ("sum_double", [], ["doubling", "halving"]),
    "stripe": ("sum_double", [], ["8192", "16384", "32768", "65536", "131072"]),
    "eager": ("fcollect", [], ["8192", "16384", "32768", "65536", "131072"]),
}


def sweep(what, options, program):
    operation, here, between = SWEEPS[what]
    words = [""] + [f"{what}={candidate}" for candidate in (between if options.nodes else here)]
    if len(words) == 1:
        return
    nodes = ["--virtual-nodes", str(options.nodes)] if options.nodes else []
    best = {word: {} for word in words}
    for _ in range(options.rounds):
        for word in words:
            os.environ["SHMEM_ALGORITHMS"] = word
            merge(best[word], run([options.bin / "oshrun", "-n", str(options.n), *nodes, program, operation,
                                   str(options.ms), str(options.smallest), str(options.largest)]))
    print(f"\n{what}: us with a barrier, {options.n} PEs on {options.nodes or 1} nodes")
    print(f"{'':<22}" + "".join(f"{word.split('=')[-1] or '(chosen)':>12}" for word in words))
    for metric in best[""]:
        values = [best[word][metric][0] for word in words]
        marks = ["*" if value == min(values[1:]) else " " for value in values]
        print(f"{metric:<22}" + "".join(f"{value:>11.2f}{mark}" for value, mark in zip(values, marks)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of our oshcc and oshrun")
    parser.add_argument("-n", type=int, default=4, help="PEs")
    parser.add_argument("--nodes", type=int, default=0, help="virtual nodes; 0: all on one node")
    parser.add_argument("--only", default=",".join(SWEEPS), help="which of " + ", ".join(SWEEPS))
    parser.add_argument("--smallest", type=int, default=8, help="bytes")
    parser.add_argument("--largest", type=int, default=1 << 20, help="bytes")
    parser.add_argument("--ms", type=float, default=2, help="length of a repetition")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    with tempfile.TemporaryDirectory(prefix="atoll-perf.") as folder:
        program = pathlib.Path(folder) / "collectives"
        subprocess.run([options.bin / "oshcc", "-O2", "-Wno-deprecated-declarations", HERE / "collectives.c", "-o",
                        program], check=True)
        for what in options.only.split(","):
            sweep(what, options, program)


if __name__ == "__main__":
    sys.exit(main())
