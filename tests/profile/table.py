#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: table.py --oshrun PATH -n PES [--virtual-nodes N] [--preload LIBRARY] PROGRAM

Runs calls.c under the example tool of the profiling interface, in each of its modes, and compares the calls and
bytes of every line of every table with what the program does.
"""
import argparse
import re
import subprocess

THREADS, PUTS = 4, 1000

# One PE's calls from init_thread to the last finalize, as (calls, bytes).
START = {"shmem_init_thread": (2, 0), "shmem_init": (1, 0), "start_pes": (1, 0)}
KNOWN = {
    "shmem_my_pe": (1, 0), "shmem_ctx_create": (1, 0), "shmem_ctx_destroy": (1, 0), "shmem_ctx_quiet": (1, 0),
    "shmem_ctx_long_put": (3, 3 * 5 * 8), "shmem_long_iput": (4, 4 * 3 * 8), "shmem_long_ibput": (1, 2 * 3 * 8),
    "shmem_put32": (1, 7 * 4), "shmem_ctx_getmem_nbi": (1, 9), "shmem_long_put_signal": (1, 2 * 8),
    "shmem_long_wait_until": (1, 0), "shmem_long_atomic_fetch_add": (1, 8), "shmem_long_broadcast": (1, 6 * 8),
    "shmem_complexd_sum_reduce": (1, 16), "shmem_sync_all": (1, 0),
}
SHAPES = {
    "shmem_my_pe": (1, 0), "shmem_n_pes": (1, 0), "shmem_quiet": (1, 0), "shmem_int_g": (1, 4), "shmem_int_atomic_set": (1, 4),
    "shmem_int_atomic_fetch_inc": (1, 4), "shmem_int_atomic_inc": (1, 4), "shmem_int_atomic_compare_swap": (1, 4),
    "shmem_int_atomic_fetch_nbi": (1, 4), "shmem_int_atomic_swap_nbi": (1, 4), "shmem_int_atomic_compare_swap_nbi": (1, 4),
    "shmem_int_atomic_fetch_inc_nbi": (1, 4), "shmem_int_wait_until_all": (1, 0), "shmem_int_test_any": (1, 0),
    "shmem_int_alltoalls": (1, 2 * 4), "shmem_broadcast32": (1, 3 * 4), "shmem_fcollect32": (1, 2 * 4),
    "shmem_alltoalls32": (1, 2 * 4), "shmem_int_sum_to_all": (1, 3 * 4),
}
THREADED = {"shmem_my_pe": (THREADS, 0), "shmem_n_pes": (THREADS, 0), "shmem_long_p": (THREADS * PUTS, THREADS * PUTS * 8)}
END = {"shmem_finalize": (1, 0), "shmem_barrier_all": (1, 0)}  # the last finalize prints, and is not in it
ALL = [START, KNOWN, SHAPES, THREADED, END]


def total(parts, pes=1):
    """The sum of several PEs' calls of several parts."""
    sums = {}
    for part in parts:
        for name, (calls, size) in part.items():
            old = sums.get(name, (0, 0))
            sums[name] = (old[0] + calls * pes, old[1] + size * pes)
    return sums


def check_times(calls, seconds, slowest, mean, pes):
    """They have 6 digits behind the point, and the mean, which is in microseconds, 3."""
    assert 0 <= slowest <= seconds <= pes * (slowest + 1e-6), (seconds, slowest, pes)
    assert abs(mean * calls - seconds * 1e6) <= 1 + calls * 0.001, (calls, seconds, mean)


def parse(text):
    """[(title, {function: (calls, bytes)})] of all tables."""
    tables = []
    for line in text.splitlines():
        words = line.split()
        if line.startswith("shmem_profile: "):
            tables.append((line[len("shmem_profile: "):], {}))
            pes = 1 if words[1] == "PE" else int(words[1])  # in one table
            before = float("inf")
        elif line.startswith(("atoll: ", "oshrun: ")):
            assert "requested is -1" in line or "said the same" in line, line
        elif words and words[0] == "function":
            assert words == "function calls bytes seconds slowest PE us/call".split(), line
        elif words:
            assert tables and len(words) == 6, line
            name, calls, size, seconds, slowest, mean = words
            assert name not in tables[-1][1], line
            check_times(int(calls), float(seconds), float(slowest), float(mean), pes)
            assert float(seconds) <= before, line  # what took most time comes first
            before = float(seconds)
            tables[-1][1][name] = (int(calls), int(size))
    return tables


def run(arguments, mode):
    command = [arguments.oshrun, "-n", str(arguments.n), "--timeout", "50"]
    if arguments.virtual_nodes:
        command += ["--virtual-nodes", arguments.virtual_nodes]
    if arguments.preload:
        command += ["-x", "LD_PRELOAD=" + arguments.preload]
    done = subprocess.run([*command, arguments.program, mode], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    return parse(done.stderr)


def same(tables, expected, what):
    """`expected`: {pattern of a title: calls}, one table each."""
    assert len(tables) == len(expected), (what, tables)
    for pattern, calls in expected.items():
        found = [table for title, table in tables if re.fullmatch(pattern, title)]
        assert len(found) == 1, (what, pattern, tables)
        assert found[0] == calls, (what, pattern, sorted(set(found[0].items()) ^ set(calls.items())))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--oshrun")
    parser.add_argument("-n", type=int)
    parser.add_argument("--virtual-nodes")
    parser.add_argument("--preload")
    parser.add_argument("program")
    arguments = parser.parse_args()
    pes = arguments.n
    summed = "1 PE" if pes == 1 else "%d PEs, calls, bytes and seconds summed" % pes

    same(run(arguments, "finalize"), {summed: total(ALL, pes)}, "finalize")
    same(run(arguments, "exit"),
         {r"PE %d of %d, which ended without shmem_finalize" % (pe, pes): total(ALL) for pe in range(pes)}, "exit")

    # Then each PE has a table of its own.
    same(run(arguments, "no_room"), {r"PE %d of %d, the symmetric heap has no room to sum over the PEs" % (pe, pes): START
                                     for pe in range(pes)}, "no_room")

    # PE 0 prints before it ends the others.
    tables = run(arguments, "global_exit")
    own = {"shmem_my_pe": (1, 0)}
    same([table for table in tables if table[0].startswith("PE 0 ")],
         {r"PE 0 of %d, shmem_global_exit" % pes: total([*ALL, own])}, "global_exit")

    # pcontrol(1) is not counted, as counting was off; pcontrol(2) is, after it has printed.
    once = {"shmem_pcontrol": (1, 0), "shmem_fence": (1, 0)}
    until = {r"PE %d of %d, until shmem_pcontrol\(2\)" % (pe, pes): total([START, once]) for pe in range(pes)}
    rest = {"shmem_pcontrol": (1, 0), "shmem_fence": (1, 0)}
    same(run(arguments, "control"), {**until, summed: total([START, once, rest, END], pes)}, "control")


if __name__ == "__main__":
    main()
