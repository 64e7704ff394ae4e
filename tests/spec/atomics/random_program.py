#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: random_program.py <oshrun> <random_program>

Runs a random program of atomics on one node, and on two and four virtual nodes with native and with offloaded atomics.
Each run must find the same.  ATOLL_TEST_SEED repeats a run of this test, which prints its seed."""
import os
import subprocess
import sys
import tempfile
import time

PES = 4
RUNS = {
    "on one node": ([], {}),
    "native": (["--virtual-nodes", "2"], {"SHMEM_AMO": "native"}),
    "offloaded": (["--virtual-nodes", "2"], {"SHMEM_AMO": "offload"}),
    "offloaded, four nodes": (["--virtual-nodes", "4"], {"SHMEM_AMO": "offload"}),
    "offloaded, with delays": (["--virtual-nodes", "2"], {"SHMEM_AMO": "offload", "SHMEM_FAULTS": "4"}),
}


def run(oshrun, program, folder, name, seed):
    """What each PE has found, as lists of lines."""
    options, variables = RUNS[name]
    path = os.path.join(folder, "found")
    command = [oshrun, "-n", str(PES), *options, "--timeout", "50", program, path]
    job = subprocess.run(command, env={**os.environ, **variables, "ATOLL_TEST_SEED": seed}, stdout=subprocess.DEVNULL,
                         timeout=60, check=False)
    if job.returncode != 0:
        sys.exit(f"{name}: {' '.join(command)} ended with {job.returncode}")
    found = []
    for pe in range(PES):
        with open(f"{path}.{pe}", encoding="ascii") as file:
            found.append(file.read().splitlines())
    return found


def main():
    oshrun, program = sys.argv[1:]
    seed = os.environ.get("ATOLL_TEST_SEED", str(int(time.time())))
    print(f"ATOLL_TEST_SEED={seed}")
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        (first, expected), *others = [(name, run(oshrun, program, folder, name, seed)) for name in RUNS]
        for name, found in others:
            for pe, (lines, wanted) in enumerate(zip(found, expected)):
                pairs = [(a, b) for a, b in zip(wanted, lines) if a != b]
                if pairs or len(lines) != len(wanted):
                    wrong += 1
                    print(f"FAILED PE {pe}: {len(pairs)} of {len(wanted)} lines differ between {first} and {name}")
                    for a, b in pairs[:5]:
                        print(f"       {a}\n       {b}")
    print(f"{sum(map(len, expected))} values are the same in {len(RUNS)} runs" if wrong == 0 else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
