#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: OSHRUN=<oshrun> idle_test.py <idle>

PEs that wait (idle.c), and memory servers, take less than half a percent of a core, questions for signs of life and their
answers included.  All jobs run at the same time.  What else this machine does makes a wake-up dearer, at times, so each
process is looked at several times, and its least share counts, for up to a minute: a wait that burns never has a small
one."""
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).parents[1] / "launcher"))
from launcher import OSHRUN, children, end_with_the_test, environment  # noqa: E402
from phase_options import options  # noqa: E402

program, = sys.argv[1:]
PES = 4
SETTLES = 10.5  # seconds, until the sleeps of a wait are as long as they get
LOOKS, MOST_LOOKS, SECONDS = 4, 60, 1
MOST_SHARE, MOST_WAKES = 0.005, 200  # of a core, and a second
# What of, what else, as the options of which phase.
CASES = (("wait_until", ""), ("barrier", ""), ("lock", ""), ("get_wait", ""), ("wait_until", "fault"), ("get_wait", "fault"),
         ("wait_until", "remote"))
NAMES = {"": "", "fault": " on NVM", "remote": " with memory servers"}


def use(pid):
    """Of all its threads: seconds, and how often one went to sleep."""
    seconds, sleeps = 0, 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat") as file:
            seconds += int(file.read().split()[0]) / 1e9
        with open(f"/proc/{pid}/task/{thread}/status") as file:
            sleeps += int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)$", file.read(), re.MULTILINE)[1])
    return seconds, sleeps


class Job:
    def __init__(self, kind, more, nodes, folder):
        self.name = f"{kind}{NAMES[more]}, {nodes} nodes"
        layout = ["--virtual-nodes", str(nodes)] if nodes > 1 else []
        self.launcher = subprocess.Popen([OSHRUN, "-n", str(PES), *layout, *options(more, folder), program, kind],
                                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                         env=environment(folder), preexec_fn=end_with_the_test)

    def processes(self):
        """Once all PEs wait: theirs, and those of memory servers."""
        for _ in range(PES):
            if not self.launcher.stdout.readline().startswith("process "):
                sys.exit(f"{self.name}: a PE has not come to its wait")
        return children(self.launcher.pid)[1:]  # the first is the launcher's janitor

    def end(self):
        self.launcher.terminate()
        self.launcher.communicate()


def judge(uses, times):
    """The least share of a core, and the wakes a second, of one process in all looks."""
    shares = [(now[0] - then[0]) / (at - before) for then, now, before, at in zip(uses, uses[1:], times, times[1:])]
    return min(shares), (uses[-1][1] - uses[0][1]) / (times[-1] - times[0])


def judge_all(looks):
    """Of each job the largest of these of its processes.  A look: what these have used, by jobs, and when."""
    times = [at for _, at in looks]
    return [tuple(map(max, zip(*(judge([uses[job][process] for uses, _ in looks], times) for process in range(len(pids))))))
            for job, pids in enumerate(looks[0][0])]


def is_good(share, wakes):
    return share <= MOST_SHARE and wakes <= MOST_WAKES


def watch(processes):
    """Looks, SECONDS apart, until all are good."""
    looks = []
    while True:
        looks.append(([[use(pid) for pid in pids] for pids in processes], time.monotonic()))
        if len(looks) > LOOKS:
            found = judge_all(looks)
            if len(looks) > MOST_LOOKS or all(is_good(*of) for of in found):
                return found
        time.sleep(SECONDS)


with tempfile.TemporaryDirectory(prefix="atoll-idle.") as folder, contextlib.ExitStack() as ends:
    jobs = []
    for case in CASES:
        for nodes in (1, 2):
            own = f"{folder}/{len(jobs)}"
            os.mkdir(own)
            jobs.append(Job(*case, nodes, own))
            ends.callback(jobs[-1].end)
    processes = [job.processes() for job in jobs]
    time.sleep(SETTLES)
    found = watch(processes)
for job, (share, wakes) in zip(jobs, found):
    print(f"{'' if is_good(share, wakes) else 'FAILED: '}{job.name}: at most {100 * share:.2f} % of a core a process, and "
          f"{wakes:.0f} wakes a second")
if not all(is_good(*of) for of in found):
    sys.exit(f"more than {100 * MOST_SHARE} % of a core or {MOST_WAKES} wakes a second")
