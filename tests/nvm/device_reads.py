#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: device_reads.py <oshrun> <shmem_bench>

How many pages the device reads for each page that 2, 4 and 8 PEs of as many nodes get in random order, of one PE's data
that are four times as large as a node's pool."""
import json
import subprocess
import sys
import tempfile

oshrun, bench = sys.argv[1:3]
PAGE, POOL = 16 << 10, 1 << 20
DATA = 4 * POOL
# Reads a get at most with cooperation, by readers: of pools that are empty, where each page is read once at least, and of
# pools that are full.  The pools of two readers hold half of the data, those of four all, those of eight all twice.
AT_MOST = {2: (0.95, 0.75), 4: (0.5, 0.25), 8: (0.22, 0.05)}
AT_LEAST_WITHOUT = 0.97  # but for what a pool holds by chance, every get is a read


def reads(readers, **variables):
    """Of a get: when pools are empty, and when they are full."""
    with tempfile.TemporaryDirectory(prefix="device_reads.", dir=".") as folder:
        settings = {"SHMEM_NVM_DIR": folder, "SHMEM_NVM_PAGE": PAGE, "SHMEM_NVM_CACHE": POOL, "SHMEM_NVM_SIZE": DATA + 4 * POOL,
                    "SHMEM_SYMMETRIC_SIZE": "16m", **variables}
        words = [word for name, value in settings.items() for word in ("-x", f"{name}={value}")]
        done = subprocess.run([oshrun, "-n", str(readers + 1), "--virtual-nodes", str(readers + 1), "--timeout", "60", *words, bench,
                               "nvm", "--kernel", "gets", "--json", "--rounds", "1", "--pages", str(DATA // PAGE)],
                              capture_output=True, text=True, timeout=70, check=False)
    if done.returncode != 0:
        sys.exit(f"{readers} readers: ended with {done.returncode}: {done.stderr}")
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    found = {row["what"]: row["nvm_reads"] for row in rows if row.get("kernel") == "gets"}
    return found["random"], found["random, again"]


wrong = []
for readers, at_most in AT_MOST.items():
    found = reads(readers)
    print(f"{readers} readers: {found[0]:.2f}, again {found[1]:.2f}")
    if found[0] > at_most[0] or found[1] > at_most[1]:
        wrong.append(f"{readers} readers: more than {at_most} reads a get with cooperation")
without = reads(2, SHMEM_NVM_COOPERATIVE=0, SHMEM_NVM_REMOTE_OPS=0)
print(f"2 readers without cooperation: {without[0]:.2f}, again {without[1]:.2f}")
if min(without) < AT_LEAST_WITHOUT:
    wrong.append(f"less than {AT_LEAST_WITHOUT} without cooperation: this is no measure of it")
if wrong:
    sys.exit("; ".join(wrong))
