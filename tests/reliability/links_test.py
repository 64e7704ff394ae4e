#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: OSHRUN=<oshrun> links_test.py <links> <test>

Connections that are reset in traffic, and PEs that are stopped (links.c), between two virtual nodes."""
import concurrent.futures
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).parents[1] / "launcher"))
from launcher import OSHRUN, environment  # noqa: E402

program, test = sys.argv[1:]
LIMIT = 100
# "shared", apart: PEs of a node send their atomics together (node_batch).
KINDS = ("fetch", "add", "barrier", "get", "put", "small", "kv", "nvm_get", "nvm_fault")
# Pages travel, and few of them fit into memory.
NVM = ("SHMEM_NVM_PAGE=16k", "SHMEM_NVM_CACHE=512k", "SHMEM_NVM_REMOTE_OPS=0")
SHMEM_CALL = r"shmemx?_\w+ waits "
WAITS = {"nvm_get": r"an operation on the NVM heap waits for page \d+ of PE 1 to be loaded, which is not here",
         "nvm_fault": r"a (load|store) waits for its page \d+, (which is not|shared|owned) here"}
# SHMEM_PEER_TIMEOUT; the line comes up to 1.5 s later, and in single jobs much later on a machine that is busy.
TIMEOUT, LATER, MUCH_LATER = 2, 1.5, 12


def run(kind, disturbance, seconds, *settings):
    """The exit code, what the launcher and the library have said, and what the PEs have, and how long the job went on after
    PE 1 had stopped itself."""
    with tempfile.TemporaryDirectory(prefix="atoll-links.") as folder:
        if kind.startswith("nvm"):
            settings += (*NVM, f"SHMEM_HEAP=nvm:{folder}")
        words = [word for setting in settings for word in ("-x", setting)]
        job = subprocess.run([OSHRUN, "-n", "2", "--virtual-nodes", "2", "--timeout", str(LIMIT - 20), *words, program, kind,
                              disturbance, str(seconds)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, timeout=LIMIT, env=environment(folder))
        ended = time.time()
        said = [line for line in job.stderr.splitlines() if line.startswith(("oshrun:", "atoll:"))]
        name = re.search(r"^job (\S+)$", job.stdout, re.MULTILINE)[1]
        left = [f"{place}/{file}" for place in (folder, "/dev/shm") for file in os.listdir(place) if name in file]
    stops = re.search(r"^stops ([\d.]+)$", job.stdout, re.MULTILINE)
    lasted = ended - float(stops[1]) if stops else None
    after = f" {lasted:.1f} s after the stop" if stops else ""
    print(f"{kind}, {disturbance}: code {job.returncode}{after}: {' '.join(said) or job.stdout.split()[-1:]}")
    expect(not left, f"left behind: {left}")
    expect(job.returncode != 0 or "right" in job.stdout, f"the job has not said that all is right: {job.stdout}")
    return job.returncode, said, lasted, job.stdout


def run_all(jobs):
    """The same of several jobs, which run side by side."""
    with concurrent.futures.ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(lambda job: run(*job), jobs))


def expect(condition, what):
    if not condition:
        sys.exit(what)


BROKEN = (r"(message to|get from|put to|atomic on|an operation on|messages from|the connection to|\d+ operations on) PE [01] "
          r".*(failed|lost|broke)")


def reset(kind):
    """A connection that breaks may have had nothing under way, and is made anew; else one line says whose it was."""
    resets = 0
    for code, said, _, out in run_all([(kind, "reset", 2)] * 3):
        # A job may end before it has said that it resets.
        resets += max(out.count("reset "), int(code != 0))
        if code == 0:
            expect(not said, "a job in which all went well has said something")
            continue
        expect(code == 1 and len(said) == 1, "one line should have been said, and the code should be 1")
        expect(re.match(r"atoll: PE [01] of 2 on \S+: " + BROKEN, said[0]), "the line should name the peer")
    expect(resets >= 3, "there was no connection to reset")


def stopped():
    """Ten seconds lose nothing."""
    for code, said, lasted, _ in run_all([(kind, "stop", 10) for kind in KINDS]):
        expect(code == 0 and not said and lasted > 10, "the job should have gone on")


def frozen():
    """Who does not answer for the time that is allowed is named, soon after."""
    jobs = run_all([(kind, "freeze", 0, f"SHMEM_PEER_TIMEOUT={TIMEOUT}") for kind in KINDS])
    for kind, (code, said, lasted, _) in zip(KINDS, jobs):
        expect(code == 1 and len(said) == 1, "one line should have been said, and the code should be 1")
        expect(re.match(r"atoll: PE 0 of 2 on \S+: PE 1 on host \S+ has not answered for \d+ s \(SHMEM_PEER_TIMEOUT\), and "
                        rf"{WAITS.get(kind, SHMEM_CALL)}.*: it is stopped, its host has failed, or the network to it is down$", said[0]),
               "the line should name the peer, for how long, and what was wanted of it")
        expect(TIMEOUT - 0.5 <= lasted <= TIMEOUT + MUCH_LATER, f"{TIMEOUT + MUCH_LATER} s after the stop no line should come any more")
    usual = statistics.median(lasted for _, _, lasted, _ in jobs)
    expect(usual <= TIMEOUT + LATER, f"most lines have come {usual:.1f} s after the stop or later; {TIMEOUT + LATER} are allowed")


def flood():
    """What is meant for a PE that has stopped takes no more memory than it may, and it is named in the end."""
    _, said, _, out = run("flood", "freeze", 0, f"SHMEM_PEER_TIMEOUT={TIMEOUT}")
    expect(len(said) == 1 and "PE 1 on host" in said[0] and "has not answered" in said[0], "the line should name PE 1")
    memory = [int(line.split()[1]) for line in out.splitlines() if line.startswith("memory ")]
    expect(len(memory) > 10, "it should have told its memory all the time")
    grown = (max(memory) - memory[0]) / 2**20
    print(f"its memory grew by {grown:.1f} MiB in {len(memory)} looks")
    expect(grown < 16, "it should not keep what PE 1 does not take")


def neighbour():
    """PE 1 stops among four PEs of two nodes whose atomics share packets, with some of PE 0's in its own: all go on with it.  If
    it stays so, it is named within the limit, and nobody else is."""
    for how, seconds, limit in (("stop", 3, 30), ("freeze", 0, TIMEOUT)):
        with tempfile.TemporaryDirectory(prefix="atoll-links.") as folder:
            job = subprocess.run([OSHRUN, "-n", "4", "--virtual-nodes", "2", "--timeout", str(LIMIT - 20), "--bind", "none",
                                  "-x", f"SHMEM_PEER_TIMEOUT={limit}", program, "shared", how, str(seconds)],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 timeout=LIMIT, env=environment(folder))
        print(f"{how}: code {job.returncode}: {job.stderr}")
        if how == "stop":
            expect(job.returncode == 0 and "right" in job.stdout, "the job should have gone on")
        else:
            expect(job.returncode == 1, "the job should have ended by itself")
        accused = re.findall(r"(PE \d) on host \S+ has not answered", job.stderr)
        expect(set(accused) == (set() if how == "stop" else {"PE 1"}), "PE 1 alone has stopped")


def patient():
    """Without a limit a job waits; --timeout ends it."""
    with tempfile.TemporaryDirectory(prefix="atoll-links.") as folder:
        job = subprocess.run([OSHRUN, "-n", "2", "--virtual-nodes", "2", "--timeout", "6", "-x", "SHMEM_PEER_TIMEOUT=0",
                              program, "fetch", "freeze", "0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, timeout=LIMIT, env=environment(folder))
    expect(job.returncode == 124 and "has not answered" not in job.stderr, f"{job.returncode}: {job.stderr}")


if test.startswith("reset_"):
    reset(test.removeprefix("reset_"))
else:
    {"stopped": stopped, "frozen": frozen, "flood": flood, "neighbour": neighbour, "patient": patient}[test]()
