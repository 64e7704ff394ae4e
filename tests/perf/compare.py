#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints the yardstick's table: Atoll beside the machine's own limit and beside Open MPI, with ratios.

All programs run in turn, several rounds, on the same machine in the same minutes; a metric's value is the best of
the rounds, because noise only ever makes things slower.  With --check the exit code says whether every bound
below is met.

    tests/perf/compare.py --bin build/release/bin [-n 2] [--rounds 3] [--check]
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

# metric: largest allowed ratio of ours to the machine's (2 PEs; for rates: smallest allowed).
MACHINE_BOUNDS = {
    "put8_quiet": 4, "put8_stream": 2, "putmem_64B_quiet": 4, "get8": 2, "fadd": 2, "add_stream": 2, "cswap": 2,
    "put_bw_1MB": 0.95, "get_bw_1MB": 0.95,
}
# metric: largest allowed ratio of ours to Open MPI's.
PEER_BOUNDS = {"barrier_all": 1, "pingpong_8B_oneway": 1, "malloc_free_pair": 1}
# metric: (the one it is compared with, largest allowed ratio), both ours.
SELF_BOUNDS = {"put8_static": ("put8_quiet", 1.3), "fadd_static": ("fadd", 1.3)}
RATES = ("GB/s", "Mupd/s", "M", "M/s")


def run(command, may_crash=False):
    """Metrics that `command` prints as lines "name value unit", as {name: (value, unit)}.  With may_crash those that
    it printed before it crashed count: Open MPI 4.1 crashes in finalize here and there."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600)
    if result.returncode != 0 and not may_crash:
        sys.exit(f"{' '.join(map(str, command))} failed with code {result.returncode}:\n{result.stderr}")
    metrics = {}
    for line in result.stdout.splitlines():
        words = line.split()
        if len(words) == 3:
            try:
                metrics[words[0]] = (float(words[1]), words[2])
            except ValueError:
                pass
    return metrics


def merge(best, metrics):
    for name, (value, unit) in metrics.items():
        better = max if unit in RATES else min
        best[name] = (better(value, best[name][0]) if name in best else value, unit)


def build(work, options):
    ours = work / "onnode.atoll"
    subprocess.run([options.bin / "oshcc", "-O2", options.yardstick, "-o", ours], check=True)
    machine = work / "machine"
    subprocess.run([os.environ.get("CC", "cc"), "-O2", options.machine, "-o", machine], check=True)
    peer = None
    if options.peer and shutil.which(options.peer + "/oshcc"):
        peer = work / "onnode.peer"
        subprocess.run([options.peer + "/oshcc", "-O2", options.yardstick, "-o", peer], check=True)
    return ours, machine, peer


def verdict(name, best):
    """"ok", "MISSED ..." or "" for metrics without a bound."""
    ours, machine, peer = best["ours"], best["machine"], best["peer"]
    checks = []
    if name in MACHINE_BOUNDS and name in machine:
        bound, ratio = MACHINE_BOUNDS[name], ours[name][0] / machine[name][0]
        rate = ours[name][1] in RATES
        checks.append((ratio >= bound if rate else ratio <= bound, f"{'>=' if rate else '<='} {bound} x machine"))
    if name in PEER_BOUNDS and name in peer:
        checks.append((ours[name][0] <= PEER_BOUNDS[name] * peer[name][0], f"<= {PEER_BOUNDS[name]} x peer"))
    if name in SELF_BOUNDS:
        other, bound = SELF_BOUNDS[name]
        checks.append((ours[name][0] <= bound * ours[other][0], f"<= {bound} x {other}"))
    if not checks:
        return ""
    return "; ".join(("ok " if good else "MISSED ") + text for good, text in checks)


def table(best, options):
    print(f"{'metric':<22}{'unit':>8}{'Atoll':>12}{'machine':>12}{'ratio':>8}{'peer':>12}{'ratio':>8}  bound")
    missed = 0
    for name, (value, unit) in best["ours"].items():
        row = f"{name:<22}{unit:>8}{value:>12.3f}"
        for other in (best["machine"], best["peer"]):
            if name in other and other[name][0] > 0:
                row += f"{other[name][0]:>12.3f}{value / other[name][0]:>8.2f}"
            else:
                row += f"{'-':>12}{'-':>8}"
        text = verdict(name, best) if options.n == 2 else ""
        missed += "MISSED" in text
        print(f"{row}  {text}")
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of our oshcc and oshrun")
    parser.add_argument("--peer", default="/usr/bin", help="folder of Open MPI's oshcc and oshrun; empty: none")
    parser.add_argument("-n", type=int, default=2, help="PEs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--yardstick", type=pathlib.Path, default=HERE / "onnode.c", help="the program to compare")
    parser.add_argument("--machine", type=pathlib.Path, default=HERE / "machine.c", help="its limit, same metrics")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bound is missed")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    best = {"ours": {}, "machine": {}, "peer": {}}
    with tempfile.TemporaryDirectory(prefix="atoll-perf.") as folder:
        ours, machine, peer = build(pathlib.Path(folder), options)
        for _ in range(options.rounds):
            merge(best["machine"], run([machine, "20000", str(options.n)]))
            merge(best["ours"], run([options.bin / "oshrun", "-n", str(options.n), ours]))
            if peer:
                root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
                command = [options.peer + "/oshrun", *root, "--oversubscribe", "-n", str(options.n), peer]
                merge(best["peer"], run(command, may_crash=True))
    missed = table(best, options)
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
