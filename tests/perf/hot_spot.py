#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints how many atomics a second all PEs of a node do on one word, beside what bare instructions on a shared word
do with as many processes.  Both run in turn, several rounds, each process on a core of its own.  A rate is the median
of the rounds, not the best: a process that runs while the others do not is fast, because it is alone.

    tests/perf/hot_spot.py --bin build/release/bin [-n 2,4] [--rounds 9]
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def run(command):
    return subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, timeout=120, check=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of oshrun and shmem_bench")
    parser.add_argument("-n", default="2,4", help="numbers of PEs, with commas")
    parser.add_argument("--count", type=int, default=1000000, help="atomics of a PE in a round")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    found = {}

    def note(pes, kernel, who, gams):
        rates = found.setdefault((pes, kernel), {})
        rates.setdefault(who, []).append(1000 * gams)

    with tempfile.TemporaryDirectory(prefix="atoll-perf.") as folder:
        machine = pathlib.Path(folder) / "machine"
        subprocess.run([os.environ.get("CC", "cc"), "-O2", HERE / "machine_kernels.c", "-o", machine], check=True)
        for pes in map(int, options.n.split(",")):
            for _ in range(options.rounds):
                for kernel in ("CENTRAL_ADD", "CENTRAL_CAS"):
                    said = run([machine, "-c", "-b", kernel, "-m", 8 * options.count, "-i", options.count, "-p", pes])
                    note(pes, kernel, "machine", float(re.search(r"GAMS\) *: (\S+)", said).group(1)))
                said = run([options.bin / "oshrun", "-n", pes, "--bind", "core", options.bin / "shmem_bench", "atomics",
                            "--json", "--rounds", 1, "--count", options.count, "--pattern", "CENTRAL",
                            "--form", "blocking"])
                for row in map(json.loads, said.splitlines()):
                    note(pes, row["kernel"], "atoll", row["gams"])
    print(f"{'one word, million AMOs a second':<34}{'PEs':>4}{'Atoll':>10}{'machine':>10}{'ratio':>8}")
    for (pes, kernel), rates in found.items():
        ours, machine = (statistics.median(rates[who]) for who in ("atoll", "machine"))
        print(f"{kernel:<34}{pes:>4}{ours:>10.4g}{machine:>10.4g}{ours / machine:>8.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
