#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints what small operations between two nodes bring in packets, beside the same one by one (SHMEM_PACK=off) and beside
a bare libfabric program, with targets.  All run over tcp;ofi_rxm on loopback, in turn, several rounds; a figure is the
best of the rounds, because noise only ever makes things slower.  A strided operation counts as one for each element, and
a put with signal as one; beside both stands the bare program's stream of puts, or gets, of 8 bytes.

With --pairs 4 four PEs of a node act at the same time, each on one of the other node.  Then the same of one pair and of as
many bare programs at once stand beside it: on few cores pairs take them from each other, and the last column says what
remains of one bare program's rate.  The target is then that no row is below its value with one pair.

    tests/perf/compare_small.py --bin build/release/bin [--pairs 4] [--check]
"""
import concurrent.futures
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing new in the clone
import arguments
from compare import HERE, RATES, merge, run

# row of small_operations.c: the bare program's row, and the least ratio to it
ROWS = {
    "p": ("poll_put_8_stream", 60), "put_nbi": ("poll_put_8_stream", 60), "get_nbi": ("poll_get_8_stream", 40),
    "iput": ("poll_put_8_stream", 60), "iget": ("poll_get_8_stream", 60), "put_signal": ("poll_put_8_stream", 40),
    "put_signal_nbi": ("poll_put_8_stream", 40), "put_256": ("poll_put_256_stream", 15), "put_512": ("poll_put_512_stream", None), "put_1024": ("poll_put_1024_stream", None),
    "put_2048": ("poll_put_2048_stream", None), "put_4096": ("poll_put_4096_stream", None), "put_8192": ("poll_put_8192_stream", None),
    "put_2048_quiet": ("poll_put_2048", None), "put_4096_quiet": ("poll_put_4096", None), "atomic_add": ("poll_add_stream", None),
    "put_quiet": ("poll_put_8", 1), "get": ("poll_get_8", 1), "fetch_add": ("poll_fetch_add", 1),
    "signal_round_trip": ("poll_round_trip", 1),
}


def ratio(value, other, unit):
    """Above 1: better than the other."""
    return value / other if unit in RATES else other / value


def together(program, count):
    """What `count` bare programs do at once: rates of all, and the longest latencies."""
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        runs = list(pool.map(run, [[program, "poll"]] * count))
    return {name: ((sum if unit in RATES else max)(r[name][0] for r in runs), unit) for name, (_, unit) in runs[0].items()}


def measure(options, program):
    """Figures by column: packed, single and bare; with several pairs also those of one pair."""
    bare = (options.bare or options.bin.parent / "tests/bin/bare_fabric").resolve()
    figures = {column: {} for column in ("packed", "single", "bare", "packed of one", "bare of one")}
    for _ in range(options.rounds):
        merge(figures["bare"], together(bare, options.pairs))
        columns = [("packed", "all", options.pairs), ("single", "off", options.pairs)]
        if options.pairs > 1:
            merge(figures["bare of one"], together(bare, 1))
            columns.append(("packed of one", "all", 1))
        for column, mode, pairs in columns:
            job = ["-n", 2 * pairs, "--virtual-nodes", "2:cyclic", "-x", f"SHMEM_PACK={mode}", program]
            merge(figures[column], run([str(word) for word in [options.bin / "oshrun", *job]]))
    return figures


def show(figures):
    """Prints the table; returns how many targets are missed."""
    several = bool(figures["bare of one"])
    more = f"{'one pair':>10}{'/ one pair':>11}{'bare / one':>11}" if several else "  target"
    print(f"{'':<20}{'unit':>6}{'packed':>10}{'single':>10}{'bare':>10}{'/ single':>10}{'/ bare':>10}{more}")
    missed = 0
    for name, (row, target) in ROWS.items():
        (value, unit), other, bare = figures["packed"][name], figures["single"][name][0], figures["bare"][row][0]
        beside = ratio(value, bare, unit)
        line = f"{name:<20}{unit:>6}{value:>10.3f}{other:>10.3f}{bare:>10.3f}{ratio(value, other, unit):>10.2f}{beside:>10.2f}"
        if several:
            one, bare_one = figures["packed of one"][name][0], figures["bare of one"][row][0]
            line += f"{one:>10.3f}{ratio(value, one, unit):>11.2f}{ratio(bare, bare_one, unit):>11.2f}"
            line += "  ok" if ratio(value, one, unit) >= 1 else "  MISSED"
            missed += ratio(value, one, unit) < 1
        elif target is not None:
            line += f"  {target:g}  " + ("ok" if beside >= target else "MISSED")
            missed += beside < target
        print(line)
    return missed


def main():
    parser = arguments.Parser(__doc__)
    parser.add_argument("--bin", type=arguments.folder("oshrun", "oshcc"), required=True, help="folder of our oshcc and oshrun")
    parser.add_argument("--bare", type=pathlib.Path, help="the bare libfabric program (default: that of the same build)")
    parser.add_argument("--rounds", type=arguments.whole, default=3, help="runs of each, in turn; the best counts (default 3)")
    parser.add_argument("--pairs", type=arguments.whole, default=1, help="PEs that act at the same time (default 1)")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="atoll-perf.") as folder:
        program = pathlib.Path(folder) / "small_operations"
        arguments.output([options.bin / "oshcc", "-O2", HERE / "small_operations.c", "-o", program], 120)
        missed = show(measure(options, program))
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
