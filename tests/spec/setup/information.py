#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: information.py <oshrun> <program>

What a job prints of itself when it starts: SHMEM_VERSION, SHMEM_INFO and SHMEM_DEBUG, also under their old names, and
names of variables that are nearly those of Atoll."""
import os
import re
import subprocess
import sys

oshrun, program = sys.argv[1:3]
VERSION = r"Atoll OpenSHMEM [0-9.]+, OpenSHMEM 1\.6"
HERE = r"  PEs %s: loads and stores on shared memory \(mapper memfd\), because they share this node"
THERE = r"  PEs %s: .*, %s, because they are on other virtual nodes \(SHMEM_VIRTUAL_NODES\)"
PLAIN = {key: value for key, value in os.environ.items() if not key.startswith(("SHMEM_", "SMA_"))}


def run(pes, *words, **variables):
    done = subprocess.run([oshrun, "-n", str(pes), "--timeout", "50", *words, program], env={**PLAIN, **variables},
                          capture_output=True, text=True, timeout=55, check=False)
    if done.returncode != 0:
        sys.exit(f"{words} {variables}: {done}")
    return done.stdout.splitlines(), done.stderr.splitlines()


def expect(lines, *patterns):
    """Exactly these lines, in this order."""
    if len(lines) != len(patterns) or not all(map(re.fullmatch, patterns, lines)):
        sys.exit("\n".join(["expected:", *patterns, "found:", *lines]))


def expect_paths(pes, words, *paths, **variables):
    out, err = run(pes, *words, SHMEM_INFO="1", SHMEM_MAPPER="memfd", **variables)
    expect(err)
    first, last = out.index("Paths from PE 0:") + 1, out.index("Environment variables:")
    expect(out[:1], VERSION)
    expect(out[1:2], r"PE 0 of %d on \S+, %d node\(s\)" % (pes, len(paths)))
    expect(out[first:last], *paths)
    for line in ("  SHMEM_INFO=1", "  SHMEM_MAPPER=memfd", "  SHMEM_CHECKS=1 (default)"):
        assert out[last:].count(line) == 1, (line, out)


def expect_memory():
    """What the heap is said to be by SHMEM_INFO is what it is by SHMEM_DEBUG; so are the variables."""
    out, err = run(2, SHMEM_INFO="1", SHMEM_DEBUG="1", SHMEM_SYMMETRIC_SIZE="24m")
    where = r"PE 0 of 2 .*; heap of 25165824 bytes at (0x[0-9a-f]+), variables at (0x[0-9a-f]+);"
    heap, variables = next(found.groups() for found in map(lambda line: re.search(where, line), err) if found)
    [said] = [line for line in out if line.startswith("Symmetric heap: ")]
    expect([said], rf"Symmetric heap: 24 MiB per PE at {heap}; variables: [0-9.]+ KiB at {variables}")


def expect_registered():
    """Where there is a network: of 24 MiB half as much again, and our own memory."""
    registered = [[line for line in run(2, *words, SHMEM_INFO="1", SHMEM_SYMMETRIC_SIZE="24m", SHMEM_KV_TEAM_SIZE="0")[0]
                   if line.startswith("Registered")] for words in ((), ("--virtual-nodes", "2"))]
    expect(sum(registered, []), r"Registered with the network: (4[4-9]|[5-9]\d)(\.\d)? MiB per PE, not pinned")


def main():
    expect(sum(run(2), []))
    for name in ("SHMEM_VERSION", "SMA_VERSION"):
        for any in ("1", "0", ""):
            expect(sum(run(2, **{name: any}), []), VERSION)
    expect_paths(3, (), HERE % "0-2")
    expect_paths(3, ("--virtual-nodes", "2"), HERE % "0-1", THERE % ("2", "native atomics"), SHMEM_AMO="native")
    expect_paths(5, ("--virtual-nodes", "2:cyclic"), HERE % "0, 2, 4", THERE % ("1, 3", "small operations packed"), SHMEM_AMO="offload")
    assert "Paths from PE 0:" in run(1, SMA_INFO="1")[0]

    for name in ("SHMEM_DEBUG", "SMA_DEBUG"):
        out, err = run(2, **{name: "1"})
        expect(out)
        expect(sorted(err), *(fr"atoll: PE {pe} of 2 on \S+: process \d+, node 0 of 1, rank {pe} on it; heap of \d+ bytes at "
                              r"0x[0-9a-f]+, variables at 0x[0-9a-f]+; no network" for pe in range(2)))

    out, err = run(3, "--virtual-nodes", "2", SHMEM_DEBUG="1")
    expect(out)
    expect(sorted(err), *(fr"atoll: PE {pe} of 3 on \S+: process \d+, node {pe // 2} of 2, rank {pe % 2} on it; heap of .*; "
                          r"(?!no network).*packed.*" for pe in range(3)))
    expect_memory()
    expect_registered()

    out, err = run(2, SHMEM_SYMETRIC_SIZE="16m")  # said once
    expect(out)
    expect(err, r"atoll: PE 0 of 2 on \S+: SHMEM_SYMETRIC_SIZE is not known here; is SHMEM_SYMMETRIC_SIZE meant\?")

    # Another implementation's, on node and between nodes; so in both there is one line of four PEs.
    for words in ((), ("--virtual-nodes", "2")):
        out, err = run(4, *words, SHMEM_BARRIER_ALGORITHM="tree")
        expect(out)
        expect(err, r"atoll: PE 0 of 4 on \S+: SHMEM_BARRIER_ALGORITHM is a variable of Sandia OpenSHMEM and has no effect here: .+")
        out, err = run(4, *words, SHMEM_OTHER_LIBRARY="1")  # not ours, and near none of ours
        expect(out + err)


main()
