#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints how many atomics a second all PEs of a node do on one word, beside what bare instructions on a shared word
do with as many processes.  Both run in turn, several rounds, each process on a core of its own.  A rate is the median
of the rounds, not the best: a process that runs while the others do not is fast, because it is alone.

    tests/perf/hot_spot.py --bin build/release/bin [-n 2,4] [--rounds 9]
"""
import os
import pathlib
import re
import shlex
import statistics
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing new in the clone
import arguments

HERE = pathlib.Path(__file__).resolve().parent


def run(command):
    return arguments.output(command, 120)


def main():
    parser = arguments.Parser(__doc__)
    parser.add_argument("--bin", type=arguments.folder("oshrun", "shmem_bench"), required=True,
                        help="folder of oshrun and shmem_bench")
    parser.add_argument("-n", type=arguments.several, default=[2, 4], help="numbers of PEs, with commas (default 2,4)")
    parser.add_argument("--count", type=arguments.whole, default=1000000,
                        help="atomics of a PE in a round (default 1000000)")
    parser.add_argument("--rounds", type=arguments.whole, default=9,
                        help="runs of each, in turn; the median counts (default 9)")
    options = parser.parse_args()
    found = {}

    def note(pes, kernel, who, gams):
        rates = found.setdefault((pes, kernel), {})
        rates.setdefault(who, []).append(1000 * gams)

    with tempfile.TemporaryDirectory(prefix="atoll-perf.") as folder:
        machine = pathlib.Path(folder) / "machine"
        run([*shlex.split(os.environ.get("CC", "cc")), "-O2", HERE / "machine_kernels.c", "-o", machine])
        for pes in options.n:
            for _ in range(options.rounds):
                for kernel in ("CENTRAL_ADD", "CENTRAL_CAS"):
                    said = run([machine, "-c", "-b", kernel, "-m", 8 * options.count, "-i", options.count, "-p", pes])
                    note(pes, kernel, "machine", float(re.search(r"GAMS\) *: (\S+)", said).group(1)))
                said = run([options.bin / "oshrun", "-n", pes, "--bind", "core", options.bin / "shmem_bench", "atomics",
                            "--json", "--rounds", 1, "--count", options.count, "--pattern", "CENTRAL",
                            "--form", "blocking"])
                for row in arguments.results(said):
                    note(pes, row["kernel"], "atoll", row["gams"])
    print(f"{'one word, million AMOs a second':<34}{'PEs':>4}{'Atoll':>10}{'machine':>10}{'ratio':>8}")
    for (pes, kernel), rates in found.items():
        ours, machine = (statistics.median(rates[who]) for who in ("atoll", "machine"))
        print(f"{kernel:<34}{pes:>4}{ours:>10.4g}{machine:>10.4g}{ours / machine:>8.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
