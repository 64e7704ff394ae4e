#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: OSHRUN=<oshrun> links_test.py <links> <phases> <test>

Connections that are reset in traffic, PEs that are stopped (links.c), and PEs that only wait (phases.c), between two
virtual nodes."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).parents[1] / "launcher"))
from launcher import OSHRUN, environment  # noqa: E402

program, phases, test = sys.argv[1:]
LIMIT = 100


def run(kind, disturbance, seconds, *settings):
    """The exit code, what the launcher and the library have said, and how long it took."""
    with tempfile.TemporaryDirectory(prefix="atoll-links.") as folder:
        before = time.monotonic()
        words = [word for setting in settings for word in ("-x", setting)]
        job = subprocess.run([OSHRUN, "-n", "2", "--virtual-nodes", "2", "--timeout", str(LIMIT - 20), *words, program, kind,
                              disturbance, str(seconds)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, timeout=LIMIT, env=environment(folder))
        lasted = time.monotonic() - before
        said = [line for line in job.stderr.splitlines() if line.startswith(("oshrun:", "atoll:"))]
        name = re.search(r"^job (\S+)$", job.stdout, re.MULTILINE)[1]
        left = [f"{place}/{file}" for place in (folder, "/dev/shm") for file in os.listdir(place) if name in file]
    print(f"{kind}, {disturbance}: code {job.returncode} after {lasted:.1f} s: {' '.join(said) or job.stdout.split()[-1:]}")
    if left:
        sys.exit(f"left behind: {left}")
    if job.returncode == 0 and "right" not in job.stdout:
        sys.exit(f"the job has not said that all is right: {job.stdout}")
    return job.returncode, said, lasted, job.stdout


def expect(condition, what):
    if not condition:
        sys.exit(what)


BROKEN = (r"(message to|get from|put to|atomic on|an operation on|messages from|the connection to|\d+ operations on) PE [01] "
          r".*(failed|lost|broke)")


def reset(kind):
    """A connection that breaks may have had nothing under way, and is made anew; else one line says whose it was."""
    resets = 0
    for _ in range(3):
        code, said, _, out = run(kind, "reset", 2)
        resets += out.count("reset ")
        if code == 0:
            expect(not said, "a job in which all went well has said something")
            continue
        expect(code == 1 and len(said) == 1, "one line should have been said, and the code should be 1")
        expect(re.match(r"atoll: PE [01] of 2 on \S+: " + BROKEN, said[0]), "the line should name the peer")
    expect(resets >= 3, "there was no connection to reset")


def stopped():
    """Ten seconds lose nothing."""
    code, said, lasted, _ = run("fetch", "stop", 10)
    expect(code == 0 and not said and lasted > 10, "the job should have gone on")


def frozen():
    """Who does not answer for the time that is allowed is named."""
    for kind in ("fetch", "add", "barrier", "get"):
        code, said, lasted, _ = run(kind, "freeze", 0, "SHMEM_PEER_TIMEOUT=2")
        expect(code == 1 and len(said) == 1, "one line should have been said, and the code should be 1")
        expect(re.match(r"atoll: PE 0 of 2 on \S+: PE 1 on host \S+ has not answered for 2 s \(SHMEM_PEER_TIMEOUT\), and "
                        r"shmem_\w+ waits .*: it is stopped, its host has failed, or the network to it is down$", said[0]),
               "the line should name the peer, for how long, and what was wanted of it")
        expect(lasted < 20, "the job should have ended sooner")


def patient():
    """Without a limit a job waits; --timeout ends it."""
    with tempfile.TemporaryDirectory(prefix="atoll-links.") as folder:
        job = subprocess.run([OSHRUN, "-n", "2", "--virtual-nodes", "2", "--timeout", "6", "-x", "SHMEM_PEER_TIMEOUT=0",
                              program, "fetch", "freeze", "0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, timeout=LIMIT, env=environment(folder))
    expect(job.returncode == 124 and "has not answered" not in job.stderr, f"{job.returncode}: {job.stderr}")


def processor_use(pid):
    """Of all its threads: seconds, and how often one went to sleep."""
    seconds, sleeps = 0, 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat") as file:
            seconds += int(file.read().split()[0]) / 1e9
        with open(f"/proc/{pid}/task/{thread}/status") as file:
            sleeps += int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)$", file.read(), re.MULTILINE)[1])
    return seconds, sleeps


def idle():
    """PEs that wait take next to nothing, questions and answers included: they sleep for 1/400 of what they have waited,
    at most 25 ms, and look for a millisecond when something has arrived."""
    seconds, most_sleeps, most_share = 8, 150, 0.1
    with tempfile.TemporaryDirectory(prefix="atoll-links.") as folder:
        job = subprocess.Popen([OSHRUN, "-n", "4", "--virtual-nodes", "2", phases, "wait", "none"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True, env=environment(folder))
        try:
            pids = []
            while len(pids) < 4:
                pids += re.findall(r"^process (\d+)$", job.stdout.readline(), re.MULTILINE)
            time.sleep(6)
            before = [processor_use(pid) for pid in pids]
            time.sleep(seconds)
            after = [processor_use(pid) for pid in pids]
        finally:
            job.terminate()
            job.communicate(timeout=LIMIT)
    uses = [((now[0] - then[0]) / seconds, (now[1] - then[1]) / seconds) for then, now in zip(before, after)]
    print("of a core, and sleeps a second: " + ", ".join(f"{100 * share:.2f} % {sleeps:.0f}" for share, sleeps in uses))
    expect(max(sleeps for _, sleeps in uses) <= most_sleeps, f"at most {most_sleeps} sleeps a second are allowed")
    expect(max(share for share, _ in uses) <= most_share, "a PE that waits does not sleep")


if test.startswith("reset_"):
    reset(test.removeprefix("reset_"))
else:
    {"stopped": stopped, "frozen": frozen, "patient": patient, "idle": idle}[test]()
