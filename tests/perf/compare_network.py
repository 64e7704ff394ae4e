#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints what operations between nodes cost beside what a bare libfabric program pays for the same, with ratios above
1 where ours is slower.  Both run over tcp;ofi_rxm on loopback, in turn, several rounds; a metric's value is the best
of the rounds, because noise only ever makes things slower.  Atomics are native (SHMEM_AMO): what packing them brings
is measured by compare_atomics.py.  With --check the exit code says whether all ratios are
within the bound.

    tests/perf/compare_network.py --bin build/release/bin --bare build/release/tests/bin/bare_fabric [--check]
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

from compare import HERE, RATES, merge, run

BOUND = 1.15


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of our oshcc and oshrun")
    parser.add_argument("--bare", type=pathlib.Path, required=True, help="the bare libfabric program")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a ratio is above the bound")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    ours, bare = {}, {}
    with tempfile.TemporaryDirectory(prefix="atoll-perf.") as folder:
        program = pathlib.Path(folder) / "offnode"
        subprocess.run([options.bin / "oshcc", "-O2", HERE / "offnode.c", "-o", program], check=True)
        for _ in range(options.rounds):
            for mode in ("poll", "agent"):
                merge(bare, run([options.bare.resolve(), mode]))
                merge(ours, run([options.bin / "oshrun", "-n", "2", "--virtual-nodes", "2", "-x", "SHMEM_AMO=native", program, mode]))
    print(f"{'metric':<24}{'unit':>6}{'Atoll':>10}{'bare':>10}{'ratio':>8}  bound {BOUND}")
    missed = 0
    for name, (value, unit) in ours.items():
        other = bare[name][0]
        ratio = other / value if unit in RATES else value / other
        missed += ratio > BOUND
        print(f"{name:<24}{unit:>6}{value:>10.3f}{other:>10.3f}{ratio:>8.2f}  {'MISSED' if ratio > BOUND else 'ok'}")
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
