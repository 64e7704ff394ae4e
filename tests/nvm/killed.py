#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: killed.py <oshrun> <program> <instants> [PEs] [virtual nodes]

Kills a job that persists a named object again and again, with SIGKILL to all its PEs at random instants, and opens
the object after each: it must be whole, on all PEs of one epoch, and none that was reported must be lost.  Every other job is killed only after
it has reported an epoch.  ATOLL_TEST_SEED repeats the instants."""
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

oshrun, program, instants = sys.argv[1], sys.argv[2], int(sys.argv[3])
pes = int(sys.argv[4]) if len(sys.argv) > 4 else 2
nodes = int(sys.argv[5]) if len(sys.argv) > 5 else 0
seed = int(os.environ.get("ATOLL_TEST_SEED", random.randrange(1 << 31)))
print(f"ATOLL_TEST_SEED={seed}")
dice = random.Random(seed)


def start(folder, times):
    variables = [f"SHMEM_HEAP=nvm:{folder}", "SHMEM_NVM_PAGE=16k", "SHMEM_NVM_CACHE=256k"]
    command = [oshrun, "-n", str(pes)] + (["--virtual-nodes", str(nodes)] if nodes else [])
    for variable in variables:
        command += ["-x", variable]
    return subprocess.Popen([*command, program, str(times)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def kill_at(folder, seconds, persisted):
    """Kills a job so long after its start or, if `persisted`, after the first epoch that it has reported.  Returns the last
    epoch that it has reported, or None."""
    job = start(folder, -1)
    processes, epochs = [], []
    while len(processes) < pes or (persisted and not epochs):
        line = job.stdout.readline()
        if not line:
            sys.exit(f"the job did not start, or did not persist: {job.communicate(timeout=20)[1]}")
        processes += [int(pid) for pid in re.findall(r"^pid (\d+)", line)]
        epochs += re.findall(r"^epoch (\d+)$", line)
    time.sleep(seconds)
    for process in processes:
        with contextlib.suppress(ProcessLookupError):  # the launcher ends the others when it sees that one is gone
            os.kill(process, signal.SIGKILL)
    said = job.stdout.read()  # communicate() would pass over what has been read ahead
    job.communicate(timeout=30)
    epochs += re.findall(r"^epoch (\d+)$", said, re.MULTILINE)
    return int(epochs[-1]) if epochs else None


def epoch_now(folder):
    job = start(folder, 0)
    said, errors = job.communicate(timeout=60)
    found = re.search(r"^found (\d+)$", said, re.MULTILINE)
    if job.returncode != 0 or not found:
        sys.exit(f"the object cannot be opened, or is wrong:\n{said}{errors}")
    return int(found[1])


with tempfile.TemporaryDirectory(dir=os.environ.get("ATOLL_TEST_FOLDER")) as folder:
    last = 0
    for instant in range(instants):
        seconds = dice.uniform(0, 0.3)
        said = kill_at(folder, seconds, persisted=instant % 2 == 0)
        now = epoch_now(folder)
        if now < max(last, said or 0):
            sys.exit(f"epoch {now} is there after epoch {max(last, said or 0)} was reported (instant {instant})")
        last = now
    print(f"{instants} kills, epoch {last}")
