#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints what small operations between two nodes bring in packets, beside the same one by one (SHMEM_PACK=off) and beside
a bare libfabric program, with targets.  All run over tcp;ofi_rxm on loopback, in turn, several rounds; a figure is the
best of the rounds, because noise only ever makes things slower.  A strided operation counts as one for each element, and
a put with signal as one; beside both stands the bare program's stream of puts, or gets, of 8 bytes.  With --pairs 4 four
PEs of a node act at the same time, each on one of the other node; the bare program is one pair always.

    tests/perf/compare_small.py --bin build/release/bin [--pairs 4] [--check]
"""
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
    "put_signal_nbi": ("poll_put_8_stream", 40), "put_256": ("poll_put_256_stream", 15), "atomic_add": ("poll_add_stream", None),
    "put_quiet": ("poll_put_8", 1), "get": ("poll_get_8", 1), "fetch_add": ("poll_fetch_add", 1),
    "signal_round_trip": (None, None),
}


def ratio(value, other, unit):
    """Above 1: better than the other."""
    return value / other if unit in RATES else other / value


def main():
    parser = arguments.Parser(__doc__)
    parser.add_argument("--bin", type=arguments.folder("oshrun", "oshcc"), required=True, help="folder of our oshcc and oshrun")
    parser.add_argument("--bare", type=pathlib.Path, help="the bare libfabric program (default: that of the same build)")
    parser.add_argument("--rounds", type=arguments.whole, default=3, help="runs of each, in turn; the best counts (default 3)")
    parser.add_argument("--pairs", type=arguments.whole, default=1, help="PEs that act at the same time (default 1)")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    options = parser.parse_args()
    program_beside = options.bare or options.bin.parent / "tests/bin/bare_fabric"
    packed, single, bare = {}, {}, {}
    job = ["-n", 2 * options.pairs, "--virtual-nodes", "2:cyclic"]
    with tempfile.TemporaryDirectory(prefix="atoll-perf.") as folder:
        program = pathlib.Path(folder) / "small_operations"
        arguments.output([options.bin / "oshcc", "-O2", HERE / "small_operations.c", "-o", program], 120)
        for _ in range(options.rounds):
            merge(bare, run([program_beside.resolve(), "poll"]))
            for figures, mode in ((packed, "all"), (single, "off")):
                merge(figures, run([str(word) for word in [options.bin / "oshrun", *job, "-x", f"SHMEM_PACK={mode}", program]]))
    print(f"{'':<20}{'unit':>6}{'packed':>10}{'single':>10}{'bare':>10}{'/ single':>10}{'/ bare':>10}  target")
    missed = 0
    for name, (row, target) in ROWS.items():
        (value, unit), other = packed[name], single[name][0]
        line = f"{name:<20}{unit:>6}{value:>10.3f}{other:>10.3f}"
        if row is None:
            print(f"{line}{'':>10}{ratio(value, other, unit):>10.2f}")
            continue
        beside = ratio(value, bare[row][0], unit)
        verdict = "" if target is None else f"{target:g}  " + ("ok" if beside >= target else "MISSED")
        missed += verdict.endswith("MISSED")
        print(f"{line}{bare[row][0]:>10.3f}{ratio(value, other, unit):>10.2f}{beside:>10.2f}  {verdict}")
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
