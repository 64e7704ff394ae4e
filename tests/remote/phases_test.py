#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: tests/remote/phases_test.py OSHRUN PROGRAM

Memory servers that are killed, or stopped, whatever the PE does at that time: the job ends, one line says which
server it was, and nothing is left of the job.
"""
import concurrent.futures
import os
import re
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

from server_jobs import children, servers_of

OSHRUN, PROGRAM = sys.argv[1:3]
VICTIM = 1  # of the two servers
DEADLINE = 60  # seconds: for a job that hangs
END = 10  # seconds from the death of a server to the end of its job: the machine may do something else for a while
MOSTLY = 2  # the same, of most jobs; on an idle machine a part of one
AT_A_TIME = 4  # jobs: mostly they wait
FEW = {"SHMEM_REMOTE_PAGE": "64k", "SHMEM_REMOTE_LOCAL": "512k", "SHMEM_MEMORY_PER_SERVER": "8m"}

MOVING = ["read", "write", "get", "put"]  # phases, as PROGRAM knows them
DIFFERENT = ["read", "write"]  # where protocols differ: the paper's copy by faults
KILLED = rf"oshrun: memory server {VICTIM} \(pid \d+, host \S+\) was killed by signal 9 \(SIGKILL, Killed\); the job ends"
SILENT = (rf"atoll: PE 0 of 1 on \S+: memory server {VICTIM} has not (moved a page|answered) for 2 s "
          r"\(SHMEM_REMOTE_TIMEOUT\): it has probably died")
ABSENT = (rf"atoll: (PE 0 of 1|memory server 0) on \S+: the exchange of addresses with the other PEs failed: .* "
          rf"\(SHMEM_INIT_TIMEOUT is 2 seconds\); (PE 0, )?memory server {VICTIM} ha(s|ve) not come to it")


def and_r77(phases):
    return [("direct", phase) for phase in phases] + [("r77", phase) for phase in DIFFERENT]


# What libpmix says in oshrun of a client that dies within its first words, which is not oshrun's to suppress.
PMIX_SAYS = re.compile(r"\[\S+\] PMIX ERROR: UNREACHABLE in file .*ptl_base_connection_hdlr\.c at line \d+$")

lasted = []  # seconds from the death of a server to the end of its job, for each job of a test


class Job:
    """A job whose PE stays in `phase`."""

    def __init__(self, swap, phase, **variables):
        self.folder = tempfile.mkdtemp(prefix="atoll-phases-")
        environment = {**os.environ, **FEW, "SHMEM_SWAP": swap, "SHMEM_REMOTE_TIMEOUT": str(DEADLINE),
                       "TMPDIR": self.folder, **variables}
        self.said = ""
        self.process = subprocess.Popen(
            [OSHRUN, "-n", "1", "--memory-servers", "2", "--timeout", str(DEADLINE), PROGRAM, phase], env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.victim = servers_of(self.process, 2, DEADLINE)[VICTIM]
        self.name = self.name_of_job()

    def name_of_job(self):
        with open(f"/proc/{self.victim}/environ", "rb") as environment:
            return re.search(rb"ATOLL_JOB_ID=([^\0]+)", environment.read()).group(1).decode()

    def await_phase(self):
        line = self.process.stdout.readline()
        assert line == b"running\n", line + self.process.stderr.read()
        self.members = list(children(self.process.pid))

    def let_go_on(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def signal_server(self, number):
        os.kill(self.victim, number)

    def ask_until(self, pattern):
        """Asks who waits for whom until the answer has `pattern`; returns whether it has."""
        until = time.monotonic() + DEADLINE / 2
        while time.monotonic() < until and not re.search(pattern, self.said):
            self.process.send_signal(signal.SIGURG)
            if select.select([self.process.stderr], [], [], 0.3)[0]:
                self.said += os.read(self.process.stderr.fileno(), 1 << 16).decode()
        return re.search(pattern, self.said) is not None

    def end(self):
        """What it has said from now on, by lines, and its exit code."""
        _, said = self.process.communicate(timeout=2 * DEADLINE)
        return said.decode().splitlines(), self.process.returncode

    def left(self):
        """What is left of it."""
        left = [f"process {pid}" for pid in self.members + [self.victim] if os.path.exists(f"/proc/{pid}/exe")]
        left += [f"file {name}" for name in os.listdir(self.folder)]
        left += [f"shared memory {name}" for name in os.listdir("/dev/shm") if self.name in name]
        with open("/proc/net/unix", encoding="utf-8", errors="replace") as sockets:
            left += [f"socket {line}" for line in sockets if self.name in line]
        shutil.rmtree(self.folder)
        return left


def killed(swap, phase):
    """Killed while the PE does that."""
    job = Job(swap, phase)
    job.await_phase()
    # A PE may be there before the server has said its first words.
    return finish_killed(job, PMIX_SAYS if phase == "init" else None)


def stopped_and_killed(swap, phase):
    """Killed while the PE waits for it there; the PE says so, if it is asked."""
    job = Job(swap, phase)
    job.await_phase()
    job.signal_server(signal.SIGSTOP)
    if phase in ("first", "finalize"):
        job.let_go_on()
    pattern = rf"PE 0: remote memory waits for memory server {VICTIM} to (answer|move a page) \("
    told = job.ask_until(pattern)
    time.sleep(0.3)  # the answer of a question more may be on its way
    if select.select([job.process.stderr], [], [], 0)[0]:
        os.read(job.process.stderr.fileno(), 1 << 16)
    return finish_killed(job) + ([] if told else ["it did not say what it waits for, but: " + job.said])


def finish_killed(job, unless=None):
    job.signal_server(signal.SIGKILL)
    began = time.monotonic()
    lines, code = job.end()
    took = time.monotonic() - began
    lasted.append(took)
    lines = [line for line in lines if unless is None or not unless.match(line)]
    wrong = [] if took < END else [f"it took {took} s"]
    return wrong + judge(job, lines, code, KILLED)


def stopped(swap, phase):
    """Stopped for ever: given up after the time that is set."""
    job = Job(swap, phase, SHMEM_REMOTE_TIMEOUT="2", **({"SHMEM_INIT_TIMEOUT": "2"} if phase == "init" else {}))
    job.await_phase()
    job.signal_server(signal.SIGSTOP)
    if phase in ("init", "first", "compute", "finalize"):
        job.let_go_on()
    lines, code = job.end()
    # In init it may have come to the exchange already.
    return judge(job, lines, code, f"{ABSENT}|{SILENT}" if phase == "init" else SILENT)


def stopped_with_the_pe(swap, phase):
    """As ^Z does, for longer than servers are waited for; the server goes on a little later than the PE."""
    job = Job(swap, phase, SHMEM_REMOTE_TIMEOUT="2")
    job.await_phase()
    pe = next(pid for pid, line in children(job.process.pid).items() if line.startswith(PROGRAM))
    job.signal_server(signal.SIGSTOP)
    time.sleep(0.2)
    os.kill(pe, signal.SIGSTOP)
    time.sleep(2.5)
    os.kill(pe, signal.SIGCONT)
    time.sleep(0.2)
    job.signal_server(signal.SIGCONT)
    # A suspicion of the PE is told after a second.
    lives = not select.select([job.process.stderr], [], [], 1.5)[0] and job.process.poll() is None
    if not lives:
        return [f"it ended: {job.end()}"] + job.left()
    return finish_killed(job)


def judge(job, lines, code, pattern):
    lines = [line for line in lines if "said the same as" not in line]  # the other server may give up too
    wrong = [] if len(lines) == 1 and re.fullmatch(pattern, lines[0]) else [f"it said {lines}"]
    if code == 0:
        wrong.append("the exit code is 0")
    return wrong + job.left()


class Phases(unittest.TestCase):
    def setUp(self):
        lasted.clear()

    def check(self, what, cases):
        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
            running = [(case, pool.submit(what, *case)) for case in cases]
            for case, result in running:
                with self.subTest(case=case):
                    self.assertEqual(result.result(), [])
        if lasted:
            self.assertLessEqual(statistics.median_high(lasted), MOSTLY, "seconds that most jobs take to end")

    def test_a_server_may_be_killed_in_every_phase(self):
        self.check(killed, and_r77(["init", "first", "compute", "lease"] + MOVING))

    def test_a_server_that_is_waited_for_is_named_and_may_be_killed(self):
        self.check(stopped_and_killed, and_r77(["first", "lease", "finalize"] + MOVING))

    def test_a_server_may_stop_in_every_phase(self):
        self.check(stopped, and_r77(["init", "first", "compute", "finalize", "read", "put"]) + [("r3", "read"), ("r58", "read")])

    def test_a_job_that_stops_as_a_whole_goes_on(self):
        self.check(stopped_with_the_pe, [("direct", "read"), ("direct", "lease"), ("r77", "write")])

    def test_a_server_may_be_killed_as_soon_as_it_is_there(self):
        job = Job("direct", "lease")
        job.members = []
        self.assertEqual(finish_killed(job, PMIX_SAYS), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
