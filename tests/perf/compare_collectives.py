#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints a table of collective operations: Atoll beside Open MPI and whatever else is named, with ratios.

All run in turn, several rounds, on the same cores in the same minutes; a value is the best of the rounds, because
noise only ever makes things slower.  With --nodes everything between PEs of different nodes goes over TCP; so does
everything of Open MPI's.

    tests/perf/compare_collectives.py --bin build/release/bin -n 2 [--nodes 2] [--only broadcast,sum_long]
        [--peer 'NAME|path/to/oshcc|launcher -n {n}']... [--limit 1.0]
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

from compare import HERE, merge, run

OPEN_MPI = "/usr/bin/oshrun {root} --oversubscribe --bind-to none -n {n}"
OVER_TCP = "env UCX_TLS=tcp,self UCX_NET_DEVICES=lo " + OPEN_MPI + \
    " --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo --mca coll ^sm"


def contenders(options, work):
    """{name: command}, ours first; each has its own build of the program."""
    fill = {"n": options.n, "root": "--allow-run-as-root" if os.geteuid() == 0 else ""}
    nodes = f" --virtual-nodes {options.nodes}" if options.nodes else ""
    rows = [f"atoll|{options.bin}/oshcc|{options.bin}/oshrun -n {{n}}{nodes}"]
    if not options.no_open_mpi:
        rows.append("openmpi|/usr/bin/oshcc|" + (OVER_TCP if options.nodes else OPEN_MPI))
    commands = {}
    for row in rows + options.peer:
        name, compiler, launcher = row.split("|")
        program = work / name
        subprocess.run([compiler, "-O2", "-Wno-deprecated-declarations", HERE / "collectives.c", "-o", program],
                       check=True)
        cores = ["taskset", "-c", options.cores] if options.cores else []
        commands[name] = cores + launcher.format(**fill).split() + [str(program), options.only, str(options.ms),
                                                                    str(options.smallest), str(options.largest)]
    return commands


def table(best, limit):
    peers = [name for name in best if name != "atoll"]
    print(f"{'us, with a barrier':<24}{'atoll':>10}" + "".join(f"{name:>12}{'ratio':>7}" for name in peers))
    missed = 0
    for metric, (value, _) in best["atoll"].items():
        row, worst = f"{metric:<24}{value:>10.2f}", 0
        for name in peers:
            if metric in best[name]:
                other = best[name][metric][0]
                row += f"{other:>12.2f}{value / other:>7.2f}"
                worst = max(worst, value / other)
            else:
                row += f"{'-':>12}{'-':>7}"
        missed += worst > limit
        print(row + ("  <<<" if worst > limit else ""))
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of our oshcc and oshrun")
    parser.add_argument("-n", type=int, default=2, help="PEs")
    parser.add_argument("--nodes", type=int, default=0, help="virtual nodes; 0: all on one node")
    parser.add_argument("--only", default="all", help="names of operations, with commas")
    parser.add_argument("--smallest", type=int, default=8, help="bytes")
    parser.add_argument("--largest", type=int, default=4 << 20, help="bytes")
    parser.add_argument("--ms", type=float, default=4, help="length of a repetition")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cores", default="", help="run on these cores only (taskset -c)")
    parser.add_argument("--peer", action="append", default=[], help="another: NAME|COMPILER|LAUNCHER with {n}")
    parser.add_argument("--no-open-mpi", action="store_true")
    parser.add_argument("--limit", type=float, default=1.0, help="ratio above which a row is marked and counted")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    with tempfile.TemporaryDirectory(prefix="atoll-perf.") as folder:
        commands = contenders(options, pathlib.Path(folder))
        best = {name: {} for name in commands}
        for _ in range(options.rounds):
            for name, command in commands.items():
                merge(best[name], run(command, may_crash=name != "atoll"))
    missed = table(best, options.limit)
    print(f"{missed} of {len(best['atoll'])} above {options.limit}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
