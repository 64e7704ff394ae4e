#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts the instructions that a remote atomic, a put of a word, or an element of a strided put or get takes at its
initiator, with SHMEM_AMO=native and offload.

PE 0 of two PEs on two virtual nodes runs under valgrind --tool=callgrind, PE 1 does not.  It does N operations and 2N;
the difference divided by N is what one takes, start-up and end cancel.  Counted are the instructions of all threads
of PE 0 in user mode, in the library, libfabric and libc.  Not counted are the kernel's, which a packet over TCP
takes in addition, and those of PE 1.  Polling while one waits is counted, so that a blocking atomic's figure
depends on how long the answer takes.  valgrind makes PE 0 some 50 times slower, but not the clock by which a
stream polls nor the wire: there are 50 times as many polls an atomic as there are without it, and a packet, which
leaves as soon as the node has answered, has 40 atomics instead of a thousand (SHMEM_STATS shows it).  So offload's
figures are upper bounds; within a session packets are full here, too.  The figure is the median of the rounds.
A round takes 1.5 minutes or more; standard error has what is counted at the moment.

    tests/perf/instructions.py --bin build/release/bin [--rounds 3]
"""
import pathlib
import statistics
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing new in the clone
import arguments
import callgrind

HERE = pathlib.Path(__file__).resolve().parent
MODES = ("native", "offload", "session")  # session: offload, within a session with SHMEM_CTX_SESSION_BATCH
KINDS = {"add": 50000, "fetch_add_nbi": 50000, "fetch_add": 500, "p": 500000, "iput": 204800, "iget": 204800}


def count(options, work, mode, kind, n):
    """(instructions of all threads of PE 0, those of the thread with most)"""
    profile = work / "profile"
    callgrind.run([options.bin / "oshrun", "-n", 2, "--virtual-nodes", 2],
                  [work / "instructions", kind, n] + (["session"] if mode == "session" else []), profile,
                  ["--separate-threads=yes"], options.timeout, SHMEM_AMO="native" if mode == "native" else "offload")
    threads = [callgrind.total(path) for path in work.glob("profile-*")]
    if not any(threads):
        sys.exit(f"valgrind counted nothing: {sorted(path.name for path in work.iterdir())}")
    return sum(threads), max(threads)


def each(options, work, mode, kind):
    """Instructions of an operation: of all threads, and of the busiest; medians of the rounds."""
    n = KINDS[kind] * options.scale
    found = []
    for round_number in range(1, options.rounds + 1):
        print(f"instructions.py: {kind}, {mode}, round {round_number} of {options.rounds}", file=sys.stderr, flush=True)
        once, twice = count(options, work, mode, kind, n), count(options, work, mode, kind, 2 * n)
        found.append([(b - a) / n for a, b in zip(once, twice)])
    return [statistics.median(values) for values in zip(*found)]


def main():
    parser = arguments.Parser(__doc__)
    parser.add_argument("--bin", type=arguments.folder("oshrun", "oshcc"), required=True,
                        help="folder of our oshcc and oshrun")
    parser.add_argument("--rounds", type=arguments.whole, default=3,
                        help="counts of each, in turn; the median counts (default 3)")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="what to count (default all)")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES), help="which of them (default all)")
    parser.add_argument("--scale", type=arguments.whole, default=1, help="times as many operations (default 1)")
    parser.add_argument("--timeout", type=arguments.whole, default=120, help="seconds for a run (default 120)")
    options = parser.parse_args()
    if callgrind.is_missing():
        return 77
    print("instructions of PE 0 in user mode for each remote operation: all threads (the busiest thread)")
    beside = options.modes[1:] if options.modes[0] == "native" else []
    print(f"{'':<16}" + "".join(f"{mode:>24}" for mode in options.modes)
          + "".join(f"{mode + '/native':>16}" for mode in beside))
    with tempfile.TemporaryDirectory(prefix="atoll-perf.") as folder:
        work = pathlib.Path(folder)
        program = work / "instructions"
        arguments.output([options.bin / "oshcc", "-O2", "-g", HERE / "instructions.c", "-o", program], 120)
        for kind in options.kinds:
            found = [each(options, work, mode, kind) for mode in options.modes]
            cells = "".join(f"{f'{everything:.0f} ({busiest:.0f})':>24}" for everything, busiest in found)
            ratios = "".join(f"{other[0] / found[0][0]:>16.4f}" for other in found[len(found) - len(beside):])
            print(f"{kind:<16}{cells}{ratios}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
