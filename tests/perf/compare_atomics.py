#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints what SHMEM_AMO=offload brings beside native: the rates of `shmem_bench atomics` in both, with ratios and
their geometric means.  Both run in turn, several rounds; a rate is the best of the rounds, because noise only ever
makes things slower.  Each PE's target is on another virtual node.  With --check the exit code says whether every
bound below is met.

    tests/perf/compare_atomics.py --bin build/release/bin [-n 2] [--virtual-nodes 2] [--check]
"""
import math
import sys

sys.dont_write_bytecode = True  # nothing new in the clone
import arguments

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
    rows = arguments.results(arguments.output(command, 330, SHMEM_AMO=mode))
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
    """Prints it; the numbers of bounds, and of those that are missed."""
    print(f"{options.n} PEs on {options.virtual_nodes} virtual nodes, million atomics a second, "
          f"best of {options.rounds}")
    print(f"{'kernel':<14}{'form':<13}" + "".join(f"{mode:>12}" for mode in MODES) + f"{'ratio':>9}  bound")
    ratios = {form: [] for form in FORMS}
    bounds = missed = 0
    for (kernel, form), native in best["native"].items():
        offload = best["offload"][kernel, form]
        ratios[form].append(offload / native)
        bound, verdict = bound_of(kernel, form), ""
        if bound is not None:
            bounds += 1
            missed += offload < bound * native
            verdict = ("ok" if offload >= bound * native else "MISSED") + f" >= {bound}"
        print(f"{kernel:<14}{form:<13}{native:>12.4g}{offload:>12.4g}{offload / native:>9.2f}  {verdict}".rstrip())
    for form, found in ratios.items():
        if not found:
            continue
        mean, verdict = geometric_mean(found), ""
        if form == "blocking":
            bounds += 1
            missed += mean < BLOCKING_MEAN
            verdict = ("ok" if mean >= BLOCKING_MEAN else "MISSED") + f" >= {BLOCKING_MEAN}"
        print(f"{'geomean':<14}{form:<13}{'':>24}{mean:>9.2f}  {verdict}".rstrip())
    return bounds, missed


def parse():
    parser = arguments.Parser(__doc__)
    parser.add_argument("--bin", type=arguments.folder("oshrun", "shmem_bench"), required=True,
                        help="folder of oshrun and shmem_bench")
    parser.add_argument("-n", type=arguments.whole, default=2, help="PEs, as many on each node (default 2)")
    parser.add_argument("--virtual-nodes", type=arguments.whole, default=2,
                        help="nodes that the PEs are on, 2 or more (default 2)")
    parser.add_argument("--rounds", type=arguments.whole, default=3,
                        help="runs in each mode, in turn; the best rate counts (default 3)")
    parser.add_argument("--seconds", type=arguments.seconds, default=0.02,
                        help="length of a round within a run (default 0.02)")
    for name, values in (("--pattern", "RAND, STRIDE1, STRIDEN, PTRCHASE, CENTRAL, SG, SCATTER, GATHER"),
                         ("--kind", "add, cas"), ("--form", "blocking, nonfetching, nbi")):
        parser.add_argument(name, default="", help=f"only these, with commas: {values} (default all)")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bound is missed, or if there is none")
    options = parser.parse_args()
    if options.virtual_nodes < 2 or options.n % options.virtual_nodes != 0:
        parser.error("--virtual-nodes must be 2 or more, and -n a multiple of it")
    return options


def main():
    options = parse()
    bounds, missed = table(measure(options), options)
    if options.check and bounds == 0:
        print("compare_atomics.py: no bound is for what was measured; leave out --check, or measure more",
              file=sys.stderr)
    return 1 if options.check and (missed or bounds == 0) else 0


if __name__ == "__main__":
    sys.exit(main())
