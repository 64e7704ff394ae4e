#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints what SHMEM_AMO=offload brings beside native: the rates of `shmem_bench atomics` in both, with ratios and
their geometric means.  Both run in turn, several rounds; a rate is the best of the rounds, because noise only ever
makes things slower.  Each PE's target is on another virtual node.  With --check the exit code says whether every
bound below is met.

    tests/perf/compare_atomics.py --bin build/release/bin [-n 2] [--virtual-nodes 2] [--check]
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys

MODES = ("native", "offload")
FORMS = ("blocking", "nonfetching", "nbi")
UPDATES = ("RAND", "STRIDE1", "STRIDEN", "SCATTER", "CENTRAL")

# (form, patterns, smallest allowed ratio of each), and the smallest geometric mean of the blocking ones.
BOUNDS = [("nonfetching", UPDATES, 100), ("nbi", UPDATES[:-1], 100)]
BLOCKING_MEAN = 0.95


def run(options, mode):
    """{(kernel, form): million atomics a second}"""
    command = [options.bin / "oshrun", "-n", options.n, "--virtual-nodes", options.virtual_nodes, "--timeout", 300,
               options.bin / "shmem_bench", "atomics", "--json", "--distance", options.n // options.virtual_nodes,
               "--seconds", options.seconds]
    for name, value in (("--pattern", options.pattern), ("--kind", options.kind), ("--form", options.form)):
        command += [name, value] if value else []
    result = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=dict(os.environ, SHMEM_AMO=mode), timeout=330, check=False)
    if result.returncode != 0:
        sys.exit(f"SHMEM_AMO={mode} {' '.join(map(str, command))} failed with code {result.returncode}:\n"
                 + result.stderr)
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    return {(row["kernel"], row["form"]): row["mamos"] for row in rows}


def measure(options):
    best = {mode: {} for mode in MODES}
    for _ in range(options.rounds):
        for mode in MODES:
            for key, rate in run(options, mode).items():
                best[mode][key] = max(rate, best[mode].get(key, 0))
    return best


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def bound_of(kernel, form):
    for bounded, patterns, bound in BOUNDS:
        if form == bounded and kernel.split("_")[0] in patterns:
            return bound
    return None


def table(best, options):
    """Prints it; the number of bounds that are missed."""
    print(f"{options.n} PEs on {options.virtual_nodes} virtual nodes, million atomics a second, "
          f"best of {options.rounds}")
    print(f"{'kernel':<14}{'form':<13}" + "".join(f"{mode:>12}" for mode in MODES) + f"{'ratio':>9}  bound")
    ratios = {form: [] for form in FORMS}
    missed = 0
    for (kernel, form), native in best["native"].items():
        offload = best["offload"][kernel, form]
        ratios[form].append(offload / native)
        bound, verdict = bound_of(kernel, form), ""
        if bound is not None:
            missed += offload < bound * native
            verdict = ("ok" if offload >= bound * native else "MISSED") + f" >= {bound}"
        print(f"{kernel:<14}{form:<13}{native:>12.4g}{offload:>12.4g}{offload / native:>9.2f}  {verdict}".rstrip())
    for form, found in ratios.items():
        if not found:
            continue
        mean, verdict = geometric_mean(found), ""
        if form == "blocking":
            missed += mean < BLOCKING_MEAN
            verdict = ("ok" if mean >= BLOCKING_MEAN else "MISSED") + f" >= {BLOCKING_MEAN}"
        print(f"{'geomean':<14}{form:<13}{'':>24}{mean:>9.2f}  {verdict}".rstrip())
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of oshrun and shmem_bench")
    parser.add_argument("-n", type=int, default=2, help="PEs")
    parser.add_argument("--virtual-nodes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.02, help="length of a round within a run")
    for name in ("--pattern", "--kind", "--form"):
        parser.add_argument(name, default="", help="goes to shmem_bench")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bound is missed")
    options = parser.parse_args()
    if not 2 <= options.virtual_nodes <= options.n:
        parser.error("needs at least 2 virtual nodes, and a PE on each")
    options.bin = options.bin.resolve()
    missed = table(measure(options), options)
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
