#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: OSHRUN=<oshrun> ends_test.py <phases> <phase>

The kill matrix of docs/reliability.md: PE 1 of 4 comes to an end in the middle of a phase (phases.c), in each way, on
one node and on two.  The job must end within two seconds, with the right code and one line that names the PE, and
leave nothing behind.  ATOLL_TEST_SEED repeats the instants."""
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).parents[1] / "launcher"))
from launcher import OSHRUN, alive, environment  # noqa: E402

program, phase = sys.argv[1:]
seed = int(os.environ.get("ATOLL_TEST_SEED", random.randrange(1 << 31)))
print(f"ATOLL_TEST_SEED={seed}")
dice = random.Random(seed)

PES = 4
AT_MOST = 2.0  # seconds from a death to the end of the job
LIMIT = 60  # for a job that hangs
NEVER_KILL = ["--kill-after", "1000"]  # the PEs must end of themselves when they are told to

KILLED = r"was killed by signal {} \({}\)(, core dumped)?; the job ends"
ENDS = {
    "9": (137, KILLED.format(9, "SIGKILL, Killed")),
    "11": (139, KILLED.format(11, "SIGSEGV, Segmentation fault")),
    "exit3": (3, r"exited with code 3; the job ends"),
    "exit0": (1, r"exited with code 0 without having called shmem_(finalize|init, which other PEs did); the job ends"),
}
NVM = ["-x", "SHMEM_NVM_PAGE=16k", "-x", "SHMEM_NVM_CACHE=512k", "-x"]
SERVERS = ["--memory-servers", "2", "--memory-per-server", "64m", "-x", "SHMEM_REMOTE_PAGE=64k", "-x", "SHMEM_REMOTE_LOCAL=2m"]


def options(folder):
    if phase in ("fault", "persist"):
        return [*NVM, f"SHMEM_HEAP=nvm:{folder}/heap"]
    return SERVERS if phase == "remote" else []


def left_behind(folder, job, processes):
    """Processes, files and sockets of the job."""
    left = [f"{place}/{name}" for place in (f"{folder}/tmp", "/dev/shm") for name in os.listdir(place) if job in name]
    left += [f"process {process}" for process in processes if alive(int(process))]
    with open("/proc/net/unix") as sockets:
        left += [line.split()[-1] for line in sockets if job in line]
    return left


def check(end, nodes):
    code, pattern = ENDS[end]
    after = dice.randrange(30_000 if phase == "start" else 5_000)
    layout = ["--virtual-nodes", str(nodes)] if nodes > 1 else []
    with tempfile.TemporaryDirectory(prefix="atoll-ends.") as folder:
        os.mkdir(f"{folder}/tmp")
        os.mkdir(f"{folder}/heap")
        command = [OSHRUN, "-n", str(PES), *layout, *NEVER_KILL, *options(folder), program, phase, end, str(after)]
        job = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             timeout=LIMIT, env=environment(f"{folder}/tmp"))
        ended = time.time()
        said = [line for line in job.stderr.splitlines() if line.startswith(("oshrun:", "atoll:"))]
        died = re.search(r"^dies ([\d.]+)$", job.stdout, re.MULTILINE)
        name = re.search(r"^job (\S+)$", job.stdout, re.MULTILINE)
        processes = re.findall(r"^process (\d+)$", job.stdout, re.MULTILINE)
        problems = []
        if not name:
            sys.exit(f"no PE has started: {job.stderr}")
        if not died:
            problems.append("PE 1 has not died")
        elif ended - float(died[1]) > AT_MOST:
            problems.append(f"the job has ended {ended - float(died[1]):.2f} s after PE 1")
        if job.returncode != code:
            problems.append(f"the exit code is {job.returncode} and should be {code}")
        if len(said) != 1 or not re.search(r"^oshrun: PE 1 \(pid \d+, host \S+\) (" + pattern + ")$", said[0]):
            problems.append(f"one line should have been said, that PE 1 {pattern}")
        left = left_behind(folder, name[1], processes)
        if left:
            problems.append("left behind: " + ", ".join(left))
        if not problems:
            print(f"{phase}, {end}, {nodes} nodes: ended after {ended - float(died[1]):.2f} s")
            return 0
        print(f"FAILED: {phase}, {end}, {nodes} nodes, after {after} us: {'; '.join(problems)}\n{job.stdout}{job.stderr}")
        return 1


# Whoever has called shmem_finalize may exit with 0.
ways = [end for end in ENDS if (phase, end) != ("finalize", "exit0")]
sys.exit(sum(check(end, nodes) for end in ways for nodes in (1, 2)) != 0)
